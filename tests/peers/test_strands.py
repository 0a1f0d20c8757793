"""Messages and spans of Strands, and the same spans as Strands' own evaluations read them."""

import json

import pytest

import callmatch

from .calls import BIG, asked, in_any_order, read_alike, sample

pytest.importorskip("strands")

from strands import Agent, tool
from strands.models import Model


class Pretending(Model):
    def __init__(self, replies):
        self.replies = list(replies)

    def update_config(self, **config):
        pass

    def get_config(self):
        return {}

    def structured_output(self, *args, **options):
        raise NotImplementedError

    async def stream(self, messages, *args, **options):
        blocks = self.replies.pop(0)
        yield {"messageStart": {"role": "assistant"}}
        for block in blocks:
            start = {} if isinstance(block, str) else {"toolUse": {"toolUseId": block[0], "name": block[1]}}
            delta = {"text": block} if isinstance(block, str) else {"toolUse": {"input": json.dumps(block[2])}}
            yield {"contentBlockStart": {"start": start}}
            yield {"contentBlockDelta": {"delta": delta}}
            yield {"contentBlockStop": {}}
        called = any(not isinstance(block, str) for block in blocks)
        yield {"messageStop": {"stopReason": "tool_use" if called else "end_turn"}}
        usage = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
        yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}}


@tool
def lookup(order_id: int, deep: dict) -> dict:
    """Look up an order."""
    return {"status": "success", "content": [{"json": {"state": "late"}}]}


@tool
def refund(order_id: int, amount: float) -> str:
    """Refund an order."""
    if amount > 1:
        raise ValueError("no money")
    return "ok"


REPLIES = [
    ["Looking.", ("c1", "lookup", {"order_id": BIG, "deep": {"a": [1, None]}})],
    [("c2", "refund", {"order_id": 1, "amount": 1.5})],
    [("c3", "refund", {"order_id": 1, "amount": 0.5})],
    ["Done."],
    ["Bye."],
]


def agent():
    made = Agent(
        model=Pretending(REPLIES),
        tools=[lookup, refund],
        name="support",
        callback_handler=None,
        trace_attributes={"session.id": "thread"},
    )
    made("Refund 42")
    return made


def of_messages(messages):
    """Calls by the messages: blocks `toolUse` and `toolResult`."""
    blocks = [block for message in messages for block in message["content"]]
    results = {block["toolResult"]["toolUseId"]: block["toolResult"] for block in blocks if "toolResult" in block}
    return [
        (use["toolUseId"], use["name"], use["input"], results[use["toolUseId"]]["status"])
        for use in (block["toolUse"] for block in blocks if "toolUse" in block)
    ]


def test_messages():
    made = agent()
    made("Thanks")
    for given in (made.messages, json.loads(json.dumps(made.messages))):
        trace = callmatch.from_messages(given)
        got = [(call.id, call.name, call.arguments, call.status) for call in trace.tool_calls]
        assert got == of_messages(made.messages)
        assert [call.output for call in trace.tool_calls] == [{"state": "late"}, "Error: no money", "ok"]
        assert [(turn.input, turn.output) for turn in trace.turns] == [("Refund 42", "Done."), ("Thanks", "Bye.")]


def mapped(mapper, spans, session):
    """What Strands' evaluations find: name, arguments, the text of the result, and the id of the span."""
    from strands_evals.types.trace import ToolExecutionSpan

    return [
        (span.tool_call.name, span.tool_call.arguments, span.tool_result.content, span.span_info.span_id)
        for trace in mapper.map_to_session(spans, session).traces
        for span in trace.spans
        if isinstance(span, ToolExecutionSpan)
    ]


