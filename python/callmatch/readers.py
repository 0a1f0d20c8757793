"""Traces in files, in the formats that people have them in."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import IO, Any, NamedTuple, overload

from callmatch import _core, tables
from callmatch.errors import CallmatchError, InvalidInput, InvalidType, not_there
from callmatch.trace import Trace, span_kind

__all__ = ["ENDINGS", "Source", "Traces", "read"]

ENDINGS = (".json", ".jsonl", ".ndjson", ".eval", ".traj", ".binpb", ".pb", ".parquet")
"""The files of a folder that are read, which may be compressed besides."""

COMPRESSED = (".gz", ".zst")

OWN = "callmatch"
"""The word for this library's own format."""

AT_ONCE = 64
"""So many traces are read at a time by who wants all of them."""

Source = str | os.PathLike[str] | Iterable[Any]
"""A path, several, a table, or rows."""

Sequence.register(_core.SpanColumn)


def read(source: Source, *, format: str | None = None) -> Traces:
    """Find the traces in a file, in several, in a folder or in a table, whatever tool wrote them.

    The format is found by the shape of the first records; docs/formats.md lists all of them. Files may be compressed
    (gzip, Zstandard). Of a folder all files with the usual endings (`ENDINGS`) count, those in folders inside it too,
    in the order of their names; one of another kind among them is told in `Traces.diagnostics`. An empty file, folder
    or table has no traces.

    Args:
        source: The path of a file or folder; "-" is standard input; or several paths. Or a table: a Parquet file, a
            frame of pandas or polars, or whatever else Arrow can read; its rows are read as the records of a file are,
            and null is taken for a column that the row has not. Or the records themselves, an iterable of mappings.
        format: Insist on a format, where a file looks like several or like none: the word of a format or, of spans, of
            the instrumentation whose words they use, such as ``"openinference"``.

    Raises:
        OSError: There is no such file or folder, or it may not be read.
        InvalidInput: A file that no format fits, naming the nearest; that two fit, naming both; of which nothing can be
            read; or an unknown word for a format.
        InvalidType: No such source, or a row with what has no JSON value.
        ImportError: A table other than that of pandas, without pyarrow: ``pip install 'callmatch[parquet]'``.

    Examples:
        >>> traces = read("examples/refund_traces.jsonl")
        >>> len(traces), traces[0].tool_calls[0].name, traces.diagnostics
        (4, 'lookup_order', [])
        >>> read([{"messages": [{"role": "user", "content": "Hello"}]}])[0].input
        'Hello'
    """
    return Traces(source, format=format)


