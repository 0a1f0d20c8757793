"""Tables in files, batch by batch: Parquet, Arrow IPC and CSV, on this machine or behind a URL."""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from callmatch import _core
from callmatch.errors import ENDING, CallmatchError, InvalidInput, raised
from callmatch.storage import Place

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ENDINGS", "Rows", "TableFile", "ahead", "is_table_file", "open_table", "pyarrow_for", "size_of"]

ENDINGS = (".parquet", ".pq", ".arrow", ".arrows", ".ipc", ".feather", ".csv", ".csv.gz", ".csv.zst")
"""The endings of the names of tables. What they hold is told by their first bytes, but for CSV."""

MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow stream"}
"""How files begin. A stream begins with a mark, and the length of its schema."""

COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}

BATCH = 8 << 20
"""So many bytes of a table are decoded at a time, as near as rows allow. Each row may hold a whole conversation."""

MOST_ROWS = 1 << 16
"""No more rows are decoded at a time, however short they are."""

FIRST_ROWS = 64
"""So many rows of a Parquet file are looked at to learn how long rows are."""

CSV_BLOCK = 16 << 20
"""A row of a CSV file can't be longer."""

FETCHED = 8 << 20
"""So many bytes of a column are asked for at a time where each answer has to come through a network."""

T = TypeVar("T")


class Rows(NamedTuple):
    """Rows of a file that follow each other.

    Attributes:
        first: Which row of the file the first of them is, from 0.
        batch: The wanted columns of them.
        share: How much of the file is read when they are, from 0 to 1.
    """

    first: int
    batch: pa.RecordBatch
    share: float


class TableFile(Protocol):
    """A file with a table.

    Attributes:
        schema: The names of its columns, and their types.
    """

    schema: pa.Schema

    def batches(self, columns: Sequence[str], start: int) -> Iterator[Rows]:
        """The rows from the one with this number on, a few megabytes at a time."""

    def close(self) -> None:
        """Let go of the file."""


def pyarrow_for(name: str) -> Any:
    """pyarrow, or what to install for a file."""
    try:
        import pyarrow  # noqa: PLC0415 - few read tables
    except ImportError as error:
        message = f"{name}: it needs pyarrow: pip install 'callmatch[parquet]'"
        raise ImportError(message, name=error.name) from None
    return pyarrow


def is_table_file(name: str) -> bool:
    """Is a file a table? Told by its ending, or on this machine by its first bytes."""
    if name.lower().endswith(ENDINGS):
        return True
    if not os.path.isfile(name):
        return False
    with open(name, "rb") as file:
        start = file.read(8)
    return any(start.startswith(magic) for magic in MAGIC)


def open_table(place: Place) -> TableFile:
    """Open a file, and read what its columns are.

    Raises:
        OSError: It is missing, or may not be read.
        InvalidInput: It is empty, damaged, or no table.
        ImportError: pyarrow is not there.
    """
    pyarrow_for(place.name)
    if (
        place.is_local
        and os.path.exists(place.path)
        and not os.path.isfile(place.path)
        and not os.path.isdir(place.path)
    ):
        # It would be waited for without end: what was read of it is gone when it is opened again.
        raise InvalidInput(_core.printable(f"{place.name}: a table is read in several places, and this is no file"))
    with place.open("rb", cache_type="none") as file, reading(place.name):
        start = file.read(8)
    if not start:
        raise InvalidInput(_core.printable(f"{place.name}: it is empty"))
    kind = next((kind for magic, kind in MAGIC.items() if start.startswith(magic)), None)
    if kind is None and place.name.lower().endswith((".csv", ".csv.gz", ".csv.zst")):
        kind = "csv"
    if kind is None:
        takes = "Parquet, Arrow IPC (a file or a stream) and, if its name ends with .csv, .csv.gz or .csv.zst, CSV"
        raise InvalidInput(_core.printable(f"{place.name}: this is no table; tables are {takes}"))
    with reading(place.name):
        opened = READERS[kind](place)
    names = opened.schema.names
    if twice := next((name for name in names if names.count(name) > 1), None):
        opened.close()
        raise InvalidInput(_core.printable(f"{place.name}: there are two columns {twice!r}"))
    return opened


@contextlib.contextmanager
def reading(what: str) -> Iterator[None]:
    """Say of what goes wrong where it did. Libraries that read what is behind URLs raise what they like."""
    try:
        yield
    except ENDING:
        raise
    except CallmatchError:
        raise
    except MemoryError:
        raise
    except Exception as error:
        message = (str(error) or type(error).__name__) if _is_of_arrow(error) else raised(error)
        raise InvalidInput(_core.printable(f"{what}: it can't be read: {message.splitlines()[0]}")) from error


def _is_of_arrow(error: Exception) -> bool:
    import pyarrow as pa  # noqa: PLC0415

    return isinstance(error, pa.ArrowException) or type(error) is OSError


