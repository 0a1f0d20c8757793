"""Scores of the rows of tables, as Arrow columns."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

from callmatch import _core
from callmatch.errors import InvalidInput, InvalidType
from callmatch.storage import find
from callmatch.summaries import Summaries, Summary
from callmatch.table_files import pyarrow_for

if TYPE_CHECKING:
    from callmatch.metrics.trajectory import ToolCallTrajectory

__all__ = ["ScoreTable", "Table", "names_of", "no_two_of_a_name", "score_table"]


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
        names = names_of("group_by", group_by)
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

    def write(self, path: str | os.PathLike[str], *, resume: bool = False) -> None:
        """Write the scores to a file, a part at a time. It gets its name when it is whole.

        Args:
            path: A path or a URL; its ending says what is written: ``.parquet``, ``.arrow`` (an Arrow IPC file),
                ``.jsonl`` or ``.csv``. The same scores give the same bytes.
            resume: Go on where an earlier run was interrupted. What was scored is kept beside the file until then, in
                a folder with ``.parts`` at the end of its name. Only the scores of files can be gone on with.

        Raises:
            OSError: It can't be written.
            InvalidInput: Another ending; to resume what is not of files, or what has changed since.
            ImportError: pyarrow is not there.
        """
        from callmatch.score_files import write_table  # noqa: PLC0415 - it needs pyarrow

        if resume:
            raise InvalidInput("resume: only the scores of files can be gone on with", "resume")
        write_table(self, path)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} with the columns {', '.join(self.columns)}>"


def score_table(
    metric: ToolCallTrajectory,
    table: object,
    *,
    tool_calls: str,
    expected_tool_calls: str,
    keep: Iterable[str],
    columns: Iterable[str] | None,
    threads: int,
) -> ScoreTable:
    """Check what was given, and score it."""
    files = _files_of(table)
    if files is None and not hasattr(table, "__arrow_c_stream__") and not hasattr(table, "__arrow_c_array__"):
        takes = "files, or something that gives an Arrow stream: a table of pyarrow, polars, duckdb, or pandas from 2.2"
        raise InvalidType(f"table: expected {takes}, got {type(table).__name__}", "table")
    for keyword, name in (("tool_calls", tool_calls), ("expected_tool_calls", expected_tool_calls)):
        if not isinstance(name, str):
            raise InvalidType(f"{keyword} is the name of a column, not {type(name).__name__}", keyword)
    kept, wanted = names_of("keep", keep), None if columns is None else names_of("columns", columns)
    if wanted == []:
        raise InvalidInput("columns: name at least one, or leave it out for all of them", "columns")
    no_two_of_a_name([*kept, *(wanted if wanted is not None else _core.SCORE_COLUMNS)])
    given: dict[str, Any] = {"actual": tool_calls, "expected": expected_tool_calls, "threads": threads}
    if files is None:
        return ScoreTable(metric, cast("Table", table), wanted or [], kept, **given)
    if not files:
        raise InvalidInput("table: there are no files", "table")
    pyarrow_for(files[0])
    from callmatch.arrow_files import FileScores  # noqa: PLC0415 - it is made of what is here

    return FileScores(metric, find(files), wanted or [], kept, **given)


def no_two_of_a_name(names: Sequence[str]) -> None:
    """Refuse columns that could not be told apart.

    Raises:
        InvalidInput: There are such.
    """
    if twice := {name for name in names if names.count(name) > 1}:
        raise InvalidInput(f"keep: there would be two columns {min(twice)!r}", "keep")


def _files_of(table: object) -> list[str] | None:
    """The files that were given, if any were."""
    listed = [table] if isinstance(table, (str, os.PathLike)) else table
    if not isinstance(listed, (list, tuple)) or not all(isinstance(file, (str, os.PathLike)) for file in listed):
        return None
    return [os.fspath(file) for file in listed]


def names_of(keyword: str, names: Iterable[str]) -> list[str]:
    """The names of columns that were given.

    Raises:
        InvalidType: No list of names.
    """
    listed: list[object] = [names] if isinstance(names, str) or not isinstance(names, Iterable) else list(names)
    for name in listed:
        if isinstance(names, str) or not isinstance(name, str):
            raise InvalidType(f"{keyword}: expected a list of names of columns, got {names!r}", keyword)
    return cast("list[str]", listed)
