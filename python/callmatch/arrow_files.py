"""Scores of the rows of tables in files, file by file and piece by piece."""

from __future__ import annotations

import contextlib
import copy
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from callmatch import _core
from callmatch.arrow import ScoreTable, Table, names_of
from callmatch.errors import CallmatchError, InvalidInput
from callmatch.storage import Place
from callmatch.summaries import Summaries, Summary
from callmatch.table_files import BATCH, Rows, TableFile, ahead, gathered, open_table, size_of

if TYPE_CHECKING:
    import pyarrow as pa

    from callmatch.metrics.trajectory import ToolCallTrajectory

__all__ = ["PIECE", "FileScores", "Piece", "Position", "made", "own", "plain"]

PIECE = 256 << 20
"""So many bytes of a file are scored between two places where a run can be gone on with."""


class Position(NamedTuple):
    """A row among those of some files.

    Attributes:
        file: Which file it is in, from 0.
        row: Which row of this file it is, from 0.
        number: How many rows of all files are before it.
    """

    file: int = 0
    row: int = 0
    number: int = 0


class Piece:
    """Some rows of a file, which are scored once: by `batches` or by `sum_up`. Then `end` and `summaries` are known."""

    def __init__(self, scores: FileScores, feed: Feed, number: int) -> None:
        self._scores, self._feed = scores, feed
        self.start = Position(feed.file, feed.row, number)
        self.end = self.start
        self.summaries: Summaries = Summaries()
        self.bytes = 0

    @property
    def share(self) -> float:
        """How much of its file is read so far, from 0 to 1."""
        return self._feed.share

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The scores of its rows."""
        import pyarrow as pa  # noqa: PLC0415

        with self._scoring() as stream:
            number = self.start.number
            for batch in pa.RecordBatchReader.from_stream(stream):
                yield self._scores._finished(batch, self.start, number)
                number += batch.num_rows

    def sum_up(self) -> None:
        """Score the rows without making columns."""
        with self._scoring():
            pass

    @contextlib.contextmanager
    def _scoring(self) -> Iterator[_core.ScoreStream]:
        import pyarrow as pa  # noqa: PLC0415

        feed, start = self._feed, self.start
        rows = pa.RecordBatchReader.from_batches(feed.schema, self._rows())
        stream = self._scores._open_stream(start.file, rows, start.row)
        try:
            yield stream
            self.summaries = Summaries._of(stream.summaries())
        except Exception:
            # What a stream is told of an error is its text.
            if feed.raised is not None:
                raise feed.raised from None
            raise
        count = self.summaries.total.rows
        file, row = (start.file, start.row + count) if feed.failed else (feed.file, feed.row)
        self.end = Position(file, row, start.number + count)

    def _rows(self) -> Iterator[pa.RecordBatch]:
        feed = self._feed
        try:
            while feed.file == self.start.file and not feed.failed and self.bytes < PIECE:
                batch = feed.batch
                self.bytes += size_of(batch)
                yield batch
                feed.go_on()
        except BaseException as error:
            feed.raised = error
            raise


class Feed:
    """The rows of files, read ahead by a thread. It stands at the rows that come next, or after the last file."""

    def __init__(self, scores: FileScores, start: Position) -> None:
        self._count = len(scores.places)
        self._rows = ahead(scores._rows(start))
        self.raised: BaseException | None = None
        """What was raised while rows were handed on."""
        self.error: Exception | None = None
        """Why there are no more rows."""
        self.file, self.row, self.share = start.file, start.row, 0.0
        self.batch: pa.RecordBatch = None
        self.go_on()

    def go_on(self) -> None:
        """Go to the next rows."""
        try:
            found = next(self._rows, None)
        except Exception as error:
            # What was read before is good, and is scored before anything is said.
            self.error = error
            return
        if found is None:
            self.file, self.row = self._count, 0
        else:
            self.file, (self.row, self.batch, self.share) = found

    @property
    def failed(self) -> bool:
        """Is there something that can't be read?"""
        return self.error is not None

    @property
    def schema(self) -> pa.Schema:
        """That of the next rows."""
        return self.batch.schema

    def close(self) -> None:
        """Read no further."""
        self._rows.close()  # type: ignore[attr-defined]


