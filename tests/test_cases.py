"""Every case with a known answer, in all modes, by every way in."""

import pytest

from answers import (
    CASES,
    answer,
    batch_of_objects,
    batch_of_texts,
    consistent,
    file,
    json_bytes,
    json_str,
    objects,
    row_answer,
)
from callmatch.metrics import ToolCallTrajectory
from reference import PAIRS, judge

ROWS = [(case["actual"], case["expected"]) for case in CASES]
WAYS = [objects, json_str, json_bytes, batch_of_objects, batch_of_texts]


def check(results, match, arguments):
    assert len(results) == len(CASES)
    found = {case["id"]: answer(result) for case, result in zip(CASES, results, strict=True)}
    assert found == {case["id"]: case["want"][f"{match}/{arguments}"] for case in CASES}
    assert all(consistent(result) for result in results)
    assert all((result.details["match"], result.details["arguments"]) == (match, arguments) for result in results)


@pytest.mark.parametrize(("match", "arguments"), PAIRS)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_every_case_by(way, match, arguments):
    metric = ToolCallTrajectory(match=match, arguments=arguments)
    check(way(metric, ROWS), match, arguments)


@pytest.mark.parametrize(("match", "arguments"), PAIRS)
def test_every_case_from_a_file(match, arguments, tmp_path):
    metric = ToolCallTrajectory(match=match, arguments=arguments)
    check(file(metric, ROWS, tmp_path / "cases.jsonl"), match, arguments)


@pytest.mark.parametrize(("match", "arguments"), PAIRS)
def test_columns_of_a_batch_say_what_its_rows_say(match, arguments):
    scores = ToolCallTrajectory(match=match, arguments=arguments).evaluate_batch(
        tool_calls=[actual for actual, _ in ROWS], expected_tool_calls=[expected for _, expected in ROWS]
    )
    for i, case in enumerate(CASES):
        assert row_answer(scores, i) == case["want"][f"{match}/{arguments}"], case["id"]
        row = scores[i]
        for column in ("score", "verdict", "reason"):
            assert getattr(scores, column)[i] == getattr(row, column)
        for column in ("matched", "made", "expected", "precision", "recall", "f1"):
            assert getattr(scores, column)[i] == row.details[column]
        assert scores.error[i] is None


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_all_ways_in_give_the_same_result(case, tmp_path):
    for match, arguments in PAIRS:
        metric = ToolCallTrajectory(match=match, arguments=arguments)
        row = [(case["actual"], case["expected"])]
        first, *others = [way(metric, row)[0] for way in WAYS] + file(metric, row, tmp_path / "case.jsonl")
        for other in others:
            assert other.model_dump_json() == first.model_dump_json()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_reference_gives_the_known_answers(case):
    for match, arguments in PAIRS:
        found = judge(case["expected"], case["actual"], match, arguments)
        want = case["want"][f"{match}/{arguments}"]
        assert [found["verdict"], found["matched"], found["difference"]] == want
