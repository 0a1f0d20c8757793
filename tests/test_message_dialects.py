"""Messages of frameworks: Gemini and ADK, LangChain, Pydantic AI, Vercel, Haystack, LlamaIndex and others.

What each message says was worked out by hand from its format. The core's tests say what is read of every kind of part;
here a conversation of each dialect comes in every form that users have it in.
"""

import dataclasses
import enum
import json
from datetime import datetime, timezone
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from callmatch import InvalidInput, InvalidType, Trace
from callmatch.metrics import ToolCallTrajectory


def told(messages):
    """Each turn's input, output and calls: name, arguments, output, and what else is known."""

    def call(span):
        known = {
            key: getattr(span, key) for key in ("id", "agent", "status", "error") if getattr(span, key) is not None
        }
        return span.name, span.arguments, span.output, known

    return [
        (turn.input, turn.output, [call(span) for span in turn.spans()]) for turn in Trace.from_messages(messages).turns
    ]


# The same conversation everywhere: two calls at once that are answered the other way round, the second with an error
# where the format can say so, then a call without arguments, and an answer.


def conversation(first, second, third, *, names=("lookup", "refund", "ping")):
    known = [{"id": id, **more} for id, more in zip("123", (first, second, third), strict=True)]
    outputs = [more.pop("output") for more in known]
    arguments = [{"order": 42}, {"order": 42, "amount": 12.5}, {}]
    return [("Refund order 42", "Done", list(zip(names, arguments, outputs, known, strict=True)))]


GEMINI = [
    {"role": "user", "parts": [{"text": "Refund order 42"}]},
    {
        "role": "model",
        "parts": [
            {"functionCall": {"id": "1", "name": "lookup", "args": {"order": 42}}, "thoughtSignature": "c2ln"},
            {"functionCall": {"id": "2", "name": "refund", "args": {"order": 42, "amount": 12.5}}},
        ],
    },
    {
        "role": "user",
        "parts": [
            {"functionResponse": {"id": "2", "name": "refund", "response": {"error": "closed"}}},
            {"functionResponse": {"id": "1", "name": "lookup", "response": {"output": {"state": "late"}}}},
        ],
    },
    {"role": "model", "parts": [{"functionCall": {"id": "3", "name": "ping", "args": {}}}]},
    {"role": "user", "parts": [{"functionResponse": {"id": "3", "name": "ping", "response": {"result": "pong"}}}]},
    {"role": "model", "parts": [{"text": "Thinking", "thought": True}, {"text": "Done"}]},
]
LATE = {"output": {"state": "late"}}
CLOSED = {"output": None, "status": "error", "error": "closed"}
PONG = {"output": "pong"}


def snake(value):
    words = {"functionCall": "function_call", "functionResponse": "function_response"}
    if isinstance(value, list):
        return [snake(item) for item in value]
    if isinstance(value, dict):
        return {words.get(key, key): snake(item) for key, item in value.items()}
    return value


ADK = [
    {
        "author": "user" if place == 0 else "refunds",
        "invocationId": "i",
        "id": f"e{place}",
        "actions": {},
        "content": content,
    }
    for place, content in enumerate(GEMINI)
]

