"""What many rows say together: counted by hand, by fractions, and the same however the rows come in."""

import contextlib
import json
import math
import os
import pickle
import re
import subprocess
import sys
from collections import Counter
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from answers import CASES, text
from callmatch import InvalidInput, InvalidType, Summaries, Summary, Trials, _core
from callmatch.intervals import wilson
from callmatch.metrics import ToolCallTrajectory
from test_cli import as_json, fails, lines, run, succeeds
from test_trials import by_enumeration


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


ODD = [
    (None, [call("a")]),
    ([call("a")], None),
    ([{"name": 5}], [call("a")]),
    ([], []),
    ([], [call("a")]),
    ([call("a", x=[{"y": 1}, {"y": 2}])], [call("a", x=[{"y": 1}, {"y": 3}])]),
]
ROWS = [(case["actual"], case["expected"]) for case in CASES] + ODD * 3
GROUPS = [(None, "large", "null", "small", "")[place % 5] for place in range(len(ROWS))]
NUMBERS = [(10, 9, None)[place % 3] for place in range(len(ROWS))]
BY = ["model", "number"]
KEYS = [(model, None if number is None else str(number)) for model, number in zip(GROUPS, NUMBERS, strict=True)]


def table_of(rows=ROWS):
    return pa.table(
        {
            "tool_calls": [None if made is None else text(made) for made, _ in rows],
            "expected_tool_calls": [None if expected is None else text(expected) for _, expected in rows],
            "model": GROUPS[: len(rows)],
            "number": pa.array(NUMBERS[: len(rows)], pa.int64()),
        }
    )


def score(rows, **options):
    return ToolCallTrajectory(**options).evaluate_batch(
        tool_calls=[made for made, _ in rows], expected_tool_calls=[expected for _, expected in rows]
    )


def records(path, rows=ROWS, **more):
    columns = {"model": GROUPS, "number": NUMBERS} | more
    made = [
        {"tool_calls": actual, "expected_tool_calls": expected}
        | {name: cells[place] for name, cells in columns.items()}
        for place, (actual, expected) in enumerate(rows)
    ]
    path.write_bytes(lines(made))
    return path


def written(summaries):
    """All that is told, as bytes."""
    return json.dumps([summaries.total.to_dict(), summaries.to_dicts(), summaries.to_state()])


# Counted by hand and by fractions


def test_what_fails_most():
    rows = [
        ([], [call("a"), call("b")]),
        ([call("b")], [call("a"), call("b")]),
        ([call("a", x=[{"y": 1}, {"y": 2}])], [call("a", x=[{"y": 1}, {"y": 3}])]),
        ([call("a", x=[{"y": 0}])], [call("a", x=[{"y": 3}])]),
        ([call("a", z=1)], [call("a", z=2)]),
        ([call("c", z=1)], [call("c", z=2)]),
        ([{"name": "c", "arguments": "{"}], [call("c", z=2)]),
        ([call("a"), call("d")], []),
        ([call("a", z=1)], [call("a", z=1)]),
        (None, [call("a")]),
    ]
    summary = score(rows).summary()
    assert list(summary.failing_tools.items()) == [("a", 6), ("c", 2)]
    assert list(summary.failing_arguments.items()) == [
        (("a", "/x/*/y"), 2),
        (("a", "/z"), 1),
        (("c", ""), 1),
        (("c", "/z"), 1),
    ]
    assert summary.difference_kinds == {"missing": 2, "unexpected": 1, "arguments": 5}
    assert sum(summary.failing_tools.values()) == summary.failed
    assert sum(summary.failing_arguments.values()) == summary.difference_kinds["arguments"]


def shares(matched, made, expected):
    if made == expected == 0:
        return [Fraction(1)] * 3
    return [Fraction(matched, of) if made and expected else Fraction(0) for of in (made, expected)] + [
        Fraction(2 * matched, made + expected)
    ]


