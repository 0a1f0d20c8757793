"""What a result holds and says, and what the metric refuses."""

import copy
import json
import math
import pickle
import re
import unicodedata

import pydantic
import pytest

import callmatch
from answers import CASES, evaluate
from callmatch import CallmatchError, InvalidInput, InvalidType, MetricResult
from callmatch.metrics import ToolCallTrajectory
from reference import ARGUMENTS, MATCHES, PAIRS


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


DETAILS = {
    "match",
    "arguments",
    "reason",
    "matched",
    "made",
    "expected",
    "precision",
    "recall",
    "f1",
    "pairs",
    "missing",
    "unexpected",
    "difference",
}


# The numbers


def test_the_example_of_the_documentation():
    metric = ToolCallTrajectory(match="in_order", arguments="partial")
    result = metric.evaluate(
        tool_calls=[call("lookup_order", order_id=42), call("issue_refund", order_id=42)],
        expectations={"tool_calls": [{"name": "lookup_order"}, {"name": "issue_refund"}]},
    )
    assert (result.score, result.verdict, result.passed) == (1.0, "passed", True)
    assert result.details["precision"] == result.details["recall"] == result.details["f1"] == 1.0
    assert result.details["reason"] == result.reason
    assert result.name == "tool_call_trajectory"
    assert result.spans == []


def test_in_order_and_partial_are_the_defaults():
    metric = ToolCallTrajectory()
    assert (metric.match, metric.arguments, metric.name) == ("in_order", "partial", "tool_call_trajectory")
    result = metric.evaluate(tool_calls=[], expectations={"tool_calls": []})
    assert (result.details["match"], result.details["arguments"]) == ("in_order", "partial")


def test_a_name_of_ones_own_is_carried_into_the_result():
    metric = ToolCallTrajectory(name="refund flow")
    assert metric.name == "refund flow"
    assert metric.evaluate(tool_calls=[], expectations={"tool_calls": []}).name == "refund flow"
    assert metric.evaluate(tool_calls=None, expectations=None).name == "refund flow"


def test_precision_recall_and_f1():
    result = evaluate([call("a"), call("x"), call("b"), call("y")], [call("b"), call("a"), call("c")])
    details = result.details
    assert (details["matched"], details["made"], details["expected"]) == (2, 4, 3)
    assert math.isclose(details["precision"], 2 / 4)
    assert math.isclose(details["recall"], 2 / 3)
    assert math.isclose(details["f1"], 4 / 7)
    assert details["missing"] == [2]
    assert details["unexpected"] == [1, 3]
    assert details["pairs"] == [{"expected": 0, "actual": 2}, {"expected": 1, "actual": 0}]


def test_right_calls_in_the_wrong_order_have_full_precision_and_recall():
    result = evaluate([call("b"), call("a")], [call("a"), call("b")])
    assert (result.score, result.details["precision"], result.details["recall"]) == (0.0, 1.0, 1.0)


def test_details_always_have_the_same_keys():
    for actual, expected in [([], []), (None, []), ([], None), (None, None), ([call("a")], [call("b")])]:
        for match, arguments in PAIRS:
            details = evaluate(actual, expected, match, arguments).details
            assert set(details) == DETAILS
            assert dict(details.items())["match"] == match


@pytest.mark.parametrize("expectations", [None, {}, {"tool_calls": None}])
@pytest.mark.parametrize("tool_calls", [None, [], [call("a")]])
def test_no_expectation_is_not_applicable(tool_calls, expectations):
    result = ToolCallTrajectory().evaluate(tool_calls=tool_calls, expectations=expectations)
    assert (result.verdict, result.score, result.passed) == ("not_applicable", None, None)
    assert "expect" in result.reason.lower()
    for key in ("matched", "expected", "precision", "recall", "f1", "difference"):
        assert result.details[key] is None
    assert result.details["pairs"] == result.details["missing"] == result.details["unexpected"] == []


def test_expectations_may_be_left_out():
    assert ToolCallTrajectory().evaluate(tool_calls=[]).verdict == "not_applicable"