LANGCHAIN = [
    ("system", {"content": "Be kind."}),
    ("human", {"content": "Refund order 42"}),
    (
        "ai",
        {
            "content": [{"type": "text", "text": "Let me look."}],
            "tool_calls": [
                {"name": "lookup", "args": {"order": 42}, "id": "1", "type": "tool_call"},
                {"name": "refund", "args": {"order": 42, "amount": 12.5}, "id": "2", "type": "tool_call"},
            ],
            "invalid_tool_calls": [],
        },
    ),
    ("tool", {"content": "closed", "tool_call_id": "2", "name": "refund", "status": "error", "id": "m"}),
    ("tool", {"content": '{"state": "late"}', "tool_call_id": "1", "name": "lookup", "status": "success"}),
    (
        "ai",
        {
            "content": "",
            "additional_kwargs": {"tool_calls": [{"id": "3", "function": {"name": "ping", "arguments": ""}}]},
        },
    ),
    ("tool", {"content": "pong", "tool_call_id": "3", "artifact": [1]}),
    ("ai", {"content": "Done", "tool_calls": []}),
]
CLASSES = {"system": "SystemMessage", "human": "HumanMessage", "ai": "AIMessage", "tool": "ToolMessage"}
DUMPED = [
    {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", CLASSES[kind]], "kwargs": fields}
    for kind, fields in LANGCHAIN
]
AS_DICTS = [{"type": kind, "data": fields} for kind, fields in LANGCHAIN]
MODEL_DUMPED = [{"type": kind, **fields} for kind, fields in LANGCHAIN]
CLOSED_BY_STATUS = {"output": "closed", "status": "error"}
LATE_TEXT = {"output": '{"state": "late"}'}

PYDANTIC_AI = [
    {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Refund order 42"}], "run_id": "r"},
    {
        "kind": "response",
        "parts": [
            {"part_kind": "tool-call", "tool_name": "lookup", "args": '{"order": 42}', "tool_call_id": "1"},
            {
                "part_kind": "tool-call",
                "tool_name": "refund",
                "args": {"order": 42, "amount": 12.5},
                "tool_call_id": "2",
            },
        ],
    },
    {
        "kind": "request",
        "parts": [
            {"part_kind": "retry-prompt", "tool_name": "refund", "content": "closed", "tool_call_id": "2"},
            {
                "part_kind": "tool-return",
                "tool_name": "lookup",
                "content": {"state": "late"},
                "tool_call_id": "1",
                "outcome": "success",
            },
        ],
    },
    {"kind": "response", "parts": [{"part_kind": "tool-call", "tool_name": "ping", "args": "{}", "tool_call_id": "3"}]},
    {
        "kind": "request",
        "parts": [{"part_kind": "tool-return", "tool_name": "ping", "content": "pong", "tool_call_id": "3"}],
    },
    {"kind": "response", "parts": [{"part_kind": "text", "content": "Done"}]},
]

VERCEL = [
    {"role": "user", "content": "Refund order 42"},
    {
        "role": "assistant",
        "content": [
            {"type": "tool-call", "toolCallId": "1", "toolName": "lookup", "input": {"order": 42}},
            {"type": "tool-call", "toolCallId": "2", "toolName": "refund", "input": {"order": 42, "amount": 12.5}},
        ],
    },
    {
        "role": "tool",
        "content": [
            {
                "type": "tool-result",
                "toolCallId": "2",
                "toolName": "refund",
                "output": {"type": "error-text", "value": "closed"},
            },
            {
                "type": "tool-result",
                "toolCallId": "1",
                "toolName": "lookup",
                "output": {"type": "json", "value": {"state": "late"}},
            },
        ],
    },
    {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "3", "toolName": "ping", "input": {}}]},
    {
        "role": "tool",
        "content": [
            {"type": "tool-result", "toolCallId": "3", "toolName": "ping", "output": {"type": "text", "value": "pong"}}
        ],
    },
    {"role": "assistant", "content": [{"type": "text", "text": "Done"}]},
]
UI = [
    {"id": "a", "role": "user", "parts": [{"type": "text", "text": "Refund order 42"}]},
    {
        "id": "b",
        "role": "assistant",
        "parts": [
            {"type": "step-start"},
            {
                "type": "tool-lookup",
                "toolCallId": "1",
                "state": "output-available",
                "input": {"order": 42},
                "output": {"state": "late"},
            },
            {
                "type": "dynamic-tool",
                "toolName": "refund",
                "toolCallId": "2",
                "state": "output-error",
                "input": {"order": 42, "amount": 12.5},
                "errorText": "closed",
            },
            {"type": "tool-ping", "toolCallId": "3", "state": "output-available", "input": {}, "output": "pong"},
            {"type": "text", "text": "Done", "state": "done"},
        ],
    },
]

LOOKUP = {"tool_name": "lookup", "arguments": {"order": 42}, "id": "1", "extra": None}
REFUND = {"tool_name": "refund", "arguments": {"order": 42, "amount": 12.5}, "id": "2", "extra": None}
PING = {"tool_name": "ping", "arguments": {}, "id": "3", "extra": None}


