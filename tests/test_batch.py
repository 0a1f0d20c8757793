"""Scoring many runs at once: columns, rows, summaries, and rows that are bad."""

import dataclasses
import math
import unicodedata

import pytest

from answers import evaluate, text
from callmatch import CallmatchError, InvalidInput, MetricResult
from callmatch.metrics import ToolCallTrajectory

COLUMNS = {
    "id",
    "score",
    "verdict",
    "matched",
    "made",
    "expected",
    "precision",
    "recall",
    "f1",
    "difference_kind",
    "expected_index",
    "actual_index",
    "reason",
    "error",
    "file",
    "line",
}


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


A, B = call("a", x=1), call("b", y=2)
CASES = {
    "all right": ("passed", [A, B], [A, B]),
    "missing": ("failed", [A], [A, B]),
    "order": ("failed", [B, A], [A, B]),
    "arguments": ("failed", [call("a", x=2)], [A]),
    "unrecorded": ("inconclusive", [{"name": "a"}], [A]),
    "not reported": ("inconclusive", None, [A]),
    "no expectation": ("not_applicable", [A], None),
    "neither": ("not_applicable", None, None),
    "bad": ("error", [{"name": 5}], [A]),
    "bad expectation": ("error", [A], [{"nam": "a"}]),
    "nothing made": ("failed", [], [A]),
    "both empty": ("passed", [], []),
    "extra": ("failed", [A, B], []),
}
VERDICTS = {name: verdict for name, (verdict, _, _) in CASES.items()}
ROWS = {name: (actual, expected) for name, (_, actual, expected) in CASES.items()}


def score(rows, **options):
    return ToolCallTrajectory(**options).evaluate_batch(
        tool_calls=[actual for actual, _ in rows], expected_tool_calls=[expected for _, expected in rows]
    )


def as_text(value):
    return None if value is None else text(value)


@pytest.fixture(params=["objects", "text", "bytes"])
def scores(request):
    rows = list(ROWS.values())
    if request.param == "text":
        rows = [(as_text(actual), as_text(expected)) for actual, expected in rows]
    if request.param == "bytes":
        rows = [(text(actual).encode(), text(expected).encode()) for actual, expected in rows]
    return score(rows)


def test_every_row_has_its_verdict(scores):
    assert len(scores) == len(ROWS)
    assert dict(zip(ROWS, scores.verdict, strict=True)) == VERDICTS


def test_a_row_is_the_result_of_evaluate(scores):
    for i, (name, (actual, expected)) in enumerate(ROWS.items()):
        if VERDICTS[name] != "error":
            assert scores[i] == evaluate(actual, expected)


def test_columns_are_lists_with_none_where_there_is_no_value(scores):
    columns = scores.to_dict()
    assert set(columns) == COLUMNS
    assert next(iter(columns)) == "id"
    assert {len(column) for column in columns.values()} == {len(ROWS)}
    for name, column in columns.items():
        assert isinstance(column, list)
        assert getattr(scores, name) == column

    row = {name: dict(zip(columns, values, strict=True)) for name, *values in zip(ROWS, *columns.values(), strict=True)}
    assert row["all right"]["score"] == 1.0
    assert row["all right"]["difference_kind"] is None
    assert (row["missing"]["matched"], row["missing"]["made"], row["missing"]["expected"]) == (1, 1, 2)
    assert (row["missing"]["precision"], row["missing"]["recall"]) == (1.0, 0.5)
    assert math.isclose(row["missing"]["f1"], 2 / 3)
    places = [[row[name][key] for key in ("difference_kind", "expected_index", "actual_index")] for name in row]
    assert places == [
        [None, None, None],
        ["missing", 1, None],
        ["order", 1, 0],
        ["arguments", 0, 0],
        *[[None, None, None]] * 6,
        ["missing", 0, None],
        [None, None, None],
        ["unexpected", None, 0],
    ]
    for name in ("not reported", "no expectation", "neither", "bad", "bad expectation"):
        for column in ("score", "matched", "precision", "recall", "f1"):
            assert row[name][column] is None, (name, column)
    assert columns["id"] == list(range(len(ROWS)))
    assert columns["file"] == columns["line"] == [None] * len(ROWS)


def test_a_bad_row_is_an_error_of_that_row(scores):
    for i, name in enumerate(ROWS):
        if VERDICTS[name] == "error":
            assert scores.error[i] == scores.reason[i] == scores[i].reason
            assert (scores[i].verdict, scores[i].score, scores[i].passed) == ("error", None, None)
            expected = f"expected_tool_calls[{i}]" if name == "bad expectation" else f"tool_calls[{i}]"
            assert scores.error[i].startswith(expected)
        else:
            assert scores.error[i] is None
            assert scores.reason[i].strip()


