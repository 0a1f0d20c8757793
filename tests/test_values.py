"""Equality of values, what counts as a JSON value, and what refuses to be one."""

import collections
import dataclasses
import datetime
import decimal
import enum
import json
import sys
import threading
import time

import pytest
from pydantic import BaseModel

from answers import answer, evaluate, text
from callmatch import CallmatchError, InvalidInput, InvalidType, MetricResult
from callmatch.metrics import ToolCallTrajectory


def text_of(number):
    """A call whose one argument is spelt like this in the text."""
    return text(call({"v": "?"})).replace('"?"', number)


def call(arguments, name="t"):
    return [{"name": name, "arguments": arguments}]


def same(got, want):
    """Whether a made value counts as equal to the expected one, in both argument modes that compare."""
    found = {
        arguments: evaluate(call({"v": got}), call({"v": want}), arguments=arguments).passed
        for arguments in ("partial", "exact")
    }
    assert found["partial"] == found["exact"]
    return found["exact"]


# Numbers, strings, containers


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1, 1.0),
        (-0.0, 0.0),
        (-0.0, 0),
        (2**53, 2.0**53),
        (2**64, 2.0**64),
        (float("nan"), float("nan")),
        (float("nan"), -float("nan")),
        ((1, 2), [1, 2]),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ("\ud800", "\ud800"),
        ("\x00", "\x00"),
        ("", ""),
        ([], ()),
    ],
)
def test_equal_values(a, b):
    assert same(a, b)
    assert same(b, a)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (True, 1),
        (False, 0),
        (True, 1.0),
        (None, False),
        (None, 0),
        (None, ""),
        (None, float("nan")),
        (2**53 + 1, 2.0**53),
        (2**63, 2**63 - 1),
        (2**64 + 1, 2.0**64),
        (10**400, float("inf")),
        (10**30, 1e30),
        ("1", 1),
        ("é", "e\u0301"),
        ("a", "A"),
        ("a", "a "),
        ("\ud83d\ude00", "\U0001f600"),
        ("\ud800", "\udc00"),
        (chr(0xD800), "\ufffd"),
        ([1], 1),
        ([1, 2], [2, 1]),
        ([1], [1, 1]),
        ([], {}),
        ([], None),
        ({"a": None}, {}),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1}, [["a", 1]]),
    ],
)
def test_unequal_values(a, b):
    assert not same(a, b)
    assert not same(b, a)


@pytest.mark.parametrize(
    "number",
    [
        "1e30",
        "1E400",
        "-1e400",
        "0.1",
        "1e-400",
        "5e-324",
        "-0",
        "-0.0",
        "1e0",
        "1" * 30,
        "NaN",
        "Infinity",
        "-Infinity",
    ],
)
def test_numbers_in_text_are_read_as_python_reads_them(number):
    assert evaluate(text_of(number), call({"v": json.loads(number)})).passed
    assert evaluate(call({"v": json.loads(number)}), text_of(number)).passed


def test_a_number_in_text_is_an_integer_or_a_binary64_by_its_spelling():
    assert evaluate(text_of("1" + "0" * 30), call({"v": 10**30})).passed
    assert not evaluate(text_of("1e30"), call({"v": 10**30})).passed
    assert not evaluate(text_of("9007199254740993.0"), call({"v": 2**53 + 1})).passed
    assert evaluate(text_of("9007199254740993.0"), call({"v": 2**53})).passed


def test_integers_of_5000_digits_are_compared_exactly_in_text_and_as_objects():
    digits = "7" * 5000
    number = 7 * (10**5000 - 1) // 9
    for want in (text_of(digits), call({"v": number})):
        assert evaluate(text_of(digits), want).passed
        assert evaluate(call({"v": number}), want).passed
        for other in (
            text_of(digits[:-1] + "8"),
            text_of("-" + digits),
            call({"v": number + 1}),
            call({"v": -number}),
        ):
            assert not evaluate(other, want).passed
    assert evaluate(call('{"v": ' + digits + "}"), call({"v": number})).passed


