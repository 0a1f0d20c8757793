"""The trajectory over a trace: the same as over its tool calls alone."""

import asyncio
import json

import pytest

from answers import answer, consistent
from callmatch import InvalidInput, InvalidType, Trace
from callmatch.metrics import ToolCallTrajectory
from reference import PAIRS
from test_cases import CASES

WHOLE = ["response", "conversation", "run"]
SPANS = ["tool_call", "retrieval", "agent", "llm", "embedding", "rerank", "guardrail", "handoff", "chain"]


def call(name, **more):
    return {"kind": "tool_call", "name": name, "input": {}, **more}


def names(*expected):
    return {"tool_calls": [{"name": name} for name in expected]}


def of_parts(calls):
    return Trace.from_parts(input="Hi", output="Hello", tool_calls=calls)


def of_turns(calls):
    """A turn for each call."""
    reported = Trace.from_parts(tool_calls=calls).spans()
    turns = [{"input": str(n), "spans": [each.model_dump()]} for n, each in enumerate(reported)]
    return Trace.read({"turns": turns or [{"input": "0", "spans": []}]})


def of_sub_agents(calls):
    """Each call in an agent of its own, inside the one before, among spans of other kinds."""
    spans = []
    for n, each in enumerate(Trace.from_parts(tool_calls=calls).spans()):
        spans.append({"kind": "agent", "name": "desk", "id": f"agent {n}", "parent_id": f"agent {n - 1}"})
        spans.append({"kind": "llm", "name": each.name, "parent_id": f"agent {n}"})
        spans.append({**each.model_dump(), "id": f"call {n}", "parent_id": f"agent {n}"})
        spans.append({"kind": "handoff", "name": each.name, "parent_id": f"agent {n}"})
    return Trace.read({"turns": [{"input": "Hi", "spans": spans}]})


def of_several_traces(calls):
    reported = Trace.from_parts(tool_calls=calls).spans()
    cut = (len(reported) + 1) // 2
    halves = [reported[:cut], reported[cut:]]
    return [Trace.read({"turns": [{"input": "Hi", "spans": [each.model_dump() for each in half]}]}) for half in halves]


def of_json(calls):
    return Trace.read_json(
        json.dumps({"turns": [{"spans": [{"kind": "tool_call", **each} for each in plainly(calls)]}]})
    )


def plainly(calls):
    """Name and input of each call, as they were reported."""
    return [{"name": each.name, "input": each.input} for each in Trace.from_parts(tool_calls=calls).spans()]


WAYS = [of_parts, of_turns, of_sub_agents, of_several_traces, of_json]


@pytest.mark.parametrize(("match", "arguments"), PAIRS)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_every_case_over_a_trace(way, match, arguments):
    metric = ToolCallTrajectory(match=match, arguments=arguments)
    for case in CASES:
        if way is of_json and "\\ud" in json.dumps(case["actual"]):
            continue  # half an emoji, which a trace's JSON text can't hold
        expectations = {"tool_calls": case["expected"]}
        plain = metric.evaluate(tool_calls=case["actual"], expectations=expectations)
        trace = way(case["actual"])
        for target in (None, "run") if way is of_parts else (None,):
            result = metric.evaluate(trace=trace, expectations=expectations, target=target)
            assert answer(result) == case["want"][f"{match}/{arguments}"], case["id"]
            assert result.model_dump_json() == plain.model_dump_json(), case["id"]
            assert consistent(result)


@pytest.mark.parametrize("target", WHOLE)
def test_all_targets_that_it_takes_are_the_same_for_it(target):
    trace = of_turns([{"name": "a"}, {"name": "b"}])
    for metric in (ToolCallTrajectory(target=target), ToolCallTrajectory(target={"on": target}), ToolCallTrajectory()):
        result = metric.evaluate(trace=trace, expectations=names("a", "b"), target=target)
        assert (result.verdict, result.score, result.details["made"]) == ("passed", 1.0, 2)


def test_a_trace_as_a_mapping():
    trace = of_parts([{"name": "a"}])
    plain = ToolCallTrajectory().evaluate(trace=trace, expectations=names("a"))
    assert ToolCallTrajectory().evaluate(trace=trace.model_dump(), expectations=names("a")) == plain
    assert ToolCallTrajectory().evaluate(trace=json.loads(trace.model_dump_json()), expectations=names("a")) == plain


# What was made


