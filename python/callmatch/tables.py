"""Tables of traces, and rows in memory, as the JSON lines that the core reads."""

from __future__ import annotations

import datetime
import decimal
import json
import math
import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any

from callmatch import _core
from callmatch.documents import parsed
from callmatch.errors import CallmatchError, InvalidInput

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["AT_ONCE", "called", "is_parquet", "is_table", "values_of", "write_parquet", "write_rows", "write_table"]

AT_ONCE = 256
"""So many rows of a table are in memory at a time. Each may hold a whole conversation."""

MARK = b"PAR1"
"""How a Parquet file begins."""

ID_SIZES = (8, 16)
"""How many bytes the ids of spans and traces have."""

OPENED = frozenset({"messages", "contents", "turns", "tool_calls", "expected_tool_calls", "traj", "trajectory"})
"""The columns whose texts are JSON. Those of spans are known to who reads spans."""

Row = dict[str, Any]


def is_parquet(path: str) -> bool:
    """Is a file one of Parquet? Told by its first bytes; what is no plain file can't be looked at twice."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(len(MARK)) == MARK


def is_table(source: object) -> bool:
    """Is something a table: a frame of pandas, or whatever gives its columns to Arrow?"""
    return _is_pandas(source) or hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__")


def called(source: object) -> str:
    """How errors call what is in memory."""
    return type(source).__name__ if is_table(source) else "rows"


def write_parquet(path: str, name: str, file: IO[bytes]) -> None:
    """Write the rows of a Parquet file as JSON lines.

    Raises:
        OSError: It can't be read.
        InvalidInput: It is damaged, or has a column that can't be read.
        ImportError: pyarrow is not there.
    """
    arrow = _pyarrow(name)
    from pyarrow import parquet  # noqa: PLC0415

    try:
        # Columns are decoded batch by batch, and read as far as that needs.
        with parquet.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20) as table:
            _write_batches(table.iter_batches(AT_ONCE), name, file)
    except arrow.ArrowException as error:
        raise _of_arrow(error, name) from None


def write_table(table: Any, name: str, file: IO[bytes]) -> None:
    """Write the rows of a table in memory as JSON lines.

    Raises:
        InvalidInput: A column that can't be read.
        InvalidType: What has no JSON value.
        ImportError: pyarrow is not there, and is needed.
    """
    if _is_pandas(table):
        write_rows(_rows_of_pandas(table), name, file)
        return
    arrow = _pyarrow(name)
    try:
        if hasattr(table, "__arrow_c_stream__"):
            batches: Iterable[pa.RecordBatch] = arrow.RecordBatchReader.from_stream(table)
        else:
            batches = [arrow.record_batch(table)]
        parts = (batch.slice(start, AT_ONCE) for batch in batches for start in range(0, batch.num_rows, AT_ONCE))
        _write_batches(parts, name, file)
    except arrow.ArrowException as error:
        raise _of_arrow(error, name) from None


def write_rows(rows: Iterable[object], name: str, file: IO[bytes]) -> None:
    """Write records that are Python objects as JSON lines.

    Raises:
        InvalidInput: A value that can't be, with the number of its row.
        InvalidType: What has no JSON value, with the number of its row.
    """
    for number, row in enumerate(rows, 1):
        try:
            text = _encoder.encode(row)
        except CallmatchError as error:
            raise type(error)(_core.printable(f"{name}:{number}: {error}"), error.path) from None
        except RecursionError:
            raise InvalidInput(f"{name}:{number}: it is nested too deeply") from None
        except (TypeError, ValueError) as error:  # a key that is no text; a circle; an integer that is too long
            raise InvalidInput(_core.printable(f"{name}:{number}: {error}")) from None
        file.write(text.encode("ascii") + b"\n")


def _pyarrow(name: str) -> Any:
    try:
        import pyarrow  # noqa: PLC0415 - few read tables
    except ImportError as error:
        message = f"{name}: reading it needs pyarrow: pip install 'callmatch[parquet]'"
        raise ImportError(message, name=error.name) from None
    return pyarrow


def _of_arrow(error: Exception, name: str) -> InvalidInput:
    message = str(error).splitlines()[0] if str(error) else type(error).__name__
    return InvalidInput(_core.printable(f"{name}: the table can't be read: {message}"))


# Rows as Python objects


def _is_pandas(source: object) -> bool:
    # Not by what it can do: others can as well, but their missing values are not those of pandas.
    kind = type(source)
    return kind.__name__ == "DataFrame" and kind.__module__.partition(".")[0] == "pandas"


def _rows_of_pandas(frame: Any) -> Iterator[Row]:
    """The rows of a frame, without what is missing. An index that has a name is a column too."""
    names = [name for name in frame.index.names if name is not None and name not in frame.columns]
    for start in range(0, len(frame), AT_ONCE):
        part = frame.iloc[start : start + AT_ONCE]
        part = part.reset_index(level=names) if names else part
        for row in part.to_dict("records"):
            yield {key: _cell(value, str(key)) for key, value in row.items() if not _is_missing(value)}


def _is_missing(value: object) -> bool:
    if value is None:
        return True
    if isinstance(value, (str, bytes, list, dict)):
        return False
    kind = type(value).__name__
    return kind in ("NAType", "NaTType") or (isinstance(value, float) and math.isnan(value))


def _plain(value: Any) -> Any:
    """What stands for a value of which JSON knows nothing."""
    if isinstance(value, datetime.datetime):
        return None if type(value).__name__ == "NaTType" else _time_text(value)
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return getattr(value, "value", None) or value // datetime.timedelta(microseconds=1) * 1000
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _text_of_bytes(bytes(value), "id")
    if isinstance(value, uuid.UUID):
        return str(value)
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        return value.tolist()
    if type(value).__name__ == "NAType":
        return None
    if isinstance(value, Mapping):
        return dict(value)
    return _core.read_value(value, "")


_encoder = json.JSONEncoder(default=_plain)


def _time_text(time: datetime.datetime) -> str:
    """A time in UTC. One without a zone is taken for one of UTC."""
    utc = time.replace(tzinfo=datetime.timezone.utc) if time.tzinfo is None else time.astimezone(datetime.timezone.utc)
    nanoseconds = getattr(time, "nanosecond", 0)  # of pandas' times
    text = utc.replace(tzinfo=None).isoformat() if not nanoseconds else f"{utc:%Y-%m-%dT%H:%M:%S.%f}{nanoseconds:03d}"
    return f"{text}Z"


def _cell(value: Any, name: str) -> Any:
    value = _text_of_bytes(value, name) if isinstance(value, bytes) else value
    return _opened(value) if name in OPENED else value


def _opened(value: Any) -> Any:
    """What JSON text holds, where a column would hold lists or objects if tables could."""
    if not isinstance(value, str) or not value.startswith(("[", "{")):
        return value
    try:
        return parsed(value)
    except (ValueError, RecursionError):
        return value


def _text_of_bytes(value: bytes, name: str) -> str:
    """Text, unless it is an id, by its name and size, or can't be text."""
    if not (name.lower().endswith("id") and len(value) in ID_SIZES):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            pass
    return value.hex()


