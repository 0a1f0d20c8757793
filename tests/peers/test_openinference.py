"""Spans of OpenInference: made by its constants, and by its own instrumentation of LangChain."""

import json

import pytest

from .calls import BIG, asked, calls, read_alike

pytest.importorskip("openinference.semconv.trace")

from openinference.semconv.trace import (
    DocumentAttributes,
    MessageAttributes,
    OpenInferenceMimeTypeValues,
    OpenInferenceSpanKindValues,
    SpanAttributes,
    ToolAttributes,
    ToolCallAttributes,
)

JSON = OpenInferenceMimeTypeValues.JSON.value
SCHEMA = {"type": "object", "properties": {"order_id": {"type": "integer"}}}


def kind(value):
    return {SpanAttributes.OPENINFERENCE_SPAN_KIND: value.value}


def given(value):
    return {SpanAttributes.INPUT_VALUE: json.dumps(value), SpanAttributes.INPUT_MIME_TYPE: JSON}


def gave(value):
    return {SpanAttributes.OUTPUT_VALUE: json.dumps(value), SpanAttributes.OUTPUT_MIME_TYPE: JSON}


def asks(*made):
    """The message of a model that asks for these calls: id, name and arguments."""
    prefix = f"{SpanAttributes.LLM_OUTPUT_MESSAGES}.0."
    told = {prefix + MessageAttributes.MESSAGE_ROLE: "assistant"}
    for place, (id, name, arguments) in enumerate(made):
        at = f"{prefix}{MessageAttributes.MESSAGE_TOOL_CALLS}.{place}."
        told[at + ToolCallAttributes.TOOL_CALL_ID] = id
        told[at + ToolCallAttributes.TOOL_CALL_FUNCTION_NAME] = name
        told[at + ToolCallAttributes.TOOL_CALL_FUNCTION_ARGUMENTS_JSON] = json.dumps(arguments)
    return told


def span(recorder, name, *attributes):
    made = recorder.provider.get_tracer("peers").start_as_current_span(name)
    merged = {key: value for each in attributes for key, value in each.items()}
    return _opened(made, merged)


class _opened:  # noqa: N801 (a context, and no type that anyone names)
    def __init__(self, context, attributes):
        self.context, self.attributes = context, attributes

    def __enter__(self):
        self.context.__enter__().set_attributes(self.attributes)

    def __exit__(self, *raised):
        return self.context.__exit__(*raised)


KINDS = OpenInferenceSpanKindValues


def test_spans_of_tools(recorder, tmp_path):
    arguments = {"order_id": BIG, "deep": {"a": [1, None]}}
    with span(recorder, "support", kind(KINDS.AGENT), {SpanAttributes.AGENT_NAME: "support"}):
        with span(recorder, "model", kind(KINDS.LLM), asks(("c1", "lookup", arguments))):
            pass
        tool = {
            SpanAttributes.TOOL_NAME: "lookup",
            SpanAttributes.TOOL_DESCRIPTION: "Looks up an order.",
            # By the conventions the schema, and not what it was called with.
            SpanAttributes.TOOL_PARAMETERS: json.dumps(SCHEMA),
            ToolAttributes.TOOL_JSON_SCHEMA: json.dumps(SCHEMA),
        }
        with span(recorder, "a span of lookup", kind(KINDS.TOOL), tool, given(arguments), gave({"state": "late"})):
            pass
    trace = read_alike(recorder.spans, tmp_path)
    assert calls(trace) == [("lookup", arguments, {"state": "late"})]
    assert trace.tool_calls[0].agent == "support"


def test_messages_of_a_model_alone(recorder, tmp_path):
    """Nobody traced the tools; the calls are what the model asked for, and the results what it was told next."""
    made = [("c1", "lookup", {"order_id": 1}), ("c2", "refund", {})]
    told = {}
    for place, (id, text) in enumerate((("c1", "late"), ("c2", "ok")), 1):
        at = f"{SpanAttributes.LLM_INPUT_MESSAGES}.{place}."
        told[at + MessageAttributes.MESSAGE_ROLE] = "tool"
        told[at + MessageAttributes.MESSAGE_TOOL_CALL_ID] = id
        told[at + MessageAttributes.MESSAGE_CONTENT] = text
    told[f"{SpanAttributes.LLM_INPUT_MESSAGES}.0.{MessageAttributes.MESSAGE_ROLE}"] = "user"
    told[f"{SpanAttributes.LLM_INPUT_MESSAGES}.0.{MessageAttributes.MESSAGE_CONTENT}"] = "Refund 1"
    with span(recorder, "chain", kind(KINDS.CHAIN)):
        with span(recorder, "model", kind(KINDS.LLM), asks(*made)):
            pass
        with span(recorder, "model", kind(KINDS.LLM), told):
            pass
    trace = read_alike(recorder.spans, tmp_path)
    assert calls(trace) == [("lookup", {"order_id": 1}, "late"), ("refund", {}, "ok")]