@pytest.mark.parametrize("expected", [[], [call("a")]])
@pytest.mark.parametrize("actual", [None, "null", b"null"])
def test_calls_not_reported_are_inconclusive(actual, expected):
    result = evaluate(actual, expected)
    assert (result.verdict, result.score, result.passed) == ("inconclusive", None, None)
    assert result.reason != evaluate([], expected).reason
    for key in ("matched", "made", "precision", "recall", "f1", "difference"):
        assert result.details[key] is None
    assert result.details["pairs"] == result.details["missing"] == result.details["unexpected"] == []


def test_not_reporting_is_never_a_score():
    result = evaluate(None, [call("a")])
    assert result.score is None
    assert "report" in result.reason.lower() or "record" in result.reason.lower()


# The difference


@pytest.mark.parametrize(
    ("made", "want", "pointer", "values"),
    [
        ({"id": 43}, {"id": 42}, "/id", {"expected_value": 42, "actual_value": 43}),
        ({}, {"id": None}, "/id", {"expected_value": None}),
        ({"id": 42, "x": [1]}, {"id": 42}, "/x", {"actual_value": [1]}),
        ({"a": 1, "b": 1}, {"b": 2, "a": 2}, "/b", {"expected_value": 2, "actual_value": 1}),
        ({"z": 0, "a": 1}, {"a": 2}, "/a", {"expected_value": 2, "actual_value": 1}),
        ({"z": 0, "y": 0}, {}, "/z", {"actual_value": 0}),
        ({"f": {"a": [1, 2]}}, {"f": {"a": [1, 3]}}, "/f/a/1", {"expected_value": 3, "actual_value": 2}),
        ({"f": [1]}, {"f": [1, {"k": 2}]}, "/f/1", {"expected_value": {"k": 2}}),
        ({"f": [1, 2, 3]}, {"f": [1]}, "/f/1", {"actual_value": 2}),
        ({"f": [9, 2]}, {"f": [1]}, "/f/0", {"expected_value": 1, "actual_value": 9}),
        ({"f": {"x": 1, "n": 2}}, {"f": {"x": 1}}, "/f/n", {"actual_value": 2}),
        ({"f": [1]}, {"f": {"0": 1}}, "/f", {"expected_value": {"0": 1}, "actual_value": [1]}),
        ({"": {"": 1}}, {"": {"": 2}}, "//", {"expected_value": 2, "actual_value": 1}),
        (
            {"a/b": {"~": {"~1": 1}}},
            {"a/b": {"~": {"~1": 2}}},
            "/a~1b/~0/~01",
            {"expected_value": 2, "actual_value": 1},
        ),
        ({"é\n": 1}, {"é\n": True}, "/é\n", {"expected_value": True, "actual_value": 1}),
        ({"\u200d": 1}, {"\u200d": 2}, "/\u200d", {"expected_value": 2, "actual_value": 1}),
    ],
)
@pytest.mark.parametrize("match", MATCHES)
def test_the_pointer_leads_to_the_first_place_that_differs(made, want, pointer, values, match):
    actual, expected = [{"name": "t", "arguments": made}], [{"name": "t", "arguments": want}]
    for form in (lambda calls: calls, json.dumps):
        found = evaluate(form(actual), form(expected), match, "exact").details["difference"]
        assert found["kind"] == "arguments"
        assert found["pointer"] == pointer
        assert {key: found[key] for key in ("expected_value", "actual_value") if key in found} == values


@pytest.mark.parametrize("match", MATCHES)
def test_the_pointer_belongs_to_the_call_that_is_left_over(match):
    actual, expected = [call("t", a=1), call("t", a=2, b=3)], [call("t", a=1), call("t", a=2, b=4)]
    found = evaluate(actual, expected, match, "exact").details["difference"]
    assert (found["pointer"], found["expected_value"], found["actual_value"]) == ("/b", 4, 3)


def test_under_partial_the_pointer_never_leads_to_a_key_that_was_not_listed():
    found = evaluate([call("t", extra=1, id=1)], [call("t", id=2)]).details["difference"]
    assert found["pointer"] == "/id"


def test_unrecorded_arguments_differ_as_a_whole():
    found = evaluate([{"name": "t"}], [call("t", id=1), call("t", id=1)]).details["difference"]
    assert (found["kind"], found["pointer"], found["expected_value"]) == ("arguments", "", {"id": 1})
    assert "actual_value" not in found