# Columns of Arrow


def _write_batches(batches: Iterable[pa.RecordBatch], name: str, file: IO[bytes]) -> None:
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    for batch in batches:
        columns = []
        for column, field in zip(batch.columns, batch.schema, strict=True):
            try:
                values = values_of(column, field.name)
                columns.append(_each(values, _opened) if field.name in OPENED else values)
            except CallmatchError as error:
                raise type(error)(_core.printable(f"{name}: column {field.name}: {error}"), field.name) from None
        for row in _objects(batch.schema.names, columns, batch.num_rows):
            file.write(encode(row).encode("utf-8", "surrogatepass") + b"\n")


def _objects(names: list[str], columns: list[list[Any]], count: int) -> Iterator[Row]:
    """Objects of what is in columns. A table has all keys in all rows, so null is taken for a key that is not there."""
    for values in zip(*columns, strict=True) if columns else [()] * count:
        yield {name: value for name, value in zip(names, values, strict=True) if value is not None}


def values_of(array: pa.Array, name: str) -> list[Any]:
    """The JSON values of a column, or of what is inside one. They are told apart by their types and not one by one."""
    from pyarrow import BaseExtensionType, types  # noqa: PLC0415

    kind = array.type
    if isinstance(kind, BaseExtensionType):
        return _of_extension(array, name)
    if types.is_dictionary(kind):
        values = values_of(array.dictionary, name)
        return _each(array.indices.to_pylist(), values.__getitem__)
    if types.is_struct(kind):
        return _structs(array)
    if types.is_map(kind):
        return _maps(array, name)
    views = (types.is_list_view, types.is_large_list_view)
    if any(is_list(kind) for is_list in (types.is_list, types.is_large_list, types.is_fixed_size_list, *views)):
        return _lists(array, name)
    if types.is_timestamp(kind):
        return _times(array.cast("int64").to_pylist(), _IN_A_SECOND[kind.unit])
    if types.is_duration(kind):
        factor = _IN_A_SECOND["ns"] // _IN_A_SECOND[kind.unit]
        return _each(array.cast("int64").to_pylist(), lambda count: count * factor)
    return _each(array.to_pylist(), _plain_by(kind, name))


