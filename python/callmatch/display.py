"""How things are shown to people."""

from __future__ import annotations

import json
from typing import Any

from callmatch import _core

__all__ = ["STYLES", "share", "to_json"]

STYLES = {
    "passed": "green",
    "failed": "red",
    "error": "bold red",
    "inconclusive": "yellow",
    "not_applicable": "dim",
}
"""The colour of each verdict."""


def to_json(value: Any, indent: int | None = None) -> str:
    """JSON text that can be read by people of all languages, and that drives no terminal."""
    return _core.printable_lines(json.dumps(value, ensure_ascii=False, indent=indent))


def share(number: float | None) -> str:
    """A number from 0 to 1 with three decimals."""
    return "-" if number is None else f"{number:.3f}"