class Traces(Sequence[Trace]):
    """The traces in files or tables: what `callmatch.read` gives.

    A sequence, whose traces are read when they are asked for. When something is first asked of it, each file is read
    once, to find where the traces are (at once, where the first records don't say that there are any); memory grows
    with their number, not with their size. The files must stay as they are. What is compressed, comes from a pipe or is
    a table is written to a temporary file first, which nobody else sees.

    Args:
        source: As for `read`.
        format: As for `read`.
        progress: Is told how many bytes were read, and of how many (None where nobody knows), while traces are found,
            which is at once then.

    Attributes:
        diagnostics: What could not be read, or was guessed, with its place and the reason, such as a broken line, which
            is passed over. What is wrong inside a trace is known once it was read.
        formats: The formats that were found.

    Raises:
        OSError: As for `read`.
        InvalidInput: As for `read`.
        InvalidType: As for `read`.
        ImportError: As for `read`.

    Examples:
        >>> traces = Traces("examples/refund_traces.jsonl")
        >>> trace = traces.pull(traces.ids()[0])
        >>> len(trace.turns), traces.formats
        (1, ['callmatch'])
    """

    def __init__(
        self,
        source: Source,
        *,
        format: str | None = None,
        progress: Callable[[int, int | None], object] | None = None,
    ) -> None:
        self._unreadable: dict[int, str] = {}
        # Files are deleted while the store has them open, which Windows allows too, as the store opens them.
        with contextlib.ExitStack() as stack:
            files = _Files(stack)
            files.add(source)
            self._source, self._passed_over = files.name, files.passed_over
            told = None if progress is None else functools.partial(_told, progress, files.size)
            self._store = _core.TraceStore(files.found, format=format, only_traces=not files.is_folder, progress=told)
        if not self._store and (problems := self.diagnostics):
            more = f" (and {len(problems) - 1:,} more)" if len(problems) > 1 else ""
            raise InvalidInput(f"no trace could be read; {problems[0]}{more}", self._source)

    def __repr__(self) -> str:
        return f"Traces({self._source!r})"

    @property
    def diagnostics(self) -> list[str]:
        """What could not be read, or was guessed, with its place and the reason."""
        return [*self._passed_over, *self._store.problems, *self._unreadable.values()]

    @property
    def formats(self) -> list[str]:
        """The formats that were found, each once."""
        return self._store.formats

    def __len__(self) -> int:
        return len(self._store)

    @overload
    def __getitem__(self, index: int) -> Trace: ...
    @overload
    def __getitem__(self, index: slice) -> list[Trace]: ...
    def __getitem__(self, index: int | slice) -> Trace | list[Trace]:
        """A trace by its place, or those of a slice.

        Raises:
            IndexError: There are fewer.
            InvalidInput: It can't be read.
        """
        places = range(len(self))[index]
        if isinstance(places, range):
            return [self[place] for place in places]
        try:
            return self._made(places, self._store.load(places, places + 1)[0])
        except InvalidInput as error:
            self._unreadable.setdefault(places, str(error))
            raise

    def __iter__(self) -> Iterator[Trace]:
        """All traces. One that can't be read is passed over, and told in `diagnostics`."""
        # What is in our own format is read as text, one by one, with all checks that a trace has.
        size = 1 if OWN in self.formats else AT_ONCE
        for start in range(0, len(self), size):
            for place, read in enumerate(self._store.load(start, start + size), start):
                try:
                    yield self._made(place, read)
                except InvalidInput as error:
                    self._unreadable.setdefault(place, str(error))

    @property
    def unreadable(self) -> list[int]:
        """The places of the traces that were asked for and can't be read."""
        return sorted(self._unreadable)

    @property
    def files(self) -> list[tuple[str, str | None]]:
        """The names of the files with the format of each; None where nothing is in it that could be read."""
        return self._store.files

    @cached_property
    def file_of(self) -> list[int]:
        """Which of the files each trace is in, or begins in."""
        return self._store.file_of()

    def outlines(self, start: int, stop: int) -> list[tuple[int, bool] | None]:
        """Of each trace from one place to another the number of its turns, and whether its tool calls are known.

        None for one that can't be read, of which `diagnostics` tells.
        """
        outlines = list[tuple[int, bool] | None]()
        for place, outline in enumerate(self._store.outlines(start, stop), start):
            if isinstance(outline, str):
                self._unreadable.setdefault(place, outline)
            outlines.append(None if isinstance(outline, str) else outline)
        return outlines

    def columns(self, size: int = 1024, *, kind: str | None = None) -> Iterator[dict[str, _core.SpanColumn]]:
        """All spans, or those of a kind, by column, in parts: ``pandas.DataFrame(part)``. No object is made for a span.

        A part is a dict of columns: sequences like lists (`tolist()` is one), and Arrow arrays, which polars and
        pyarrow take without a copy. Where nothing was asked of the traces before, they are read while they are found,
        so that each record is read but once.

        A row is a span. Its columns are ``trace`` (the place of its trace, as in ``traces[place]``), ``turn`` (from 0),
        ``trace_id``, ``conversation_id``, ``kind``, ``id``, ``parent_id``, ``name``, ``agent``, ``input`` and
        ``output`` (JSON text, None where not recorded; what models were told only with ``kind="llm"``), ``status``,
        ``error``, ``started_at``, ``ended_at`` (ISO 8601), and ``recorded_as``. A trace without spans has no row, nor
        has one that can't be read.

        Args:
            size: How many traces a part is made of, at least 1.
            kind: Of which kind the spans are, as in `Span.kind`; None for all.

        Raises:
            InvalidInput: `size` is no such number, or an unknown kind.

        Examples:
            >>> for part in Traces("examples/refund_traces.jsonl").columns():
            ...     print(part["trace"], part["name"])
            [0, 0, 1] ['lookup_order', 'issue_refund', 'issue_refund']
        """
        if type(size) is not int or size < 1:
            raise InvalidInput(f"size: expected a number of traces, at least 1, not {size!r}", "size")
        kind = None if kind is None else str(span_kind(kind))
        return self._store.columns(size, kind)

    def pull(self, id: str) -> Trace:
        """The trace of an id. One without an id that is alone in its file has the file's name, without its endings.

        Raises:
            InvalidInput: There is none; the message names the nearest. Or it can't be read.
        """
        place = self._store.find(id)
        if place is None:
            raise self._nothing("id", id, self.ids())
        return self[place]

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
            unread = f"; not read: {self.diagnostics[0]}" if self.diagnostics else ""
            raise InvalidInput(f"{self._source}: expected one trace, found {len(self)}{unread}", self._source)
        return self[0]

    def ids(self) -> list[str]:
        """The ids by which traces can be pulled, in their order."""
        return list(dict.fromkeys(id for id in self._store.ids() if id is not None))

    def _made(self, place: int, read: dict[str, Any] | bytes | str) -> Trace:
        if isinstance(read, str):
            raise InvalidInput(read)
        try:
            return Trace.read_json(read) if isinstance(read, bytes) else Trace.read(read)
        except CallmatchError as error:
            where = self._store.place(place) or self._source
            raise InvalidInput(f"{where}: {error}", error.path) from None

    def places_by(self, by: str) -> dict[str, list[int]]:
        """The places of traces by the id of the trace, of its ``conversation_id`` or of its ``test_id``."""
        if by == "trace_id":
            return _places(self._store.ids())
        return self._by_test if by == "test_id" else self._by_conversation

    @cached_property
    def _about(self) -> tuple[list[str | None], list[str | None]]:
        return self._store.about()

    @cached_property
    def _by_test(self) -> dict[str, list[int]]:
        ids, (_, tests) = self._store.ids(), self._about
        return _places([id if test is None else test for id, test in zip(ids, tests, strict=True)])

    @cached_property
    def _by_conversation(self) -> dict[str, list[int]]:
        return _places(self._about[0])

    def _joined(self, what: str, id: str, index: dict[str, list[int]]) -> Trace:
        if id not in index:
            raise self._nothing(what, id, index)
        return Trace.joined([self[place] for place in index[id]])

    def _nothing(self, what: str, id: str, known: Iterable[str]) -> InvalidInput:
        unread = f" (not read, for one: {self.diagnostics[0]})" if self.diagnostics else ""
        return InvalidInput(f"{self._source}: {not_there(f'trace with the {what}', id, known)}{unread}", what)


