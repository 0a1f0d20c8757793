"""Traces as the core reads them: tool calls and chat messages in, dicts of one shape out."""

import dataclasses
import datetime
import decimal
import enum
import gc
import json
import time
import types
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from answers import evaluate
from callmatch import InvalidInput, InvalidType
from callmatch._core import read_messages, read_tool_calls

KEYS = ["id", "name", "input", "output", "status", "error", "started_at", "ended_at"]
ARGS = {"q": "late order", "limit": 5}


def span(name, **known):
    return dict.fromkeys(KEYS) | {"name": name} | known


def calls(value):
    return read_tool_calls(value, "tool_calls")


def call(**keys):
    """The one call with these keys."""
    (read,) = calls([{"name": "search"} | keys])
    return read


def turns(*messages):
    return read_messages(list(messages), "messages")


FORMS = [lambda value: value, json.dumps, lambda value: json.dumps(value).encode(), tuple]


# Tool calls


SHAPES = {
    "plain": (
        {
            "id": "1",
            "name": "search",
            "arguments": ARGS,
            "output": [{"id": 7}],
            "status": "ok",
            "error": "slow",
            "started_at": "2026-01-01T00:00:00Z",
            "ended_at": "2026-01-01T00:00:01Z",
        },
        span(
            "search",
            id="1",
            input=ARGS,
            output=[{"id": 7}],
            status="ok",
            error="slow",
            started_at="2026-01-01T00:00:00Z",
            ended_at="2026-01-01T00:00:01Z",
        ),
    ),
    "mcp": ({"name": "search", "arguments": ARGS}, span("search", input=ARGS)),
    "adk": ({"id": "adk-1", "name": "search", "args": ARGS}, span("search", id="adk-1", input=ARGS)),
    "tau-bench": ({"name": "search", "kwargs": ARGS}, span("search", input=ARGS)),
    "anthropic": (
        {"type": "tool_use", "id": "toolu_1", "name": "search", "input": ARGS},
        span("search", id="toolu_1", input=ARGS),
    ),
    "openai": (
        {"id": "call_1", "type": "function", "function": {"name": "search", "arguments": json.dumps(ARGS)}},
        span("search", id="call_1", input=ARGS),
    ),
    "openai responses": (
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "search", "arguments": "{}"},
        span("search", id="call_1", input={}),
    ),
    "aimon": (
        {
            "order": 1,
            "tool_name": "search",
            "start_time": "2025-01-09T17:23:46Z",
            "end_time": "2025-01-09T17:23:47Z",
            "status": "success",
            "error": None,
            "request_payload": ARGS,
            "response_payload": {"found": 1},
            "retries": 0,
        },
        span(
            "search",
            input=ARGS,
            output={"found": 1},
            status="success",
            started_at="2025-01-09T17:23:46Z",
            ended_at="2025-01-09T17:23:47Z",
        ),
    ),
}


@pytest.mark.parametrize(("shape", "wanted"), SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("form", FORMS)
def test_every_shape_is_read_to_the_same_keys(shape, wanted, form):
    (read,) = calls(form([shape]))
    assert read == wanted
    assert list(read) == KEYS


def test_calls_keep_their_order_and_none_is_not_reported():
    assert [read["name"] for read in calls([{"name": "b"}, {"name": "a"}, {"name": "b"}])] == ["b", "a", "b"]
    assert calls([]) == []
    assert calls("[]") == []
    for nothing in (None, "null", float("nan")):
        assert calls(nothing) is None


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ({}, {}),
        ("", {}),
        ('{"a": [1, 2.0, null]}', {"a": [1, 2.0, None]}),
        (None, None),
        ('{"a": ', '{"a": '),
        ("[1]", "[1]"),
        ([1, {"a": 2}], [1, {"a": 2}]),
        (5, 5),
        (False, False),
    ],
    ids=repr,
)
@pytest.mark.parametrize("key", ["arguments", "args", "kwargs", "input", "request_payload"])
def test_input_is_the_arguments_or_what_could_not_be_read(key, written, wanted):
    assert call(**{key: written})["input"] == wanted
    assert calls([{"function": {"name": "search", key: written}}])[0]["input"] == wanted


@pytest.mark.parametrize("key", ["output", "result", "response", "response_payload"])
@pytest.mark.parametrize("value", ["", "text", 0, False, [], {}, {"a": [None]}, None])
def test_output_is_any_value_under_every_name(key, value):
    assert call(**{key: value})["output"] == value


