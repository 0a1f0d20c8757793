"""What each metric says of each target: verdict, score, counts and words."""

import asyncio
import json
import re

import pytest

import make_targets
from callmatch import InvalidInput, InvalidType, MetricResult, Target, Trace, resolve
from callmatch.metrics import (
    CategoricalJudge,
    ConversationalJudge,
    Metric,
    NumericJudge,
    ToolCallTrajectory,
    code_metric,
)

LINES = [json.loads(line) for line in make_targets.FILE.read_text(encoding="utf-8").splitlines()]
VERDICT = {"P": "passed", "F": "failed", "-": "inconclusive", "!": "error"}
KINDS = ["tool_call", "retrieval", "agent", "llm", "embedding", "rerank", "guardrail", "handoff", "chain"]
WHOLE = ["response", "conversation", "run"]


# The metrics, each of which says of a subject what the letter in its output says


def no_verdict():
    return MetricResult(name="own", score=None, verdict="inconclusive", passed=None, reason="nobody knows")


def as_bool(letter):
    return {"P": lambda: True, "F": lambda: False, "-": no_verdict}[letter]()  # a crash is a KeyError


def as_number(letter):
    return {"P": lambda: 0.75, "F": lambda: 0.25, "-": no_verdict}[letter]()


def code_bool(output):
    return as_bool(output)


def code_number(output):
    return as_number(output)


def code_bool_of_trace(trace):
    return as_bool(trace.output)


def code_number_of_trace(trace):
    return as_number(trace.output)


FUNCTIONS = {each.__name__: each for each in (code_bool, code_number, code_bool_of_trace, code_number_of_trace)}


class Answers:
    """A model that has its answers ready, one after the other."""

    def __init__(self, letters, categorical=False):
        self.categorical = categorical
        self.left = [letter for letter in letters if letter != "-"]  # of which it is not asked

    async def __call__(self, prompt):
        letter = self.left.pop(0)
        if letter == "!":
            raise RuntimeError("the model is away")
        if self.categorical:
            return {"reason": "so it was", "category": {"P": "good", "F": "bad"}[letter]}
        return {"reason": "so it was", "score": {"P": 0.75, "F": 0.25}[letter]}


ONE_BY_ONE = {"attempts": 1, "max_concurrency": 1}
JUDGED = {"evaluation_prompt": "It is right.", **ONE_BY_ONE}


def metric_of(kind, letters, **options):
    """A metric of the kind that says this of the subjects, one after the other."""
    if kind in FUNCTIONS:
        threshold = {"threshold": 0.5} if "number" in kind else {}
        return code_metric(**threshold, **options)(FUNCTIONS[kind])
    if kind == "tool_call_trajectory":
        return ToolCallTrajectory(**options)
    if kind == "categorical_judge":
        categories = {"categories": ["good", "bad"], "passing_categories": ["good"]}
        return CategoricalJudge(name=kind, model=Answers(letters, categorical=True), **categories, **JUDGED, **options)
    options = {"threshold": 0.5, "model": Answers(letters), **options}
    if kind == "conversational_judge":
        return ConversationalJudge(**ONE_BY_ONE, **options)
    return NumericJudge(name=kind, needs_reference=kind == "judge_with_reference", **JUDGED, **options)


def by_a_config(metric, letters):
    """The same metric, made out of its config as text."""
    objects = {}
    if isinstance(metric, (NumericJudge, CategoricalJudge, ConversationalJudge)):
        objects["model"] = Answers(letters, categorical=isinstance(metric, CategoricalJudge))
    return Metric.from_config(json.loads(json.dumps(metric.config)), **objects)


# The traces


def output_of(metric, letter):
    """What was put out. A judge has no verdict where that was not recorded."""
    return None if letter == "-" and metric in make_targets.JUDGES else letter