@pytest.mark.parametrize("match", _core.MATCH_MODES)
def test_means_are_those_of_fractions(match):
    scores = score(ROWS, match=match)
    summary = scores.summary()
    judged = [place for place, verdict in enumerate(scores.verdict) if verdict in ("passed", "failed")]
    counts = [(scores.matched[place], scores.made[place], scores.expected[place]) for place in judged]
    macro = [sum(column) / len(counts) for column in zip(*(shares(*row) for row in counts), strict=True)]
    micro = shares(*(sum(column) for column in zip(*counts, strict=True)))
    told = [summary.precision, summary.recall, summary.f1]
    assert all(math.isclose(mean, right, rel_tol=1e-15) for mean, right in zip(told, macro, strict=True))
    assert [summary.micro_precision, summary.micro_recall, summary.micro_f1] == [float(share) for share in micro]
    verdicts = Counter(scores.verdict)
    assert {verdict: getattr(summary, verdict) for verdict in _core.VERDICTS} == {
        verdict: verdicts[verdict] for verdict in _core.VERDICTS
    }
    assert summary.rows == len(ROWS)
    assert summary.pass_rate == verdicts["passed"] / len(judged)


def test_a_summary_of_no_rows():
    summary = Summary()
    assert (summary.rows, summary.judged) == (0, 0)
    assert summary.pass_rate is summary.pass_rate_interval is summary.micro_f1 is None
    assert summary.failing_tools == {}
    assert summary == score([]).summary()
    assert summary != score([([], [])]).summary()
    assert summary != 0
    with pytest.raises(TypeError):
        summary + 1


@given(st.permutations(range(len(ROWS))), st.integers(1, len(ROWS)))
def test_neither_order_nor_cuts_make_a_difference(order, cut):
    rows = [ROWS[place] for place in order]
    parts = [score(rows[start : start + cut]).summary() for start in range(0, len(rows), cut)]
    assert sum(parts, Summary()) == score(ROWS).summary()
    assert json.dumps(sum(parts, Summary()).to_dict()) == json.dumps(score(ROWS).summary().to_dict())


def test_names_and_paths_are_kept_short_and_too_many_are_not_told():
    long = score([([], [call("é" * 5000)])]).summary()
    assert list(long.failing_tools) == ["é" * 200 + "…"]
    most = 10_000
    rows = [("[]", text([call(f"tool {place}")])) for place in range(most + 1)]
    assert len(score(rows[:most]).summary().failing_tools) == most
    summary = score(rows).summary()
    assert (summary.failed, summary.failing_tools, summary.failing_arguments) == (most + 1, None, None)
    assert summary.to_dict()["failing_arguments"] is None


# However the rows come in


def of_table(table, by=BY, **options):
    return ToolCallTrajectory().evaluate_table(table, **options).summaries(by)


def test_the_same_bytes_whatever_the_threads_and_the_cut(tmp_path):
    big = 40  # so that several parts are scored at a time
    table = pa.concat_tables([table_of()] * big)
    whole = written(of_table(table))
    right = {key: Counter() for key in KEYS}
    for key, verdict in zip(KEYS, score(ROWS).verdict, strict=True):
        right[key][verdict] += big
    summaries = of_table(table)
    assert {key: {v: getattr(group, v) for v in _core.VERDICTS} for key, group in summaries.items()} == {
        key: {verdict: counts[verdict] for verdict in _core.VERDICTS} for key, counts in right.items()
    }
    for threads in (1, 2):
        for rows in (1, 7, table.num_rows):
            cut = pa.Table.from_batches(table.combine_chunks().to_batches(max_chunksize=rows))
            assert written(of_table(cut, threads=threads)) == whole
    parts = Summaries(BY)
    for start in range(0, table.num_rows, 101):
        parts += of_table(table.slice(start, 101))
    assert written(parts) == whole
    path = records(tmp_path / "runs.jsonl", ROWS * big, model=GROUPS * big, number=NUMBERS * big)
    for threads in (1, 2):
        of_records = Summaries(BY)
        for scores in ToolCallTrajectory().evaluate_file(path, group_by=BY, threads=threads):
            of_records += scores.summaries()
        assert written(of_records) == whole


