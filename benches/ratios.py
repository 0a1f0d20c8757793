"""What callmatch takes, as ratios within one run: `python benches/ratios.py [--quick | --pairs N] [--markdown]`.

Every answer is checked before it is timed. The exit code is 1 for a wrong answer, and with --strict for a missed bar.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

import duckdb
import orjson
import polars
import pyarrow
import pyarrow.parquet
from rich.console import Console
from rich.table import Table

import callmatch.duckdb
import callmatch.polars
import gen_pairs
import reference
import stored
import traces
from callmatch import Trace, _core, resolve
from callmatch.metrics import ToolCallTrajectory

Call = dict[str, Any]

COLUMNS = (
    "score",
    "verdict",
    "matched",
    "made",
    "expected",
    "precision",
    "recall",
    "f1",
    "difference_kind",
    "expected_index",
    "actual_index",
    "error",
)
FITS = {"partial": reference.partial, "exact": reference.equal, "ignore": lambda want, got: True}
FIELDS = {"actual": "actual", "expected": "expected"}
ROUNDS = 7
GIGABYTES = 2
GIGABYTES_OF_TABLES = 10


@dataclass
class Row:
    """A line of the table. What is measured must not be above the bar, where there is one."""

    what: str
    size: str
    measured: float | None
    unit: str
    bar: float | None
    detail: str

    @property
    def outcome(self) -> str:
        if self.measured is None:
            return "skipped"
        if self.bar is None:
            return ""
        return "ok" if self.measured <= self.bar else "over"

    def cells(self) -> list[str]:
        def show(number: float | None) -> str:
            digits = 0 if self.unit == "MB" else 3 if self.unit == "s" else 2
            return "" if number is None else f"{number:.{digits}f} {self.unit}"

        return [self.what, self.size, show(self.measured), show(self.bar), self.outcome, self.detail]


class WrongAnswer(Exception):
    """There is no point in timing it."""


def check(got: Any, wanted: Any, what: str) -> None:
    if got != wanted:
        wrong = ""
        if isinstance(got, list) and isinstance(wanted, list):
            places = [place for place, pair in enumerate(zip(got, wanted, strict=False)) if pair[0] != pair[1]]
            wrong = f": {len(got)} for {len(wanted)} rows, different at {places[:10]}"
        raise WrongAnswer(f"{what}{wrong}")


class Time(NamedTuple):
    """In seconds: by the clock, and of all cores together."""

    taken: float
    worked: float


def best(rounds: int, *contenders: Callable[[], object]) -> list[Time]:
    """The shortest time of each; they take turns, so that all see the same weather."""
    times: list[list[Time]] = [[] for _ in contenders]
    for contender in contenders:
        contender()
    for _ in range(rounds):
        for contender, measured in zip(contenders, times, strict=True):
            gc.collect()
            gc.disable()
            worked, start = process_time(), perf_counter()
            contender()
            taken = perf_counter() - start
            measured.append(Time(taken, process_time() - worked))
            gc.enable()
    return [min(measured) for measured in times]


class Data:
    """Generated pairs as a file, as its lines, and as the objects in them."""

    def __init__(self, count: int, directory: Path) -> None:
        self.path = directory / f"pairs-{count}.jsonl"
        with self.path.open("w", encoding="utf-8") as out:
            out.writelines(map(gen_pairs.line, gen_pairs.records(count)))
        # Read back, so that no made call shares a value with an expected one.
        self.lines = self.path.read_bytes().splitlines()
        records = [orjson.loads(line) for line in self.lines]
        self.actual = [record["actual"] for record in records]
        self.expected = [record["expected"] for record in records]
        self.size = f"{count:,}"

    def pairs(self) -> Iterable[tuple[list[Call], list[Call]]]:
        return zip(self.actual, self.expected, strict=True)

    def verdicts(self, match: str, arguments: str) -> list[str]:
        passes, fits = reference.MODES[match], FITS[arguments]
        return ["passed" if passes(actual, expected, fits) else "failed" for actual, expected in self.pairs()]


def columns(scores: Any) -> list[list[Any]]:
    return [getattr(scores, column) for column in COLUMNS]


def columns_of_file(metric: ToolCallTrajectory, path: Path, threads: int) -> list[list[Any]]:
    whole: list[list[Any]] = [[] for _ in COLUMNS]
    for scores in metric.evaluate_file(path, **FIELDS, threads=threads):
        for column, part in zip(whole, columns(scores), strict=True):
            column.extend(part)
    return whole


def check_answers(data: Data) -> None:
    """All modes by batch, and the default one by all paths and with all columns."""
    for match in reference.MODES:
        for arguments in FITS:
            metric = ToolCallTrajectory(match=match, arguments=arguments)
            scores = metric.evaluate_batch(tool_calls=data.actual, expected_tool_calls=data.expected)
            check(scores.verdict, data.verdicts(match, arguments), f"evaluate_batch, {match}, {arguments}")

    verdicts = data.verdicts("in_order", "partial")
    passed = [verdict == "passed" for verdict in verdicts]
    matched = [reference.pairing(*pair, reference.partial) for pair in data.pairs()]
    made, expected = (list(map(len, calls)) for calls in (data.actual, data.expected))
    f1 = [2 * m / (a + e) for m, a, e in zip(matched, made, expected, strict=True)]

    metric = ToolCallTrajectory()
    scores = metric.evaluate_batch(tool_calls=data.actual, expected_tool_calls=data.expected)
    got = dict(zip(COLUMNS, columns(scores), strict=True))
    check(got["verdict"], verdicts, "verdict")
    check(got["score"], list(map(float, passed)), "score")
    check(got["matched"], matched, "matched")
    check(got["made"], made, "made")
    check(got["expected"], expected, "expected")
    check(got["precision"], [m / a if a else 0.0 for m, a in zip(matched, made, strict=True)], "precision")
    check(got["recall"], [m / e if a else 0.0 for m, a, e in zip(matched, made, expected, strict=True)], "recall")
    check([round(value, 12) for value in got["f1"]], [round(value, 12) for value in f1], "f1")
    check([kind is None for kind in got["difference_kind"]], passed, "difference_kind")
    check(set(got["error"]), {None}, "error")
    for threads in (1, 2):
        check(columns_of_file(metric, data.path, threads), list(got.values()), f"evaluate_file, {threads} threads")
    for match in reference.MODES:
        metric = ToolCallTrajectory(match=match)
        results = [metric.evaluate(tool_calls=a, expectations={"tool_calls": e}) for a, e in data.pairs()]
        check([result.verdict for result in results], data.verdicts(match, "partial"), f"evaluate, {match}")
        check([result.details["matched"] for result in results], matched, f"evaluate, {match}, matched")


def compared(what: str, data: Data, ours: Time, theirs: Time, whose: str, bar: float | None) -> Row:
    a, b = (time.taken / len(data.lines) * 1e6 for time in (ours, theirs))
    cores = ours.worked / ours.taken
    # Fewer than were asked for: something else kept them busy.
    used = f", on {cores:.1f} cores" if cores > 1.05 or "threads=2" in what else ""
    return Row(what, data.size, a / b, "x", bar, f"{a:.2f} µs a pair{used}, {whose} {b:.2f} µs")


def measure_objects(data: Data) -> Iterable[Row]:
    pairs = list(data.pairs())

    def theirs(match: str) -> Callable[[], None]:
        passes, fits = reference.MODES[match], reference.partial

        def run() -> None:
            for actual, expected in pairs:
                passes(actual, expected, fits)

        return run

    def one_by_one(match: str) -> Callable[[], None]:
        metric = ToolCallTrajectory(match=match)

        def run() -> None:
            for actual, expected in pairs:
                metric.evaluate(tool_calls=actual, expectations={"tool_calls": expected})

        return run

    def batch() -> None:
        columns(ToolCallTrajectory().evaluate_batch(tool_calls=data.actual, expected_tool_calls=data.expected))

    for match in ("in_order", "exact", "any_order", "subset", "superset"):
        times = best(ROUNDS, one_by_one(match), theirs(match))
        bar = 1.0 if match == "in_order" else None
        yield compared(f"evaluate(), {match} / reference", data, *times, "reference", bar)
    times = best(ROUNDS, batch, theirs("in_order"))
    yield compared("evaluate_batch(), all columns / reference", data, *times, "reference", 0.4)


def measure_file(data: Data) -> Iterable[Row]:
    metric = ToolCallTrajectory()
    bars = {2: 0.35, 1: 0.7}

    def score(threads: int) -> Callable[[], None]:
        def run() -> None:
            for scores in metric.evaluate_file(data.path, **FIELDS, threads=threads):
                columns(scores)

        return run

    def loads() -> None:
        for line in data.lines:
            orjson.loads(line)

    *times, theirs = best(ROUNDS, *map(score, bars), loads)
    for (threads, bar), ours in zip(bars.items(), times, strict=True):
        what = f"evaluate_file(), all columns, threads={threads} / orjson.loads"
        yield compared(what, data, ours, theirs, "orjson", bar)


def measure_tables(data: Data) -> Iterable[Row]:
    """Arrow columns of JSON text to Arrow columns of scores, here and in the engines that run us."""
    texts = [[json.dumps(calls) for calls in side] for side in (data.actual, data.expected)]
    encoded = [text.encode() for side in texts for text in side]
    rows = pyarrow.table(dict(zip(("tool_calls", "expected_tool_calls"), texts, strict=True)))
    frame = polars.DataFrame(rows)
    connection = duckdb.connect()
    callmatch.duckdb.register(connection)
    connection.register("pairs", rows)
    expression = callmatch.polars.score("tool_calls", "expected_tool_calls")
    call = "(tool_calls, expected_tool_calls, 'in_order', 'partial') as scores from pairs"
    query = "select callmatch_score" + call

    def nothing(made: Any, expected: Any, match: Any, arguments: Any) -> Any:
        return pyarrow.nulls(len(made), pyarrow.int32())

    connection.create_function("nothing", nothing, ["VARCHAR"] * 4, "INTEGER", type="arrow", null_handling="special")
    metric = ToolCallTrajectory()

    def scored(threads: int | None) -> Any:
        return pyarrow.table(metric.evaluate_table(rows, threads=threads))

    verdicts = data.verdicts("in_order", "partial")
    for what, found in [
        ("evaluate_table", scored(None)["verdict"].to_pylist()),
        ("polars", frame.select(expression.struct.field("verdict"))["verdict"].to_list()),
        ("duckdb", [scores["verdict"] for scores in connection.sql(query).to_arrow_table()["scores"].to_pylist()]),
    ]:
        check(found, verdicts, what)
    all_cores, one_core, of_polars, of_duckdb, idle, theirs = best(
        ROUNDS,
        lambda: scored(None),
        lambda: scored(1),
        lambda: frame.select(expression),
        lambda: connection.sql(query).to_arrow_table(),
        lambda: connection.sql("select nothing" + call).to_arrow_table(),
        lambda: [orjson.loads(text) for text in encoded],
    )
    yield compared("evaluate_table(), all columns / orjson.loads", data, all_cores, theirs, "orjson", 0.3)
    yield compared("evaluate_table(), threads=1 / orjson.loads", data, one_core, theirs, "orjson", None)
    yield compared("evaluate_table(), two cores / one", data, all_cores, one_core, "one core", 1 / 1.9)
    yield compared("polars expression / evaluate_table()", data, of_polars, all_cores, "evaluate_table()", 1.2)
    yield compared("duckdb function / evaluate_table()", data, of_duckdb, all_cores, "evaluate_table()", 1.2)
    what = "duckdb function that does nothing / evaluate_table()"
    yield compared(what, data, idle, all_cores, "evaluate_table()", None)


def measure_table_files(data: Data, directory: Path) -> Iterable[Row]:
    """A Parquet file to a Parquet file, against reading the one into memory and scoring the table there."""
    pairs = [{"id": place, "actual": a, "expected": e} for place, (a, e) in enumerate(data.pairs())]
    metric, output = ToolCallTrajectory(), directory / "scores.parquet"
    for compression in ("snappy", "none"):
        path = directory / "pairs.parquet"
        gen_pairs.write_table(pairs, path, compression=compression)

        def ours() -> None:
            metric.evaluate_table(path, keep=["id"]).write(output)  # noqa: B023

        def theirs() -> None:
            pyarrow.table(metric.evaluate_table(pyarrow.parquet.read_table(path), keep=["id"]))  # noqa: B023

        ours()
        found = pyarrow.parquet.read_table(output)
        check(found["verdict"].to_pylist(), data.verdicts("in_order", "partial"), "Parquet to Parquet")
        check(found["id"].to_pylist(), [pair["id"] for pair in pairs], "ids, Parquet to Parquet")
        what = f"Parquet ({compression}) to Parquet / read_table and evaluate_table()"
        # A file of a few batches leaves nothing to do at the same time.
        bar = 1.3 if len(pairs) >= 20_000 else None
        yield compared(what, data, *best(ROUNDS, ours, theirs), "in memory", bar)
        path.unlink()


def one_tool(count: int, kind: str) -> tuple[list[Call], list[Call], list[int]]:
    """Calls of one tool, made in another order, and for each expected call the place of the one that it must get."""
    rng = random.Random(count)

    def call(arguments: dict[str, Any]) -> Call:
        return {"name": "update_order", "arguments": arguments}

    orders = [
        {
            "order_id": number,
            "group": number // 10,
            "status": rng.choice(["open", "sent"]),
            "lines": [{"item": f"item {number}", "count": rng.randint(1, 9)}],
            "note": gen_pairs.phrase(rng, 2, 8),
        }
        for number in range(count)
    ]
    sequence = list(range(count))
    rng.shuffle(sequence)
    actual = [call(gen_pairs.shuffled(rng, json.loads(json.dumps(orders[number])))) for number in sequence]
    if kind == "exact":
        expected = [call(order) for order in orders]
    else:
        # Half of the keys are shared by a lot of calls, and others were made with more keys.
        expected = [call({key: order[key] for key in ("status", "lines", "order_id")}) for order in orders]
    if kind == "overlap":
        # The first half of each group takes any order of the group, also the ones that the second half insists on.
        for number, one in enumerate(expected):
            if number % 10 < 5:
                one["arguments"] = {"group": number // 10}
        expected.sort(key=lambda one: len(one["arguments"]))
    places = sorted(range(count), key=sequence.__getitem__)
    return actual, expected, places


def time_one_tool(count: int, kind: str, rounds: int) -> Callable[[], float]:
    metric = ToolCallTrajectory(match="any_order", arguments="exact" if kind == "exact" else "partial")
    actual, expected, places = one_tool(count, kind)

    def run() -> Any:
        return metric.evaluate(tool_calls=actual, expectations={"tool_calls": expected})

    result = run()
    what = f"{count} calls of one tool, {kind}"
    check((result.verdict, result.details["matched"]), ("passed", count), what)
    if kind != "overlap":
        wanted = [{"expected": index, "actual": place} for index, place in enumerate(places)]
        check(result.details["pairs"], wanted, what)

    # The last expected call can't be met any more, which has to be found out.
    changed = [*expected[:-1], {"name": "update_order", "arguments": {"order_id": -1}}]
    failed = metric.evaluate(tool_calls=actual, expectations={"tool_calls": changed})
    check((failed.verdict, failed.details["matched"]), ("failed", count - 1), f"{what}, one of them changed")

    def timed() -> float:
        return best(rounds, run)[0].taken

    return timed


def measure_one_tool() -> Iterable[Row]:
    bars = {"partial": 1.0, "exact": 0.1, "overlap": None}
    names = {
        "partial": "any_order, partial arguments, distinct",
        "exact": "any_order, exact arguments, distinct",
        "overlap": "any_order, partial arguments, half fit a group",
    }
    for kind, bar in bars.items():
        few, many = time_one_tool(1_000, kind, 20), time_one_tool(10_000, kind, 3)
        turns = [(few(), many()) for _ in range(3)]
        small, large = (min(times) for times in zip(*turns, strict=True))
        yield Row(names[kind], "10,000 x 10,000", large, "s", bar, f"1,000 x 1,000: {small * 1e3:.2f} ms")
        growth = None if kind == "overlap" else 15.0
        detail = "10 would be linear"
        yield Row(f"{names[kind]}: growth", "x 10", large / small, "x", growth, detail)


# The largest resident set of the process that this is part of.
PEAK = """
import sys
try:
    # What ru_maxrss says includes the process that started this one.
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    peak = int(status["VmHWM"].split()[0]) * 1024
except OSError:
    import resource
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
"""

MEMORY = f"""
import sys
from time import perf_counter
from callmatch.metrics import ToolCallTrajectory

