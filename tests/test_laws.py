"""What must hold for any calls, and random calls against independent solvers."""

import json
import math
import random
import time

import networkx
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from answers import answer, batch_of_objects, consistent, difference, evaluate, file, text
from callmatch import InvalidInput
from callmatch.metrics import ToolCallTrajectory
from reference import ARGUMENTS, MATCHES, PAIRS, UNREADABLE, YES, equal, fit, judge, kind

RANK = {"failed": 0, "inconclusive": 1, "passed": 2}

# Few names, keys and values, so that calls collide all the time.
names = st.sampled_from("ab")
small_values = st.sampled_from([1, 1.0, True, 2, "1", None, [1], [1.0, 2], {"k": 1}, {"k": 2, "l": []}])
small_objects = st.dictionaries(st.sampled_from(["x", "y", "~/"]), small_values, max_size=2)
recorded = st.one_of(small_objects, small_objects.map(text))
not_recorded = st.none()
unreadable = st.sampled_from(["oops", "[1]", "{"])


def calls(arguments, max_size=6):
    return st.lists(st.fixed_dictionaries({"name": names, "arguments": arguments}), max_size=max_size)


made = calls(st.one_of(small_objects, recorded, not_recorded, unreadable))
plain = calls(small_objects)
expected = calls(st.one_of(small_objects, recorded, not_recorded))
match_modes = st.sampled_from(MATCHES)
argument_modes = st.sampled_from(ARGUMENTS)


