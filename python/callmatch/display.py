"""How things are shown to people."""

from __future__ import annotations

import json
import re
import uuid
from typing import Any

import pydantic_core

from callmatch import _core
from callmatch.errors import InvalidInput

__all__ = ["MOST_DIGITS", "OF_PYTHON", "STYLES", "digits", "share", "to_json"]

STYLES = {
    "passed": "green",
    "failed": "red",
    "error": "bold red",
    "inconclusive": "yellow",
    "not_applicable": "dim",
}
"""The colour of each verdict."""

MOST_DIGITS = 100_000
"""An integer of more digits is neither written nor read, which would take long."""

OF_PYTHON = 640
"""So many digits Python writes and reads whatever limit it is set to, which is one of the whole process."""

BEYOND_PYTHON = 10**OF_PYTHON


def to_json(value: Any, indent: int | None = None) -> str:
    """JSON text that can be read by people of all languages, and that drives no terminal.

    Raises:
        InvalidInput: An integer of more than `MOST_DIGITS` digits.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, indent=indent)
    except ValueError as error:
        mark = uuid.uuid4().hex
        marked = _marked(value, mark)
        if marked == value:  # it was not about an integer
            raise error
        text = json.dumps(marked, ensure_ascii=False, indent=indent)
        text = re.sub(f'"{mark}(-?[0-9]+)"', r"\1", text)
    return _core.printable_lines(text)


def _marked(value: Any, mark: str) -> Any:
    """A value with texts that begin with a mark in place of the integers that Python would not write."""
    if isinstance(value, dict):
        return {key: _marked(inner, mark) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_marked(inner, mark) for inner in value]
    return mark + digits(value) if isinstance(value, int) and abs(value) >= BEYOND_PYTHON else value


def digits(number: int) -> str:
    """An integer in decimal digits, however many these are.

    Raises:
        InvalidInput: More than `MOST_DIGITS`.
    """
    if abs(number) < BEYOND_PYTHON:
        return str(number)
    if abs(number) >= 10**MOST_DIGITS:
        raise InvalidInput(f"an integer of more than {MOST_DIGITS:,} digits can't be written")
    return pydantic_core.to_json(number).decode()


def share(number: float | None) -> str:
    """A number from 0 to 1 with three decimals."""
    return "-" if number is None else f"{number:.3f}"
