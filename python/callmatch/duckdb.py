"""Scores as a function of DuckDB, which is the extra ``callmatch[duckdb]``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from callmatch.errors import InvalidInput
from callmatch.extras import needs
from callmatch.metrics.trajectory import ToolCallTrajectory

with needs("duckdb"):
    import duckdb
    import pyarrow as pa

__all__ = ["register"]


def register(
    connection: duckdb.DuckDBPyConnection, name: str = "callmatch_score", *, columns: Iterable[str] | None = None
) -> None:
    """Make ``callmatch_score(tool_calls, expected_tool_calls, match, arguments)`` known to a connection.

    It takes the calls as JSON text, and the words of `ToolCallTrajectory`; NULL calls were not reported, and where NULL
    is expected the row is ``not_applicable``. It gives a STRUCT whose fields are the columns of
    `ToolCallTrajectory.evaluate_table`.

    Args:
        connection: Where the function is to be.
        name: What it is to be called.
        columns: The fields of the struct; None for all.

    Raises:
        InvalidInput: The name is taken, or an unknown name of a column. When the function is run, DuckDB raises
            ``duckdb.InvalidInputException`` for an unknown word.

    Examples:
        >>> import duckdb
        >>> connection = duckdb.connect()
        >>> register(connection)
        >>> connection.sql('''
        ...     select unnest(callmatch_score(made, '[{"name": "search"}]', 'in_order', 'partial'))
        ...     from (values ('[{"name": "search"}]'), ('[]')) as runs(made)
        ... ''').select("verdict", "recall").fetchall()
        [('passed', 1.0), ('failed', 0.0)]
    """
    wanted = None if columns is None else list(columns)

    def score(
        made: pa.ChunkedArray, expected: pa.ChunkedArray, match: pa.ChunkedArray, arguments: pa.ChunkedArray
    ) -> Any:
        rows = pa.table({"tool_calls": made, "expected_tool_calls": expected})
        words = pa.table({"match": match, "arguments": arguments})
        # They are nearly always the same in all rows.
        combinations = words.group_by(["match", "arguments"]).aggregate([]).to_pylist()
        if len(combinations) == 1:
            return _struct(scored(rows, combinations[0]))
        pairs = list(zip(match.to_pylist(), arguments.to_pylist(), strict=True))
        parts, places = [], []
        for options in combinations:
            where = [place for place, pair in enumerate(pairs) if pair == tuple(options.values())]
            parts.append(scored(rows.take(where), options))
            places += where
        back = sorted(range(len(places)), key=places.__getitem__)
        return _struct(pa.concat_tables(parts).take(back))

    def scored(rows: pa.Table, options: dict[str, Any]) -> pa.Table:
        return pa.table(ToolCallTrajectory(**options).evaluate_table(rows, columns=wanted))

    empty = pa.table({"tool_calls": pa.array([], pa.string()), "expected_tool_calls": pa.array([], pa.string())})
    fields = {field.name: TYPES[field.type] for field in scored(empty, {}).schema}
    try:
        connection.create_function(
            name,
            score,
            ["VARCHAR"] * 4,
            duckdb.struct_type(fields),
            type="arrow",
            null_handling="special",
        )
    except duckdb.Error as error:
        raise InvalidInput(f"name: {error}", "name") from error


TYPES = {pa.float64(): "DOUBLE", pa.int32(): "INTEGER", pa.string(): "VARCHAR"}


def _struct(scores: pa.Table) -> Any:
    columns = [column.combine_chunks() for column in scores.columns]
    return pa.StructArray.from_arrays(columns, names=scores.column_names)
