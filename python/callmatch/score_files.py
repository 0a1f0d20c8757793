"""Files of scores: Parquet, Arrow IPC, JSON Lines and CSV, written aside, and named when they are whole."""

from __future__ import annotations

import abc
import contextlib
import csv
import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from callmatch import _core, tables
from callmatch.arrow_files import Position, made, own, plain
from callmatch.display import to_json
from callmatch.errors import CallmatchError, InvalidInput, one_of
from callmatch.parts import WHOLE, Parts, finish
from callmatch.storage import Place
from callmatch.summaries import Summaries, Summary
from callmatch.table_files import pyarrow_for

if TYPE_CHECKING:
    import pyarrow as pa

    from callmatch.arrow import Table
    from callmatch.arrow_files import FileScores
    from callmatch.batch import Scores

__all__ = [
    "ENDINGS",
    "Run",
    "Scored",
    "ending_of",
    "running",
    "text_of_cell",
    "write_files",
    "write_table",
    "writing_records",
]

ROWS = 1 << 16
"""So many rows a row group has, however they came in."""

TEXT = 64 << 20
"""A row group ends early, with the row that makes its texts longer than this: what is kept may be long."""


class Closing(Protocol):
    """What has an end."""

    def close(self) -> None:
        """Write what is left, and the end; the file itself stays open."""

    def abandon(self) -> None:
        """Be done with what will never be whole."""


class Sink(Closing, Protocol):
    """A file that rows are written to."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Write rows."""


def ending_of(name: str) -> str:
    """What kind of file of scores a name is of.

    Raises:
        InvalidInput: Of none.
    """
    ending = os.path.splitext(name)[1].lower()
    if ending not in ENDINGS:
        raise InvalidInput(_core.printable(f"{name}: {one_of('the ending of a file of scores', ending, ENDINGS)}"))
    return ending