# The reason: one sentence per kind

LOOKUP, REFUND = call("lookup_order", order_id=42), call("issue_refund", order_id=42)


def sentence(reason):
    assert reason == reason.strip()
    assert "\n" not in reason
    assert not reason[0].islower()
    assert reason.endswith(".")
    return reason


def says_how_often(reason, *counts):
    words = {0: r"never|not", 1: r"once|one|1\b", 2: r"twice|two|2\b", 3: r"three|3\b", 4: r"four|4\b"}
    return all(re.search(rf"\b(?:{words[count]})", reason) for count in counts)


def test_reason_for_a_call_never_made():
    assert evaluate([REFUND], [LOOKUP, REFUND]).reason == "Expected `lookup_order`; it was never called."
    for match in ("any_order", "superset"):
        assert evaluate([REFUND], [LOOKUP, REFUND], match).reason == "Expected `lookup_order`; it was never called."


@pytest.mark.parametrize("match", MATCHES)
def test_reason_when_no_calls_were_recorded(match):
    reason = sentence(evaluate([], [LOOKUP, REFUND], match).reason)
    assert "no tool calls were recorded" in reason.lower()


@pytest.mark.parametrize("match", ["in_order", "any_order", "superset"])
def test_reason_for_a_repeated_call_says_how_often_it_was_made_and_wanted(match):
    reason = sentence(evaluate([LOOKUP], [LOOKUP] * 3, match).reason)
    assert "`lookup_order`" in reason
    assert says_how_often(reason, 1, 3)


@pytest.mark.parametrize("match", ["exact", "any_order", "subset"])
def test_reason_for_a_call_made_too_often_says_how_often(match):
    reason = sentence(evaluate([LOOKUP] * 4, [LOOKUP] * 2, match).reason)
    assert "`lookup_order`" in reason
    assert says_how_often(reason, 2, 4)


@pytest.mark.parametrize("match", ["exact", "any_order", "subset"])
def test_reason_for_an_unexpected_call(match):
    reason = sentence(evaluate([LOOKUP, REFUND], [LOOKUP], match).reason)
    assert "`issue_refund`" in reason
    assert "expect" in reason.lower()


@pytest.mark.parametrize("match", MATCHES)
def test_reason_when_no_calls_were_expected(match):
    reason = sentence(evaluate([REFUND], [], match).reason)
    assert "`issue_refund`" in reason
    assert re.search(r"\b(no|none)\b", reason, re.IGNORECASE)


def test_reason_for_the_wrong_order_says_what_was_called_before_what():
    reason = sentence(evaluate([REFUND, LOOKUP], [LOOKUP, REFUND]).reason)
    assert "before" in reason or "after" in reason
    first, second = ("issue_refund", "lookup_order") if "before" in reason else ("lookup_order", "issue_refund")
    assert f"`{first}`" in reason
    assert f"`{second}`" in reason


def test_reason_for_another_tool_names_both():
    reason = sentence(evaluate([LOOKUP, REFUND], [LOOKUP, call("send_mail")], "exact").reason)
    assert "`send_mail`" in reason
    assert "`issue_refund`" in reason


@pytest.mark.parametrize("match", MATCHES)
def test_reason_for_an_argument_gives_its_name_and_both_values(match):
    reason = sentence(evaluate([call("lookup_order", order_id=43)], [LOOKUP], match).reason)
    for fact in ("`lookup_order`", "order_id", "42", "43"):
        assert fact in reason


def test_reason_for_a_nested_argument_says_where():
    made, want = call("book", who={"ages": [3, 44]}), call("book", who={"ages": [3, 45]})
    reason = sentence(evaluate([made], [want]).reason)
    for fact in ("`book`", "who", "ages", "1", "44", "45"):
        assert fact in reason


def test_reason_tells_a_string_from_a_number_and_a_boolean():
    for want, made in [("1", 1), (True, "true"), (None, "null"), ("NaN", math.nan)]:
        reason = sentence(evaluate([call("t", x=made)], [call("t", x=want)]).reason)
        assert re.search(r"[\"'“](1|true|null|NaN)[\"'”]", reason)
        assert re.search(r"(?<![\"'“\w])(1|true|null|NaN)(?![\"'”\w])", reason, re.IGNORECASE)


