"""How long each path takes, for comparing one version with another: `pytest benches`."""

import json

import pytest

import gen_pairs
import reference
import traces
from callmatch import Trace, resolve
from callmatch.metrics import ToolCallTrajectory

pytestmark = pytest.mark.benchmark(disable_gc=True)

PAIRS = 1_000
METRIC = ToolCallTrajectory()


@pytest.fixture(scope="module")
def lines():
    return [gen_pairs.line(record) for record in gen_pairs.records(PAIRS)]


@pytest.fixture(scope="module")
def records(lines):
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def verdicts(records):
    passed = [reference.in_order(r["actual"], r["expected"], reference.partial) for r in records]
    return ["passed" if one else "failed" for one in passed]


def columns(scores):
    return scores.verdict, scores.to_dict()


def test_evaluate(benchmark, records, verdicts):
    def run():
        return [METRIC.evaluate(tool_calls=r["actual"], expectations={"tool_calls": r["expected"]}) for r in records]

    assert [result.verdict for result in run()] == verdicts
    benchmark(run)


@pytest.mark.parametrize("form", ["objects", "text", "bytes"])
def test_evaluate_batch(benchmark, records, verdicts, form):
    dump = {
        "objects": lambda calls: calls,
        "text": json.dumps,
        "bytes": lambda calls: json.dumps(calls, ensure_ascii=False).encode(),
    }[form]
    made = [dump(record["actual"]) for record in records]
    expected = [dump(record["expected"]) for record in records]

    def run():
        return columns(METRIC.evaluate_batch(tool_calls=made, expected_tool_calls=expected))

    assert run()[0] == verdicts
    benchmark(run)


@pytest.mark.parametrize("threads", [1, 2])
def test_evaluate_file(benchmark, tmp_path, lines, verdicts, threads):
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(lines), encoding="utf-8")

    def run():
        chunks = METRIC.evaluate_file(path, actual="actual", expected="expected", threads=threads)
        return [columns(scores) for scores in chunks]

    assert [verdict for part in run() for verdict in part[0]] == verdicts
    benchmark(run)


@pytest.mark.parametrize("arguments", ["partial", "exact"])
@pytest.mark.parametrize("calls", [1_000, 10_000])
def test_calls_of_one_tool(benchmark, calls, arguments):
    metric = ToolCallTrajectory(match="any_order", arguments=arguments)
    expected = [{"name": "get", "arguments": {"id": number, "page": number % 3}} for number in range(calls)]
    made = json.loads(json.dumps(expected[::-1]))

    def run():
        return metric.evaluate(tool_calls=made, expectations={"tool_calls": expected})

    result = run()
    assert result.verdict == "passed"
    assert result.details["pairs"] == [{"expected": i, "actual": calls - 1 - i} for i in range(calls)]
    benchmark(run)


@pytest.fixture(scope="module", params=["flat", "deep"])
def trace(request):
    return Trace(turns=[{"input": "Refund", "spans": traces.spans(10_000, deep=request.param == "deep")}])


@pytest.mark.parametrize("target", ["tool_call", {"on": "tool_call", "within": "agent-0"}], ids=["kind", "within"])
def test_resolve(benchmark, trace, target):
    found = resolve(trace, target)
    assert [int(subject.id) for subject in found] == [place for place in range(10_000) if place % 10][: len(found)]
    benchmark(resolve, trace, target)


@pytest.mark.parametrize(
    "metric",
    [traces.succeeded, traces.succeeded_on_a_copy, traces.succeeded_on_a_deep_copy],
    ids=["itself", "copy", "deep_copy"],
)
def test_code_metric(benchmark, metric):
    runs = traces.runs(100, 20)

    def run():
        return [metric.evaluate(trace=one) for one in runs]

    assert {result.reason for result in run()} == {run()[0].reason}
    assert run()[0].details["passed"] == 16
    benchmark(run)
