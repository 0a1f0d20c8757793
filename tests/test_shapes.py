"""The shapes that a tool call may come in, and what is said about one that has a mistake."""

import dataclasses
import re
import types

import pytest
from pydantic import BaseModel

from answers import answer, evaluate, file, text
from callmatch import CallmatchError, InvalidInput
from callmatch.metrics import ToolCallTrajectory

PLAIN = {"name": "search", "arguments": {"q": "late order", "limit": 5}}
ARGS = PLAIN["arguments"]
AS_TEXT = text(ARGS)


class Model(BaseModel):
    name: str
    arguments: dict | None = None
    id: str = "call_1"


class FunctionModel(BaseModel):
    name: str
    arguments: str


class OpenAIModel(BaseModel):
    id: str
    function: FunctionModel
    type: str = "function"


class AnthropicModel(BaseModel):
    id: str
    name: str
    input: dict
    type: str = "tool_use"


@dataclasses.dataclass
class Data:
    name: str
    args: dict | None = None


@dataclasses.dataclass(slots=True)
class Slotted:
    tool_name: str
    request_payload: dict
    status: str = "success"


SHAPES = {
    "plain": PLAIN,
    "plain with everything": PLAIN
    | {
        "id": "1",
        "output": [1],
        "status": "ok",
        "error": None,
        "started_at": "2026-01-01T00:00:00Z",
        "ended_at": None,
    },
    "arguments as text": {"name": "search", "arguments": AS_TEXT},
    "adk": {"name": "search", "args": ARGS, "id": "adk-1"},
    "langchain": {"name": "search", "args": ARGS, "id": "call_1", "type": "tool_call"},
    "tau-bench": {"name": "search", "kwargs": ARGS},
    "anthropic": {"type": "tool_use", "id": "toolu_1", "name": "search", "input": ARGS},
    "openai": {"id": "call_1", "type": "function", "function": {"name": "search", "arguments": AS_TEXT}},
    "openai with an object": {"function": {"name": "search", "arguments": ARGS}},
    "openai stream": {"index": 0, "id": "", "function": {"name": "search", "arguments": AS_TEXT}},
    "aimon": {
        "order": 1,
        "tool_name": "search",
        "tool_version": "v1.0.0",
        "start_time": "2025-01-09T17:23:46Z",
        "end_time": "2025-01-09T17:23:47Z",
        "status": "success",
        "error": None,
        "request_payload": ARGS,
        "response_payload": {"found": 1},
        "retries": 0,
    },
    "pydantic": Model(name="search", arguments=ARGS),
    "pydantic openai": OpenAIModel(id="1", function=FunctionModel(name="search", arguments=AS_TEXT)),
    "pydantic anthropic": AnthropicModel(id="1", name="search", input=ARGS),
    "dataclass": Data("search", ARGS),
    "dataclass with slots": Slotted("search", ARGS),
    "two names, one value": {"name": "search", "arguments": ARGS, "args": dict(reversed(ARGS.items()))},
    "two names of the name": {"name": "search", "tool_name": "search", "arguments": ARGS},
    "null beside the value": {"name": "search", "arguments": None, "args": ARGS},
}
IN_JSON = {name: shape for name, shape in SHAPES.items() if isinstance(shape, dict)}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_every_shape_is_read_on_both_sides(shape):
    assert answer(evaluate([shape], [PLAIN], arguments="exact")) == ["passed", 1, None]
    assert answer(evaluate([PLAIN], [shape], arguments="exact")) == ["passed", 1, None]
    other = {"name": "search", "arguments": ARGS | {"limit": 6}}
    assert answer(evaluate([shape], [other])) == ["failed", 0, ["arguments", 0, 0]]
    assert answer(evaluate([shape], [PLAIN | {"name": "find"}])) == ["failed", 0, ["missing", 0, None]]


@pytest.mark.parametrize("shape", IN_JSON.values(), ids=IN_JSON)
def test_every_shape_is_read_from_text(shape):
    assert evaluate(text([shape]), text([PLAIN]), arguments="exact").passed
    assert evaluate(text([PLAIN]), text([shape]), arguments="exact").passed


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_shapes_mix_in_one_list_and_a_tuple_is_a_list(shape):
    listed = (PLAIN, shape, SHAPES["openai"])
    assert answer(evaluate(listed, [PLAIN] * 3, "exact", "exact")) == ["passed", 3, None]


