"""Files of plain data that people write: JSON, JSON Lines and YAML, told apart by their ending."""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import tempfile
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO

from callmatch import _core
from callmatch.display import MOST_DIGITS, OF_PYTHON, to_json
from callmatch.errors import CallmatchError, InvalidInput, one_of

if TYPE_CHECKING:
    from ruamel.yaml.nodes import Node

__all__ = [
    "ENDINGS",
    "Format",
    "Lines",
    "fault",
    "format_of",
    "integer",
    "load",
    "loads",
    "parsed",
    "place_told",
    "put",
    "save",
    "writing",
]

Format = Literal["json", "jsonl", "yaml"]
ENDINGS: dict[str, Format] = {".json": "json", ".jsonl": "jsonl", ".yaml": "yaml", ".yml": "yaml"}
"""The endings of file names, and what such a file holds."""

Path_ = str | os.PathLike[str]

MOST_TO_SEARCH = 500_000
"""A text of more characters is not read a second time to find the line of a mistake."""


def load(path: Path_) -> Any:
    """Read a file: the value that it holds, or for JSON Lines the list of those of its lines.

    YAML is YAML 1.2, so ``on`` and ``yes`` are texts. What comes out is what JSON can hold: dates stay texts.

    Raises:
        OSError: A file that is missing or may not be read.
        InvalidInput: Another ending, no UTF-8 text, nothing in it, or what can't be read, with its line; in YAML also a
            key that is there twice or is no text, and aliases that lead in a circle or stand for over a million values.
            An integer of more than 100,000 digits.
    """
    kind = format_of(path)
    content = Path(path).read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise fault(str(path), content.count(b"\n", 0, error.start) + 1, "this is not UTF-8 text") from None
    return loads(text, kind, str(path))


def loads(text: str, kind: Format, where: str = "<text>") -> Any:
    r"""Read a text as `load` does a file.

    Args:
        text: What to read.
        kind: What it is.
        where: How errors call it.

    Raises:
        InvalidInput: As for `load`. Text of nothing but white space is an error; for JSON Lines it is an empty list.

    Examples:
        >>> loads("on: tool_call\nsince: 2024-01-01", "yaml")
        {'on': 'tool_call', 'since': '2024-01-01'}
        >>> loads('{"a": 1}\n\n{"a": 2}', "jsonl")
        [{'a': 1}, {'a': 2}]
    """
    if kind == "jsonl":
        lines = enumerate(text.split("\n"), 1)
        return [_json(line, where, number) for number, line in lines if line.strip()]
    if not text.strip():
        raise InvalidInput(_core.printable(f"{where}: it is empty"))
    if kind == "json":
        return _json(text, where)
    from callmatch import yaml  # noqa: PLC0415 - many need none

    return yaml.loads(text, where)


def save(path: Path_, data: Any) -> None:
    """Write plain data to a file that `load` reads.

    The file gets its name when it is whole, so there is never half of one.

    Args:
        path: Where to; the ending says in which format.
        data: What JSON can hold; for JSON Lines a list of it.

    Raises:
        OSError: A file that can't be written.
        InvalidInput: Another ending, or an integer of more than 100,000 digits.
    """
    kind = format_of(path)
    with writing(path) as file:
        if kind == "json":
            file.write(to_json(data, indent=2) + "\n")
        elif kind == "jsonl":
            file.writelines(to_json(line) + "\n" for line in data)
        else:
            from callmatch import yaml  # noqa: PLC0415

            yaml.dump(data, file)


@contextlib.contextmanager
def writing(path: Path_) -> Iterator[TextIO]:
    """Write text aside, and give the file its name only when it is whole."""
    output = Path(path).resolve()
    handle, aside = tempfile.mkstemp(dir=output.parent, prefix=f".{output.name}.", suffix=".partial")
    try:
        with open(handle, "w", encoding="utf-8", newline="") as file:
            yield file
        put(aside, output)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(aside)
        raise


