"""Messages of any provider, as they come: dicts, objects, JSON text, whole requests and responses, streams."""

import collections
import copy
import dataclasses
import datetime
import enum
import json
import time
import types
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

import callmatch
from answers import evaluate
from callmatch import InvalidInput, InvalidType, Trace

FORMS = [lambda value: value, json.dumps, lambda value: json.dumps(value).encode()]
NOTHING = {"id": None, "agent": None, "input": None, "output": None, "status": None, "error": None, "kind": "tool_call"}


def call(name, **known):
    """What is known of a call."""
    return {"name": name} | NOTHING | {"recorded_as": "both"} | known


def told(messages):
    """Each turn's input, output and calls."""
    keys = call("")
    spans = lambda turn: [{key: getattr(span, key) for key in keys} for span in turn.spans()]  # noqa: E731
    return [(turn.input, turn.output, spans(turn)) for turn in callmatch.from_messages(messages).turns]


def check(messages, *wanted):
    for form in FORMS:
        assert told(form(messages)) == list(wanted)


def user(content):
    return {"role": "user", "content": content}


def assistant(content=None, *made, **more):
    return {"role": "assistant", "content": content} | ({"tool_calls": list(made)} if made else {}) | more


def function(id, name, arguments="{}", **more):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}} | more


def tool(id, content, **more):
    return {"role": "tool", "tool_call_id": id, "content": content} | more


ASKED = user("Where is order 42?")
CONVERSATION = [
    ASKED,
    assistant("I look.", function("c1", "lookup", '{"id": 42}')),
    tool("c1", "late"),
    assistant("It is late."),
    user("Refund it."),
    assistant(None, function("c2", "refund", '{"id": 42}'), function("c3", "notify")),
    tool("c3", "sent"),
    tool("c2", "done"),
    assistant("Refunded."),
]
TOLD = [
    ("Where is order 42?", "It is late.", [call("lookup", id="c1", input={"id": 42}, output="late")]),
    (
        "Refund it.",
        "Refunded.",
        [
            call("refund", id="c2", input={"id": 42}, output="done"),
            call("notify", id="c3", input={}, output="sent"),
        ],
    ),
]


def test_the_short_name_is_the_method_of_traces():
    about = {"id": "t", "conversation_id": "c", "test_id": "x", "attributes": {"a": 1}}
    assert callmatch.from_messages(CONVERSATION, **about) == Trace.from_messages(CONVERSATION, **about)
    assert callmatch.from_messages(CONVERSATION, **about).id == "t"
    check(CONVERSATION, *TOLD)
    check([])


# Those who write OpenAI's chat messages


def test_custom_tools_are_asked_for_a_text():
    made = {"id": "c1", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}}
    wanted = call("patch", id="c1", input="*** Begin", output="P")
    check([user("hi"), assistant(None, made), tool("c1", "P")], ("hi", None, [wanted]))
    (span,) = Trace.from_parts(tool_calls=[made]).tool_calls
    assert (span.name, span.id, span.input) == ("patch", "c1", "*** Begin")
    with pytest.raises(InvalidInput, match=r"messages\[0\]\.tool_calls\[0\]\.custom: a tool call without a name"):
        told([assistant(None, {"id": "c1", "custom": {"input": "x"}})])


def test_mistral_writes_null_for_no_id_and_arguments_as_text_or_object():
    made = [function("null", "a", '{"x": 1}'), function("null", "b", {"y": 2})]
    answers = [tool("null", "A", name="a"), tool("null", "B", name="b")]
    wanted = [call("a", input={"x": 1}, output="A"), call("b", input={"y": 2}, output="B")]
    check([user("hi"), assistant("", *made), *reversed(answers)], ("hi", None, wanted))


def test_an_id_that_is_empty_is_none():
    """As Gemini's endpoint for OpenAI's clients writes it."""
    made = [function("", "a"), function("", "b", extra_content={"google": {"thought_signature": "x"}})]
    wanted = [call("a", input={}, output="A"), call("b", input={}, output="B")]
    check([user("hi"), assistant(None, *made), tool("", "A"), tool("", "B")], ("hi", None, wanted))


def test_ollama_has_no_ids_and_names_the_tool_of_a_result():
    made = [{"function": {"name": "a", "arguments": {"x": 1}}}, {"function": {"name": "b", "arguments": {}}}]
    answers = [{"role": "tool", "tool_name": "b", "content": "B"}, {"role": "tool", "tool_name": "a", "content": "A"}]
    wanted = [call("a", input={"x": 1}, output="A"), call("b", input={}, output="B")]
    check([user("hi"), assistant("", *made), *answers, assistant("Done.")], ("hi", "Done.", wanted))


def test_cohere_plans_and_gives_documents():
    documents = [{"type": "document", "document": {"data": '{"temperature": 20}'}}]
    messages = [
        user("hi"),
        {"role": "assistant", "tool_plan": "I will look.", "tool_calls": [function("c1", "a", '{"x": 1}')]},
        tool("c1", documents),
        {"role": "assistant", "content": [{"type": "text", "text": "20 °C."}], "citations": [{"start": 0}]},
    ]
    check(messages, ("hi", "20 °C.", [call("a", id="c1", input={"x": 1}, output=documents)]))


