"""Tests of agents: reading and saving them, running them, and what becomes of them."""

import asyncio
import itertools
import json
import sys
import threading
import time
from functools import partial
from types import FunctionType
from xml.etree import ElementTree

import pytest

from callmatch import CallmatchError, InvalidInput, InvalidType, MetricResult, Trace, Traces
from callmatch.metrics import NumericJudge, RecordedModel, ToolCallTrajectory, code_metric
from callmatch.metrics.metric import Metric
from callmatch.response_mapping import ResponseMapping
from callmatch.testsets import Test, TestResult, TestResults, TestSet, roll_up

EVIL = "\x1b[31m\x00\u202e\ufffe [red]x[/red] <&>\n\ud800"


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


LOOKUP, REFUND = call("lookup_order", order=42), call("issue_refund", order=42)


def one(**fields):
    return TestSet(tests=[{"id": "t", "input": "Refund order 42", "expected_tool_calls": [REFUND], **fields}])


def verdict(tests, agent, **options):
    (result,) = tests.run(agent, **options)
    return result.verdict


# What a test can be


def test_ids_are_given_by_place_and_numbers_are_texts():
    assert [test.id for test in TestSet(tests=[{}, {"id": "x"}, {"id": 7}, {}])] == ["test-1", "x", "7", "test-4"]


@pytest.mark.parametrize("ids", [("a", "b", "a"), ("test-3", "b", None), (1, "b", "1")])
def test_an_id_that_two_tests_have_is_refused_naming_both(ids):
    with pytest.raises(InvalidInput, match=r"tests\[2\]\.id.*tests\[0\]") as caught:
        TestSet(tests=[{"id": id} for id in ids])
    assert caught.value.path == "tests[2].id"


@pytest.mark.parametrize(
    ("fields", "path", "fact"),
    [
        ({"expected_toolcalls": []}, "expected_toolcalls", 'did you mean "expected_tool_calls"'),
        ({"expected_tool_calls": [REFUND, {"nmae": "x"}]}, "expected_tool_calls[1]", "name"),
        ({"expected_tool_calls": [call("x"), {"name": "x", "argumnets": {}}]}, "expected_tool_calls[1]", "argumnets"),
        ({"expected_tool_calls": [{"name": "x", "arguments": "{oops"}]}, "expected_tool_calls[0].arguments", "object"),
        ({"expected_tool_calls": [{"name": "x", "arguments": [1]}]}, "expected_tool_calls[0].arguments", "object"),
        ({"expected_tool_calls": {"name": "x"}}, "expected_tool_calls", "list"),
        ({"expected_tool_calls": 5}, "expected_tool_calls", "list"),
        ({"metrics": {"type": "tool_call_trajectory"}}, "metrics", "list"),
        ({"metrics": ["tool_call_trajectory"]}, "metrics[0]", "config"),
        ({"metrics": [{"match": "exact"}]}, "metrics[0]", "type"),
        ({"metrics": [{"type": "tool_call_trajektory"}]}, "metrics[0].type", 'did you mean "tool_call_trajectory"'),
        ({"metrics": [{"type": "tool_call_trajectory", "match": "exat"}]}, "metrics[0].match", 'did you mean "exact"'),
        ({"metrics": [{"type": "tool_call_trajectory", "match": 5}]}, "metrics[0].match", "exact"),
        ({"metrics": [{"type": "tool_call_trajectory", "on": "run"}]}, "metrics[0].on", "target"),
        ({"goal": 5}, "goal", "string"),
        ({"id": ""}, "id", "at least 1"),
        ({"input": {1, 2}}, "input", "JSON"),
    ],
)
def test_mistakes_are_told_with_their_path(tmp_path, fields, path, fact):
    with pytest.raises(CallmatchError) as alone:
        Test(**fields)
    with pytest.raises(CallmatchError) as inside:
        TestSet(tests=[{}, fields])
    assert alone.value.path.startswith(path)
    assert inside.value.path.startswith(f"tests[1].{path}")
    for caught in (alone, inside):
        assert fact in str(caught.value)
    if fields == {"input": {1, 2}}:
        return
    (tmp_path / "tests.json").write_text(json.dumps({"name": "n", "tests": [{}, fields]}, indent=1))
    with pytest.raises(CallmatchError, match=r"tests\.json:\d+: ") as loaded:
        TestSet.load(tmp_path / "tests.json")
    assert loaded.value.path == inside.value.path


def test_what_is_no_set_of_tests():
    for data in ({"name": "x"}, {"tests": {}}, {"tests": 5}, 5, "tests.yaml", [5], {"test": []}):
        with pytest.raises(CallmatchError):
            TestSet.read(data)
    with pytest.raises(InvalidInput, match='did you mean "tests"'):
        TestSet.read({"testss": []})


def test_expected_calls_are_kept_as_given_where_json_can_hold_them():
    openai = {"id": "c", "type": "function", "function": {"name": "pay", "arguments": '{"amount": 5}'}}
    assert Test(expected_tool_calls=[openai]).expected_tool_calls == [openai]
    assert Test(expected_tool_calls=[]).expected_tool_calls == []
    assert Test().expected_tool_calls is None
    assert Test(expected_tool_calls='[{"name": "pay"}]').expected_tool_calls == [{"name": "pay"}]
    assert Test(expected_tool_calls=(call("pay", amount=(1, 2)),)).expected_tool_calls == [call("pay", amount=[1, 2])]


