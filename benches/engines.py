"""Rows a second of `callmatch.spark`, against a pandas UDF around the scorer that one would write by hand.

`python benches/engines.py`, in the environment of `make engines`: Spark runs two workers, and needs a JVM.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import pandas as pd
import pyarrow as pa
from pyarrow import parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import pandas_udf
from pyspark.sql.types import BooleanType

import callmatch.spark
import gen_pairs
import reference
from callmatch.metrics import ToolCallTrajectory


@pandas_udf(BooleanType())
def by_hand(made: pd.Series, wanted: pd.Series) -> pd.Series:
    """What one would write."""
    pairs = zip(made, wanted, strict=True)
    return pd.Series([reference.in_order(json.loads(a), json.loads(b), reference.partial) for a, b in pairs])


def passed_on(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What Spark takes to hand over rows on which nothing is done."""
    for batch in batches:
        yield pa.record_batch({"passed": pa.nulls(batch.num_rows, pa.bool_())})


def taken(work: Callable[[], Any], rounds: int) -> float:
    """The shortest of several times, after one that starts the workers."""
    work()
    times = []
    for _ in range(rounds):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return min(times)


def main() -> None:
    """Measure, and print a line for each way."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=20_000, help="how many rows (default: 20000)")
    parser.add_argument("--rounds", type=int, default=5, help="the shortest time counts (default: 5)")
    options = parser.parse_args()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # Workers import the scorer too.
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    local = {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "6g",  # for 200,000 rows
    }
    session = SparkSession.builder.master("local[2]").config(map=local).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory() as directory:
        records = gen_pairs.records(options.pairs)
        sides = {"tool_calls": "actual", "expected_tool_calls": "expected"}
        table = {name: [json.dumps(record[side]) for record in records] for name, side in sides.items()}
        for part in range(2):  # one for each worker
            half = pa.table(table).slice(part * (options.pairs // 2), options.pairs // 2)
            parquet.write_table(half, f"{directory}/{part}.parquet")
        frame = session.read.parquet(directory).cache()
        frame.count()
        scores = callmatch.spark.score(frame, keep=[])
        udf = frame.select(by_hand("tool_calls", "expected_tool_calls").alias("passed"))
        passed = [
            frame.where("verdict = 'passed'" if "verdict" in frame.columns else "passed") for frame in (scores, udf)
        ]
        if passed[0].count() != passed[1].count():
            raise SystemExit("the answers differ")

        def read(frame: DataFrame) -> Callable[[], None]:
            return lambda: frame.write.format("noop").mode("overwrite").save()

        ways = {
            "callmatch.spark.score, all columns": scores,
            "callmatch.spark.score, the verdict": callmatch.spark.score(frame, keep=[], columns=["verdict"]),
            "mapInArrow that does nothing": frame.mapInArrow(passed_on, "passed boolean"),
            "a pandas UDF": udf,
        }
        times = {name: taken(read(way), options.rounds) for name, way in ways.items()}
        rows = pa.table(table)
        alone = "evaluate_table() alone, without Spark"
        times[alone] = taken(lambda: pa.table(ToolCallTrajectory().evaluate_table(rows)), options.rounds)
    theirs = times["a pandas UDF"]
    print("| way | rows | rows a second | against the UDF |")
    print("| --- | ---: | ---: | ---: |")
    for name, seconds in times.items():
        print(f"| {name} | {options.pairs:,} | {options.pairs / seconds:,.0f} | {theirs / seconds:.1f} x |")
    session.stop()


if __name__ == "__main__":
    main()