def test_calls_in_blocks_of_others_and_as_json_text():
    made = {"type": "tool_call", "tool_call_id": "c1", "name": "a", "arguments": {"x": 1}}
    answer = {"role": "tool", "tool_call_id": "c1", "content": [{"type": "tool_result", "tool_result": {"y": [2]}}]}
    wanted = call("a", id="c1", input={"x": 1}, output={"y": [2]})
    messages = [user("hi"), {"role": "assistant", "content": [said("I look."), made]}, answer]
    check(messages, ("hi", "I look.", [wanted]))
    assert evaluate(messages, [{"name": "a", "arguments": {"x": 1}}], "exact").passed
    text = json.dumps([function("c1", "a", '{"x": 1}')])
    row = {"role": "assistant", "content": None, "tool_calls": text}
    check([user("hi"), row, tool("c1", "A")], ("hi", None, [wanted | {"output": "A"}]))
    # A table that keeps the ids of results, and none of calls.
    row["tool_calls"] = '[{"name": "a", "arguments": "{}"}]'
    check([row, tool("c9", "A", tool_name="a")], (None, None, [call("a", input={}, output="A")]))
    with pytest.raises(InvalidInput, match=r"^messages\[0\]\.tool_calls: not JSON"):
        told([row | {"tool_calls": "["}])


def test_the_name_of_an_assistant_is_the_agent_of_its_calls():
    messages = [
        user("hi"),
        assistant(None, function("c1", "a"), name="planner"),
        tool("c1", "A", name="a"),
        assistant(None, function("c2", "b"), name="writer"),
    ]
    trace = Trace.from_messages(messages)
    assert [(span.name, span.agent) for span in trace.tool_calls] == [("a", "planner"), ("b", "writer")]


def test_what_is_spoken_is_said():
    spoken = assistant(None, audio={"id": "a", "data": "AAAA", "transcript": "Hello."})
    check([user("hi"), spoken], ("hi", "Hello.", []))


# Anthropic


def anthropic(*blocks, role="assistant"):
    return {"role": role, "content": list(blocks)}


def said(text):
    return {"type": "text", "text": text}


def test_tools_of_the_server_and_of_mcp_answer_in_the_same_message():
    found = [{"type": "web_search_result", "url": "https://example.org", "title": "T", "encrypted_content": "x"}]
    ran = {"type": "bash_code_execution_result", "stdout": "2\n", "stderr": "", "return_code": 0, "content": []}
    failed = {"type": "web_fetch_tool_result_error", "error_code": "url_not_accessible"}
    messages = [
        user("hi"),
        anthropic(
            {"type": "thinking", "thinking": "Hm.", "signature": "x"},
            said("I look."),
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}},
            {"type": "web_search_tool_result", "tool_use_id": "s1", "content": found},
            {"type": "server_tool_use", "id": "s2", "name": "bash_code_execution", "input": {"command": "echo 2"}},
            {"type": "bash_code_execution_tool_result", "tool_use_id": "s2", "content": ran},
            {"type": "server_tool_use", "id": "s3", "name": "web_fetch", "input": {"url": "u"}},
            {"type": "web_fetch_tool_result", "tool_use_id": "s3", "content": failed},
            {"type": "mcp_tool_use", "id": "m1", "name": "ask", "server_name": "wiki", "input": {"q": 1}},
            {"type": "mcp_tool_result", "tool_use_id": "m1", "is_error": True, "content": [said("no such page")]},
            {"type": "tool_use", "id": "t1", "name": "local", "input": {}},
        ),
        anthropic({"type": "tool_result", "tool_use_id": "t1", "content": "L"}, role="user"),
        anthropic(said("Done.")),
    ]
    wanted = [
        call("web_search", id="s1", input={"query": "q"}, output=found),
        call("bash_code_execution", id="s2", input={"command": "echo 2"}, output=ran),
        call("web_fetch", id="s3", input={"url": "u"}, output=failed, status="error", error="url_not_accessible"),
        call("ask", id="m1", input={"q": 1}, output="no such page", status="error"),
        call("local", id="t1", input={}, output="L"),
    ]
    check(messages, ("hi", "Done.", wanted))
    # Scoring reads the same calls.
    names = ["web_search", "bash_code_execution", "web_fetch", "ask", "local"]
    assert evaluate(messages, [{"name": name} for name in names], "exact").passed
    assert [span.name for span in Trace.from_parts(tool_calls=messages).tool_calls] == names


def test_what_comes_after_a_tool_of_the_server_is_the_answer():
    use = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
    wanted = call("web_search", id="s1", input={"query": "q"}, output=[])
    after = [said("It is"), said("late.")]
    check([user("hi"), anthropic(said("I look."), use, found, *after)], ("hi", "It is\nlate.", [wanted]))
    check([user("hi"), anthropic(said("I look."), use, found)], ("hi", "I look.", [wanted]))
    uses = {"toolUse": {"toolUseId": "s1", "name": "web_search", "input": {"query": "q"}, "type": "server_tool_use"}}
    found = {"toolResult": {"toolUseId": "s1", "content": [{"json": []}]}}
    check([user("hi"), anthropic({"text": "I look."}, uses, found, {"text": "Late."})], ("hi", "Late.", [wanted]))
    check([user("hi"), anthropic({"text": "I look."}, uses, found)], ("hi", "I look.", [wanted]))


def test_a_text_that_speaks_of_an_error_is_no_status():
    messages = [
        anthropic({"type": "tool_use", "id": "1", "name": "a", "input": {}}),
        anthropic({"type": "tool_result", "tool_use_id": "1", "content": "Error: no such order"}, role="user"),
    ]
    check(messages, (None, None, [call("a", id="1", input={}, output="Error: no such order")]))


def test_a_response_of_anthropic_is_a_message():
    response = anthropic(said("Hello.")) | {"id": "msg", "type": "message", "stop_reason": "end_turn", "usage": {}}
    check(response, (None, "Hello.", []))
    check([user("hi"), response], ("hi", "Hello.", []))
    check({"messages": [user("hi")], "response": response}, ("hi", "Hello.", []))


# OpenAI's Responses API

ITEMS = [
    {"role": "user", "content": "Where is order 42?"},
    {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "x"},
    {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "c1",
        "name": "lookup",
        "arguments": '{"id": 42}',
        "status": "completed",
    },
    {"type": "function_call_output", "call_id": "c1", "output": "late"},
    {
        "type": "message",
        "id": "msg",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "It is late.", "annotations": []}],
    },
]