@pytest.mark.parametrize(
    "shape",
    [
        {"name": "search"},
        {"name": "search", "arguments": None},
        {"name": "search", "args": None},
        {"name": "search", "input": None},
        {"tool_name": "search"},
        {"tool_name": "search", "request_payload": None},
        {"function": {"name": "search"}},
        {"function": {"name": "search", "arguments": None}},
        Model(name="search"),
        Data("search"),
    ],
    ids=repr,
)
def test_absent_or_null_arguments_are_unrecorded_when_made_and_any_when_expected(shape):
    assert evaluate([shape], [PLAIN]).verdict == "inconclusive"
    assert evaluate([shape], [{"name": "search", "arguments": {}}], arguments="exact").verdict == "inconclusive"
    assert evaluate([PLAIN], [shape], arguments="exact").verdict == "passed"


@pytest.mark.parametrize("key", ["arguments", "args", "kwargs", "input", "request_payload"])
@pytest.mark.parametrize(
    ("value", "arguments"), [("", {}), ("{}", {}), ({}, {}), ('{"q": 1.0}', {"q": 1}), (" {} ", {})]
)
def test_json_text_is_parsed_under_every_name(key, value, arguments):
    call = {"tool_name" if key == "request_payload" else "name": "search", key: value}
    assert evaluate([call], [{"name": "search", "arguments": arguments}], arguments="exact").passed


@pytest.mark.parametrize(
    ("call", "first", "second"),
    [
        ({"name": "a", "arguments": {"x": 1}, "args": {"x": 2}}, "arguments", "args"),
        ({"name": "a", "args": {"x": 1}, "kwargs": {}}, "args", "kwargs"),
        ({"name": "a", "arguments": {"x": 1}, "input": {"x": True}}, "arguments", "input"),
        ({"name": "a", "tool_name": "b", "arguments": {}}, "name", "tool_name"),
        ({"name": "a", "arguments": {}, "request_payload": {"x": 1}}, "arguments", "request_payload"),
    ],
)
def test_two_names_with_different_values_are_an_error_that_names_both(call, first, second):
    for form in (lambda value: value, text):
        with pytest.raises(InvalidInput, match=r"^tool_calls\[1\]") as caught:
            evaluate(form([PLAIN, call]), [PLAIN])
        assert first in str(caught.value)
        assert second in str(caught.value)
        with pytest.raises(InvalidInput, match=r"^expectations\.tool_calls\[0\]"):
            evaluate([PLAIN], form([call]))


def test_two_names_with_different_values_inside_function_and_beside_it():
    call = {"name": "a", "function": {"name": "b", "arguments": "{}"}}
    with pytest.raises(InvalidInput) as caught:
        evaluate([call], [PLAIN])
    assert "function.name" in str(caught.value)


def test_two_different_unreadable_texts_are_an_error_that_names_both_and_two_equal_ones_are_not():
    with pytest.raises(InvalidInput, match=r"^tool_calls\[0\]: .*\barguments\b.*\bargs\b"):
        evaluate([{"name": "search", "arguments": "x", "args": "y"}], [PLAIN])
    result = evaluate([{"name": "search", "arguments": "x", "args": "x"}], [PLAIN])
    assert answer(result) == ["failed", 0, ["arguments", 0, 0]]


MISSPELT = {
    "argument": "arguments",
    "arguemnts": "arguments",
    "argumets": "arguments",
    "Arguments": "arguments",
    "parameters": "arguments",
    "tool_kwargs": "arguments",
    "arg": "args",
    "kwarg": "kwargs",
    "inputs": "input",
    "request_payloads": "request_payload",
}
WITH_A_MISTAKE = {
    "beside the name": lambda key: {"name": "search", key: ARGS},
    "in function": lambda key: {"function": {"name": "search", key: ARGS}},
    "an attribute": lambda key: types.SimpleNamespace(name="search", **{key: ARGS}),
    "an attribute in function": lambda key: {"function": types.SimpleNamespace(name="search", **{key: ARGS})},
}


@pytest.mark.parametrize("place", WITH_A_MISTAKE)
@pytest.mark.parametrize(("misspelt", "nearest"), MISSPELT.items())
def test_a_misspelt_arguments_key_is_an_error_that_names_both(misspelt, nearest, place):
    """Taken for a call without arguments it would match anything."""
    call = WITH_A_MISTAKE[place](misspelt)
    path = r"tool_calls\[0\]" + (r"\.function" if "function" in place else "")
    for form in (lambda value: value, text) if "attribute" not in place else (list,):
        with pytest.raises(InvalidInput, match=rf"^{path}: ") as caught:
            evaluate(form([call]), [PLAIN])
        assert misspelt in str(caught.value)
        assert re.search(rf"did you mean .?{nearest}\b", str(caught.value))
        with pytest.raises(InvalidInput, match=rf"^expectations\.{path}: .*did you mean"):
            evaluate([PLAIN], form([call]))