class Grouped(abc.ABC):
    """Rows, put together to groups that are the same however the rows came in."""

    def __init__(self, schema: pa.Schema) -> None:
        import pyarrow as pa  # noqa: PLC0415

        self.schema = schema
        self._held: list[pa.RecordBatch] = []
        self._rows = self._text = 0
        known = {*_core.SCORE_COLUMNS, "file", "row"}
        self._long = [
            place
            for place, field in enumerate(schema)
            if field.name not in known and not pa.types.is_primitive(field.type)
        ]

    @abc.abstractmethod
    def _write_group(self, table: pa.Table) -> None:
        """Write rows that belong together."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Write rows."""
        start = 0
        while start < batch.num_rows:
            part = batch.slice(start, ROWS - self._rows)
            text = self._text + self._text_in(part)
            while text > TEXT and part.num_rows > 1:  # until the row is found with which the group ends
                part = part.slice(0, part.num_rows // 2)
                text = self._text + self._text_in(part)
            self._held.append(part)
            self._rows, self._text = self._rows + part.num_rows, text
            start += part.num_rows
            if self._rows == ROWS or text > TEXT:
                self.flush()

    def _text_in(self, batch: pa.RecordBatch) -> int:
        return sum(_text_in(batch.column(place)) for place in self._long)

    def flush(self) -> None:
        """Write what is held as a group."""
        import pyarrow as pa  # noqa: PLC0415

        if self._held:
            # Where pages end, and how long buffers are, depends on how rows lie in memory. So they are always copied,
            # which is done with several batches.
            held = [*self._held, self._held[0].slice(0, 0)]
            self._write_group(pa.Table.from_batches(held, self.schema).combine_chunks())
            self._held, self._rows, self._text = [], 0, 0


def _text_in(array: pa.Array) -> int:
    """How many bytes the texts of an array have. How much memory it takes depends on where it comes from."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return _text_in(array.storage)
    if pa.types.is_map(kind):
        return _text_in(array.cast(pa.list_(pa.struct([kind.key_field, kind.item_field]))))
    if pa.types.is_nested(kind):
        inner = array.flatten()
        return sum(map(_text_in, inner)) if isinstance(inner, list) else _text_in(inner)
    if kind in (pa.string_view(), pa.binary_view()):
        array = array.cast(pa.large_binary())
    elif kind not in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary()):
        return 8 * len(array)
    return pc.sum(pc.binary_length(array)).as_py() or 0


class Parquet(Grouped):
    """A Parquet file."""

    def __init__(self, file: IO[bytes], schema: pa.Schema) -> None:
        from pyarrow import parquet  # noqa: PLC0415

        super().__init__(schema)
        self._writer = parquet.ParquetWriter(file, schema, compression="zstd")

    def _write_group(self, table: pa.Table) -> None:
        self._writer.write_table(table, row_group_size=table.num_rows)

    def close(self) -> None:
        """Write what is left, and the footer."""
        self.flush()
        self._writer.close()

    def abandon(self) -> None:
        """Be done with what will never be whole."""
        # Or it would try again when it is collected.
        self._writer.is_open = False


class Arrow(Grouped):
    """An Arrow IPC file."""

    def __init__(self, file: IO[bytes], schema: pa.Schema) -> None:
        from pyarrow import ipc  # noqa: PLC0415

        super().__init__(schema)
        self._writer = ipc.new_file(file, schema)

    def _write_group(self, table: pa.Table) -> None:
        self._writer.write_table(table)

    def close(self) -> None:
        """Write what is left, and the footer."""
        self.flush()
        self._writer.close()

    def abandon(self) -> None:
        """Be done with what will never be whole."""


class Text(abc.ABC):
    """A file of text, a line for each row."""

    def __init__(self, file: IO[bytes], names: Sequence[str]) -> None:
        self.names = list(names)
        self.file = io.TextIOWrapper(file, encoding="utf-8", newline="")

    def write(self, batch: pa.RecordBatch) -> None:
        """Write the rows of a table."""
        columns = [tables.values_of(column, name) for column, name in zip(batch.columns, self.names, strict=True)]
        self.write_columns(dict(zip(self.names, columns, strict=True)))

    @abc.abstractmethod
    def write_columns(self, columns: Mapping[str, Sequence[Any]]) -> None:
        """Write the rows of columns of Python objects."""

    def close(self) -> None:
        """Write what is left."""
        self.file.detach()

    def abandon(self) -> None:
        """Be done with what will never be whole."""
        with contextlib.suppress(OSError, ValueError):
            self.file.detach()


class Jsonl(Text):
    """Each row as a JSON object."""

    def write_columns(self, columns: Mapping[str, Sequence[Any]]) -> None:
        """Write rows."""
        for row in zip(*columns.values(), strict=True):
            self.file.write(to_json(dict(zip(columns, row, strict=True))) + "\n")


class Csv(Text):
    """A header, and each row with empty cells for what it has no value for."""

    def __init__(self, file: IO[bytes], names: Sequence[str]) -> None:
        super().__init__(file, names)
        self._writer = csv.writer(self.file)
        self._writer.writerow(map(cell_text, self.names))

    def write_columns(self, columns: Mapping[str, Sequence[Any]]) -> None:
        """Write rows."""
        for row in zip(*columns.values(), strict=True):
            self._writer.writerow([cell_of(value) for value in row])


FORMULA = ("=", "+", "-", "@")
"""How texts begin that spreadsheets take for formulas."""


def cell_of(value: Any) -> Any:
    """What a cell of a CSV file holds."""
    if isinstance(value, (dict, list)):
        value = to_json(value)
    return cell_text(value) if isinstance(value, str) else value


def cell_text(text: str) -> str:
    """A text that a spreadsheet does not take for a formula; `text_of_cell` has it back."""
    text = _core.printable_lines(text)
    # Those that begin with the mark get another, so that no two texts become one.
    return f"'{text}" if text.lstrip("'").startswith(FORMULA) else text


def text_of_cell(cell: str) -> str:
    """The text that `cell_text` made a cell of."""
    return cell[1:] if cell.startswith("'") and cell.lstrip("'").startswith(FORMULA) else cell


TABLES: dict[str, Callable[[IO[bytes], Any], Sink]] = {".parquet": Parquet, ".arrow": Arrow}
TEXTS: dict[str, Callable[[IO[bytes], Sequence[str]], Text]] = {".jsonl": Jsonl, ".csv": Csv}

ENDINGS = (*TABLES, *TEXTS)
"""The endings of files of scores."""


def sink_of(ending: str, file: IO[bytes], schema: pa.Schema) -> Sink:
    """What writes rows to a file of this ending."""
    return TABLES[ending](file, schema) if ending in TABLES else TEXTS[ending](file, schema.names)


class Records:
    """Writes the scores of records, which are Python objects."""

    def __init__(self, name: str, file: IO[bytes]) -> None:
        ending = ending_of(name)
        self._text = TEXTS[ending](file, _core.COLUMNS) if ending in TEXTS else None
        if self._text is None:
            self._schema = _schema_of_records(name)
            self._sink = sink_of(ending, file, self._schema)

    def write(self, scores: Scores) -> None:
        """Write rows."""
        columns = scores.to_dict()
        if self._text is not None:
            self._text.write_columns(columns)
            return
        import pyarrow as pa  # noqa: PLC0415

        # Those of some records are numbers, and those of others texts. A column has one type.
        columns["id"] = list(map(str, columns["id"]))
        self._sink.write(pa.record_batch(columns, schema=self._schema))

    def close(self) -> None:
        """Write what is left, and the end; the file itself stays open."""
        (self._text or self._sink).close()

    def abandon(self) -> None:
        """Be done with what will never be whole."""
        (self._text or self._sink).abandon()


def _schema_of_records(name: str) -> pa.Schema:
    pa = pyarrow_for(name)
    from callmatch.metrics.trajectory import ToolCallTrajectory  # noqa: PLC0415 - it imports what imports this

    nothing = pa.table({column: pa.array([], pa.string()) for column in ("tool_calls", "expected_tool_calls")})
    scores = pa.RecordBatchReader.from_stream(ToolCallTrajectory().evaluate_table(nothing)).schema
    where = {"id": pa.string(), "file": pa.string(), "line": pa.int64()}
    return pa.schema([(column, where.get(column) or scores.field(column).type) for column in _core.COLUMNS])


SinkT = TypeVar("SinkT", bound=Closing)


@contextlib.contextmanager
def writing(output: Place, aside: Place, sink: Callable[[IO[bytes]], SinkT]) -> Iterator[SinkT]:
    """Write rows aside, and give the file its name only when it is whole."""
    file = aside.open("wb")
    opened = None
    try:
        opened = sink(file)
        yield opened
        opened.close()
        finish(file)
        aside.becomes(output)
    except BaseException:
        if opened is not None:
            opened.abandon()
        # What can't be written any more can't be closed either.
        with contextlib.suppress(Exception):
            file.close()
        with contextlib.suppress(Exception):
            aside.remove()
        raise


@contextlib.contextmanager
def writing_records(path: str) -> Iterator[Records]:
    """Write the scores of records to a file, which gets its name when it is whole."""
    output = Place.of(path).resolved()
    with writing(output, output.aside(), lambda file: Records(output.name, file)) as records:
        yield records


def write_table(scores: Table, path: str | os.PathLike[str]) -> None:
    """Write the scores of a table."""
    output = Place.of(os.fspath(path)).resolved()
    ending = ending_of(output.name)
    pa = pyarrow_for(output.name)
    rows = pa.RecordBatchReader.from_stream(scores)
    schema = pa.schema([pa.field(field.name, plain(field.type)) for field in rows.schema])
    with writing(output, output.aside(), lambda file: sink_of(ending, file, schema)) as sink:
        for batch in rows:
            columns = [made(column, field.type) for column, field in zip(own(batch), schema, strict=True)]
            sink.write(pa.record_batch(columns, schema=schema))


def write_files(scores: FileScores, path: str | os.PathLike[str], *, resume: bool) -> Summary:
    """Write the scores of tables in files, and sum them up."""
    with running(scores, os.fspath(path), resume=resume) as run:
        for _ in run:
            pass
    return run.summaries.total


class Scored(NamedTuple):
    """Scores, and how far the run is with them.

    Attributes:
        file: Which file they are of.
        share: How much of this file was read, from 0 to 1; None for what an earlier run scored.
    """

    batch: pa.RecordBatch
    file: int
    share: float | None


class Run:
    """The scores of files, as they are written.

    Attributes:
        summaries: Those of the rows so far, in the groups that the scores have.
    """

    def __init__(self, scores: FileScores, sink: Sink | None, parts: Parts | None) -> None:
        self._scores, self._sink, self._parts = scores, sink, parts
        self.summaries = Summaries(scores.options()["group_by"])

    @property
    def kept(self) -> int:
        """How many rows need not be scored again if the run ends now."""
        return self._parts.end.number if self._parts is not None else 0

    def discard(self) -> None:
        """Keep none of them: there is no point in going on."""
        if self._parts is not None:
            self._parts.discard()

    def __iter__(self) -> Iterator[Scored]:
        start = Position()
        if self._parts is not None:
            start = self._parts.end
            for batch in self._parts.batches():
                self._write(batch)
                yield Scored(batch, start.file, None)
            self.summaries += self._parts.summaries
        try:
            for piece in self._scores.pieces(start):
                for batch in piece.batches():
                    if self._parts is not None:
                        self._parts.write(batch)
                    self._write(batch)
                    yield Scored(batch, piece.start.file, piece.share)
                self.summaries += piece.summaries
                if self._parts is not None:
                    self._parts.add(piece)
        except (CallmatchError, OSError):
            if self._parts is not None:
                self._parts.commit()
            raise

    def _write(self, batch: pa.RecordBatch) -> None:
        if self._sink is not None:
            self._sink.write(batch)


@contextlib.contextmanager
def running(scores: FileScores, path: str | None, *, resume: bool = False) -> Iterator[Run]:
    """Score files, and write the scores to another: the file gets its name when all was read and the block is left.

    Args:
        scores: The scores.
        path: Where to write them; None: nowhere.
        resume: Go on with what an earlier run left.
    """
    if path is None:
        yield Run(scores, None, None)
        return
    output = Place.of(path).resolved()
    ending = ending_of(output.name)
    for place in scores.places:
        if place.is_same(output):
            raise InvalidInput(_core.printable(f"{path}: it would overwrite the input {place.name}"))
    parts = Parts(output, scores, resume=resume)
    try:
        with writing(output, parts.folder.inside(WHOLE), lambda file: sink_of(ending, file, scores.schema)) as sink:
            yield Run(scores, sink, parts)
        parts.discard()
    finally:
        parts.close()