def haystack(role, *parts):
    return {"role": role, "meta": {}, "name": None, "content": list(parts)}


def haystack_result(result, origin, error=False):
    return haystack("tool", {"tool_call_result": {"result": result, "origin": origin, "error": error}})


HAYSTACK = [
    haystack("user", {"text": "Refund order 42"}),
    haystack("assistant", {"tool_call": LOOKUP}, {"tool_call": REFUND}),
    haystack_result("closed", REFUND, True),
    haystack_result('{"state": "late"}', LOOKUP),
    haystack("assistant", {"tool_call": PING}),
    haystack_result("pong", PING),
    haystack("assistant", {"text": "Done"}),
]


def llama(role, *blocks, **additional):
    return {"role": role, "additional_kwargs": additional, "blocks": list(blocks)}


def llama_text(text):
    return {"block_type": "text", "text": text}


LLAMA_INDEX = [
    llama("user", llama_text("Refund order 42")),
    llama(
        "assistant",
        {"block_type": "tool_call", "tool_call_id": "1", "tool_name": "lookup", "tool_kwargs": {"order": 42}},
        {
            "block_type": "tool_call",
            "tool_call_id": "2",
            "tool_name": "refund",
            "tool_kwargs": '{"order": 42, "amount": 12.5}',
        },
    ),
    llama("tool", llama_text("closed"), tool_call_id="2"),
    llama("tool", llama_text('{"state": "late"}'), tool_call_id="1"),
    llama("assistant", tool_calls=[{"id": "3", "type": "function", "function": {"name": "ping", "arguments": "{}"}}]),
    llama("tool", llama_text("pong"), tool_call_id="3"),
    llama("assistant", llama_text("Done")),
]
AGENT = "refunds"


def llama_call(id, name, **arguments):
    return {"tool_id": id, "tool_name": name, "tool_kwargs": arguments}


def llama_result(call, output, is_error=False):
    blocks = [llama_text(str(output))]
    tool_output = {"tool_name": call["tool_name"], "blocks": blocks, "raw_output": output, "is_error": is_error}
    return {**call, "tool_output": tool_output, "return_direct": False}


CALLS = [llama_call("1", "lookup", order=42), llama_call("2", "refund", order=42, amount=12.5), llama_call("3", "ping")]
LLAMA_EVENTS = [
    {"current_agent_name": AGENT, "input": [LLAMA_INDEX[0]]},
    {"current_agent_name": AGENT, "delta": "", "response": "", "tool_calls": CALLS[:2]},
    {"current_agent_name": AGENT, "response": llama("assistant"), "tool_calls": CALLS[:2]},
    *CALLS[:2],
    llama_result(CALLS[1], "closed", True),
    llama_result(CALLS[0], {"state": "late"}),
    {"current_agent_name": AGENT, "input": LLAMA_INDEX[:4]},
    {"current_agent_name": AGENT, "response": llama("assistant"), "tool_calls": CALLS[2:]},
    CALLS[2],
    llama_result(CALLS[2], "pong"),
    {"current_agent_name": AGENT, "response": LLAMA_INDEX[-1], "tool_calls": CALLS},
]


def kernel(role, *items):
    return {"content_type": "message", "metadata": {}, "role": role, "items": list(items)}


def kernel_call(id, name, arguments):
    plugin, function = name.split("-")
    names = {"name": name, "function_name": function, "plugin_name": plugin}
    return {"content_type": "function_call", "id": id, **names, "arguments": arguments}


def kernel_result(id, name, result):
    return kernel("tool", {"content_type": "function_result", "id": id, "name": name, "result": result})


SEMANTIC_KERNEL = [
    kernel("user", {"content_type": "text", "text": "Refund order 42"}),
    kernel(
        "assistant",
        kernel_call("1", "Orders-lookup", '{"order": 42}'),
        kernel_call("2", "Orders-refund", {"order": 42, "amount": 12.5}),
    ),
    kernel_result("2", "Orders-refund", "closed"),
    kernel_result("1", "Orders-lookup", {"state": "late"}),
    kernel("assistant", kernel_call("3", "Net-ping", "")),
    kernel_result("3", "Net-ping", "pong"),
    kernel("assistant", {"content_type": "text", "text": "Done"}),
]