def test_reason_for_a_missing_argument_names_it():
    reason = sentence(evaluate([call("lookup_order")], [LOOKUP]).reason)
    for fact in ("`lookup_order`", "order_id", "42"):
        assert fact in reason


def test_reason_for_an_extra_argument_names_it():
    reason = sentence(evaluate([call("lookup_order", order_id=42, force=True)], [LOOKUP], arguments="exact").reason)
    for fact in ("`lookup_order`", "force"):
        assert fact in reason


@pytest.mark.parametrize("match", MATCHES)
def test_reason_for_unrecorded_arguments_names_the_call(match):
    result = evaluate([REFUND, {"name": "lookup_order"}], [REFUND, LOOKUP], match)
    assert result.verdict == "inconclusive"
    reason = sentence(result.reason)
    assert "`lookup_order`" in reason
    assert "`issue_refund`" not in reason
    assert "argument" in reason
    assert "not recorded" in reason


@pytest.mark.parametrize("match", ["in_order", "superset"])
def test_reason_for_unrecorded_arguments_names_the_call_that_the_answer_depends_on(match):
    """Call 2 could fit as well, but what it would fit is there already."""
    made = [call("a", x=1), {"name": "a"}, {"name": "b"}]
    result = evaluate(made, [call("a", x=1), call("b", y=1)], match)
    assert result.verdict == "inconclusive"
    assert "`b` (call 3)" in sentence(result.reason)
    assert "`a`" not in result.reason


@pytest.mark.parametrize("match", MATCHES)
def test_reason_for_unreadable_arguments_says_so(match):
    reason = sentence(evaluate([{"name": "lookup_order", "arguments": "{oops"}], [LOOKUP], match).reason)
    assert "`lookup_order`" in reason
    assert re.search("unreadable|(can't|cannot|could not) be read", reason)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_every_reason_is_one_clean_line(case):
    for match, arguments in PAIRS:
        reason = evaluate(case["actual"], case["expected"], match, arguments).reason
        assert sentence(reason)
        assert clean(reason)


def test_each_kind_has_a_reason_of_its_own():
    results = {
        "missing": evaluate([call("b")], [call("a")]),
        "unexpected": evaluate([call("a"), call("a")], [call("a")], "exact"),
        "name": evaluate([call("b")], [call("a")], "exact"),
        "order": evaluate([call("b"), call("a")], [call("a"), call("b")]),
        "arguments": evaluate([call("a", x=1)], [call("a", x=2)]),
    }
    assert {kind: result.details["difference"]["kind"] for kind, result in results.items()} == dict(
        zip(results, results, strict=True)
    )
    assert len({result.reason for result in results.values()}) == len(results)


# Hostile names and values

HOSTILE = [
    "\x1b[31mred\x1b[0m",
    "\x1b]8;;http://evil\x07link",
    "a\nb",
    "a\r\nb",
    "a\tb",
    "\x00",
    "\x7f",
    "\x9b31m",
    "\x85",
    "\ud800",
    "x\udfffy",
    "\u2028\u2029",
    "\u202eright to left",
    "`; drop",
]