start = perf_counter()
rows = passed = 0
for scores in ToolCallTrajectory().evaluate_file(sys.argv[1], actual="actual", expected="expected"):
    columns = {{name: getattr(scores, name) for name in {COLUMNS!r}}}
    rows += len(scores)
    passed += columns["verdict"].count("passed")
seconds = perf_counter() - start
{PEAK}print(rows, passed, peak, seconds)
"""


def measure_memory(data: Data, directory: Path) -> Row:
    block = data.path.read_bytes()
    times = -(-GIGABYTES * 10**9 // len(block))
    path = directory / "large.jsonl"
    with path.open("wb") as out:
        for _ in range(times):
            out.write(block)
    ran = subprocess.run([sys.executable, "-c", MEMORY, path], check=True, capture_output=True, text=True)
    path.unlink()
    rows, passed, peak, seconds = map(float, ran.stdout.split())
    wanted = data.verdicts("in_order", "partial").count("passed") * times
    check((rows, passed), (len(data.lines) * times, wanted), f"{GIGABYTES} GB of JSON Lines")
    detail = f"{times * len(block) / 1e9:.2f} GB in {seconds:.1f} s"
    return Row("peak memory while scoring a file", f"{rows:,.0f}", peak / 1e6, "MB", 200.0, detail)


TABLES_MEMORY = f"""
import sys
from time import perf_counter
from callmatch.metrics import ToolCallTrajectory