@pytest.mark.parametrize("key", ["id", "call_id", "tool_call_id", "tool_use_id"])
@pytest.mark.parametrize(
    ("value", "wanted"),
    [("x", "x"), (7, "7"), (-(2**70), str(-(2**70))), ("", None), (None, None), (True, None), (1.5, None), ([], None)],
)
def test_ids(key, value, wanted):
    assert call(**{key: value})["id"] == wanted


@pytest.mark.parametrize("key", ["is_error", "isError"])
def test_a_failed_call_has_the_status_error_unless_it_has_one(key):
    assert call(**{key: True})["status"] == "error"
    assert call(**{key: False})["status"] is None
    assert call(**{key: True, "status": "timeout"})["status"] == "timeout"
    assert call(status="")["status"] is None


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("boom", "boom"),
        ("", None),
        (None, None),
        (False, None),
        (True, "true"),
        (404, "404"),
        ({"code": 1, "of": ["é", None]}, '{"code": 1, "of": ["é", null]}'),
        ([], "[]"),
    ],
)
def test_an_error_is_a_text(value, wanted):
    assert call(error=value)["error"] == wanted


def test_a_long_error_is_whole():
    error = {"trace": ["line " * 10] * 200}
    assert json.loads(call(error=error)["error"]) == error


@pytest.mark.parametrize(("start", "end"), [("started_at", "ended_at"), ("start_time", "end_time")])
@pytest.mark.parametrize("value", ["2026-01-01", 1767225600, 1767225600.25, 2**80])
def test_times_stay_as_they_were(start, end, value):
    read = call(**{start: value, end: value})
    assert read["started_at"] == read["ended_at"] == value
    assert type(read["started_at"]) is type(value)


def test_values_are_exact():
    value = {"big": 2**200, "small": -(2**64), "float": 1e300, "digits": int("7" * 9), "text": "aé“😀", "é": True}
    assert call(args=value, output=value) == span("search", input=value, output=value)
    assert calls(json.dumps([{"name": "search", "args": value}]))[0]["input"] == value
    long = "9" * 6000
    assert calls(f'[{{"name": "search", "output": {long}}}]')[0]["output"] == 10**6000 - 1
    read = call(output=[1, 1.0, -0.0, float("inf")])["output"]
    assert [repr(number) for number in read] == ["1", "1.0", "-0.0", "inf"]


@pytest.mark.parametrize("text", ["\ud800", "a\udfffé", "\ud83d\ude00", "“\udc80", "😀\ud800", "\0"])
def test_lone_surrogates_survive(text):
    read = calls([{"name": text, "args": {text: [text]}, "id": text, "output": text}])
    assert read == [span(text, input={text: [text]}, id=text, output=text)]
    assert turns({"role": "user", "content": [text, text]})[0]["input"] == f"{text}\n{text}"


def test_a_lone_surrogate_in_json_text_survives():
    assert calls(r'[{"name": "a", "output": "\ud800\u00e9"}]')[0]["output"] == "\ud800é"


class Color(enum.Enum):
    RED = "red"


class Model(BaseModel):
    name: str
    arguments: dict[str, Any] | None = None
    output: Any = None
    id: str = "call_1"
    status: str = "ok"


@dataclasses.dataclass
class Data:
    tool_name: str
    request_payload: dict[str, Any]
    result: Any = None
    error: Any = None


def test_foreign_objects_are_read_as_their_json_values():
    inner = {"color": Color.RED, "price": decimal.Decimal("1.5"), "pair": (1, 2), "model": Model(name="m")}
    plain = {"color": "red", "price": 1.5, "pair": [1, 2], "model": Model(name="m").model_dump()}
    wanted = span("search", input=plain, output=plain)
    assert call(args=inner, output=inner) == wanted
    assert calls([Model(name="search", arguments=inner, output=inner)]) == [wanted | {"id": "call_1", "status": "ok"}]
    assert calls([Data("search", inner, inner)]) == [wanted]
    assert calls([types.SimpleNamespace(name="search", args=inner, response=inner, call_id=3)]) == [
        wanted | {"id": "3"}
    ]


