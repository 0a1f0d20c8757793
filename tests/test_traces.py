"""Traces, turns and spans: how they are split, ordered, linked, found, written and read."""

import copy
import json
import pickle
import time
from datetime import datetime, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callmatch import CallmatchError, InvalidInput, InvalidType, NotRecorded, Span, Target, Trace, Traces, Turn, resolve
from callmatch.metrics import ToolCallTrajectory, code_metric

KINDS = ["tool_call", "retrieval", "agent", "llm", "embedding", "rerank", "guardrail", "handoff", "chain"]


def span(kind="tool_call", name=None, **more):
    return {"kind": kind, "name": name, **more}


def trace_of(*turns, **more):
    return Trace.read(
        {"turns": [{"input": f"message {i}", "spans": list(spans)} for i, spans in enumerate(turns)], **more}
    )


def names(spans):
    return [each.name for each in spans]


def found(trace, on="tool_call", **target):
    return names(resolve(trace, {"on": on, **target}))


# Turns


def said(role, content, **more):
    return {"role": role, "content": content, **more}


def asks(*calls, content=None):
    called = [{"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}} for id, name in calls]
    return said("assistant", content, tool_calls=called)


def answers(id, content):
    return said("tool", content, tool_call_id=id)


def uses(*blocks):
    return said("assistant", list(blocks))


def text(words):
    return {"type": "text", "text": words}


def use(id, name):
    return {"type": "tool_use", "id": id, "name": name, "input": {}}


def result(id, content, **more):
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


CONVERSATIONS = {
    "nothing": ([], []),
    "a question alone": ([said("user", "Hi")], [("Hi", None, [])]),
    "question and answer": ([said("user", "Hi"), said("assistant", "Hello")], [("Hi", "Hello", [])]),
    "the system says nothing to judge": (
        [said("system", "Be kind."), said("user", "Hi"), said("assistant", "Hello")],
        [("Hi", "Hello", [])],
    ),
    "nor does the developer, also in between": (
        [said("user", "Hi"), said("developer", "Be brief."), said("assistant", "Hello")],
        [("Hi", "Hello", [])],
    ),
    "only the system": ([said("system", "Be kind.")], []),
    "calls of an assistant message without text": (
        [said("user", "Hi"), asks(("1", "search")), answers("1", "found"), said("assistant", "Here")],
        [("Hi", "Here", [("search", "found")])],
    ),
    "calls beside a text, which is not the last": (
        [said("user", "Hi"), asks(("1", "search"), content="Wait"), answers("1", "found"), said("assistant", "Here")],
        [("Hi", "Here", [("search", "found")])],
    ),
    "the last text that says something is the answer": (
        [said("user", "Hi"), said("assistant", "Hello"), said("assistant", " \n"), said("assistant", "")],
        [("Hi", "Hello", [])],
    ),
    "several turns": (
        [
            said("user", "one"),
            asks(("1", "a")),
            answers("1", "A"),
            said("assistant", "first"),
            said("user", "two"),
            asks(("2", "b"), ("3", "c")),
            answers("3", "C"),
            answers("2", "B"),
            said("user", "three"),
            said("assistant", "third"),
        ],
        [("one", "first", [("a", "A")]), ("two", None, [("b", "B"), ("c", "C")]), ("three", "third", [])],
    ),
    "every user message starts a turn": (
        [said("user", "one"), said("user", "two"), said("assistant", "both")],
        [("one", None, []), ("two", "both", [])],
    ),
    "what comes before the first user message": (
        [said("assistant", "Welcome"), said("user", "Hi"), said("assistant", "Hello")],
        [(None, "Welcome", []), ("Hi", "Hello", [])],
    ),
    "calls before the first user message": (
        [asks(("1", "warm_up")), answers("1", "warm"), said("user", "Hi")],
        [(None, None, [("warm_up", "warm")]), ("Hi", None, [])],
    ),
    "results of Anthropic's are no user message": (
        [said("user", "Hi"), uses(use("1", "a")), said("user", [result("1", "A")]), uses(text("done"))],
        [("Hi", "done", [("a", "A")])],
    ),
    "results and a text: the results go back, the text starts a turn": (
        [said("user", "Hi"), uses(use("1", "a")), said("user", [result("1", "A"), text("and?")]), uses(text("done"))],
        [("Hi", None, [("a", "A")]), ("and?", "done", [])],
    ),
    "one call is one span, though it is asked for and answered": (
        [said("user", "Hi"), asks(("1", "a"), ("2", "a")), answers("1", "A1"), answers("2", "A2")],
        [("Hi", None, [("a", "A1"), ("a", "A2")])],
    ),
    "an id that is used again is another call": (
        [said("user", "Hi"), asks(("1", "a")), answers("1", "A"), asks(("1", "b")), answers("1", "B")],
        [("Hi", None, [("a", "A"), ("b", "B")])],
    ),
    "a result that comes a turn later": (
        [said("user", "one"), asks(("1", "a")), said("user", "two"), answers("1", "late"), said("assistant", "ok")],
        [("one", None, [("a", "late")]), ("two", "ok", [])],
    ),
}


@pytest.mark.parametrize("case", CONVERSATIONS)
def test_messages_are_split_into_turns(case):
    messages, want = CONVERSATIONS[case]
    for given_as in (messages, tuple(messages), json.dumps(messages)):
        trace = Trace.from_messages(given_as, id="t-1")
        assert [
            (turn.input, turn.output, [(call.name, call.output) for call in turn.spans("tool_call")])
            for turn in trace.turns
        ] == want
        assert trace.id == "t-1"
        assert all(turn.tool_calls_reported for turn in trace.turns)


def test_a_turn_has_a_trace_of_its_own():
    trace = trace_of([span(name="a")], [span(name="b"), span("retrieval", "docs")])
    first, second = (turn.trace for turn in trace.turns)
    assert (names(first.tool_calls), names(second.tool_calls)) == (["a"], ["b"])
    assert (first.input, second.input) == ("message 0", "message 1")
    assert len(first.turns) == len(second.turns) == 1
    assert names(second.retrievals) == ["docs"]
    assert names(second.spans()) == ["b", "docs"]
    assert [subject.trace for subject in resolve(trace, "turn")] == [first, second]


def test_what_metrics_read():
    trace = trace_of([span(kind=kind, name=f"{kind} {n}") for n in (1, 2) for kind in KINDS])
    for kind in KINDS:
        assert names(trace.spans(kind=kind)) == [f"{kind} 1", f"{kind} 2"]
    assert trace.spans("model") == trace.spans("llm")
    assert names(trace.tool_calls) == ["tool_call 1", "tool_call 2"]
    assert names(trace.retrievals) == ["retrieval 1", "retrieval 2"]
    assert names(trace.agents) == ["agent 1", "agent 2"]
    assert len(trace.spans()) == 2 * len(KINDS)
    with pytest.raises(InvalidInput, match="tool_call"):
        trace.spans("tool_cal")


def test_model_is_another_word_for_llm():
    trace = trace_of([span("model", "gpt")])
    assert trace.spans()[0].kind == "llm"
    assert found(trace, on="model") == found(trace, on="llm") == ["gpt"]
    assert Target(on="model") == Target(on="llm")


# Parts


def test_a_trace_from_parts():
    trace = Trace.from_parts(
        input="Refund order 42",
        output="Refunded.",
        tool_calls=[{"name": "issue_refund", "arguments": {"order": 42}, "output": "ok", "status": "ok", "id": "c1"}],
        context=["the policy", "the law"],
    )
    (turn,) = trace.turns
    assert (turn.input, turn.output, trace.input, trace.output) == ("Refund order 42", "Refunded.") * 2
    (call,) = trace.tool_calls
    assert (call.name, call.arguments, call.output, call.status, call.id) == (
        "issue_refund",
        {"order": 42},
        "ok",
        "ok",
        "c1",
    )
    assert [retrieval.output for retrieval in trace.retrievals] == [["the policy", "the law"]]
    assert trace.context == ["the policy", "the law"]


@pytest.mark.parametrize("parts", [{}, {"input": "Hi", "output": "Hello"}, {"context": ["a"]}, {"tool_calls": None}])
def test_tool_calls_that_nobody_reported(parts):
    assert not Trace.from_parts(**parts).tool_calls_reported


@pytest.mark.parametrize("parts", [{"tool_calls": []}, {"tool_calls": [{"name": "a"}]}, {"spans": []}])
def test_tool_calls_that_were_reported_if_only_as_none(parts):
    assert Trace.from_parts(**parts).tool_calls_reported


def test_a_conversation_whose_calls_were_reported_in_part():
    turns = [{"input": "one", "spans": [span(name="a")]}, {"input": "two"}]
    assert not Trace.read({"turns": turns}).tool_calls_reported
    assert not Trace().tool_calls_reported


# Agents, at any depth

DEEP = [
    span("agent", "desk", id="1"),
    span("tool_call", "first", id="c1", parent_id="1"),
    span("agent", "desk", id="2", parent_id="1"),
    span("tool_call", "second", id="c2", parent_id="2"),
    span("chain", "a step", id="s", parent_id="2"),
    span("agent", "desk", id="3", parent_id="s"),
    span("tool_call", "third", id="c3", parent_id="3"),
    span("chain", "another step", id="s2", parent_id="3"),
    span("tool_call", "fourth", id="c4", parent_id="s2"),
    span("tool_call", "outside", id="c5"),
]
"""Three sub-agents deep, and they have one name."""


def test_sub_agents_of_one_name_three_deep():
    trace = trace_of(DEEP)
    assert found(trace, within="desk") == ["first", "second", "third", "fourth"]
    assert [subject.id for subject in resolve(trace, {"on": "agent", "within": "desk"})] == ["2", "3"]
    assert [subject.id for subject in resolve(trace, {"on": "agent", "name": "desk"})] == ["1", "2", "3"]
    assert found(trace) == ["first", "second", "third", "fourth", "outside"]
    assert {each.id: each.agent for each in trace.spans()} == {
        **dict.fromkeys(["c1", "2", "c2", "s", "3", "c3", "s2", "c4"], "desk"),
        "1": None,
        "c5": None,
    }


def test_sub_agents_of_three_names():
    renamed = [
        each | {"name": {"1": "outer", "2": "middle", "3": "inner"}.get(each["id"], each["name"])} for each in DEEP
    ]
    trace = trace_of(renamed)
    assert found(trace, within="outer") == ["first", "second", "third", "fourth"]
    assert found(trace, within="middle") == ["second", "third", "fourth"]
    assert found(trace, within="inner") == ["third", "fourth"]
    assert found(trace, within="Inner") == found(trace, within="a step") == found(trace, within="nobody") == []
    assert found(trace, within="middle", name="third") == ["third"]
    assert found(trace, on="agent", within="outer") == ["middle", "inner"]
    assert found(trace, on="chain", within="inner") == ["another step"]
    assert {each.id: each.agent for each in trace.spans("tool_call")} == {
        "c1": "outer",
        "c2": "middle",
        "c3": "inner",
        "c4": "inner",
        "c5": None,
    }


@pytest.mark.parametrize(
    "order", [DEEP[::-1], DEEP[5:] + DEEP[:5], DEEP[::2] + DEEP[1::2]], ids=["back", "cut", "dealt"]
)
def test_parents_that_come_later(order):
    trace = trace_of(order)
    assert sorted(found(trace, within="desk")) == ["first", "fourth", "second", "third"]
    assert [each.id for each in trace.spans()] == [each["id"] for each in order]


def test_agents_reach_over_turns_and_into_the_trace_of_one():
    trace = trace_of(DEEP[:3], DEEP[3:6], DEEP[6:])
    assert found(trace, within="desk") == ["first", "second", "third", "fourth"]
    assert [found(turn.trace, within="desk") for turn in trace.turns] == [["first"], ["second"], ["third", "fourth"]]
    again = Trace.read_json(trace.model_dump_json())
    assert found(again, within="desk") == ["first", "second", "third", "fourth"]
    assert [found(turn.trace, within="desk") for turn in again.turns] == [["first"], ["second"], ["third", "fourth"]]


def test_turns_of_a_trace_in_another_one_keep_the_agents_around_them():
    outer = [span("agent", "outer", id="1"), span("agent", "inner", id="2", parent_id="1")]
    trace = trace_of(outer, [span(name="a", parent_id="2")], [span(name="b", parent_id="1")])
    for part in (Trace(turns=trace.turns[1:]), trace.model_copy(update={"turns": trace.turns[1:]})):
        assert (found(part, within="outer"), found(part, within="inner")) == (["a", "b"], ["a"])


def test_an_agent_that_only_the_spans_name():
    trace = trace_of(
        [span(name="a", agent="desk"), span(name="b"), span("agent", "desk"), span("handoff", "h", agent="desk")]
    )
    assert found(trace, within="desk") == ["a"]
    assert found(trace, on="handoff", within="desk") == ["h"]


def test_an_agent_without_a_name():
    trace = trace_of([span("agent", id="1"), span(name="a", parent_id="1")])
    assert trace.tool_calls[0].agent is None
    assert found(trace, within="None") == []


def test_parents_that_are_missing():
    trace = trace_of(
        [
            span(name="a", parent_id="gone"),
            span("agent", "desk", id="1", parent_id="gone too"),
            span(name="b", parent_id="1"),
        ]
    )
    assert found(trace) == ["a", "b"]
    assert found(trace, within="desk") == ["b"]


CIRCLES = {
    "itself": [span("agent", "desk", id="1", parent_id="1"), span(name="a", id="2", parent_id="2")],
    "two": [span("agent", "desk", id="1", parent_id="2"), span(name="a", id="2", parent_id="1")],
    "two, and one beside": [
        span(name="b", id="3", parent_id="1"),
        span("agent", "desk", id="1", parent_id="2"),
        span(name="a", id="2", parent_id="1"),
    ],
    "a long one": [span("agent", f"agent {i}", id=str(i), parent_id=str((i + 1) % 500)) for i in range(500)],
    "a long one the other way": [
        span("agent", f"agent {i}", id=str(i), parent_id=str((i - 1) % 500)) for i in range(500)
    ],
}


@pytest.mark.parametrize("case", CIRCLES)
def test_parents_in_a_circle(case):
    trace = trace_of(CIRCLES[case])
    assert [each.id for each in trace.spans()] == [each["id"] for each in CIRCLES[case]]
    for kind in KINDS:
        resolve(trace, {"on": kind, "within": "desk"})
    assert Trace.read_json(trace.model_dump_json()).model_dump() == trace.model_dump()


def test_in_a_circle_what_is_inside_an_agent_stays_inside():
    # The first of the circle counts as having no parent.
    assert found(trace_of(CIRCLES["two"]), within="desk") == ["a"]
    assert found(trace_of(CIRCLES["two, and one beside"]), within="desk") == ["b", "a"]
    assert found(trace_of(CIRCLES["itself"]), on="agent", within="desk") == []
    # Wherever one comes into it from.
    tail = [
        span(name="b", parent_id="2"),
        span("agent", "desk", id="1", parent_id="2"),
        span(name="a", id="2", parent_id="1"),
    ]
    assert found(trace_of(tail), within="desk") == ["b", "a"]
    assert trace_of(tail).agents[0].agent is None


def test_ids_that_are_there_twice():
    spans = [
        span("agent", "one", id="x"),
        span("agent", "two", id="x"),
        span(name="a", id="y", parent_id="x"),
        span(name="b", id="y", parent_id="x"),
    ]
    trace = trace_of(spans)
    assert names(trace.spans()) == ["one", "two", "a", "b"]
    assert sorted(found(trace, within="one") + found(trace, within="two")) == ["a", "b"]


def test_spans_without_ids_are_told_apart():
    trace = trace_of([span(name="same", input={})] * 3)
    assert len(trace.spans()) == 3
    assert [(subject.index, subject.id) for subject in resolve(trace, "tool_call")] == [(0, None), (1, None), (2, None)]


def test_turns_that_number_their_spans_anew():
    first = [span("agent", "one", id="1"), span(name="a", id="2", parent_id="1")]
    second = [span("agent", "two", id="1"), span(name="b", id="2", parent_id="1")]
    trace = trace_of(first, second)
    assert [each.agent for each in trace.tool_calls] == ["one", "two"]
    assert (found(trace, within="one"), found(trace, within="two")) == (["a"], ["b"])
    assert [found(turn.trace, within="two") for turn in trace.turns] == [[], ["b"]]


# Any parents at all, held against the rules as plainly as possible


def parents_of(spans):
    """The place of each span's parent, or None. A circle is cut at its first span."""
    parents = []
    for each in spans:
        places = [i for i, other in enumerate(spans) if other["id"] is not None and other["id"] == each["parent_id"]]
        parents.append(places[0] if places else None)
    for start in range(len(spans)):
        place, walked = parents[start], [start]
        while place is not None and place not in walked:
            walked.append(place)
            place = parents[place]
        if place == start == min(walked):
            parents[start] = None
    return parents


def agents_of(spans, parents, place):
    """The names of the agents around a span, the nearest first."""
    around, place = [], parents[place]
    while place is not None:
        if spans[place]["kind"] == "agent":
            around.append(spans[place]["name"])
        place = parents[place]
    return around


kinds = st.sampled_from(["agent", "tool_call", "chain"])
ids = st.sampled_from([None, "a", "b", "c", "d", "e"])
parent_ids = st.sampled_from([None, "a", "b", "c", "d", "e", "missing"])
some_names = st.sampled_from(["A", "B", "C"])
any_spans = st.lists(
    st.fixed_dictionaries({"id": ids, "parent_id": parent_ids, "kind": kinds, "name": some_names}), max_size=10
)
spans_of_one_id_each = st.lists(
    st.fixed_dictionaries({"id": ids, "parent_id": parent_ids, "kind": kinds, "name": some_names}),
    max_size=10,
    unique_by=lambda each: each["id"] if each["id"] is not None else object(),
)
any_cuts = st.lists(st.integers(0, 10), max_size=3)


def in_turns(spans, cuts):
    numbered = [{**each, "attributes": {"n": n}} for n, each in enumerate(spans)]
    edges = [0, *sorted(min(cut, len(spans)) for cut in cuts), len(spans)]
    return [numbered[start:end] for start, end in pairwise(edges)]


def numbers(spans):
    return [each.attributes["n"] for each in spans]


@given(any_spans, any_cuts)
def test_no_span_is_lost_whatever_the_parents(spans, cuts):
    turns = in_turns(spans, cuts)
    trace = trace_of(*turns)
    assert numbers(trace.spans()) == list(range(len(spans)))
    assert [numbers(turn.spans()) for turn in trace.turns] == [
        [each["attributes"]["n"] for each in turn] for turn in turns
    ]
    for kind in ("agent", "tool_call", "chain"):
        assert numbers(subject.span for subject in resolve(trace, kind)) == [
            n for n, each in enumerate(spans) if each["kind"] == kind
        ]
        for within in "ABC":
            target = {"on": kind, "within": within}
            of_turns = [subject.span for turn in trace.turns for subject in resolve(turn.trace, target)]
            assert numbers(of_turns) == numbers(subject.span for subject in resolve(trace, target))


@given(spans_of_one_id_each, any_cuts)
def test_what_is_inside_an_agent(spans, cuts):
    trace = trace_of(*in_turns(spans, cuts))
    parents = parents_of(spans)
    around = [agents_of(spans, parents, place) for place in range(len(spans))]
    assert [each.agent for each in trace.spans()] == [agents[0] if agents else None for agents in around]
    for kind in ("agent", "tool_call", "chain"):
        for within in (None, "A", "B", "C"):
            for name in (None, "A"):
                subjects = resolve(trace, {"on": kind, "within": within, "name": name})
                want = [
                    place
                    for place, each in enumerate(spans)
                    if each["kind"] == kind
                    and (within is None or within in around[place])
                    and (name is None or each["name"] == name)
                ]
                assert numbers(subject.span for subject in subjects) == want
                assert [subject.index for subject in subjects] == list(range(len(want)))


# Order

NOON = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)


def at(seconds):
    return (NOON + timedelta(seconds=seconds)).isoformat()


def test_spans_are_in_the_order_in_which_they_started():
    trace = trace_of(
        [span(name="c", started_at=at(3)), span(name="a", started_at=at(1)), span(name="b", started_at=at(2))]
    )
    assert names(trace.spans()) == found(trace) == ["a", "b", "c"]


def test_the_order_of_the_log_where_not_all_say_when_they_started():
    trace = trace_of([span(name="c", started_at=at(3)), span(name="a", started_at=at(1)), span(name="b")])
    assert names(trace.spans()) == ["c", "a", "b"]


def test_the_order_is_that_of_each_turn():
    trace = trace_of(
        [span(name="b", started_at=at(9)), span(name="a", started_at=at(8))],
        [span(name="d", started_at=at(2)), span(name="c", started_at=at(1))],
        [span(name="z"), span(name="y", started_at=at(0))],
    )
    assert names(trace.spans()) == ["a", "b", "c", "d", "z", "y"]


def test_time_zones_count_and_without_one_it_is_utc():
    trace = trace_of(
        [
            span(name="third", started_at="2026-01-01T12:00:02+00:00"),
            span(name="first", started_at="2026-01-01T12:00:00"),
            span(name="second", started_at="2026-01-01T14:00:01+02:00"),
        ]
    )
    assert names(trace.spans()) == ["first", "second", "third"]


def test_what_started_at_the_same_time_stays_in_order_and_parents_come_first():
    spans = [
        span(name="x", parent_id="2"),
        span("agent", "inner", id="2", parent_id="1"),
        span("agent", "outer", id="1"),
    ]
    assert names(trace_of([each | {"started_at": at(0)} for each in spans]).spans()) == ["outer", "inner", "x"]
    same = [span(name=name, started_at=at(0)) for name in "dacb"]
    assert names(trace_of(same).spans()) == list("dacb")


@given(st.permutations(range(8)), st.lists(st.integers(0, 3), min_size=8, max_size=8))
def test_any_times(order, seconds):
    spans = [span(name=str(n), started_at=at(seconds[n])) for n in order]
    assert names(trace_of(spans).spans()) == [str(n) for n in sorted(order, key=lambda n: (seconds[n], order.index(n)))]


# What metrics see of a subject


def test_a_retrieval_without_a_query_has_the_input_of_its_turn():
    trace = trace_of(
        [span("retrieval", "docs", output=["a"]), span("retrieval", "docs", input="a query", output=["b"])],
        [span("retrieval", "docs", output=["c"])],
    )
    assert [subject.input for subject in resolve(trace, "retrieval")] == ["message 0", "a query", "message 1"]
    assert [each.input for each in trace.retrievals] == [None, "a query", None]
    reported = Trace.from_parts(input="What is the policy?", context=["the policy"])
    assert [subject.input for subject in resolve(reported, "retrieval")] == ["What is the policy?"]


@pytest.mark.parametrize("kind", KINDS)
def test_only_a_tool_call_or_a_handoff_without_an_output_has_an_empty_one(kind):
    (subject,) = resolve(trace_of([span(kind, "it", input={"x": 1})]), kind)
    assert subject.output == ("" if kind in ("tool_call", "handoff") else None)
    assert subject.input == {"x": 1}
    (subject,) = resolve(trace_of([span(kind, "it", output=0)]), kind)
    assert subject.output == 0


def test_a_handoff():
    spans = [
        span("agent", "triage", id="1"),
        span("handoff", "billing", id="h", parent_id="1", input={"to": "billing"}),
        span("agent", "billing", id="2"),
        span(name="issue_refund", parent_id="2", output="ok"),
    ]
    trace = trace_of(spans)
    (subject,) = resolve(trace, "handoff")
    assert (subject.name, subject.id, subject.input, subject.output) == ("billing", "h", {"to": "billing"}, "")
    assert subject.span.agent == "triage"
    assert found(trace, on="handoff", within="triage", name="billing") == ["billing"]
    # Who was handed over to is beside the one who did, and not inside it.
    assert found(trace, within="triage") == []
    assert found(trace, within="billing") == ["issue_refund"]


def test_what_a_subject_holds():
    trace = trace_of([span(name="a", id="x", input={"k": 1}, output="out")], [span("llm", "gpt", output="words")])
    trace = Trace.read(
        {**trace.model_dump(), "turns": [turn.model_dump() | {"output": "answer"} for turn in trace.turns]}
    )
    (call,) = resolve(trace, "tool_call")
    assert (call.on, call.index, call.id, call.name) == ("tool_call", 0, "x", "a")
    assert (call.input, call.output, call.trace, call.turn) == ({"k": 1}, "out", trace, trace.turns[0])
    assert call.span == trace.tool_calls[0]
    first, second = resolve(trace, "turn")
    assert (first.input, first.output, first.index, second.index) == ("message 0", "answer", 0, 1)
    assert (second.turn, second.trace, second.span) == (trace.turns[1], trace.turns[1].trace, None)
    (response,) = resolve(trace)
    assert (response.on, response.input, response.output, response.trace) == ("response", "message 1", "answer", trace)
    for on in ("conversation", "run"):
        (whole,) = resolve(trace, on)
        assert (whole.on, whole.index, whole.trace, whole.span) == (on, 0, trace, None)


def test_resolving_has_no_limit_and_changes_nothing():
    trace = trace_of([span(name=str(n)) for n in range(40)])
    before = trace.model_dump_json()
    assert found(trace) == [str(n) for n in range(40)]
    assert resolve(trace, "tool_call") == resolve(trace, Target(on="tool_call"))
    assert trace.model_dump_json() == before


def test_only_a_trace_can_be_resolved():
    for other in ({}, [], None, "trace"):
        with pytest.raises(InvalidType):
            resolve(other, "turn")


# A conversation in one trace and in several


def turn_data(n, **more):
    spans = [
        span("agent", "desk", id="1"),
        span("retrieval", "docs", id="2", parent_id="1", output=[f"document {n}"]),
        span(name=f"call {n}", id="3", parent_id="1", input={"n": n}),
        span(name="outside", id="4"),
    ]
    return {"input": f"question {n}", "output": f"answer {n}", "spans": spans, **more}


ONE = Trace.read({"id": "t", "conversation_id": "c", "turns": [turn_data(n) for n in range(4)]})
PARTS = [Trace.read({"id": f"t{n}", "conversation_id": "c", "turns": [turn_data(n)]}) for n in range(4)]
HALVES = [Trace.read({"conversation_id": "c", "turns": [turn_data(n), turn_data(n + 1)]}) for n in (0, 2)]
ALSO = [{"within": "desk"}, {"name": "call 1"}, {"name": "docs", "within": "desk"}]


def seen(trace, target):
    return [subject[:6] for subject in resolve(trace, target)]


@pytest.mark.parametrize("several", [PARTS, HALVES, [ONE]], ids=["turns", "halves", "whole"])
def test_a_conversation_in_several_traces_is_the_same_as_in_one(several):
    joined = Trace.joined(several)
    assert [turn.input for turn in joined.turns] == [f"question {n}" for n in range(4)]
    assert joined.messages == ONE.messages
    assert (joined.input, joined.output, joined.context) == (ONE.input, ONE.output, ONE.context)
    assert joined.conversation_id == "c"
    assert names(joined.tool_calls) == names(ONE.tool_calls)
    for target in [
        "response",
        "turn",
        "conversation",
        "run",
        *({"on": k, **more} for k in KINDS for more in [{}, *ALSO]),
    ]:
        assert seen(joined, target) == seen(ONE, target), target


@pytest.mark.parametrize("several", [PARTS, HALVES], ids=["turns", "halves"])
def test_metrics_take_a_conversation_in_several_traces(several):
    @code_metric(target="conversation")
    def asked(trace):
        return len(trace.turns) == 4 and trace.output == "answer 3"

    assert asked.evaluate(trace=several) == asked.evaluate(trace=ONE)
    assert asked.evaluate(trace=several).verdict == "passed"
    for target in ("turn", {"on": "tool_call", "within": "desk"}, "retrieval"):
        metric = code_metric(target=target)(even)
        assert metric.evaluate(trace=several) == metric.evaluate(trace=ONE)
        assert metric.evaluate(trace=several).details["found"] == 4
    expectations = {"tool_calls": [{"name": f"call {n}", "arguments": {"n": n}} for n in range(4)]}
    trajectory = ToolCallTrajectory(target="conversation")
    assert trajectory.evaluate(trace=several, expectations=expectations) == trajectory.evaluate(
        trace=ONE, expectations=expectations
    )


def even(input, output):
    return "1" not in json.dumps([input, output])


def test_the_spans_of_joined_traces_keep_to_their_own():
    # The ids are the same, but the agents are others.
    first = trace_of([span("agent", "one", id="1"), span(name="a", parent_id="1")])
    second = trace_of([span("agent", "two", id="1"), span(name="b", parent_id="1")])
    joined = Trace.joined([first, second])
    assert (found(joined, within="one"), found(joined, within="two")) == (["a"], ["b"])
    again = Trace.read_json(joined.model_dump_json())
    assert (found(again, within="one"), found(again, within="two")) == (["a"], ["b"])


def test_traces_that_are_not_of_one_conversation_are_refused():
    with pytest.raises(InvalidInput, match="conversation"):
        Trace.joined([Trace(conversation_id="a"), Trace(conversation_id="b")])
    with pytest.raises(InvalidInput):
        Trace.joined([])
    with pytest.raises(InvalidType):
        Trace.joined([{"turns": []}])


def test_stored_traces(tmp_path):
    file = tmp_path / "runs" / "conversations.jsonl"
    file.parent.mkdir()
    lines = [*PARTS, Trace.read({"id": "other", "test_id": "refunds", "turns": [turn_data(9)]})]
    file.write_text("".join(trace.model_dump_json() + "\n" for trace in lines), encoding="utf-8")
    (file.parent / "single.json").write_text(Trace(turns=(Turn(input="Hi"),)).model_dump_json(), encoding="utf-8")
    traces = Traces(file.parent)
    assert traces.pull("t2") == PARTS[2]
    assert traces.pull("t0") == PARTS[0]
    assert traces.ids() == ["t0", "t1", "t2", "t3", "other", "single"]
    assert traces.for_test("refunds").id == "other"
    assert traces.conversation("c").messages == ONE.messages
    assert [trace.id for trace in traces] == ["t0", "t1", "t2", "t3", "other", None]
    assert len(traces) == 6
    assert traces.diagnostics == []
    with pytest.raises(InvalidInput, match="'other'"):
        traces.pull("othr")
    assert Trace.from_file(file.parent / "single.json").input == "Hi"


def test_a_line_that_is_no_trace_is_told_and_the_others_are_read(tmp_path):
    file = tmp_path / "runs.jsonl"
    file.write_text(f'{PARTS[0].model_dump_json()}\n{{"turnz": []}}\n\n{PARTS[1].model_dump_json()}', encoding="utf-8")
    traces = Traces(file)
    assert traces.ids() == ["t0", "t1"]
    assert len(traces.diagnostics) == 1
    assert f"{file}:2" in traces.diagnostics[0]
    assert "turns" in traces.diagnostics[0]


# Writing and reading

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.integers(-(10**40), 10**40) | st.floats() | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
times = st.none() | st.datetimes(timezones=st.sampled_from([timezone.utc, timezone(timedelta(hours=-3, minutes=-30))]))
maybe = st.none() | words
spans_of_any_kind = st.fixed_dictionaries(
    {"kind": st.sampled_from(KINDS)},
    optional={
        "id": ids,
        "parent_id": ids,
        "name": maybe,
        "agent": maybe,
        "input": json_values,
        "output": json_values,
        "status": maybe,
        "error": maybe,
        "started_at": times,
        "ended_at": times,
        "recorded_as": st.sampled_from(["requested", "executed", "both"]),
        "attributes": st.dictionaries(words, json_values, max_size=2),
    },
)
any_turns = st.fixed_dictionaries(
    {},
    optional={
        "input": json_values,
        "output": json_values,
        "spans": st.lists(spans_of_any_kind, max_size=4),
        "tool_calls_reported": st.booleans(),
    },
)
any_traces = st.fixed_dictionaries(
    {"turns": st.lists(any_turns, max_size=3)},
    optional={
        "id": maybe,
        "conversation_id": maybe,
        "test_id": maybe,
        "attributes": st.dictionaries(words, json_values),
    },
)


@given(any_traces)
def test_a_trace_is_read_as_it_was_written(data):
    trace = Trace.read(data)
    written = trace.model_dump_json()
    again = Trace.read_json(written)
    assert again.model_dump_json() == written
    assert plainly(again) == plainly(trace)
    assert plainly(Trace.read(trace.model_dump())) == plainly(trace)
    assert Trace.read(json.loads(written)).model_dump_json() == written
    for kind in KINDS:
        agents = {agent.name for agent in trace.agents if agent.name}
        for target in [{"on": kind}, *({"on": kind, "within": name} for name in agents)]:
            assert repr(seen_plainly(again, target)) == repr(seen_plainly(trace, target))


def plainly(trace):
    return repr(trace.model_dump(mode="json"))  # which tells 1 from 1.0, and takes NaN for equal


def seen_plainly(trace, target):
    return [(subject.index, subject.id, subject.input, subject.output) for subject in resolve(trace, target)]


def test_equal_traces_are_equal_whatever_was_asked_of_them():
    first, second = trace_of(DEEP), trace_of(DEEP)
    assert first == second
    first.tool_calls, first.turns[0].trace, first.spans(), first.messages
    assert first == second
    assert Trace.read_json(first.model_dump_json()) == second
    assert trace_of(DEEP[:-1]) != second
    for other in (copy.copy(first), copy.deepcopy(first), first.model_copy(), pickle.loads(pickle.dumps(first))):
        assert other == second
        assert found(other, within="desk") == ["first", "second", "third", "fourth"]


def test_traces_are_frozen():
    trace = trace_of([span(name="a")])
    for thing, field in [(trace, "id"), (trace.turns[0], "input"), (trace.spans()[0], "name"), (Target(), "on")]:
        with pytest.raises((AttributeError, TypeError, ValueError)):
            setattr(thing, field, "another")
        with pytest.raises((AttributeError, TypeError, ValueError)):
            delattr(thing, field)
    assert isinstance(trace.turns, tuple)
    assert isinstance(trace.spans(), tuple)


def test_what_it_was_made_of_can_change_without_changing_it():
    spans = [span(name="a", id="1")]
    data = {"turns": [{"input": "Hi", "spans": spans}]}
    trace = Trace.read(data)
    spans.append(span(name="b"))
    data["turns"].clear()
    assert names(trace.spans()) == ["a"]


def test_a_lone_surrogate_is_refused_or_written_as_what_can_be_read():
    # Providers send them as escapes; half of an emoji is what is left of a text that was cut.
    for way in (
        lambda: Trace.from_parts(input="half \ud83d", tool_calls=[]),
        lambda: Trace.from_parts(tool_calls=[{"name": "a", "arguments": {"text": "half \ud83d"}}]),
        lambda: Trace.from_parts(tool_calls=[{"name": "a", "output": "half \ud83d"}]),
        lambda: Trace.from_messages('[{"role": "user", "content": "half \\ud83d"}]'),
        lambda: Trace.read({"turns": [{"input": "half \ud83d"}]}),
        lambda: Trace.read({"attributes": {"half \ud83d": 1}}),
        lambda: Trace.read_json('{"turns": [{"input": "half \\ud83d"}]}'),
    ):
        try:
            trace = way()
        except CallmatchError:
            continue
        written = trace.model_dump_json()
        assert Trace.read_json(written).model_dump_json() == written
        assert "half" in written


# Errors

WRONG = [
    ({"turnz": []}, InvalidInput, "turnz", "turns"),
    ({"turns": [{"inputt": "Hi"}]}, InvalidInput, "turns[0].inputt", "input"),
    ({"turns": [{}, {"span": []}]}, InvalidInput, "turns[1].span", "spans"),
    (
        {"turns": [{"spans": [{"kind": "tool_call"}, {"kind": "tol_call"}]}]},
        InvalidInput,
        "turns[0].spans[1].kind",
        "tool_call",
    ),
    ({"turns": [{"spans": [{"kind": "llm", "nme": "x"}]}]}, InvalidInput, "turns[0].spans[0].nme", "name"),
    (
        {"turns": [{"spans": [{"kind": "llm", "recorded_as": "request"}]}]},
        InvalidInput,
        "turns[0].spans[0].recorded_as",
        "requested",
    ),
    ({"turns": [{"spans": [{"name": "x"}]}]}, InvalidType, "turns[0].spans[0].kind", "missing"),
    ({"turns": [{"spans": [{"kind": "llm", "name": 3}]}]}, InvalidType, "turns[0].spans[0].name", "string"),
    ({"turns": [{"spans": [{"kind": 3}]}]}, InvalidType, "turns[0].spans[0].kind", "tool_call"),
    (
        {"turns": [{"spans": [{"kind": "llm", "started_at": "soon"}]}]},
        InvalidInput,
        "turns[0].spans[0].started_at",
        "soon",
    ),
    ({"turns": [{"spans": ["tool_call"]}]}, InvalidType, "turns[0].spans[0]", "mapping"),
    ({"turns": [{"spans": "tool_call"}]}, InvalidType, "turns[0].spans", "list"),
    ({"turns": {}}, InvalidType, "turns", "list"),
    ({"turns": [3]}, InvalidType, "turns[0]", "mapping"),
    ({"id": 3}, InvalidType, "id", "string"),
    ({"attributes": []}, InvalidType, "attributes", "mapping"),
    ([], InvalidType, "", "mapping"),
    (None, InvalidType, "", "mapping"),
    ({"turns": [{"input": {1, 2}}]}, InvalidType, "turns[0].input", "set"),
    (
        {"turns": [{"spans": [{"kind": "llm", "input": {"since": NOON}}]}]},
        InvalidType,
        "turns[0].spans[0].input.since",
        "datetime",
    ),
]


@pytest.mark.parametrize(
    ("data", "kind", "path", "word"), WRONG, ids=lambda value: value if isinstance(value, str) else ""
)
def test_an_error_says_where_and_what_would_be_right(data, kind, path, word):
    with pytest.raises(kind) as raised:
        Trace.read(data)
    assert (raised.value.path, word in str(raised.value)) == (path, True), str(raised.value)
    assert isinstance(raised.value, CallmatchError)
    with pytest.raises(kind) as raised:
        Trace.read(data, "runs[3]")
    assert raised.value.path == (f"runs[3].{path}" if path else "runs[3]")
    assert str(raised.value).startswith(raised.value.path)
    if word not in ("set", "datetime"):
        with pytest.raises(kind) as raised:
            Trace.read_json(json.dumps(data), "runs.jsonl:4")
        assert str(raised.value).startswith("runs.jsonl:4")
        assert word in str(raised.value)


def test_a_misspelt_word_gets_the_nearest():
    for bad, near in (("turnz", "turns"), ("conversation", "conversation_id")):
        with pytest.raises(InvalidInput, match=f'did you mean "{near}"'):
            Trace.read({bad: []})
    with pytest.raises(InvalidType, match='did you mean "turns"'):
        Trace(turnz=())
    with pytest.raises(InvalidType, match='did you mean "started_at"'):
        Span(kind="llm", start_at=NOON)
    with pytest.raises(InvalidInput, match='did you mean "retrieval"'):
        Span(kind="retrievall")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"turns": [}', b"\xff\xfe{}", '{"turns": []} x'])
def test_text_that_is_no_trace(text):
    with pytest.raises(CallmatchError) as raised:
        Trace.read_json(text, "runs.jsonl:4")
    assert str(raised.value).startswith("runs.jsonl:4")


def test_deep_values_are_an_error_and_no_crash():
    deep = "[" * 100_000 + "]" * 100_000
    with pytest.raises(CallmatchError):
        Trace.read_json(f'{{"turns": [{{"input": {deep}}}]}}')
    value = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(CallmatchError):
        Trace.read({"turns": [{"input": value}]})
    with pytest.raises(CallmatchError):
        Trace.from_parts(input=value)
    circle = []
    circle.append(circle)
    with pytest.raises(CallmatchError):
        Trace.read({"turns": [{"input": circle}]})
    with pytest.raises(CallmatchError):
        Trace.from_parts(output=circle)


@pytest.mark.parametrize(
    ("parts", "path"),
    [
        ({"tool_calls": [{"name": "a"}, {"nam": "b"}]}, "tool_calls[1]"),
        ({"tool_calls": "oops"}, "tool_calls"),
        ({"context": "one text"}, "context"),
        ({"context": [["a"], "b"]}, "context"),
        ({"spans": [{"kind": "llm"}, {"kind": "lm"}]}, "spans[1].kind"),
        ({"input": {1}}, "input"),
        ({"output": object()}, "output"),
        ({"tool_calls": [{"name": "a", "output": {"since": {1}}}]}, "tool_calls[0].output.since"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_parts_that_cannot_be(parts, path):
    with pytest.raises(CallmatchError) as raised:
        Trace.from_parts(**parts)
    assert raised.value.path.startswith(path)
    assert path in str(raised.value)


# Size

MANY = 10_000
FEWER = 3_000  # still deeper than Python recurses


def flat(count):
    return [span(["tool_call", "llm"][n % 2], f"tool {n % 7}", id=str(n)) for n in range(count)]


def deep(count):
    """Each inside the one before it, and every other one is an agent."""
    return [span(["agent", "tool_call"][n % 2], f"name {n % 7}", id=str(n), parent_id=str(n - 1)) for n in range(count)]


def backwards(count):
    return deep(count)[::-1]


def circle(count):
    spans = deep(count)
    spans[0]["parent_id"] = str(count - 1)
    return spans


def lasso(count):
    """A long way into a circle, from its far end."""
    spans = circle(count // 2)
    tail = [span("agent", "tail", id=f"t{n}", parent_id=f"t{n + 1}") for n in range(count // 2)]
    tail[-1]["parent_id"] = "7"
    return tail + spans


def pairs(count):
    """Circles of two."""
    return [span("agent", "pair", id=str(n), parent_id=str(n ^ 1)) for n in range(count)]


def one_id(count):
    return [span("agent", "same", id="x", parent_id="x") for _ in range(count)]


SHAPES = [flat, deep, backwards, circle, lasso, pairs, one_id]
TARGETS = ["turn", "tool_call", {"on": "tool_call", "within": "name 2"}, {"on": "agent", "within": "nobody"}, "run"]


def seconds(work, times=2):
    took = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        took.append(time.perf_counter() - start)
    return min(took)


def read_and_resolve(spans):
    trace = trace_of(spans)
    assert len(trace.spans()) == len(spans)
    for target in TARGETS:
        resolve(trace, target)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_ten_thousand_spans_take_ten_times_as_long_as_one_thousand(shape):
    few, many = shape(MANY // 10), shape(MANY)
    one = seconds(lambda: read_and_resolve(few), times=4)
    ten = seconds(lambda: read_and_resolve(many))
    assert ten < 40 * one  # ten times, and room for a busy machine; a quadratic cost would be a hundred times
    assert ten < 2


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_resolving_alone_is_quick(shape):
    trace = trace_of(shape(MANY))
    for target in TARGETS:
        assert seconds(lambda target=target: resolve(trace, target)) < 0.2  # 20 ms are meant; room for a busy machine


def test_many_turns():
    few, many = (
        [{"input": str(n), "spans": [span(name="a", id=str(n))]} for n in range(count)] for count in (300, 3000)
    )
    one = seconds(lambda: resolve(Trace.read({"turns": few}), "turn"))
    ten = seconds(lambda: resolve(Trace.read({"turns": many}), "turn"))
    assert ten < 40 * one


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_a_large_trace_can_be_compared_copied_and_written(shape):
    trace, other = trace_of(shape(FEWER)), trace_of(shape(FEWER))
    assert trace == other
    assert repr(trace)
    assert Trace.read_json(trace.model_dump_json()) == trace
    assert copy.deepcopy(trace) == trace
    assert pickle.loads(pickle.dumps(trace)) == trace


# What a review found


def test_a_call_that_is_a_span_too_counts_once():
    trace = Trace.from_parts(
        tool_calls=[{"id": "c1", "name": "a"}, {"id": "c2", "name": "b"}, {"name": "a"}],
        spans=[{"id": "c1", "kind": "tool_call", "name": "a", "output": "known"}, {"id": "c2", "kind": "agent"}],
    )
    assert [(call.id, call.output) for call in trace.tool_calls] == [("c2", None), (None, None), ("c1", "known")]


def test_a_time_that_can_not_be_read_is_kept_and_loses_nothing():
    read = {"name": "a", "start_time": "2026-11-30T12:00:00Z"}
    calls = [read, {"name": "b", "start_time": "10:00", "end_time": 1e20}]
    first, second = Trace.from_parts(tool_calls=calls).tool_calls
    assert first.started_at.year == 2026
    assert (second.started_at, second.ended_at) == (None, None)
    assert second.attributes == {"started_at": "10:00", "ended_at": 1e20}


def test_a_conversation_that_was_joined_is_the_same_when_it_is_read_back():
    first = Trace(turns=[{"spans": [{"id": "1", "kind": "agent", "name": "A"}, named_call("x", "1")]}])
    second = Trace(turns=[{"spans": [named_call("y", "1"), named_call("z", "nowhere")]}])
    joined = Trace.joined([first, second])
    again = Trace.read_json(joined.model_dump_json())
    for trace in (joined, again):
        assert [found.name for found in resolve(trace, {"on": "tool_call", "within": "A"})] == ["x"]
    assert again == joined
    # What is alone keeps what it was told.
    assert Trace.joined([second]).spans()[0].parent_id == "1"


def named_call(name, parent_id):
    return {"kind": "tool_call", "name": name, "parent_id": parent_id}


@pytest.mark.parametrize("spans", [5, "abc", {"kind": "llm"}, b"x"])
def test_spans_that_are_no_list(spans):
    with pytest.raises(InvalidType, match="spans: expected a list of spans"):
        Trace.from_parts(spans=spans)


def test_what_python_writes_as_json_is_read_back():
    half = Trace.read_json(json.dumps({"turns": [{"input": "half \ud83d", "spans": []}]}))
    assert half.input == "half \ud83d"
    deep = {}
    for _ in range(230):
        deep = {"a": deep}
    trace = Trace.from_parts(tool_calls=[{"name": "a", "arguments": deep}])
    assert Trace.read_json(trace.model_dump_json()) == trace


def test_an_integer_of_many_digits_is_read_back():
    trace = Trace.from_parts(tool_calls=[{"name": "a", "arguments": {"n": 10**5000}}])
    assert Trace.read_json(trace.model_dump_json()) == trace


def test_a_path_that_is_too_long_to_read_is_cut():
    deep = "x"
    for _ in range(300):
        deep = {"a": deep}
    with pytest.raises(CallmatchError) as raised:
        Trace.read({"turns": [{"input": deep, "spans": []}]})
    assert "nests too deeply" in str(raised.value)
    assert len(str(raised.value)) < 400


def test_unknown_calls_are_an_error_and_not_none():
    with pytest.raises(NotRecorded, match="not reported"):
        _ = Trace.from_parts(output="x").tool_calls
    assert Trace.from_parts(output="x").spans("tool_call") == ()
    assert Trace.from_parts(tool_calls=[]).tool_calls == ()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"kind": "llm", "input": {1}}, "input: set is not a JSON value"),
        ({"kind": "llm", "attributes": []}, "attributes: expected a mapping, got list"),
        ({"kind": "llm", "started_at": "noon"}, "started_at: input should be a valid datetime"),
    ],
)
def test_errors_name_the_keyword_once(options, said):
    with pytest.raises(CallmatchError) as raised:
        Span(**options)
    assert str(raised.value).startswith(said)