start = perf_counter()
scores = ToolCallTrajectory().evaluate_table(sys.argv[1], keep=["id"])
scores.write(sys.argv[2])
seconds = perf_counter() - start
{PEAK}print(scores.summary().rows, scores.summary().passed, peak, seconds)
"""


def measure_tables_memory(data: Data, directory: Path) -> Row:
    """Files of about 0.5 GB with one row group each, in a process of its own."""
    pairs = [{"id": place, "actual": a, "expected": e} for place, (a, e) in enumerate(data.pairs())]
    block = directory / "pairs.parquet"
    gen_pairs.write_table(pairs, block, compression="none")
    times = -(-(500 << 20) // block.stat().st_size)
    large = pyarrow.concat_tables([pyarrow.parquet.read_table(block)] * times)
    first = directory / "large-00.parquet"
    pyarrow.parquet.write_table(large, first, compression="none", use_dictionary=False, row_group_size=large.num_rows)
    files = -(-GIGABYTES_OF_TABLES * 10**9 // first.stat().st_size)
    for number in range(1, files):
        shutil.copyfile(first, directory / f"large-{number:02}.parquet")
    rows = large.num_rows * files
    del large
    run = [sys.executable, "-c", TABLES_MEMORY, str(directory / "large-*.parquet"), str(directory / "scores.parquet")]
    told = subprocess.run(run, check=True, capture_output=True, text=True).stdout.split()
    size = sum(path.stat().st_size for path in directory.glob("large-*.parquet"))
    for path in directory.glob("large-*.parquet"):
        path.unlink()
    wanted = data.verdicts("in_order", "partial").count("passed") * times * files
    check([int(number) for number in told[:2]], [rows, wanted], f"{GIGABYTES_OF_TABLES} GB of Parquet")
    detail = f"{size / 1e9:.2f} GB, {files} files of one row group, in {float(told[3]):.1f} s"
    return Row("peak memory, Parquet to Parquet", f"{rows:,}", int(told[2]) / 1e6, "MB", 500.0, detail)


def time_import(statement: str) -> float:
    code = f"from time import perf_counter; t = perf_counter(); {statement}; print(perf_counter() - t)"
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


def measure_imports(rounds: int) -> Iterable[Row]:
    result = 'ToolCallTrajectory().evaluate(tool_calls=[], expectations={"tool_calls": []})'
    for what, ours, theirs, bar in [
        ("import callmatch / import pydantic", "import callmatch", "import pydantic", 1.3),
        (
            "import and a first result / first pydantic model",
            f"from callmatch.metrics import ToolCallTrajectory; {result}",
            "from pydantic import BaseModel; type('Model', (BaseModel,), {})()",
            None,
        ),
    ]:
        turns = [(time_import(ours), time_import(theirs)) for _ in range(rounds)]
        a, b = (min(times) for times in zip(*turns, strict=True))
        yield Row(what, "", a / b, "x", bar, f"{a * 1e3:.1f} ms, {b * 1e3:.1f} ms")


def measure_traces(rounds: int) -> Iterable[Row]:
    for deep in (False, True):
        nested = ", agents nested to the bottom" if deep else ""
        small, large = (traces.spans(count, deep=deep) for count in (10_000, 100_000))
        opened = best(rounds, lambda spans=small: Trace(turns=[{"spans": spans}]))[0].taken  # type: ignore[misc]
        detail = f"{opened / 10_000 * 1e6:.1f} µs a span"
        yield Row(f"Trace(...) out of dicts{nested}", "10,000 spans", opened, "s", None, detail)
        small_trace, large_trace = (Trace(turns=[{"spans": spans}]) for spans in (small, large))
        # All is inside the first agent, whose name every third has.
        inside = [place for place in range(10_000) if place % 10]
        for what, target in [("tool calls", "tool_call"), ("within", {"on": "tool_call", "within": "agent-0"})]:
            if deep or what == "tool calls":
                check([int(found.id or -1) for found in resolve(small_trace, target)], inside, f"resolve: {what}")
            times = best(rounds, lambda: resolve(small_trace, target), lambda: resolve(large_trace, target))  # noqa: B023
            ten, hundred = (time.taken for time in times)
            yield Row(f"resolve(), {what}{nested}", "10,000 spans", ten, "s", 0.02, "")
            detail = f"100,000 spans: {hundred * 1e3:.0f} ms"
            yield Row(f"resolve(), {what}{nested}: 100,000 / 10,000", "", hundred / ten, "x", 15.0, detail)
    runs = traces.runs(1_000, 20)
    metrics = [traces.succeeded, traces.succeeded_on_a_copy, traces.succeeded_on_a_deep_copy]
    results = [[metric.evaluate(trace=run) for run in runs] for metric in metrics]
    check(results[0][0].reason.split(";")[0], "16 of 20 tool calls passed", "the reason")
    check(results[1], results[0], "the results on copies")
    check(results[2], results[0], "the results on deep copies")
    ours, *theirs = best(
        rounds, *(lambda metric=metric: [metric.evaluate(trace=run) for run in runs] for metric in metrics)
    )  # type: ignore[misc]
    for whose, time in zip(["one made out of its dict", "a deep copy"], theirs, strict=True):
        what = f"a code metric per tool call / on {whose}"
        detail = f"{ours.taken / 20_000 * 1e6:.2f} µs a call, with the copy {time.taken / 20_000 * 1e6:.2f} µs"
        yield Row(what, "1,000 traces", ours.taken / time.taken, "x", 0.2, detail)


STORED_BYTES = 40_000_000


def calls_of_chat(line: bytes) -> list[tuple[str, Any]]:
    """The calls in a line of `stored.chat`, read in the plainest way."""
    calls = [call["function"] for message in orjson.loads(line)["messages"] for call in message.get("tool_calls") or ()]
    return [(call["name"], orjson.loads(call["arguments"])) for call in calls]


def calls_of_otlp(line: bytes) -> list[tuple[str, Any]]:
    """The same for a line of `stored.otlp`."""
    [scope] = orjson.loads(line)["resourceSpans"][0]["scopeSpans"]
    spans = [{item["key"]: item["value"].get("stringValue") for item in span["attributes"]} for span in scope["spans"]]
    tools = [span for span in spans if span["gen_ai.operation.name"] == "execute_tool"]
    return [(span["gen_ai.tool.name"], orjson.loads(span["gen_ai.tool.call.arguments"])) for span in tools]


def read_columns(path: Path, kind: str | None = None) -> list[dict[str, Sequence[Any]]]:
    return [dict(part) for part in callmatch.read(path).columns(kind=kind)]


def read_lists(path: Path) -> list[dict[str, list[Any]]]:
    """The same with a Python object for each cell."""
    parts = callmatch.read(path).columns()
    return [{name: column.tolist() for name, column in part.items()} for part in parts]


def measure_stored(directory: Path, rounds: int) -> Iterable[Row]:
    for what, make, calls_of in [("chats", stored.chat, calls_of_chat), ("OTLP spans", stored.otlp, calls_of_otlp)]:
        path = directory / "stored.jsonl"
        lines = stored.write(path, make, STORED_BYTES)
        parts = read_columns(path, "tool_call")
        found = [
            (name, orjson.loads(given))
            for part in parts
            for name, given in zip(part["name"], part["input"], strict=True)
        ]
        check(found, [call for line in lines for call in calls_of(line)], f"the calls in stored {what}")
        ours, of_tools, as_lists, theirs = best(
            rounds,
            lambda: read_columns(path),  # noqa: B023
            lambda: read_columns(path, "tool_call"),  # noqa: B023
            lambda: read_lists(path),  # noqa: B023
            lambda: [orjson.loads(line) for line in lines],  # noqa: B023
        )
        size = f"{path.stat().st_size / 1e6:.0f} MB"
        kinds = [("columns, all spans", ours, 0.6), ("columns, tool calls", of_tools, 0.6), ("lists", as_lists, None)]
        for columns, time, bar in kinds:
            detail = f"{time.taken:.3f} s, on {time.worked / time.taken:.1f} cores, orjson {theirs.taken:.3f} s"
            title = f"stored {what} to {columns} / orjson.loads"
            yield Row(title, size, time.taken / theirs.taken, "x", bar, detail)
        path.unlink()


READ_AND_SCORE = f"""
import sys
import callmatch
from callmatch.expectations import evaluate_traces
from callmatch.metrics import ToolCallTrajectory