# Files


@pytest.mark.parametrize("ending", ["json", "yaml", "yml", "jsonl"])
def test_sets_round_trip(tmp_path, ending):
    exact = ToolCallTrajectory(match="exact", target="run", name="tools")
    tests = [
        Test(input="Hi: there\n- ü", expected_tool_calls=[REFUND], metrics=[exact], attributes={"on": "2024-01-01"}),
        Test(id="b", input=["one", "two"], expected_tool_calls=[], goal="g", instructions="i", restrictions="r"),
        Test(id="c", expected_output="x", input={"any": [1, None]}, metrics=[]),
    ]
    whole = {} if ending == "jsonl" else {"name": "Set", "metrics": [exact]}
    saved = TestSet(tests=tests, **whole)
    saved.save(tmp_path / f"set.{ending}")
    assert TestSet.load(tmp_path / f"set.{ending}") == saved
    assert TestSet.read_json(saved.model_dump_json()) == saved


def test_lines_have_no_place_for_what_belongs_to_the_set(tmp_path):
    for whole, held in (({"name": "n"}, "name"), ({"metrics": []}, "metrics")):
        with pytest.raises(InvalidInput, match=held):
            TestSet(tests=[], **whole).save(tmp_path / "set.jsonl")
    assert not list(tmp_path.iterdir())


class Typeless(ToolCallTrajectory):
    """A kind of metric without a type of its own."""


def nested():
    def inside(trace) -> bool:
        return True

    return inside


OF_MAIN = FunctionType((lambda trace: True).__code__, {"__name__": "__main__"}, "of_main")
OF_MAIN.__qualname__ = "of_main"


@pytest.mark.parametrize(
    ("metric", "fact"),
    [
        (lambda: code_metric(lambda output: True), "define it with def"),
        (lambda: code_metric(nested()), "define it with def"),
        (lambda: code_metric(partial(passes.function), name="part"), "define it with def"),
        (lambda: code_metric(OF_MAIN), "__main__"),
        (Typeless, "Typeless"),
    ],
)
@pytest.mark.parametrize("ending", ["json", "yaml", "jsonl"])
def test_a_set_is_not_saved_with_a_metric_that_could_not_be_read(tmp_path, monkeypatch, metric, fact, ending):
    monkeypatch.setattr(sys.modules["__main__"], "of_main", OF_MAIN, raising=False)
    made = metric()
    sets = {"tests[1].metrics[1]": TestSet(tests=[{}, {"metrics": [passes, made]}])}
    if ending != "jsonl":
        sets["metrics[0]"] = TestSet(tests=[{}], metrics=[made])
    for place, tests in sets.items():
        with pytest.raises(InvalidInput, match=fact) as caught:
            tests.save(tmp_path / f"set.{ending}")
        assert caught.value.path == place
        assert str(caught.value).startswith(f"{place}: ")
        assert made.name in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_set_is_saved_with_metrics_that_can_be_read(tmp_path):
    judge = NumericJudge(name="tone", evaluation_prompt="Polite?", model=RecordedModel("{}"))
    TestSet(tests=[{}], metrics=[passes, judge]).save(tmp_path / "set.yaml")
    loaded = TestSet.load(tmp_path / "set.yaml", model=judge.model)
    assert loaded.metrics == (passes, judge)


def test_yaml_as_people_write_it(tmp_path):
    path = tmp_path / "set.yaml"
    path.write_text(
        """
defaults: &calls
  - name: issue_refund
    arguments: {since: 2024-01-01}
"""
    )
    with pytest.raises(InvalidInput, match=r"set\.yaml:2: .*defaults"):
        TestSet.load(path)
    path.write_text(
        """
- id: 1
  input: Where is it?
  expected_tool_calls: &calls
    - name: track
      arguments: {since: 2024-01-01, on: yes}
- expected_tool_calls: *calls
  metrics:
    - type: tool_call_trajectory
      target: {on: run}
"""
    )
    first, second = TestSet.load(path)
    assert first.expected_tool_calls == second.expected_tool_calls == [call("track", since="2024-01-01", on="yes")]
    assert second.metrics == (ToolCallTrajectory(target="run"),)
    path.write_text("tests:\n- id: a\n- id: b\n- id: a\n")
    with pytest.raises(InvalidInput, match=r"set\.yaml:4: tests\[2\]\.id"):
        TestSet.load(path)


# Agents that are called


ANSWERS = {
    "trace": Trace.from_parts(output="Done.", tool_calls=[REFUND], input="Refund order 42"),
    "trace as data": {"turns": [{"output": "Done.", "spans": [{"kind": "tool_call", "name": "issue_refund"}]}]},
    "parts": {"output": "Done.", "tool_calls": [REFUND], "context": None},
    "messages": [
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": {"name": "issue_refund"}}]},
        {"role": "tool", "tool_call_id": "1", "content": "ok"},
        {"role": "assistant", "content": "Done."},
    ],
}


