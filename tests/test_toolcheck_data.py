"""What ToolCallCheck has to reach on labelled data, which is kept outside the project."""

import importlib.util
import sys
from pathlib import Path

import pytest

from conftest import SHARED

BENCH = Path(__file__).resolve().parents[1] / "benches" / "toolcheck.py"


@pytest.fixture(scope="module")
def bench():
    spec = importlib.util.spec_from_file_location("toolcheck_bench", BENCH)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def score(bench):
    module = bench.scorer(SHARED)
    if module is None:
        pytest.skip("the scorer is not beside the project")
    return module


def answered(bench, score, records):
    if records is None:
        pytest.skip("the data is not beside the project")
    return bench.answers_to(records, [score.request_of(record) for record in records], None)


@pytest.mark.parametrize(
    ("name", "domain", "gold", "precision", "recall"),
    [("quintd", "all", "union", 0.93, 0.15), ("rotowire", "rotowire", "NUMBER", 0.90, 0.25)],
)
def test_flags_are_right_and_find_some_errors(bench, score, name, domain, gold, precision, recall):
    records = bench.labelled(name, SHARED)
    counts = bench.marked(records, answered(bench, score, records), score)[domain, gold]
    assert counts["right"] / counts["flags"] >= precision
    assert counts["numbers_hit"] / counts["numbers"] >= recall


@pytest.mark.parametrize(("source", "auc"), [("relytoolbench", 0.99), ("when2call", 0.87)])
def test_tools_that_fit_rank_above_tools_that_do_not(bench, score, source, auc):
    records = bench.labelled("relevance", SHARED)
    found = bench.pairs(records, answered(bench, score, records), score)
    assert found[source]["auc"] >= auc
    called_violated = found["all"]["caught"] + found["all"]["false_alarms"]
    assert found["all"]["caught"] / called_violated >= 0.95


def test_hardly_anything_is_flagged_in_real_runs(bench, score, airline):
    records = bench.airline(SHARED)
    found = bench.alarms(records, answered(bench, score, records), score)
    assert found["texts"] == 1380
    assert not found["ids"]
    assert len(found["values"]) <= 0.004 * found["mentions"], found["values"]


def test_time_grows_with_text_and_payload_and_no_faster(bench):
    found = bench.speed(count=50, rounds=2)
    assert found["ten_times_the_text"] < 20
    assert found["ten_times_the_payload"] < 20