def test_calls_are_those_of_the_whole_trace_in_their_order():
    spans = [
        {"kind": "agent", "name": "one", "id": "1", "started_at": "2026-01-01T00:00:00Z"},
        call("third", started_at="2026-01-01T00:00:03Z"),
        call("first", parent_id="1", started_at="2026-01-01T00:00:01Z"),
        call("second", parent_id="1", started_at="2026-01-01T00:00:02Z"),
    ]
    trace = Trace.read({"turns": [{"spans": spans}, {"spans": [call("fourth")]}]})
    metric = ToolCallTrajectory(match="exact")
    assert metric.evaluate(trace=trace, expectations=names("first", "second", "third", "fourth")).verdict == "passed"


def test_other_spans_are_no_calls():
    spans = [{"kind": kind, "name": "issue_refund"} for kind in SPANS if kind != "tool_call"]
    result = ToolCallTrajectory().evaluate(trace=Trace.from_parts(spans=spans), expectations=names("issue_refund"))
    assert (result.verdict, result.details["made"]) == ("failed", 0)
    assert result.reason == "Expected `issue_refund`; no tool calls were recorded."


def test_a_failed_call_was_still_made():
    trace = Trace.from_parts(spans=[call("a", status="error", error="it broke")])
    assert ToolCallTrajectory().evaluate(trace=trace, expectations=names("a")).verdict == "passed"


@pytest.mark.parametrize("arguments", [None, {}, {"x": 1}, "oops", [1]])
def test_arguments_of_a_span_are_recorded_or_not_as_those_of_a_call(arguments):
    trace = Trace.read({"turns": [{"spans": [{"kind": "tool_call", "name": "a", "input": arguments}]}]})
    expectations = {"tool_calls": [{"name": "a", "arguments": {"x": 1}}]}
    for match, mode in PAIRS:
        metric = ToolCallTrajectory(match=match, arguments=mode)
        plain = metric.evaluate(tool_calls=[{"name": "a", "arguments": arguments}], expectations=expectations)
        assert metric.evaluate(trace=trace, expectations=expectations) == plain


BOTH = [
    call("search", recorded_as="requested"),
    call("search", recorded_as="executed"),
    call("pay", recorded_as="requested"),
    call("log", recorded_as="executed"),
    call("mail"),
]
"""What a model requested is not what was executed; of the last the log doesn't tell."""


def test_calls_that_were_executed_and_calls_that_were_requested():
    trace = Trace.read({"turns": [{"spans": BOTH}]})
    executed, requested = ["search", "log", "mail"], ["search", "pay", "mail"]
    for options, made in (({}, executed), ({"calls": "executed"}, executed), ({"calls": "requested"}, requested)):
        metric = ToolCallTrajectory(match="exact", **options)
        result = metric.evaluate(trace=trace, expectations=names(*made))
        assert (result.verdict, result.details["made"]) == ("passed", 3)
        other = requested if made == executed else executed
        assert metric.evaluate(trace=trace, expectations=names(*other)).verdict == "failed"


def test_which_calls_count_is_a_word():
    with pytest.raises(InvalidInput, match='did you mean "executed"'):
        ToolCallTrajectory(calls="excuted")
    with pytest.raises(InvalidInput, match="requested"):
        ToolCallTrajectory(calls="both")
    assert ToolCallTrajectory().calls == "executed"


# What was not reported

NOT_REPORTED = [
    Trace(),
    Trace.from_parts(input="Hi", output="Hello"),
    Trace.from_parts(input="Hi", context=["doc"]),
    Trace.read({"turns": [{"input": "Hi", "spans": [call("a")]}, {"input": "and?"}]}),
    [Trace.from_parts(tool_calls=[{"name": "a"}]), Trace.from_parts(input="Hi")],
]


@pytest.mark.parametrize("trace", NOT_REPORTED, ids=["nothing", "no calls", "context alone", "one turn", "one trace"])
def test_what_was_not_reported_is_inconclusive(trace):
    for expected in ([], [{"name": "a"}], [{"name": "b"}]):
        result = ToolCallTrajectory().evaluate(trace=trace, expectations={"tool_calls": expected})
        assert (result.verdict, result.score, result.passed) == ("inconclusive", None, None)
        assert "not reported" in result.reason


def test_reported_as_none_is_judged():
    trace = Trace.from_parts(input="Hi", output="Hello", tool_calls=[])
    assert ToolCallTrajectory().evaluate(trace=trace, expectations=names()).verdict == "passed"
    result = ToolCallTrajectory().evaluate(trace=trace, expectations=names("a"))
    assert (result.verdict, result.reason) == ("failed", "Expected `a`; no tool calls were recorded.")


@pytest.mark.parametrize("expectations", [None, {}, {"tool_calls": None}])
def test_no_expectation_is_not_applicable(expectations):
    for trace in (of_parts([{"name": "a"}]), Trace()):
        result = ToolCallTrajectory().evaluate(trace=trace, expectations=expectations)
        assert (result.verdict, result.score) == ("not_applicable", None)