def test_of_details_that_are_no_json_values_a_text_is_taken_or_nothing():
    when = datetime.datetime(2026, 1, 2, 3, 4, tzinfo=datetime.timezone.utc)
    read = call(started_at=when, ended_at=when.date(), error=ValueError("no such order"), id=uuid.UUID(int=1))
    assert read == span("search", started_at="2026-01-02T03:04:00+00:00", ended_at="2026-01-02", error="no such order")


def test_keys_that_are_not_read_may_be_anything():
    assert call(args=ARGS, metadata=object(), callback=len, span={1: {2}}) == span("search", input=ARGS)


def test_what_is_read_is_a_copy():
    output = [{"a": [1]}]
    read = call(output=output)["output"]
    output[0]["a"].append(2)
    assert read == [{"a": [1]}]


@pytest.mark.parametrize(
    ("bad", "kind", "message"),
    [
        ({"since": datetime.datetime(2026, 1, 1)}, InvalidType, r"\.output\.since: datetime is not a JSON value"),
        ([1, {2}], InvalidType, r"\.output\[1\]: set is not a JSON value"),
        (object(), InvalidType, r"\.output: object is not a JSON value"),
        (b"x", InvalidType, r"\.output: bytes is not a JSON value"),
        ({"a": {1: 2}}, InvalidType, r"\.output\.a: a key of a JSON object is a string, not int"),
    ],
)
def test_an_output_that_is_no_json_value_is_an_error_with_its_path(bad, kind, message):
    with pytest.raises(kind, match=rf"^tool_calls\[1\]{message}$") as caught:
        calls([{"name": "a"}, {"name": "b", "output": bad}])
    assert caught.value.path in str(caught.value)


@pytest.mark.parametrize(
    ("bad", "kind", "message"),
    [
        ({}, InvalidInput, r"trace\.calls\[1\]: a tool call without a name"),
        ({"name": 5}, InvalidType, r"trace\.calls\[1\]\.name: a tool's name is a string, got a number"),
        (5, InvalidType, r"trace\.calls\[1\]: expected a tool call"),
        ({"name": "a", "argumets": {}}, InvalidInput, r"trace\.calls\[1\]: .*did you mean \"arguments\""),
        (
            {"name": "a", "args": {"x": 1}, "input": {"x": 2}},
            InvalidInput,
            r"trace\.calls\[1\]: args and input mean the same",
        ),
        (
            {"name": "a", "result": 1, "output": 2},
            InvalidInput,
            r"trace\.calls\[1\]: output and result mean the same",
        ),
        (
            {"name": "a", "started_at": 1, "start_time": 2},
            InvalidInput,
            r"trace\.calls\[1\]: started_at and start_time mean the same",
        ),
    ],
)
@pytest.mark.parametrize("form", FORMS)
def test_a_call_with_a_mistake_is_an_error_with_its_path(bad, kind, message, form):
    with pytest.raises(kind, match=f"^{message}"):
        read_tool_calls(form([{"name": "a"}, bad]), "trace.calls")


@pytest.mark.parametrize("read", [read_tool_calls, read_messages])
@pytest.mark.parametrize("bad", [{}, 5, "{}", "x", '"[]"', b"\xff", object(), {1}])
def test_what_is_no_list_is_an_error(read, bad):
    with pytest.raises((InvalidInput, InvalidType), match=r"^here: "):
        read(bad, "here")


def test_two_names_with_equal_values_agree():
    assert call(output={"a": 1}, result={"a": 1.0}, response=None)["output"] == {"a": 1}


def nested(levels):
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


@pytest.mark.parametrize("form", FORMS[:3])
def test_512_levels_are_read_and_more_are_an_error(form):
    deep = nested(512)
    assert calls(form([{"name": "a", "args": {"x": nested(511)}, "output": deep}]))[0]["output"] == deep
    for key, path in (("args", r"\.args"), ("output", r"\.output")):
        with pytest.raises(InvalidInput, match=rf"^tool_calls\[0\]{path}.*nested deeper than 512"):
            calls(form([{"name": "a", key: {"x": nested(512)}}]))
    # Arguments that are no object are kept as they were.
    assert calls(form([{"name": "a", "args": deep}]))[0]["input"] == deep
    with pytest.raises(InvalidInput, match=r"^tool_calls\[0\].*nested deeper than 512"):
        calls(form([{"name": "a", "args": nested(513)}]))
    said = [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "a", "input": {"x": nested(511)}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": deep}]},
    ]
    assert read_messages(form(said), "messages")[0]["spans"] == [
        span("a", id="1", input={"x": nested(511)}, output=deep)
    ]
    said[1]["content"][0]["content"] = nested(513)
    with pytest.raises(InvalidInput, match=r"^messages\[1\]\.content.*nested deeper than 512"):
        read_messages(form(said), "messages")


