"""Scores of the rows of tables, as Arrow columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

from callmatch import _core
from callmatch.errors import InvalidInput, InvalidType
from callmatch.summaries import Summaries, Summary

if TYPE_CHECKING:
    from callmatch.metrics.trajectory import ToolCallTrajectory

__all__ = ["ScoreTable", "Table"]


class Table(Protocol):
    """Anything that gives rows as an Arrow stream: a table of pyarrow, polars, pandas (from 2.2), duckdb, others."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


class ScoreTable:
    """The scores of the rows of a table, worked out as they are read, so the memory needed doesn't grow with the table.

    It gives them as an Arrow stream, and whatever reads those makes a table of its own out of it:
    ``pyarrow.table(scores)``, ``polars.DataFrame(scores)``, ``duckdb.sql("from scores")``. Each reading scores the
    table again. The scores of a stream, which can be read but once, can be read but once.

    Attributes:
        columns: The names of the columns.
    """

    def __init__(
        self, metric: ToolCallTrajectory, table: Table, columns: Sequence[str], keep: Sequence[str], **given: Any
    ) -> None:
        self._metric, self._table, self._given = metric, table, given
        self._keep, self._wanted = list(keep), list(columns)
        # What is wrong with the table is said now, and not when its rows are asked for.
        self._first: _core.ScoreStream | None = self._open()
        self._last: _core.ScoreStream | None = None
        self.columns: tuple[str, ...] = tuple(self._first.column_names)

    def summary(self) -> Summary:
        """The counts by verdict, the means over the rows that passed or failed, and what fails most.

        If the scores were read to their end this is known; else the rows are scored for it, without making columns.
        """
        if self._last is not None and self._last.at_end:
            return Summaries._of(self._last.summaries()).total
        return self.summaries(()).total

    def summaries(self, group_by: Iterable[str]) -> Summaries:
        """The same, and that of each group of rows that have the same values in some columns of the table.

        The rows are scored for it, without making columns.

        Args:
            group_by: The columns of the table to group by.

        Raises:
            InvalidInput: A column that is not there, or there twice.
            InvalidType: No list of names.
        """
        names = _names("group_by", group_by)
        stream = self._stream()
        stream.group_by(names)
        return Summaries._of(stream.summaries())

    def _open(self) -> _core.ScoreStream:
        return _core.score_table(self._metric._core, self._table, keep=self._keep, columns=self._wanted, **self._given)

    def _stream(self) -> _core.ScoreStream:
        first, self._first = self._first, None
        if first is None and isinstance(self._table, Iterator):
            # Such a stream would have no rows the second time, and say nothing of it.
            raise InvalidInput("these scores were read already, and the stream that they are of can be read but once")
        self._last = first if first is not None else self._open()
        return self._last

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._stream().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<ScoreTable with the columns {', '.join(self.columns)}>"


def score_table(
    metric: ToolCallTrajectory,
    table: Table,
    *,
    tool_calls: str,
    expected_tool_calls: str,
    keep: Iterable[str],
    columns: Iterable[str] | None,
    threads: int,
) -> ScoreTable:
    """Check what was given, and score it."""
    if not hasattr(table, "__arrow_c_stream__") and not hasattr(table, "__arrow_c_array__"):
        takes = "something that gives an Arrow stream: a table of pyarrow, polars, duckdb, or pandas from 2.2"
        raise InvalidType(f"table: expected {takes}, got {type(table).__name__}", "table")
    for keyword, name in (("tool_calls", tool_calls), ("expected_tool_calls", expected_tool_calls)):
        if not isinstance(name, str):
            raise InvalidType(f"{keyword} is the name of a column, not {type(name).__name__}", keyword)
    kept, wanted = named("keep", keep), None if columns is None else named("columns", columns)
    if wanted == []:
        raise InvalidInput("columns: name at least one, or leave it out for all of them", "columns")
    names = [*kept, *(wanted if wanted is not None else _core.SCORE_COLUMNS)]
    if twice := {name for name in names if names.count(name) > 1}:
        raise InvalidInput(f"keep: there would be two columns {min(twice)!r}", "keep")
    return ScoreTable(
        metric,
        table,
        wanted or [],
        kept,
        actual=tool_calls,
        expected=expected_tool_calls,
        threads=threads,
    )


def named(keyword: str, names: Iterable[str]) -> list[str]:
    """Names of columns, that were given under a keyword."""
    listed: list[object] = [names] if isinstance(names, str) or not isinstance(names, Iterable) else list(names)
    for name in listed:
        if isinstance(names, str) or not isinstance(name, str):
            raise InvalidType(f"{keyword}: expected a list of names of columns, got {names!r}", keyword)
    return cast("list[str]", listed)
