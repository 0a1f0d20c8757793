"""Logs that Inspect wrote, as callmatch and as Inspect read them."""

import json

import pytest

import callmatch

from .calls import BIG

pytest.importorskip("inspect_ai")

from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.agent import react
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log, write_eval_log
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    Content,
    ContentText,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.solver import generate, solver, use_tools
from inspect_ai.tool import ToolCall, ToolError, tool


@tool
def add():
    async def execute(x: int, y: int) -> int:
        """Add two numbers.

        Args:
            x: One.
            y: The other.
        """
        return x + y

    return execute


@tool
def lookup():
    async def execute(order: dict) -> str:
        """Look up an order.

        Args:
            order: Which.
        """
        if order.get("id") == BIG:
            raise ToolError("no such order")
        return json.dumps({"state": "late", **order})

    return execute


@tool
def wait():
    async def execute() -> str:
        """Wait for too long."""
        raise TimeoutError

    return execute


def reply(*calls, text=""):
    made = [
        ToolCall(id=id, function=name, arguments=arguments, parse_error=error) for id, name, arguments, error in calls
    ]
    return ModelOutput(
        model="mockllm/model",
        usage=ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2),
        choices=[
            ChatCompletionChoice(
                message=ChatMessageAssistant(content=text, source="generate", tool_calls=made or None),
                stop_reason="tool_calls" if made else "stop",
            )
        ],
    )


REPLIES = [
    # In parallel; one fails. The id comes again later.
    reply(("c1", "add", {"x": 1, "y": 2}, None), ("c2", "lookup", {"order": {"id": BIG}}, None), text="Looking."),
    reply(("c1", "lookup", {"order": {"id": 1, "deep": [None, 1.5]}}, None), ("c3", "wait", {}, None)),
    # A tool that there isn't, and arguments that could not be read.
    reply(("c4", "absent", {"a": 1}, None), ("c5", "add", {}, "not JSON: {")),
    reply(text="Done."),
]


@solver
def ask_again():
    async def solve(state, generate):
        from inspect_ai.model import ChatMessageUser

        state.messages.append(ChatMessageUser(content="And now?"))
        return await generate(state)

    return solve


@pytest.fixture(scope="module", params=["json", "eval"])
def location(request, tmp_path_factory):
    logs = evaluate(
        Task(
            dataset=[Sample(input="Add these."), Sample(input="Add those.", id="second")],
            solver=[use_tools(add(), lookup(), wait()), generate(), ask_again()],
        ),
        model=get_model("mockllm/model", custom_outputs=[*REPLIES, reply(text="Bye.")] * 4, memoize=False),
        epochs=2,
        max_samples=1,
        log_dir=str(tmp_path_factory.mktemp("inspect")),
        log_format=request.param,
        display="none",
    )
    assert logs[0].status == "success", logs[0].error
    return logs[0].location.removeprefix("file://")


def of_messages(sample):
    """Inspect's own view: what the assistant asked for, and the message that answered it, the next one with its id."""
    told = []
    for place, message in enumerate(sample.messages):
        for call in getattr(message, "tool_calls", None) or ():
            answers = (later for later in sample.messages[place + 1 :] if later.role == "tool")
            answer = next(later for later in answers if later.tool_call_id == call.id)
            told.append((call.id, call.function, call.arguments, answer.text, answer.error and answer.error.message))
    return told


def ours(trace):
    return [(call.id, call.name, call.arguments, call.output, call.error) for call in trace.tool_calls]


def test_the_calls_are_those_of_the_messages(location):
    traces = callmatch.read(location)
    samples = read_eval_log(location).samples
    assert traces.formats == ["inspect"]
    assert [trace.id for trace in traces] == [str(sample.id) for sample in samples]
    for trace, sample in zip(traces, samples, strict=True):
        got, right = ours(trace), of_messages(sample)
        # Arguments that could not be read are no empty object: Inspect has {} and an error beside it.
        assert [call for call in got if call[0] != "c5"] == [call for call in right if call[0] != "c5"]
        assert [call[0] for call in got] == [call[0] for call in right]
        assert len(trace.turns) == sum(message.role == "user" for message in sample.messages)
        assert trace.input == "And now?"
        assert trace.output == sample.output.completion


def test_the_calls_are_those_of_the_events(location):
    for trace, sample in zip(callmatch.read(location), read_eval_log(location).samples, strict=True):
        events = {(event.id, event.function): event for event in sample.events if event.event == "tool"}
        for call in trace.tool_calls:
            event = events.get((call.id, call.name))
            if event is not None and event.function in ("add", "lookup") and call.id != "c5":
                assert call.arguments == event.arguments
                assert call.output == str(event.result)
                assert call.error == (event.error and event.error.message)
                assert (call.started_at, call.ended_at) == (event.timestamp, event.completed)


def test_arguments_that_could_not_be_read_are_not_an_empty_object(location):
    for trace in callmatch.read(location):
        broken = [call for call in trace.tool_calls if call.id == "c5"]
        assert [call.arguments for call in broken] != [{}]


def test_epochs_are_traces_of_their_own(location):
    traces = callmatch.read(location)
    assert [trace.attributes["epoch"] for trace in traces] == [
        sample.epoch for sample in read_eval_log(location).samples
    ]


def test_epochs_are_no_fault(location):
    assert callmatch.read(location).diagnostics == []


def test_both_ways_of_writing_hold_the_same(location, tmp_path):
    log = read_eval_log(location)
    read = []
    for ending in ("json", "eval"):
        path = tmp_path / f"again.{ending}"
        write_eval_log(log, str(path))
        read.append([trace.model_dump() for trace in callmatch.read(path)])
    assert read[0] == read[1]
    assert [ours(trace) for trace in callmatch.read(path)] == [ours(trace) for trace in callmatch.read(location)]


LONG = "0123456789" * 1000


@tool
def echo():
    async def execute(text: str) -> str:
        """Say it again.

        Args:
            text: What.
        """
        return text + "!"

    return execute


@tool
def blocks():
    async def execute() -> list[Content]:
        """Answer with several texts."""
        return [ContentText(text="one"), ContentText(text="two")]

    return execute


@pytest.mark.parametrize("ending", ["json", "eval"])
def test_what_inspect_keeps_elsewhere(ending, tmp_path):
    """Long texts of events are attachments, and an agent takes its call to submit out of the messages."""
    replies = [
        reply(("c1", "echo", {"text": LONG}, None), ("c2", "blocks", {}, None)),
        reply(("c3", "submit", {"answer": "42"}, None)),
    ]
    (log,) = evaluate(
        Task(dataset=[Sample(input=LONG)], solver=react(name="boss", tools=[echo(), blocks()])),
        model=get_model("mockllm/model", custom_outputs=replies, memoize=False),
        log_dir=str(tmp_path),
        log_format=ending,
        display="none",
    )
    assert log.status == "success", log.error
    (sample,) = read_eval_log(log.location, resolve_attachments=True).samples
    (trace,) = callmatch.read(log.location.removeprefix("file://"))
    events = [event for event in sample.events if event.event == "tool"]
    assert [call[:3] for call in ours(trace)] == [(event.id, event.function, event.arguments) for event in events]
    answers = {message.tool_call_id: message.text for message in sample.messages if message.role == "tool"}
    assert [call.output for call in trace.tool_calls] == [answers["c1"], answers["c2"], events[2].result]
    assert [call.agent for call in trace.tool_calls] == ["boss"] * 3