traces = callmatch.read(sys.argv[1])
made = sum(sum(scores.made) for scores in evaluate_traces(ToolCallTrajectory(), traces, {{}}))
{PEAK}
print(len(traces), made, peak)
"""


def measure_stored_memory(directory: Path, gigabytes: int) -> Row:
    """Reading and scoring a large export, in a process of its own."""
    path = directory / "export.jsonl"
    lines = stored.write(path, stored.otlp, 20_000_000)
    calls = [len(calls_of_otlp(line)) for line in lines]
    count = made = 0
    with path.open("wb") as file:
        while file.tell() < gigabytes << 30:
            for line, of_line in zip(lines, calls, strict=True):
                # A trace id of its own: the line has it in quotes.
                start = line.index(b'"traceId": "') + 12
                file.write(line.replace(line[start : start + 32], f"{count:032x}".encode()))
                count, made = count + 1, made + of_line
    run = [sys.executable, "-c", READ_AND_SCORE, str(path)]
    told = subprocess.run(run, check=True, capture_output=True, text=True).stdout.split()
    path.unlink()
    check([int(number) for number in told[:2]], [count, made], "the traces and calls of a large export")
    return Row("peak memory, reading and scoring an export", f"{gigabytes} GB", int(told[2]) / 1e6, "MB", 300.0, "")


def measure_pairs(data: Data, directory: Path) -> Iterable[Row]:
    # So that collecting garbage between the rounds doesn't look at all of the data.
    gc.freeze()
    yield from measure_file(data)
    yield from measure_tables(data)
    yield from measure_table_files(data, directory)


def measure(quick: bool, directory: Path) -> Iterable[Row]:
    yield from measure_imports(5 if quick else 15)
    yield from measure_traces(3 if quick else ROUNDS)
    yield from measure_stored(directory, 3 if quick else ROUNDS)
    small = Data(2_000, directory)
    for data in [small] if quick else [small, Data(20_000, directory)]:
        gc.freeze()
        check_answers(data)
        yield from measure_objects(data)
        yield from measure_pairs(data, directory)
    yield from measure_one_tool()
    if quick:
        yield Row("peak memory while scoring a file", f"{GIGABYTES} GB", None, "MB", 200.0, "not with --quick")
    else:
        yield measure_memory(small, directory)
        yield measure_tables_memory(small, directory)
        yield measure_stored_memory(directory, 5)


HEADER = ["path", "pairs", "measured", "bar", "", "times"]
RIGHT = {"pairs", "measured", "bar"}


def markdown(rows: list[Row]) -> str:
    lines = [HEADER, ["---:" if name in RIGHT else "---" for name in HEADER], *(row.cells() for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def table(rows: list[Row]) -> Table:
    shown = Table(*HEADER)
    for column in shown.columns:
        column.justify = "right" if column.header in RIGHT else "left"
    for row in rows:
        style = {"ok": "green", "over": "red"}.get(row.outcome, "")
        cells = row.cells()
        shown.add_row(*cells[:4], f"[{style}]{cells[4]}[/]" if style else cells[4], cells[5])
    return shown


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="2,000 pairs only, and no file of 2 GB")
    parser.add_argument("--pairs", type=int, metavar="N", help="files and tables of so many pairs alone")
    parser.add_argument("--strict", action="store_true", help="exit with 1 where a bar is missed")
    parser.add_argument("--markdown", action="store_true", help="print a Markdown table")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to a file as well")
    options = parser.parse_args()
    # Not cut to 80 columns where it goes into a file.
    console = Console(width=None if sys.stdout.isatty() else 160)
    if _core.DEBUG:
        Console(stderr=True).print("callmatch was built for debugging: these figures mean nothing", style="red")
    load = os.getloadavg()[0]
    try:
        with tempfile.TemporaryDirectory() as directory:
            place = Path(directory)
            data = Data(options.pairs, place) if options.pairs else None
            rows = list(measure_pairs(data, place) if data else measure(options.quick, place))
    except WrongAnswer as error:
        Console(stderr=True).print(f"wrong answer: {error}", style="red")
        return 1
    if options.markdown:
        print(markdown(rows))
    else:
        console.print(table(rows))
    missed = sum(row.outcome == "over" for row in rows)
    machine = f"{os.cpu_count()} cores, load average {load:.1f} before and {os.getloadavg()[0]:.1f} after"
    print(f"\n{missed} of {sum(row.bar is not None for row in rows)} bars missed; {machine}.")
    if options.json:
        options.json.write_text(json.dumps([asdict(row) | {"outcome": row.outcome} for row in rows], indent=2) + "\n")
    return int(options.strict and missed > 0)


if __name__ == "__main__":
    sys.exit(main())