def test_a_cycle_is_an_error():
    output: list[Any] = []
    output.append(output)
    with pytest.raises(InvalidInput, match=r"^tool_calls\[0\]\.output.*nested deeper"):
        call(output=output)


def test_too_many_values_are_an_error():
    output: list[Any] = [0] * 10
    for _ in range(7):
        output = [output] * 10
    with pytest.raises(InvalidInput, match="more than 10000000 values"):
        call(output=output)


# Messages


def openai(id, name, arguments="{}"):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def assistant(*made, content=None, **more):
    return {"role": "assistant", "content": content, "tool_calls": list(made)} | more


def user(content):
    return {"role": "user", "content": content}


def tool(call_id, content, **more):
    return {"role": "tool", "tool_call_id": call_id, "content": content} | more


OPENAI = [
    {"role": "system", "content": "Be brief."},
    user("Where are my orders?"),
    assistant(openai("c1", "lookup", '{"id": 1}'), openai("c2", "lookup", '{"id": 2}'), content="I look them up."),
    tool("c2", "shipped"),
    tool("c1", '{"state": "late"}'),
    assistant(openai("c3", "track")),
    {"role": "developer", "content": "Stay calm."},
    tool("c3", "in Graz"),
    {"role": "assistant", "content": "One is late."},
    user("Refund it."),
    assistant(openai("c1", "refund", '{"id": 1}')),
    tool("c1", [{"type": "text", "text": "done"}, {"type": "text", "text": "5 €"}]),
    {"role": "assistant", "content": "Done."},
]
OPENAI_TURNS = [
    {
        "input": "Where are my orders?",
        "output": "One is late.",
        "spans": [
            span("lookup", id="c1", input={"id": 1}, output='{"state": "late"}'),
            span("lookup", id="c2", input={"id": 2}, output="shipped"),
            span("track", id="c3", input={}, output="in Graz"),
        ],
    },
    {
        "input": "Refund it.",
        "output": "Done.",
        "spans": [span("refund", id="c1", input={"id": 1}, output="done\n5 €")],
    },
]


def used(call_id, name, **arguments):
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(id, content, **more):
    return {"type": "tool_result", "tool_use_id": id, "content": content} | more


ANTHROPIC = [
    user([{"type": "text", "text": "Where is it?"}, {"type": "image", "source": {"type": "base64", "data": "AAAA"}}]),
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "x"},
            {"type": "text", "text": "I look."},
            used("t1", "lookup", id=1),
            used("t2", "track", id=1),
        ],
    },
    user([result("t1", "late"), result("t2", [{"type": "text", "text": "no such id"}], is_error=True)]),
    {"role": "assistant", "content": [used("t3", "notify")]},
    user([result("t3", [{"type": "text", "text": "sent"}]), {"type": "text", "text": "And now?"}]),
    {"role": "assistant", "content": [{"type": "text", "text": "We wait."}, {"type": "text", "text": "Sorry."}]},
]
ANTHROPIC_TURNS = [
    {
        "input": "Where is it?\n[image]",
        "output": "I look.",
        "spans": [
            span("lookup", id="t1", input={"id": 1}, output="late"),
            span("track", id="t2", input={"id": 1}, output="no such id", status="error"),
            span("notify", id="t3", input={}, output="sent"),
        ],
    },
    {"input": "And now?", "output": "We wait.\nSorry.", "spans": []},
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("messages", "wanted"), [(OPENAI, OPENAI_TURNS), (ANTHROPIC, ANTHROPIC_TURNS)])
def test_a_conversation_is_read_to_turns(messages, wanted, form):
    read = read_messages(form(messages), "messages")
    assert read == wanted
    assert [list(turn) for turn in read] == [["input", "output", "spans"]] * len(wanted)
    assert read_tool_calls(form(messages), "tool_calls") == [span for turn in wanted for span in turn["spans"]]