def _places(ids: list[str | None]) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for place, id in enumerate(ids):
        if id is not None:
            places.setdefault(id, []).append(place)
    return places


def _told(progress: Callable[[int, int | None], object], total: int | None, read: int) -> None:
    progress(read, total)


class _File(NamedTuple):
    """A file to be read."""

    path: str
    name: str
    """What errors call it."""
    id: str | None = None
    """What its only trace is called, if that has no id."""
    is_temporary: bool = False


class _Files:
    """The files that a source stands for, each with what errors call it. Tables and rows become temporary files."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self.found: list[_File] = []
        self.name = ""
        self.is_folder = False
        self.passed_over: list[str] = []
        self._stack = stack

    def add(self, source: Source) -> None:
        if isinstance(source, (str, os.PathLike)):
            self._add_paths([source])
        elif tables.is_table(source):
            self.name = tables.called(source)
            self._write(self.name, lambda file: tables.write_table(source, self.name, file))
        elif isinstance(source, Mapping):
            self._add_rows([source])
        elif isinstance(source, Iterable) and not (isinstance(source, bytes) or hasattr(source, "read")):
            items = iter(source)
            first = list(itertools.islice(items, 1))
            whole = itertools.chain(first, items)
            if first and not isinstance(first[0], (str, os.PathLike)):
                self._add_rows(whole)
            else:
                self._add_paths(list(whole))
        else:
            expected = "a path, several, a table, or rows"
            raise InvalidType(f"source: expected {expected}, got {type(source).__name__}", "source")

    def _add_rows(self, rows: Iterable[object]) -> None:
        self.name = "rows"
        self._write(self.name, lambda file: tables.write_rows(rows, self.name, file))

    def _add_paths(self, paths: Sequence[object]) -> None:
        for path in paths:
            if not isinstance(path, (str, os.PathLike)):
                raise InvalidType(f"source: expected paths, got {type(path).__name__} among them", "source")
            if os.path.isdir(path):
                self.is_folder = True
                for file in sorted(file for file in Path(os.fsdecode(path)).rglob("*") if is_read(file)):
                    self._add_file(os.fspath(file), is_found=True)
            else:
                self._add_file(os.fsdecode(path), is_found=False)
        self.name = ", ".join(map(_name, paths[:3])) + ", …" * (len(paths) > 3)

    @property
    def size(self) -> int | None:
        """How many bytes there are to be read; None where nobody knows."""
        sizes = [os.path.getsize(file.path) for file in self.found if os.path.isfile(file.path)]
        return sum(sizes) if len(sizes) == len(self.found) else None

    def _add_file(self, path: str, *, is_found: bool) -> None:
        name = _name(path)
        id = None if path == "-" else Path(name.removesuffix(".gz").removesuffix(".zst")).stem
        try:
            if path != "-":
                os.stat(path)
            if tables.is_parquet(path):
                self._write(name, lambda file: tables.write_parquet(path, name, file), id)
            else:
                self.found.append(_File(path, name, id))
        except (InvalidInput, OSError) as error:
            if not is_found:
                raise
            self.passed_over.append(str(error) if isinstance(error, InvalidInput) else f"{name}: {error.strerror}")

    @cached_property
    def _folder(self) -> str:
        folder = tempfile.TemporaryDirectory(prefix="callmatch-", ignore_cleanup_errors=True)
        return self._stack.enter_context(folder)

    def _write(self, name: str, write: Callable[[IO[bytes]], None], id: str | None = None) -> None:
        path = os.path.join(self._folder, f"{len(self.found)}.jsonl")
        with open(path, "wb") as file:
            write(file)
        self.found.append(_File(path, name, id, is_temporary=True))


def _name(path: Any) -> str:
    """What errors call a file. A name may be no text, which the core could not take."""
    text = os.fsdecode(path)
    return "standard input" if text == "-" else text.encode("utf-8", "backslashreplace").decode()


def is_read(file: Path) -> bool:
    """Is a file of a folder one that has an ending that is read?"""
    suffixes = file.suffixes[:-1] if file.suffix in COMPRESSED else file.suffixes
    return bool(suffixes) and suffixes[-1] in ENDINGS and file.is_file()
