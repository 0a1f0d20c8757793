"""Metrics that are a function: what it may return, what it may ask for, and what becomes of its failures."""

import asyncio
import fractions
import inspect
import json
import math
import time

import pytest

from callmatch import CallmatchError, InvalidInput, InvalidType, MetricResult, Span, Trace, Turn
from callmatch.metrics import CodeMetric, Metric, code_metric

KINDS = ["tool_call", "retrieval", "agent", "llm", "embedding", "rerank", "guardrail", "handoff", "chain"]
ALL = ["response", "turn", "conversation", "run", *KINDS]
GIVEN = {
    "input": "Hi",
    "output": "Hello",
    "tool_calls": [{"name": "a", "arguments": {}, "output": "x"}],
    "context": ["doc"],
}
SPANS = [{"kind": kind, "name": kind, "input": "i", "output": "x"} for kind in KINDS[2:]]
TRACE = Trace.from_parts(**GIVEN, spans=SPANS)


def of(value, **options):
    """A metric that returns this, plainly and asynchronously."""

    def plain(output):
        return value

    async def later(output):
        await asyncio.sleep(0)
        return value

    return [code_metric(name="own", **options)(function) for function in (plain, later)]


def evaluated_later(metric, **given):
    return asyncio.run(metric.evaluate_async(**given))


def results(value, **options):
    """What comes of returning it, in all four ways."""
    for metric in of(value, **options):
        yield metric.evaluate(output="Hello")
        yield asyncio.run(metric.evaluate_async(output="Hello"))


def outcome(value, **options):
    """The score and verdict, which are the same in all ways."""
    (one,) = {(result.score, result.verdict, result.passed, result.reason) for result in results(value, **options)}
    assert one[2] == {"passed": True, "failed": False}.get(one[1])
    assert one[3]
    return one[0], one[1]


# What a function may return


def test_a_bool():
    assert outcome(True) == (1.0, "passed")
    assert outcome(False) == (0.0, "failed")
    # A threshold is for numbers.
    assert outcome(False, threshold=0) == (0.0, "failed")


@pytest.mark.parametrize(
    ("operator", "below", "at", "above"),
    [
        (">=", "failed", "passed", "passed"),
        (">", "failed", "failed", "passed"),
        ("<=", "passed", "passed", "failed"),
        ("<", "passed", "failed", "failed"),
        ("=", "failed", "passed", "failed"),
        ("!=", "passed", "failed", "passed"),
    ],
)
def test_a_number_with_a_threshold(operator, below, at, above):
    for score, verdict in ((2.5, below), (3, at), (3.0, at), (4, above), (-7, below)):
        assert outcome(score, threshold=3, operator=operator) == (score, verdict)
    assert isinstance(next(iter(results(3, threshold=3))).score, float)


def test_a_threshold_of_zero_and_a_score_of_zero_count():
    assert outcome(0, threshold=0) == (0.0, "passed")
    assert outcome(-0.5, threshold=0) == (-0.5, "failed")
    assert outcome(0, threshold=0.5) == (0.0, "failed")
    assert outcome(-1, threshold=-2) == (-1.0, "passed")


def test_other_numbers():
    assert outcome(fractions.Fraction(3, 4), threshold=0.5) == (0.75, "passed")


def test_a_category():
    options = {"passing_categories": ["good", "fine"]}
    assert outcome("good", **options) == ("good", "passed")
    assert outcome("fine", **options) == ("fine", "passed")
    assert outcome("bad", **options) == ("bad", "failed")
    assert outcome("Good", **options) == ("Good", "failed")
    assert outcome("", **options) == ("", "failed")


def test_a_dict():
    assert outcome({"score": True}) == (1.0, "passed")
    assert outcome({"score": False, "reason": "no"}) == (0.0, "failed")
    assert outcome({"score": 0.5}, threshold=0.5) == (0.5, "passed")
    assert outcome({"score": 0}, threshold=0.5) == (0.0, "failed")
    assert outcome({"score": "good"}, passing_categories=["good"]) == ("good", "passed")
    # Where it says itself whether that is enough, nothing else has to.
    assert outcome({"score": 0.2, "passed": True}) == (0.2, "passed")
    assert outcome({"score": 0.2, "passed": False}) == (0.2, "failed")
    assert outcome({"score": "bad", "passed": True}) == ("bad", "passed")


