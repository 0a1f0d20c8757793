"""200 real runs of gpt-4o on tau-bench's airline tasks: numbers that were counted independently."""

import json

import pytest

from callmatch.metrics import ToolCallTrajectory
from test_cli import as_json

PLACES = {"actual": "traj", "expected": "info.task.actions"}


def score(path, match, arguments):
    return list(ToolCallTrajectory(match=match, arguments=arguments).evaluate_file(path, **PLACES))


def test_all_runs_and_calls_are_read(airline):
    chunks = score(airline, "in_order", "partial")
    assert sum(len(scores) for scores in chunks) == 200
    assert sum(made for scores in chunks for made in scores.made) == 1164
    assert sum(expected for scores in chunks for expected in scores.expected) == 632
    assert not any(error for scores in chunks for error in scores.error)


@pytest.mark.parametrize(
    ("match", "arguments", "passed"),
    [("superset", "exact", 50), ("in_order", "ignore", 87), ("exact", "ignore", 14)],
)
def test_how_many_pass(airline, match, arguments, passed):
    assert sum(scores.verdict.count("passed") for scores in score(airline, match, arguments)) == passed


def test_passing_agrees_with_the_reward(airline):
    rewards = [record["reward"] == 1 for record in json.loads(airline.read_bytes())]
    chunks = score(airline, "superset", "exact")
    passed = [verdict == "passed" for scores in chunks for verdict in scores.verdict]
    assert sum(p == r for p, r in zip(passed, rewards, strict=True)) == 140

    nothing_expected = [expected == 0 for scores in chunks for expected in scores.expected]
    lenient = [p or n for p, n in zip(passed, nothing_expected, strict=True)]
    assert sum(p == r for p, r in zip(lenient, rewards, strict=True)) == 154


def test_the_command_reads_them_too(airline):
    options = [
        "--actual",
        "traj",
        "--expected",
        "info.task.actions",
        "--match",
        "superset",
        "--arguments",
        "exact",
    ]
    summary = as_json(airline, *options)["summary"]
    assert (summary["rows"], summary["passed"], summary["failed"]) == (200, 50, 150)
    assert summary["pass_rate"] == 0.25