class Parquet:
    """A Parquet file. Of a row group no more is in memory than some pages of each wanted column, and its dictionary."""

    def __init__(self, place: Place) -> None:
        from pyarrow import parquet  # noqa: PLC0415

        self.name = place.name
        if place.is_local:
            source, buffer = place.path, 1 << 20
        else:  # reads are of a column, each at another place: what is read ahead of one is of no use for the next
            source, buffer = place.open("rb", cache_type="none"), FETCHED
        self._file = parquet.ParquetFile(source, pre_buffer=False, buffer_size=buffer)
        self.schema = self._file.schema_arrow
        self._bytes_of_a_row = 0.0

    def batches(self, columns: Sequence[str], start: int) -> Iterator[Rows]:
        """The rows from this one on."""
        metadata, stop = self._file.metadata, 0
        for group in range(metadata.num_row_groups):
            first, stop = stop, stop + metadata.row_group(group).num_rows
            if stop <= start:
                continue
            row = first
            with reading(f"{self.name}: row group {group}, of the rows {first:,} to {stop - 1:,}"):
                size = self._rows_at_once(group, columns)
                for batch in self._file.iter_batches(size, row_groups=[group], columns=list(columns)):
                    known = start - row
                    row += batch.num_rows
                    if row > start:
                        self._bytes_of_a_row = max(self._bytes_of_a_row, size_of(batch) / max(batch.num_rows, 1))
                        part = batch.slice(known) if known > 0 else batch
                        yield Rows(row - part.num_rows, part, row / metadata.num_rows)
                if row != stop:
                    raise InvalidInput(
                        f"{self.name}: row group {group} has {row - first:,} rows, and should have {stop - first:,}"
                    )

    def _rows_at_once(self, group: int, columns: Sequence[str]) -> int:
        about = self._file.metadata.row_group(group)
        if not about.num_rows:
            return 1
        chunks = [about.column(place) for place in range(about.num_columns)]
        wanted = [
            chunk
            for chunk in chunks
            if any(chunk.path_in_schema == name or chunk.path_in_schema.startswith(f"{name}.") for name in columns)
        ]
        size = sum(chunk.total_uncompressed_size for chunk in wanted) / about.num_rows
        if not self._bytes_of_a_row and any(chunk.has_dictionary_page for chunk in wanted):
            # Rows that are numbers in a file are texts when they are read, and may be long.
            few = min(FIRST_ROWS, about.num_rows)
            rows = next(self._file.iter_batches(few, row_groups=[group], columns=list(columns)), None)
            self._bytes_of_a_row = size_of(rows) / few if rows is not None else 0.0
        return max(1, min(MOST_ROWS, int(BATCH / max(size, self._bytes_of_a_row, 1.0))))

    def close(self) -> None:
        """Let go of the file."""
        self._file.close(force=True)


class Arrow:
    """An Arrow IPC file (Feather, version 2). Of a record batch the wanted columns are in memory."""

    def __init__(self, place: Place) -> None:
        from pyarrow import ipc  # noqa: PLC0415

        self.name, self._place = place.name, place
        self._source = _source_of(place)
        self.schema = ipc.open_file(self._source).schema

    def batches(self, columns: Sequence[str], start: int) -> Iterator[Rows]:
        """The rows from this one on."""
        from pyarrow import ipc  # noqa: PLC0415

        fields = [self.schema.get_field_index(name) for name in columns]
        file = ipc.open_file(self._source, options=ipc.IpcReadOptions(included_fields=fields))
        row = 0
        for number in range(file.num_record_batches):
            with reading(f"{self.name}: record batch {number}, from row {row:,} on"):
                batch = file.get_batch(number)
            yield from _from(start, row, batch, (number + 1) / file.num_record_batches)
            row += batch.num_rows

    def close(self) -> None:
        """Let go of the file."""
        self._source.close()


class ArrowStream:
    """An Arrow IPC stream in a file."""

    def __init__(self, place: Place) -> None:
        from pyarrow import ipc  # noqa: PLC0415

        self.name, self._place = place.name, place
        self._source = _source_of(place)
        self._size = place.stamp()["size"]
        self.schema = ipc.open_stream(self._source).schema

    def batches(self, columns: Sequence[str], start: int) -> Iterator[Rows]:
        """The rows from this one on."""
        from pyarrow import ipc  # noqa: PLC0415

        self._source.seek(0)
        fields = [self.schema.get_field_index(name) for name in columns]
        file = ipc.open_stream(self._source, options=ipc.IpcReadOptions(included_fields=fields))
        row = 0
        while True:
            with reading(f"{self.name}: from row {row:,} on"):
                try:
                    batch = file.read_next_batch()
                except StopIteration:
                    return
            yield from _from(start, row, batch, _share(self._source, self._size))
            row += batch.num_rows

    def close(self) -> None:
        """Let go of the file."""
        self._source.close()