def test_rows_are_reached_like_those_of_a_list(scores):
    rows = list(scores)
    assert len(rows) == len(ROWS)
    assert all(isinstance(row, MetricResult) for row in rows)
    assert scores[0] == rows[0]
    assert scores[-1] == rows[-1]
    assert scores[-len(ROWS)] == rows[0]
    assert scores[2:5] == rows[2:5]
    assert scores[::-1] == rows[::-1]
    assert scores[5:2] == []
    for beyond in (len(ROWS), -len(ROWS) - 1):
        with pytest.raises(IndexError):
            scores[beyond]
    with pytest.raises(TypeError):
        scores["verdict"]


def test_the_summary_counts_every_row(scores):
    summary = scores.summary()
    assert summary.rows == len(ROWS)
    assert (summary.passed, summary.failed, summary.inconclusive, summary.not_applicable, summary.error) == (
        2,
        5,
        2,
        2,
        2,
    )
    assert math.isclose(summary.pass_rate, 2 / 7)
    assert summary.difference_kinds == {"missing": 2, "order": 1, "arguments": 1, "unexpected": 1}


def test_ratios_of_a_summary_are_means_over_passed_and_failed(scores):
    summary = scores.summary()
    counted = [i for i, verdict in enumerate(scores.verdict) if verdict in ("passed", "failed")]
    for ratio in ("precision", "recall", "f1"):
        mean = sum(getattr(scores, ratio)[i] for i in counted) / len(counted)
        assert math.isclose(getattr(summary, ratio), mean)


def test_a_summary_without_scores_has_no_ratios():
    for rows in ([], [(None, [A])], [([A], None)]):
        summary = score(rows).summary()
        assert summary.rows == len(rows)
        assert summary.pass_rate is summary.precision is summary.recall is summary.f1 is None


def test_summaries_add_up_to_the_summary_of_the_whole():
    rows = list(ROWS.values())
    whole = score(rows).summary()
    parts = [
        score(rows[:1]).summary(),
        score(rows[1:7]).summary(),
        score([]).summary(),
        score(rows[7:]).summary(),
    ]
    total = parts[0] + parts[1] + parts[2] + parts[3]
    for count in ("rows", "passed", "failed", "inconclusive", "not_applicable", "error", "difference_kinds"):
        assert getattr(total, count) == getattr(whole, count)
    for ratio in ("pass_rate", "precision", "recall", "f1"):
        assert math.isclose(getattr(total, ratio), getattr(whole, ratio))


def test_an_empty_batch_has_no_rows():
    scores = score([])
    assert len(scores) == 0
    assert list(scores) == []
    assert set(map(tuple, scores.to_dict().values())) == {()}


def test_rows_keep_their_order_and_their_own_answer():
    rows = [([call("a", x=i % 7)], [call("a", x=i % 5)]) for i in range(5000)]
    want = ["passed" if i % 7 == i % 5 else "failed" for i in range(5000)]
    assert score(rows).verdict == want
    assert score([(text(actual), text(expected)) for actual, expected in rows]).verdict == want


def test_rows_may_mix_objects_text_and_messages():
    message = {"role": "assistant", "tool_calls": [{"function": {"name": "a", "arguments": '{"x": 1}'}}]}
    rows = [
        ([A], [A]),
        (text([A]), [A]),
        ([A], text([A])),
        (text([A]).encode(), (A,)),
        ([message], [A]),
        (text([message]), [A]),
    ]
    assert score(rows, match="exact", arguments="exact").verdict == ["passed"] * 6


class Cell:
    """Stands in for an array in a cell of a table."""

    def __init__(self, items):
        self.items = items

    def tolist(self):
        return self.items


NAN = math.nan
SPELLINGS = {
    "objects": [
        ("passed", [A], [A]),
        ("failed", [B], [A]),
        ("inconclusive", None, [A]),
        ("inconclusive", NAN, [A]),
        ("not_applicable", [A], NAN),
        ("error", [{"name": 5}], [A]),
        ("error", "[", [A]),
        ("passed", Cell([A]), Cell([A])),
        ("failed", [], Cell([A])),
    ],
    "text": [
        ("passed", text([A]), text([A]).encode()),
        ("failed", text([B]), text([A])),
        ("inconclusive", None, text([A])),
        ("inconclusive", "null", text([A])),
        ("inconclusive", "NaN", text([A])),
        ("not_applicable", text([A]), None),
        ("error", text(text([A])), text([A])),
        ("error", text([A]), text(text([A]))),
        ("error", "oops", text([A])),
        ("error", text([{"name": 5}]), text([A])),
        ("error", b"[\xff]", text([A])),
    ],
}
SPELLINGS["both"] = SPELLINGS["objects"] + SPELLINGS["text"]