def test_duplicate_keys_in_text_the_last_wins():
    made = '[{"name": "x", "arguments": {"v": 1, "v": 2}, "name": "t"}]'
    assert evaluate(made, call({"v": 2}), arguments="exact").passed
    assert not evaluate(made, call({"v": 1})).passed


def test_many_keys_in_another_order_are_compared_quickly():
    forward = {f"key{i}": i for i in range(20_000)}
    backward = {key: forward[key] for key in reversed(forward)}
    started = time.perf_counter()
    for arguments in ("partial", "exact"):
        assert evaluate(call(backward), call(forward), arguments=arguments).passed
        assert evaluate(call({"v": backward}), call({"v": forward}), arguments=arguments).passed
        assert evaluate(text(call({"v": backward})), text(call({"v": forward})), arguments=arguments).passed
        assert not evaluate(call(backward | {"key0": -1}), call(forward), arguments=arguments).passed
    assert time.perf_counter() - started < 5


# Depth


def nested(depth, container):
    """Arguments of this depth: the object itself is the first level."""
    value = 1
    for _ in range(depth - 1):
        value = {"k": value} if container is dict else [value]
    return {"v": value}


@pytest.mark.parametrize("container", [dict, list])
@pytest.mark.parametrize("form", [lambda calls: calls, text], ids=["objects", "text"])
def test_512_levels_are_compared(container, form):
    made = nested(512, container)
    assert evaluate(form(call(made)), form(call(nested(512, container))), arguments="exact").passed
    assert not evaluate(form(call(made)), form(call(nested(511, container))), arguments="exact").passed


@pytest.mark.parametrize("container", [dict, list])
@pytest.mark.parametrize("depth", [513, 900])
@pytest.mark.parametrize("form", [lambda calls: calls, text], ids=["objects", "text"])
def test_more_than_512_levels_are_refused(container, depth, form):
    deep = nested(depth, container)
    with pytest.raises(InvalidInput, match="512"):
        evaluate(form(call(deep)), form(call(nested(depth, container))), arguments="exact")


def test_512_levels_are_compared_in_a_thread_with_a_small_stack(in_small_stack):
    found = []

    def compare():
        for container in (dict, list):
            made, other = nested(511, container), nested(510, container)
            for form in (lambda calls: calls, text):
                found.append(evaluate(form(call(made)), form(call(made)), arguments="exact").verdict)
                found.append(evaluate(form(call(made)), form(call(other)), arguments="exact").verdict)
                scores = ToolCallTrajectory().evaluate_batch(
                    tool_calls=[form(call(made)), form(call(other))], expected_tool_calls=[form(call(made))] * 2
                )
                found.extend(scores.verdict)

    in_small_stack(compare, 256 << 10)
    assert found == ["passed", "failed"] * 8


@pytest.mark.parametrize("opening", ["[", '{"k":'])
def test_text_of_a_million_levels_is_refused_without_a_crash(opening):
    deep = '[{"name": "t", "arguments": {"v": ' + opening * 1_000_000
    with pytest.raises(InvalidInput):
        evaluate(deep, call({"v": 1}))


def test_a_million_levels_of_lists_are_refused_without_a_crash():
    deep = []
    for _ in range(1_000_000):
        deep = [deep]
    with pytest.raises(InvalidInput, match="512"):
        evaluate(call({"v": deep}), call({"v": deep}))
    while deep:  # taken apart by hand: Python's own deallocation of it is not what is tested
        deep = deep[0]


def test_cycles_are_refused():
    ring = {}
    ring["v"] = ring
    with pytest.raises(InvalidInput):
        evaluate(call(ring), call(ring))
    loop = []
    loop.append(loop)
    with pytest.raises(InvalidInput):
        evaluate(call({"v": loop}), call({"v": loop}), "any_order", "exact")
    other = []
    other.append(other)
    with pytest.raises(InvalidInput):
        evaluate(call({"v": loop}), call({"v": other}), "any_order", "exact")