def clean(reason):
    reason.encode("utf-8")  # fails for a lone surrogate
    return not [char for char in reason if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")]


@pytest.mark.parametrize("hostile", HOSTILE, ids=ascii)
@pytest.mark.parametrize("match", MATCHES)
def test_control_characters_never_reach_a_reason_and_results_always_serialise(hostile, match):
    inputs = [
        ([call("x")], [call(hostile)]),
        ([call(hostile)], [call("x")]),
        ([call(hostile), call("x")], [call("x"), call(hostile)]),
        ([call(hostile)] * 2, [call(hostile)]),
        ([call("t", **{hostile: 1})], [call("t", **{hostile: 2})]),
        ([call("t", v=hostile)], [call("t", v="x")]),
        ([call("t", v={hostile: [hostile]})], [call("t", v="x")]),
        ([call("t", v="x")], [call("t", v=[hostile])]),
        ([{"name": hostile}], [call(hostile, v=1)]),
        ([{"name": hostile, "arguments": hostile}], [call(hostile, v=1)]),
        ([call(hostile)], []),
    ]
    for actual, expected in inputs:
        for result in (
            evaluate(actual, expected, match, "exact"),
            evaluate(json.dumps(actual), json.dumps(expected), match, "exact"),
        ):
            assert clean(result.reason)
            assert_round_trip(result)


def test_control_characters_never_reach_an_error_message():
    key = "\x1b[31m"
    with pytest.raises(CallmatchError) as caught:
        evaluate([call("a", **{key: {1}})], [call("a", **{key: 1})])
    assert clean(str(caught.value))
    with pytest.raises(CallmatchError) as caught:
        ToolCallTrajectory(match=key)
    assert clean(str(caught.value))


@pytest.mark.parametrize(
    "value",
    ["x" * 100_000, ["item"] * 50_000, {"key": "v" * 50_000}, 7 * 10**4000, "é" * 3000, "\U0001f600" * 3000],
    ids=["string", "list", "object", "integer", "accents", "emoji"],
)
def test_long_values_are_cut_and_the_cut_is_marked(value):
    for result in (
        evaluate([call("t", v=value)], [call("t", v=1)]),
        evaluate([call("t", v=1)], [call("t", v=value)]),
    ):
        assert len(result.reason) < 500
        assert "…" in result.reason or "..." in result.reason
        assert sentence(result.reason)
        assert_round_trip(result)


def test_long_names_and_keys_are_cut_too():
    for actual, expected in [
        ([call("n" * 100_000)], [call("m" * 100_000)]),
        ([call("t", **{"k" * 100_000: 1})], [call("t", **{"k" * 100_000: 2})]),
    ]:
        result = evaluate(actual, expected, "exact")
        assert len(result.reason) < 1000
        assert "…" in result.reason or "..." in result.reason


def test_short_values_are_not_cut():
    reason = evaluate([call("t", v="late order")], [call("t", v="early order")]).reason
    assert "late order" in reason
    assert "early order" in reason
    assert "…" not in reason


# Results as data


def assert_round_trip(result):
    again = MetricResult.model_validate_json(result.model_dump_json())
    assert again.model_dump_json() == result.model_dump_json()
    assert (again.name, again.score, again.verdict, again.reason) == (
        result.name,
        result.score,
        result.verdict,
        result.reason,
    )
    assert json.loads(json.dumps(result.model_dump(mode="json")))["verdict"] == result.verdict


SAMPLES = {
    "passed": ([LOOKUP], [LOOKUP]),
    "failed": ([REFUND, call("lookup_order", order_id=[1, {"a": None}])], [LOOKUP, REFUND]),
    "inconclusive": ([{"name": "lookup_order"}], [LOOKUP]),
    "not reported": (None, [LOOKUP]),
    "not applicable": ([LOOKUP], None),
}


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
def test_results_survive_json_pickle_and_copies(sample):
    result = evaluate(*sample, match="any_order")
    assert_round_trip(result)
    assert MetricResult.model_validate_json(result.model_dump_json()) == result
    assert MetricResult.model_validate(result.model_dump()) == result
    assert pickle.loads(pickle.dumps(result)) == result
    assert copy.deepcopy(result) == result


def test_results_are_equal_exactly_when_their_content_is():
    assert evaluate([LOOKUP], [LOOKUP]) == evaluate([LOOKUP], [LOOKUP])
    assert evaluate([LOOKUP], [LOOKUP], "exact") != evaluate([LOOKUP], [LOOKUP])
    assert evaluate([REFUND], [REFUND, LOOKUP]) != evaluate([REFUND], [LOOKUP, REFUND])


ODD = {
    "nan": math.nan,
    "infinity": math.inf,
    "minus infinity": -math.inf,
    "65 bits": 2**64,
    "400 digits": 10**400,
    "5000 digits": 7 * 10**5000,
    "surrogate": "\ud800",
    "surrogate in a list": ["\udfff"],
}


@pytest.mark.parametrize("value", ODD.values(), ids=ODD)
def test_results_with_odd_values_serialise(value):
    for other in (0, None, [value, 1]):
        result = evaluate([call("t", v=value)], [call("t", v=other)])
        assert result.verdict == "failed"
        assert_round_trip(result)
        assert pickle.loads(pickle.dumps(result)).reason == result.reason


def test_results_share_no_set_of_fields():
    one, other = evaluate([LOOKUP], [LOOKUP]), evaluate([LOOKUP], [LOOKUP])
    fields = set(MetricResult.model_fields)
    one.model_fields_set.clear()
    assert other.model_fields_set == fields
    assert evaluate([LOOKUP], [LOOKUP]).model_fields_set == fields


def test_results_cannot_be_changed():
    with pytest.raises(pydantic.ValidationError):
        evaluate([LOOKUP], [LOOKUP]).score = 0.0


def test_unknown_fields_are_refused():
    with pytest.raises(pydantic.ValidationError, match="colour"):
        MetricResult.model_validate(evaluate([LOOKUP], [LOOKUP]).model_dump() | {"colour": "red"})


@pytest.mark.parametrize("verdict", ["pass", "PASSED", "", None, 1])
def test_unknown_verdicts_are_refused(verdict):
    with pytest.raises(pydantic.ValidationError):
        MetricResult.model_validate(evaluate([LOOKUP], [LOOKUP]).model_dump() | {"verdict": verdict})


def test_the_public_face():
    assert callmatch.__version__
    for name in ("CallmatchError", "InvalidInput", "InvalidType", "MetricResult"):
        assert getattr(callmatch, name).__name__ == name
    assert issubclass(callmatch.InvalidInput, CallmatchError)
    assert issubclass(callmatch.InvalidInput, ValueError)
    assert issubclass(callmatch.InvalidType, CallmatchError)
    assert issubclass(callmatch.InvalidType, TypeError)


def test_errors_survive_pickling():
    with pytest.raises(CallmatchError) as caught:
        evaluate([5], [])
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again), again.path) == (type(caught.value), str(caught.value), caught.value.path)


