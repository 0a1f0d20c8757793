"""Repeated trials of tasks: pass^k and pass@k as by choosing each k of them, and as tau-bench published."""

import json
import math
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callmatch import InvalidInput, InvalidType, Summaries, Trials
from callmatch.metrics import ToolCallTrajectory


def by_enumeration(outcomes, k):
    """Every choice of k trials of each task, as the two are defined."""
    all_pass, any_pass = [], []
    for task in outcomes:
        if len(task) >= k:
            choices = list(combinations(task, k))
            all_pass.append(Fraction(sum(map(all, choices)), len(choices)))
            any_pass.append(Fraction(sum(map(any, choices)), len(choices)))
    return (
        (float(sum(all_pass) / len(all_pass)), float(sum(any_pass) / len(any_pass)), len(all_pass))
        if all_pass
        else None
    )


@given(st.lists(st.lists(st.sampled_from([True, False, None]), max_size=6), max_size=8))
def test_trials_are_counted_as_by_choosing_each_k_of_them(tasks):
    pairs = [(place, outcome) for place, task in enumerate(tasks) for outcome in task]
    trials = Trials([task for task, _ in pairs], [outcome for _, outcome in pairs])
    judged = [[outcome for outcome in task if outcome is not None] for task in tasks]
    for k in range(1, 8):
        right = by_enumeration(judged, k)
        row = trials.at(k)
        assert (row and (row.pass_hat, row.pass_at, row.tasks)) == right
        assert trials.pass_hat(k) == (right and right[0])
        if row:
            assert row.pass_hat_interval[0] <= row.pass_hat <= row.pass_hat_interval[1]
    assert trials.table() == [trials.at(k) for k in range(1, trials.most + 1)]
    assert trials.tasks == sum(bool(task) for task in tasks)
    assert trials.judged == sum(map(len, judged))
    assert trials.not_judged == sum(task.count(None) for task in tasks)


def test_what_may_come_of_a_trial():
    outcomes = [
        "passed",
        "failed",
        "inconclusive",
        "error",
        "not_applicable",
        True,
        False,
        1,
        0,
        0.5,
        1 - 1e-9,
        None,
        math.nan,
    ]
    trials = Trials(["a"] * len(outcomes), outcomes)
    assert (trials.judged, trials.not_judged) == (8, 5)
    assert trials.pass_hat(1) == 4 / 8
    assert Trials([None, math.nan, "a"], [True, False, True]).without_task == 2
    for bad, error in (("pass", InvalidInput), (2, InvalidInput), ([], InvalidType), ({}, InvalidType)):
        with pytest.raises(error, match=r"outcomes\[1\]"):
            Trials(["a", "a"], [True, bad])
    with pytest.raises(InvalidInput, match="one for each"):
        Trials(["a"], [])
    for k in (0, -1, 1.5, True, "2"):
        with pytest.raises(InvalidInput, match="k is"):
            trials.pass_hat(k)
    empty = Trials([], [])
    assert (empty.tasks, empty.table(), empty.pass_at(1)) == (0, [], None)


def test_many_trials_take_no_long_table():
    trials = Trials(["a"] * 5000, [place % 2 == 0 for place in range(5000)])
    assert [row.k for row in trials.table()] == list(range(1, 17))
    assert math.isclose(trials.pass_hat(2), (2500 * 2499) / (5000 * 4999))
    assert trials.pass_hat(2501) == 0
    assert trials.pass_at(2501) == 1


def test_the_rewards_of_tau_bench_are_as_published(airline):
    """Yao et al., 2024, table 2 and the repository: gpt-4o on the airline tasks."""
    runs = json.loads(airline.read_bytes())
    trials = Trials([record["task_id"] for record in runs], [record["reward"] for record in runs])
    assert [round(row.pass_hat, 3) for row in trials.table()] == [0.420, 0.273, 0.220, 0.200]
    assert {row.tasks for row in trials.table()} == {50}


def test_the_verdicts_of_tau_bench_in_the_same_table(airline, tmp_path):
    metric = ToolCallTrajectory(match="superset", arguments="exact")
    summaries = Summaries(["task_id"])
    passed = {}
    for scores in metric.evaluate_file(
        airline, actual="traj", expected="info.task.actions", id="task_id", group_by=["task_id"]
    ):
        summaries += scores.summaries()
        for task, verdict in zip(scores.id, scores.verdict, strict=True):
            passed.setdefault(task, []).append(verdict == "passed")
    trials = Trials.of(summaries, "task_id")[()]
    for row in trials.table():
        assert (row.pass_hat, row.pass_at, row.tasks) == by_enumeration(passed.values(), row.k)
    assert [round(row.pass_hat, 3) for row in trials.table()] == [0.25, 0.143, 0.11, 0.1]
