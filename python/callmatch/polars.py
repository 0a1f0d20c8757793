"""Scores as an expression of Polars, which is the extra ``callmatch[polars]``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from callmatch.extras import needs
from callmatch.metrics.trajectory import ToolCallTrajectory

with needs("polars"):
    import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable

    from polars._typing import IntoExpr

__all__ = ["score"]


def score(
    tool_calls: IntoExpr, expected_tool_calls: IntoExpr, *, columns: Iterable[str] | None = None, **options: Any
) -> pl.Expr:
    """The scores of each row, as a struct whose fields are the columns of `ToolCallTrajectory.evaluate_table`.

    Args:
        tool_calls: The column (or expression) with the calls that were made, and with those that should have been:
            as `ToolCallTrajectory.evaluate_table` reads them.
        expected_tool_calls: Null where nothing is expected: the row is ``not_applicable``.
        columns: The fields of the struct; None for all.
        **options: Those of `ToolCallTrajectory`: ``match``, ``arguments``, ``names``, and ``name``, which is what the
            column is called (``tool_call_trajectory``).

    Raises:
        InvalidInput: An unknown word of an option or name of a column.
        InvalidType: An unknown option; when the expression is run, a column that holds no calls.

    Examples:
        >>> import polars
        >>> frame = polars.DataFrame({"calls": ['[{"name": "search"}]', "[]"], "wanted": ['[{"name": "search"}]'] * 2})
        >>> scored = frame.with_columns(score("calls", "wanted", match="in_order"))
        >>> scored.unnest("tool_call_trajectory")["verdict"].to_list()
        ['passed', 'failed']
    """
    metric = ToolCallTrajectory(**options)
    wanted = None if columns is None else list(columns)

    def scored(rows: pl.Series) -> pl.Series:
        return pl.DataFrame(metric.evaluate_table(rows.struct.unnest(), columns=wanted)).to_struct(metric.name)

    nothing = pl.DataFrame(schema={"tool_calls": pl.String, "expected_tool_calls": pl.String})
    sides = pl.struct(tool_calls=_expr(tool_calls), expected_tool_calls=_expr(expected_tool_calls))
    returns = pl.DataFrame(metric.evaluate_table(nothing, columns=wanted)).to_struct(metric.name).dtype
    return sides.map_batches(scored, return_dtype=returns, is_elementwise=True).alias(metric.name)


def _expr(given: IntoExpr) -> IntoExpr:
    return pl.col(given) if isinstance(given, str) else given
