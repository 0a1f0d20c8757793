"""Scores of the rows of a Ray dataset, worked out by Ray's own workers; the extra ``callmatch[ray]``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from callmatch.extras import needs
from callmatch.metrics.trajectory import ToolCallTrajectory

with needs("ray"):
    import pyarrow as pa
    import ray  # noqa: F401

if TYPE_CHECKING:
    from ray.data import Dataset

__all__ = ["score"]


def score(
    dataset: Dataset,
    *,
    tool_calls: str = "tool_calls",
    expected_tool_calls: str = "expected_tool_calls",
    keep: Iterable[str] | None = None,
    columns: Iterable[str] | None = None,
    **options: Any,
) -> Dataset:
    """The dataset with the scores of each row beside it, by `Dataset.map_batches`: a worker needs a batch of rows.

    Args:
        dataset: A row for each trace. A trace whose spans are rows has to be brought together first
            (``dataset.groupby("trace_id")``), or its parts are scored by different workers.
        tool_calls: The column with the calls that were made, as `ToolCallTrajectory.evaluate_table` reads them.
        expected_tool_calls: The column with those that should have been made.
        keep: Columns of the dataset that stay; None for all.
        columns: Columns of scores that come out; None for all.
        **options: Those of `ToolCallTrajectory`.
    """
    metric = ToolCallTrajectory(**options)
    given: dict[str, Any] = {
        "tool_calls": tool_calls,
        "expected_tool_calls": expected_tool_calls,
        "columns": None if columns is None else list(columns),
    }
    kept = None if keep is None else list(keep)

    def scored(table: pa.Table) -> pa.Table:
        names = table.column_names if kept is None else kept
        # Ray runs a worker for each of its cores.
        return pa.table(metric.evaluate_table(table, keep=names, threads=1, **given))

    if kept is not None:
        # So that Parquet files are not read for more.
        dataset = dataset.select_columns(list(dict.fromkeys([*kept, tool_calls, expected_tool_calls])))
    return dataset.map_batches(scored, batch_format="pyarrow", zero_copy_batch=True)
