"""Stored traces."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from callmatch.errors import CallmatchError, InvalidInput, not_there
from callmatch.trace import Trace

__all__ = ["Traces"]

ENDINGS = (".json", ".jsonl")

MOST_BYTES = 64 << 20
"""A trace that takes more is not read."""


class _Place(NamedTuple):
    """Where a trace is."""

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

    Several threads may ask at the same time.

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
        self._by_conversation: dict[str, list[_Place]] = {}
        self._lock = threading.RLock()
        # What is still to be read: the rest of the last of these files, and then those before it.
        self._files = _files(self.path)[::-1]
        self._offset = self._line = 0

    def __repr__(self) -> str:
        return f"Traces({os.fspath(self.path)!r})"

    def pull(self, id: str) -> Trace:
        """The trace of an id. That of a ``.json`` file without one is the file's name without its ending.

        Raises:
            InvalidInput: There is none; the message names the nearest.
        """
        with self._lock:
            if id in self._by_id:
                return _load(self._by_id[id])
            while self._files:
                read = self._read_on()
                if id in self._by_id and read is not None:
                    return read
        raise self._nothing("id", id, self._by_id)

    def for_test(self, test_id: str) -> Trace:
        """The trace of a test: all that have its `test_id`, or, where a trace has none, its id; joined in their order.

        Raises:
            InvalidInput: There is none; the message names the nearest.
        """
        return self._joined("test", test_id, self._by_test)

    def conversation(self, id: str) -> Trace:
        """All traces of a conversation, joined in their order.

        Raises:
            InvalidInput: There is none; the message names the nearest.
        """
        return self._joined("conversation", id, self._by_conversation)

    def only(self) -> Trace:
        """The trace, where there is one.

        Raises:
            InvalidInput: There is none, or there are several.
        """
        if len(self) != 1:
            why = f"; {self.diagnostics[0]}" if self.diagnostics else ""
            raise InvalidInput(f"{self.path}: expected one trace, found {len(self)}{why}", str(self.path))
        return _load(self._places[0])

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
            with self._lock:
                read = _load(self._places[place]) if place < len(self._places) else None
                while read is None and self._files:
                    read = self._read_on()
            if read is None:
                return
            yield read
            place += 1

    def _joined(self, what: str, id: str, index: dict[str, list[_Place]]) -> Trace:
        self._read_all()
        if id not in index:
            raise self._nothing(what, id, index)
        return Trace.joined([_load(place) for place in index[id]])

    def _nothing(self, what: str, id: str, known: Iterable[str]) -> InvalidInput:
        unread = f" (not read, for one: {self.diagnostics[0]})" if self.diagnostics else ""
        return InvalidInput(f"{self.path}: {not_there(f'trace with the {what}', id, known)}{unread}", what)

    def _read_all(self) -> None:
        with self._lock:
            while self._files:
                self._read_on()

    def _read_on(self) -> Trace | None:
        """Read what comes next and remember where it is. None if that is no trace, or the end of a file."""
        file, offset, line = self._files[-1], self._offset, self._line + 1
        try:
            text, length = _text_at(file, offset)
        except OSError as error:
            text, length = None, 0
            self.diagnostics.append(f"{file}: {error.strerror}")
        # From here on nothing is read twice, even if the reading is interrupted.
        if length == 0 or file.suffix == ".json":
            self._files.pop()
            self._offset = self._line = 0
        else:
            self._offset, self._line = offset + length, line
        place = _Place(file, offset, length, line)
        if length > MOST_BYTES:
            self.diagnostics.append(f"{place}: longer than {MOST_BYTES >> 20} MiB")
        if not text or not (text := text.strip()):
            return None
        try:
            trace = Trace.read_json(text)
        except CallmatchError as error:
            self.diagnostics.append(f"{place}: {error}")
            return None
        self._remember(trace, place)
        return trace

    def _remember(self, trace: Trace, place: _Place) -> None:
        self._places.append(place)
        id = place.file.stem if trace.id is None and place.file.suffix == ".json" else trace.id
        if id is not None and self._by_id.setdefault(id, place) is not place:
            self.diagnostics.append(f"{place}: the id {id!r} was there before, at {self._by_id[id]}")
        if (test_id := id if trace.test_id is None else trace.test_id) is not None:
            self._by_test.setdefault(test_id, []).append(place)
        if trace.conversation_id is not None:
            self._by_conversation.setdefault(trace.conversation_id, []).append(place)


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(file for file in path.rglob("*") if file.suffix in ENDINGS and file.is_file())
    with path.open("rb"):  # what is wrong with it is said at once
        pass
    if path.suffix not in ENDINGS:
        raise InvalidInput(f"{path}: traces are in files that end with {' or '.join(ENDINGS)}", str(path))
    return [path]


def _text_at(path: Path, offset: int) -> tuple[bytes | None, int]:
    """The line that begins there, or all of a ``.json`` file, and how long it is. No text of one that is too long."""
    with path.open("rb") as file:
        file.seek(offset)
        read = file.read if path.suffix == ".json" else file.readline
        text = read(MOST_BYTES + 1)
        length = len(text)
        if length <= MOST_BYTES:
            return text, length
        while not text.endswith(b"\n") and (text := read(MOST_BYTES)):
            length += len(text)
        return None, length


def _load(place: _Place) -> Trace:
    with place.file.open("rb") as file:
        file.seek(place.offset)
        return Trace.read_json(file.read(place.length), str(place))