def _plain_by(kind: pa.DataType, name: str) -> Callable[[Any], Any] | None:
    """What makes JSON values of those of a type that holds no others; None for one whose values are such."""
    from pyarrow import types  # noqa: PLC0415

    if types.is_floating(kind):  # frames have no other null for numbers
        return lambda value: None if math.isnan(value) else value
    if kind in _binary():
        return lambda value: _text_of_bytes(value, name)
    if types.is_fixed_size_binary(kind):
        return bytes.hex
    if types.is_decimal(kind):
        return _number
    if types.is_date(kind) or types.is_time(kind):
        return lambda value: value.isoformat()
    return None


def _binary() -> tuple[pa.DataType, ...]:
    import pyarrow  # noqa: PLC0415

    return pyarrow.binary(), pyarrow.large_binary(), pyarrow.binary_view()


_IN_A_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def _each(values: list[Any], of: Callable[[Any], Any] | None) -> list[Any]:
    return values if of is None else [None if value is None else of(value) for value in values]


def _structs(array: pa.StructArray) -> list[Any]:
    kind = array.type
    names = [kind.field(place).name for place in range(kind.num_fields)]
    if {*names} - {"typed_value"} == {"metadata", "value"} and kind.field("metadata").type in _binary():
        raise InvalidInput("a VARIANT can't be read; make JSON text of it first, with to_json or a cast to a string")
    columns = [values_of(column, name) for column, name in zip(array.flatten(), names, strict=True)]
    objects = _objects(names, columns, len(array))
    return [row if is_there else None for row, is_there in zip(objects, array.is_valid().to_pylist(), strict=True)]


def _lists(array: Any, name: str) -> list[Any]:
    import pyarrow.compute as pc  # noqa: PLC0415

    values, stop, lists = values_of(array.flatten(), name), 0, list[Any]()
    for length in pc.list_value_length(array).to_pylist():
        start, stop = stop, stop + (length or 0)
        lists.append(None if length is None else values[start:stop])
    return lists


def _maps(array: pa.MapArray, name: str) -> list[Any]:
    offsets = array.offsets.to_pylist()
    first, last = offsets[0], offsets[-1]
    keys = values_of(array.keys.slice(first, last - first), name)
    values = values_of(array.items.slice(first, last - first), name)
    maps = list[Any]()
    for start, stop, is_there in zip(offsets, offsets[1:], array.is_valid().to_pylist(), strict=False):
        own = slice(start - first, stop - first)
        maps.append(dict(zip(map(str, keys[own]), values[own], strict=True)) if is_there else None)
    return maps


def _of_extension(array: Any, name: str) -> list[Any]:
    if array.type.extension_name == "arrow.uuid":
        return _each(array.to_pylist(), str)
    return values_of(array.storage, name)


def _times(counts: list[int | None], in_a_second: int) -> list[Any]:
    """Times, counted since 1970, as texts in UTC; those that no calendar has as they are."""
    digits = len(str(in_a_second)) - 1
    texts = list[Any]()
    for count in counts:
        if count is None:
            texts.append(None)
            continue
        seconds, rest = divmod(count, in_a_second)
        try:
            time = _EPOCH + datetime.timedelta(seconds=seconds)
        except OverflowError:
            texts.append(count)
        else:
            texts.append(f"{time.isoformat()}.{rest:0{digits}d}Z" if rest else f"{time.isoformat()}Z")
    return texts


_EPOCH = datetime.datetime(1970, 1, 1)


def _number(value: decimal.Decimal) -> int | float | None:
    if not value.is_finite():
        return None
    return int(value) if value == value.to_integral_value() else float(value)