def put(aside: Path_, output: Path_) -> None:
    """Give a file that is whole its name, and the mode of what it replaces."""
    try:
        mode = stat.S_IMODE(os.stat(output).st_mode)
    except FileNotFoundError:
        umask = os.umask(0)
        os.umask(umask)
        mode = 0o666 & ~umask
    os.chmod(aside, mode)
    os.replace(aside, output)


@contextlib.contextmanager
def place_told(path: Path_, root: str = "") -> Iterator[None]:
    """Say of what a file's data can't be that it is in this file, and in which line if that can be found.

    Args:
        path: The file that the data came from.
        root: What the paths of errors call the whole of the data, if they call it something.
    """
    try:
        yield
    except CallmatchError as error:
        line = Lines(path).of(error.path.removeprefix(root))
        place = _core.printable(f"{path}:{line}" if line else str(path))
        raise type(error)(f"{place}: {error}", error.path) from None


class Lines:
    """In which lines of a file that `load` has read its values are. However many are asked for, it is read once."""

    def __init__(self, path: Path_) -> None:
        self.path = Path(path)
        self.is_jsonl = format_of(path) == "jsonl"

    def of(self, place: str) -> int | None:
        """The line in which a value is, or the nearest around it; None if that can't be told.

        Args:
            place: The path to the value, such as ``tests[2].metrics[0].threshold``.
        """
        keys = re.findall(r"[^.\[\]]+", place)
        if not keys:
            return None
        if self.is_jsonl:
            return self._starts[int(keys[0])] if keys[0].isdecimal() and int(keys[0]) < len(self._starts) else None
        if self._root is None:
            return None
        from callmatch import yaml  # noqa: PLC0415

        return yaml.line(self._root, keys)

    @cached_property
    def _text(self) -> str:
        return self.path.read_text("utf-8-sig")

    @cached_property
    def _starts(self) -> list[int]:
        """The line of each value of JSON Lines."""
        return [number for number, line in enumerate(self._text.split("\n"), 1) if line.strip()]

    @cached_property
    def _root(self) -> Node | None:
        """The values of YAML or JSON with their lines."""
        if len(self._text) > MOST_TO_SEARCH:
            return None
        from callmatch import yaml  # noqa: PLC0415

        return yaml.nodes(self._text)  # JSON is YAML, but for a few corners


def format_of(path: Path_) -> Format:
    """What a file of this name holds.

    Raises:
        InvalidInput: It has another ending.
    """
    ending = Path(path).suffix
    if ending.lower() not in ENDINGS:
        raise InvalidInput(f"{path}: {one_of('the ending of a file', ending, ENDINGS)}")
    return ENDINGS[ending.lower()]


def fault(where: str, line: int, message: str) -> InvalidInput:
    """The error for what a text can't be."""
    return InvalidInput(_core.printable(f"{where}:{line}: {message}"))


def _json(text: str, where: str, first_line: int = 1) -> Any:
    try:
        return parsed(text)
    except json.JSONDecodeError as error:
        message = f"not JSON: {error.msg[0].lower()}{error.msg[1:]}, at column {error.colno}"
        raise fault(where, first_line + error.lineno - 1, message) from None
    except RecursionError:
        raise fault(where, first_line, "it is nested too deeply") from None
    except ValueError as error:
        raise fault(where, first_line, str(error)) from None


def parsed(text: str) -> Any:
    """What JSON text holds.

    Raises:
        ValueError: It is not JSON (`json.JSONDecodeError`), or has an integer of more than 100,000 digits.
        RecursionError: It is nested too deeply.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError:  # an integer of more digits than Python reads
        return json.loads(text, parse_int=integer)


def integer(text: str) -> int:
    """The integer of decimal digits, with a sign or without, also beyond where Python ends.

    Raises:
        ValueError: No such text, or more than 100,000 digits.
    """
    if len(text) <= OF_PYTHON:
        return int(text)
    if len(text) > MOST_DIGITS + text.startswith(("-", "+")):
        raise ValueError(f"an integer of more than {MOST_DIGITS:,} digits")
    if text[0] in "-+":
        return -integer(text[1:]) if text[0] == "-" else integer(text[1:])
    half = len(text) // 2
    shift: int = 10**half
    return integer(text[:-half]) * shift + integer(text[-half:])
