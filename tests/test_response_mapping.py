"""Taking the parts of an answer out of what an agent returns."""

import dataclasses

import pytest

from callmatch import CallmatchError, InvalidInput, InvalidType
from callmatch.response_mapping import ResponseMapping, trace_from_parts

CALL = {"name": "issue_refund", "arguments": {"order": 42}, "output": "ok"}
RESPONSE = {
    "answer": {"text": "Refunded."},
    "calls": [CALL],
    "steps": [{"call": CALL, "calls": [CALL, CALL]}, {}, {"call": CALL, "calls": []}],
    "documents": ["policy"],
    "searches": [{"found": ["a", "b"]}, {"found": ["c"]}],
    "session": "s-1",
    "number": 7,
    "nothing": None,
    "empty": [],
    "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}],
}


def names(trace):
    return [call.name for call in trace.tool_calls] if trace.tool_calls_reported else None


def test_all_parts():
    mapping = ResponseMapping(
        output="$.answer.text", tool_calls="$.calls", context="$.documents", conversation_id="$.session"
    )
    trace = mapping.trace(RESPONSE, input="Refund order 42")
    assert (trace.input, trace.output, trace.conversation_id) == ("Refund order 42", "Refunded.", "s-1")
    assert trace.tool_calls[0].arguments == {"order": 42}
    assert trace.tool_calls[0].output == "ok"
    assert trace.context == ["policy"]


@pytest.mark.parametrize(
    ("path", "calls"),
    [
        ("$.calls", 1),
        ("$.calls[*]", 1),
        ("$.calls[0]", 1),
        ("$.steps[*].call", 2),
        ("$.steps[*].calls", 2),
        ("$.empty", 0),
        # What is not there was not reported: it is not taken for none.
        ("$.nothing", None),
        ("$.absent", None),
        ("$.empty[*]", None),
    ],
)
def test_where_tool_calls_may_be(path, calls):
    trace = ResponseMapping(tool_calls=path).trace(RESPONSE)
    assert names(trace) == (None if calls is None else ["issue_refund"] * calls)


def test_several_lists_of_documents_are_several_retrievals():
    trace = ResponseMapping(context="$.searches[*].found").trace(RESPONSE)
    assert [span.output for span in trace.retrievals] == [["a", "b"], ["c"]]
    assert ResponseMapping(context="$.documents[0]").trace(RESPONSE).context == ["policy"]
    assert ResponseMapping(context="$.absent").trace(RESPONSE).context is None


def test_what_is_not_found_is_none():
    trace = ResponseMapping(output="$.absent", conversation_id="$.nothing").trace(RESPONSE)
    assert trace.output is None
    assert trace.conversation_id is None


def test_messages_and_a_number_as_id():
    trace = ResponseMapping(messages="$.messages", conversation_id="$.number").trace(RESPONSE)
    assert (trace.input, trace.output, trace.conversation_id) == ("Hi", "Hello", "7")


def test_json_text_and_objects():
    @dataclasses.dataclass
    class Answer:
        text: str

    mapping = ResponseMapping(output="$.text")
    for response in ('{"text": "Hi"}', b'{"text": "Hi"}', {"text": "Hi"}, Answer("Hi")):
        assert mapping.trace(response).output == "Hi"
    with pytest.raises(InvalidInput, match="not JSON"):
        mapping.trace("<html>Bad gateway</html>")
    with pytest.raises(InvalidType):
        mapping.trace(object())


@pytest.mark.parametrize(
    ("path", "facts"),
    [
        ("answer.text", ["begins with $"]),
        ("", ["begins with $"]),
        ("$.answer[", ["character 10"]),
        ("$.answer text", ["character 10"]),
        ("$['answer", ["character"]),
        ("$[?nope(@.x)]", ["nope", "character 4"]),
        ("$.calls[?@.name==]", ["character"]),
    ],
)
def test_mistakes_in_paths_are_found_when_they_are_given(path, facts):
    with pytest.raises(InvalidInput) as caught:
        ResponseMapping(output=path)
    assert caught.value.path == "output"
    for fact in ["output", *facts]:
        assert fact in str(caught.value)


def test_other_mistakes():
    with pytest.raises(CallmatchError, match='did you mean "tool_calls"'):
        ResponseMapping(tool_cals="$.calls")
    with pytest.raises(InvalidInput, match="messages hold all"):
        ResponseMapping(messages="$.messages", tool_calls="$.calls")
    with pytest.raises(InvalidInput, match=r"output: \$\.documents\[\*\] finds 2 values"):
        ResponseMapping(output="$.documents[*]").trace({"documents": ["a", "b"]})
    with pytest.raises(CallmatchError, match=r"tool_calls\[0\]"):
        ResponseMapping(tool_calls="$.calls").trace({"calls": [{"nmae": "x"}]})
    with pytest.raises(CallmatchError, match="conversation_id"):
        ResponseMapping(conversation_id="$.session").trace({"session": ["s"]})


def test_parts_that_are_told_by_name():
    trace = trace_from_parts({"output": "Hi", "tool_calls": [], "conversation_id": 3, "context": None}, "Hello")
    assert (trace.input, trace.output, trace.conversation_id, names(trace)) == ("Hello", "Hi", "3", [])
    with pytest.raises(InvalidInput, match='did you mean "output"'):
        trace_from_parts({"ouput": "Hi"})
    with pytest.raises(InvalidInput, match="messages hold all"):
        trace_from_parts({"messages": [], "output": "Hi"})
    assert trace_from_parts({}).tool_calls_reported is False
