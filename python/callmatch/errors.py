"""The errors that callmatch raises about what it is given."""

from __future__ import annotations

from collections.abc import Iterable

from callmatch import _core

__all__ = ["CallmatchError", "InvalidInput", "InvalidType"]


class CallmatchError(Exception):
    """Something given to callmatch can't be right.

    Every such error is a `ValueError` or a `TypeError` as well.

    Attributes:
        path: Where in the input, such as ``tool_calls[2].arguments.since``; empty if the whole is meant.
    """

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.path = path

    def __reduce__(self) -> tuple[type[CallmatchError], tuple[str, str]]:
        return type(self), (str(self), self.path)


class InvalidInput(CallmatchError, ValueError):
    """A value that can't be: an unknown word, a call without a name, text that isn't JSON, a file of something else."""


class InvalidType(CallmatchError, TypeError):
    """Something of the wrong type: a set among the arguments, a list where a call should be, an unknown keyword."""


def unknown_keyword(where: str, given: Iterable[str], known: Iterable[str]) -> InvalidType:
    """The error for a keyword that nothing takes."""
    return InvalidType(_core.one_of(f"a keyword of {where}", min(given), list(known)))


def missing_keyword(where: str, keyword: str) -> InvalidType:
    """The error for a keyword that has to be given."""
    return InvalidType(f"{where} needs the keyword {keyword}")


def unknown_key(where: str, given: Iterable[object], known: Iterable[str]) -> InvalidInput:
    """The error for a key that nothing reads."""
    return InvalidInput(_core.one_of(f"a key of {where}", min(map(str, given)), list(known)), where)


def one_of(what: str, given: str, words: Iterable[str]) -> str:
    """The sentence for a word that is not known: what would be, and the nearest."""
    return _core.one_of(what, given, list(words))


def path_of(where: str, loc: Iterable[int | str]) -> str:
    """A path into the input, such as ``turns[2].spans[0].kind``."""
    path = where
    for key in loc:
        path += f"[{key}]" if isinstance(key, int) else f".{key}" if path else key
    return path