def test_legacy_function_calls_are_answered_by_name():
    read = turns(
        user("hi"),
        {"role": "assistant", "content": None, "function_call": {"name": "a", "arguments": '{"x": 1}'}},
        {"role": "assistant", "content": None, "function_call": {"name": "b", "arguments": ""}},
        {"role": "function", "name": "b", "content": "B"},
        {"role": "function", "name": "a", "content": "A"},
    )
    assert read == [
        {
            "input": "hi",
            "output": None,
            "spans": [span("a", input={"x": 1}, output="A"), span("b", input={}, output="B")],
        }
    ]


def test_what_comes_before_the_first_user_message_is_a_turn_without_input():
    system = {"role": "system", "content": "x"}
    assert turns(system) == turns() == []
    greeting = {"input": None, "output": "Hello.", "spans": []}
    assert turns(system, {"role": "assistant", "content": "Hello."}) == [greeting]
    assert turns({"role": "assistant", "content": "Hello."}, user("hi")) == [
        greeting,
        {"input": "hi", "output": None, "spans": []},
    ]
    assert turns(assistant(openai("1", "a"))) == [
        {"input": None, "output": None, "spans": [span("a", id="1", input={})]}
    ]
    assert turns({"role": "assistant", "content": " \n"}, user("hi")) == [{"input": "hi", "output": None, "spans": []}]


def test_the_output_is_the_last_text_that_is_not_blank():
    said = [{"role": "assistant", "content": text} for text in ("a", "b", "", " \n\t", None, [])]
    assert turns(user("hi"), *said)[0]["output"] == "b"
    assert turns(user("hi"), *said[2:])[0]["output"] is None


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        ("hi", "hi"),
        ("", ""),
        (None, None),
        ([], None),
        (["a", "b"], "a\nb"),
        ([{"type": "text", "text": "a"}, {"type": "input_text", "text": "b"}, {"text": "c"}], "a\nb\nc"),
        ([{"type": "image_url", "image_url": {"url": "data:"}}], "[image_url]"),
        (["see", {"type": "file", "file": {"file_id": "f"}}, {"type": "input_audio"}], "see\n[file]\n[input_audio]"),
        ([{"type": "text", "text": ""}], ""),
        ([{"type": "text", "text": None}, None], None),
        ([{"type": "reasoning", "text": "hm"}, {"type": "redacted_thinking", "data": "x"}], None),
        ({"type": "text", "text": "alone"}, "alone"),
    ],
    ids=repr,
)
def test_the_text_of_content(content, wanted):
    for form in FORMS:
        assert read_messages(form([user(content)]), "m") == [{"input": wanted, "output": None, "spans": []}]


def test_a_refusal_is_said():
    for content in (None, "", []):
        assert turns(assistant(content=content, refusal="I can't."))[0]["output"] == "I can't."
    assert turns({"role": "assistant", "refusal": "I can't."})[0]["output"] == "I can't."
    assert evaluate([{"role": "assistant", "refusal": "I can't."}], []).passed
    assert turns(assistant(content=[{"type": "refusal", "refusal": "No."}]))[0]["output"] == "No."
    assert turns(assistant(content="Yes.", refusal=None))[0]["output"] == "Yes."


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        ("x", "x"),
        ("", ""),
        (None, None),
        ({"state": "late"}, {"state": "late"}),
        (5, 5),
        ([], []),
        ([1, "a"], [1, "a"]),
        (["a", "b"], ["a", "b"]),
        ([{"type": "refund", "amount": 3}], [{"type": "refund", "amount": 3}]),
        ([{"type": "file", "path": "a"}, {"type": "file", "path": "b"}], [{"type": "file", "path": p} for p in "ab"]),
        ([{"type": "text", "text": "a"}, {"type": "image", "source": {}}, "b"], "a\n[image]\nb"),
        ([{"type": "image", "source": {}}], "[image]"),
    ],
    ids=repr,
)
def test_the_content_of_a_result_is_its_text_or_its_value(content, wanted):
    answers = [tool("1", content), user([result("1", content)]), {"role": "tool", "content": [result("1", content)]}]
    for answer in answers:
        for form in FORMS:
            (read,) = read_messages(form([assistant(openai("1", "a")), answer]), "m")
            assert read["spans"] == [span("a", id="1", input={}, output=wanted)]