class FileScores(ScoreTable):
    """The scores of the rows of tables in files, worked out as they are read.

    They are used as those of a table in memory, which see. Each reading reads and scores the files again.

    Attributes:
        columns: The names of the columns.
        schema: These, and what they hold.
        places: Where the files are.
    """

    def __init__(
        self,
        metric: ToolCallTrajectory,
        files: Sequence[str],
        columns: Sequence[str],
        keep: Sequence[str],
        *,
        numbered: bool = False,
        id: str = "id",
        id_is_there: bool = False,
        group_by: Sequence[str] = (),
        **given: Any,
    ) -> None:
        """Open the first file.

        Args:
            metric: What scores.
            files: Paths and URLs; none is a pattern.
            columns: The columns of scores; none for all.
            keep: Columns of the files that come out as they are.
            numbered: Put before all others the columns ``id``, ``file`` and ``row``.
            id: Then the column of ids.
            id_is_there: Without such a column, refuse the files; else the number of a row among those of all files is
                its id.
            group_by: The columns that the rows are summed up by.
            given: What `_core.score_table` takes.
        """
        self._metric, self._given, self._numbered = metric, given, numbered
        self._wanted = list(columns)
        self.places = [Place.of(file) for file in files]
        self.stamps: list[dict[str, Any]] = [{}] * len(self.places)
        """What each file was when it was opened."""
        opened = open_table(self.places[0])
        try:
            has_id = numbered and (id_is_there or id in opened.schema.names)
            self._id = id if has_id else None
            self._keep = [id, *keep] if has_id else list(keep)
            self._group_by = list(group_by)
            self._kept: dict[str, pa.DataType] = {}
            self._check(opened, 0)
            self._kept = {name: plain(opened.schema.field(name).type) for name in self._keep}
            self.schema = self._schema_of(opened)
        finally:
            opened.close()
        self.columns = tuple(self.schema.names)
        self._summary: Summary | None = None

    @property
    def _read(self) -> list[str]:
        """The columns of the files that are needed."""
        calls = [self._given["actual"], self._given["expected"]]
        return list(dict.fromkeys([*calls, *self._keep, *self._group_by]))

    def options(self) -> dict[str, Any]:
        """What decides which scores come out, but for the files."""
        metric = self._metric
        return {
            "match": metric.match,
            "arguments": metric.arguments,
            "names": metric.names,
            "the column of calls": self._given["actual"],
            "the column of expected calls": self._given["expected"],
            "the column of ids": self._id,
            "kept": self._keep,
            "columns": self._wanted,
            "group_by": self._group_by,
        }

    def _open_file(self, file: int) -> TableFile:
        # First, so that a change while it is read will be seen.
        self.stamps[file] = self.places[file].stamp()
        opened = open_table(self.places[file])
        try:
            self._check(opened, file)
        except CallmatchError:
            opened.close()
            raise
        return opened

    def _check(self, opened: TableFile, file: int) -> None:
        name, schema = self.places[file].name, opened.schema
        for column in self._read:
            if column not in schema.names:
                raise InvalidInput(_core.printable(f"{name}: {_core.one_of('a column', column, schema.names)}"))
        for column, wanted in self._kept.items():
            if not _may_be(kind := schema.field(column).type, wanted):
                what = f"the column {column!r} holds {kind}, and {wanted} in {self.places[0].name}"
                raise InvalidInput(_core.printable(f"{name}: {what}; give such files apart"))

    def _schema_of(self, opened: TableFile) -> pa.Schema:
        """What comes out."""
        import pyarrow as pa  # noqa: PLC0415

        fields = [pa.field(name, self._kept.get(name, opened.schema.field(name).type)) for name in self._read]
        stream = self._open_stream(0, pa.schema(fields).empty_table(), 0)
        scored = [pa.field(field.name, field.type) for field in pa.RecordBatchReader.from_stream(stream).schema]
        if self._numbered:
            id_ = pa.field("id", scored.pop(0).type if self._id is not None else pa.int64())
            scored = [id_, pa.field("file", pa.string()), pa.field("row", pa.int64()), *scored]
        return pa.schema(scored)

    def _open_stream(self, file: int, rows: Table, first: int) -> _core.ScoreStream:
        name = self.places[file].name
        try:
            return _core.score_table(
                self._metric._core,
                rows,
                keep=self._keep,
                columns=self._wanted,
                group_by=self._group_by,
                file=name,
                first_row=first,
                **self._given,
            )
        except CallmatchError as error:
            raise type(error)(_core.printable(f"{name}: {error}"), error.path) from None

    def _rows(self, start: Position) -> Iterator[tuple[int, Rows]]:
        """The rows of all files from a place on, and the file that they are in."""
        import pyarrow as pa  # noqa: PLC0415

        for file in range(start.file, len(self.places)):
            opened = self._open_file(file)
            try:
                read = gathered(opened.batches(self._read, start.row if file == start.file else 0))
                for rows in (part for found in read for part in _short(found, self._kept)):
                    columns = []
                    for name in self._read:
                        column = rows.batch.column(rows.batch.schema.get_field_index(name))
                        wanted = self._kept.get(name)
                        columns.append(column if wanted is None else made(column, wanted))
                    yield file, rows._replace(batch=pa.record_batch(columns, names=self._read))
            except pa.ArrowException as error:
                raise InvalidInput(_core.printable(f"{self.places[file].name}: {error}")) from None
            finally:
                opened.close()

    def _finished(self, batch: pa.RecordBatch, start: Position, number: int) -> pa.RecordBatch:
        """Scores, with where their rows are if that is wanted."""
        import pyarrow as pa  # noqa: PLC0415

        columns = own(batch)
        if self._numbered:
            row = start.row + number - start.number
            numbers = pa.array(range(number, number + batch.num_rows), pa.int64())
            rows = pa.array(range(row, row + batch.num_rows), pa.int64())
            file = pa.repeat(pa.scalar(self.places[start.file].name, pa.string()), batch.num_rows)
            id_ = numbers if self._id is None else columns.pop(0)
            columns = [id_, file, rows, *columns]
        return pa.record_batch(columns, schema=self.schema)

    def pieces(self, start: Position = Position()) -> Iterator[Piece]:  # noqa: B008 - it is a tuple
        """All rows from one on, scored. The batches of each piece are read before the next is asked for.

        Raises:
            OSError: A file is missing, or may not be read.
            InvalidInput: A file is damaged, has no such column, or another kind of it. What was read before was given
                out then.
        """
        feed = Feed(self, start)
        number = start.number
        try:
            while feed.file < len(self.places) and not feed.failed:
                piece = Piece(self, feed, number)
                yield piece
                number = piece.end.number
        finally:
            feed.close()
        if feed.error is not None:
            raise feed.error

    def summary(self) -> Summary:  # noqa: D102 - as in ScoreTable
        return self._summary if self._summary is not None else self.summaries(()).total

    def summaries(self, group_by: Iterable[str]) -> Summaries:  # noqa: D102 - as in ScoreTable
        grouped = copy.copy(self)
        grouped._group_by = names_of("group_by", group_by)
        summaries = Summaries(grouped._group_by)
        for piece in grouped.pieces():
            piece.sum_up()
            summaries += piece.summaries
        return summaries

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        import pyarrow as pa  # noqa: PLC0415

        batches = (batch for piece in self.pieces() for batch in piece.batches())
        return pa.RecordBatchReader.from_batches(self.schema, batches).__arrow_c_stream__(requested_schema)

    def write(self, path: str | os.PathLike[str], *, resume: bool = False) -> None:  # noqa: D102 - as in ScoreTable
        from callmatch.score_files import write_files  # noqa: PLC0415 - it needs pyarrow

        self._summary = write_files(self, path, resume=resume)


