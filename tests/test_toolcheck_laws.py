"""What must hold for ToolCallCheck whatever the text and the trace."""

import copy
import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from callmatch.metrics import ToolCallCheck
from toolcheck_answers import CASES, consistent, evidence, relations, verdicts

CHECK = ToolCallCheck()
LOCALES = [
    *("en_US", "en_GB", "en_IN", "de_DE", "de_CH", "de_AT", "fr_FR", "fr_CH", "es_ES", "es_MX"),
    *("it_IT", "pt_BR", "pt_PT", "nl_NL", "sv_SE", "da_DK", "nb_NO", "fi_FI", "pl_PL", "cs_CZ"),
]

by_id = pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])


def evaluate(request):
    return CHECK.evaluate(**request)


def changed(request, **changes):
    return {**copy.deepcopy(request), **changes}


def one_call(text, payload, query="What does it say?"):
    call = {"order": 1, "tool_name": "lookup", "status": "success", "request_payload": {}, "response_payload": payload}
    return {"user_query": query, "generated_text": text, "tool_trace": [call]}


# Payloads, and texts that tell some of their values, rightly or not

keys = st.sampled_from(["total", "count", "price_usd", "temp_c", "date", "name", "in_stock", "items", "share", "id"])
small_numbers = st.integers(-20, 20)
numbers = st.one_of(
    small_numbers,
    st.integers(-(10**6), 10**6),
    st.decimals(-10_000, 10_000, places=2, allow_nan=False).map(float),
)
words = st.sampled_from(
    ["open", "failed", "A-7731", "2026-03-09", "14:05", "12.5 kg", "ok", "", "true", "x@example.org"]
)
leaves = st.one_of(numbers, numbers, words, st.booleans(), st.none())
payloads = st.recursive(
    leaves,
    lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(keys, inner, max_size=5)),
    max_leaves=50,
)
templates = st.sampled_from(
    [
        "The total is {}.",
        "It costs ${}.",
        "I found {} items",
        "{} °C outside",
        "{}%",
        "- **{}**",
        "not {} but",
        "{} and",
    ]
)


def leaf_paths(value, path=()):
    if isinstance(value, dict):
        return [p for key, inner in value.items() for p in leaf_paths(inner, (*path, key))]
    if isinstance(value, list):
        return [p for at, inner in enumerate(value) for p in leaf_paths(inner, (*path, at))]
    return [path]


def without(value, path):
    if len(path) == 1:
        if isinstance(value, dict):
            return {key: inner for key, inner in value.items() if key != path[0]}
        return [inner for at, inner in enumerate(value) if at != path[0]]
    copied = copy.copy(value)
    copied[path[0]] = without(value[path[0]], path[1:])
    return copied


def at(value, path):
    for step in path:
        value = value[step]
    return value


@st.composite
def told(draw):
    """A payload, and a text with values of it, sums of two of them, and values of nowhere."""
    payload = draw(st.one_of(st.lists(payloads, min_size=1, max_size=4), st.dictionaries(keys, payloads, min_size=1)))
    paths = leaf_paths(payload)
    known = [at(payload, path) for path in paths] or [0]
    counted = [value for value in known if isinstance(value, (int, float)) and not isinstance(value, bool)] or [1]
    values = st.one_of(
        st.sampled_from(known),
        st.tuples(st.sampled_from(counted), st.sampled_from(counted)).map(sum).map(lambda total: round(total, 2)),
        numbers,
    )
    sentences = draw(st.lists(st.tuples(templates, values), min_size=1, max_size=4))
    return payload, paths, " ".join(template.format(value) for template, value in sentences)


# Laws


@given(told(), st.data())
def test_removing_a_leaf_of_a_payload_never_supports_what_was_unsupported(made, data):
    payload, paths, text = made
    assume(paths)
    full = evaluate(one_call(text, payload))
    less = evaluate(one_call(text, without(payload, data.draw(st.sampled_from(paths)))))
    unsupported = {(found.start, found.end) for found in evidence(full) if found.relation == "unsupported"}
    # Derived is another matter: with a value less, a list has another length and another mean.
    supported = {(found.start, found.end) for found in evidence(less) if found.relation == "supported"}
    assert not unsupported & supported