def test_the_scores_that_are_read_and_the_rows_that_are_summed_up_are_the_same():
    table, metric = table_of(), ToolCallTrajectory()
    right = score(ROWS).summary()
    scores = metric.evaluate_table(table)
    assert scores.summary() == right  # before they are read
    pa.table(scores)
    assert scores.summary() == right
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=5))
    scores = metric.evaluate_table(reader)
    assert pa.table(scores).num_rows == len(ROWS)
    assert scores.summary() == right  # though the rows can't be read again
    with pytest.raises(InvalidInput, match="read already"):
        scores.summaries(["model"])
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=5))
    assert written(metric.evaluate_table(reader).summaries(BY)) == written(of_table(table))


def stream(table, **options):
    given = {"actual": "tool_calls", "expected": "expected_tool_calls", "keep": [], "columns": [], "threads": 1}
    return _core.score_table(ToolCallTrajectory()._core, table, **given | options)


def test_a_stream_tells_its_summaries_when_it_was_read():
    table = pa.concat_tables([table_of()] * 60)
    scores = stream(table, group_by=BY)
    reader = pa.RecordBatchReader.from_stream(scores)
    reader.read_next_batch()
    assert not scores.at_end
    with pytest.raises(RuntimeError, match="not read to their end"):
        scores.summaries()
    with pytest.raises(RuntimeError, match="read already"):
        scores.group_by(["model"])
    assert sum(batch.num_rows for batch in reader) < table.num_rows
    assert scores.at_end
    assert scores.summaries().state() == of_table(table)._core.state()


def test_rows_that_could_not_be_read_leave_nothing_to_tell():
    table = table_of()

    def batches():
        yield table.to_batches()[0]
        raise OSError("the disk is gone")

    scores = stream(pa.RecordBatchReader.from_batches(table.schema, batches()))
    with pytest.raises(Exception, match="the disk is gone"):
        scores.summaries()
    with pytest.raises(RuntimeError, match="not read to their end"):
        scores.summaries()


def test_summaries_go_to_other_processes_and_back():
    summaries = of_table(table_of())
    for copy in (
        pickle.loads(pickle.dumps(summaries)),
        Summaries.from_state(json.loads(json.dumps(summaries.to_state()))),
    ):
        assert copy == summaries
        assert written(copy) == written(summaries)
        assert copy + summaries == summaries + copy
    assert pickle.loads(pickle.dumps(summaries.total)) == summaries.total
    for bad in ([], [["model"]], "text", [*summaries.to_state()[:4]], [1, 2, 3, 4, 5]):
        with pytest.raises(InvalidInput, match="state"):
            Summaries.from_state(bad)


def test_adding_in_place_changes_no_other_summaries():
    one, other = of_table(table_of()), of_table(table_of())
    before = written(one)
    total = one + other
    total += other
    assert written(one) == written(other) == before
    assert total.total.rows == 3 * len(ROWS)
    total += total
    assert total.total.rows == 6 * len(ROWS)
    with pytest.raises(TypeError, match="other fields"):
        total += of_table(table_of(), ["model"])


# Groups


def test_groups_are_a_mapping_in_the_order_of_their_values():
    summaries = of_table(table_of())
    assert summaries.by == ("model", "number")
    assert list(summaries) == sorted(set(KEYS), key=lambda key: tuple((v is not None, v and v.zfill(3)) for v in key))
    assert list(summaries)[:2] == [(None, None), (None, "9")]
    assert summaries[None, "9"].rows == KEYS.count((None, "9"))
    assert ("null", None) in summaries
    assert len(summaries) == len(set(KEYS))
    by_model = summaries.by_fields(["model"])
    assert by_model == of_table(table_of(), ["model"])
    assert {key[0]: group.rows for key, group in by_model.items()} == Counter(GROUPS)
    first = by_model.to_dicts()[0]
    assert first["group"] == {"model": None}
    assert first["rows"] == GROUPS.count(None)
    with pytest.raises(InvalidInput, match="number"):
        summaries.by_fields(["numbr"])


