"""The errors that callmatch raises about what it is given."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from callmatch import _core

__all__ = ["CallmatchError", "InvalidInput", "InvalidType", "NotRecorded"]


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


class NotRecorded(InvalidInput):
    """Something was asked of a trace that was not recorded in it. A code metric that asks for it is inconclusive."""


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


MOST_SAID = 500
"""So many characters of what an error says are told."""

ENDING = (KeyboardInterrupt, GeneratorExit)
"""What goes through where code of the user is called. All else that it raises, a `SystemExit` too, is its crash."""


def said(error: BaseException) -> str:
    """What an error says, on one line: one of this library in its own words, another one also what it is."""
    return _message(error) if isinstance(error, CallmatchError) else raised(error)


def raised(error: BaseException) -> str:
    """What was raised, and what it says, on one line."""
    kind, message = type(error).__name__, _message(error)
    return f"{kind}: {message}" if message else kind


def _message(error: BaseException) -> str:
    try:
        message = str(error)
    except ENDING:
        raise
    except BaseException:
        message = "its message can't be told"
    message = _core.printable(message[: MOST_SAID + 1])
    return message if len(message) <= MOST_SAID else f"{message[:MOST_SAID]}…"


def not_there(what: str, key: str, known: Iterable[str]) -> str:
    """The sentence for something that nothing has the name of: the nearest, or some of those there are."""
    names = sorted(known)
    sentence = f"no {what} {_core.printable(key)!r}"
    # Looking for the nearest takes long among many, and may be asked for each of many.
    if near := difflib.get_close_matches(key, names, n=1) if len(names) <= MOST_COMPARED else []:
        return f"{sentence}; did you mean {near[0]!r}?"
    if not names:
        return sentence
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"{sentence}; there are {', '.join(map(repr, names[:MOST_NAMES]))}{more}"


MOST_COMPARED = 500
"""Among so many names the nearest is looked for."""

MOST_NAMES = 5
"""So many names are listed of what there is."""