def test_a_value_used_twice_is_no_cycle():
    shared = [1, 2]
    assert same([shared, shared], [[1, 2], [1, 2]])


@pytest.mark.parametrize("first", [1, decimal.Decimal(1)], ids=["plain", "copied"])
def test_a_list_that_is_doubled_by_sharing_is_refused_in_time(first):
    """It is small in memory, and has 2**40 values."""
    doubled = 1
    for _ in range(40):
        doubled = [doubled, doubled]
    started = time.perf_counter()
    with pytest.raises(InvalidInput, match=r"^tool_calls\[0\]\.arguments\.v.* more than 10000000 values"):
        evaluate(call({"first": first, "v": doubled}), call({"v": 1}))
    assert time.perf_counter() - started < 30


def test_text_of_more_than_ten_million_values_is_refused_in_time():
    many = "[" + "0," * 10_000_001 + "0]"
    started = time.perf_counter()
    with pytest.raises(InvalidInput, match=r"^tool_calls: .*more than 10000000 values"):
        evaluate(text_of(many), call({"v": 1}))
    with pytest.raises(InvalidInput, match=r"^expectations\.tool_calls: .*more than 10000000 values"):
        evaluate(call({"v": 1}), text_of(many))
    assert time.perf_counter() - started < 10


# Python values that stand for JSON ones


class Colour(enum.Enum):
    RED = "red"
    BOTH = ("red", 1)
    FLAG = True
    SET = frozenset()


class Level(enum.IntEnum):
    LOW = 1


class Word(str, enum.Enum):
    YES = "yes"


class Place(BaseModel):
    city: str
    zip: int | None = None


class Trip(BaseModel):
    to: Place
    day: datetime.date
    colour: Colour = Colour.RED


@dataclasses.dataclass
class Point:
    x: float
    y: object = None


@dataclasses.dataclass(slots=True, frozen=True)
class SlottedPoint:
    x: float


Pair = collections.namedtuple("Pair", "left right")


class Text(str):
    def __eq__(self, other):
        return True

    __hash__ = str.__hash__