CELLS = {
    "text": (pa.array(["x", None, "x"]), {("x",): 2, (None,): 1}),
    "dictionary": (pa.array(["x", None, "x"]).dictionary_encode(), {("x",): 2, (None,): 1}),
    "bool": (pa.array([True, False, None]), {("true",): 1, ("false",): 1, (None,): 1}),
    "float": (pa.array([0.5, 2.0, float("nan")]), {("0.5",): 1, ("2.0",): 1, ("NaN",): 1}),
    "unsigned": (pa.array([2**64 - 1, 1, 1], pa.uint64()), {("1",): 2, ("18446744073709551615",): 1}),
    "date": (pa.array([0, 1, 1], pa.date32()), {("1970-01-01",): 1, ("1970-01-02",): 2}),
    "list": (pa.array([[1, 2], [1, 2], []]), {("[1, 2]",): 2, ("[]",): 1}),
    "null": (pa.nulls(3), {(None,): 3}),
}


@pytest.mark.parametrize("kind", CELLS)
def test_values_of_columns_of_any_type(kind):
    column, right = CELLS[kind]
    table = table_of(ROWS[:3]).append_column("cell", column)
    assert {key: group.rows for key, group in of_table(table, ["cell"]).items()} == right


def test_rows_in_memory_are_grouped_by_columns_of_values():
    scores = score(ROWS)
    assert scores.summaries({"model": GROUPS, "number": NUMBERS}) == of_table(table_of())
    assert scores.summaries({}).total == scores.summary()
    cells = [1, 1.0, True, "1", None, math.nan, "null", "\ud800", {"a": [1]}, (1, 2), "[1]"]
    groups = score(ROWS[: len(cells)]).summaries({"cell": iter(cells)})
    assert {key[0]: group.rows for key, group in groups.items()} == {
        "1": 2,
        "1.0": 1,
        "true": 1,
        None: 2,
        "null": 1,
        "\\ud800": 1,
        '{"a": [1]}': 1,
        "[1, 2]": 1,
        "[1]": 1,
    }
    few = score(ROWS[:2])
    for bad in (["model"], {"model": "xy"}, {5: [1, 2]}, {"model": 5}, {"model": [1, {1}]}):
        with pytest.raises(InvalidType, match="group_by"):
            few.summaries(bad)
    with pytest.raises(InvalidInput, match="model has 3 values for 2 rows"):
        few.summaries({"model": [1, 2, 3]})


def test_a_value_that_can_not_be_read_costs_the_groups_and_not_the_rows():
    cells = pa.array([1, 2, 3])
    for _ in range(513):  # one level too many
        cells = pa.ListArray.from_arrays([0, 1, 2, 3], cells)
    table = table_of(ROWS[:3]).append_column("cell", cells)
    summaries = of_table(table, ["cell"])
    assert summaries.total == score(ROWS[:3]).summary()
    with pytest.raises(InvalidInput, match="cell"):
        len(summaries)


def test_columns_that_rows_can_not_be_grouped_by():
    table = table_of()
    with pytest.raises(InvalidInput, match=r'a column of the table is one of.*did you mean "model"'):
        of_table(table, ["modl"])
    with pytest.raises(InvalidInput, match="twice"):
        of_table(table, ["model", "model"])
    with pytest.raises(InvalidInput, match="at most 32"):
        of_table(table, [str(place) for place in range(33)])
    for bad in ("model", 5, [5]):
        with pytest.raises(InvalidType, match="group_by"):
            of_table(table, bad)


def test_records_without_a_field_and_lines_that_are_none(tmp_path):
    path = tmp_path / "runs.jsonl"
    row = {"tool_calls": [], "expected_tool_calls": []}
    path.write_bytes(lines([row | {"of": {"model": "x"}}, row, row | {"of": {"model": None}}]) + b"{oops\n5\n")
    (scores,) = ToolCallTrajectory().evaluate_file(path, group_by=["of.model"])
    summaries = scores.summaries()
    assert {key: (group.passed, group.error) for key, group in summaries.items()} == {("x",): (1, 0), (None,): (2, 2)}
    for bad in ("model", 5, [5]):
        with pytest.raises(InvalidType, match="group_by"):
            ToolCallTrajectory().evaluate_file(path, group_by=bad)
    with pytest.raises(InvalidInput, match=r'"of.modl".*the first one has model; did you mean "model"'):
        list(ToolCallTrajectory().evaluate_file(path, group_by=["of.modl"]))
    many = [f"of.{place}" for place in range(31)]
    with pytest.raises(InvalidInput, match=r'"of.30"'):
        list(ToolCallTrajectory().evaluate_file(path, group_by=["of.30", "of.model", *many[:30]]))


