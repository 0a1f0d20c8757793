"""Libraries that not everybody needs: each is an extra of the package, imported where it is used."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

__all__ = ["needs"]


@contextlib.contextmanager
def needs(extra: str) -> Iterator[None]:
    """Say what to install where the import inside fails."""
    try:
        yield
    except ImportError as error:
        raise ImportError(f'callmatch.{extra} needs {extra}: pip install "callmatch[{extra}]"') from error