@pytest.mark.parametrize("key", ["documents", "segments", "output", "tags", "status", "index", "id", "type"])
@pytest.mark.parametrize("place", WITH_A_MISTAKE)
def test_a_call_without_arguments_may_have_other_keys(key, place):
    call = WITH_A_MISTAKE[place](key)
    assert evaluate([PLAIN], [call]).verdict == "passed"
    assert evaluate([call], [PLAIN]).verdict == "inconclusive"


def test_keys_that_mean_nothing_here_are_ignored():
    call = PLAIN | {"latency_ms": 12, "tags": ["x"], "argument_count": 2, "metadata": {"arguments": {}}}
    assert evaluate([call], [PLAIN], arguments="exact").passed


# Messages


def message(*calls, role="assistant", **more):
    return {"role": role, "content": None, "tool_calls": list(calls)} | more


def openai(name, arguments="{}", id="call_1"):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


CONVERSATION = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Where is my order?"},
    message(openai("lookup", '{"order_id": 42}'), openai("track", '{"order_id": 42}', "call_2")),
    {"role": "tool", "tool_call_id": "call_1", "name": "lookup", "content": "{}"},
    {"role": "tool", "tool_call_id": "call_2", "content": "late"},
    {"role": "assistant", "content": "It is late.", "tool_calls": None},
    {"role": "user", "content": "Refund it."},
    message(openai("refund", '{"order_id": 42}', "call_3")),
    {"role": "assistant", "content": "Done.", "tool_calls": []},
]
CALLED = [{"name": name, "arguments": {"order_id": 42}} for name in ("lookup", "track", "refund")]


@pytest.mark.parametrize("form", [lambda value: value, text, lambda value: text(value).encode(), tuple])
def test_calls_are_collected_over_a_conversation(form):
    assert answer(evaluate(form(CONVERSATION), CALLED, "exact", "exact")) == ["passed", 3, None]


def test_legacy_function_calls_are_collected():
    messages = [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": None,
            "function_call": {"name": "lookup", "arguments": '{"order_id": 42}'},
        },
        {"role": "function", "name": "lookup", "content": "{}"},
        {"role": "assistant", "content": None, "function_call": {"name": "refund", "arguments": ""}},
        {"role": "assistant", "content": "Done", "function_call": None},
    ]
    wanted = [CALLED[0], {"name": "refund", "arguments": {}}]
    for form in (lambda value: value, text):
        assert answer(evaluate(form(messages), wanted, "exact", "exact")) == ["passed", 2, None]


def test_tool_calls_stand_before_the_legacy_copy_of_the_same_call():
    both = message(openai("lookup"), function_call={"name": "lookup", "arguments": "{}"})
    result = evaluate([both], [{"name": "lookup", "arguments": {}}], "exact", "exact")
    assert answer(result) == ["passed", 1, None]


def test_a_conversation_without_calls_made_none():
    for messages in ([{"role": "user", "content": "hi"}], CONVERSATION[:2] + CONVERSATION[-1:]):
        assert answer(evaluate(messages, CALLED)) == ["failed", 0, ["missing", 0, None]]
        assert evaluate(messages, []).passed


@pytest.mark.parametrize("shape", IN_JSON.values(), ids=IN_JSON)
def test_what_has_a_role_and_arguments_is_a_call(shape):
    for form in (lambda value: value, text):
        made = form([{"role": "assistant"} | shape, PLAIN])
        assert answer(evaluate(made, [PLAIN] * 2, "exact", "exact")) == ["passed", 2, None]


@pytest.mark.parametrize("form", [lambda value: value, text])
def test_an_assistant_message_with_neither_content_nor_calls_is_an_error(form):
    """A call with a role and no arguments, say: read as a message it would be one that made no calls."""
    said = form([{"role": "assistant", "name": "pay"}])
    with pytest.raises(InvalidInput, match=r"^tool_calls\[0\]: .*content"):
        evaluate(said, [])
    with pytest.raises(InvalidInput, match=r"^expectations\.tool_calls\[0\]: .*content"):
        evaluate([], said)


def used(name, id="toolu_1", **arguments):
    return {"type": "tool_use", "id": id, "name": name, "input": arguments}