# What is refused


@pytest.mark.parametrize("on", ["turn", *SPANS])
def test_a_target_that_it_cannot_take_is_refused_with_those_it_can(on):
    metric = ToolCallTrajectory()
    for target in (on, {"on": on}):
        for way in (
            lambda target=target: ToolCallTrajectory(match="exact", target=target),
            lambda target=target: metric.evaluate(trace=Trace(), expectations=names("a"), target=target),
            lambda target=target: metric.evaluate(tool_calls=[], expectations=names("a"), target=target),
            lambda target=target: ToolCallTrajectory.from_config({"target": target}),
        ):
            with pytest.raises(InvalidInput) as raised:
                way()
            assert all(word in str(raised.value) for word in [*WHOLE, on])
            assert "target" in raised.value.path


def test_a_trace_and_its_calls_are_one_too_many():
    with pytest.raises(InvalidInput, match="tool calls") as raised:
        ToolCallTrajectory().evaluate(trace=Trace(), tool_calls=[], expectations=names("a"))
    assert raised.value.path == "tool_calls"


@pytest.mark.parametrize("trace", ["trace", 3, [{"turns": []}], b"{}", [3]])
def test_what_is_no_trace(trace):
    with pytest.raises((InvalidType, InvalidInput)) as raised:
        ToolCallTrajectory().evaluate(trace=trace, expectations=names("a"))
    assert raised.value.path.startswith("trace")


def test_a_misspelt_keyword_gets_the_nearest():
    for bad, near in (("tracee", "trace"), ("targets", "target"), ("expectation", "expectations")):
        with pytest.raises(InvalidType, match=f'did you mean "{near}"'):
            ToolCallTrajectory().evaluate(**{bad: None})


def test_a_span_without_a_name_is_an_error_that_says_which():
    trace = Trace.read({"turns": [{"spans": [call("a"), {"kind": "tool_call", "input": {}}]}]})
    with pytest.raises((InvalidInput, InvalidType)) as raised:
        ToolCallTrajectory().evaluate(trace=trace, expectations=names("a"))
    assert "[1]" in str(raised.value)


# Conversations


def test_a_conversation_in_several_traces_is_that_in_one():
    expectations = {"tool_calls": [{"name": "a", "arguments": {"n": 1}}, {"name": "b"}]}
    parts = [
        Trace.read({"conversation_id": "c", "turns": [{"input": "1", "spans": [call("a", input={"n": 1}, id="x")]}]}),
        Trace.read({"conversation_id": "c", "turns": [{"input": "2", "spans": [call("b", id="x")]}]}),
    ]
    whole = Trace.read({"conversation_id": "c", "turns": [turn.model_dump() for part in parts for turn in part.turns]})
    metric = ToolCallTrajectory(match="exact", target="conversation")
    result = metric.evaluate(trace=whole, expectations=expectations)
    assert result.verdict == "passed"
    assert metric.evaluate(trace=parts, expectations=expectations) == result
    assert metric.evaluate(trace=tuple(parts), expectations=expectations) == result
    assert metric.evaluate(trace=parts[::-1], expectations=expectations).verdict == "failed"
    assert metric.evaluate(trace=parts[:1], expectations=expectations).verdict == "failed"


def test_traces_of_two_conversations_are_refused():
    with pytest.raises(InvalidInput):
        ToolCallTrajectory().evaluate(
            trace=[Trace(conversation_id="a"), Trace(conversation_id="b")], expectations=names("a")
        )


def test_messages_and_the_trace_of_them_come_to_the_same():
    messages = [
        {"role": "user", "content": "Refund order 42"},
        {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "look", "arguments": '{"order": 42}'}}]},
        {"role": "tool", "tool_call_id": "1", "content": "found"},
        {"role": "user", "content": "Yes"},
        {"role": "assistant", "tool_calls": [{"id": "2", "function": {"name": "pay", "arguments": '{"n": 1}'}}]},
    ]
    expectations = {
        "tool_calls": [{"name": "look", "arguments": {"order": 42}}, {"name": "pay", "arguments": {"n": 2}}]
    }
    plain = ToolCallTrajectory().evaluate(tool_calls=messages, expectations=expectations)
    assert plain.verdict == "failed"
    assert ToolCallTrajectory().evaluate(trace=Trace.from_messages(messages), expectations=expectations) == plain


def test_many_results_at_once():
    async def several():
        trace = of_parts([{"name": "a"}])
        return await asyncio.gather(
            *(ToolCallTrajectory().evaluate_async(trace=trace, expectations=names("a")) for _ in range(10))
        )

    assert [result.verdict for result in asyncio.run(several())] == ["passed"] * 10