def test_a_metric_survives_pickling():
    metric = pickle.loads(pickle.dumps(ToolCallTrajectory(match="subset", arguments="exact", name="mine")))
    assert (metric.match, metric.arguments, metric.name) == ("subset", "exact", "mine")
    result = metric.evaluate(tool_calls=[LOOKUP], expectations={"tool_calls": [REFUND, LOOKUP]})
    assert (result.verdict, result.name) == ("passed", "mine")


class Labelled(ToolCallTrajectory):
    label: list[str]


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda metric: pickle.loads(pickle.dumps(metric))])
def test_a_metric_of_a_subclass_survives_copying_with_its_class_and_attributes(again):
    metric = again(Labelled(label=["nightly"], match="subset", arguments="exact", name="mine"))
    assert type(metric) is Labelled
    assert (metric.label, metric.match, metric.arguments, metric.name) == (["nightly"], "subset", "exact", "mine")
    result = metric.evaluate(tool_calls=[LOOKUP], expectations={"tool_calls": [REFUND, LOOKUP]})
    assert (result.verdict, result.name) == ("passed", "mine")


# Misspelt words


@pytest.mark.parametrize(
    ("wrong", "nearest"),
    [
        ("inorder", "in_order"),
        ("in order", "in_order"),
        ("Exact", "exact"),
        ("sub_set", "subset"),
        ("anyorder", "any_order"),
    ],
)
def test_a_misspelt_match_lists_the_right_ones_and_the_nearest(wrong, nearest):
    with pytest.raises(CallmatchError, match=rf"did you mean .?{nearest}") as caught:
        ToolCallTrajectory(match=wrong)
    assert all(match in str(caught.value) for match in MATCHES)
    assert wrong in str(caught.value)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(("wrong", "nearest"), [("partail", "partial"), ("ignored", "ignore"), ("EXACT", "exact")])
def test_a_misspelt_arguments_mode_lists_the_right_ones_and_the_nearest(wrong, nearest):
    with pytest.raises(CallmatchError, match=rf"did you mean .?{nearest}") as caught:
        ToolCallTrajectory(arguments=wrong)
    assert all(arguments in str(caught.value) for arguments in ARGUMENTS)