def trace_of_turns(line):
    outputs = [output_of(line["metric"], letter) for letter in line["subjects"]]
    if "turns" in line:  # the last one is what the whole comes to
        outputs = ["earlier"] * (line["turns"] - 1) + outputs
    turns = [{"input": f"message {i}", "output": output} for i, output in enumerate(outputs)]
    return Trace.read({"turns": turns})


def trace_of_calls(line):
    """For the trajectory: with the call that it asks for last, or without it, or unreported."""
    letter, count = line["subjects"], line["turns"]
    names = ["search"] * (count - 1) + ["issue_refund" if letter == "P" else "search"] * (count > 0)
    turns = [
        {"input": "message", "output": "answer"}
        | ({} if letter == "-" else {"spans": [{"kind": "tool_call", "name": name, "input": {}}]})
        for name in names
    ]
    return Trace.read({"turns": turns or [{"input": "message", "output": "answer", "spans": []}]})


def trace_of_spans(line):
    """With other spans around those that the target finds, some of which differ from them in one respect only."""
    target = line["target"]
    on, name, within = target["on"], target.get("name"), target.get("within")
    inner = {"parent_id": "inner"} if within else {}
    turns = [{"input": "first", "output": "done", "spans": []}, {"input": "second", "output": "done", "spans": []}]
    if within:
        turns[0]["spans"] += [
            {"kind": "agent", "id": "outer", "name": within},  # which is not inside itself
            {"kind": "llm" if on == "chain" else "chain", "id": "inner", "parent_id": "outer", "name": name},
            {"kind": "agent", "id": "elsewhere", "name": "another desk"},
            {"kind": on, "id": "other-place", "parent_id": "elsewhere", "name": name, "output": "!"},
            {"kind": on, "id": "no-place", "name": name, "output": "!"},
        ]
    for index, letter in enumerate(line["subjects"]):
        turn = turns[2 * index // max(len(line["subjects"]), 2)]
        another = "llm" if on == "chain" else "chain"
        turn["spans"].append({"kind": another, "id": f"noise-{index}", "name": name, "output": "!", **inner})
        if name:
            turn["spans"].append({"kind": on, "name": f"{name}, but another one", "output": "!", **inner})
            turn["spans"].append({"kind": on, "output": "!", **inner})
        subject = {"kind": on, "id": f"subject-{index}", "name": line["names"][index % len(line["names"])], **inner}
        turn["spans"].append(subject | {"input": {"n": index}, "output": output_of(line["metric"], letter)})
    return Trace.read({"turns": turns})


def trace_of(line):
    if line["metric"] == "tool_call_trajectory":
        return trace_of_calls(line)
    return trace_of_spans(line) if line["target"]["on"] in KINDS else trace_of_turns(line)


def given(line):
    expectations = {"tool_calls": [{"name": "issue_refund"}]}
    return {
        "tool_call_trajectory": {"expectations": expectations},
        "judge_with_reference": {"expected_output": "what is right"},
    }.get(line["metric"], {})


# Every line


def check(result, line):
    want, on, letters = line["want"], line["target"]["on"], line["subjects"]
    assert (result.verdict, result.score) == (want["verdict"], want["score"])
    assert result.passed == {"passed": True, "failed": False}.get(want["verdict"])
    assert result.reason == want["reason"] if want.get("whole") else result.reason.startswith(want["reason"])
    assert len(result.reason) > len(want["reason"]) or want.get("whole") or want["reason"].endswith(".")
    assert all(word in result.reason for word in want.get("mentions", ()))
    assert result.details["reason"] == result.reason
    if on in WHOLE or not letters:
        assert result.spans == []
        return

    keys = ["found", "judged", "passed", "failed", "without_verdict", "first_failed"]
    assert [result.details[key] for key in keys] == want["counts"]
    judged = want["counts"][1]
    assert [span["verdict"] for span in result.spans] == [VERDICT[letter] for letter in letters[:judged]]
    for index, (span, letter) in enumerate(zip(result.spans, letters, strict=False)):
        assert set(span) == {"index", "id", "name", "score", "verdict", "reason"}
        assert span["index"] == index
        assert span["id"] == (f"subject-{index}" if on in KINDS else None)
        assert span["name"] == line["names"][index % len(line["names"])]
        assert span["score"] == make_targets.own_score(line["metric"], letter)
        assert span["reason"]
    if want["verdict"] == "failed" and result.details["first_failed"] is not None:
        assert result.reason.endswith(result.spans[result.details["first_failed"]]["reason"])
    MetricResult.model_validate_json(result.model_dump_json())


@pytest.mark.parametrize("line", [line for line in LINES if "refused" not in line["want"]], ids=lambda line: line["id"])
def test_every_line(line):
    trace, letters = trace_of(line), line["subjects"]
    options = line.get("options", {})
    metric = metric_of(line["metric"], letters, target=line["target"], **options)
    result = metric.evaluate(trace=trace, **given(line))
    check(result, line)

    # The target of a metric, or the one given to evaluate
    metric = metric_of(line["metric"], letters, **options)
    assert metric.evaluate(trace=trace, target=line["target"], **given(line)) == result

    metric = by_a_config(metric_of(line["metric"], letters, target=line["target"], **options), letters)
    if line["metric"] != "tool_call_trajectory":
        assert asyncio.run(metric.evaluate_async(trace=trace, **given(line))) == result
    else:
        assert metric.evaluate(trace=trace, **given(line)) == result


@pytest.mark.parametrize("line", [line for line in LINES if "refused" in line["want"]], ids=lambda line: line["id"])
def test_every_refusal(line):
    metric = metric_of(line["metric"], "")
    trace = Trace.from_parts(input="Hi", output="Hello", tool_calls=[])
    target = line["target"]
    ways = [
        lambda: metric_of(line["metric"], "", target=target),
        lambda: metric_of(line["metric"], "", target=Target.of(target)),
        lambda: Metric.from_config({**metric.config, "target": target}),
        lambda: setattr(metric, "config", {**metric.config, "target": target}),
        lambda: metric.evaluate(trace=trace, target=target, **given(line)),
    ]
    if line["metric"] != "tool_call_trajectory":
        ways.append(lambda: asyncio.run(metric.evaluate_async(trace=trace, target=target)))
    before = metric.config
    for way in ways:
        with pytest.raises(InvalidInput) as raised:
            way()
        message = str(raised.value)
        assert "target" in raised.value.path
        # Every target that it can take is named, and no other than the one refused.
        named = [on for on in [*WHOLE, "turn", *KINDS] if re.search(rf"\b{on}\b", message)]
        refused = line["want"]["refused"]
        if "mean" in refused:
            assert all(word in message for word in refused)
        else:
            assert sorted(named) == sorted([*refused, target["on"]])
    assert metric.config == before


def test_the_table_is_what_the_rules_give():
    assert make_targets.FILE.read_text(encoding="utf-8") == "".join(make_targets.lines())


def test_the_table_has_every_metric_with_every_target():
    found = {(line["metric"], line["target"]["on"]) for line in LINES}
    assert found == {(metric, on) for metric in make_targets.TAKES for on in make_targets.ALL}


# By hand


def judged(letters, target="tool_call", names=("issue_refund",), **options):
    """The result of a code metric that says this of the tool calls."""
    calls = [{"name": names[i % len(names)], "output": letter} for i, letter in enumerate(letters)]
    return code_metric(target=target, **options)(says).evaluate(input="Hi", output="Done", tool_calls=calls)


def says(output):
    """Says of a tool call what its output says."""
    reasons = {"P": "it was right", "F": "it was wrong", "-": "nobody knows"}
    verdict = {"P": "passed", "F": "failed", "-": "inconclusive"}[output]
    score = {"P": 1.0, "F": 0.0, "-": None}[output]
    return MetricResult(name="own", score=score, verdict=verdict, reason=reasons[output])


REASONS = {
    "P": "1 of 1 tool calls passed",
    "PPP": "3 of 3 tool calls passed",
    "PFP": "2 of 3 tool calls passed; the first that failed is `issue_refund`, tool call 2: it was wrong",
    "FFF": "0 of 3 tool calls passed; the first that failed is `issue_refund`, tool call 1: it was wrong",
    "P-P": "2 of 2 tool calls passed (1 without a verdict left out)",
    "P-F": "1 of 2 tool calls passed (1 without a verdict left out); "
    "the first that failed is `issue_refund`, tool call 3: it was wrong",
    "---": "None of 3 tool calls got a verdict; the first is `issue_refund`, tool call 1: nobody knows",
    "PPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPP": "25 of 25 tool calls passed (the first 25 of 40 were judged)",
    "P-PPPPPPPPPPPPPPPPPPPPPPFPFFFFFFFFFFFFFF": "23 of 24 tool calls passed "
    "(the first 25 of 40 were judged; 1 without a verdict left out); "
    "the first that failed is `issue_refund`, tool call 25: it was wrong",
    "!PF-": "1 of 2 tool calls passed (2 without a verdict left out); "
    "the first that failed is `issue_refund`, tool call 3: it was wrong",
}


@pytest.mark.parametrize("letters", REASONS)
def test_reasons(letters):
    result = judged(letters)
    assert result.reason == result.details["reason"] == REASONS[letters]


AGGREGATES = [
    ("any", "FPF", "passed", 1 / 3, "1 of 3 tool calls passed"),
    ("any", "FF", "failed", 0.0, "0 of 2 tool calls passed; the first that failed is `issue_refund`, tool call 1: it "
     "was wrong"),
    ("majority", "PPF", "passed", 2 / 3, "2 of 3 tool calls passed"),
    ("majority", "PF", "failed", 0.5, "1 of 2 tool calls passed (more than half must); the first that failed is "
     "`issue_refund`, tool call 2: it was wrong"),
    ("majority", "P-F-", "failed", 0.5, "1 of 2 tool calls passed (more than half must) (2 without a verdict left "
     "out); the first that failed is `issue_refund`, tool call 3: it was wrong"),
    (0.8, "PPPPF", "passed", 0.8, "4 of 5 tool calls passed"),
    (0.8, "PPF", "failed", 2 / 3, "2 of 3 tool calls passed (a share of 0.8 must); the first that failed is "
     "`issue_refund`, tool call 3: it was wrong"),
    (1, "PF", "failed", 0.5, "1 of 2 tool calls passed (a share of 1 must); the first that failed is `issue_refund`, "
     "tool call 2: it was wrong"),
    (0.6, "PPPFF", "passed", 0.6, "3 of 5 tool calls passed"),
    (0.01, "FFFFFFFFFF", "failed", 0.0, "0 of 10 tool calls passed (a share of 0.01 must); the first that failed is "
     "`issue_refund`, tool call 1: it was wrong"),
]  # fmt: skip


@pytest.mark.parametrize(("aggregate", "letters", "verdict", "score", "reason"), AGGREGATES)
def test_aggregates(aggregate, letters, verdict, score, reason):
    result = judged(letters, {"on": "tool_call", "aggregate": aggregate})
    assert (result.verdict, result.score, result.reason) == (verdict, score, reason)


@pytest.mark.parametrize("count", range(1, 25))
def test_a_share_that_is_written_is_the_share_that_counts(count):
    # 0.28 is not 7 / 25 exactly, nor is 0.07 * 100 a whole number; at least so many means so many.
    for total in (25, 20, 10):
        if count <= total:
            share = round(count / total, 2)
            letters = "P" * count + "F" * (total - count)
            assert judged(letters, {"on": "tool_call", "aggregate": share}).verdict == "passed"
            if count > 1:
                fewer = "P" * (count - 1) + "F" * (total - count + 1)
                assert judged(fewer, {"on": "tool_call", "aggregate": share}).verdict == "failed"


def amount(output):
    return output


MEANS = [
    # operator, threshold, the scores, verdict, mean, reason
    (">=", 0.8, [0.5], "failed", 0.5, "0 of 1 tool calls passed, with a mean score of 0.5 (>= 0.8 is needed); the "
     "first that failed is `pay`, tool call 1: "),
    (">=", 0.8, [1.0, 0.6], "passed", 0.8, "1 of 2 tool calls passed, with a mean score of 0.8 (>= 0.8 is needed)"),
    ("<=", 3, [5, 1], "passed", 3.0, "1 of 2 tool calls passed, with a mean score of 3 (<= 3 is needed)"),
    ("<", 3, [5, 1], "failed", 3.0, "1 of 2 tool calls passed, with a mean score of 3 (< 3 is needed); the first that "
     "failed is `pay`, tool call 1: "),
    (">", 3, [4, 2], "failed", 3.0, "1 of 2 tool calls passed, with a mean score of 3 (> 3 is needed); the first that "
     "failed is `pay`, tool call 2: "),
    ("=", 2, [1, 3], "passed", 2.0, "0 of 2 tool calls passed, with a mean score of 2 (= 2 is needed)"),
    ("!=", 2, [1, 3], "failed", 2.0, "2 of 2 tool calls passed, with a mean score of 2 (!= 2 is needed)"),
    (">=", 0.5, [-1, 1, None, 2, -4], "failed", -0.5, "2 of 4 tool calls passed, with a mean score of -0.5 (>= 0.5 is "
     "needed) (1 without a verdict left out); the first that failed is `pay`, tool call 1: "),
]  # fmt: skip


@pytest.mark.parametrize(("operator", "threshold", "scores", "verdict", "mean", "reason"), MEANS)
def test_means(operator, threshold, scores, verdict, mean, reason):
    metric = code_metric(threshold=threshold, operator=operator, target={"on": "tool_call", "aggregate": "mean"})(
        amount
    )
    # No output is an empty one, which is no score.
    calls = [{"name": "pay", "output": score} for score in scores]
    result = metric.evaluate(tool_calls=calls)
    assert (result.verdict, result.score) == (verdict, mean)
    assert result.reason.startswith(reason) if reason.endswith(" ") else result.reason == reason


def test_a_mean_of_many_is_exact():
    metric = code_metric(threshold=0.1, target={"on": "tool_call", "aggregate": "mean"})(amount)
    result = metric.evaluate(tool_calls=[{"name": "pay", "output": 0.1}] * 10)
    assert (result.verdict, result.score) == ("passed", 0.1)


def test_the_example_of_the_documentation():
    judge = NumericJudge(
        name="refund_policy",
        evaluation_prompt="The refund matches the policy: at most one refund per order.",
        min_score=0,
        max_score=1,
        threshold=1,
        model=lambda prompt: {"reason": "It is the first.", "score": 1},
    )
    result = judge.evaluate(
        input="Refund order 42",
        output="Refunded.",
        tool_calls=[{"name": "issue_refund", "arguments": {"order": 42}, "output": "ok"}],
        target={"on": "tool_call", "name": "issue_refund"},
    )
    assert result.details["reason"] == "1 of 1 tool calls passed"
    assert (result.verdict, result.score) == ("passed", 1.0)
    assert [(span["index"], span["name"], span["verdict"], span["score"]) for span in result.spans] == [
        (0, "issue_refund", "passed", 1.0)
    ]


@pytest.mark.parametrize("kind", [*KINDS, "turn"])
def test_nothing_found_says_what_is_missing_and_what_would_record_it(kind):
    metric = metric_of("code_bool", "")
    plural = f"{make_targets.NOUN[kind]}s"
    result = metric.evaluate(trace=Trace(), target=kind)
    assert (result.verdict, result.score, result.passed, result.spans) == ("not_applicable", None, None, [])
    sentence = f"No {plural} were recorded."
    assert result.reason.startswith(sentence)
    recorder = {"tool_call": "`tool_calls`", "retrieval": "`context`", "turn": "message"}.get(kind, f"`{kind}`")
    assert recorder in result.reason.removeprefix(sentence)


def test_nothing_of_a_name_says_which_names_there_are():
    metric = metric_of("code_bool", "")
    target = {"on": "tool_call", "name": "issue_refund"}
    result = metric.evaluate(input="Hi", output="P", tool_calls=[], target=target)
    assert result.reason.startswith("No tool calls named `issue_refund` were recorded.")
    calls = [{"name": name, "output": "P"} for name in ("lookup_order", "isue_refund")]
    result = metric.evaluate(input="Hi", output="P", tool_calls=calls, target=target)
    assert result.verdict == "not_applicable"
    assert "`isue_refund`" in result.reason
    assert "`lookup_order`" in result.reason


def test_one_result_with_no_verdict_and_a_crash():
    result = judged("-!")
    assert (result.verdict, result.score) == ("error", None)
    # The second is not the first, but the first of its kind.
    assert result.reason.startswith(
        "None of 2 tool calls got a verdict; the first that crashed is `issue_refund`, tool call 2: "
    )
    assert "KeyError" in result.reason


def test_a_crash_is_the_error_of_its_span_alone():
    result = judged("P!F")
    assert [span["verdict"] for span in result.spans] == ["passed", "error", "failed"]
    assert [span["score"] for span in result.spans] == [1.0, None, 0.0]
    assert "KeyError" in result.spans[1]["reason"]


def test_names_and_reasons_from_a_trace_cannot_write_to_a_terminal():
    def own(output):
        raise ValueError(f"\x1b[31m{output}\n")

    calls = [{"name": "a\x1b[2J\nb", "output": "\x07"}]
    result = code_metric(target="tool_call")(own).evaluate(tool_calls=calls)
    assert not any(character in result.reason for character in "\x1b\n\x07")
    assert not any(character in result.spans[0]["reason"] for character in "\x1b\n\x07")
    assert result.spans[0]["name"] == "a\x1b[2J\nb"  # it is the span's own
    result = code_metric(target={"on": "tool_call", "name": "\x1b[2J"})(own).evaluate(tool_calls=calls)
    assert result.verdict == "not_applicable"
    assert "\x1b" not in result.reason
    result = code_metric(own).evaluate(output="\x1b[31m")
    assert result.verdict == "error"
    assert "\x1b" not in result.reason


@pytest.mark.parametrize("on", ["tool_call", "handoff"])
@pytest.mark.parametrize("kind", ["numeric_judge", "categorical_judge", "code_bool"])
def test_a_tool_call_without_an_output_is_judged_with_an_empty_result(kind, on):
    seen = []

    def own(output):
        seen.append(output)
        return True

    trace = Trace.read({"turns": [{"spans": [{"kind": on, "name": "it"}]}]})
    metric = code_metric(own) if kind == "code_bool" else metric_of(kind, "P")
    result = metric.evaluate(trace=trace, target=on)
    assert (result.verdict, result.details["passed"]) == ("passed", 1)
    assert seen == ([""] if kind == "code_bool" else [])


@pytest.mark.parametrize("kind", ["numeric_judge", "categorical_judge"])
@pytest.mark.parametrize("on", ["response", "turn", *[kind for kind in KINDS if kind not in ("tool_call", "handoff")]])
def test_a_judge_is_not_asked_about_an_output_that_was_not_recorded(kind, on):
    turn = {"input": "Hi", "spans": [] if on in ("response", "turn") else [{"kind": on}]}
    result = metric_of(kind, "").evaluate(trace=Trace.read({"turns": [turn]}), target=on)
    assert (result.verdict, result.score) == ("inconclusive", None)


def test_a_judge_that_needs_a_reference_without_one():
    judge = metric_of("judge_with_reference", "")
    result = judge.evaluate(input="Hi", output="Hello")
    assert (result.verdict, result.score) == ("not_applicable", None)
    assert "expected_output" in result.reason


def test_what_a_span_or_turn_is_held_to():
    """To the goal, the instructions and the restrictions, but not to the expected output."""
    asked = []

    def model(prompt):
        asked.append(prompt)
        return {"reason": "so it was", "score": 1}

    judge = NumericJudge(name="own", evaluation_prompt="It is right.", model=model, max_concurrency=1)
    held_to = {
        "expected_output": "the-expected-output",
        "goal": "the-goal",
        "instructions": "the-instructions",
        "restrictions": "the-restrictions",
    }
    trace = Trace.read(
        {"turns": [{"input": "Hi", "output": "Hello", "spans": [{"kind": k, "output": "x"} for k in KINDS]}]}
    )
    for on in ("response", "turn", *KINDS):
        asked.clear()
        assert judge.evaluate(trace=trace, target=on, **held_to).verdict == "passed"
        assert len(asked) == 1
        for word in ("the-goal", "the-instructions", "the-restrictions"):
            assert word in asked[0]
        assert ("the-expected-output" in asked[0]) == (on == "response")


def test_a_code_metric_gets_the_expected_output_for_the_response_alone():
    seen = []

    def own(output, expected_output="nothing"):
        seen.append(expected_output)
        return True

    metric = code_metric(own)
    trace = Trace.read(
        {"turns": [{"input": "Hi", "output": "Hello", "spans": [{"kind": k, "output": "x"} for k in KINDS]}]}
    )
    metric.evaluate(trace=trace, expected_output="what is right")
    assert seen == ["what is right"]
    for on in ("turn", *KINDS):
        seen.clear()
        metric.evaluate(trace=trace, expected_output="what is right", target=on)
        assert seen[0] != "what is right", on


# Targets that can't be

BAD_TARGETS = [
    ("tool_cal", "on", "tool_call"),
    ("Turn", "on", "turn"),
    ("", "on", "response"),
    ({"on": "retrievals"}, "on", "retrieval"),
    ({"onn": "turn"}, "onn", "on"),
    ({"on": "tool_call", "nme": "x"}, "nme", "name"),
    ({"on": "tool_call", "inside": "x"}, "inside", "within"),
    ({"on": "turn", "name": "x"}, "name", "turn"),
    ({"on": "response", "within": "x"}, "within", "response"),
    ({"on": "conversation", "name": "x"}, "name", "conversation"),
    ({"on": "run", "within": "x"}, "within", "run"),
    ({"name": "x"}, "name", "response"),
    ({"on": "response", "aggregate": "any"}, "aggregate", "response"),
    ({"on": "conversation", "aggregate": 0.5}, "aggregate", "conversation"),
    ({"on": "turn", "aggregate": "most"}, "aggregate", "majority"),
    ({"on": "turn", "aggregate": "0.8"}, "aggregate", "0.8"),
    ({"on": "turn", "aggregate": 0}, "aggregate", "0"),
    ({"on": "turn", "aggregate": -0.1}, "aggregate", "-0.1"),
    ({"on": "turn", "aggregate": 1.1}, "aggregate", "1.1"),
    ({"on": "turn", "aggregate": 80}, "aggregate", "80"),
    ({"on": "turn", "aggregate": float("nan")}, "aggregate", "nan"),
    ({"on": "turn", "aggregate": True}, "aggregate", "majority"),
    ({"on": "turn", "aggregate": None}, "aggregate", "majority"),
    ({"on": 3}, "on", "tool_call"),
    ({"on": "tool_call", "name": 3}, "name", "string"),
    ({"on": "tool_call", "within": ["x"]}, "within", "string"),
    (3, "", "tool_call"),
    (["turn"], "", "on"),
]


@pytest.mark.parametrize(("target", "path", "word"), BAD_TARGETS)
def test_targets_that_cannot_be(target, path, word):
    metric = metric_of("code_bool", "")
    trace = Trace.from_parts(input="Hi", output="P", tool_calls=[])
    ways = [
        lambda: Target.of(target),
        lambda: resolve(trace, target),
        lambda: metric_of("code_bool", "", target=target),
        lambda: Metric.from_config({**metric.config, "target": target}),
        lambda: metric.evaluate(trace=trace, target=target),
    ]
    for way in ways:
        with pytest.raises((InvalidInput, InvalidType)) as raised:
            way()
        where = f"target.{path}" if path else "target"
        assert raised.value.path.endswith(where), raised.value.path
        assert word in str(raised.value)


@pytest.mark.parametrize("most", [0, -1, 1.5, "many", None])
def test_how_many_are_judged_at_most(most):
    with pytest.raises((InvalidInput, InvalidType), match="max_spans"):
        code_metric(max_spans=most)(code_bool)
    with pytest.raises((InvalidInput, InvalidType), match="max_spans"):
        NumericJudge(name="own", evaluation_prompt="It is right.", max_spans=most)


# What can be given


def test_a_trace_and_parts_of_one_are_one_too_many():
    trace = Trace.from_parts(input="Hi", output="P")
    for parts in ({"input": "Hi"}, {"output": "P"}, {"tool_calls": []}, {"context": ["x"]}, {"messages": []}):
        with pytest.raises(InvalidInput) as raised:
            metric_of("code_bool", "").evaluate(trace=trace, **parts)
        assert raised.value.path in parts
    with pytest.raises(InvalidInput):
        metric_of("code_bool", "").evaluate(messages=[], input="Hi")


def test_a_misspelt_keyword_gets_the_nearest():
    for bad, near in (("outputs", "output"), ("tool_cals", "tool_calls"), ("targt", "target"), ("gaol", "goal")):
        with pytest.raises(InvalidType, match=f'did you mean "{near}"'):
            metric_of("code_bool", "").evaluate(**{bad: "x"})
        with pytest.raises(InvalidType, match=f'did you mean "{near}"'):
            asyncio.run(metric_of("code_bool", "").evaluate_async(**{bad: "x"}))


def test_parts_messages_and_traces_come_to_the_same():
    messages = [
        {"role": "user", "content": "Refund order 42"},
        {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "pay", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "1", "content": "P"},
        {"role": "assistant", "content": "P"},
    ]
    call = {"id": "1", "name": "pay", "arguments": {}, "output": "P"}
    parts = {"input": "Refund order 42", "output": "P", "tool_calls": [call]}
    trace = Trace.from_messages(messages)
    for target in ("response", "turn", "tool_call", {"on": "tool_call", "name": "pay"}, "retrieval"):
        results = [
            metric_of("code_bool", "", target=target).evaluate(**given)
            for given in (
                parts,
                {"messages": messages},
                {"trace": trace},
                {"trace": [trace]},
                {"trace": trace.model_dump()},
            )
        ]
        assert all(result == results[0] for result in results)
        assert results[0].verdict == ("not_applicable" if target == "retrieval" else "passed")


def test_asynchronous_evaluation_of_the_trajectory():
    trace = Trace.from_parts(tool_calls=[{"name": "issue_refund"}])
    expectations = {"tool_calls": [{"name": "issue_refund"}]}
    metric = ToolCallTrajectory()
    result = asyncio.run(metric.evaluate_async(trace=trace, expectations=expectations))
    assert result == metric.evaluate(trace=trace, expectations=expectations)


def test_it_works_where_an_event_loop_is_running():
    async def within_a_loop():
        judge, trace = metric_of("numeric_judge", "PF"), trace_of_turns({"metric": "numeric_judge", "subjects": "PF"})
        return judge.evaluate(trace=trace, target="turn")

    assert asyncio.run(within_a_loop()).reason.startswith("1 of 2 turns passed")