class Number(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


@pytest.mark.parametrize(
    ("value", "json_value"),
    [
        (Colour.RED, "red"),
        (Colour.BOTH, ["red", 1]),
        (Colour.FLAG, True),
        (Level.LOW, 1),
        (Level.LOW, 1.0),
        (Word.YES, "yes"),
        (decimal.Decimal("1.5"), 1.5),
        (decimal.Decimal("1.50"), 1.5),
        (decimal.Decimal(2), 2),
        (decimal.Decimal(10**30), 10**30),
        (Place(city="Bern"), {"city": "Bern", "zip": None}),
        ([Place(city="Bern", zip=3000)], [{"zip": 3000, "city": "Bern"}]),
        (
            Trip(to=Place(city="Bern"), day=datetime.date(2026, 1, 2)),
            {"to": {"city": "Bern", "zip": None}, "day": "2026-01-02", "colour": "red"},
        ),
        (Point(1), {"x": 1, "y": None}),
        (Point(1.5, [Point(2)]), {"x": 1.5, "y": [{"x": 2, "y": None}]}),
        (SlottedPoint(1), {"x": 1}),
        (Pair(1, 2), [1, 2]),
        (collections.OrderedDict(a=1, b=2), {"b": 2, "a": 1}),
        (collections.defaultdict(int, a=1), {"a": 1}),
        (collections.Counter("aab"), {"a": 2, "b": 1}),
        (type("Numbers", (list,), {})([1, 2]), [1, 2]),
        (type("Half", (float,), {})(0.5), 0.5),
        (Number(3), 3),
        (Text("a"), "a"),
    ],
)
def test_python_values_are_taken_as_their_json_values(value, json_value):
    assert same(value, json_value)
    assert same(json_value, value)
    assert same([value], [json_value])


@pytest.mark.parametrize(
    ("value", "other"),
    [
        (Colour.RED, "RED"),
        (Colour.RED, "Colour.RED"),
        (Colour.FLAG, 1),
        (Level.LOW, True),
        (Level.LOW, "LOW"),
        (Word.YES, "Word.YES"),
        (decimal.Decimal("1.5"), "1.5"),
        (decimal.Decimal("1.5"), 1.25),
        (decimal.Decimal(2**53 + 1), 2**53),
        (Place(city="Bern"), {"city": "Bern"}),
        (Point(1), {"x": 1}),
        (Number(3), 4),
        (Text("a"), "b"),
    ],
)
def test_and_as_nothing_else(value, other):
    assert not same(value, other)
    assert not same(other, value)


def test_string_enum_and_string_subclass_as_names():
    tool = enum.Enum("tool", {"LOOKUP": "lookup"}, type=str)
    assert evaluate(call({}, tool.LOOKUP), call({}, "lookup")).passed
    assert not evaluate(call({}, "tool.LOOKUP"), call({}, tool.LOOKUP)).passed
    assert not evaluate(call({}, Text("a")), call({}, "b")).passed


def test_string_subclass_keys():
    assert same({Text("a"): 1}, {"a": 1})
    assert same({Word.YES: 1}, {"yes": 1})


# Python values outside JSON

OUTSIDE = [
    {1, 2},
    frozenset(),
    datetime.datetime(2026, 1, 2),
    datetime.date(2026, 1, 2),
    datetime.timedelta(1),
    b"bytes",
    bytearray(b"x"),
    memoryview(b"x"),
    1j,
    object(),
    object,
    len,
    ...,
    range(3),
    iter([1]),
    (item for item in [1]),
    Colour.SET,
    Point(1, {1}),
]
NAMES = [f"{type(value).__name__}-{i}" for i, value in enumerate(OUTSIDE)]


@pytest.mark.parametrize("value", OUTSIDE, ids=NAMES)
def test_a_value_outside_json_is_a_type_error_with_its_path(value):
    made = [{"name": "a"}, {"name": "b"}, {"name": "c", "arguments": {"filters": {"since": value}}}]
    wanted = [{"name": "a"}, {"name": "b"}, {"name": "c", "arguments": {"filters": {"since": 1}}}]
    with pytest.raises(InvalidType) as caught:
        evaluate(made, wanted, "exact", "exact")
    assert caught.value.path.startswith("tool_calls[2].arguments.filters.since")
    assert str(caught.value).startswith("tool_calls[2].arguments.filters.since")
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, CallmatchError)


@pytest.mark.parametrize("match", ["exact", "in_order", "any_order", "subset", "superset"])
@pytest.mark.parametrize("arguments", ["partial", "exact"])
def test_a_value_outside_json_is_refused_in_every_mode_that_compares_it(match, arguments):
    with pytest.raises(InvalidType, match=r"^tool_calls\[0\]\.arguments\.v\[1\]"):
        evaluate(call({"v": [0, {1}]}), call({"v": [0, 1]}), match, arguments)
    with pytest.raises(InvalidType, match=r"^expectations\.tool_calls\[0\]\.arguments\.v\[1\]"):
        evaluate(call({"v": [0, 1]}), call({"v": [0, {1}]}), match, arguments)


@pytest.mark.parametrize("key", [1, None, 1.5, True, (1, 2), b"x"])
def test_a_key_that_is_no_string_is_a_type_error_with_its_path(key):
    for made in (call({"f": {key: 1}}), call({"f": {"a": 1, key: 1}})):
        with pytest.raises(InvalidType) as caught:
            evaluate(made, call({"f": {"a": 1}}), arguments="exact")
        assert caught.value.path.startswith("tool_calls[0].arguments.f")
    with pytest.raises(InvalidType) as caught:
        evaluate(call({"a": 1}), call({key: 1}), arguments="exact")
    assert caught.value.path.startswith("expectations.tool_calls[0].arguments")