def autogen(kind, source, content, **more):
    return {"type": kind, "source": source, "models_usage": None, "content": content, **more}


AUTOGEN = [
    autogen("TextMessage", "user", "Refund order 42"),
    autogen(
        "ToolCallRequestEvent",
        AGENT,
        [
            {"id": "1", "name": "lookup", "arguments": '{"order": 42}'},
            {"id": "2", "name": "refund", "arguments": '{"order": 42, "amount": 12.5}'},
        ],
    ),
    autogen(
        "ToolCallExecutionEvent",
        AGENT,
        [
            {"call_id": "2", "name": "refund", "content": "closed", "is_error": True},
            {"call_id": "1", "name": "lookup", "content": '{"state": "late"}', "is_error": False},
        ],
    ),
    autogen("ToolCallRequestEvent", AGENT, [{"id": "3", "name": "ping", "arguments": "{}"}]),
    autogen("ToolCallExecutionEvent", AGENT, [{"call_id": "3", "name": "ping", "content": "pong", "is_error": False}]),
    autogen("TextMessage", AGENT, "Done"),
]


def step(number, name, arguments, **more):
    call = {"id": str(number), "type": "function", "function": {"name": name, "arguments": arguments}}
    known = {"observations": None, "error": None, "action_output": None, "is_final_answer": False}
    return {"step_number": number, "tool_calls": [call], **known, **more}


SMOLAGENTS = [
    {"task": "Refund order 42", "task_images": None},
    step(1, "lookup", {"order": 42}, observations='{"state": "late"}'),
    step(2, "refund", {"order": 42, "amount": 12.5}, error={"type": "AgentToolExecutionError", "message": "closed"}),
    step(3, "ping", {}, observations="pong", action_output="Done", is_final_answer=True),
]

DSPY = {
    "thought_0": "look",
    "tool_name_0": "lookup",
    "tool_args_0": {"order": 42},
    "observation_0": {"state": "late"},
    "tool_name_1": "refund",
    "tool_args_1": {"order": 42, "amount": 12.5},
    "observation_1": "Execution error in refund: closed",
    "tool_name_2": "finish",
    "tool_args_2": {},
    "observation_2": "Completed.",
}


def crew(kind, id, name, arguments, **more):
    return {"type": kind, "event_id": id, "tool_name": name, "tool_args": arguments, "agent_role": AGENT, **more}


CREWAI = [
    {"type": "crew_kickoff_started", "inputs": None},
    crew("tool_usage_started", "1", "lookup", {"order": 42}),
    crew("tool_usage_started", "2", "refund", '{"order": 42, "amount": 12.5}'),
    crew("tool_usage_error", "4", "refund", {}, started_event_id="2", error="closed"),
    crew("tool_usage_finished", "5", "lookup", {}, started_event_id="1", output={"state": "late"}),
    crew("tool_usage_started", "3", "ping", {}),
    crew("tool_usage_finished", "6", "ping", {}, started_event_id="3", output="pong"),
    {"type": "crew_kickoff_completed", "output": {"raw": "Done"}},
]


def by(agent, known):
    return {**known, "agent": agent}