class Csv:
    """A CSV file with a header, plain or compressed, whose cells are texts. An empty cell without quotes is a null."""

    def __init__(self, place: Place) -> None:
        self.name, self._place = place.name, place
        self._size = place.stamp()["size"]
        import pyarrow as pa  # noqa: PLC0415

        raw, rows = self._open({})
        with raw:
            self.schema = pa.schema([(name, pa.string()) for name in rows.schema.names])

    def _open(self, converted: dict[str, Any]) -> tuple[Any, Any]:
        import pyarrow as pa  # noqa: PLC0415
        from pyarrow import csv  # noqa: PLC0415

        with self._place.open("rb", cache_type="none") as file:
            start = file.read(4)
        raw = _source_of(self._place)
        kind = next((kind for magic, kind in COMPRESSED.items() if start.startswith(magic)), None)
        rows = csv.open_csv(
            pa.CompressedInputStream(raw, kind) if kind else raw,
            read_options=csv.ReadOptions(block_size=CSV_BLOCK, use_threads=False),
            # JSON text may have been written on several lines.
            parse_options=csv.ParseOptions(newlines_in_values=True),
            convert_options=csv.ConvertOptions(**converted),
        )
        return raw, rows

    def batches(self, columns: Sequence[str], start: int) -> Iterator[Rows]:
        """The rows from this one on."""
        import pyarrow as pa  # noqa: PLC0415

        converted = {
            # What is no UTF-8 is a row that can't be read, and not a file.
            "column_types": dict.fromkeys(columns, pa.binary()),
            "include_columns": list(columns),
            "null_values": [""],
            "strings_can_be_null": True,
            "quoted_strings_can_be_null": False,
        }
        row = 0
        with reading(self.name):
            raw, rows = self._open(converted)
        with raw:
            while True:
                with reading(f"{self.name}: from row {row:,} on"):
                    try:
                        batch = rows.read_next_batch()
                    except StopIteration:
                        return
                yield from _from(start, row, batch, _share(raw, self._size))
                row += batch.num_rows

    def close(self) -> None:
        """It is open while its rows are read."""


READERS: dict[str, Callable[[Place], TableFile]] = {
    "parquet": Parquet,
    "arrow": Arrow,
    "arrow stream": ArrowStream,
    "csv": Csv,
}


def _source_of(place: Place) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    # Not mapped into memory: what was read would count as memory of this process until others need it.
    return pa.OSFile(place.path, "rb") if place.is_local else pa.PythonFile(place.open("rb"), mode="r")


def _share(source: Any, size: int | None) -> float:
    return min(source.tell() / size, 1.0) if size else 0.0


def _from(start: int, row: int, batch: pa.RecordBatch, share: float) -> Iterator[Rows]:
    """The rows of a batch from one row of the file on, cut as long as others are."""
    known = max(0, start - row)
    if not batch.num_rows - known > 0:
        return
    rows = max(1, min(MOST_ROWS, int(BATCH / max(size_of(batch) / batch.num_rows, 1.0))))
    for offset in range(known, batch.num_rows, rows):
        yield Rows(row + offset, batch.slice(offset, rows), share)


def size_of(batch: pa.RecordBatch) -> int:
    """How many bytes the rows take."""
    import pyarrow as pa  # noqa: PLC0415

    try:
        return int(batch.nbytes)
    except pa.ArrowException:  # of views, which may lie anywhere, older versions can't tell
        return int(batch.get_total_buffer_size())


def gathered(parts: Iterator[Rows]) -> Iterator[Rows]:
    """Short batches put together, so that there is work for all cores: row groups may have a few rows each."""
    import pyarrow as pa  # noqa: PLC0415

    held: list[Rows] = []
    size = rows = 0
    try:
        for part in parts:
            held.append(part)
            size, rows = size + size_of(part.batch), rows + part.batch.num_rows
            if size >= BATCH // 2 or rows >= MOST_ROWS // 2:
                yield _joined(pa, held)
                held, size, rows = [], 0, 0
    except CallmatchError:
        # What was read before is given out first.
        if held:
            yield _joined(pa, held)
        raise
    if held:
        yield _joined(pa, held)


def _joined(pa: Any, parts: list[Rows]) -> Rows:
    if len(parts) == 1:
        return parts[0]
    columns = [pa.concat_arrays(pieces) for pieces in zip(*(part.batch.columns for part in parts), strict=True)]
    whole = pa.record_batch(columns, schema=parts[0].batch.schema)
    return Rows(parts[0].first, whole, parts[-1].share)


def ahead(items: Iterator[T], most: int = 1) -> Iterator[T]:
    """The same things, made by another thread: while one is worked with, the next is made, and so many wait."""
    done = object()
    waiting: queue.Queue[tuple[Any, BaseException | None]] = queue.Queue(most)
    stopped = threading.Event()

    def put(item: object, error: BaseException | None = None) -> bool:
        while not stopped.is_set():
            with contextlib.suppress(queue.Full):
                waiting.put((item, error), timeout=0.1)
                return True
        return False

    def make() -> None:
        try:
            for item in items:
                if not put(item):
                    break
            else:
                put(done)
        except BaseException as error:  # to be raised where the things are used
            put(done, error)
        finally:
            if stopped.is_set() and hasattr(items, "close"):
                items.close()

    thread = threading.Thread(target=make, name="callmatch-reading", daemon=True)
    thread.start()
    try:
        while True:
            try:
                # A wait without an end could not be interrupted on Windows.
                item, error = waiting.get(timeout=0.5)
            except queue.Empty:
                continue
            if error is not None:
                raise error
            if item is done:
                return
            yield item
    finally:
        stopped.set()
        thread.join()