# User objects that raise


class BoomError(Exception):
    pass


class Stop(BaseException):
    pass


@pytest.mark.parametrize("error", [BoomError, Stop, KeyboardInterrupt])
@pytest.mark.parametrize("attribute", ["name", "arguments"])
def test_an_exception_of_a_user_object_propagates_unchanged(error, attribute):
    raised = error("from the user's code")

    @dataclasses.dataclass
    class Call:
        name: str
        arguments: dict

        def __getattribute__(self, key):
            if key == attribute:
                raise raised
            return super().__getattribute__(key)

    with pytest.raises(error) as caught:
        evaluate([Call("t", {"v": 1})], call({"v": 1}))
    assert caught.value is raised


def test_an_exception_of_an_argument_object_propagates_unchanged():
    raised = BoomError()

    @dataclasses.dataclass
    class Value:
        x: int

        def __getattribute__(self, key):
            if key == "x":
                raise raised
            return super().__getattribute__(key)

    with pytest.raises(BoomError) as caught:
        evaluate(call({"v": Value(1)}), call({"v": {"x": 1}}))
    assert caught.value is raised


def test_hostile_objects_are_refused_not_fatal():
    class Hostile:
        @property
        def __class__(self):
            raise BoomError

        def __getattr__(self, key):
            raise BoomError

        def __repr__(self):
            raise BoomError

    with pytest.raises((BoomError, InvalidType)):
        evaluate(call({"v": Hostile()}), call({"v": 1}))
    with pytest.raises((BoomError, InvalidType)):
        evaluate([Hostile()], call({"v": 1}))


@pytest.mark.parametrize("answers", [lambda self, key: self, lambda self, key: 1, lambda self, key: {"x": 1}])
def test_an_object_that_has_every_attribute_is_no_json_value(answers):
    """A mock, say, has fields of a dataclass too, if it is asked for them."""
    value = type("Everything", (), {"__getattr__": answers})()
    with pytest.raises(InvalidType) as caught:
        evaluate(call({"filters": [0, {"who": value}]}), call({}))
    assert caught.value.path == "tool_calls[0].arguments.filters[1].who"
    assert "Everything" in str(caught.value)


def test_objects_are_never_asked_whether_they_are_equal():
    class Number(int):
        def __eq__(self, other):
            raise BoomError

        __hash__ = int.__hash__

    assert same(Number(3), 3)
    assert not same(Number(3), 4)


# Other threads


def test_a_dict_that_another_thread_changes_never_crashes():
    made = call({"v": {f"k{i}": [i] for i in range(50)}})
    wanted = call({"v": {f"k{i}": [i] for i in range(50)}})
    inner, stop = made[0]["arguments"]["v"], threading.Event()

    def change():
        i = 0
        while not stop.is_set():
            inner.pop(f"k{i % 50}", None)
            inner[f"k{i % 50}"] = [i % 50]
            inner[f"extra{i % 7}"] = {}
            inner.pop(f"extra{i % 7}", None)
            i += 1

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread = threading.Thread(target=change)
    thread.start()
    try:
        seen, finished = set(), 0
        until = time.perf_counter() + 1.5
        while time.perf_counter() < until:
            for arguments in ("partial", "exact"):
                try:
                    seen.add(evaluate(made, wanted, "any_order", arguments).verdict)
                except (RuntimeError, CallmatchError):  # "dictionary changed size during iteration"
                    continue
                finally:
                    finished += 1
    finally:
        stop.set()
        thread.join()
        sys.setswitchinterval(interval)
    assert finished > 100
    assert seen <= {"passed", "failed"}
    assert evaluate(made, wanted, arguments="exact").passed


