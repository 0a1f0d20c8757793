"""Stored traces."""

from __future__ import annotations

import difflib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from callmatch.errors import CallmatchError, InvalidInput
from callmatch.trace import Trace

__all__ = ["Traces"]

ENDINGS = (".json", ".jsonl")

MOST_BYTES = 64 << 20
"""A trace that takes more is not read."""

MOST_NAMES = 5


class _Place(NamedTuple):
    """Where a trace is, and what it can be found by."""

    id: str | None
    conversation_id: str | None
    file: Path
    offset: int
    length: int
    line: int

    def __str__(self) -> str:
        return str(self.file) if self.file.suffix == ".json" else f"{self.file}:{self.line}"


class Traces:
    """Traces in a file or in a folder, in this library's own format.

    A ``.json`` file holds one trace, a ``.jsonl`` file one on each line: what ``trace.model_dump_json()`` writes. Of a
    folder all such files count, those in folders inside it too, in the order of their names. Files are read as far as
    they are needed, and a trace that was passed on the way is found again without reading what is before it.

    Args:
        path: The file or folder.

    Attributes:
        diagnostics: What could not be read, with its place and the reason, of the part that was read so far. Such a
            line is passed over.

    Raises:
        OSError: There is no such file or folder, or it may not be read.
        InvalidInput: A file of another kind.

    Examples:
        >>> traces = Traces("examples/refund_traces.jsonl")
        >>> trace = traces.pull(traces.ids()[0])
        >>> len(trace.turns)
        1
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.diagnostics: list[str] = []
        self._places: list[_Place] = []
        self._by_id: dict[str, _Place] = {}
        self._by_test: dict[str, list[_Place]] = {}
        self._files = _files(self.path)
        self._unread = self._scan()
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        return f"Traces({os.fspath(self.path)!r})"

    def pull(self, id: str) -> Trace:
        """The trace of an id. That of a ``.json`` file without one is the file's name without its ending.

        Raises:
            InvalidInput: There is none; the message names the nearest.
        """
        with self._lock:
            if id in self._by_id:
                return self._load(self._by_id[id])
            for read in self._unread:
                if id in self._by_id:
                    return read
        raise self._nothing("id", id, self._by_id.keys())

    def for_test(self, test_id: str) -> Trace:
        """The trace of a test: all that have its `test_id`, or, where a trace has none, its id; joined in their order.

        Raises:
            InvalidInput: There is none; the message names the nearest.
        """
        self._read_all()
        if test_id in self._by_test:
            return Trace.joined([self._load(place) for place in self._by_test[test_id]])
        raise self._nothing("test", test_id, self._by_test.keys())

    def conversation(self, id: str) -> Trace:
        """All traces of a conversation, joined in their order.

        Raises:
            InvalidInput: There is none; the message names the nearest.
        """
        self._read_all()
        parts = [place for place in self._places if place.conversation_id == id]
        if not parts:
            known = {place.conversation_id for place in self._places if place.conversation_id is not None}
            raise self._nothing("conversation", id, known)
        return Trace.joined([self._load(place) for place in parts])

    def only(self) -> Trace:
        """The trace, where there is one.

        Raises:
            InvalidInput: There is none, or there are several.
        """
        traces = list(self)
        if len(traces) != 1:
            why = f"; {self.diagnostics[0]}" if self.diagnostics else ""
            raise InvalidInput(f"{self.path}: expected one trace, found {len(traces)}{why}", str(self.path))
        return traces[0]

    def ids(self) -> list[str]:
        """The ids by which traces can be pulled, in their order."""
        self._read_all()
        return list(self._by_id)

    def __len__(self) -> int:
        self._read_all()
        return len(self._places)

    def __iter__(self) -> Iterator[Trace]:
        place = 0
        while True:
            if place < len(self._places):
                yield self._load(self._places[place])
            else:
                with self._lock:
                    read = next(self._unread, None)
                if read is None:
                    return
                yield read
            place += 1

    def _nothing(self, what: str, id: str, known: Any) -> InvalidInput:
        message = f"{self.path}: no trace with the {what} {id!r}"
        if near := difflib.get_close_matches(id, known, n=1):
            message += f"; did you mean {near[0]!r}?"
        elif known:
            names = sorted(known)
            more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
            message += f"; there are {', '.join(map(repr, names[:MOST_NAMES]))}{more}"
        if self.diagnostics:
            message += f" (not read, for one: {self.diagnostics[0]})"
        return InvalidInput(message, what)

    def _read_all(self) -> None:
        with self._lock:
            for _ in self._unread:
                pass

    def _scan(self) -> Iterator[Trace]:
        """Read on, and remember where each trace is."""
        for file in self._files:
            for where, text in _texts(file):
                try:
                    if text is None:
                        raise InvalidInput(f"longer than {MOST_BYTES >> 20} MiB")
                    trace = Trace.read_json(text.strip())
                except CallmatchError as error:
                    self.diagnostics.append(f"{where}: {error}")
                    continue
                id = file.stem if trace.id is None and file.suffix == ".json" else trace.id
                place = where._replace(id=id, conversation_id=trace.conversation_id)
                self._places.append(place)
                if id is not None and self._by_id.setdefault(id, place) is not place:
                    self.diagnostics.append(f"{place}: the id {id!r} was there before, at {self._by_id[id]}")
                if (test_id := id if trace.test_id is None else trace.test_id) is not None:
                    self._by_test.setdefault(test_id, []).append(place)
                yield trace

    def _load(self, place: _Place) -> Trace:
        with open(place.file, "rb") as file:
            file.seek(place.offset)
            return Trace.read_json(file.read(place.length), str(place))


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(file for file in path.rglob("*") if file.suffix in ENDINGS and file.is_file())
    path.stat()
    if path.suffix not in ENDINGS:
        raise InvalidInput(f"{path}: traces are in files that end with {' or '.join(ENDINGS)}", str(path))
    return [path]


def _texts(path: Path) -> Iterator[tuple[_Place, bytes | None]]:
    """The JSON texts of a file, each with its place; None for one that is too long."""
    with open(path, "rb") as file:
        if path.suffix == ".json":
            whole = file.read(MOST_BYTES + 1)
            yield _Place(None, None, path, 0, len(whole), 1), whole if len(whole) <= MOST_BYTES else None
            return
        offset, number = 0, 0
        while line := file.readline(MOST_BYTES + 1):
            length = len(line)
            text = line if length <= MOST_BYTES else None
            while not line.endswith(b"\n") and (line := file.readline(MOST_BYTES)):
                length += len(line)
            number += 1
            if text is None or text.strip():
                yield _Place(None, None, path, offset, length, number), text
            offset += length
