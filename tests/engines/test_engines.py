"""Scores worked out by the workers of Spark and Ray: the same answers as in this process, row for row."""

import os
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from callmatch import InvalidInput
from callmatch.metrics import ToolCallTrajectory

MADE = ['[{"name": "search", "arguments": {"query": "a", "limit": 5}}]', '[{"name": "reply"}]', "[]", "[", None]
WANTED = ['[{"name": "search", "arguments": {"limit": 5.0}}]', '[{"name": "search"}]', "[]", "[]", None]
COUNT = 5000
TABLE = pa.table(
    {
        "id": pa.array(range(COUNT), pa.int64()),
        "tool_calls": [MADE[row % 5] for row in range(COUNT)],
        "expected_tool_calls": [WANTED[row // 5 % 5] for row in range(COUNT)],
    }
)


def right(match):
    """Errors name the row of the batch, which is another for each worker."""
    scores = ToolCallTrajectory(match=match).evaluate_table(TABLE, keep=["id"])
    return pa.table(scores).drop_columns(["reason", "error"]).to_pylist()


@pytest.fixture(scope="module")
def spark():
    pytest.importorskip("pyspark")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {"spark.ui.enabled": "false", "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    yield session
    session.stop()


@pytest.mark.parametrize("match", ["in_order", "superset"])
def test_spark(spark, match):
    import callmatch.spark

    frame = spark.createDataFrame(TABLE.to_pandas(), "id long, tool_calls string, expected_tool_calls string")
    scores = callmatch.spark.score(frame.repartition(4), keep=["id"], match=match).orderBy("id")
    rows = [row.asDict() for row in scores.drop("reason", "error").collect()]
    assert rows == right(match)


def test_spark_with_nested_calls(spark):
    import callmatch.spark

    calls = "array<struct<name: string, arguments: map<string, string>>>"
    rows = [(1, [{"name": "a", "arguments": {"x": "1"}}], '[{"name": "a", "arguments": {"x": "1"}}]'), (2, [], None)]
    frame = spark.createDataFrame(rows, f"id int, made {calls}, wanted string")
    scores = callmatch.spark.score(frame, tool_calls="made", expected_tool_calls="wanted", columns=["verdict"])
    assert scores.columns == ["id", "made", "wanted", "verdict"]
    assert [row.verdict for row in scores.orderBy("id").collect()] == ["passed", "not_applicable"]


def test_spark_hands_over_no_column_that_is_not_needed(spark):
    import callmatch.spark

    frame = spark.createDataFrame([(7, "[]", "[]")], "id int, tool_calls string, expected_tool_calls string")
    frame = frame.selectExpr("*", "raise_error('this was read') as payload")
    [row] = callmatch.spark.score(frame, keep=["id"], columns=["verdict"]).collect()
    assert row.asDict() == {"id": 7, "verdict": "passed"}


def test_spark_takes_any_name_of_a_column(spark):
    import callmatch.spark

    frame = spark.createDataFrame([(7, "[]", "[]")], ["run.id", "made`up", "a.b"])
    given = {"tool_calls": "made`up", "expected_tool_calls": "a.b", "columns": ["verdict"]}
    [row] = callmatch.spark.score(frame, **given).collect()
    assert row.asDict() == {"run.id": 7, "made`up": "[]", "a.b": "[]", "verdict": "passed"}


def test_spark_says_what_is_wrong_before_anything_is_run(spark):
    import callmatch.spark

    frame = spark.createDataFrame([("[]", "[]")], "tool_calls string, wanted string")
    with pytest.raises(InvalidInput, match="expected_tool_calls"):
        callmatch.spark.score(frame)


@pytest.fixture(scope="module")
def ray():
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield ray
    ray.shutdown()


@pytest.mark.parametrize("match", ["in_order", "superset"])
def test_ray(ray, match):
    import callmatch.ray

    dataset = ray.data.from_arrow([TABLE.slice(start, 1250) for start in range(0, COUNT, 1250)])
    scores = callmatch.ray.score(dataset, keep=["id"], match=match).drop_columns(["reason", "error"])
    assert sorted(scores.take_all(), key=lambda row: row["id"]) == right(match)


def test_ray_reads_no_column_that_is_not_needed(ray, tmp_path):
    import callmatch.ray

    path = tmp_path / "runs.parquet"
    payload = pa.array(["never read" * 1000] * COUNT)
    pq.write_table(TABLE.append_column("payload", payload), path, use_dictionary=False, compression="none")
    column = pq.ParquetFile(path).metadata.row_group(0).column(3)
    with path.open("r+b") as file:
        file.seek(column.data_page_offset)
        file.write(b"\xff" * 100)
    dataset = ray.data.read_parquet(str(path))
    with pytest.raises(Exception, match=r"(?i)thrift|deserialize|page"):
        dataset.take_all()
    assert callmatch.ray.score(dataset, keep=["id"]).count() == COUNT