def plain(kind: pa.DataType) -> pa.DataType:
    """What comes out of a column that is kept. Files differ in dictionaries, and not all formats have views."""
    import pyarrow as pa  # noqa: PLC0415

    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return plain(kind.value_type)
    return {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}.get(kind, kind)


def _short(rows: Rows, kept: Iterable[str]) -> Iterator[Rows]:
    """The same rows, so few at a time that dictionaries fit into memory as what they stand for."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    batch, size = rows.batch, 0
    for name in kept:
        column = batch.column(batch.schema.get_field_index(name))
        if pa.types.is_dictionary(column.type) and _is_text(plain(column.type)):
            lengths = pc.binary_length(made(column.dictionary, plain(column.type)))
            size += pc.sum(pc.cast(lengths.take(column.indices), pa.int64())).as_py() or 0
    step = max(1, int(BATCH * batch.num_rows / size)) if size > BATCH else batch.num_rows
    for offset in range(0, batch.num_rows, step):
        yield Rows(rows.first + offset, batch.slice(offset, step), rows.share)


def _may_be(kind: pa.DataType, wanted: pa.DataType) -> bool:
    """Can a column of this kind come out as another? Texts and bytes can, and what holds nothing."""
    import pyarrow as pa  # noqa: PLC0415

    return plain(kind) == wanted or pa.types.is_null(kind) or (_is_text(plain(kind)) and _is_text(wanted))


def _is_text(kind: pa.DataType) -> bool:
    import pyarrow as pa  # noqa: PLC0415

    return kind in {pa.string(), pa.large_string(), pa.binary(), pa.large_binary()}


def own(batch: pa.RecordBatch) -> list[pa.Array]:
    """The columns of scores, copied. Each would keep the batch that was scored, and its calls, where it is kept."""
    import pyarrow as pa  # noqa: PLC0415

    return [pa.concat_arrays([column, column.slice(0, 0)]) for column in batch.columns]


def made(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    """A column as another type."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    elif pa.types.is_run_end_encoded(column.type):
        column = pc.run_end_decode(column)
    return column if column.type == wanted else column.cast(wanted)
