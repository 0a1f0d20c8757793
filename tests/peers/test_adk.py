"""Events, eval sets and spans of Google's ADK, of runs with a model that only pretends."""

import asyncio
import json

import pytest

import callmatch

from .calls import asked, calls, in_any_order, one, read_alike, sample

pytest.importorskip("google.adk")

from google.adk.agents import LlmAgent
from google.adk.evaluation.eval_case import get_all_tool_calls
from google.adk.evaluation.eval_set import EvalSet
from google.adk.events import Event
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types


class Pretending(BaseLlm):
    replies: list[list[types.Part]]

    async def generate_content_async(self, llm_request, stream=False):
        yield LlmResponse(content=types.Content(role="model", parts=self.replies.pop(0)))


def call(name, id=None, **arguments):
    return types.Part(function_call=types.FunctionCall(id=id, name=name, args=arguments))


def lookup(order_id: int, deep: dict) -> dict:
    """Look up an order."""
    return {"state": "late"}


def refund(order_id: int, amount: float) -> dict:
    """Refund an order."""
    return {"done": True}


def session(with_ids):
    """The session after a run. Gemini's calls may have no ids, and ADK makes some up then."""
    first, second, third = ("c1", "c2", "c3") if with_ids else (None, None, None)
    replies = [
        [
            types.Part(text="Looking."),
            call("lookup", first, order_id=42, deep={"a": [1, None]}),
            call("refund", second, order_id=1, amount=1.5),
        ],
        [call("refund", third, order_id=2, amount=2.5)],
        [types.Part(text="Done.")],
    ]
    agent = LlmAgent(name="support", model=Pretending(model="fake", replies=replies), tools=[lookup, refund])

    async def run():
        runner = InMemoryRunner(agent=agent, app_name="app")
        made = await runner.session_service.create_session(app_name="app", user_id="user")
        message = types.Content(role="user", parts=[types.Part(text="Refund 42")])
        async for _ in runner.run_async(user_id="user", session_id=made.id, new_message=message):
            pass
        return await runner.session_service.get_session(app_name="app", user_id="user", session_id=made.id)

    return asyncio.run(run())


def theirs(events):
    """By ADK's own types: the calls of the events, with the responses to their ids."""
    responses = {answer.id: answer.response for event in events for answer in event.get_function_responses()}
    return [
        (call.id, call.name, call.args, responses.get(call.id), event.author)
        for event in events
        for call in event.get_function_calls()
    ]


def ours(trace):
    return [(call.id, call.name, call.arguments, call.output, call.agent) for call in trace.tool_calls]


@pytest.mark.parametrize("with_ids", [True, False])
def test_events(with_ids, tmp_path):
    events = session(with_ids).events
    camel = [event.model_dump(mode="json", by_alias=True, exclude_none=True) for event in events]
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in camel), encoding="utf-8")
    for trace in (
        callmatch.from_messages(events),
        callmatch.from_messages(camel),
        callmatch.from_messages([event.model_dump(mode="json") for event in events]),
        callmatch.from_messages([event.model_dump() for event in events]),
        one(tmp_path / "events.jsonl"),
    ):
        assert ours(trace) == theirs(events)
        assert (trace.input, trace.output, len(trace.turns)) == ("Refund 42", "Done.", 1)


@pytest.mark.parametrize("by_alias", [True, False])
def test_a_session(by_alias, tmp_path):
    made = session(True)
    (tmp_path / "session.json").write_text(made.model_dump_json(by_alias=by_alias), encoding="utf-8")
    assert ours(one(tmp_path / "session.json")) == theirs(made.events)


@pytest.mark.parametrize("by_alias", [True, False])
def test_the_id_of_a_session(by_alias, tmp_path):
    made = session(True)
    (tmp_path / "session.json").write_text(made.model_dump_json(by_alias=by_alias), encoding="utf-8")
    trace = one(tmp_path / "session.json")
    assert made.id in (trace.id, trace.conversation_id)


@pytest.fixture(params=["1", "2"])
def version(request, monkeypatch):
    """The format of spans, with what was said in them."""
    monkeypatch.setenv("ADK_TELEMETRY_SCHEMA_VERSION_OPT_IN", request.param)
    monkeypatch.setenv("ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS", "true")
    if request.param == "2":
        monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", "gen_ai_latest_experimental")
        monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "SPAN_ONLY")
    return request.param


def test_spans(version, global_recorder, tmp_path):
    made = session(True)
    trace = read_alike(global_recorder.spans, tmp_path)
    assert [call[1:] for call in ours(trace)] == [call[1:] for call in theirs(made.events)]
    assert trace.conversation_id == made.id
    assert (trace.input, trace.output) == ("Refund 42", "Done.")


def test_spans_of_calls_without_ids(global_recorder, tmp_path, monkeypatch):
    monkeypatch.setenv("ADK_TELEMETRY_SCHEMA_VERSION_OPT_IN", "2")
    monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", "gen_ai_latest_experimental")
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "SPAN_ONLY")
    made = session(False)
    assert asked(read_alike(global_recorder.spans, tmp_path)) == [call[1:3] for call in theirs(made.events)]


def test_older_spans_of_calls_without_ids(global_recorder, tmp_path, monkeypatch):
    monkeypatch.setenv("ADK_TELEMETRY_SCHEMA_VERSION_OPT_IN", "1")
    made = session(False)
    assert [call[1:] for call in ours(read_alike(global_recorder.spans, tmp_path))] == [
        call[1:] for call in theirs(made.events)
    ]


def test_spans_without_content_have_no_arguments(global_recorder, tmp_path, monkeypatch):
    monkeypatch.setenv("ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS", "false")
    made = session(True)
    trace = read_alike(global_recorder.spans, tmp_path)
    assert calls(trace) == [(call[1], None, None) for call in theirs(made.events)]


@pytest.mark.parametrize(
    "name",
    [
        "eval_set_helm.json",
        "evalset_helm_3_2026-02-23.json",
        "elicitation_flow.test.json",
        "generated__invocation_events.json",
        "generated__invocation_events_camel.json",
    ],
)
def test_the_samples_of_eval_sets(name):
    path = sample(f"adk_eval/{name}")
    cases = EvalSet.model_validate_json(path.read_bytes()).eval_cases
    traces = callmatch.read(path)
    for trace, case in zip(traces, cases, strict=True):
        right = [
            [(made.name, made.args) for made in get_all_tool_calls(each.intermediate_data)]
            for each in case.conversation
        ]
        assert [asked(turn.trace) for turn in trace.turns] == right


def test_the_sample_of_events():
    path = sample("adk_events/generated__events_camel.json")
    events = [Event.model_validate(event) for event in json.loads(path.read_text(encoding="utf-8"))]
    assert in_any_order(ours(one(path))) == in_any_order(theirs(events))
    assert [call[:4] for call in ours(one(path))] == [call[:4] for call in theirs(events)]