def test_a_dict_carries_its_reason_and_details():
    for result in results({"score": 0.2, "passed": False, "reason": "far off", "details": {"distance": 3}}):
        assert (result.reason, result.details["reason"], result.details["distance"]) == ("far off", "far off", 3)
        assert result.name == "own"


def test_a_metric_result():
    for verdict, score in (
        ("passed", 0.3),
        ("failed", "bad"),
        ("inconclusive", None),
        ("not_applicable", None),
        ("error", None),
    ):
        own = MetricResult(name="inner", score=score, verdict=verdict, reason="so it was", details={"more": [1]})
        for result in results(own):
            assert (result.score, result.verdict, result.reason) == (score, verdict, "so it was")
            assert (result.name, result.details["more"]) == ("own", [1])
            assert result.details["reason"] == "so it was"


def result_of(score, verdict):
    return MetricResult(name="inner", score=score, verdict=verdict, reason="so it was")


# What it may not: an error that says so, and never a score of 0

WRONG = {
    "nothing": (None, {}, ["score", "missing"]),
    "nothing with a threshold": (None, {"threshold": 0.5}, ["score", "missing"]),
    "a list": ([1], {"threshold": 0.5}, ["list"]),
    "a list of bools": ([True, True], {}, ["list"]),
    "an empty list": ([], {}, ["list"]),
    "a tuple": ((True, "why"), {}, ["tuple"]),
    "a set": ({True}, {}, ["set"]),
    "bytes": (b"good", {"passing_categories": ["good"]}, ["bytes"]),
    "an object": (object(), {}, ["object"]),
    "a class": (bool, {}, ["type"]),
    "a function": (lambda: True, {}, ["function"]),
    "a complex number": (1j, {"threshold": 0.5}, ["complex"]),
    "NaN": (math.nan, {"threshold": 0.5}, ["nan"]),
    "infinity": (math.inf, {"threshold": 0.5}, ["inf"]),
    "minus infinity": (-math.inf, {"threshold": 0.5, "operator": "<="}, ["-inf"]),
    "NaN held against what it isn't": (math.nan, {"threshold": 0.5, "operator": "!="}, ["nan"]),
    "a number too large for a score": (10**400, {"threshold": 0.5}, []),
    "a number without a threshold": (0.7, {}, ["threshold", "0.7"]),
    "one without a threshold": (1, {}, ["threshold"]),
    "zero without a threshold": (0, {}, ["threshold"]),
    "a category without those that pass": ("good", {}, ["passing_categories", "good"]),
    "a category where a number would be": ("0.7", {"threshold": 0.5}, ["passing_categories"]),
    "a number where a category would be": (0.7, {"passing_categories": ["good"]}, ["threshold"]),
    "an empty dict": ({}, {}, ["score"]),
    "a dict without a score": ({"reason": "why"}, {}, ["score"]),
    "a dict with nothing as the score": ({"score": None, "passed": True}, {}, ["score"]),
    "a dict with a list as the score": ({"score": [1], "passed": True}, {}, ["list"]),
    "a dict with a dict as the score": ({"score": {"score": True}}, {}, ["dict"]),
    "a dict with NaN as the score": ({"score": math.nan, "passed": True}, {}, ["nan"]),
    "a dict with NaN and a threshold": ({"score": math.nan}, {"threshold": 0.5}, ["nan"]),
    "a dict with a number and no threshold": ({"score": 0.7}, {}, ["threshold"]),
    "a dict with a misspelt key": ({"score": True, "reasn": "why"}, {}, ["reasn", "reason"]),
    "a dict with another misspelt key": ({"scor": True}, {}, ["scor", "score"]),
    "a dict that says two things": ({"score": True, "passed": False}, {}, ["true", "false"]),
    "a number that is too large": (10**400, {"threshold": 0.5}, ["large"]),
    "a dict that passes in words": ({"score": 1.0, "passed": "yes"}, {}, ["passed"]),
    "a dict with details that are none": ({"score": True, "details": [1]}, {}, ["details"]),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_no_score_is_an_error(case):
    value, options, words = WRONG[case]
    assert outcome(value, **options) == (None, "error")
    for result in results(value, **options):
        assert all(word in result.reason.lower() for word in words), result.reason
        assert result.details["reason"] == result.reason
        MetricResult.model_validate_json(result.model_dump_json())


@pytest.mark.parametrize("case", WRONG)
def test_and_so_it_is_for_a_span(case):
    value, options, words = WRONG[case]
    for metric in of(value, **options):
        result = metric.evaluate(tool_calls=[{"name": "a"}], target="tool_call")
        assert (result.score, result.verdict, result.spans[0]["score"]) == (None, "error", None)
        assert all(word in result.reason.lower() for word in words), result.reason


def test_a_coroutine_from_a_plain_function_is_awaited_or_an_error():
    async def inner():
        return True

    result = code_metric(lambda output: inner()).evaluate(output="x")
    assert result.verdict in ("passed", "error")


def test_scalars_of_numpy():
    numpy = pytest.importorskip("numpy")
    assert outcome(numpy.bool_(True)) == (1.0, "passed")
    assert outcome(numpy.bool_(False)) == (0.0, "failed")
    assert outcome(numpy.float32(0.5), threshold=0.5) == (0.5, "passed")
    assert outcome(numpy.int64(0), threshold=0.5) == (0.0, "failed")
    assert outcome(numpy.float64("nan"), threshold=0.5) == (None, "error")
    assert outcome(numpy.array([1.0, 0.0]), threshold=0.5) == (None, "error")


class Scalar:
    """A number as numpy's are: no float, with `item`."""

    def __init__(self, value):
        self.value = value

    def item(self):
        return self.value


def test_what_is_like_a_scalar_of_numpy():
    assert outcome(Scalar(True)) == (1.0, "passed")
    assert outcome(Scalar(0.5), threshold=0.5) == (0.5, "passed")
    assert outcome(Scalar(math.nan), threshold=0.5) == (None, "error")


def test_an_item_that_leads_nowhere_is_an_error():
    class Endless:
        def item(self):
            return self

    class Broken:
        def item(self):
            raise ValueError("can only convert an array of size 1")

    assert outcome(Endless())[1] == "error"
    assert outcome(Broken())[1] == "error"


# Failures


@pytest.mark.parametrize(
    "error",
    [
        ValueError("boom"),
        KeyError("boom"),
        StopIteration("boom"),
        AssertionError("boom"),
        RecursionError("boom"),
        InvalidInput("boom"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_exception_is_an_error(error):
    def plain(output):
        raise error

    async def later(output):
        raise error

    for function in (plain, later):
        if function is later and isinstance(error, StopIteration):
            continue  # which Python turns into a RuntimeError
        for result in (
            code_metric(function).evaluate(output="x"),
            asyncio.run(code_metric(function).evaluate_async(output="x")),
            code_metric(function).evaluate(tool_calls=[{"name": "a"}], target="tool_call"),
        ):
            assert (result.verdict, result.score, result.passed) == ("error", None, None)
            assert type(error).__name__ in result.reason
            assert "boom" in result.reason


def test_stopping_the_program_is_no_error_of_a_metric():
    def plain(output):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        code_metric(plain).evaluate(output="x")


def test_a_crash_on_one_span_leaves_the_others():
    def tenth(output):
        return 1 / output > 0.05

    calls = [{"name": "a", "output": output} for output in (10, 0, 100)]
    result = code_metric(target="tool_call")(tenth).evaluate(tool_calls=calls)
    assert (result.verdict, result.score) == ("failed", 0.5)
    assert [span["verdict"] for span in result.spans] == ["passed", "error", "failed"]
    assert "ZeroDivisionError" in result.spans[1]["reason"]


def test_asynchronous_functions_run_at_the_same_time_and_results_keep_their_order():
    running, most = 0, 0

    async def slow(output):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.02 - output / 1000)
        running -= 1
        return output % 2 == 0

    calls = [{"name": f"call {n}", "output": n} for n in range(12)]
    start = time.perf_counter()
    result = code_metric(target="tool_call")(slow).evaluate(tool_calls=calls)
    assert time.perf_counter() - start < 12 * 0.015
    assert 1 < most <= 12
    assert [span["verdict"] for span in result.spans] == ["passed", "failed"] * 6
    assert [span["name"] for span in result.spans] == [call["name"] for call in calls]


def test_a_plain_function_does_not_block_the_event_loop():
    def slow(output):
        time.sleep(0.05)
        return True

    async def ticks():
        task = asyncio.ensure_future(code_metric(slow).evaluate_async(output="x"))
        count = 0
        while not task.done():
            count += 1
            await asyncio.sleep(0.005)
        return count, task.result().verdict

    count, verdict = asyncio.run(ticks())
    assert (count > 2, verdict) == (True, "passed")


# What a function may ask for


def reads(*names, optional=()):
    """A function with these parameters, which passes."""
    given = ", ".join([*names, *(f"{name}=None" for name in optional)])
    made = {}
    exec(f"def own({given}): return True", made)
    return made["own"]


SPANS = KINDS
EACH = ["response", "turn", *KINDS]
WHOLE = ["turn", "conversation", "run"]
TAKES = [
    (("input",), EACH),
    (("output",), EACH),
    (("input", "output"), EACH),
    (("input", "output", "trace"), EACH),
    (("output", "context"), EACH),
    (("output", "tool_calls"), EACH),
    (("trace",), WHOLE),
    (("tool_calls",), WHOLE),
    (("context",), WHOLE),
    (("trace", "tool_calls", "context"), WHOLE),
    (("span",), SPANS),
    (("span", "input", "output", "trace"), SPANS),
    (("turn",), ["turn"]),
    (("turn", "trace"), ["turn"]),
    # A span or a turn is not held to the expected output.
    (("expected_output",), ["response"]),
    (("output", "expected_output"), ["response"]),
    (("trace", "expected_output"), ["response"]),
]


@pytest.mark.parametrize(
    ("names", "takes"), TAKES, ids=lambda value: "-".join(value) if isinstance(value, tuple) else ""
)
def test_the_parameters_decide_the_targets(names, takes):
    function = reads(*names)
    metric = code_metric(function)
    assert sorted(metric.takes) == sorted(takes)
    assert metric.target.on in takes
    for on in ALL:
        if on in takes:
            assert code_metric(target=on)(function).target.on == on
            assert metric.evaluate(trace=TRACE, target=on, expected_output="Hello").verdict == "passed"
        else:
            for way in (
                lambda on=on: code_metric(target=on)(function),
                lambda on=on: CodeMetric(function=function, target={"on": on}),
                lambda on=on: metric.evaluate(trace=TRACE, target=on),
                lambda on=on: asyncio.run(metric.evaluate_async(trace=TRACE, target=on)),
                lambda on=on: setattr(metric, "config", {**metric.config, "target": on}),
            ):
                with pytest.raises(InvalidInput) as raised:
                    way()
                assert all(word in str(raised.value) for word in [*takes, on])


def test_a_span_and_its_turn_cannot_be_asked_for_at_once_where_neither_fits():
    # Only a span has both: it is in a turn.
    metric = code_metric(reads("span", "turn"))
    for on in metric.takes:
        assert on in KINDS


def test_what_each_parameter_is():
    seen = {}

    def own(input, output, context, tool_calls, trace, span=None, turn=None, expected_output=None):
        seen.update(locals())
        return True

    metric = code_metric(own)
    assert metric.evaluate(trace=TRACE, expected_output="Hello!").verdict == "passed"
    assert (seen["input"], seen["output"], seen["expected_output"]) == ("Hi", "Hello", "Hello!")
    assert (seen["context"], [call.name for call in seen["tool_calls"]]) == (["doc"], ["a"])
    assert isinstance(seen["trace"], Trace)
    assert seen["span"] is None

    metric.evaluate(trace=TRACE, target="tool_call")
    assert isinstance(seen["span"], Span)
    assert (seen["span"].name, seen["output"], seen["trace"]) == ("a", "x", TRACE)

    two = Trace.read(
        {
            "turns": [
                {"input": "1", "output": "one", "spans": [{"kind": "tool_call", "name": "a"}]},
                {"input": "2", "output": "two", "spans": [{"kind": "retrieval", "output": ["doc"]}]},
            ]
        }
    )
    metric.evaluate(trace=two, target="turn")
    # The last one that was judged is the second turn, which sees its own trace.
    assert isinstance(seen["turn"], Turn)
    assert (seen["turn"].input, seen["input"], seen["tool_calls"]) == ("2", "2", ())
    assert seen["trace"] == two.turns[1].trace


def test_a_metric_of_the_trace_gets_the_whole_for_a_span_and_its_own_for_a_turn():
    counts = []

    def own(output, trace):
        counts.append(len(trace.tool_calls))
        return True

    spans = [{"kind": "tool_call", "name": name} for name in "ab"]
    trace = Trace.read({"turns": [{"output": "x", "spans": spans}, {"output": "y", "spans": spans[:1]}]})
    for target, want in (("response", [3]), ("turn", [2, 1]), ("tool_call", [3, 3, 3])):
        counts.clear()
        code_metric(own).evaluate(trace=trace, target=target)
        assert counts == want


def test_a_required_expected_output_that_is_not_given():
    result = code_metric(reads("output", "expected_output")).evaluate(output="x")
    assert (result.verdict, result.score) == ("not_applicable", None)
    assert "expected_output" in result.reason


@pytest.mark.parametrize(
    ("parameter", "near"),
    [
        ("outputs", "output"),
        ("inptu", "input"),
        ("tools_calls", "tool_calls"),
        ("traces", "trace"),
        ("expected_outpt", "expected_output"),
        ("Span", "span"),
    ],
)
def test_an_unknown_parameter_is_refused_with_the_nearest(parameter, near):
    with pytest.raises(InvalidInput) as raised:
        code_metric(reads("output" if parameter != "outputs" else "input", parameter))
    message = str(raised.value)
    assert f'did you mean "{near}"' in message
    for word in ("input", "output", "expected_output", "context", "tool_calls", "trace", "span", "turn"):
        assert word in message


def test_other_parameters_keep_their_defaults():
    def own(output, least=3, *args, strict=False, **more):
        return (least, args, strict, more) == (3, (), False, {})

    assert code_metric(own).evaluate(output="x").verdict == "passed"


def test_functions_that_cannot_be_asked():
    for function in (lambda: True, lambda *args: True, lambda **more: True):
        with pytest.raises(InvalidInput):
            code_metric(function)

    def by_position(output, /):
        return True

    with pytest.raises(InvalidInput, match="output"):
        code_metric(by_position)
    for nothing in (3, [], {"a": 1}):
        with pytest.raises((InvalidType, InvalidInput)):
            code_metric(nothing)


def test_what_can_be_a_function():
    class Callable:
        def __call__(self, output):
            return output == "x"

        def method(self, output):
            return output == "x"

        @classmethod
        def of_class(cls, output):
            return output == "x"

    class Later:
        async def __call__(self, output):
            return output == "x"

    for function in (Callable(), Callable().method, Callable.of_class, Later(), lambda output: output == "x"):
        metric = code_metric(function)
        assert metric.evaluate(output="x").verdict == "passed"
        assert metric.evaluate(output="y").verdict == "failed"
        assert metric.name


# The decorator


def test_the_decorator_with_and_without_options():
    @code_metric
    def plain(output):
        """Says something."""
        return bool(output)

    @code_metric(name="another", threshold=3, operator="<", target="turn", max_spans=2)
    def with_options(output):
        return len(output)

    assert isinstance(plain, CodeMetric)
    assert isinstance(plain, Metric)
    assert (plain.name, plain.target.on, plain.type) == ("plain", "response", "code_metric")
    assert (with_options.name, with_options.target.on, with_options.threshold) == ("another", "turn", 3)
    # It can still be called.
    assert plain("x") is True
    assert with_options(output="four") == 4


def test_the_example_of_the_issue():
    @code_metric
    def no_repeats(trace) -> bool:
        calls = [(call.name, json.dumps(call.arguments, sort_keys=True)) for call in trace.tool_calls]
        return len(calls) == len(set(calls))

    pay = {"name": "pay", "arguments": {"order": 42}}
    assert no_repeats.evaluate(tool_calls=[pay, {**pay, "arguments": {"order": 43}}]).verdict == "passed"
    assert no_repeats.evaluate(tool_calls=[pay, pay]).verdict == "failed"
    assert no_repeats.evaluate(trace=Trace.from_parts(tool_calls=[pay, pay])).score == 0.0


def test_options_that_cannot_be():
    for options, kind, word in (
        ({"treshold": 1}, InvalidType, "threshold"),
        ({"opperator": ">"}, InvalidType, "operator"),
        ({"operator": "=>"}, InvalidInput, ">="),
        ({"operator": "=="}, InvalidInput, "="),
        ({"threshold": "high"}, (InvalidType, InvalidInput), "threshold"),
        ({"threshold": math.nan}, InvalidInput, "threshold"),
        ({"threshold": math.inf}, InvalidInput, "threshold"),
        ({"passing_categories": "good"}, InvalidType, "list"),
        ({"passing_categories": [1]}, InvalidType, "string"),
        ({"name": 3}, InvalidType, "name"),
        ({"target": "tool_cal"}, InvalidInput, "tool_call"),
    ):
        with pytest.raises(kind) as raised:
            code_metric(**options)(reads("output"))
        assert word in str(raised.value), options


@pytest.mark.parametrize("needs", [True, False])
def test_a_mean_needs_a_threshold(needs):
    target = {"on": "tool_call", "aggregate": "mean"}
    if needs:
        with pytest.raises(InvalidInput, match="threshold"):
            code_metric(target=target)(reads("output"))
        with pytest.raises(InvalidInput, match="threshold"):
            code_metric(reads("output")).evaluate(trace=TRACE, target=target)
    else:
        assert code_metric(target=target, threshold=0.5)(reads("output")).target.aggregate == "mean"


@pytest.mark.parametrize("other", ["good", result_of("good", "passed")], ids=["category", "result"])
def test_a_mean_where_one_has_no_number_is_no_crash(other):
    def own(output):
        return other if output == "other" else output

    target = {"on": "tool_call", "aggregate": "mean"}
    metric = code_metric(threshold=0.5, passing_categories=["good"], target=target)(own)
    result = metric.evaluate(tool_calls=[{"name": "a", "output": output} for output in (1.0, "other")])
    # There is no mean of these, which is no score of 0 either.
    assert (result.verdict, result.score) == ("error", None) or (result.verdict, result.score) == ("passed", 1.0)


def test_results_say_the_same_in_json():
    for result in results(0.5, threshold=0.25):
        again = MetricResult.model_validate_json(result.model_dump_json())
        assert again == result


@pytest.mark.parametrize(
    ("value", "options"),
    [
        ("\ud83d", {"passing_categories": ["good"]}),
        ({"score": True, "reason": "half \ud83d"}, {}),
        ({"score": True, "reason": 3}, {}),
        ({"score": True, "details": {"text": "\ud83d"}}, {}),
        ({"score": True, "details": {"since": {1, 2}}}, {}),
        ({"score": True, "details": {"object": object()}}, {}),
        ({"score": True, "details": {3: math.nan}}, {}),
        ({"score": True, "details": {"reason": "another", "target": 3}}, {}),
    ],
    ids=["category", "reason", "no text", "text", "set", "object", "keys", "taken keys"],
)
def test_whatever_a_function_says_a_result_can_be_written(value, options):
    for result in results(value, **options):
        assert json.loads(result.model_dump_json())["verdict"] == result.verdict
        assert result.details["reason"] == result.reason
    for metric in of(value, **options):
        result = metric.evaluate(tool_calls=[{"name": "a"}], target="tool_call")
        assert json.loads(result.model_dump_json())["verdict"] == result.verdict


# Missing data


@pytest.mark.parametrize("way", [lambda metric, **given: metric.evaluate(**given), evaluated_later])
@pytest.mark.parametrize(
    ("needs", "given"),
    [
        ("input", {"output": "Hello"}),
        ("output", {"input": "Hi"}),
        ("context", {"output": "Hello"}),
        ("tool_calls", {"output": "Hello"}),
    ],
)
def test_what_was_not_recorded_is_no_failure(needs, given, way):
    called = []

    def needing(**read):
        called.append(read)
        return False

    needing.__signature__ = inspect.Signature([inspect.Parameter(needs, inspect.Parameter.KEYWORD_ONLY)])
    result = way(code_metric(name="own")(needing), **given)
    assert (result.verdict, result.score, called) == ("inconclusive", None, [])
    assert result.reason == f"It reads {needs}, which was not recorded."


def test_what_has_a_default_is_asked_with_none():
    @code_metric
    def own(input=None, output=None, context=None, tool_calls=None):
        return (input, output, context, tool_calls) == (None, None, None, None)

    assert own.evaluate(spans=None).verdict == "passed"


def test_no_calls_are_not_unknown_calls():
    @code_metric
    def none_made(tool_calls):
        return len(tool_calls) == 0

    assert none_made.evaluate(tool_calls=[]).verdict == "passed"
    assert none_made.evaluate(tool_calls=None, output="Hello").verdict == "inconclusive"


def test_a_span_without_an_output_is_left_out_of_the_count():
    @code_metric(target="agent")
    def own(output):
        return output == "x"

    result = own.evaluate(spans=[{"kind": "agent"}, {"kind": "agent", "output": "x"}])
    assert result.reason == "1 of 1 agents passed (1 without a verdict left out)"


@pytest.mark.parametrize("way", [lambda metric, **given: metric.evaluate(**given), evaluated_later])
def test_calls_that_were_not_reported_are_not_none_for_a_metric_of_the_trace(way):
    @code_metric
    def no_repeats(trace):
        return len(trace.tool_calls) == len({call.name for call in trace.tool_calls})

    result = way(no_repeats, output="Hello")
    assert (result.verdict, result.score) == ("inconclusive", None)
    assert result.reason == "It reads tool_calls, which was not recorded."
    assert way(no_repeats, output="Hello", tool_calls=[]).verdict == "passed"


def test_a_retrieval_without_what_it_found_is_no_empty_context():
    @code_metric
    def grounded(context):
        return len(context) > 0

    found, lost = {"kind": "retrieval", "output": ["doc"]}, {"kind": "retrieval", "input": "q"}
    assert grounded.evaluate(spans=[found]).verdict == "passed"
    for spans in ([lost], [found, lost]):
        assert grounded.evaluate(spans=spans).verdict == "inconclusive"
    assert grounded.evaluate(context=[[]]).verdict == "failed"


class Leaving(BaseException):
    """As that of `pytest.fail`."""


@pytest.mark.parametrize("error", [SystemExit(0), Leaving("now"), asyncio.CancelledError()])
def test_whatever_is_raised_is_a_crash_of_the_one_it_is_raised_on(error):
    def own(output):
        if output == "out":
            raise error
        return True

    async def later(output):
        return own(output)

    calls = [{"name": "a", "output": "out"}, {"name": "b", "output": "in"}]
    for function in (own, later):
        metric = code_metric(target="tool_call")(function)
        for result in (metric.evaluate(tool_calls=calls), asyncio.run(metric.evaluate_async(tool_calls=calls))):
            assert [span["verdict"] for span in result.spans] == ["error", "passed"]
            assert type(error).__name__ in result.spans[0]["reason"] or "cancelled" in result.spans[0]["reason"]


def test_an_error_that_can_not_be_told_and_a_long_one_are_told_shortly():
    class Silent(Exception):
        def __str__(self):
            raise RuntimeError

    def own(output):
        raise Silent if output == "a" else ValueError("x" * 1_000_000)

    metric = code_metric(own)
    assert "Silent" in metric.evaluate(output="a").reason
    assert len(metric.evaluate(output="b").reason) < 1_000


@pytest.mark.parametrize(
    ("options", "facts"),
    [
        ({"threshold": "0.5"}, ["threshold", "number"]),
        ({"threshold": True}, ["threshold", "number"]),
        ({"max_spans": "3"}, ["max_spans", "integer"]),
        ({"max_spans": True}, ["max_spans", "integer"]),
        ({"passing_categories": []}, ["passing_categories", "1"]),
        ({"passing_categories": "abc"}, ["passing_categories", "list"]),
        ({"name": ""}, ["name", "empty"]),
    ],
)
def test_options_are_read_strictly(options, facts):
    with pytest.raises(CallmatchError) as raised:
        code_metric(**options)(reads("output"))
    assert all(fact in str(raised.value) for fact in facts)
    assert raised.value.path == next(iter(options))


@pytest.mark.parametrize("needs", ["span", "turn"])
def test_nothing_has_both_an_expected_output_and_is_a_part(needs):
    with pytest.raises(InvalidInput, match="expected_output"):
        code_metric(reads(needs, "expected_output"))