def test_results_say_whether_the_call_failed():
    made = assistant(openai("1", "a"), openai("2", "b"), openai("3", "c"))
    (read,) = turns(
        made,
        tool("1", "x", status="error"),
        tool("2", "x", is_error=True, error={"code": 5}),
        user([result("3", "x", is_error=False)]),
    )
    assert [(made["status"], made["error"]) for made in read["spans"]] == [
        ("error", None),
        ("error", '{"code": 5}'),
        (None, None),
    ]


def test_parallel_calls_with_one_id_are_answered_in_order():
    (read,) = turns(
        assistant(openai("1", "a"), openai("1", "b")),
        tool("1", "A"),
        tool("1", "B"),
        assistant(openai("1", "c")),
        tool("1", "C"),
    )
    assert [(made["name"], made["output"]) for made in read["spans"]] == [("a", "A"), ("b", "B"), ("c", "C")]


def test_an_answer_may_come_in_a_later_turn():
    first, second = turns(user("1"), assistant(openai("1", "a")), user("2"), tool("1", "A"))
    assert first["spans"] == [span("a", id="1", input={}, output="A")]
    assert second == {"input": "2", "output": None, "spans": []}


def test_results_without_an_id_answer_the_earliest_call():
    (read,) = turns(
        assistant(openai("1", "a"), openai("2", "b"), openai("3", "b")),
        {"role": "tool", "name": "b", "content": "B"},
        {"role": "tool", "content": "A"},
        {"role": "tool", "tool_call_id": "", "content": "B2"},
    )
    assert [made["output"] for made in read["spans"]] == ["A", "B", "B2"]


def test_the_id_of_a_message_is_not_that_of_its_call():
    (read,) = turns(assistant(openai("1", "a"), id="1"), tool("1", "A", id="msg_2"))
    assert read["spans"] == [span("a", id="1", input={}, output="A")]


def test_results_that_nothing_called_for_are_kept():
    executed = {"recorded_as": "executed"}
    messages = [tool("9", "x", name="find"), tool("8", 5, is_error=True), user("hi")]
    assert turns(*messages) == [
        {
            "input": None,
            "output": None,
            "spans": [
                span("find", id="9", output="x") | executed,
                span("unknown tool", id="8", output=5, status="error") | executed,
            ],
        },
        {"input": "hi", "output": None, "spans": []},
    ]
    assert calls(messages) == turns(*messages)[0]["spans"]


def test_a_result_that_a_log_repeats_is_one():
    once = [assistant(openai("1", "a")), tool("1", "A")]
    assert turns(*once, once[1]) == turns(*once)
    # Of different ones the last counts.
    assert turns(*once, tool("1", "other")) == turns(once[0], tool("1", "other"))


def test_tool_calls_stand_before_other_copies_of_the_same_calls():
    both = assistant(openai("1", "a"), content=[used("1", "a")], function_call={"name": "a", "arguments": "{}"})
    assert calls([both]) == [span("a", id="1", input={})]


def test_only_the_assistant_makes_calls():
    shown = [user([used("1", "a")]), {"role": "system", "content": [used("1", "a")]}, tool("2", "x") | assistant()]
    assert [made for turn in turns(*shown[:2]) for made in turn["spans"]] == []


def test_messages_may_be_models():
    class Function(BaseModel):
        name: str
        arguments: str

    class Called(BaseModel):
        id: str
        function: Function

    class Message(BaseModel):
        role: str
        content: Any = None
        tool_calls: list[Called] | None = None
        tool_call_id: str | None = None

    class Block(BaseModel):
        type: str
        text: str

    made = Called(id="1", function=Function(name="a", arguments='{"x": 1}'))
    messages = [
        Message(role="user", content=[Block(type="text", text="hi"), types.SimpleNamespace(type="text", text="you")]),
        Message(role="assistant", tool_calls=[made]),
        Message(role="tool", tool_call_id="1", content=[Block(type="text", text="A")]),
        Message(role="assistant", content="Done."),
    ]
    wanted = [{"input": "hi\nyou", "output": "Done.", "spans": [span("a", id="1", input={"x": 1}, output="A")]}]
    assert read_messages(messages, "messages") == wanted