def test_of_too_many_groups_only_the_total_is_told():
    most = 100_000
    columns = {name: ["[]"] * (most + 1) for name in ("tool_calls", "expected_tool_calls")}
    table = pa.table(columns | {"few": ["x"] * (most + 1), "many": range(most + 1)})
    assert len(of_table(table.slice(0, most), ["few", "many"])) == most
    summaries = of_table(table, ["few", "many"])
    assert summaries.total.passed == most + 1
    with pytest.raises(InvalidInput, match="group by many: too many different values; at most 100,000"):
        summaries.to_dicts()
    with pytest.raises(InvalidInput, match="group by many"):
        Trials.of(summaries, "many")


# Intervals


@pytest.mark.parametrize(
    ("count", "of", "right"),
    [(81, 263, (0.2553, 0.3662)), (15, 148, (0.0624, 0.1605)), (0, 20, (0.0, 0.1611)), (1, 29, (0.0061, 0.1718))],
)
def test_intervals_are_those_that_newcombe_published(count, of, right):
    """R. G. Newcombe, Statistics in Medicine 17 (1998), 857-872, table I, method 3."""
    assert tuple(round(end, 4) for end in wilson(count, of)) == right


@given(st.integers(1, 10**7), st.data())
def test_the_ends_of_an_interval_are_as_far_away_as_95_percent_allow(of, data):
    """The definition: an end is a share from which the one found is 1.96 standard errors away."""
    count = data.draw(st.integers(0, of))
    low, high = wilson(count, of)
    assert 0 <= low <= count / of <= high <= 1
    for end in (low, high):
        if 0 < end < 1:
            away = abs(count / of - end) / math.sqrt(end * (1 - end) / of)
            assert math.isclose(away, 1.959963984540054, rel_tol=1e-6)
    assert (low == 0) >= (count == 0)
    assert (high == 1) >= (count == of)


def test_the_interval_of_a_summary():
    summary = score([([], [])] * 3 + [([], [call("a")])]).summary()
    assert summary.pass_rate_interval == wilson(3, 4)
    assert wilson(0, 0) is None


# Groups of trials


def test_trials_of_groups_of_rows():
    table = table_of()
    trials = Trials.of(of_table(table), "number")
    verdicts = score(ROWS).verdict
    rows = list(zip(KEYS, verdicts, strict=True))
    for model in set(GROUPS):
        mine = [(number, verdict) for (name, number), verdict in rows if name == model]
        right = Trials([number for number, _ in mine], [verdict for _, verdict in mine])
        assert trials[model,].to_dict() == right.to_dict()
    assert list(trials) == [key[:1] for key in of_table(table, ["model"])]
    with pytest.raises(InvalidInput, match="number"):
        Trials.of(of_table(table), "numer")


# The command