ANTHROPIC = [
    {"role": "user", "content": "Where is my order?"},
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "I look it up.", "name": "not_a_call", "input": {}},
            used("lookup", order_id=42),
            used("track", "toolu_2", order_id=42),
        ],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "name": "lookup", "input": {}}]},
    {"role": "user", "content": [used("not_the_assistant's")]},
    {"role": "assistant", "content": [used("refund", "toolu_3", order_id=42), {"type": "text", "text": "Done."}]},
    {"role": "assistant", "content": "Anything else?"},
    {"role": "assistant", "content": []},
]


@pytest.mark.parametrize("form", [lambda value: value, text, lambda value: text(value).encode(), tuple])
def test_tool_use_blocks_are_calls_and_other_blocks_are_not(form):
    assert answer(evaluate(form(ANTHROPIC), CALLED, "exact", "exact")) == ["passed", 3, None]
    assert answer(evaluate(CALLED, form(ANTHROPIC), "exact", "exact")) == ["passed", 3, None]
    assert evaluate(form([ANTHROPIC[0], ANTHROPIC[2], ANTHROPIC[5]]), []).details["made"] == 0


def test_tool_use_blocks_in_a_file_are_calls(tmp_path):
    metric = ToolCallTrajectory(match="exact", arguments="exact")
    results = file(metric, [(ANTHROPIC, CALLED), (text(ANTHROPIC), CALLED)], tmp_path / "runs.jsonl")
    assert [answer(result) for result in results] == [["passed", 3, None]] * 2


def test_calls_that_a_user_or_a_tool_message_shows_were_not_made():
    messages = [message(openai("lookup"), role="user"), message(openai("lookup"), role="tool")]
    assert evaluate(messages, []).details["made"] == 0


def test_messages_may_be_expected_too():
    assert answer(evaluate(CALLED, CONVERSATION, "exact", "exact")) == ["passed", 3, None]


def test_messages_may_be_models():
    class Message(BaseModel):
        role: str
        content: str | None = None
        tool_calls: list[OpenAIModel] | None = None

    made = OpenAIModel(id="1", function=FunctionModel(name="lookup", arguments='{"order_id": 42}'))
    messages = [Message(role="user", content="hi"), Message(role="assistant", tool_calls=[made])]
    assert answer(evaluate(messages, CALLED[:1], "exact", "exact")) == ["passed", 1, None]


def test_unreadable_arguments_in_a_message_are_no_error():
    result = evaluate([message(openai("lookup", '{"order_id": '))], CALLED[:1])
    assert answer(result) == ["failed", 0, ["arguments", 0, 0]]


@pytest.mark.parametrize(
    "bad",
    [
        {"role": "assistant", "tool_calls": 5},
        {"role": "assistant", "tool_calls": [5]},
        {"role": "assistant", "tool_calls": [{"id": "1"}]},
        {"role": "assistant", "function_call": "lookup"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "1"}]},
        {"role": "assistant", "arguments": {}},
        PLAIN,
        5,
    ],
)
def test_a_message_with_a_mistake_is_an_error_with_its_path(bad):
    for form in (lambda value: value, text):
        with pytest.raises(CallmatchError, match=r"^tool_calls\[1\]"):
            evaluate(form([CONVERSATION[0], bad]), CALLED)


@pytest.mark.parametrize("role", ["model", "ai", "Assistant", "", None, 5])
def test_a_role_that_is_not_known_is_an_error_and_not_a_conversation_without_calls(role):
    messages = [{"role": "user", "content": "hi"}, {"role": role, "parts": [{"functionCall": {"name": "pay"}}]}]
    with pytest.raises(InvalidInput, match=r"tool_calls\[1\]\.role: .*assistant.*user"):
        ToolCallTrajectory().evaluate(tool_calls=messages, expectations={"tool_calls": []})
    for known in ("system", "developer", "user", "tool", "function"):
        quiet = [{"role": known, "content": "x", "name": "pay"}]
        assert ToolCallTrajectory().evaluate(tool_calls=quiet, expectations={"tool_calls": []}).passed


def test_what_messages_say_may_be_any_object():
    class Part:
        pass

    for content in (Part(), [Part(), {1, 2}, b"x", None, {"type": "image", "data": Part()}], {"a": {1}}):
        messages = [
            {"role": "user", "content": content},
            {"role": "assistant", "content": content, "tool_calls": [{"name": "pay", "args": {"x": 1}}]},
        ]
        result = ToolCallTrajectory(match="exact").evaluate(
            tool_calls=messages, expectations={"tool_calls": [{"name": "pay", "args": {"x": 1}}]}
        )
        assert result.passed, content