UNRELATED = {
    "tool_name": "zodiac_sign",
    "status": "success",
    "error": None,
    "request_payload": {"born": "spring"},
    "response_payload": {"sign": "aries"},
}


@by_id
def test_an_unrelated_successful_call_changes_no_status_verdict(case):
    request = case["request"]
    was = verdicts(evaluate(request))["status_consistency"]
    # A failure that nothing is said of is left open where no other call answered; with another one it is not.
    fine = {was, "followed"} if was in ("undecided", "vacuous") else {was}
    trace = request["tool_trace"]
    for place in (0, len(trace)):
        calls = [*trace[:place], UNRELATED, *trace[place:]]
        numbered = [{**call, "order": order} for order, call in enumerate(calls, 1)]
        assert verdicts(evaluate(changed(request, tool_trace=numbered)))["status_consistency"] in fine


@by_id
def test_parallel_calls_may_be_listed_in_any_order(case):
    trace = case["request"]["tool_trace"]
    times = {"order": 1, "start_time": "2026-03-02T09:15:00Z", "end_time": "2026-03-02T09:15:09Z"}
    parallel = [{**call, **times} for call in trace]
    if len(parallel) < 2:
        parallel = [*parallel, {**UNRELATED, **times}]
    one, other = (
        evaluate(changed(case["request"], tool_trace=calls)) for calls in (parallel, list(reversed(parallel)))
    )
    assert verdicts(one) == verdicts(other)
    assert relations(one) == relations(other)


@by_id
def test_a_payload_as_json_text_says_the_same(case):
    as_text = [
        {
            key: json.dumps(value) if key == "response_payload" and isinstance(value, (dict, list)) else value
            for key, value in call.items()
        }
        for call in case["request"]["tool_trace"]
    ]
    one = evaluate(case["request"])
    other = evaluate(changed(case["request"], tool_trace=as_text))
    assert verdicts(one) == verdicts(other)
    assert relations(one) == relations(other)


@pytest.mark.parametrize("prefix", ["🎉🎉 ", "e\u0301\u0301 ", "\u200b", "👩‍👩‍👧 ", "\ud83d "], ids=ascii)
@by_id
def test_what_stands_before_a_text_moves_evidence_and_changes_no_verdict(case, prefix):
    request = changed(case["request"], generated_text=prefix + case["request"]["generated_text"])
    moved = evaluate(request)
    assert consistent(moved, request)
    # A word more makes another sentence, and a list, a heading or a table begins at the start of a line.
    if not prefix[0].isalpha() and case["request"]["generated_text"][0].isalpha():
        assert verdicts(moved) == verdicts(evaluate(case["request"]))


@by_id
def test_the_order_of_keys_says_nothing(case):
    def turned(value):
        if isinstance(value, dict):
            return {key: turned(value[key]) for key in reversed(value)}
        return [turned(inner) for inner in value] if isinstance(value, list) else value

    one, other = evaluate(case["request"]), evaluate(turned(case["request"]))
    assert verdicts(one) == verdicts(other)
    assert relations(one) == relations(other)


@given(told())
def test_the_same_input_gives_the_same_output(made):
    payload, _, text = made
    request = one_call(text, payload)
    first = evaluate(request)
    assert consistent(first, request)
    assert ToolCallCheck().evaluate(**copy.deepcopy(request)).model_dump_json() == first.model_dump_json()


@given(st.lists(told(), min_size=1, max_size=5))
def test_a_batch_says_what_single_checks_say(many):
    requests = [one_call(text, payload) for payload, _, text in many]
    batch = list(CHECK.evaluate_batch(requests))
    assert [result.model_dump(mode="json") for result in batch] == [
        evaluate(request).model_dump(mode="json") for request in requests
    ]