def test_items_of_the_responses_api():
    check(ITEMS, TOLD[0])
    check({"model": "m", "input": "Where is order 42?", "output": ITEMS[1:]}, TOLD[0])
    check({"model": "m", "input": ITEMS[:4], "object": "response", "output": ITEMS[4:]}, TOLD[0])
    check([*ITEMS[:1], {"object": "response", "output": ITEMS[1:3]}, *ITEMS[3:]], TOLD[0])


def test_what_a_server_searched_is_a_retrieval():
    found = [{"file_id": "f", "text": "Refunds take 3 days.", "score": 0.9}]
    search = {"type": "file_search_call", "id": "fs", "status": "completed", "queries": ["refund"], "results": found}
    trace = Trace.from_messages([user("hi"), search])
    assert trace.context == found
    assert trace.tool_calls == ()
    assert trace.retrievals[0].input == {"queries": ["refund"]}
    # Results that were not asked for are not known.
    assert Trace.from_messages([user("hi"), search | {"results": None}]).retrievals[0].output is None


def test_a_failed_call_of_mcp():
    failed = {
        "type": "mcp_call",
        "id": "mcp_1",
        "server_label": "wiki",
        "name": "ask",
        "arguments": '{"q": 1}',
        "output": None,
        "error": {"type": "mcp_tool_execution_error", "content": "no"},
        "status": "failed",
    }
    error = '{"type": "mcp_tool_execution_error", "content": "no"}'
    check([failed], (None, None, [call("ask", id="mcp_1", input={"q": 1}, status="failed", error=error)]))


# Bedrock


BEDROCK = [
    {"role": "user", "content": [{"text": "Where is order 42?"}]},
    {
        "role": "assistant",
        "content": [
            {"text": "I look."},
            {"toolUse": {"toolUseId": "c1", "name": "lookup", "input": {"id": 42}}},
        ],
    },
    {
        "role": "user",
        "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "late"}], "status": "success"}}],
    },
    {"role": "assistant", "content": [{"text": "It is late."}]},
]


def test_messages_of_bedrock_and_strands():
    asked, answered, (lookup,) = TOLD[0]
    wanted = (asked, answered, [lookup | {"status": "success"}])
    check(BEDROCK, wanted)
    check({"system_prompt": [{"text": "Be brief."}], "messages": BEDROCK}, wanted)
    response = {"output": {"message": BEDROCK[3]}, "stopReason": "end_turn", "usage": {}}
    check({"request": {"modelId": "m", "messages": BEDROCK[:3]}, "response": response}, wanted)


# What messages come in


def pairs(messages):
    """Each request tells all that came before its response."""
    for place, message in enumerate(messages):
        if message["role"] == "assistant":
            request = {"model": "m", "messages": messages[:place]}
            yield {"request": request, "response": {"choices": [{"index": 0, "message": message}]}}


def test_requests_tell_the_past_again_and_it_counts_once():
    check(list(pairs(CONVERSATION)), *TOLD)
    check(
        [{"request": json.dumps(pair["request"]), "response": pair["response"]} for pair in pairs(CONVERSATION)], *TOLD
    )
    states = [{"messages": CONVERSATION[:length]} for length in range(1, len(CONVERSATION) + 1)]
    check(states, *TOLD)
    with pytest.raises(InvalidInput, match=r"^messages\[1\]\.messages: another conversation begins here"):
        told([{"messages": CONVERSATION}, {"messages": [user("hi")]}])


def test_requests_that_leave_the_past_to_the_server():
    first = {"request": {"input": ITEMS[:1], "model": "m"}, "response": {"object": "response", "output": ITEMS[1:3]}}
    second = {
        "request": {"input": ITEMS[3:4], "model": "m", "previous_response_id": "r"},
        "response": {"object": "response", "output": ITEMS[4:]},
    }
    check([{"request": {}, "response": {"object": "conversation"}}, first, second], TOLD[0])


def test_only_the_first_of_several_choices_was_made():
    choices = [{"index": place, "message": assistant(text)} for place, text in enumerate(["a", "b"])]
    check({"messages": [user("hi")], "choices": choices}, ("hi", "a", []))


def test_lines_of_the_batch_api():
    body = {"choices": [{"message": CONVERSATION[1]}]}
    line = {"id": "b", "custom_id": "1", "response": {"status_code": 200, "body": body}, "error": None}
    check(line, (None, "I look.", [call("lookup", id="c1", input={"id": 42})]))
    line = {"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": {"messages": [ASKED]}}
    check(line, ("Where is order 42?", None, []))


def test_what_no_dialect_reads_is_an_error_that_lists_them():
    known = r"each with a role and without arguments, or of .*OpenAI Responses items.*; no item is one"
    for unknown in ({}, {"a": 1}, [{"a": 1}], [5], [[ASKED]], "{}", [{"name": "a", "arguments": {}}]):
        with pytest.raises(InvalidType, match=known):
            told(unknown)
    for unknown in (5, None, object(), {1, 2}, "5", "null"):
        with pytest.raises(InvalidType, match=r"^messages: expected a list of chat messages, got "):
            told(unknown)
    for broken in ("[", "x", b"\xff", "data: {"):
        with pytest.raises(InvalidInput, match=r"^messages: .*not JSON|^messages: .*UTF-8"):
            told(broken)
    with pytest.raises(InvalidInput, match=r"look like .* and like .*"):
        told([*BEDROCK, *ITEMS])


def test_scoring_says_who_reads_the_messages_of_others():
    """It reads chat messages alone, and calls of others must not pass for none."""
    for messages in (
        [{"role": "user", "content": "hi"}, {"role": "model", "parts": []}],
        BEDROCK,
    ):
        with pytest.raises(InvalidInput, match=r"Trace\.from_messages reads the messages of other providers"):
            evaluate(messages, [{"name": "lookup"}])