@pytest.mark.parametrize("shape", ANSWERS)
def test_what_an_agent_may_return(shape):
    tests = one(metrics=[{"type": "tool_call_trajectory", "arguments": "ignore"}])

    async def asynchronous(message):
        await asyncio.sleep(0)
        return ANSWERS[shape]

    class Callable:
        async def __call__(self, message):
            return ANSWERS[shape]

    agents = [
        lambda _: ANSWERS[shape],
        asynchronous,
        partial(asynchronous),
        Callable(),
        lambda m, call=asynchronous: call(m),
    ]
    for agent in agents:
        (result,) = tests.run(agent)
        assert (result.verdict, result.error) == ("passed", None)
        assert (result.trace.input, result.trace.output) == ("Refund order 42", "Done.")
        assert result.trace.test_id == "t"
        assert result.seconds >= 0


def test_a_text_says_nothing_of_tool_calls():
    assert verdict(one(), lambda _: "Done.") == "inconclusive"
    assert verdict(one(), lambda _: {"output": "Done.", "tool_calls": []}) == "failed"


@pytest.mark.parametrize(
    ("answer", "facts"),
    [
        (None, ["NoneType", "tool_calls", "Trace"]),
        (5, ["int"]),
        (b"x", ["bytes"]),
        ({"ouput": "x"}, ['did you mean "output"', "response_mapping"]),
        ({"tool_calls": [{"nmae": "x"}]}, ["tool_calls[0]"]),
        ({"messages": [], "output": ""}, ["messages hold all"]),
        ([{"role": "robot"}], ["role"]),
        (["Done."], ["messages"]),
        ({EVIL: 1}, ["a key of the answer"]),
        ((part for part in "Done."), ["generator"]),
    ],
)
def test_an_answer_that_can_not_be_read_is_the_error_of_its_test(answer, facts):
    first, second = TestSet(
        tests=[{"id": "a", "input": "x"}, {"id": "b", "input": "y", "expected_tool_calls": []}]
    ).run(lambda message: answer if message == "x" else {"tool_calls": []})
    assert (first.verdict, second.verdict) == ("error", "passed")
    assert first.error == first.reason
    assert first.trace is None
    assert first.metrics == ()
    assert "\x1b" not in first.error
    for fact in facts:
        assert fact in first.error


def test_where_an_agent_raised_is_logged(caplog):
    def agent(message):
        raise ValueError("no such order")

    with caplog.at_level("INFO", "callmatch"):
        one().run(agent)
    assert "in agent" in caplog.text
    assert "ValueError: no such order" in caplog.text


def test_a_turn_that_was_looked_at_is_told_what_it_was_asked():
    trace = Trace.from_parts(output="Done.", tool_calls=[REFUND])
    assert trace.turns[0].trace.input is None
    (result,) = one().run(lambda _: trace)
    assert result.trace.turns[0].trace.input == result.trace.input == "Refund order 42"
    assert trace.input is None


