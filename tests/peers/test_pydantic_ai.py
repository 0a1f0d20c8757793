"""Messages and spans of Pydantic AI."""

import json

import pytest

import callmatch

from .calls import BIG, asked, calls, one, read_alike, sample

pytest.importorskip("pydantic_ai")

from pydantic import BaseModel
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.messages import (
    ModelMessagesTypeAdapter,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.test import TestModel


class Order(BaseModel):
    id: int
    state: str = "late"


REPLIES = [
    [
        TextPart("Looking."),
        ToolCallPart("lookup", {"order_id": BIG, "deep": {"a": [1, None]}}, tool_call_id="c1"),
        ToolCallPart("refund", '{"order_id": 42, "amount": 1.5}', tool_call_id="c2"),
    ],
    [ToolCallPart("refund", '{"order_id": 42, "amount": 2}', tool_call_id="c3")],
    [ToolCallPart("tags", {}, tool_call_id="c4")],
    [ToolCallPart("absent", {"a": 1}, tool_call_id="c5")],
    [TextPart("Done.")],
]


def agent(replies, **options):
    def model(messages, info):
        return ModelResponse(parts=list(replies[sum(isinstance(message, ModelResponse) for message in messages)]))

    made = Agent(FunctionModel(model), name="support", **options)

    @made.tool_plain
    def lookup(order_id: int, deep: dict) -> Order:
        return Order(id=1)

    @made.tool_plain
    def refund(order_id: int, amount: float) -> str:
        if amount == 1.5:
            raise ModelRetry("too little")
        return "ok"

    @made.tool_plain
    def tags() -> list[str]:
        return ["a", "b"]

    return made


def plain(content):
    return json.loads(content.model_dump_json()) if isinstance(content, BaseModel) else content


def theirs(messages):
    """The calls of the messages by Pydantic AI's own types, with the part that answers each."""
    answers = {
        part.tool_call_id: part.content
        for message in messages
        for part in message.parts
        if isinstance(part, ToolReturnPart | RetryPromptPart) and part.tool_name
    }
    # What a tool asked to try again has no tool_name in all versions; it is found by the id all the same.
    for message in messages:
        for part in message.parts:
            if getattr(part, "tool_call_id", None) and part.part_kind in ("tool-return", "retry-prompt"):
                answers.setdefault(part.tool_call_id, part.content)
    return [
        (part.tool_call_id, part.tool_name, part.args_as_dict(), plain(answers.get(part.tool_call_id)))
        for message in messages
        for part in message.parts
        if isinstance(part, ToolCallPart)
    ]


def ours(trace):
    return [(call.id, call.name, call.arguments, call.output) for call in trace.tool_calls]


def test_messages(tmp_path):
    result = agent(REPLIES).run_sync("Refund 42")
    (tmp_path / "messages.json").write_bytes(result.all_messages_json())
    again = ModelMessagesTypeAdapter.validate_json(result.all_messages_json())
    for trace in (
        one(tmp_path / "messages.json"),
        callmatch.from_messages(result.all_messages()),
        callmatch.from_messages(again),
        callmatch.from_messages(result.all_messages_json()),
        callmatch.from_messages(json.loads(result.all_messages_json())),
    ):
        assert ours(trace) == theirs(result.all_messages())
        assert (trace.input, trace.output) == ("Refund 42", result.output)


def test_a_conversation_of_two_runs():
    first = agent([[ToolCallPart("tags", {}, tool_call_id="c1")], [TextPart("One.")]]).run_sync("First")
    # The second model has said two things before.
    replies = [None, None, [ToolCallPart("tags", {}, tool_call_id="c2")], [TextPart("Two.")]]
    second = agent(replies).run_sync("Second", message_history=first.all_messages())
    trace = callmatch.from_messages(second.all_messages())
    assert [turn.input for turn in trace.turns] == ["First", "Second"]
    assert ours(trace) == theirs(second.all_messages())
    assert ours(callmatch.from_messages(second.new_messages())) == theirs(second.new_messages())


def test_all_tools_as_its_own_test_model_calls_them():
    made = agent([], retries=3)
    with made.override(model=TestModel()):
        result = made.run_sync("Anything")
    assert ours(callmatch.from_messages(result.all_messages())) == theirs(result.all_messages())


def test_structured_output_is_a_call_of_a_tool():
    result = Agent(TestModel(), output_type=Order).run_sync("Which?")
    trace = callmatch.from_messages(result.all_messages())
    assert ours(trace) == theirs(result.all_messages())
    assert [call.name for call in trace.tool_calls] == ["final_result"]


def test_a_call_whose_arguments_are_none():
    result = agent([[ToolCallPart("tags", None, tool_call_id="c1")], [TextPart("Done.")]]).run_sync("Tags")
    assert ours(callmatch.from_messages(result.all_messages())) == theirs(result.all_messages())


def test_a_call_whose_arguments_are_an_empty_text():
    result = agent([[ToolCallPart("tags", "", tool_call_id="c1")], [TextPart("Done.")]]).run_sync("Tags")
    assert ours(callmatch.from_messages(result.all_messages())) == theirs(result.all_messages())


@pytest.fixture(params=[2, 3, 4, 5, 6])
def instrumented(request, recorder):
    """Where spans are recorded, and agents with spans of each version of the instrumentation."""
    capabilities = pytest.importorskip("pydantic_ai.capabilities")
    from pydantic_ai.models.instrumented import InstrumentationSettings

    def made(replies, **options):
        settings = InstrumentationSettings(tracer_provider=recorder.provider, version=request.param, **options)
        return agent(replies, capabilities=[capabilities.Instrumentation(settings)])

    try:
        made([])
    except ValueError:
        pytest.skip(f"no version {request.param} in this release")
    return recorder, made


def test_spans(instrumented, tmp_path):
    recorder, made = instrumented
    result = made(REPLIES).run_sync("Refund 42")
    trace = read_alike(recorder.spans, tmp_path)
    assert calls(trace) == [call[1:] for call in theirs(result.all_messages())]
    assert (trace.input, trace.output, len(trace.turns)) == ("Refund 42", result.output, 1)
    assert {call.agent for call in trace.tool_calls} == {"support"}
    # No span was made of the tool that there isn't.
    assert [call.recorded_as for call in trace.tool_calls].count("requested") == 1


def test_spans_without_content_have_no_arguments(instrumented, tmp_path):
    recorder, made = instrumented
    result = made(REPLIES, include_content=False).run_sync("Refund 42")
    trace = read_alike(recorder.spans, tmp_path)
    names = [call[1] for call in theirs(result.all_messages())]
    assert sorted(call.name for call in trace.tool_calls) == sorted(names)
    assert {(call.arguments, call.output) for call in trace.tool_calls} == {(None, None)}


def test_a_call_that_was_not_executed_stands_where_the_model_asked_for_it(instrumented, tmp_path):
    recorder, made = instrumented
    asked_for = [ToolCallPart(name, {}, tool_call_id=name) for name in ("tags", "absent")]
    result = made([asked_for, [TextPart("Done.")]]).run_sync("Tags")
    assert asked(read_alike(recorder.spans, tmp_path)) == [call[1:3] for call in theirs(result.all_messages())]


def test_the_sample():
    path = sample("pydantic_ai/generated__all_messages.json")
    messages = ModelMessagesTypeAdapter.validate_json(path.read_bytes())
    assert ours(one(path)) == theirs(messages)