def test_many_threads_score_at_once():
    metric = ToolCallTrajectory(match="any_order", arguments="exact")
    rows = [call({"v": i}) for i in range(200)]
    failures = []

    def score():
        for _ in range(20):
            scores = metric.evaluate_batch(tool_calls=[text(row) for row in rows], expected_tool_calls=rows)
            if scores.verdict != ["passed"] * len(rows):
                failures.append(scores.verdict)

    threads = [threading.Thread(target=score) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


# Wrong types around the calls


@pytest.mark.parametrize("calls", [5, True, 1.5, {1}, object(), {"name": "a"}, [5], [None], [["a"]], ["a"]])
def test_calls_of_a_wrong_type_are_refused_with_the_path(calls):
    with pytest.raises(CallmatchError, match=r"^tool_calls") as caught:
        evaluate(calls, call({}))
    assert caught.value.path.startswith("tool_calls")
    with pytest.raises(CallmatchError, match=r"^expectations\.tool_calls") as caught:
        evaluate(call({}), calls)
    assert caught.value.path.startswith("expectations.tool_calls")


@pytest.mark.parametrize("calls", ["", "not json", "[", "[{]", '{"name": "a"}', "5", b"\xff\xfe", b"[\x00]", "[1]"])
def test_text_that_holds_no_calls_is_refused_with_the_path(calls):
    with pytest.raises(CallmatchError, match=r"^tool_calls"):
        evaluate(calls, call({}))
    with pytest.raises(CallmatchError, match=r"^expectations\.tool_calls"):
        evaluate(call({}), calls)


@pytest.mark.parametrize("name", [5, None, b"a", ["a"], {"a": 1}, True])
def test_a_name_that_is_no_string_is_refused_with_the_path(name):
    for form in (lambda value: value, text):
        if form is text and isinstance(name, bytes):
            continue
        with pytest.raises(CallmatchError, match=r"^tool_calls\[1\]"):
            evaluate(form([*call({}), *call({}, name)]), call({}))


def test_a_call_without_a_name_is_refused_with_the_path():
    with pytest.raises(InvalidInput, match=r"^tool_calls\[1\]"):
        evaluate([*call({}), {"arguments": {}}], call({}))
    with pytest.raises(InvalidInput, match=r"^expectations\.tool_calls\[0\]"):
        evaluate(call({}), [{}])


def test_arguments_outside_json_are_refused_with_the_path():
    with pytest.raises(InvalidType, match=r"^tool_calls\[0\]\.arguments"):
        evaluate(call({1, 2}), call({"x": 1}))


def test_expected_arguments_that_are_unreadable_are_refused_with_the_path():
    for bad in ("oops", "[1]", [1], 5):
        with pytest.raises(CallmatchError, match=r"^expectations\.tool_calls\[1\].*arguments"):
            evaluate(call({"x": 1}), [*call({"x": 1}), *call(bad)])


@pytest.mark.parametrize("expectations", [5, "x", [], [{"name": "a"}], True])
def test_expectations_of_a_wrong_type_are_refused(expectations):
    with pytest.raises(CallmatchError, match="expectations"):
        ToolCallTrajectory().evaluate(tool_calls=[], expectations=expectations)


def test_values_do_not_change_while_they_are_read():
    made, wanted = call({"v": [1, {"a": (2,)}]}), call({"v": [1, {"a": [2]}]})
    before = repr((made, wanted))
    assert answer(evaluate(made, wanted)) == ["passed", 1, None]
    assert repr((made, wanted)) == before


def test_the_same_input_gives_the_same_result():
    made, wanted = call({"a": 1, "b": 2}), call({"b": 3, "a": 2})
    first = evaluate(made, wanted)
    assert isinstance(first, MetricResult)
    assert all(evaluate(made, wanted) == first for _ in range(20))
