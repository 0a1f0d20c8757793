"""What a run has scored so far, kept beside what it writes, so that another one can go on with it."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

from callmatch import _core
from callmatch.arrow_files import PIECE, Position
from callmatch.errors import InvalidInput
from callmatch.storage import Place
from callmatch.summaries import Summaries

if TYPE_CHECKING:
    import pyarrow as pa

    from callmatch.arrow_files import FileScores, Piece

__all__ = ["WHOLE", "Parts", "finish", "folder_of"]

MANIFEST = "manifest.json"
"""What is scored, and how."""

LOCK = "lock"
WHOLE = "whole"
"""The output, while it is written."""

OURS = re.compile(r"(manifest|\d{5,})\.json(\.partial)?|\d{5,}\.arrows|lock|whole")
"""The names of the files of a run."""

HELD = 16 << 20
"""So many bytes of scores are held in memory before they are written."""


def folder_of(output: Place) -> Place:
    """Where the parts of an output are."""
    return output.beside(".parts")


def finish(file: IO[bytes]) -> None:
    """Close a file, so that what was written survives if the machine does not."""
    file.flush()
    with contextlib.suppress(OSError, AttributeError):  # no file of this machine
        os.fsync(file.fileno())
    file.close()


class Parts:
    """A folder with the scores of some rows in each file, from the first row on.

    A part is there when the file that tells of it is: which rows it has, of which files, and what these were then. What
    is written is the same whether a run was interrupted or not, since rows are put together from the parts as from
    scoring.

    Args:
        output: The file that the run writes.
        scores: What it scores.
        resume: Go on with what is there; else it is removed.

    Raises:
        InvalidInput: Another run is writing the file; what is there is damaged, is of other scores or files, or is not
            of a run.
    """

    def __init__(self, output: Place, scores: FileScores, *, resume: bool) -> None:
        self.output, self.folder = output, folder_of(output)
        self._scores, self._group_by = scores, scores.options()["group_by"]
        self._told: list[dict[str, Any]] = []
        self._held: list[pa.RecordBatch] = []
        self._held_bytes = 0
        self._file: IO[bytes] | None = None
        self._writer: Any = None
        self.folder.make_folder()
        self._refuse_strange_files()
        self._lock = self._locked()
        try:
            self._manifest = {"callmatch": _core.__version__, **scores.options(), "columns out": str(scores.schema)}
            if resume and MANIFEST in self.folder.names():
                self._compare(self._manifest)
                self._read()
            else:
                self._empty()
        except BaseException:
            self._unlock()
            raise
        self._begin()

    @property
    def end(self) -> Position:
        """The row to go on with."""
        return Position(*self._told[-1]["end"]) if self._told else Position()

    @property
    def summaries(self) -> Summaries:
        """Those of the rows before it."""
        summaries = Summaries(self._group_by)
        for number, told in enumerate(self._told):
            try:
                summaries += Summaries.from_state(told["summaries"])
            except (InvalidInput, TypeError):
                raise self._refusal(f"{number:05}.json in {self.folder.name} is damaged") from None
        return summaries

    def _begin(self) -> None:
        """Begin a part where the last one ends."""
        self._bytes = self._rows = 0
        self._files: dict[int, dict[str, Any]] = {}
        self._end = self.end
        self._summaries = Summaries(self._group_by)

    # What is there

    def _locked(self) -> Any:
        """Two runs that write the same file would each spoil what the other does."""
        if not self.folder.is_local:
            return None
        try:
            import fcntl  # noqa: PLC0415 - not on Windows
        except ImportError:
            return None
        lock = self.folder.inside(LOCK).open("ab")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            raise InvalidInput(f"{self.output.name}: another run is writing it") from None
        except OSError:  # a file system without locks
            pass
        return lock

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.close()

    def _refuse_strange_files(self) -> None:
        """The folder is emptied and removed, so it has to be a run's own."""
        strange = [name for name in self.folder.names() if not OURS.fullmatch(name)]
        if strange:
            folder = self.folder.name
            message = f"{folder}, where a run keeps its scores until it ends, holds {strange[0]}, which is not of a run"
            raise InvalidInput(_core.printable(f"{message}; move it, or write to another file"))

    def _empty(self) -> None:
        for name in self.folder.names():
            if name != LOCK:
                self.folder.inside(name).remove()

    def _refusal(self, what: str) -> InvalidInput:
        anew = f"without that it starts anew, and so it does if {self.folder.name} is removed"
        return InvalidInput(_core.printable(f"{self.output.name}: it can't be resumed: {what}; {anew}"))

    def _load(self, name: str) -> Any:
        with self.folder.inside(name).open("rb") as file:
            try:
                return json.load(file)
            except ValueError:
                raise self._refusal(f"{name} in {self.folder.name} is damaged") from None

    def _compare(self, manifest: dict[str, Any]) -> None:
        before = self._load(MANIFEST)
        for key, now in manifest.items():
            if not isinstance(before, dict) or before.get(key) != now:
                old = before.get(key) if isinstance(before, dict) else None
                raise self._refusal(f"{key} was {_shown(old)} and is {_shown(now)}")

    def _read(self) -> None:
        """Find the parts that are whole, and of files that are still what they were."""
        names = {*self.folder.names()}
        while (name := f"{len(self._told):05}.json") in names:
            self._told.append(self._load(name))
            if not isinstance(self._told[-1], dict) or not self._told[-1].keys() >= {"end", "files", "summaries"}:
                raise self._refusal(f"{name} in {self.folder.name} is damaged")
        stamps: dict[int, dict[str, Any]] = {}
        for number, told in enumerate(self._told):
            for file in told["files"]:
                place, name = file["place"], file["name"]
                if place not in stamps:
                    stamps[place] = self._stamp(place, name)
                if stamps[place] == file["stamp"]:
                    continue
                if place == self.end.file:
                    # It was not scored to its end: perhaps it could not be read, and was mended.
                    while len(self._told) > number:
                        self._told.pop()
                        self.folder.inside(f"{len(self._told):05}.json").remove()
                    return
                what = f"its size was {file['stamp']['size']} and is {stamps[place]['size']}"
                if file["stamp"]["size"] == stamps[place]["size"]:
                    what = "it was written again"
                raise self._refusal(f"{name} has changed: {what}")

    def _stamp(self, place: int, name: str) -> dict[str, Any]:
        places = self._scores.places
        if place >= len(places) or places[place].name != name:
            now = places[place].name if place < len(places) else "no more"
            raise self._refusal(f"file {place + 1} was {name} and is {now}")
        return places[place].stamp()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The scores of all rows before the one to go on with."""
        from pyarrow import ArrowException, ipc  # noqa: PLC0415

        rows = 0
        for number, told in enumerate(self._told):
            name = f"{number:05}.arrows"
            try:
                with self.folder.inside(name).open("rb") as file:
                    for batch in ipc.open_stream(file):
                        rows += batch.num_rows
                        yield batch
            except (ArrowException, OSError) as error:
                raise self._refusal(f"{name} in {self.folder.name} is damaged ({error})") from None
            if rows != told["end"][2]:
                raise self._refusal(f"{name} in {self.folder.name} is damaged")

    # What is added

    def write(self, batch: pa.RecordBatch) -> None:
        """Keep scores."""
        self._rows += batch.num_rows
        self._held.append(batch)
        self._held_bytes += batch.nbytes
        # A short run never comes to its first part, and should not wait for a disk.
        if self._held_bytes > HELD:
            self._write_held()

    def _write_held(self) -> None:
        from pyarrow import ipc  # noqa: PLC0415

        if self._writer is None:
            self._file = self.folder.inside(f"{len(self._told):05}.arrows").open("wb")
            self._writer = ipc.new_stream(self._file, self._scores.schema)
        for batch in self._held:
            self._writer.write_batch(batch)
        self._held, self._held_bytes = [], 0

    def add(self, piece: Piece) -> None:
        """Note that all scores of a piece were kept."""
        file = piece.start.file
        self._bytes += piece.bytes
        self._end = piece.end
        self._summaries += piece.summaries
        self._files[file] = {
            "place": file,
            "name": self._scores.places[file].name,
            "stamp": self._scores.stamps[file],
        }
        if self._bytes >= PIECE:
            self.commit()

    def commit(self) -> None:
        """Make a part of what was kept since the last one, if it is of whole pieces."""
        if not self._rows or self._end.number != self.end.number + self._rows:
            return
        if not self._told:
            self._save(MANIFEST, self._manifest)
        self._write_held()
        self._writer.close()
        if self._file is not None:
            finish(self._file)
        told = {"end": self._end, "files": list(self._files.values()), "summaries": self._summaries.to_state()}
        self._save(f"{len(self._told):05}.json", told)
        self._told.append(told)
        self._writer = self._file = None
        self._begin()

    def _save(self, name: str, told: dict[str, Any]) -> None:
        aside = self.folder.inside(f"{name}.partial")
        file = aside.open("wb")
        file.write(json.dumps(told, indent=1).encode())
        finish(file)
        aside.becomes(self.folder.inside(name))

    def discard(self) -> None:
        """Keep nothing."""
        self._told = []

    def close(self) -> None:
        """Be done. What can be gone on with stays there."""
        if self._file is not None:
            with contextlib.suppress(Exception):
                self._file.close()
        try:
            if not self._told:
                self.folder.remove()
        finally:
            self._unlock()


def _shown(value: object) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(str, value)) or "nothing"
    return "not given" if value is None else str(value)
