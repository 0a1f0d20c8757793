"""Every case of ToolCallCheck with known right answers, one by one and as a batch."""

import copy
from functools import cache

import pytest

from callmatch.metrics import ToolCallCheck
from toolcheck_answers import CASES, consistent, verdicts, wrong

by_id = pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])

NOT_SEEN = {
    "own-069": "that a statement of SQL only reads",
    "own-128": "who won, by two scores",
    "own-297": "that nothing of a page has to be told where it explains what to do",
    "own-318": "the direction of a change between two records",
    "own-324": "that a recipe is scaled",
    "own-339": "which of two currencies a result is in, where a key alone says so",
    "own-345": "that fine is not degraded, of a part",
    "own-364": "that a call that is logged is no call of a tool",
    "own-402": "which of two fields is more",
    "own-421": "which of two departures goes where",
    "own-444": "that PM2.5 is a name",
    "own-469": "that free is available",
    "own-474": "minutes and seconds, and a pace",
    "own-479": "a name among others that nobody has",
}
"""What people see in these cases, and the rules don't."""


def seen(case):
    reason = NOT_SEEN.get(case["id"])
    marks = [] if reason is None else [pytest.mark.xfail(reason=f"rules don't see {reason}", strict=True)]
    return pytest.param(case, id=case["id"], marks=marks)


@cache
def batch():
    return dict(zip([case["id"] for case in CASES], ToolCallCheck().evaluate_batch(requests()), strict=True))


def requests():
    return [case["request"] for case in CASES]


def as_data(result):
    return result.model_dump(mode="json")


@pytest.mark.parametrize("case", [seen(case) for case in CASES])
def test_a_case_has_no_wrong_verdict(case):
    result = ToolCallCheck().evaluate(**case["request"])
    assert consistent(result, case["request"])
    assert not wrong(case["expect"], verdicts(result)), f"{case['why']}: {case['request']['generated_text']}"


@by_id
def test_a_batch_says_the_same(case):
    assert as_data(batch()[case["id"]]) == as_data(ToolCallCheck().evaluate(**case["request"]))


@by_id
def test_explaining_changes_no_verdict(case):
    plain = ToolCallCheck().evaluate(**case["request"])
    assert all(instruction.explanation == "" for instruction in plain.instructions_list)
    for explain in (True, "negatives_only"):
        explained = ToolCallCheck(explain=explain).evaluate(**case["request"])
        for before, after in zip(plain.instructions_list, explained.instructions_list, strict=True):
            assert after.verdict == before.verdict
            assert after.follow_probability == before.follow_probability
            assert after.evidence == before.evidence
            if explain is True or after.label is False:
                assert after.explanation
            elif after.label is True:
                assert after.explanation == ""


def test_requests_are_left_as_they_are():
    before = copy.deepcopy(requests())
    list(ToolCallCheck().evaluate_batch(requests()))
    assert requests() == before


def test_half_of_the_cases_are_honest():
    honest = sum("violated" not in str(case["expect"].values()) for case in CASES)
    assert 0.45 < honest / len(CASES) < 0.55


def test_each_case_has_an_id_of_its_own():
    assert len({case["id"] for case in CASES}) == len(CASES)
