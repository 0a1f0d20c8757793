"""What a result says, in the form that the cases use, and the ways to hand in the same calls."""

import json
from pathlib import Path

from callmatch.metrics import ToolCallTrajectory

CASES = [
    json.loads(line)
    for name in ("more.jsonl", "trajectory.jsonl")
    for line in (Path(__file__).parent / "cases" / name).read_text(encoding="utf-8").splitlines()
]


def difference(result):
    found = result.details["difference"]
    return found and [found["kind"], found["expected_index"], found["actual_index"]]


def answer(result):
    """[verdict, matched, first difference], as in the cases."""
    return [result.verdict, result.details["matched"], difference(result)]


def row_answer(scores, i):
    """The same from the columns of a batch."""
    kind = scores.difference_kind[i]
    place = kind and [kind, scores.expected_index[i], scores.actual_index[i]]
    return [scores.verdict[i], scores.matched[i], place]


def text(value):
    return json.dumps(value)


def evaluate(actual, expected, match="in_order", arguments="partial"):
    metric = ToolCallTrajectory(match=match, arguments=arguments)
    return metric.evaluate(tool_calls=actual, expectations={"tool_calls": expected})


def objects(metric, rows):
    return [metric.evaluate(tool_calls=actual, expectations={"tool_calls": expected}) for actual, expected in rows]


def json_str(metric, rows):
    return objects(metric, [(text(actual), text(expected)) for actual, expected in rows])


def json_bytes(metric, rows):
    return objects(metric, [(text(actual).encode(), text(expected).encode()) for actual, expected in rows])


def batch_of_objects(metric, rows):
    scores = metric.evaluate_batch(
        tool_calls=[actual for actual, _ in rows], expected_tool_calls=[expected for _, expected in rows]
    )
    return list(scores)


def batch_of_texts(metric, rows):
    return batch_of_objects(metric, [(text(actual), text(expected)) for actual, expected in rows])


def file(metric, rows, path):
    write_jsonl(path, [{"tool_calls": actual, "expected_tool_calls": expected} for actual, expected in rows])
    return [result for scores in metric.evaluate_file(path) for result in scores]


def write_jsonl(path, records):
    path.write_text("".join(text(record) + "\n" for record in records), encoding="utf-8")
    return path


def consistent(result):
    """The parts of one result agree with each other, whatever the right answer is."""
    details = result.details
    made, expected, matched = details["made"], details["expected"], details["matched"]
    assert result.passed == {"passed": True, "failed": False, "inconclusive": None}[result.verdict]
    assert result.score == {"passed": 1.0, "failed": 0.0, "inconclusive": None}[result.verdict]
    assert (details["difference"] is not None) == (result.verdict == "failed")
    assert details["reason"] == result.reason
    assert result.reason.strip()
    assert result.spans == []

    paired = [pair["expected"] for pair in details["pairs"]]
    taken = [pair["actual"] for pair in details["pairs"]]
    assert paired == sorted(paired)
    assert sorted(paired + details["missing"]) == list(range(expected))
    assert sorted(taken + details["unexpected"]) == list(range(made))
    assert details["missing"] == sorted(details["missing"])
    assert details["unexpected"] == sorted(details["unexpected"])
    assert len(paired) == matched

    if made and expected:
        assert details["precision"] == matched / made
        assert details["recall"] == matched / expected
    else:
        assert details["precision"] == details["recall"] == details["f1"] == float(made == expected)
    return True