def test_what_is_said_may_be_any_object_and_a_result_may_not():
    class Picture:
        pass

    said = [Picture(), "look", {"type": "image", "image": Picture()}, {"when": datetime.date(2026, 1, 1)}]
    said.append({"type": "text", "text": "all", "cache": Picture()})
    assert turns(user(said))[0]["input"] == '[Picture]\nlook\n[image]\n{"when": "[date]"}\nall'
    assert turns(user(Picture()))[0]["input"] == "[Picture]"
    for answer, path in (
        (tool("1", {"x": Picture()}), r"\.content\.x"),
        (user([result("1", [Picture()])]), r"\.content\[0\]\.content\[0\]"),
    ):
        with pytest.raises(InvalidType, match=rf"^messages\[1\]{path}: Picture is not a JSON value"):
            turns(assistant(openai("1", "a")), answer)


@pytest.mark.parametrize("bad", [None, "null", float("nan")])
def test_messages_have_to_be_given(bad):
    with pytest.raises(InvalidType, match=r"^messages: expected a list of chat messages"):
        read_messages(bad, "messages")


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"role": "assistant", "tool_calls": 5}, r"\.tool_calls: expected a list of tool calls"),
        (
            {"role": "assistant", "tool_calls": [openai("1", "a"), {"id": "1"}]},
            r"\.tool_calls\[1\]: a tool call without",
        ),
        ({"role": "assistant", "function_call": "a"}, r"\.function_call: expected a tool call"),
        ({"role": "assistant", "content": ["x", {"type": "tool_use"}]}, r"\.content\[1\]: a tool call without a name"),
        ({"role": "assistant"}, r": an assistant message has content, tool_calls or function_call"),
        ({"role": "model", "parts": []}, r"\.role: the role of a chat message is one of assistant, .*not \"model\""),
        ({"name": "a", "arguments": {}}, r": expected a chat message with a role"),
        (5, r": expected a chat message with a role"),
    ],
)
@pytest.mark.parametrize("form", FORMS)
def test_a_message_with_a_mistake_is_an_error_with_its_path(bad, message, form):
    with pytest.raises((InvalidInput, InvalidType), match=rf"^chat\[1\]{message}"):
        read_messages(form([user("hi"), bad]), "chat")


def test_a_list_without_messages_is_an_error():
    for item in ({"name": "a", "arguments": {}}, {"role": "user", "args": {}}, 5, None, "hi"):
        with pytest.raises(InvalidType, match=r"^messages: expected a list of chat messages, each with a role"):
            turns(item)


def test_long_conversations_take_linear_time():
    """Ids that come again, results in the opposite order and by name: none may look through all calls each time."""

    def conversation(length):
        names = [f"tool_{place % 3}" for place in range(length)]
        made = assistant(*(openai(f"c{place}", name) for place, name in enumerate(names)))
        again = assistant(*(openai("same", name) for name in names))
        return [
            *([made] + [tool(f"c{place}", "x") for place in reversed(range(length))]),
            *([again] + [tool(None, "x", name=name) for name in reversed(names)]),
            *([again] + [tool("same", "y")] * (2 * length) + [tool(None, "z")] * length),
        ]

    def seconds(messages):
        best = 60.0
        for _ in range(3):
            start = time.perf_counter()
            (read,) = turns(*messages)
            best = min(best, time.perf_counter() - start)
            assert all(made["output"] is not None for made in read["spans"])
        return best

    short, long = conversation(1_000), conversation(10_000)
    # What the collector takes for so many dicts is not linear.
    gc.disable()
    try:
        assert seconds(long) < 40 * seconds(short)
    finally:
        gc.enable()


def test_ten_thousand_messages():
    messages = []
    for place in range(2_500):
        messages += [
            user(f"question {place}"),
            assistant(openai(f"c{place}", "lookup", f'{{"id": {place}}}')),
            tool(f"c{place}", f"result {place}"),
            {"role": "assistant", "content": f"answer {place}"},
        ]
    start = time.perf_counter()
    read = read_messages(messages, "messages")
    assert time.perf_counter() - start < 1
    assert len(read) == 2_500
    assert read[2_499] == {
        "input": "question 2499",
        "output": "answer 2499",
        "spans": [span("lookup", id="c2499", input={"id": 2499}, output="result 2499")],
    }


def test_finalizers_that_change_what_is_read_do_no_harm():
    """Making dicts may run the garbage collector, and that any code."""
    messages: list[Any] = []
    for place in range(400):
        text = "é" * 200 + str(place)
        messages += [user(text), assistant(openai(str(place), "a", json.dumps({"x": text}))), tool(str(place), text)]

    class Trap:
        def __init__(self):
            self.self = self

        def __del__(self):
            messages.clear()

    wanted = read_messages(list(messages), "messages")
    thresholds = gc.get_threshold()
    try:
        Trap()
        gc.set_threshold(1)
        read = read_messages(messages, "messages")
    finally:
        gc.set_threshold(*thresholds)
    gc.collect()
    assert messages == []
    # Some interpreters collect before they call.
    assert read in (wanted, [])