class Wordless(Exception):
    def __str__(self):
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("error", "fact"),
    [
        (ValueError("no such order"), "ValueError: no such order"),
        (KeyError("order"), "KeyError: 'order'"),
        (TimeoutError(), "TimeoutError"),
        (StopIteration("x"), "StopIteration"),
        (InvalidInput("bad"), "InvalidInput: bad"),
        (RuntimeError(EVIL), "\\u001b[31m"),
        (Wordless(), "Wordless"),
        (asyncio.CancelledError(), "cancelled"),
        (SystemExit(0), "SystemExit: 0"),
        (SystemExit(), "SystemExit"),
        (pytest.fail.Exception("no refund"), "Failed: no refund"),
        (pytest.skip.Exception("no network"), "Skipped: no network"),
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("in_own_loop", [False, True])
def test_an_agent_that_raises(error, fact, is_async, in_own_loop):
    def agent(message):
        if message == "x":
            raise error
        return {"tool_calls": []}

    async def asynchronous(message):
        return agent(message)

    tests = TestSet(tests=[{"input": "x"}, {"input": "y", "expected_tool_calls": []}])
    tested = asynchronous if is_async else agent
    first, second = asyncio.run(tests.run_async(tested)) if in_own_loop else tests.run(tested)
    assert (first.verdict, second.verdict) == ("error", "passed")
    assert fact in first.error
    assert not {*first.error} & {*EVIL[:7]} - {*"[31m"}


OF_OTHERS = [SystemExit(0), asyncio.CancelledError(), pytest.fail.Exception("x"), RuntimeError("x")]
"""What code of others may raise."""


def raises(error):
    raise error


@pytest.mark.parametrize("error", OF_OTHERS)
def test_an_answer_that_raises_while_it_is_read_is_the_error_of_its_test(error):
    class Answer(dict):
        def items(self):
            raise error

        __iter__ = keys = __getitem__ = items

    answers = {"x": Answer(output="x"), "y": {"tool_calls": []}}
    first, second = TestSet(
        tests=[{"id": "a", "input": "x"}, {"id": "b", "input": "y", "expected_tool_calls": []}]
    ).run(lambda message: answers[message])
    assert (first.verdict, second.verdict) == ("error", "passed")
    assert type(error).__name__ in first.error


@pytest.mark.parametrize("is_async", [False, True])
def test_an_interrupt_ends_the_run(is_async):
    def agent(message):
        raise KeyboardInterrupt

    async def asynchronous(message):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        one().run(asynchronous if is_async else agent)


def test_an_interrupt_of_a_metric_ends_the_run():
    with pytest.raises(KeyboardInterrupt):
        one(metrics=[code_metric(lambda trace: raises(KeyboardInterrupt()))]).run([GOOD])


def test_an_agent_that_takes_too_long():
    came_back = threading.Event()

    def slow(message):
        came_back.wait(10)
        return "Done."

    async def asleep(message):
        await asyncio.sleep(10)

    start = time.monotonic()
    for agent in (slow, asleep):
        (result,) = one().run(agent, timeout=0.05)
        assert (result.verdict, result.error) == ("error", "The agent gave no answer within 0.05 s.")
    came_back.set()
    assert time.monotonic() - start < 5
    assert verdict(one(), lambda _: {"tool_calls": [REFUND]}, timeout=30) == "passed"


def test_what_an_agent_gets_follows_from_its_parameters():
    tests = TestSet(tests=[{"id": "t", "input": ["one", "two"]}])
    got = []

    def everything(message, conversation_id=None, *, messages, test):
        got.append((message, conversation_id, messages, test.id))
        return {"output": f"to {message}", "conversation_id": "c"}

    tests.run(everything)
    first = [{"role": "user", "content": "one"}]
    second = [*first, {"role": "assistant", "content": "to one"}, {"role": "user", "content": "two"}]
    assert got == [("one", None, first, "t"), ("two", "c", second, "t")]

    got.clear()
    tests.run(lambda messages: got.append(messages[-1]["content"]) or "")
    tests.run(lambda test: got.append(test.id) or "")
    tests.run(lambda message, **options: got.append((message, options)) or "")
    tests.run(lambda *messages: got.append(messages) or "")
    assert got == ["one", "two", "t", "t", ("one", {}), ("two", {}), ("one",), ("two",)]


def test_an_agent_that_can_not_take_the_input_is_refused_before_anything_runs():
    for agent in (lambda: "", lambda a, b: "", lambda a, *, must: ""):
        with pytest.raises(InvalidType, match="agent"):
            one().run(agent)


def test_a_test_without_input_needs_an_agent_that_takes_the_test():
    for empty in (None, []):
        (result,) = TestSet(tests=[{"input": empty}]).run(lambda message: "x")
        assert (result.verdict, result.error) == ("error", "The test has no input to give to the agent.")
    tests = TestSet(tests=[{"goal": "a refund", "expected_tool_calls": []}])
    assert verdict(tests, lambda message, test: {"output": test.goal, "tool_calls": []}) == "passed"


CONVERSATION = TestSet(tests=[{"id": "t", "input": ["one", "two"], "expected_tool_calls": [LOOKUP, REFUND]}])


def test_a_conversation_is_said_message_by_message_and_judged_as_a_whole():
    def agent(message, conversation_id):
        calls = {"one": [LOOKUP], "two": [REFUND]}[message]
        return {"output": message.upper(), "tool_calls": calls, "conversation_id": conversation_id or "c"}

    (result,) = CONVERSATION.run(agent)
    assert result.verdict == "passed"
    assert [(turn.input, turn.output) for turn in result.trace.turns] == [("one", "ONE"), ("two", "TWO")]
    assert result.trace.conversation_id == "c"


def test_an_agent_may_tell_the_whole_conversation_each_time():
    def agent(messages):
        told = []
        for message, made in zip([m for m in messages if m["role"] == "user"], [LOOKUP, REFUND], strict=False):
            function = {"name": made["name"], "arguments": json.dumps(made["arguments"])}
            told += [message, {"role": "assistant", "content": "ok", "tool_calls": [{"function": function}]}]
        return told

    (result,) = CONVERSATION.run(agent)
    assert result.verdict == "passed"
    assert [turn.input for turn in result.trace.turns] == ["one", "two"]


def told_calls(trace):
    return [(turn.output, [(made.name, made.input) for made in turn.spans("tool_call")]) for turn in trace.turns]


MESSAGES = [f"message {n}" for n in range(1, 7)]
CALLS_MADE = [call("track", order=n) for n in range(1, 7)]
SAID_AND_DONE = [(f"to {m}", [("track", {"order": n})]) for n, m in enumerate(MESSAGES, 1)]


def turn_messages(number, message):
    """What an agent with messages has of a turn; the ids of its calls are others each time."""
    made = {"id": f"c-{next(IDS)}", "function": {"name": "track", "arguments": json.dumps({"order": number})}}
    return [
        {"role": "user", "content": message},
        {"role": "assistant", "content": None, "tool_calls": [made]},
        {"role": "tool", "tool_call_id": made["id"], "content": "here"},
        {"role": "assistant", "content": f"to {message.removesuffix(' (lang: en)')}"},
    ]


IDS = itertools.count()
GREETING = {"role": "assistant", "content": "Hello, how can I help?"}


@pytest.mark.parametrize("suffix", ["", " (lang: en)"])
@pytest.mark.parametrize("greets", ["never", "always", "later"])
@pytest.mark.parametrize("tells", ["the new turn", "the whole history"])
def test_calls_count_once_however_an_agent_tells_of_a_conversation(suffix, greets, tells):
    def agent(message, messages):
        count = sum(said["role"] == "user" for said in messages)
        first = 1 if tells == "the whole history" else count
        told = [part for n in range(first, count + 1) for part in turn_messages(n, MESSAGES[n - 1] + suffix)]
        is_greeting = first == 1 and (greets == "always" or (greets == "later" and count > 1))
        return [GREETING, *told] if is_greeting else told

    tests = TestSet(tests=[{"id": "t", "input": MESSAGES, "expected_tool_calls": CALLS_MADE}])
    exact = ToolCallTrajectory(match="exact", target="conversation")
    (result,) = tests.model_copy(update={"metrics": (exact,)}).run(agent)
    assert result.verdict == "passed"
    greeted = greets == "always" or (greets == "later" and tells == "the whole history")
    assert told_calls(result.trace) == [(GREETING["content"], [])] * greeted + SAID_AND_DONE
    inputs = [None] * greeted + [message + suffix for message in MESSAGES]
    assert [turn.input for turn in result.trace.turns] == inputs


def test_a_history_that_tells_of_no_messages_of_the_user_gets_those_of_the_test():
    def agent(messages):
        count = sum(said["role"] == "user" for said in messages)
        return {"turns": [{"output": str(n), "spans": []} for n in range(count)]}

    (result,) = CONVERSATION.run(agent)
    assert [(turn.input, turn.output) for turn in result.trace.turns] == [("one", "0"), ("two", "1")]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_turns_that_are_alike_and_new_each_time_all_count(size):
    """An agent that waits: what it does is the same each time, and never what it did before."""
    turn = {"output": "wait", "spans": [{"kind": "tool_call", "name": "track", "input": {}}]}
    tests = TestSet(tests=[{"id": "t", "input": ["m"] * 5}])
    (result,) = tests.run(lambda message: {"turns": [turn] * size})
    assert len(result.trace.turns) == 5 * size


def test_an_answer_of_another_past_is_no_history():
    answers = {
        "one": [turn_messages(1, "one")],
        "two": [turn_messages(9, "zero"), turn_messages(2, "two")],
    }
    (result,) = CONVERSATION.run(lambda message: [part for turn in answers[message] for part in turn])
    assert [made.input["order"] for made in result.trace.tool_calls] == [1, 9, 2]


def test_answers_of_several_conversations_are_none_of_one():
    ids = itertools.count()
    (result,) = CONVERSATION.run(lambda message: {"output": "x", "conversation_id": str(next(ids))})
    assert result.verdict == "error"
    assert "several conversations" in result.error


def test_other_inputs_are_given_as_they_are():
    for value in ({"order": 42}, 42, ["a", 1], "x"):
        got = []
        TestSet(tests=[{"input": value}]).run(lambda given, got=got: got.append(given) or "")
        assert got == [value]


def test_a_response_mapping():
    mapping = ResponseMapping(output="$.text", tool_calls="$.used")
    assert verdict(one(), lambda _: {"text": "x", "used": [REFUND]}, response_mapping=mapping) == "passed"
    assert verdict(one(), lambda _: '{"text": "x", "used": []}', response_mapping=mapping) == "failed"
    assert verdict(one(), lambda _: {"text": "x"}, response_mapping=mapping) == "inconclusive"
    assert verdict(one(), lambda _: "<html>", response_mapping=mapping) == "error"
    assert verdict(one(), lambda _: ANSWERS["trace"], response_mapping=mapping) == "passed"
    assert verdict(one(), lambda _: {"used": [REFUND]}, response_mapping={"tool_calls": "$.used"}) == "passed"
    with pytest.raises(InvalidInput, match=r"response_mapping\.outptu"):
        one().run(lambda _: "", response_mapping={"outptu": "$.x"})


# Recorded traces


GOOD = Trace.from_parts(id="t", output="Done.", tool_calls=[REFUND])
BAD = Trace.from_parts(id="other", test_id="t", output="Done.", tool_calls=[])


def test_recorded_traces(tmp_path):
    path = tmp_path / "traces.jsonl"
    path.write_text(GOOD.model_dump_json() + "\n")
    for recorded in (
        {"t": GOOD},
        {"t": json.loads(GOOD.model_dump_json())},
        {"t": [GOOD]},
        [GOOD],
        (trace for trace in [GOOD]),
        [GOOD.model_copy(update={"id": "other", "test_id": "t"})],
        Traces(path),
    ):
        (result,) = one().run(recorded)
        assert (result.verdict, result.seconds, result.trace.output) == ("passed", None, "Done.")
    assert verdict(one(), [BAD, GOOD.model_copy(update={"id": "t-2"})]) == "failed"
    assert verdict(TestSet(tests=[{"id": 1, "expected_tool_calls": [REFUND]}]), {1: GOOD}) == "passed"


def test_traces_of_one_test_are_its_conversation():
    parts = [
        Trace.from_parts(test_id="t", input=said, tool_calls=[made]) for said, made in (("1", LOOKUP), ("2", REFUND))
    ]
    (result,) = CONVERSATION.run(parts)
    assert result.verdict == "passed"
    assert len(result.trace.turns) == 2


def test_a_trace_that_was_not_recorded_is_the_error_of_its_test(tmp_path):
    tests = TestSet(
        tests=[{"id": "late-order", "expected_tool_calls": [REFUND]}, {"id": "t", "expected_tool_calls": []}]
    )
    (tmp_path / "traces.jsonl").write_text(BAD.model_copy(update={"test_id": "late-orders"}).model_dump_json())
    for recorded in ({"late-orders": BAD, "t": BAD}, Traces(tmp_path)):
        first, second = tests.run(recorded)
        assert first.verdict == "error"
        assert "late-orders" in first.error
        assert second.verdict in ("passed", "error")
    for recorded in ({}, [], {"t": 5}, {"t": {"turnss": []}}, {"t": []}):
        assert verdict(one(), recorded) == "error"


def test_what_is_not_there_is_told_in_few_words(tmp_path):
    many = [GOOD.model_copy(update={"id": f"recorded-number-{n}"}) for n in range(500)]
    (tmp_path / "traces.jsonl").write_text("".join(trace.model_dump_json() + "\n" for trace in many))
    named = {trace.id: trace for trace in many}
    for recorded in (many, named, Traces(tmp_path)):
        for id, fact in (("recorded-numer-7", "did you mean 'recorded-number-7'"), ("zzz", "495 more")):
            (result,) = one(id=id).run(recorded)
            assert result.verdict == "error"
            assert fact in result.error
            assert id in result.error
            assert len(result.error) < 400
    results = TestResults(results=[TestResult(id=id, verdict="passed", reason="") for id in named])
    for id, fact in (("recorded-numer-7", "did you mean 'recorded-number-7'"), ("zzz", "495 more")):
        with pytest.raises(InvalidInput, match=fact) as caught:
            results[id]
        assert len(str(caught.value)) < 400
    assert TestSet(tests=[{"id": "t"}]).run([])[0].error == "no trace of the test 't'; none was recorded"


@pytest.mark.parametrize("error", OF_OTHERS)
def test_a_record_that_raises_is_the_error_of_its_test(error):
    class Record(dict):
        def items(self):
            raise error

        __iter__ = keys = __getitem__ = items

    tests = TestSet(tests=[{"id": "a"}, {"id": "b", "expected_tool_calls": []}])
    first, second = tests.run({"a": Record(turns=[]), "b": BAD})
    assert (first.verdict, second.verdict) == ("error", "passed")
    assert type(error).__name__ in first.error


@pytest.mark.parametrize("agent", [5, None, "traces.jsonl", [5], GOOD])
def test_what_can_not_be_tested(agent):
    with pytest.raises(InvalidType, match="agent"):
        one().run(agent)


def test_options_that_can_not_be():
    numbers = (0, -1, True, False, "1")
    for options in [{name: number} for name in ("max_concurrency", "timeout") for number in numbers]:
        with pytest.raises(InvalidInput, match=next(iter(options))):
            one().run(lambda _: "", **options)
    for options in ({"timeout": 1}, {"response_mapping": ResponseMapping()}):
        with pytest.raises(InvalidInput, match="recorded"):
            one().run([GOOD], **options)


# Running


@pytest.mark.parametrize("most", [1, 3])
def test_so_many_run_at_the_same_time(most):
    running, peak, lock = 0, 0, threading.Lock()

    def agent(message):
        nonlocal running, peak
        with lock:
            running += 1
            peak = max(peak, running)
        time.sleep(0.01)
        with lock:
            running -= 1
        return {"tool_calls": [call(message)]}

    tests = [{"input": str(n), "expected_tool_calls": [call(str(n))]} for n in range(12)]
    results = TestSet(tests=tests).run(agent, max_concurrency=most)
    assert results.passed
    assert peak == most
    assert [result.id for result in results] == [f"test-{n}" for n in range(1, 13)]


def test_running_where_a_loop_runs_already():
    async def main():
        tests = one()
        here = await tests.run_async(lambda _: {"tool_calls": [REFUND]})
        return here, tests.run(lambda _: {"tool_calls": [REFUND]})

    for results in asyncio.run(main()):
        assert results.passed


def test_no_tests():
    results = TestSet(tests=[]).run(lambda _: "")
    assert (len(results), results.passed, results.pass_rate, str(results)) == (0, False, None, "0 tests")


def test_progress_is_shown_on_terminals_alone(capsys):
    one().run([GOOD])
    assert capsys.readouterr() == ("", "")
    one().run([GOOD], progress=True)
    shown = capsys.readouterr()
    assert "testing" in shown.err
    assert not shown.out


@code_metric
def crashes(trace):
    raise RuntimeError("no idea")


@code_metric
def passes(trace) -> bool:
    return True


@code_metric
def fails(trace) -> bool:
    return False


def test_metrics_of_a_test_are_in_place_of_those_of_its_set():
    tests = TestSet(tests=[{"id": "a"}, {"id": "b", "metrics": [fails]}, {"id": "c", "metrics": []}], metrics=[passes])
    results = tests.run(dict.fromkeys("abc", GOOD))
    assert [result.verdict for result in results] == ["passed", "failed", "inconclusive"]
    assert results["c"].reason == "No metric judged it."


def test_a_metric_that_crashes_is_its_own_error():
    class Refuses(ToolCallTrajectory):
        def _evaluate_case(self, case, target):
            raise InvalidInput("it can't read this \x1b")

    class Falls(ToolCallTrajectory):
        async def _evaluate_case_async(self, case, target):
            raise ZeroDivisionError("x")

    (result,) = one(metrics=[Refuses(), Falls(), ToolCallTrajectory()]).run([GOOD])
    assert [metric.verdict for metric in result.metrics] == ["error", "error", "passed"]
    assert "it can't read this \\u001b" in result.reason
    assert "ZeroDivisionError: x" in result.metrics[1].reason
    assert result.verdict == "error"
    assert result.error is None
    assert verdict(one(metrics=[crashes, fails]), [GOOD]) == "failed"


@pytest.mark.parametrize("error", OF_OTHERS)
@pytest.mark.parametrize("in_own_loop", [False, True])
def test_whatever_a_metric_raises_is_its_own_error(error, in_own_loop):
    class InAThread(ToolCallTrajectory):
        def _evaluate_case(self, case, target):
            raise error

        async def _evaluate_case_async(self, case, target):
            return await Metric._evaluate_case_async(self, case, target)

    class InTheLoop(ToolCallTrajectory):
        async def _evaluate_case_async(self, case, target):
            await asyncio.sleep(0)
            raise error

    async def asynchronous(trace):
        raise error

    kinds = [code_metric(lambda trace: raises(error)), code_metric(asynchronous), InTheLoop(), InAThread()]
    tests = TestSet(tests=[{"id": "t", "metrics": [*kinds, passes]}, {"id": "u", "metrics": [passes]}])
    recorded = {"t": GOOD, "u": GOOD}
    first, second = asyncio.run(tests.run_async(recorded)) if in_own_loop else tests.run(recorded)
    assert [metric.verdict for metric in first.metrics] == ["error"] * len(kinds) + ["passed"]
    assert first.verdict == "error"
    assert second.verdict == "passed"


def test_metrics_see_what_the_test_holds():
    seen = []

    class Sees(ToolCallTrajectory):
        def _evaluate_case(self, case, target):
            seen.append((case, target.on))
            return super()._evaluate_case(case, target)

        async def _evaluate_case_async(self, case, target):
            return self._evaluate_case(case, target)

    held = {"expected_output": "o", "goal": "g", "instructions": "i", "restrictions": "r"}
    one(metrics=[Sees(target="run")], **held).run([GOOD])
    ((case, on),) = seen
    assert {key: getattr(case, key) for key in held} == held
    assert case.expected_tool_calls == [REFUND]
    assert on == "run"


# One verdict out of several


def result(verdict):
    score = {"passed": 1.0, "failed": 0.0}.get(verdict)
    return MetricResult(name=f"is_{verdict}", score=score, verdict=verdict, reason=f"It {verdict}.")


ORDER = ["failed", "error", "inconclusive", "passed"]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_roll_up(size):
    for verdicts in itertools.product([*ORDER, "not_applicable"], repeat=size):
        counted = [verdict for verdict in verdicts if verdict != "not_applicable"]
        wanted = min(counted, key=ORDER.index) if counted else "inconclusive"
        found, reason = roll_up(None, [result(verdict) for verdict in verdicts])
        assert found == wanted, verdicts
        if wanted != "passed":
            assert f"It {wanted if counted else 'not_applicable'}." in reason
        assert roll_up("crashed", [result(verdict) for verdict in verdicts]) == ("error", "crashed")


def test_the_words_of_a_roll_up():
    assert roll_up(None, [result("passed")] * 2) == ("passed", "2 metrics passed")
    assert roll_up(None, [result("passed"), result("not_applicable")]) == ("passed", "1 metric passed")
    assert roll_up(None, [result("failed")] * 3)[1] == "is_failed: It failed. (failed too: is_failed, is_failed)"
    assert roll_up(None, [])[1] == "No metric judged it."


def test_nothing_that_applies_is_inconclusive_and_says_why():
    (outcome,) = TestSet(tests=[{"id": "t"}]).run([GOOD])
    assert outcome.verdict == "inconclusive"
    assert outcome.reason.startswith("No metric applies. tool_call_trajectory: ")


# What comes out


def results_of_all_kinds(**fields):
    rows = [("a", "passed"), ("b", "failed"), ("c", "inconclusive"), ("d", "error"), ("e", "passed")]
    made = [TestResult(id=id, verdict=verdict, reason=f"It {verdict}.", **fields) for id, verdict in rows]
    return TestResults(name="Set", results=made)


def test_results_are_a_sequence_that_can_be_asked_by_id():
    results = results_of_all_kinds()
    assert len(results) == 5
    assert [result.id for result in results] == list("abcde")
    assert results[1] == results["b"] == results[-4]
    assert results.counts == {"passed": 2, "failed": 1, "inconclusive": 1, "error": 1}
    assert results.pass_rate == pytest.approx(2 / 3)
    assert not results.passed
    with pytest.raises(IndexError):
        results[5]
    with pytest.raises(InvalidInput, match="no result of the test 'f'; there are 'a', "):
        results["f"]
    with pytest.raises(InvalidType):
        results[1.5]


def test_results_as_text():
    assert str(results_of_all_kinds()).splitlines() == [
        "b\tfailed\tIt failed.",
        "c\tinconclusive\tIt inconclusive.",
        "d\terror\tIt error.",
        "5 tests: 2 passed, 1 failed, 1 inconclusive, 1 error",
        "pass rate 0.667 (of the 3 that passed or failed)",
    ]


@pytest.mark.parametrize("ending", ["json", "jsonl", "yaml"])
def test_results_are_saved_with_their_traces(tmp_path, ending):
    from callmatch.documents import load

    results = one(id=EVIL.replace("\ud800", "")).run({EVIL.replace("\ud800", ""): GOOD})
    results.save(tmp_path / f"results.{ending}")
    data = load(tmp_path / f"results.{ending}")
    assert TestResults.read({"results": data} if ending == "jsonl" else data) == results
    assert TestResults.read_json(results.model_dump_json()) == results


@pytest.mark.parametrize("ending", ["json", "jsonl", "yaml"])
def test_integers_of_any_usual_size_are_saved_whole(tmp_path, ending):
    from callmatch.documents import load

    recorded = Trace.from_parts(id="t", tool_calls=[call("pay", amount=10**5000, owed=[-(10**5000)])])
    results = one(expected_tool_calls=[call("pay", amount=10**5000)]).run([recorded])
    assert results.passed
    results.save(tmp_path / f"results.{ending}")
    data = load(tmp_path / f"results.{ending}")
    assert TestResults.read({"results": data} if ending == "jsonl" else data).results == results.results


@pytest.mark.parametrize("ending", ["json", "jsonl", "yaml"])
def test_results_that_can_not_be_saved_tell_which_and_write_nothing(tmp_path, ending):
    path = tmp_path / f"results.{ending}"
    path.write_text("before")
    beyond = Trace.from_parts(id="u", tool_calls=[call("pay", amount=10**100_000)])
    metric = MetricResult._of("m", 1.0, "passed", True, "x", {"found": object()})
    unwritable = TestResult.model_construct(id="u", verdict="passed", reason="x", metrics=(metric,))
    good = TestResult(id="t", verdict="passed", reason="x")
    for result, place in (
        (TestResult(id="u", verdict="passed", reason="x", trace=beyond), r"results\[1\]\.trace: .*'u'"),
        (unwritable, r"results\[1\]\.metrics: .*'u'"),
    ):
        with pytest.raises(InvalidInput, match=place):
            TestResults(results=[good, good]).model_copy(update={"results": (good, result)}).save(path)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert path.read_text() == "before"


def test_a_table_shows_markup_and_escapes_as_they_are():
    from rich.console import Console

    evil = EVIL.replace("\ud800", "")
    console = Console(width=200, force_terminal=True, color_system=None)
    with console.capture() as capture:
        console.print(TestResults(results=[TestResult(id=evil, verdict="failed", reason=evil)]).table())
    shown = capture.get()
    assert "[red]x[/red]" in shown
    assert "\\u001b[31m" in shown
    assert "\x1b" not in shown


def test_junit_is_what_continuous_integration_reads(tmp_path):
    path = tmp_path / "junit.xml"
    results = results_of_all_kinds(metrics=[result("failed")], seconds=1.5)
    results.to_junit(path)
    whole = ElementTree.parse(path).getroot()
    (suite,) = whole
    counts = {"tests": "5", "failures": "1", "errors": "1", "skipped": "1", "name": "Set"}
    for element in (whole, suite):
        assert {key: element.get(key) for key in counts} == counts
    assert float(suite.get("time")) == pytest.approx(7.5)
    assert [case.get("name") for case in suite] == list("abcde")
    assert {case.get("classname") for case in suite} == {"Set"}
    assert [[entry.tag for entry in case] for case in suite] == [[], ["failure"], ["skipped"], ["error"], []]
    assert suite[1][0].get("message") == "It failed."
    assert suite[1][0].text == "is_failed: failed: It failed."
    assert suite[2][0].get("message") == "It inconclusive."


def test_junit_of_many_tests_takes_no_quadratic_time(tmp_path):
    results = [TestResult(id=str(n), verdict="failed", reason="x") for n in range(4000)]
    start = time.monotonic()
    TestResults(results=results).to_junit(tmp_path / "junit.xml")
    assert time.monotonic() - start < 5


def test_junit_holds_no_characters_that_xml_can_not(tmp_path):
    evil = EVIL.replace("\ud800", "") + "\x0b]]>\ufdd0\U0010ffff"
    metric = MetricResult(name=evil, score=None, verdict="error", reason=evil)
    results = [TestResult(id=evil, verdict=verdict, reason=evil, metrics=[metric]) for verdict in ("failed", "error")]
    TestResults(name=evil, results=results).to_junit(tmp_path / "junit.xml")
    (suite,) = ElementTree.parse(tmp_path / "junit.xml").getroot()
    message = suite[0][0].get("message")
    assert message.startswith("\\u001b[31m\\u0000\\u202e\\ufffe [red]x[/red] <&>\\u000a")
    assert suite[0].get("name") == message == suite.get("name")


@pytest.mark.parametrize("cls", [Test, TestSet, TestResult, TestResults])
def test_pytest_does_not_take_them_for_tests(cls):
    assert cls.__test__ is False
    assert "__test__" not in cls.model_fields