@given(told())
def test_explaining_changes_no_verdict(made):
    payload, _, text = made
    request = one_call(text, payload)
    explained = ToolCallCheck(explain=True).evaluate(**request)
    assert verdicts(explained) == verdicts(evaluate(request))
    assert all(instruction.explanation for instruction in explained.instructions_list)


any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)
statuses = st.sampled_from(["success", "failed", "pending", "timeout", "partial", 503, True, None, "", "zorped"])
any_call = st.fixed_dictionaries(
    {"tool_name": st.text(min_size=1)},
    optional={
        "order": st.integers(-5, 5),
        "status": statuses | st.text(),
        "error": any_json,
        "start_time": st.text(),
        "end_time": st.text(),
        "retries": st.integers(0, 3),
        "request_payload": any_json,
        "response_payload": any_json,
    },
)
# Digits of other scripts, signs of several kinds, joiners, combining marks, halves of surrogate pairs.
oddities = [*"a1x.,-\u2013\u2212%$€°\"'`*_#|\n 🎉👩½²٣", "\u0966", "\u200d", "\u0301", "\ufe0f", "\ud83d", "\udc69"]
odd_text = st.lists(st.sampled_from(oddities) | st.text(max_size=3), max_size=60).map("".join)


@given(st.text(), odd_text, st.lists(any_call, max_size=4))
def test_any_text_and_any_json_has_a_result(query, text, trace):
    request = {"user_query": query, "generated_text": text, "tool_trace": trace}
    assert consistent(ToolCallCheck(explain=True).evaluate(**request), request)


@given(st.lists(st.tuples(odd_text, any_json), min_size=1, max_size=4))
def test_any_text_and_any_json_has_a_result_in_a_batch(many):
    requests = [one_call(text, payload) for text, payload in many]
    for request, result in zip(requests, CHECK.evaluate_batch(requests), strict=True):
        assert consistent(result, request)


# Numbers as other people write them


def spelled(value):
    """The value with other separators: none, comma, point, blanks of several kinds, apostrophes."""
    whole, cents = f"{value:,.2f}".split(".")
    for thousands in (",", "", " ", "\u00a0", "\u202f", "\u2009", "'", "\u2019"):
        yield whole.replace(",", thousands) + "." + cents
    for thousands in (".", "", " ", "\u00a0", "\u202f", "\u2009"):
        yield whole.replace(",", thousands) + "," + cents


amounts = st.integers(1_000_01, 999_999_999).filter(lambda cents: cents % 10 != 0).map(lambda cents: cents / 100)


def fidelity(text, value):
    return verdicts(evaluate(one_call(text, {"total": value, "currency": "EUR"}, "What's the total?")))[
        "result_fidelity"
    ]


@given(amounts)
def test_a_right_number_is_right_however_it_is_written(amount):
    for written in spelled(amount):
        assert fidelity(f"The total is {written} EUR.", amount) == "followed", written


@given(amounts, st.integers(2, 9))
def test_a_wrong_number_is_wrong_however_it_is_written(amount, factor):
    wrong = round(amount * factor + 0.31, 2)
    for written in spelled(wrong):
        assert fidelity(f"The total is {written} EUR.", amount) == "violated", written


@pytest.mark.parametrize("locale", LOCALES)
@given(amounts)
def test_numbers_as_a_locale_writes_them(locale, amount):
    written = pytest.importorskip("babel.numbers").format_decimal(amount, locale=locale)
    assert fidelity(f"The total is {written} EUR.", amount) == "followed", written


@pytest.mark.parametrize("locale", LOCALES)
@given(st.integers(1_000_000, 999_999_999))
def test_whole_numbers_as_a_locale_writes_them(locale, amount):
    written = pytest.importorskip("babel.numbers").format_decimal(amount, locale=locale)
    assert fidelity(f"The total is {written} EUR.", amount) == "followed", written