@pytest.mark.parametrize("option", ["match", "arguments"])
@pytest.mark.parametrize("value", [None, 5, True, "", ["exact"], b"exact", "something else entirely"])
def test_other_values_of_an_option_list_the_right_ones(option, value):
    with pytest.raises(CallmatchError) as caught:
        ToolCallTrajectory(**{option: value})
    assert all(word in str(caught.value) for word in {"match": MATCHES, "arguments": ARGUMENTS}[option])


def test_a_name_that_no_text_can_hold_is_refused():
    with pytest.raises(InvalidInput, match="name"):
        ToolCallTrajectory(name="\ud800")


@pytest.mark.parametrize(("wrong", "nearest"), [("mach", "match"), ("argument", "arguments"), ("Name", "name")])
def test_a_misspelt_keyword_of_the_metric_names_the_nearest(wrong, nearest):
    with pytest.raises(CallmatchError, match=rf"did you mean .?{nearest}") as caught:
        ToolCallTrajectory(**{wrong: "exact"})
    assert wrong in str(caught.value)
    assert all(keyword in str(caught.value) for keyword in ("match", "arguments", "name"))


@pytest.mark.parametrize("wrong", ["tool_call", "toolcalls", "tools_calls", "Tool_calls"])
def test_a_misspelt_key_of_the_expectations_names_the_nearest(wrong):
    with pytest.raises(CallmatchError, match=r"did you mean .?tool_calls") as caught:
        ToolCallTrajectory().evaluate(tool_calls=[], expectations={wrong: []})
    assert wrong in str(caught.value)
    with pytest.raises(CallmatchError, match=r"did you mean .?tool_calls"):
        ToolCallTrajectory().evaluate(tool_calls=[], expectations={"tool_calls": [], wrong: []})


@pytest.mark.parametrize(
    ("method", "wrong", "nearest"),
    [
        ("evaluate", {"tool_call": []}, "tool_calls"),
        ("evaluate", {"tool_calls": [], "expectation": {}}, "expectations"),
        ("evaluate_batch", {"tool_calls": [], "expected_tool_call": []}, "expected_tool_calls"),
    ],
)
def test_a_misspelt_keyword_of_a_method_names_the_nearest(method, wrong, nearest):
    with pytest.raises(CallmatchError, match=rf"did you mean .?{nearest}"):
        getattr(ToolCallTrajectory(), method)(**wrong)


def test_everything_is_given_by_keyword():
    for attempt in (
        lambda: ToolCallTrajectory("exact"),
        lambda: ToolCallTrajectory().evaluate([], {"tool_calls": []}),
        lambda: ToolCallTrajectory().evaluate_batch([], []),
    ):
        with pytest.raises(TypeError):
            attempt()


def test_options_of_a_metric_cannot_be_changed_into_wrong_ones():
    metric = ToolCallTrajectory()
    with pytest.raises((AttributeError, CallmatchError, pydantic.ValidationError)):
        metric.match = "inorder"
    assert metric.match == "in_order"


@pytest.mark.parametrize(
    ("score", "verdict"),
    [(0.0, "error"), (1.0, "inconclusive"), ("good", "not_applicable"), (None, "passed"), (None, "failed")]
    + [(score, "passed") for score in (math.nan, math.inf, -math.inf)],
)
def test_a_result_does_not_contradict_itself(score, verdict):
    with pytest.raises(InvalidInput, match="score"):
        MetricResult(name="own", score=score, verdict=verdict, reason="so it was")


def test_passed_follows_from_the_verdict():
    assert MetricResult(name="own", score=1.0, verdict="passed", reason="so it was").passed is True
    with pytest.raises(InvalidInput, match="passed is False where the verdict is failed, not True"):
        MetricResult(name="own", score=0.0, verdict="failed", passed=True, reason="so it was")


def test_details_that_no_file_can_hold_are_refused():
    with pytest.raises(InvalidType, match=r"details\.since: set is not a JSON value"):
        MetricResult(name="own", score=1.0, verdict="passed", reason="so it was", details={"since": {1}})