def respell(value):
    """An equal value, written differently: other number types, key order, tuples."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, dict):
        return {key: respell(value[key]) for key in reversed(value)}
    if isinstance(value, list):
        return tuple(respell(item) for item in value)
    if isinstance(value, int) and abs(value) < 2**1000 and float(value) == value:
        return float(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def respell_calls(listed):
    return [
        {"arguments": respell(call["arguments"]) if isinstance(call["arguments"], dict) else call["arguments"]}
        | {"name": call["name"]}
        for call in listed
    ]


# Laws


@given(made, expected, match_modes, argument_modes, st.data())
def test_the_order_of_listing_never_changes_a_pairing(actual, wanted, match, arguments, data):
    assume(match in ("any_order", "subset", "superset"))
    first = evaluate(actual, wanted, match, arguments)
    second = evaluate(data.draw(st.permutations(actual)), data.draw(st.permutations(wanted)), match, arguments)
    assert first.verdict == second.verdict
    for count in ("matched", "made", "expected", "precision", "recall", "f1"):
        assert first.details[count] == second.details[count]


@given(made, expected, match_modes, argument_modes)
def test_equal_calls_written_differently_change_nothing(actual, wanted, match, arguments):
    first = evaluate(actual, wanted, match, arguments)
    assert answer(evaluate(respell_calls(actual), wanted, match, arguments)) == answer(first)
    assert answer(evaluate(actual, respell_calls(wanted), match, arguments)) == answer(first)


@given(plain, plain, st.sampled_from(["exact", "ignore"]))
def test_superset_and_subset_mirror_each_other(actual, wanted, arguments):
    assume(wanted)  # an empty expectation expects no calls, in both modes
    one = evaluate(actual, wanted, "superset", arguments)
    other = evaluate(wanted, actual, "subset", arguments)
    if not actual:
        assert (one.verdict, other.verdict) == ("failed", "failed")
        return
    mirrored = {"missing": "unexpected", "arguments": "arguments"}
    place = difference(one)
    assert (one.verdict, one.details["matched"]) == (other.verdict, other.details["matched"])
    assert difference(other) == (place and [mirrored[place[0]], None, place[1]])
    assert one.details["missing"] == other.details["unexpected"]
    assert one.details["unexpected"] == other.details["missing"]


@given(made, expected, match_modes, argument_modes, st.data())
def test_one_more_call_never_lowers_matched(actual, wanted, match, arguments, data):
    before = evaluate(actual, wanted, match, arguments).details["matched"]
    more_made = [*actual]
    more_made.insert(data.draw(st.integers(0, len(actual))), data.draw(made.filter(bool))[0])
    more_wanted = [*wanted]
    more_wanted.insert(data.draw(st.integers(0, len(wanted))), data.draw(expected.filter(bool))[0])
    assert before <= evaluate(more_made, wanted, match, arguments).details["matched"] <= before + 1
    assert before <= evaluate(actual, more_wanted, match, arguments).details["matched"] <= before + 1


@given(made, expected, argument_modes)
def test_stricter_match_modes_imply_looser_ones(actual, wanted, arguments):
    rank = {match: RANK[evaluate(actual, wanted, match, arguments).verdict] for match in MATCHES}
    assert rank["exact"] <= rank["in_order"] <= rank["superset"]
    assert rank["exact"] <= rank["any_order"]
    assert rank["any_order"] == min(rank["subset"], rank["superset"])


@given(made, expected, match_modes)
def test_stricter_argument_modes_imply_looser_ones(actual, wanted, match):
    rank = {arguments: RANK[evaluate(actual, wanted, match, arguments).verdict] for arguments in ARGUMENTS}
    assert rank["exact"] <= rank["partial"] <= rank["ignore"]


@given(made, match_modes, argument_modes)
def test_an_empty_expectation_expects_no_calls(actual, match, arguments):
    result = evaluate(actual, [], match, arguments)
    assert answer(result) == (["failed", 0, ["unexpected", None, 0]] if actual else ["passed", 0, None])


@given(plain, match_modes, argument_modes)
def test_calls_match_themselves(listed, match, arguments):
    assert answer(evaluate(listed, respell_calls(listed), match, arguments)) == ["passed", len(listed), None]


@given(made, expected, match_modes, argument_modes)
def test_counts_stay_within_their_bounds(actual, wanted, match, arguments):
    result = evaluate(actual, wanted, match, arguments)
    details = result.details
    assert consistent(result)
    assert 0 <= details["matched"] <= min(len(actual), len(wanted))
    low, high = sorted([details["precision"], details["recall"]])
    assert 0 <= low <= details["f1"] <= high <= 1 or (math.isclose(low, high) and math.isclose(low, details["f1"]))


@given(made, expected, argument_modes)
def test_counts_do_not_depend_on_the_match_mode(actual, wanted, arguments):
    results = [evaluate(actual, wanted, match, arguments) for match in MATCHES]
    for key in ("matched", "precision", "recall", "f1", "pairs", "missing", "unexpected"):
        assert all(result.details[key] == results[0].details[key] for result in results)


# Against the reference


def agrees(result, actual, wanted, match, arguments):
    want = judge(wanted, actual, match, arguments)
    details = result.details
    assert answer(result) == [want["verdict"], want["matched"], want["difference"]]
    assert (details["missing"], details["unexpected"]) == (want["missing"], want["unexpected"])
    for ratio in ("precision", "recall", "f1"):
        assert math.isclose(details[ratio], want[ratio])
    for pair in details["pairs"]:
        assert want["fits"][pair["expected"]][pair["actual"]]
    assert consistent(result)

    if want["difference"]:
        kind, i, j = want["difference"]
        assert details["difference"]["name"] == (actual[j] if i is None else wanted[i])["name"]
        if kind == "arguments":
            assert any(same_place(details["difference"], *place) for place in want["differing"])
        else:
            assert "pointer" not in details["difference"]
    return True


def same_place(found, pointer, values):
    if found["pointer"] != pointer:
        return False
    for side in ("expected_value", "actual_value"):
        if values.get(side) == UNREADABLE:
            continue
        if (side in found) != (side in values) or (side in values and not equal(found[side], values[side])):
            return False
    return True


@given(made, expected)
@settings(max_examples=150)
def test_small_cases_agree_with_the_reference(actual, wanted):
    for match, arguments in PAIRS:
        assert agrees(evaluate(actual, wanted, match, arguments), actual, wanted, match, arguments)


@pytest.mark.parametrize(("match", "arguments"), PAIRS)
def test_many_small_cases_agree_with_the_reference_in_a_batch_and_a_file(match, arguments, tmp_path):
    rng = random.Random(f"{match}/{arguments}")

    def draw(made):
        odd = [None, None, "oops"] if made else [None]
        values = [
            {},
            {"x": 1},
            {"x": 2},
            {"x": 1.0, "y": 1},
            {"y": 1},
            '{"y": 1, "x": 2}',
            {"y": [1, {"k": 2}]},
            *odd,
        ]
        return [{"name": rng.choice("aab"), "arguments": rng.choice(values)} for _ in range(rng.randrange(7))]

    rows = [(draw(made=True), draw(made=False)) for _ in range(150)]
    metric = ToolCallTrajectory(match=match, arguments=arguments)
    for results in (batch_of_objects(metric, rows), file(metric, rows, tmp_path / "rows.jsonl")):
        for (actual, wanted), result in zip(rows, results, strict=True):
            assert agrees(result, actual, wanted, match, arguments)


# Against networkx, where trying everything would take for ever


def largest_pairing(fits, rows, columns):
    graph = networkx.Graph()
    tops = [("expected", i) for i in range(rows)]
    graph.add_nodes_from(tops)
    graph.add_nodes_from(("made", j) for j in range(columns))
    graph.add_edges_from((("expected", i), ("made", j)) for i in range(rows) for j in range(columns) if fits[i][j])
    return len(networkx.bipartite.hopcroft_karp_matching(graph, tops)) // 2


def kept_in_order(fits, rows, columns):
    """Which rows are kept by the rule: a row that an augmenting path reaches stays paired for good."""
    owner = {}

    def place(i, seen):
        for j in range(columns):
            if fits[i][j] and j not in seen:
                seen.add(j)
                if j not in owner or place(owner[j], seen):
                    owner[j] = i
                    return True
        return False

    return [i for i in range(rows) if place(i, set())]


def large_case(seed):
    rng = random.Random(seed)
    size, keys, values = rng.choice([60, 120, 240]), rng.choice("2358"), rng.choice([2, 3, 6])

    def arguments(most):
        return {f"k{key}": rng.randrange(values) for key in rng.sample(range(int(keys)), rng.randint(0, most))}

    def listed(most, odd):
        return [
            {"name": rng.choice("aaab"), "arguments": odd if rng.random() < 0.03 else arguments(most)}
            for _ in range(rng.randint(size // 2, size))
        ]

    return listed(int(keys), odd="oops"), listed(2, odd=None)


@pytest.mark.parametrize("arguments", ["partial", "exact"])
@pytest.mark.parametrize("seed", range(8))
def test_larger_cases_agree_with_an_independent_solver(seed, arguments):
    actual, wanted = large_case(seed)
    rows, columns = len(wanted), len(actual)
    fits = [[fit(e, a, arguments) == YES for a in actual] for e in wanted]
    matched = largest_pairing(fits, rows, columns)

    for match in ("any_order", "subset", "superset"):
        result = evaluate(actual, wanted, match, arguments)
        details = result.details
        assert details["matched"] == matched
        passes = {"subset": [columns], "superset": [rows], "any_order": [rows, columns]}[match]
        assert result.passed == all(side == matched for side in passes)
        assert all(fits[pair["expected"]][pair["actual"]] for pair in details["pairs"])
        assert consistent(result)

    turned = [list(column) for column in zip(*fits, strict=True)]
    assert details["missing"] == sorted(set(range(rows)) - set(kept_in_order(fits, rows, columns)))
    assert details["unexpected"] == sorted(set(range(columns)) - set(kept_in_order(turned, columns, rows)))


@pytest.mark.parametrize("arguments", ["partial", "exact"])
def test_thousands_of_calls_of_one_tool_are_paired_in_time(arguments):
    """Each wanted call fits one made call, listed the other way round, and every second one has a twin."""
    wanted = [{"name": "a", "arguments": {"id": i // 2, "page": 1}} for i in range(4000)]
    actual = [{"name": "a", "arguments": {"page": 1, "id": i // 2}} for i in reversed(range(4000))]
    assert answer(evaluate(actual, wanted, "any_order", arguments)) == ["passed", 4000, None]
    actual[0]["arguments"]["id"] = -1
    result = evaluate(actual, wanted, "any_order", arguments)
    assert answer(result) == ["failed", 3999, ["arguments", 3999, None]]


def test_a_long_chain_of_alternatives_is_paired():
    """Call i can serve i or i + 1, and the last one only serves the first: every pair has to move."""
    size = 1500
    wanted = [{"name": "a", "arguments": {f"k{i}": 1}} for i in range(size)]
    actual = [{"name": "a", "arguments": {f"k{i}": 1, f"k{i + 1}": 1}} for i in range(size - 1)]
    actual.append({"name": "a", "arguments": {"k0": 1}})
    assert answer(evaluate(actual, wanted, "any_order")) == ["passed", size, None]


def test_calls_that_fit_in_many_ways_are_paired_in_time():
    """Every subset of 12 keys: the first wanted call fits all made ones, and the first made one fits all."""
    subsets = [[f"k{bit}" for bit in range(12) if number >> bit & 1] for number in range(2**12)]
    wanted = [{"name": "a", "arguments": dict.fromkeys(keys, 1)} for keys in sorted(subsets, key=len)]
    started = time.perf_counter()
    assert answer(evaluate(wanted[::-1], wanted, "any_order")) == ["passed", 2**12, None]
    assert time.perf_counter() - started < 5


def two_valued(seed, size, listed):
    """Made calls have 24 keys, wanted ones list some of them; each value is one of two."""
    rng = random.Random(seed)

    def drawn(keys):
        return [{"name": "a", "arguments": {f"k{key}": rng.randrange(2) for key in keys()}} for _ in range(size)]

    return drawn(lambda: range(24)), drawn(lambda: rng.sample(range(24), listed))


@pytest.mark.parametrize(("size", "listed"), [(4_000, 11), (16_000, 11), (4_000, 3)])
def test_calls_of_which_each_key_fits_half_are_paired_in_time(size, listed):
    """No key tells the calls apart, and no call has the same keys as another."""
    actual, wanted = two_valued(size, size, listed)
    started = time.perf_counter()
    result = evaluate(actual, wanted, "any_order", "partial")
    assert time.perf_counter() - started < 5
    assert consistent(result)
    fits = [
        wanted[pair["expected"]]["arguments"].items() <= actual[pair["actual"]]["arguments"].items()
        for pair in result.details["pairs"]
    ]
    assert all(fits)


@pytest.mark.parametrize("listed", [3, 6, 7, 8, 11])
def test_calls_of_which_each_key_fits_half_are_paired_as_an_independent_solver_does(listed):
    actual, wanted = two_valued(listed, 400, listed)
    fits = [[e["arguments"].items() <= a["arguments"].items() for a in actual] for e in wanted]
    assert evaluate(actual, wanted, "any_order", "partial").details["matched"] == largest_pairing(fits, 400, 400)


@pytest.mark.parametrize("arguments", ["exact", "partial"])
def test_large_integers_that_leave_the_same_remainder_are_paired_in_time(arguments):
    """Python hashes integers by their remainder of 2**61 - 1; all of these would collide."""
    calls = [{"name": "a", "arguments": {"x": 2**70 + i * (2**61 - 1)}} for i in range(20_000)]
    started = time.perf_counter()
    assert answer(evaluate(calls, calls[::-1], "any_order", arguments)) == ["passed", 20_000, None]
    assert time.perf_counter() - started < 3


# Equality of values, seen from outside

any_text = st.text(st.characters(exclude_categories=()), max_size=4)
numbers = st.one_of(
    st.integers(),
    st.integers(-3, 3),
    st.sampled_from([2**53, 2**53 + 1, 2.0**53, 2**63, 2**64, -(2**63), 2.0**64, 1e30, 10**30, 10**400]),
    st.floats(),
    st.sampled_from([0.0, -0.0, 1.0, math.inf, -math.inf, math.nan]),
)
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, any_text),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(any_text, inner, max_size=3)),
    max_leaves=8,
)


@st.composite
def edited(draw, value):
    """The value with one small place changed, or nothing but its spelling."""
    if isinstance(value, dict) and value and draw(st.booleans()):
        key = draw(st.sampled_from(sorted(value)))
        return {k: draw(edited(v)) if k == key else v for k, v in value.items()}
    if isinstance(value, list) and value and draw(st.booleans()):
        place = draw(st.integers(0, len(value) - 1))
        return [draw(edited(v)) if i == place else v for i, v in enumerate(value)]
    options = [st.just(value), st.just(respell(value)), json_values]
    if kind(value) == "number" and abs(value) < 2**1000:
        options.append(st.sampled_from([value + 1, float(value), str(value), bool(value), abs(value)]))
    return draw(st.one_of(options))


@given(json_values.flatmap(lambda value: st.tuples(st.just(value), edited(value))))
@settings(max_examples=600)
def test_values_are_equal_exactly_when_the_reference_says_so(pair):
    a, b = pair
    for arguments in ("exact", "partial"):
        want = [{"name": "t", "arguments": {"v": a}}]
        got = [{"name": "t", "arguments": {"v": b}}]
        assert evaluate(got, want, "exact", arguments).passed == equal(a, b)
        assert evaluate(text(got), text(want), "exact", arguments).passed == equal(*map(reread, (a, b)))
        # one side as objects, the other as text
        assert evaluate(got, text(want), "exact", arguments).passed == equal(reread(a), b)


def reread(value):
    """What the text of a value says: two lone surrogates in a row become one character."""
    return json.loads(json.dumps(value))


@given(st.lists(json_values, min_size=2, max_size=6))
def test_equal_values_are_found_among_many(values):
    """Pairing may hash values; equal ones must still meet, whatever their spelling."""
    wanted = [{"name": "t", "arguments": {"v": value}} for value in values]
    actual = [{"name": "t", "arguments": {"v": respell(value)}} for value in reversed(values)]
    for arguments in ("exact", "partial"):
        assert answer(evaluate(actual, wanted, "any_order", arguments)) == ["passed", len(values), None]


# The reader of JSON text

# fmt: off
malformed = st.sampled_from([
    "01", "1.", ".5", "+1", "1e", "1e+", "-", "--1", "0x1", "1_0", "nan", "-NaN", "+Infinity", "infinity",
    "Inf", "tru", "True", "nul", "None", "'a'", '"', '"\\', '"\\x41"', '"\\u12"', '"\\u12G4"', '"a\nb"',
    '"\t"', '"\x00"', "[1,]", "[,1]", "[1 2]", "[", "]", "{", '{"a"}', '{"a":}', '{"a" 1}', '{"a":1,}',
    "{a:1}", "{1:1}", "[1}", "", "1 // one", "/* */ 1", "1 2",
    "\ufeff1", "1\x00", "\xa01", "1\u2028", "1\x0c", "1;",
])
wellformed = st.sampled_from([
    " 1", "1\r\n", "-0", "-0.0e-0", "0E+1", "1e-999", "1e999", "-1e999", "NaN", "Infinity", "-Infinity",
    "1" * 400, '"\\ud83d\\ude00"', '"\\ud83d"', '"\\ude00\\ud83d"', '"\\u0000\\/\\b"', '"\x7f\u2028"',
    '"\U0001f600"', "[]", "{}", '{"a":1,"a":2}', '{"":{"":[]}}', "[[[[1]]]]", "0.1", "123456789.123456789e-3",
    "9007199254740993",
])
# fmt: on


@st.composite
def nearly_json(draw):
    """JSON text with up to two characters taken out, put in or replaced."""
    chars = list(json.dumps(draw(json_values), ensure_ascii=draw(st.booleans())))
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.integers(0, len(chars)))
        put_in = draw(st.sampled_from([*'[]{}",:\\ueE+-.01aN \n', "\ud800", ""]))
        chars[place : place + draw(st.integers(0, 1))] = put_in
    return "".join(chars)


@given(st.one_of(malformed, wellformed, nearly_json()))
@settings(max_examples=500)
def test_text_is_read_as_python_reads_it(value):
    arguments = '{"v": ' + value + "}"
    inline = '[{"name": "t", "arguments": ' + arguments + "}]"
    as_text = text([{"name": "t", "arguments": arguments}])
    made = [{"name": "t", "arguments": arguments}]
    try:
        wanted = [{"name": "t", "arguments": json.loads(arguments)}]
    except ValueError:
        for calls in (made, as_text):
            assert not evaluate(calls, [{"name": "t", "arguments": {}}]).passed
        with pytest.raises(InvalidInput):
            evaluate(inline, [{"name": "t"}])
    else:
        for calls in (made, as_text, inline):
            assert evaluate(calls, wanted, arguments="exact").passed