def test_exceptions_of_objects_pass_through():
    class Rude:
        name = "a"

        @property
        def result(self):
            raise LookupError("no")

    with pytest.raises(LookupError):
        calls([Rude()])


# Laws


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=5,
)
IDS = st.sampled_from(["1", "2", "", 3, None])
NAMES = st.sampled_from(["a", "b"])


def some(**keys):
    """A dict with some of these keys."""
    return st.fixed_dictionaries({}, optional=keys)


CALLS = st.builds(
    lambda name, rest: {"name": name} | rest,
    NAMES,
    some(
        id=IDS,
        call_id=IDS,
        args=JSON,
        input=st.just({}),
        output=JSON,
        result=JSON,
        status=JSON,
        is_error=JSON,
        error=JSON,
        started_at=JSON,
        end_time=JSON,
        content=JSON,
        other=JSON,
    ),
)
FUNCTIONS = st.builds(lambda id, call: {"id": id, "function": call}, IDS, CALLS)
TEXTS = st.builds(
    lambda kind, rest: {"type": kind} | rest,
    st.sampled_from(["text", "image", "file", "thinking", "other", None, 5]),
    some(text=JSON, refusal=JSON, content=JSON),
)
BLOCKS = st.builds(lambda call: {"type": "tool_use"} | call, CALLS) | st.builds(
    lambda id, rest: {"type": "tool_result", "tool_use_id": id} | rest,
    IDS,
    some(content=JSON | st.lists(TEXTS, max_size=2), is_error=JSON, name=JSON),
)
CONTENTS = JSON | st.lists(BLOCKS | TEXTS | JSON, max_size=4)
MESSAGES = st.lists(
    st.builds(
        lambda role, rest: {"role": role} | rest,
        st.sampled_from(["user", "assistant", "assistant", "tool", "function", "system", "user"]),
        some(
            content=CONTENTS,
            tool_calls=st.lists(CALLS.filter(lambda call: "args" not in call) | FUNCTIONS, max_size=3) | st.none(),
            function_call=CALLS,
            refusal=JSON,
            tool_call_id=IDS,
            name=NAMES,
            id=IDS,
            other=JSON,
        ),
    ),
    max_size=8,
)


def outcome(read, value):
    try:
        return read(value, "here")
    except (InvalidInput, InvalidType) as error:
        return str(error)


@given(MESSAGES)
def test_what_is_read_does_not_depend_on_how_it_comes_in(messages):
    for read in (read_messages, read_tool_calls):
        wanted = outcome(read, messages)
        assert outcome(read, json.dumps(messages)) == wanted
        # An object that isn't plain makes the whole input be copied first.
        plain, foreign = user(["red"]), user([Color.RED])
        assert outcome(read, [*messages, foreign]) == outcome(read, [*messages, plain])


@given(st.lists(CALLS | FUNCTIONS, min_size=1, max_size=4))
def test_calls_do_not_depend_on_how_they_come_in(made):
    wanted = outcome(read_tool_calls, made)
    assert outcome(read_tool_calls, json.dumps(made)) == wanted
    read = outcome(read_tool_calls, [types.SimpleNamespace(**call) for call in made])
    # Attributes are looked at in an order of their own, which decides what of two mistakes is told.
    assert read == wanted or (isinstance(read, str) and isinstance(wanted, str))


@given(MESSAGES)
def test_the_calls_that_are_read_are_those_that_are_evaluated(messages):
    read = outcome(read_messages, messages)
    try:
        made = evaluate(messages, []).details["made"]
    except (InvalidInput, InvalidType):
        assert isinstance(read, str)
        return
    if isinstance(read, str):
        assert "mean the same" in read
        return
    spans = [span for turn in read for span in turn["spans"]]
    assert outcome(read_tool_calls, messages) == (spans if messages else [])
    assert len([span for span in spans if "recorded_as" not in span]) == made
    assert all(set(span) - {"recorded_as", "agent"} == set(KEYS) for span in spans)
