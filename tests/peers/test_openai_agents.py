"""What OpenAI's Agents SDK exports of a run with models that only pretend, and the items that its sessions keep."""

import asyncio
import json

import pytest

import callmatch

from .calls import BIG, asked, calls, one, read_alike

pytest.importorskip("agents.tracing", reason="openai-agents is not installed")

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool, set_trace_processors
from agents.items import ItemHelpers, ToolCallItem, ToolCallOutputItem
from agents.tracing import TracingProcessor
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText


class Kept(TracingProcessor):
    """Keeps what is exported, in the order of an exporter: spans when they end."""

    def __init__(self):
        self.rows = []

    def on_trace_start(self, trace):
        self.rows.append(trace.export())

    def on_trace_end(self, trace):
        pass

    def on_span_start(self, span):
        pass

    def on_span_end(self, span):
        self.rows.append(span.export())

    def shutdown(self):
        pass

    def force_flush(self):
        pass


class Pretending(Model):
    def __init__(self, *replies):
        self.replies = list(replies)

    async def get_response(self, *args, **options):
        return ModelResponse(output=self.replies.pop(0), usage=Usage(), response_id=None)

    def stream_response(self, *args, **options):
        raise NotImplementedError


@function_tool
def lookup(order_id: int) -> dict:
    """Look up an order."""
    return {"state": "late", "none": None}


@function_tool
def refund(order_id: int, amount: float) -> str:
    """Refund an order."""
    raise ValueError("no money")


def call(id, name, **arguments):
    return ResponseFunctionToolCall(
        id=f"fc_{id}", call_id=id, name=name, arguments=json.dumps(arguments), type="function_call"
    )


def message(text):
    content = [ResponseOutputText(text=text, type="output_text", annotations=[])]
    return ResponseOutputMessage(id="m", role="assistant", status="completed", type="message", content=content)


def refunded():
    """The result of a run of two agents."""
    billing = Agent(
        name="billing",
        model=Pretending([call("c4", "refund", order_id=42, amount=1.5)], [message("Done.")]),
        tools=[refund],
    )
    support = Agent(
        name="support",
        model=Pretending(
            [call("c1", "lookup", order_id=42), call("c2", "lookup", order_id=BIG)],
            [call("c3", "transfer_to_billing")],
        ),
        tools=[lookup],
        handoffs=[billing],
    )
    config = RunConfig(workflow_name="refunds", group_id="thread")
    return asyncio.run(Runner.run(support, "Refund 42", run_config=config))


@pytest.fixture(scope="module")
def run():
    """The result and what was exported of it."""
    kept = Kept()
    set_trace_processors([kept])
    result = refunded()
    set_trace_processors([])
    return result, kept.rows


def theirs(result):
    """Name, arguments, output of each call that is no handoff, by the items of the run."""
    outputs = {
        item.raw_item["call_id"]: item.output for item in result.new_items if isinstance(item, ToolCallOutputItem)
    }
    made = [item for item in result.new_items if isinstance(item, ToolCallItem)]
    return [
        (item.raw_item.name, json.loads(item.raw_item.arguments), str(outputs[item.raw_item.call_id])) for item in made
    ], [item.agent.name for item in made]


def test_the_export(run, tmp_path):
    result, rows = run
    right, agents = theirs(result)
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (tmp_path / "ingestion.json").write_text(json.dumps({"data": rows}), encoding="utf-8")
    for source in (rows, tmp_path / "rows.jsonl", tmp_path / "ingestion.json"):
        trace = one(source)
        assert calls(trace) == right
        assert [call.agent for call in trace.tool_calls] == agents
        assert (trace.id, trace.conversation_id) == (rows[0]["id"], "thread")
        assert [span.name for span in trace.spans("handoff")] == ["billing"]
        # The SDK's own way of failing is an answer of the tool and an error of the span.
        assert [call.status == "error" for call in trace.tool_calls] == [False, False, True]


def test_the_items_of_a_session(run):
    result, _ = run
    right, _ = theirs(result)
    trace = callmatch.from_messages(result.to_input_list())
    # A handoff is a call among the items.
    assert [told for told in calls(trace) if told[0] != "transfer_to_billing"] == right
    assert asked(trace)[2] == ("transfer_to_billing", {})
    assert [call.id for call in trace.tool_calls] == ["c1", "c2", "c3", "c4"]
    assert (trace.input, trace.output) == ("Refund 42", result.final_output)
    assert trace.output == ItemHelpers.text_message_outputs(result.new_items)


@pytest.fixture
def spans(recorder):
    """What OpenInference's instrumentation makes of the same run, and its result."""
    instrumentation = pytest.importorskip("openinference.instrumentation.openai_agents")
    instrumentor = instrumentation.OpenAIAgentsInstrumentor()
    instrumentor.instrument(tracer_provider=recorder.provider, exclusive_processor=True)
    try:
        result = refunded()
    finally:
        instrumentor.uninstrument()
        set_trace_processors([])
    return recorder.spans, result


def test_spans_of_openinference(spans, tmp_path):
    recorded, result = spans
    right, agents = theirs(result)
    made = [call for call in read_alike(recorded, tmp_path).tool_calls if not call.name.startswith("handoff to ")]
    assert [(call.name, call.arguments) for call in made] == [call[:2] for call in right]
    # They have JSON of what a tool gave, and not the text of it.
    assert [str(call.output) for call in made] == [call[2] for call in right]
    assert [call.agent for call in made] == agents


def test_handoffs_of_openinference(spans, tmp_path):
    recorded, result = spans
    trace = read_alike(recorded, tmp_path)
    assert [call.name for call in trace.tool_calls] == [call[0] for call in theirs(result)[0]]
    assert [span.name for span in trace.spans("handoff")] == ["billing"]