# Streams


def sent(chunks):
    """As a server sends them."""
    lines = [f"event: x\ndata: {json.dumps(chunk)}\n\n" for chunk in chunks]
    return ": keep-alive\n\n" + "".join(lines) + "data: [DONE]\n\n"


def chat_chunks(text, made, finish_reason="tool_calls", id="c"):
    """The chunks of one message, arguments in pieces of three characters."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in text]
    for place, (call_id, name, arguments) in enumerate(made):
        begin = {"index": place, "id": call_id, "type": "function", "function": {"name": name, "arguments": ""}}
        deltas.append({"tool_calls": [begin]})
        for start in range(0, len(arguments), 3):
            piece = {"index": place, "function": {"arguments": arguments[start : start + 3]}}
            deltas.append({"tool_calls": [piece]})
    chunk = {"id": id, "object": "chat.completion.chunk", "usage": None}
    each = [chunk | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    return [
        *each,
        chunk | {"choices": [{"index": 0, "delta": {}, "finish_reason": finish_reason}]},
        chunk | {"choices": [], "usage": {"completion_tokens": 2, "prompt_tokens": 1, "total_tokens": 3}},
    ]


def test_chunks_are_put_together_to_a_message():
    chunks = chat_chunks("I look.", [("c1", "lookup", '{"id": 42}')])
    check([ASKED, *chunks, *CONVERSATION[2:]], *TOLD)
    lookup = call("lookup", id="c1", input={"id": 42})
    check({"request": {"messages": [ASKED]}, "response": sent(chunks)}, (ASKED["content"], "I look.", [lookup]))
    second = chat_chunks("It is late.", [], "stop", id="d")
    check([ASKED, *chunks, *second], (ASKED["content"], "It is late.", [lookup]))
    assert told(sent(chunks)) == told(sent(chunks).encode()) == told(chunks)


def test_arguments_that_a_stream_cut_off_are_not_recorded():
    chunks = chat_chunks("", [("c1", "a", '{"id": 42}'), ("c2", "b", '{"id": 42}')])
    whole = call("a", id="c1", input={"id": 42})
    # Of the second call: its begin, and four pieces.
    second = next(place for place, chunk in enumerate(chunks) if '"c2"' in json.dumps(chunk))
    for length in range(4):
        check(chunks[: second + 1 + length], (None, None, [whole, call("b", id="c2")]))
    # The last piece makes it whole.
    check(chunks[: second + 5], (None, None, [whole, call("b", id="c2", input={"id": 42})]))
    cut = chat_chunks("", [("c1", "a", '{"id": 4')], "length")
    check(cut, (None, None, [call("a", id="c1")]))
    # What the model wrote and nobody cut stays as it was written.
    wrong = chat_chunks("", [("c1", "a", '{"id": 4')])
    check(wrong, (None, None, [call("a", id="c1", input='{"id": 4')]))


@given(st.text(max_size=20), st.lists(st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=5))))
def test_a_stream_says_what_the_message_says(text, arguments):
    made = [(f"c{place}", f"t{place}", json.dumps(each)) for place, each in enumerate(arguments)]
    message = assistant(text, *(function(*each) for each in made))
    assert told([ASKED, *chat_chunks(text, made)]) == told([ASKED, message])
    assert told(sent(chat_chunks(text, made))) == told([message])


def test_events_of_anthropic_are_put_together():
    events = [
        {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm."}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "x"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "I look."}},
        {"type": "content_block_stop", "index": 1},
        {
            "type": "content_block_start",
            "index": 2,
            "content_block": {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
        },
        {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": '{"query"'}},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": ': "q"}'}},
        {"type": "content_block_stop", "index": 2},
        {
            "type": "content_block_start",
            "index": 3,
            "content_block": {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
        },
        {"type": "content_block_stop", "index": 3},
        {
            "type": "content_block_start",
            "index": 4,
            "content_block": {"type": "tool_use", "id": "t", "name": "a", "input": {}},
        },
        {"type": "content_block_stop", "index": 4},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}},
        {"type": "message_stop"},
    ]
    wanted = [call("web_search", id="s1", input={"query": "q"}, output=[]), call("a", id="t", input={})]
    check([user("hi"), *events], ("hi", "I look.", wanted))
    check({"request": {"messages": [user("hi")]}, "response": sent(events)}, ("hi", "I look.", wanted))


def test_of_events_of_the_responses_api_the_last_counts():
    response = {"object": "response", "output": ITEMS[1:3]}
    events = [
        {"type": "response.created", "response": response | {"output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": ITEMS[2] | {"arguments": ""}},
        {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": '{"id": 42}'},
        {"type": "response.output_item.done", "output_index": 0, "item": ITEMS[2]},
        {"type": "response.completed", "response": response},
    ]
    wanted = call("lookup", id="c1", input={"id": 42})
    for length in (4, 5):
        check([user("hi"), *events[:length]], ("hi", None, [wanted]))
    check([user("hi"), *events, ITEMS[3]], ("hi", None, [wanted | {"output": "late"}]))
    # Begun and never done: nobody knows the arguments.
    cut = {"type": "response.output_item.added", "output_index": 0}
    cut["item"] = ITEMS[2] | {"arguments": "", "status": "in_progress"}
    check([user("hi"), events[0], cut], ("hi", None, [wanted | {"input": None}]))


# Objects


class Role(enum.Enum):
    USER = "user"


class Function(BaseModel):
    name: str
    arguments: str


class ToolCall(BaseModel):
    id: str
    function: Function
    type: str = "function"


class Message(BaseModel):
    role: str | Role
    content: Any = None
    tool_calls: list[ToolCall] | None = None
    tool_call_id: str | None = None
    name: str | None = None
    refusal: str | None = None


@dataclasses.dataclass
class Block:
    text: str | None = None
    image: Any = None
    toolUse: Any = None  # noqa: N815
    toolResult: Any = None  # noqa: N815


def test_models_are_what_they_dump():
    models = [Message.model_validate(message) for message in CONVERSATION]
    models[0].role = Role.USER
    assert told(models) == TOLD
    assert told({"messages": models}) == told(tuple(models)) == TOLD
    assert told([*models[:1], *CONVERSATION[1:2], *models[2:]]) == TOLD

    class State(BaseModel):
        messages: list[Message]
        retries: int = 0

    assert told(State(messages=models)) == TOLD


def test_what_only_one_kind_of_message_has_is_kept():
    class Said(BaseModel):
        role: str
        content: Any = None

    class Called(Said):
        tool_calls: list[ToolCall]

    class State(BaseModel):
        messages: list[Said]

    class Own(Said):
        def model_dump(self) -> dict[str, Any]:  # type: ignore[override]
            return {"role": self.role, "content": "own"}

    made = ToolCall(id="1", function=Function(name="a", arguments="{}"))
    state = State(messages=[Said(role="user", content="hi"), Called(role="assistant", tool_calls=[made])])
    assert told(state) == [("hi", None, [call("a", id="1", input={})])]
    assert told([Own(role="user", content="hi")]) == [("own", None, [])]


def test_clients_of_openai():
    chat = pytest.importorskip("openai.types.chat")
    responses = pytest.importorskip("openai.types.responses")
    about = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
    choice = {"index": 0, "finish_reason": "tool_calls", "message": CONVERSATION[1]}
    completion = chat.ChatCompletion.model_validate(about | {"choices": [choice]})
    for made in (completion, completion.choices[0].message, completion.model_dump(), completion.model_dump_json()):
        assert told(made)[0][2] == [call("lookup", id="c1", input={"id": 42})]
    assert told([ASKED, completion, *CONVERSATION[2:]]) == TOLD
    assert told([ASKED, completion.choices[0].message, *CONVERSATION[2:]]) == TOLD
    chunks = chat_chunks("I look.", [("c1", "lookup", '{"id": 42}')])
    chunks = [chat.ChatCompletionChunk.model_validate(chunk | {"created": 1, "model": "m"}) for chunk in chunks]
    assert told([ASKED, *chunks, *CONVERSATION[2:]]) == TOLD
    response = responses.Response.model_validate(
        {"id": "r", "object": "response", "created_at": 1, "model": "m", "output": ITEMS[1:3], "tools": []}
        | {"parallel_tool_calls": True, "tool_choice": "auto"}
    )
    assert told([ITEMS[0], response, *ITEMS[3:]]) == [TOLD[0]]
    assert told([ITEMS[0], *response.output, *ITEMS[3:]]) == [TOLD[0]]


def test_messages_may_be_any_objects_with_such_attributes():
    def objects(value):
        if isinstance(value, dict):
            return types.SimpleNamespace(**{key: objects(each) for key, each in value.items()})
        return [objects(each) for each in value] if isinstance(value, list) else value

    assert told(objects(CONVERSATION)) == TOLD
    blocks = [
        {"role": "user", "content": [Block(text="hi"), Block(image={"source": {"bytes": b"\x89PNG"}})]},
        {"role": "assistant", "content": [Block(toolUse={"toolUseId": "1", "name": "a", "input": {"x": 1}})]},
    ]
    plain = [user([{"text": "hi"}]), blocks[1]]
    assert told(plain) == [("hi", None, [call("a", id="1", input={"x": 1})])]


def test_what_is_no_json_value_may_be_said():
    image = {"image": {"format": "png", "source": {"bytes": b"\x89PNG"}}}
    messages = [{"role": "user", "content": [{"text": "Look:"}, image]}, *BEDROCK[1:]]
    assert told(messages)[0][0] == "Look:\n[image]"
    # Also as the output of a tool, where it is shown and not listed.
    messages = copy.deepcopy(BEDROCK)
    messages[2]["content"][0]["toolResult"]["content"].append(image)
    assert told(messages)[0][2][0]["output"] == "late\n[image]"
    when = datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc)
    assert told([user(["at", when, b"x"])])[0][0] == "at\n[datetime]\n[bytes]"
    assert told([assistant("Done.", created_at=when, raw=object(), usage={"at": {when}})])[0][1] == "Done."

    class Media(BaseModel):
        role: str = "user"
        content: Any = None
        data: bytes = b"\xff\xfe"

    assert told([Media(content=["see", b"\xff"])])[0][0] == "see\n[bytes]"


def test_tools_are_given_json_values_and_give_such():
    when = datetime.date(2026, 1, 2)
    for bad, path in (
        (
            [user("hi"), assistant(None, function("1", "a", {"since": when}))],
            r"[1].tool_calls[0].function.arguments.since",
        ),
        (
            {"messages": [user("hi"), assistant(None, function("1", "a")), tool("1", {"at": [when]})]},
            r".messages[2].content.at[0]",
        ),
        (
            [{"role": "assistant", "content": [{"toolUse": {"name": "a", "input": {"x": when}}}]}],
            "[0].content[0].toolUse.input.x",
        ),
        ([{"type": "mcp_call", "id": "1", "name": "a", "arguments": "{}", "output": when}], "[0].output"),
        ({"object": "response", "output": [ITEMS[2], ITEMS[3] | {"output": {"at": when}}]}, ".output[1].output.at"),
    ):
        with pytest.raises(InvalidType) as caught:
            told(bad)
        assert str(caught.value) == f"messages{path}: date is not a JSON value"
        assert caught.value.path == f"messages{path}"


def test_times_and_exceptions_are_told_as_texts():
    made = function("1", "a", started_at=datetime.datetime(2026, 1, 2, 3, tzinfo=datetime.timezone.utc))
    failed = tool("1", None, error=ValueError("no such order"), status="error")
    (span,) = Trace.from_messages([assistant(None, made), failed]).tool_calls
    assert span.started_at == made["started_at"]
    assert (span.status, span.error) == ("error", "no such order")


def test_what_models_raise_passes_through():
    class Rude(BaseModel):
        role: str = "user"

        def model_dump(self, **_: Any) -> dict[str, Any]:
            raise LookupError("no")

    with pytest.raises(LookupError):
        told([Rude()])


# Nothing is lost

CALLED = [call("f", id="1", input={})]
READS_OTHERS = r"Trace\.from_messages reads the messages of other providers"


def made(name="f", id="1", arguments="{}"):
    return assistant(None, function(id, name, arguments))


def refuses(messages, match):
    for form in FORMS:
        with pytest.raises((InvalidInput, InvalidType), match=match):
            told(form(messages))


def named(messages):
    return [span["name"] for turn in told(messages) for span in turn[2]]


OTHERS = {
    "bedrock": {"role": "assistant", "content": [{"toolUse": {"toolUseId": "0", "name": "own", "input": {}}}]},
    "vercel": anthropic({"type": "tool-call", "toolCallId": "0", "toolName": "own", "input": {}}),
    "haystack": {"role": "assistant", "meta": {}, "content": [{"tool_call": {"tool_name": "own", "arguments": {}}}]},
    "llama_index": {
        "role": "assistant",
        "additional_kwargs": {},
        "blocks": [{"block_type": "tool_call", "tool_call_id": "0", "tool_name": "own", "tool_kwargs": {}}],
    },
    "semantic_kernel": {
        "content_type": "message",
        "role": "assistant",
        "items": [{"content_type": "function_call", "id": "0", "name": "own", "arguments": "{}"}],
    },
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_chat_messages_among_those_of_another_dialect_keep_their_calls(other):
    for mine in (made(), {"role": "assistant", "content": "", "function_call": {"name": "f", "arguments": "{}"}}):
        for messages in ([other, mine], [mine, other]):
            assert sorted(named(messages)) == ["f", "own"]
    messages = [other, made(), tool("1", "r")]
    assert told(messages)[0][2][1] == call("f", id="1", input={}, output="r")
    # Null and none are no calls.
    assert named([other | {"tool_calls": None, "function_call": None}]) == ["own"]
    assert named([other | {"tool_calls": []}]) == ["own"]
    refuses([other | {"tool_calls": made()["tool_calls"]}], r"^messages\[0\]\.(tool_calls|content)")
    for block in (
        {"type": "tool_use", "id": "1", "name": "f", "input": {}},
        {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
        {"id": "1", "name": "f", "input": {}},
    ):
        refuses([other, anthropic(block)], r"^messages\[1\]\.content|^messages.*look like")
        refuses([other, {"role": "assistant", "content": block}], r"^messages\[1\]\.content")


def test_only_an_assistant_makes_calls():
    use = {"type": "tool_use", "id": "1", "name": "f", "input": {}}
    for role in ("user", "system", "tool"):
        message = made() | {"role": role, "content": "x"}
        refuses([OTHERS["bedrock"], message], r"^messages\[1\]\.tool_calls: only messages of the assistant")
    refuses([OTHERS["bedrock"], anthropic(use, role="user")], r"^messages\[1\]\.content\[0\]: a tool call")
    # In chat, what is shown in other messages is none.
    assert named([anthropic(use, role="user")]) == []


def test_texts_in_parts_do_not_outvote_calls():
    asked = user("q") | {"parts": [said("q")]}
    check([asked, made(), tool("1", "r")], ("q", None, [call("f", id="1", input={}, output="r")]))


def test_a_single_block_of_bedrock_needs_no_list():
    use = {"toolUse": {"toolUseId": "1", "name": "f", "input": {}}}
    check([{"role": "assistant", "content": use}], (None, None, CALLED))
    refuses(
        [{"role": "assistant", "content": {"toolUse": {}}}], r"^messages\[0\]\.content\.toolUse: a tool call without"
    )
    assert told([{"role": "assistant", "content": [Block(text="I look."), Block(toolUse=use["toolUse"])]}]) == [
        (None, "I look.", CALLED)
    ]


UNKNOWN = [
    {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
    {"type": "toolCall", "id": "1", "name": "f", "arguments": {}},
    {"type": "function", "id": "1", "function": {"name": "f", "arguments": "{}"}},
    {"type": "tool-call", "toolName": "f", "input": {}},
    {"type": "mcp_call", "id": "1", "name": "f", "arguments": "{}"},
    {"type": "server_tool_call", "id": "1", "name": "f", "args": {}},
    {"id": "1", "name": "f", "input": {}},
    {"toolUse": {"name": "f", "input": {}}},
]


@pytest.mark.parametrize("block", UNKNOWN)
def test_a_block_that_may_be_a_call_is_no_text(block):
    with pytest.raises(InvalidInput, match=READS_OTHERS):
        evaluate([user("hi"), anthropic(said("I look."), block)], [], "exact")
    with pytest.raises(InvalidInput, match=READS_OTHERS):
        evaluate(json.dumps([user("hi"), {"role": "assistant", "content": block}]), [], "exact")
    with pytest.raises(InvalidInput, match=READS_OTHERS):
        evaluate([user("hi"), {"role": "assistant", "content": block}], [], "exact")
    if "toolUse" not in block:
        refuses([user("hi"), anthropic(said("I look."), block)], r"^messages\[1\]\.content\[1\].*" + READS_OTHERS)
        refuses([user("hi"), {"role": "assistant", "content": block}], r"^messages\[1\]\.content.*" + READS_OTHERS)


def test_a_block_without_the_list_around_it_is_an_error():
    alone = {"role": "assistant", "content": {"type": "tool_use", "id": "1", "name": "f", "input": {}}}
    refuses([alone], r"^messages\[0\]\.content: ")
    for form in FORMS[:2]:
        with pytest.raises(InvalidInput, match="content"):
            evaluate(form([alone]), [], "exact")
    # What is plainly said, is said.
    check([{"role": "assistant", "content": said("Hi.")}], (None, "Hi.", []))


def test_scoring_says_who_reads_custom_tools_and_other_items():
    custom = {"id": "c1", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}}
    for messages in ([assistant(None, custom)], [user("hi"), UNKNOWN[0]]):
        with pytest.raises((InvalidInput, InvalidType), match=READS_OTHERS):
            evaluate(messages, [], "exact")


def test_scoring_tells_what_is_wrong_in_a_block_of_a_call():
    use = {"type": "tool_use", "id": "1", "name": "f", "input": {"since": datetime.date(2026, 1, 2)}}
    with pytest.raises(InvalidType, match=r"content\[0\]\.input\.since: date is not a JSON value"):
        evaluate([anthropic(use)], [], "exact")


def test_blocks_beside_tool_calls_count_once():
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}}
    again = {"type": "tool_use", "id": "1", "name": "f", "input": {"x": 1}}
    message = made(arguments='{"x": 1}')
    for block, names in (
        ([search], ["f", "web_search"]),
        ([again], ["f"]),
        ([again, search], ["f", "web_search"]),
        ([{key: value for key, value in again.items() if key != "id"}], ["f"]),
        ([again | {"id": "2", "name": "g"}], ["f", "g"]),
        ([again | {"type": "function_call"}], ["f"]),
    ):
        messages = [message | {"content": [said("I look."), *block]}]
        assert named(messages) == named(json.dumps(messages)) == names
        for form in FORMS[:2]:
            assert evaluate(form(messages), [{"name": name} for name in names], "exact").passed
    assert named([message | {"content": [again | {"input": {}}]}]) == ["f"]
    assert named([message | {"content": [again | {"id": "2"}]}]) == ["f", "f"]


USES_F = anthropic({"type": "tool_use", "id": "1", "name": "f", "input": {}})


def test_what_containers_hold_is_read():
    asked = user("hi")
    choices = {"choices": [{"message": made()}]}
    whole = ("hi", None, CALLED)
    check({"input": {"messages": [asked, USES_F]}, "output": assistant("done")}, ("hi", "done", CALLED))
    check({"input": asked, "output": made()}, whole)
    check({"messages": [asked], "completion": made()}, whole)
    check({"messages": [asked], "completion": [made()]}, whole)
    check({"messages": [asked], "completion": choices}, whole)
    check({"messages": [asked], "output": choices}, whole)
    check({"request": {"messages": [asked]}, "response": {"output": choices}}, whole)
    check({"messages": [asked], "response": {"error": {"code": 529}}}, ("hi", None, []))
    body = {"status_code": 400, "body": {"error": {"code": "bad"}}}
    check([{"messages": [asked]}, {"request": {}, "response": body}], ("hi", None, []))


@pytest.mark.parametrize(
    ("container", "key"),
    [
        ({"messages": [ASKED], "output": {"tool_calls": [function("1", "f")]}}, "output"),
        ({"messages": [ASKED], "completion": {"tool_calls": [function("1", "f")]}}, "completion"),
        ({"messages": [ASKED], "input": [ASKED, made()]}, "input"),
        ({"messages": [ASKED], "input": {"a": 1}}, "input"),
        ({"messages": [ASKED], "request": {"a": 1}}, "request"),
        ({"messages": [ASKED], "message": [made()]}, "message"),
        ({"messages": [ASKED], "response": {"error": None, "tool_calls": [function("1", "f")]}}, "response"),
        ({"request": {"prompt": "hi"}, "response": {"tool_calls": [function("1", "f")]}}, "request"),
        ({"request": {}, "response": {"tool_calls": [function("1", "f")]}}, "response"),
        ({"messages": [ASKED], "choices": [{"text": "x"}]}, r"choices\[0\]\.message"),
    ],
)
def test_what_containers_hold_and_nobody_reads_is_an_error(container, key):
    refuses(container, rf"^messages\.{key}: ")
    refuses([container], rf"^messages\[0\]\.{key}: ")


def test_candidates_are_what_gemini_says():
    asked = {"role": "user", "parts": [{"text": "hi"}]}
    part = {"functionCall": {"name": "f", "args": {}}}
    for candidate, spans in (
        ({"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}, []),
        ({"content": {}, "finishReason": "SAFETY"}, []),
        ({"finishReason": "SAFETY"}, []),
        ({"content": {"parts": [part]}}, [call("f", input={})]),
        ({"content": {"role": None, "parts": [part]}}, [call("f", input={})]),
    ):
        response = {"candidates": [candidate]}
        check([asked, response], ("hi", None, spans))
        check({"request": {"contents": [asked]}, "response": response}, ("hi", None, spans))
    for blocked in (
        {"promptFeedback": {"blockReason": "SAFETY"}},
        {"candidates": [], "promptFeedback": {"blockReason": "SAFETY"}},
    ):
        check({"request": {"contents": [asked]}, "response": blocked}, ("hi", None, []))
        check([{"contents": [asked]}, blocked], ("hi", None, []))
    refuses(
        [asked, {"candidates": [{"content": {"parts": [{"functionCall": 5}]}}]}],
        r"^messages\[1\]\.candidates\[0\]\.content\.parts\[0\]",
    )


def test_a_key_that_is_no_text_matters_only_where_the_value_does():
    assert told([assistant("Done.", usage={1: 2})]) == [(None, "Done.", [])]
    assert told([user(["see", {1: 2}])]) == [("see\n[dict]", None, [])]
    with pytest.raises(InvalidType, match=r"^messages\[0\]\.tool_calls\[0\]\.function\.arguments\.x: dict is not"):
        told([assistant(None, function("1", "f", {"x": {1: 2}}))])


class Array:
    """As those of numpy."""

    ndim = 1

    def __init__(self, items):
        self.items = items

    def tolist(self):
        return list(self.items)


LISTS = [collections.deque, collections.UserList, Array, tuple]
DICTS = [dict, collections.UserDict, types.MappingProxyType]


@pytest.mark.parametrize("of_list", LISTS)
@pytest.mark.parametrize("of_dict", DICTS)
def test_what_answers_like_a_list_or_a_dict_is_one(of_list, of_dict):
    def objects(value):
        if isinstance(value, dict):
            return of_dict({key: objects(each) for key, each in value.items()})
        return of_list([objects(each) for each in value]) if isinstance(value, list) else value

    for messages in (CONVERSATION, [user("hi"), USES_F], BEDROCK):
        assert told(objects(messages)) == told([objects(message) for message in messages]) == told(messages)
    assert told(objects({"messages": CONVERSATION})) == TOLD
    # Scoring, and a trace of calls, take a list of them.
    uses = [user("hi"), anthropic({"type": "tool_use", "id": "1", "name": "f"})]
    for messages, names in ((CONVERSATION, ["lookup", "refund", "notify"]), (uses, ["f"])):
        given = [objects(message) for message in messages]
        assert evaluate(given, [{"name": name} for name in names], "exact").passed
        assert [span.name for span in Trace.from_parts(tool_calls=given).tool_calls] == names


def test_blocks_may_be_any_objects_with_such_attributes():
    class Slots:
        __slots__ = ("toolUse",)

    slots = Slots()
    slots.toolUse = {"toolUseId": "1", "name": "f", "input": {}}
    for block in (types.SimpleNamespace(toolUse=slots.toolUse), slots):
        assert told([anthropic(types.SimpleNamespace(text="I look."), block)]) == [(None, "I look.", CALLED)]
    parts = [types.SimpleNamespace(text="x"), types.SimpleNamespace(functionCall={"name": "f", "args": {}})]
    assert named([{"role": "model", "parts": collections.deque(parts)}]) == ["f"]


def test_what_stands_for_the_blocks_and_is_none_is_an_error():
    for key in ("content", "parts", "items"):
        with pytest.raises(InvalidType, match=rf"^messages\[1\]\.{key}: expected a text or a list, got set"):
            told([ASKED, {"role": "assistant", "content": None, key: {1, 2}}])
    pixels = Array([[0, 0]])
    pixels.ndim = 3
    assert told([user(["see", pixels, bytearray(b"x")])]) == [("see\n[Array]\n[bytearray]", None, [])]


# Limits


def test_cycles_and_depth_are_errors():
    loop: list[Any] = [user("hi")]
    loop.append({"messages": loop})
    with pytest.raises(InvalidInput, match="nested deeper"):
        told(loop)
    loop.append(object())
    with pytest.raises(InvalidInput, match="nested deeper"):
        told(loop)
    deep: Any = {"role": "user", "content": "hi"}
    for _ in range(400):
        deep = {"request": deep}
    assert told(deep) == told(json.dumps(deep)) == [("hi", None, [])]


def test_long_streams_and_logs_take_linear_time():
    def seconds(messages):
        best = 60.0
        for _ in range(3):
            start = time.perf_counter()
            told(messages)
            best = min(best, time.perf_counter() - start)
        return best

    def stream(length):
        made = [(f"c{place}", "a", '{"x": 1}') for place in range(length)]
        return json.dumps(chat_chunks("text" * length, made))

    def items(length):
        return json.dumps([user("hi"), *(ITEMS[2:4] * length)])

    for make in (stream, items):
        assert seconds(make(5_000)) < 40 * seconds(make(500))


# Laws

TEXTS = st.text(max_size=4)
TURNS = st.lists(
    st.tuples(TEXTS, st.lists(st.tuples(st.sampled_from("ab"), TEXTS), max_size=3), TEXTS), max_size=4
).map(
    lambda turns: [
        message
        for turn, (asked, made, said) in enumerate(turns)
        for message in (
            user(asked),
            *(
                [
                    assistant(None, *(function(f"{turn}.{place}", name) for place, (name, _) in enumerate(made))),
                    *(tool(f"{turn}.{place}", output) for place, (_, output) in enumerate(made)),
                ]
                if made
                else []
            ),
            assistant(said),
        )
    ]
)


@given(TURNS)
def test_a_conversation_does_not_depend_on_what_it_comes_in(messages):
    wanted = told(messages)
    assert told({"messages": messages}) == wanted
    assert told(list(pairs(messages))) == wanted
    assert told([Message.model_validate(message) for message in messages]) == wanted


@given(TURNS)
def test_dialects_tell_the_same(messages):
    """The same conversation, in the words of others."""
    items: list[dict[str, Any]] = []
    blocks: list[dict[str, Any]] = []
    for message in messages:
        made = message.get("tool_calls", [])
        if message["role"] == "tool":
            output = {"type": "function_call_output", "call_id": message["tool_call_id"], "output": message["content"]}
            items.append(output)
            result = {"toolUseId": message["tool_call_id"], "content": [{"text": message["content"]}]}
            blocks.append({"role": "user", "content": [{"toolResult": result}]})
        elif made:
            for each in made:
                items.append({"type": "function_call", "call_id": each["id"]} | each["function"])
            uses = [{"toolUseId": each["id"], "name": each["function"]["name"], "input": {}} for each in made]
            blocks.append({"role": "assistant", "content": [{"toolUse": use} for use in uses]})
        else:
            items.append(message)
            blocks.append({"role": message["role"], "content": [{"text": message["content"]}]})
    assert told(items) == told(messages) == told(blocks)
