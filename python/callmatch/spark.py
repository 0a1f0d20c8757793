"""Scores of the rows of a Spark DataFrame, worked out by Spark's own workers; the extra ``callmatch[spark]``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from callmatch.extras import needs
from callmatch.metrics.trajectory import ToolCallTrajectory

with needs("spark"):
    import pyarrow as pa
    from pyspark.sql.functions import col
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
    from pyspark.sql.types import StructType

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["score"]


def score(
    frame: DataFrame,
    *,
    tool_calls: str = "tool_calls",
    expected_tool_calls: str = "expected_tool_calls",
    keep: Iterable[str] | None = None,
    columns: Iterable[str] | None = None,
    **options: Any,
) -> DataFrame:
    """The frame with the scores of each row beside it, by `DataFrame.mapInArrow`: a worker needs a batch of rows.

    Args:
        frame: A row for each trace. A trace whose spans are rows has to be brought together first
            (``frame.groupBy("trace_id").agg(collect_list(...))``), or its parts are scored by different workers.
        tool_calls: The column with the calls that were made, as `ToolCallTrajectory.evaluate_table` reads them.
        expected_tool_calls: The column with those that should have been made.
        keep: Columns of the frame that stay; None for all.
        columns: Columns of scores that come out; None for all.
        **options: Those of `ToolCallTrajectory`.

    Raises:
        InvalidInput: What `ToolCallTrajectory.evaluate_table` refuses, such as an unknown column.
    """
    metric = ToolCallTrajectory(**options)
    kept = frame.columns if keep is None else list(keep)
    given: dict[str, Any] = {
        "tool_calls": tool_calls,
        "expected_tool_calls": expected_tool_calls,
        "columns": None if columns is None else list(columns),
    }
    # What is wrong with the columns is said now, and not by a worker.
    nothing = to_arrow_schema(frame.schema).empty_table()
    scores = pa.table(metric.evaluate_table(nothing, keep=kept, **given)).schema
    made = from_arrow_schema(pa.schema(list(scores)[len(kept) :]))
    schema = StructType([*(frame.schema[name] for name in kept), *made.fields])

    # Spark hands over all columns of a frame, so those that nobody needs are left out, and takes no name with a dot.
    needed = list(dict.fromkeys([*kept, tool_calls, expected_tool_calls]))
    quoted = [col(f"`{name.replace('`', '``')}`").alias(f"column {place}") for place, name in enumerate(needed)]

    def scored(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = batch.rename_columns(needed)
            # Spark runs a worker for each of its cores.
            yield from pa.table(metric.evaluate_table(rows, keep=kept, threads=1, **given)).to_batches()

    return frame.select(*quoted).mapInArrow(scored, schema)