def test_spans(global_recorder, tmp_path):
    mappers = pytest.importorskip("strands_evals.mappers")
    made = agent()
    trace = read_alike(global_recorder.spans, tmp_path)
    got = [(call.name, call.arguments, call.output, call.id) for call in trace.tool_calls]
    right = mapped(mappers.StrandsInMemorySessionMapper(), list(global_recorder.spans), "thread")
    assert (
        [call[:2] for call in got] == [call[:2] for call in right] == [call[1:3] for call in of_messages(made.messages)]
    )
    assert [call[3] for call in got] == [call[3] for call in right]
    # The mapper takes texts alone from a result, and has an empty one for JSON.
    assert [call[2] for call in got][1:] == [call[2] for call in right][1:] == ["Error: no money", "ok"]
    assert (got[0][2], right[0][2]) == ({"state": "late"}, "")
    assert {call.agent for call in trace.tool_calls} == {"support"}
    assert (trace.input, trace.output.strip(), trace.conversation_id) == ("Refund 42", "Done.", "thread")


def test_spans_of_the_latest_conventions(global_recorder, tmp_path, monkeypatch):
    mappers = pytest.importorskip("strands_evals.mappers")
    # It is looked at when the tracer is made, which is made once.
    monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", "gen_ai_latest_experimental")
    monkeypatch.setattr("strands.telemetry.tracer._tracer_instance", None)
    made = agent()
    trace = read_alike(global_recorder.spans, tmp_path)
    monkeypatch.setattr("strands.telemetry.tracer._tracer_instance", None)
    right = mapped(mappers.StrandsInMemorySessionMapper(), list(global_recorder.spans), "thread")
    assert asked(trace) == [call[:2] for call in right] == [call[1:3] for call in of_messages(made.messages)]
    # The mapper has JSON as text.
    outputs = [json.loads(right[0][2]), *(call[2] for call in right[1:])]
    assert [call.output for call in trace.tool_calls] == outputs == [{"state": "late"}, "Error: no money", "ok"]


# Spans of many tools, in which the mappers find the same calls as we do. The two files in which they do not have tests
# of their own, below, that say why.
FILES = [
    "adk_otel/adk_live_spans.json",
    "openinference/claude_adot_spans.json",
    "openinference/claude_live_spans.json",
    "openinference/openinference_adot_spans.json",
    "openinference/smolagents_live_spans.json",
    "otel_genai/otel_genai_convention_spans.json",
    "pydantic_ai_otel/pydantic_ai_live_spans.json",
    "traceloop/openai_agents_genai_live_spans.json",
]


def of_file(name):
    mappers = pytest.importorskip("strands_evals.mappers")
    path = sample(name)
    data = json.loads(path.read_text(encoding="utf-8"))
    spans = data["spans"] if isinstance(data, dict) else data
    told = (span["attributes"].get(key) for span in spans for key in ("gen_ai.conversation.id", "session.id"))
    session = next((each for each in told if each), "any")
    theirs = mapped(mappers.detect_otel_mapper(spans), spans, session)
    traces = callmatch.read(path)
    assert traces.diagnostics == []
    return theirs, [trace for trace in traces if trace.tool_calls_reported]


@pytest.mark.parametrize("name", FILES)
def test_spans_of_many_tools(name):
    theirs, traces = of_file(name)
    # Mappers have spans in the order of the file, which is mostly that of their ends.
    assert in_any_order(pair for trace in traces for pair in asked(trace)) == in_any_order(call[:2] for call in theirs)
    known = {call[3] for call in theirs}
    assert {call.id for trace in traces for call in trace.tool_calls} == known


def test_arguments_that_were_not_recorded():
    """The mapper says that there were none."""
    theirs, traces = of_file("autogen_otel/autogen_live_spans.json")
    assert [asked(trace) for trace in traces] == [[("calculate", None)]]
    assert [call[:2] for call in theirs] == [("calculate", {})]


def test_a_call_that_only_the_model_tells_of():
    """Of get_weather there is no span of a tool, but the model asked for it; mappers look at spans of tools alone."""
    theirs, traces = of_file("openinference/openinference_live_spans.json")
    assert [pair for trace in traces for pair in asked(trace)] == [
        ("get_weather", {"city": "Taipei"}),
        ("finish", {"answer": "Taipei is warmer"}),
    ]
    assert [call[:2] for call in theirs] == [("finish", {"answer": "Taipei is warmer"})]