def test_documents_of_a_retriever(recorder, tmp_path):
    at = f"{SpanAttributes.RETRIEVAL_DOCUMENTS}."
    found = {
        f"{at}{place}.{DocumentAttributes.DOCUMENT_CONTENT}": text for place, text in enumerate(("first", "second"))
    }
    with span(recorder, "search", kind(KINDS.RETRIEVER), {SpanAttributes.INPUT_VALUE: "x"}, found):
        pass
    trace = read_alike(recorder.spans, tmp_path)
    assert [("first" in str(each), "second" in str(each)) for each in trace.context] == [(True, False), (False, True)]


def test_its_instrumentation_of_langchain(recorder, tmp_path):
    instrumentation = pytest.importorskip("openinference.instrumentation.langchain")
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
    from langchain_core.runnables import RunnableLambda
    from langchain_core.tools import tool

    @tool
    def lookup(order_id: int, deep: dict) -> dict:
        """Look up an order."""
        return {"state": "late"}

    @tool
    def refund(order_id: int, amount: float) -> str:
        """Refund an order."""
        raise ValueError("no money")

    wanted = [
        {"name": "lookup", "args": {"order_id": BIG, "deep": {"a": [1, None]}}, "id": "c1"},
        {"name": "refund", "args": {"order_id": 1, "amount": 1.5}, "id": "c2"},
    ]
    model = GenericFakeChatModel(messages=iter([AIMessage("Looking.", tool_calls=wanted), AIMessage("Done.")]))
    tools = {"lookup": lookup, "refund": refund}

    def run(question):
        messages = [HumanMessage(question)]
        while (answer := model.invoke(messages)).tool_calls:
            messages.append(answer)
            for call in answer.tool_calls:
                try:
                    messages.append(tools[call["name"]].invoke(call))
                except ValueError as error:
                    messages.append(ToolMessage(str(error), tool_call_id=call["id"], status="error"))
        return answer.content

    instrumentor = instrumentation.LangChainInstrumentor()
    instrumentor.instrument(tracer_provider=recorder.provider)
    try:
        RunnableLambda(run).with_config(run_name="support").invoke("Refund 42")
    finally:
        instrumentor.uninstrument()
    trace = read_alike(recorder.spans, tmp_path)
    assert asked(trace) == [(call["name"], call["args"]) for call in wanted]
    assert trace.tool_calls[0].output in ({"state": "late"}, '{"state": "late"}')
    assert trace.tool_calls[1].status == "error"
    assert "no money" in trace.tool_calls[1].error
    assert (trace.input, trace.output) == ("Refund 42", "Done.")


@pytest.mark.parametrize("hidden", ["hide_inputs", "hide_outputs"])
def test_what_was_hidden_was_not_recorded(hidden, recorder, tmp_path):
    config = pytest.importorskip("openinference.instrumentation.config")
    from opentelemetry.trace import use_span

    tracer = pytest.importorskip("openinference.instrumentation").OITracer(
        recorder.provider.get_tracer("peers"), config=config.TraceConfig(**{hidden: True})
    )
    made = tracer.start_span("lookup", attributes={**kind(KINDS.TOOL), SpanAttributes.TOOL_NAME: "lookup"})
    with use_span(made, end_on_exit=True):
        made.set_attributes({**given({"order_id": 1}), **gave({"state": "late"})})
    told = dict(recorder.spans[0].attributes)
    assert config.REDACTED_VALUE in told.values()
    right = ("lookup", None, {"state": "late"}) if hidden == "hide_inputs" else ("lookup", {"order_id": 1}, None)
    assert calls(read_alike(recorder.spans, tmp_path)) == [right]