SUCCESS = {"status": "success"}
RIGHT = {
    "gemini": (GEMINI, conversation(LATE, CLOSED, PONG)),
    "gemini_of_the_sdk": (snake(GEMINI), conversation(LATE, CLOSED, PONG)),
    "adk": (ADK, conversation(*(by(AGENT, known) for known in (LATE, CLOSED, PONG)))),
    "langchain_dumpd": (DUMPED, conversation(LATE_TEXT | SUCCESS, CLOSED_BY_STATUS, PONG)),
    "langchain_messages_to_dict": (AS_DICTS, conversation(LATE_TEXT | SUCCESS, CLOSED_BY_STATUS, PONG)),
    "langchain_model_dump": (MODEL_DUMPED, conversation(LATE_TEXT | SUCCESS, CLOSED_BY_STATUS, PONG)),
    "pydantic_ai": (PYDANTIC_AI, conversation(LATE | SUCCESS, {"output": "closed", "status": "retried"}, PONG)),
    "vercel": (VERCEL, conversation(LATE, CLOSED, PONG)),
    "vercel_ui": (UI, conversation(LATE, CLOSED, PONG)),
    "haystack": (HAYSTACK, conversation(LATE_TEXT, CLOSED_BY_STATUS, PONG)),
    "llama_index": (LLAMA_INDEX, conversation(LATE_TEXT, {"output": "closed"}, PONG)),
    "llama_index_events": (
        LLAMA_EVENTS,
        conversation(*(by(AGENT, known) for known in (LATE, CLOSED_BY_STATUS, PONG))),
    ),
    "semantic_kernel": (
        SEMANTIC_KERNEL,
        conversation(LATE, {"output": "closed"}, PONG, names=("Orders-lookup", "Orders-refund", "Net-ping")),
    ),
    "autogen": (AUTOGEN, conversation(*(by(AGENT, known) for known in (LATE_TEXT, CLOSED_BY_STATUS, PONG)))),
    "smolagents": (SMOLAGENTS, conversation(LATE_TEXT, CLOSED, PONG)),
    "crewai": (CREWAI, [(None, *conversation(*(by(AGENT, known) for known in (LATE, CLOSED, PONG)))[0][1:])]),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_conversation_of_each_dialect_in_each_form(name):
    messages, right = RIGHT[name]
    for form in (messages, tuple(messages), json.dumps(messages), json.dumps(messages).encode()):
        assert told(form) == right


def test_a_trajectory_of_dspy():
    calls = [
        ("lookup", {"order": 42}, {"state": "late"}, {}),
        # What an observation says in words is no status.
        ("refund", {"order": 42, "amount": 12.5}, "Execution error in refund: closed", {}),
        ("finish", {}, "Completed.", {}),
    ]
    for form in (DSPY, [DSPY], {"trajectory": DSPY}, json.dumps(DSPY)):
        assert told(form) == [(None, None, calls)]
    assert told([DSPY, {"trajectory": DSPY, "answer": "Done"}]) == [(None, None, calls)] * 2


@pytest.mark.parametrize("name", ["größe", "größe“", "größe😀"])
def test_names_of_any_script(name):
    messages = [
        {"role": "assistant", "parts": [{"type": f"tool-{name}", "toolCallId": "1", "state": "x", "input": {}}]}
    ]
    for form in (messages, json.dumps(messages), json.dumps(messages, ensure_ascii=False)):
        assert told(form) == [(None, None, [(name, {}, None, {"id": "1"})])]
    messages = [{"type": "ai", "content": "", "tool_calls": [{"name": name, "args": {}, "id": name}]}]
    assert told(messages) == [(None, None, [(name, {}, None, {"id": name})])]
    messages = [kernel("assistant", {"content_type": "text", "text": name})]
    assert told(messages) == [(None, name, [])]


@pytest.mark.parametrize("name", ["langchain_model_dump", "langchain_dumpd", "semantic_kernel", "autogen"])
def test_the_state_that_holds_messages(name):
    messages, right = RIGHT[name]
    assert told({"messages": messages, "stop_reason": None}) == right


def test_what_else_holds_messages():
    assert told({"contents": GEMINI, "model": "m"}) == RIGHT["gemini"][1]
    assert told({"id": "s", "appName": "a", "state": {}, "events": ADK}) == RIGHT["adk"][1]
    assert told({"output": "Done", "state": "success", "steps": SMOLAGENTS}) == RIGHT["smolagents"][1]
    assert told(LLAMA_EVENTS[6]) == [(None, None, [("lookup", {"order": 42}, {"state": "late"}, {"id": "1"})])]


@pytest.mark.parametrize("name", [name for name in RIGHT if name not in ("crewai", "llama_index_events")])
def test_each_user_message_starts_a_turn(name):
    messages, right = RIGHT[name]
    (turn,) = right
    # The ids are those of the calls before, which have their results.
    assert [turn[:2] for turn in told([*messages, *messages])] == [turn[:2]] * 2


# Results of the others name no tool, or not all do.
NAMED = [name for name in RIGHT if not name.startswith(("langchain", "llama_index"))]
IDS = {"id", "tool_call_id", "toolCallId", "call_id", "event_id", "started_event_id"}


@pytest.mark.parametrize("name", NAMED)
def test_without_ids_results_go_by_name(name):
    def without(value):
        if isinstance(value, list):
            return [without(item) for item in value]
        if isinstance(value, dict):
            return {key: None if key in IDS else without(item) for key, item in value.items()}
        return value

    def unidentified(call):
        *said, known = call
        return (*said, {key: value for key, value in known.items() if key != "id"})

    messages, right = RIGHT[name]
    expected = [(*turn[:2], [unidentified(call) for call in turn[2]]) for turn in right]
    assert told(without(messages)) == expected


def test_they_are_scored():
    expected = [{"name": "lookup", "arguments": {"order": 42}}, {"name": "refund"}]
    for name, (messages, _) in RIGHT.items():
        if name == "semantic_kernel":
            continue
        trace = Trace.from_messages(messages)
        result = ToolCallTrajectory(match="in_order").evaluate(trace=trace, expectations={"tool_calls": expected})
        assert (result.score, result.details["matched"]) == (1.0, 2), name


# Objects, as the libraries make them


class AdkPart(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)
    text: str | None = None
    function_call: dict[str, Any] | None = None
    function_response: dict[str, Any] | None = None
    thought_signature: bytes | None = None


class AdkContent(BaseModel):
    role: str
    parts: list[AdkPart]


class AdkEvent(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)
    author: str
    invocation_id: str
    content: AdkContent
    timestamp: datetime = Field(default_factory=lambda: datetime.now(timezone.utc))


def test_models_with_aliases_and_bytes():
    contents = [AdkContent(role=content["role"], parts=snake(content["parts"])) for content in GEMINI[:-1]]
    contents.append(AdkContent(role="model", parts=[AdkPart(text="Done")]))
    contents[1].parts[0].thought_signature = b"\xff\x00"
    assert told(contents) == RIGHT["gemini"][1]
    authors = ["user", *[AGENT] * 5]
    events = [
        AdkEvent(author=author, invocation_id="i", content=content)
        for author, content in zip(authors, contents, strict=True)
    ]
    assert told(events) == RIGHT["adk"][1]


class LangChainMessage(BaseModel):
    model_config = ConfigDict(extra="allow")
    type: str
    content: str | list[Any]
    id: str | None = None


def test_messages_of_langchain():
    messages = [LangChainMessage(**message) for message in MODEL_DUMPED]
    assert told(messages) == RIGHT["langchain_model_dump"][1]
    assert told({"messages": messages}) == RIGHT["langchain_model_dump"][1]


@dataclasses.dataclass
class Part:
    part_kind: str
    content: Any = None
    tool_name: str | None = None
    args: Any = None
    tool_call_id: str | None = None
    outcome: str | None = None
    timestamp: datetime = datetime(2026, 1, 1, tzinfo=timezone.utc)


@dataclasses.dataclass
class Message:
    kind: str
    parts: list[Part]
    run_id: str | None = None


def test_dataclasses_with_times():
    messages = [Message(message["kind"], [Part(**part) for part in message["parts"]]) for message in PYDANTIC_AI]
    assert told(messages) == RIGHT["pydantic_ai"][1]


class Role(str, enum.Enum):
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclasses.dataclass
class TextContent:
    text: str


@dataclasses.dataclass
class ToolCall:
    tool_name: str
    arguments: dict[str, Any]
    id: str | None = None
    extra: dict[str, Any] | None = None


@dataclasses.dataclass
class ToolCallResult:
    result: str
    origin: ToolCall
    error: bool = False


@dataclasses.dataclass
class ChatMessage:
    _role: Role
    _content: list[Any]
    _name: str | None = None
    _meta: dict[str, Any] = dataclasses.field(default_factory=dict)


def test_dataclasses_of_haystack():
    lookup, refund, ping = (ToolCall(**call) for call in (LOOKUP, REFUND, PING))
    messages = [
        ChatMessage(Role.USER, [TextContent("Refund order 42")]),
        ChatMessage(Role.ASSISTANT, [lookup, refund]),
        ChatMessage(Role.TOOL, [ToolCallResult("closed", refund, True)]),
        ChatMessage(Role.TOOL, [ToolCallResult('{"state": "late"}', lookup)]),
        ChatMessage(Role.ASSISTANT, [ping]),
        ChatMessage(Role.TOOL, [ToolCallResult("pong", ping)]),
        ChatMessage(Role.ASSISTANT, [TextContent("Done")]),
    ]
    assert told(messages) == RIGHT["haystack"][1]


# What is wrong


@pytest.mark.parametrize(
    ("messages", "error", "message"),
    [
        (
            [*GEMINI, {"role": "model", "parts": [{"functionCall": {"args": {}}}]}],
            InvalidInput,
            "messages[6].parts[0].functionCall: a tool call without a name",
        ),
        (
            [*ADK, {"author": AGENT, "content": "Done"}],
            InvalidType,
            "messages[6].content: expected a content, an object, got a string",
        ),
        (
            [*MODEL_DUMPED, {"type": "tol", "content": "x"}],
            InvalidInput,
            "messages[8].type: the type of a LangChain message is one of",
        ),
        (
            [*PYDANTIC_AI, {"kind": "response", "parts": [{"part_kind": "tool_call"}]}],
            InvalidInput,
            "messages[6].parts[0].part_kind: the kind of a part is one of tool-call",
        ),
        (
            {"messages": [*AUTOGEN, {"type": "ToolCallRequestEvents", "content": []}]},
            InvalidInput,
            "messages.messages[6].type: the type of an AutoGen message is one of",
        ),
        (
            [*GEMINI, *PYDANTIC_AI],
            InvalidInput,
            "messages[6]: these look like Gemini contents (item 0) and like Pydantic AI messages (item 6)",
        ),
        (
            [*HAYSTACK, *LLAMA_INDEX],
            InvalidInput,
            "messages[7]: these look like Haystack chat messages (item 0) and like LlamaIndex messages",
        ),
        ([{"speaker": "me"}], InvalidType, "Gemini contents, ADK events, LangChain messages"),
    ],
)
def test_errors_say_where(messages, error, message):
    with pytest.raises(error) as raised:
        Trace.from_messages(messages)
    assert message in str(raised.value)


def test_what_a_tool_gave_is_a_json_value():
    messages = [*PYDANTIC_AI[:2], {"kind": "request", "parts": [{"part_kind": "tool-return", "tool_name": "lookup"}]}]
    messages[-1]["parts"][0] |= {"tool_call_id": "1", "content": {"file": b"\x00"}}
    with pytest.raises(InvalidType) as raised:
        Trace.from_messages(messages)
    assert "messages[2].parts[0].content.file" in str(raised.value)


# Histories that are told again and again


def called(*calls):
    made = [
        {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for id, name, arguments in calls
    ]
    return {"role": "assistant", "content": None, "tool_calls": made}


def user(text):
    return {"role": "user", "content": text}


def assistant(text):
    return {"role": "assistant", "content": text}


def gave(id, output):
    return {"role": "tool", "tool_call_id": id, "content": output}


def pair(request, response):
    return {"request": {"messages": request}, "response": {"choices": [{"message": response}]}}


ASKED, DONE = user("Refund order 42"), assistant("<think>hm</think>Done")
MADE = called(("1", "lookup", {"order": 42}), ("2", "refund", {"order": 42}))
GIVEN = [gave("1", "late"), gave("2", "ok")]
PAIRS = [pair([ASKED], MADE), pair([ASKED, MADE, *GIVEN], DONE)]


@pytest.mark.parametrize(
    "history",
    [
        [ASKED, MADE, *GIVEN, DONE],
        [ASKED, MADE, *GIVEN, assistant("Done")],
        [ASKED, called(("1", "lookup", {"order": 42, "deep": False}), ("2", "refund", {"order": 42})), *GIVEN, DONE],
        [user("Refund order 42 <reminder>noon</reminder>"), MADE, *GIVEN, assistant("Done")],
        [user("Summary: an order was refunded."), called(("2", "refund", {"order": 42})), GIVEN[1], DONE],
        [ASKED, called(("1", "lookup", {"order": 42})), GIVEN[0], assistant("Done")],
        [MADE, *GIVEN, DONE],
    ],
)
def test_a_history_that_is_told_otherwise_counts_once_where_calls_have_ids(history):
    ping = called(("3", "ping", {}))
    pairs = [*PAIRS, pair([*history, user("And now?")], ping)]
    pairs.append(pair([*history, user("And now?"), ping, gave("3", "pong")], assistant("Bye")))
    lookup = ("lookup", {"order": 42}, "late", {"id": "1"})
    refund = ("refund", {"order": 42}, "ok", {"id": "2"})
    turns = told(pairs)
    assert [(turn[0], turn[2]) for turn in turns] == [
        ("Refund order 42", [lookup, refund]),
        ("And now?", [("ping", {}, "pong", {"id": "3"})]),
    ]
    assert turns[-1][1] == "Bye"


# Results and the calls that they belong to


def test_a_result_belongs_to_the_latest_step_that_waits_for_one():
    def gemini(value):
        return {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"x": value}}}]}

    def gemini_user(text):
        return {"role": "user", "parts": [{"text": text}]}

    response = {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"result": "two"}}}]}
    contents = [gemini_user("a"), gemini(1), gemini_user("b"), gemini(2), response]

    def legacy(value):
        return {"role": "assistant", "function_call": {"name": "f", "arguments": json.dumps({"x": value})}}

    functions = [user("a"), legacy(1), user("b"), legacy(2), {"role": "function", "name": "f", "content": "two"}]
    first, second = called(("call_0", "f", {"x": 1})), called(("call_0", "f", {"x": 2}))
    reused = [user("a"), first, user("b"), second, gave("call_0", "two")]

    def ollama(value):
        return {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": value}}]}

    unnumbered = [user("a"), ollama({"x": 1}), user("b"), ollama({"x": 2})]
    unnumbered.append({"role": "tool", "tool_name": "f", "content": "two"})
    for messages in (contents, functions, reused, unnumbered):
        assert [[call[:3] for call in turn[2]] for turn in told(messages)] == [
            [("f", {"x": 1}, None)],
            [("f", {"x": 2}, "two")],
        ]


def test_a_second_result_of_a_call_replaces_the_first():
    messages = [user("hi"), called(("1", "f", {})), gave("1", "a"), gave("1", "b")]
    assert told(messages) == [("hi", None, [("f", {}, "b", {"id": "1"})])]
    result = ToolCallTrajectory(match="exact").evaluate(
        trace=Trace.from_messages(messages), expectations={"tool_calls": [{"name": "f"}]}
    )
    assert result.score == 1.0


# Streams


def test_streams_of_the_clients_of_anthropic_tell_each_call_once():
    block = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    text = '{"x": 1}'
    events = [
        {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": text}},
        {"type": "input_json", "partial_json": text, "snapshot": {"x": 1}},
        {"type": "content_block_stop", "index": 0, "content_block": {**block, "input": {"x": 1}}},
        {"type": "ping"},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop", "message": {"id": "m", "role": "assistant", "content": []}},
    ]
    assert told(events) == [(None, None, [("f", {"x": 1}, None, {"id": "t1"})])]
    assert told("".join(f"data: {json.dumps(event)}\n\n" for event in events)) == told(events)


def test_many_chunks_of_one_call_take_no_longer_each():
    def delta(**call):
        choice = {"index": 0, "delta": {"tool_calls": [{"index": 0, "function": call}]}, "finish_reason": None}
        return {"object": "chat.completion.chunk", "choices": [choice]}

    # Each names the call again, and the first piece is long and no JSON yet.
    chunks = [delta(name="f", arguments='{"x": "' + "y" * 100_000), *[delta(name="f")] * 10_000]
    chunks.append(delta(arguments='"}'))
    ((_, _, calls),) = told(chunks)
    assert [(name, len(arguments["x"])) for name, arguments, *_ in calls] == [("f", 100_000)]
