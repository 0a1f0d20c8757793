"""Scores of tables of spans, one a row."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast, get_args

from callmatch import _core
from callmatch.arrow import Table, names_of
from callmatch.errors import InvalidInput, InvalidType, one_of
from callmatch.expectations import EXPECTED, By, expected_texts, read_expected

if TYPE_CHECKING:
    from callmatch.metrics.trajectory import ToolCallTrajectory

__all__ = ["SpanScores", "Spans", "evaluate_spans", "span_columns"]

Spans = Table | Any
"""A table whose rows are spans, or a dataset of pyarrow, of which no more is read than is needed."""


class SpanScores:
    """The scores of the traces, or conversations, of a table of spans, a row for each: what `evaluate_spans` gives.

    They are an Arrow stream, that can be read again and again: ``pyarrow.table(scores)``, ``polars.DataFrame(scores)``,
    ``duckdb.sql("from scores")``.

    Attributes:
        columns: The names of the columns; the first is the id.
        diagnostics: What could not be read, with the number of its row (from 0) and the reason. Such a row is passed
            over.
        profile: The profile that the table was read by.
    """

    def __init__(self, scores: _core.SpanScores) -> None:
        self._scores = scores
        self.columns: tuple[str, ...] = tuple(scores.column_names)
        self.diagnostics: list[str] = scores.diagnostics
        self.profile: str = scores.profile

    def __len__(self) -> int:
        return len(self._scores)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._scores.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<SpanScores of {len(self):,} rows with the columns {', '.join(self.columns)}>"


def span_columns(names: Iterable[str], *, profile: str | None = None, by: By = "trace_id") -> list[str]:
    """Which columns of a table of spans `evaluate_spans` reads: select no others, and nothing else is decoded.

    Args:
        names: The names of the columns that the table has.
        profile: Whose columns they are; None to find it out.
        by: As for `evaluate_spans`: sessions are in columns of their own.

    Raises:
        InvalidInput: No profile that is known has such columns, or several have; or an unknown word.
        InvalidType: These are no names.

    Examples:
        >>> span_columns(["TraceId", "SpanId", "SpanName", "ServiceName", "SpanAttributes", "Links.TraceId"])
        ['TraceId', 'SpanId', 'SpanName', 'SpanAttributes']
    """
    return _core.span_columns(names_of("names", names), profile=_word(profile), by=_by(by), again=False)


def evaluate_spans(
    metric: ToolCallTrajectory,
    spans: Spans,
    expected: Mapping[str, object] | Table | str | os.PathLike[str],
    *,
    by: By,
    profile: str | None,
    columns: Iterable[str] | None,
    threads: int,
) -> SpanScores:
    """Check what was given, read the table, and score its traces."""
    by, profile = _by(by), _word(profile)
    wanted = None if columns is None else names_of("columns", columns)
    if wanted == []:
        raise InvalidInput("columns: name at least one, or leave it out for all of them", "columns")
    if twice := {name for name in wanted or () if (wanted or []).count(name) > 1}:
        raise InvalidInput(f"columns: {min(twice)!r} is named twice", "columns")
    table, whole = _tables(spans, profile, by)
    scores = _core.score_spans(
        metric._core,
        table,
        _expected(expected, by),
        ids=by,
        calls_column=EXPECTED,
        by=by,
        calls=metric.calls,
        profile=profile,
        columns=wanted or [],
        again=whole,
        threads=threads,
    )
    return SpanScores(scores)


def _by(by: str) -> By:
    if by not in get_args(By):
        raise InvalidInput(one_of("by", str(by), get_args(By)), "by")
    return cast("By", by)


def _word(profile: str | None) -> str | None:
    if profile is not None and profile not in _core.SPAN_PROFILES:
        raise InvalidInput(one_of("profile", str(profile), _core.SPAN_PROFILES), "profile")
    return profile


def _is_table(source: object) -> bool:
    return hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__")


def _tables(spans: Any, profile: str | None, by: By) -> tuple[object, object | None]:
    """What gives the columns that are needed, and what gives those and the questions once more, if anything does."""
    if _is_table(spans):
        return spans, None if isinstance(spans, Iterator) else spans
    if hasattr(spans, "scanner") and hasattr(spans, "schema"):
        names = spans.schema.names
        first, again = (_core.span_columns(names, profile=profile, by=by, again=again) for again in (False, True))
        return _Columns(spans, first), _Columns(spans, again)
    takes = (
        "something that gives an Arrow stream (a table of pyarrow, polars, duckdb, or pandas from 2.2), or a dataset"
    )
    raise InvalidType(f"spans: expected {takes} of pyarrow, got {type(spans).__name__}", "spans")


class _Columns:
    """Columns of a dataset of pyarrow, as a stream that is read anew each time."""

    def __init__(self, dataset: Any, names: list[str]) -> None:
        self._dataset, self._names = dataset, names

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        import pyarrow.dataset as ds  # noqa: PLC0415 - who has a dataset has it

        # By name, as a name may have dots in it, which elsewhere lead into a column.
        columns = {name: ds.field(name) for name in self._names}
        return self._dataset.scanner(columns=columns).to_reader().__arrow_c_stream__(requested_schema)


def _expected(expected: Any, by: By) -> object:
    """What the core takes: pairs of an id and JSON text, or a table."""
    if isinstance(expected, (str, os.PathLike)):
        expected = read_expected(expected, by=by)
    elif not isinstance(expected, Mapping):
        if _is_table(expected):
            return expected
        what = f"expected calls by id, a table with the columns {by} and {EXPECTED}, or a file of them"
        raise InvalidType(f"expected: expected {what}, got {type(expected).__name__}", "expected")
    return list(expected_texts(expected).items())