@pytest.fixture
def runs(tmp_path):
    row = {"tool_calls": [call("a")], "expected_tool_calls": [call("a")]}
    other = row | {"tool_calls": []}
    unknown = row | {"tool_calls": None}
    models = {"small\x1b[31m": [row, other, other, row], None: [row, row, row, unknown]}
    made = [
        record | {"model": model, "task": {"id": place // 2}, "trial": place % 2}
        for model, of_model in models.items()
        for place, record in enumerate(of_model)
    ]
    path = tmp_path / "runs.jsonl"
    path.write_bytes(lines(made))
    return path


def test_groups_are_lines_with_tabs_in_a_pipe(runs):
    told = succeeds("score", runs, "--group-by", "model, trial", "--limit", 0).splitlines()
    rows = [line.split("\t") for line in told if "\t" in line]
    assert rows[0] == [
        "model",
        "trial",
        "rows",
        "passed",
        "failed",
        "other",
        "pass rate",
        "95 %",
        "precision",
        "recall",
        "F1",
    ]
    assert [row[:7] for row in rows[1:]] == [
        ["null", "0", "2", "2", "0", "0", "1.000"],
        ["null", "1", "2", "1", "0", "1", "1.000"],
        ["small\\u001b[31m", "0", "2", "1", "1", "0", "0.500"],
        ["small\\u001b[31m", "1", "2", "1", "1", "0", "0.500"],
    ]


def test_trials_in_a_pipe_and_as_json(runs):
    told = succeeds("score", runs, "--trials-by", "task.id", "--limit", 0).splitlines()
    rows = [line.split("\t") for line in told if "\t" in line]
    assert rows[0] == ["k", "pass^k", "95 %", "pass@k", "tasks"]
    # Of task 0 three of four passed, of task 1 two of three.
    half = by_enumeration([[True, False, True, True], [False, True, True]], 2)
    assert rows[2][:2] + rows[2][3:] == ["2", f"{half[0]:.3f}", f"{half[1]:.3f}", "2"]
    assert rows[4][-1] == "1"
    assert "2 tasks by task.id, 7 trials" in told
    assert "not counted: 1 trial that neither passed nor failed" in told

    found = as_json(runs, "--trials-by", "task.id", "--group-by", "model")
    assert [group["group"] for group in found["groups"]] == [{"model": None}, {"model": "small\x1b[31m"}]
    assert [(one["group"], one["judged"], one["not_judged"]) for one in found["trials"]] == [
        ({"model": None}, 3, 1),
        ({"model": "small\x1b[31m"}, 4, 0),
    ]
    table = found["trials"][1]["table"]
    assert [(row["k"], row["pass_hat"], row["pass_at"]) for row in table] == [(1, 0.5, 0.5), (2, 0.0, 1.0)]
    assert found["summary"]["failing_tools"] == {"a": 2}


def on_a_terminal(columns, *arguments):
    """What the command shows on a terminal so many columns wide, without the colours."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": str(columns)}
    command = [sys.executable, "-m", "callmatch", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=theirs, stderr=subprocess.DEVNULL, stdin=theirs, env=environment)
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # the other side was closed
        while read := os.read(ours, 65536):
            shown += read
    os.close(ours)
    assert process.wait(30) == 0
    return re.sub(r"\x1b\[[0-9;]*m", "", shown.decode())


def test_groups_and_trials_are_tables_on_a_terminal(runs):
    narrow = on_a_terminal(80, "score", runs, "--group-by", "model", "--trials-by", "task.id", "--limit", 0)
    wide = on_a_terminal(120, "score", runs, "--group-by", "model", "--trials-by", "task.id", "--limit", 0)
    for shown in (narrow, wide):
        assert "\x1b" not in shown
        cells = [[cell.strip() for cell in re.split("[│┃]", line)[1:-1]] for line in shown.splitlines()]
        assert ["null", "4", "3", "0", "1", "1.000"] in [row[:6] for row in cells]
        assert ["null", "1", "1.000"] in [row[:3] for row in cells]
    headings = [[cell.strip() for cell in line.split("┃")[1:-1]] for line in wide.splitlines() if "┃" in line]
    assert headings[0] == [
        "model",
        "rows",
        "passed",
        "failed",
        "other",
        "pass rate",
        "95 %",
        "precision",
        "recall",
        "F1",
    ]
    assert "recall" not in narrow.split("┏", 1)[1]


def test_groups_that_can_not_be(runs, tmp_path):
    assert 'did you mean "model"' in fails("score", runs, "--group-by", "modl")
    assert "twice" in fails("score", runs, "--group-by", "model,trial", "--group-by", "model")
    assert "comma" in fails("score", runs, "--group-by", "model,")
    assert "one field" in fails("score", runs, "--group-by", "model", "--trials-by", "model")
    message = fails("score", runs, "--expected-from", runs, "--group-by", "model")
    assert "--group-by" in message


def test_the_same_output_whatever_the_threads(runs):
    outputs = {
        run("score", runs, "--group-by", "model", "--trials-by", "task.id", "--json", "--threads", threads).stdout
        for threads in (1, 2, 3)
    }
    assert len(outputs) == 1
