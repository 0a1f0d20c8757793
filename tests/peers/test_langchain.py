"""Messages of LangChain, in each way in which it writes them down."""

import json

import pytest

import callmatch

from .calls import BIG, one, sample

pytest.importorskip("langchain_core")

from langchain_core.load import dumpd, dumps, load
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
    convert_to_openai_messages,
    messages_from_dict,
    messages_to_dict,
)


def called(name, arguments, id):
    return {"name": name, "args": arguments, "id": id}


CONVERSATION = [
    SystemMessage("You help."),
    HumanMessage("Refund 42"),
    AIMessage(
        "Looking.",
        tool_calls=[called("lookup", {"id": BIG, "deep": {"a": [1, None]}}, "c1"), called("refund", {}, "c2")],
    ),
    ToolMessage("no money", tool_call_id="c2", status="error", artifact={"a": 1}),
    ToolMessage('{"state": "late"}', tool_call_id="c1", name="lookup"),
    AIMessage("Done."),
    HumanMessage("Again"),
    # Anthropic's block and LangChain's own list are the same call.
    AIMessage(
        [{"type": "text", "text": "Sure."}, {"type": "tool_use", "id": "c1", "name": "lookup", "input": {"id": 1}}],
        tool_calls=[called("lookup", {"id": 1}, "c1")],
    ),
    ToolMessage("late", tool_call_id="c1"),
    AIMessage("Bye."),
]

BROKEN = [
    HumanMessage("Refund 42"),
    AIMessage(
        "",
        invalid_tool_calls=[{"name": "refund", "args": '{"id":', "id": "c1", "error": "not JSON"}],
    ),
    ToolMessage("try again", tool_call_id="c1", status="error"),
]


def theirs(messages):
    """By LangChain's own types: the calls, each with the text of the next message that answers it."""
    told = []
    for place, message in enumerate(messages):
        for call in [*getattr(message, "tool_calls", ()), *getattr(message, "invalid_tool_calls", ())]:
            answers = (later for later in messages[place + 1 :] if isinstance(later, ToolMessage))
            answer = next((later for later in answers if later.tool_call_id == call["id"]), None)
            told.append((call["id"], call["name"], call["args"], answer and answer.text, answer and answer.status))
    return told


def ours(trace):
    return [(call.id, call.name, call.arguments, call.output, call.status) for call in trace.tool_calls]


WAYS = {
    "objects": lambda messages: messages,
    "dumpd": dumpd,
    "dumps": lambda messages: json.loads(dumps(messages)),
    "messages_to_dict": messages_to_dict,
    "model_dump": lambda messages: [message.model_dump() for message in messages],
    "model_dump_json": lambda messages: [json.loads(message.model_dump_json()) for message in messages],
    "state of a graph": lambda messages: {"messages": messages, "next": "end"},
    "state as JSON": lambda messages: json.loads(dumps({"messages": messages})),
}


@pytest.mark.parametrize("way", WAYS)
def test_each_way_of_writing(way, tmp_path):
    given = WAYS[way](CONVERSATION)
    trace = callmatch.from_messages(given)
    assert ours(trace) == theirs(CONVERSATION)
    assert [(turn.input, turn.output) for turn in trace.turns] == [("Refund 42", "Done."), ("Again", "Bye.")]
    if way not in ("objects", "state of a graph"):
        (tmp_path / "messages.json").write_text(json.dumps(given), encoding="utf-8")
        assert ours(one(tmp_path / "messages.json")) == theirs(CONVERSATION)


@pytest.mark.parametrize("options", [{}, {"text_format": "block"}, {"include_id": True}])
def test_as_messages_of_openai(options):
    given = convert_to_openai_messages(CONVERSATION, **options)
    # These have no status.
    right = [call[:4] for call in theirs(CONVERSATION)]
    assert [call[:4] for call in ours(callmatch.from_messages(given))] == right
    assert [call[:4] for call in theirs(convert_to_messages(given))] == right


@pytest.mark.parametrize("way", WAYS)
def test_arguments_that_could_not_be_read(way):
    (call,) = callmatch.from_messages(WAYS[way](BROKEN)).tool_calls
    (invalid,) = BROKEN[1].invalid_tool_calls
    assert (call.id, call.name, call.arguments) == (invalid["id"], invalid["name"], invalid["args"])
    assert call.output == BROKEN[2].text


def test_chunks_of_a_stream_as_langchain_adds_them():
    from langchain_core.messages import AIMessageChunk, message_chunk_to_message
    from langchain_core.messages.tool import tool_call_chunk

    pieces = [("lookup", '{"id"', "c1", 0), (None, ": 1}", None, 0), ("refund", "{}", "c2", 1)]
    chunks = [
        AIMessageChunk("", tool_call_chunks=[tool_call_chunk(name=name, args=args, id=id, index=index)])
        for name, args, id, index in pieces
    ]
    whole = chunks[0] + chunks[1] + chunks[2]
    for message in (whole, message_chunk_to_message(whole)):
        for given in ([message], dumpd([message]), messages_to_dict([message])):
            assert ours(callmatch.from_messages(given)) == theirs([message_chunk_to_message(whole)])


@pytest.mark.parametrize(
    ("name", "loaded"),
    [
        ("dumpd_lc1", load),
        ("messages_to_dict", messages_from_dict),
        # Of such dicts convert_to_messages leaves out the calls that could not be read.
        ("model_dump", lambda data: messages_from_dict([{"type": each["type"], "data": each} for each in data])),
        ("convert_to_openai_messages", convert_to_messages),
    ],
)
def test_the_samples(name, loaded):
    path = sample(f"langchain/generated__{name}.json")
    right = theirs(loaded(json.loads(path.read_text(encoding="utf-8"))))
    known = 4 if name == "convert_to_openai_messages" else 5
    assert [call[:known] for call in ours(one(path))] == [call[:known] for call in right]