@pytest.mark.parametrize("size", [1, 255, 256, 300])
@pytest.mark.parametrize("rows", SPELLINGS.values(), ids=SPELLINGS)
def test_a_row_has_its_verdict_however_many_there_are(rows, size):
    """Larger batches are read by several threads, and by other code where all rows are text."""
    for verdict, *row in rows:
        assert score([row] * size).verdict == [verdict] * size, row
    rows = (rows * size)[:size]
    scores = score([row for _, *row in rows])
    assert scores.verdict == [verdict for verdict, *_ in rows]
    for i, (verdict, *row) in enumerate(rows):
        if verdict != "error":
            assert scores[i] == evaluate(*row)
        else:
            assert f"tool_calls[{i}]" in scores.error[i]
            with pytest.raises(CallmatchError) as caught:
                evaluate(*row)
            assert str(caught.value).split(": ", 1)[1] == scores.error[i].split(": ", 1)[1]


@pytest.mark.parametrize("size", [1, 300])
def test_an_exception_of_a_user_object_is_an_error_of_its_row_without_control_characters(size):
    class BoomError(Exception):
        pass

    def boom(self):
        raise BoomError("\x1b[31mred\r\n\x9b\u202e\ud800")

    raising, row = type("Call", (), {"name": property(boom)})(), type("Row", (), {"tolist": boom})()
    bad = [([raising], [A]), ([A], [raising]), (row, [A]), ([A], row)]
    scores = score([([A], [A]), *bad] + [([B], [A])] * size)
    assert scores.verdict == ["passed"] + ["error"] * 4 + ["failed"] * size
    for i in range(1, 5):
        assert "BoomError" in scores.error[i]
        assert str(i) in scores.error[i]
        assert not {unicodedata.category(char) for char in scores.error[i]} & {"Cc", "Cf", "Cs"}


@pytest.mark.parametrize("bad", ["not json", "[", b"\xff", 5, [5], {1}, [{"name": "a", "arguments": {"x": {1}}}]])
def test_one_bad_row_leaves_the_others_alone(bad):
    scores = score([([A], [A]), (bad, [A]), ([B], [A]), ([A], bad), ([A], [A])])
    assert scores.verdict == ["passed", "error", "failed", "error", "passed"]
    assert scores.error[1].startswith("tool_calls[1]")
    assert scores.error[3].startswith("expected_tool_calls[3]")
    summary = scores.summary()
    assert (summary.rows, summary.error, summary.pass_rate) == (5, 2, 2 / 3)


def test_lists_of_different_lengths_are_refused_with_both_lengths():
    with pytest.raises(InvalidInput) as caught:
        ToolCallTrajectory().evaluate_batch(tool_calls=[[A]] * 3, expected_tool_calls=[[A]] * 2)
    assert "3" in str(caught.value)
    assert "2" in str(caught.value)


@pytest.mark.parametrize("bad", [None, 5, "text", b"text", {"a": 1}, {1}])
def test_columns_of_a_wrong_type_are_refused(bad):
    with pytest.raises(CallmatchError, match="tool_calls"):
        ToolCallTrajectory().evaluate_batch(tool_calls=bad, expected_tool_calls=[[A]])
    with pytest.raises(CallmatchError, match="expected_tool_calls"):
        ToolCallTrajectory().evaluate_batch(tool_calls=[[A]], expected_tool_calls=bad)


def test_the_inputs_may_be_tuples_and_are_not_changed():
    made, wanted = ([A], (B,)), ((A,), [B])
    before = repr((made, wanted))
    scores = ToolCallTrajectory().evaluate_batch(tool_calls=made, expected_tool_calls=wanted)
    assert scores.verdict == ["passed", "passed"]
    assert repr((made, wanted)) == before


def test_an_interrupt_in_a_user_object_is_not_swallowed():
    @dataclasses.dataclass
    class Call:
        name: str

        def __getattribute__(self, key):
            if key == "name":
                raise KeyboardInterrupt
            return super().__getattribute__(key)

    with pytest.raises(KeyboardInterrupt):
        score([([A], [A]), ([Call("a")], [A])])
