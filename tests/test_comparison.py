"""Two runs of the same cases: counted row by row, and tests and intervals held against published ones and by force."""

import csv
import json
import math
from fractions import Fraction

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from callmatch import InvalidInput, InvalidType, compare
from callmatch.intervals import mcnemar, of_difference, wilson
from callmatch.metrics import ToolCallTrajectory
from test_cli import fails, lines, run, succeeds

COUNTS = ("both_passed", "both_failed", "fixed", "broken", "lost", "not_judged")


def columns(verdicts, **more):
    return {"id": [f"case {place}" for place in range(len(verdicts))], "verdict": verdicts} | more


# The test and the interval


def exact(first, second):
    """By adding up all outcomes that are no more probable than this one."""
    n = first + second
    weights = [math.comb(n, k) for k in range(n + 1)]
    return Fraction(sum(weight for weight in weights if weight <= weights[first]), 2**n)


@given(st.integers(0, 60), st.integers(0, 60))
def test_the_exact_test_adds_up_what_is_no_more_probable(first, second):
    right = exact(first, second)
    assert math.isclose(mcnemar(first, second), right, rel_tol=1e-12)
    # What is as probable as this counts by half: both tails, and where both are one, once.
    as_probable = Fraction(math.comb(first + second, first), 2 ** (first + second))
    middle = right - (as_probable if first != second else as_probable / 2)
    if first or second:
        assert math.isclose(mcnemar(first, second, mid=True), middle, rel_tol=1e-12)


@pytest.mark.parametrize(
    ("first", "second", "p", "mid_p"),
    [
        (1, 7, 0.0703, 0.0391),  # Bentur et al., 2009, as in Fagerland, Lydersen and Laake, 2013
        (6, 16, 0.0525, 0.0347),  # Cavo et al., 2012, as there
        (0, 0, 1.0, 1.0),
        (5, 0, 0.0625, 0.03125),
    ],
)
def test_published_examples(first, second, p, mid_p):
    assert round(mcnemar(first, second), 4) == p
    assert math.isclose(mcnemar(first, second, mid=True), mid_p, abs_tol=5e-5)
    assert mcnemar(second, first) == mcnemar(first, second)


@pytest.mark.parametrize("n", [2000, 2001, 5000])
def test_many_changes(n):
    """Where whole numbers would take long, sums of floats are near enough."""
    for fewer in (0, 1, n // 3, n // 2 - 40, n // 2):
        right = exact(fewer, n - fewer)
        assert math.isclose(mcnemar(fewer, n - fewer), right, rel_tol=1e-9, abs_tol=1e-300)
    assert 0 < mcnemar(499_000, 501_000) < 0.05
    # By the normal approximation with a correction for continuity.
    z = (abs(499_000 - 501_000) - 1) / math.sqrt(1_000_000)
    assert math.isclose(mcnemar(499_000, 501_000), math.erfc(z / math.sqrt(2)), rel_tol=1e-4)


def test_the_interval_of_a_difference_is_as_published():
    # Newcombe's method for Cavo et al., 2012 (Fagerland, Lydersen and Laake, 2017, chapter 8): before less after.
    low, high = of_difference(both=59, first=6, second=16, neither=80)
    assert (round(-high, 4), round(-low, 4)) == (-0.1186, -0.0046)
    assert of_difference(0, 0, 0, 0) is None


def newcombe(a, b, c, d):
    """The formulas of Newcombe (1998), method 10, written out: the first share less the second."""
    n = a + b + c + d
    p1, p2 = (a + b) / n, (a + c) / n
    (l1, u1), (l2, u2) = wilson(a + b, n), wilson(a + c, n)
    product = (a + b) * (c + d) * (a + c) * (b + d)
    phi = 0
    if product:
        difference = a * d - b * c
        corrected = difference if difference < 0 else max(difference - n / 2, 0)
        phi = corrected / math.sqrt(product)
    delta = math.sqrt((p1 - l1) ** 2 - 2 * phi * (p1 - l1) * (u2 - p2) + (u2 - p2) ** 2)
    epsilon = math.sqrt((u1 - p1) ** 2 - 2 * phi * (u1 - p1) * (p2 - l2) + (p2 - l2) ** 2)
    return p1 - p2 - delta, p1 - p2 + epsilon


@given(*[st.integers(0, 300)] * 4)
def test_the_interval_of_a_difference_by_its_formulas(both, first, second, neither):
    if both + first + second + neither:
        low, high = of_difference(both, first, second, neither)
        assert -1 <= low <= high <= 1
        found = newcombe(both, first, second, neither)
        assert math.isclose(low, max(-1, -found[1]), abs_tol=1e-9)
        assert math.isclose(high, min(1, -found[0]), abs_tol=1e-9)
        # Seen from the other side it is the same.
        mirrored = of_difference(both, second, first, neither)
        assert math.isclose(low, -mirrored[1], abs_tol=1e-9)


# What changed

VERDICTS = ("passed", "failed", "inconclusive", "not_applicable", "error")


@given(st.lists(st.tuples(st.sampled_from(VERDICTS), st.sampled_from(VERDICTS)), min_size=1, max_size=40), st.randoms())
def test_rows_are_counted_and_told_by_what_became_of_them(pairs, random):
    before = columns([was for was, _ in pairs])
    order = list(range(len(pairs)))
    random.shuffle(order)
    after = {
        "id": [f"case {place}" for place in order],
        "verdict": [pairs[place][1] for place in order],
        "reason": [f"why {place}" for place in order],
    }
    found = compare(before, after)
    assert found.both_passed == pairs.count(("passed", "passed"))
    assert found.both_failed == pairs.count(("failed", "failed"))
    assert found.fixed == pairs.count(("failed", "passed"))
    assert found.broken == pairs.count(("passed", "failed"))
    assert found.lost == sum(was == "passed" and now not in ("passed", "failed") for was, now in pairs)
    assert sum(getattr(found, name) for name in COUNTS) == found.rows == len(pairs)
    judged = [(was, now) for was, now in pairs if {was, now} <= {"passed", "failed"}]
    assert found.judged == len(judged)
    if judged:
        assert found.pass_rate_before == sum(was == "passed" for was, _ in judged) / len(judged)
        assert found.pass_rate_after == sum(now == "passed" for _, now in judged) / len(judged)
        assert math.isclose(found.difference, found.pass_rate_after - found.pass_rate_before, abs_tol=1e-12)
        assert found.difference_interval[0] <= found.difference <= found.difference_interval[1]
    else:
        assert found.difference is found.pass_rate_before is found.difference_interval is None
    assert found.p_value == mcnemar(found.broken, found.fixed)
    changed = {f"case {place}": pair for place, pair in enumerate(pairs) if pair[0] != pair[1]}
    assert {change.id: (change.before, change.after) for change in found.changes} == changed
    assert all(change.reason == change.id.replace("case", "why") for change in found.changes)
    told = [(change.before, change.after) for change in found.changes]
    assert told[: found.broken + found.lost] == [pair for pair in told if pair[0] == "passed"]
    assert all(pair == ("failed", "passed") for pair in told[found.broken + found.lost :][: found.fixed])
    json.dumps(found.to_dict())


def test_rows_that_one_run_lacks_are_told():
    before = columns(["passed"] * 10)
    after = {"id": [*before["id"][:3], *(f"new {place}" for place in range(7))], "verdict": ["passed"] * 10}
    found = compare(before, after)
    assert found.rows == found.both_passed == 3
    assert found.only_before == (7, tuple(f"case {place}" for place in range(3, 8)))
    assert found.only_after == (7, tuple(f"new {place}" for place in range(5)))
    assert found.to_dict()["only_before"] == {"rows": 7, "first": [f"case {place}" for place in range(3, 8)]}
    nothing = compare(columns([]), columns([]))
    assert (nothing.rows, nothing.p_value, nothing.difference) == (0, 1.0, None)
    with pytest.raises(InvalidInput, match=r"no id in common: before has 'case 0'.*after has 'x'"):
        compare(before, {"id": ["x"], "verdict": ["passed"]})


def test_rows_that_can_not_be_told_apart():
    right = columns(["passed"] * 3)
    twice = {"id": ["case 0", "case 1", "case 0"], "verdict": ["passed"] * 3}
    for runs, side in (((twice, right), "before"), ((right, twice), "after")):
        with pytest.raises(InvalidInput, match=f"{side}: two rows have the id 'case 0'"):
            compare(*runs)
    with pytest.raises(InvalidInput, match="after: two rows have the id 'new'"):
        compare(right, {"id": ["case 0", "new", "new"], "verdict": ["passed"] * 3})
    # With a second column they can be.
    trials = twice | {"trial": [0, 0, 1]}
    found = compare(trials, trials | {"verdict": ["failed", "passed", "passed"]}, by=["id", "trial"])
    assert [change.id for change in found.changes] == [("case 0", "0")]
    assert found.rows == 3


def test_runs_that_are_none():
    right = columns(["passed"])
    for bad in (5, None, b"bytes", [5], [right]):
        with pytest.raises(InvalidType):
            compare(bad, right)
        with pytest.raises(InvalidType):
            compare(right, bad)
    for by in (5, [], [5], None):
        with pytest.raises(InvalidType, match="by"):
            compare(right, right, by=by)
    with pytest.raises(InvalidInput, match=r'did you mean "passed"'):
        compare(right, columns(["pased"]))
    with pytest.raises(InvalidInput, match="no column 'id'"):
        compare(right, {"verdict": ["passed"]})
    with pytest.raises(InvalidInput, match="one length"):
        compare(right, {"id": ["a", "b"], "verdict": ["passed"]})
    with pytest.raises(InvalidInput, match="no id"):
        compare(right, {"id": [None], "verdict": ["passed"]})


# Where runs come from


def call(name):
    return {"name": name, "arguments": {}}


def made_runs():
    """Two runs of 30 records, of which every third breaks and every fifth is fixed."""
    wanted = [call("a")]
    before, after = [], []
    for place in range(30):
        breaks, is_fixed = place % 3 == 0, place % 5 == 1
        id_ = place if place % 2 else f"=case {place}"
        before.append({"id": id_, "tool_calls": [] if is_fixed else wanted, "expected_tool_calls": wanted})
        after.append({"id": id_, "tool_calls": [] if breaks else wanted, "expected_tool_calls": wanted})
    return before, after[::-1]


@pytest.fixture
def runs(tmp_path):
    paths = [tmp_path / "before.jsonl", tmp_path / "after.jsonl"]
    for path, made in zip(paths, made_runs(), strict=True):
        path.write_bytes(lines(made))
    return paths


@pytest.fixture
def scored(runs, tmp_path):
    """The files that the command writes of them, by their ending."""
    files = {}
    for ending in (".jsonl", ".csv"):
        files[ending] = [tmp_path / f"{path.stem}-scores{ending}" for path in runs]
        for path, out in zip(runs, files[ending], strict=True):
            succeeds("score", path, "-o", out)
    files[".parquet"], files[".arrow"] = (
        [tmp_path / f"{path.stem}.{kind}" for path in runs] for kind in ("parquet", "arrow")
    )
    for place, path in enumerate(files[".jsonl"]):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        table = pa.table(
            {
                "id": [str(row["id"]) for row in rows],
                "verdict": pa.array([row["verdict"] for row in rows]).dictionary_encode(),
                "reason": [row["reason"] for row in rows],
            }
        )
        pq.write_table(table, files[".parquet"][place], row_group_size=7)
        with pa.ipc.new_file(files[".arrow"][place], table.schema) as out:
            out.write_table(table, max_chunksize=7)
    return files


def test_the_same_from_wherever_the_runs_come(runs, scored):
    metric = ToolCallTrajectory()
    right = compare(*([*metric.evaluate_file(path)] for path in runs))
    passes = [[place % 5 != 1 for place in range(30)], [place % 3 != 0 for place in range(30)]]
    assert right.broken == sum(was and not now for was, now in zip(*passes, strict=True))
    assert right.fixed == sum(now and not was for was, now in zip(*passes, strict=True))
    assert {change.reason for change in right.changes[: right.broken]} == {"Expected `a`; no tool calls were recorded."}
    assert compare(*(next(iter(metric.evaluate_file(path))) for path in runs)) == right
    assert compare(*(metric.evaluate_file(path) for path in runs)) == right
    tables = [pq.read_table(path) for path in scored[".parquet"]]
    assert compare(*tables) == right
    assert compare(*(table.to_pydict() for table in tables)) == right
    for ending, files in scored.items():
        if ending == ".csv":
            # A spreadsheet takes no cell of it for a formula.
            with files[0].open(newline="") as file:
                assert next(csv.DictReader(file))["id"] == "'=case 0"
            found = compare(*files).to_dict()
            told = json.loads(json.dumps(found).replace("'=case", "=case"))
            assert told == json.loads(json.dumps(right.to_dict()))
        else:
            assert compare(*files) == right
            assert compare(str(files[0]), scored[".parquet"][1]) == right
    without = [table.drop_columns(["reason"]) for table in tables]
    assert [change[:3] for change in compare(*without).changes] == [change[:3] for change in right.changes]


def test_files_that_can_not_be_compared(scored, tmp_path):
    good = scored[".jsonl"][0]
    bad = tmp_path / "bad"
    for ending, content, said in [
        (".jsonl", b'{"id": 1, "verdict": "passed"}\n{oops\n', r"bad\.jsonl:2: not JSON"),
        (".jsonl", b"[1]\n", r"bad\.jsonl:1: expected a row"),
        (".jsonl", b'{"id": 1}\n', "no column 'verdict'"),
        (".jsonl", b"\xff\n", r"bad\.jsonl:1"),
        (".csv", b"id,verdict\n1,pass\n", "verdict"),
        (".csv", b"id,verdict\n1\n", "verdict"),
        (".csv", b"\xff,\xff\n", "CSV"),
        (".csv", b"name,verdict\n1,passed\n", "no column 'id'"),
        (".parquet", b"oops", "Parquet"),
        (".arrow", b"oops", "Arrow"),
        (".xlsx", b"", "one of .jsonl, .csv"),
    ]:
        path = bad.with_suffix(ending)
        path.write_bytes(content)
        with pytest.raises(InvalidInput, match=said):
            compare(good, path)
    with pytest.raises(FileNotFoundError):
        compare(good, tmp_path / "none.jsonl")
    with pytest.raises(InvalidInput, match=r"before-scores\.jsonl.*'idd'"):
        compare(good, good, by="idd")


# The command


def test_what_it_prints_in_a_pipe(scored):
    told = succeeds("compare", *scored[".jsonl"], "--limit", 2).splitlines()
    assert [line.split("\t")[1:3] for line in told[:2]] == [["passed", "failed"]] * 2
    found = compare(*scored[".jsonl"])
    assert told[2] == f"… and {len(found.changes) - 2} more that changed (--limit shows more)"
    assert told[3].startswith(f"30 rows in both: {found.broken} broken, {found.fixed} fixed, ")
    assert f"difference {found.difference:+.3f} (95 %: " in told[4]
    assert told[5].startswith(f"McNemar's exact test: p = {found.p_value:.3g} ")
    told = json.loads(succeeds("compare", *scored[".parquet"], "--json", "--limit", 1))
    assert told["comparison"]["p_value"] == found.p_value
    assert told["rows"] == [found.changes[0].to_dict()]


def rows(tmp_path, name, verdicts):
    path = tmp_path / name
    path.write_bytes(lines({"id": place, "verdict": verdict} for place, verdict in enumerate(verdicts)))
    return path


@pytest.mark.parametrize(
    ("after", "bad", "code"),
    [
        (["passed"] * 20, "broken", 0),
        (["passed"] * 19 + ["failed"], "broken", 1),
        (["passed"] * 19 + ["error"], "broken", 1),
        (["passed"] * 19 + ["failed"], "worse", 0),
        (["passed"] * 15 + ["failed"] * 5, "worse", 0),  # p = 0.0625
        (["passed"] * 14 + ["failed"] * 6, "worse", 1),  # p = 0.03125
        (["passed"] * 14 + ["failed"] * 6, None, 0),
    ],
)
def test_the_exit_status(tmp_path, after, bad, code):
    paths = rows(tmp_path, "before.jsonl", ["passed"] * 20), rows(tmp_path, "after.jsonl", after)
    options = ["--fail-if", bad] if bad else []
    for more in ([], ["--json"]):
        done = run("compare", *paths, *options, *more)
        assert done.returncode == code, done.stderr
        assert bool(done.stderr) == bool(code)
        assert done.stdout
    # Better is no reason to fail, however sure it is.
    assert run("compare", *paths[::-1], "--fail-if", "worse").returncode == 0
    if bad == "worse":
        assert run("compare", *paths, "--fail-if", "worse", "--alpha", 0.07).returncode == (after.count("failed") > 4)


def test_mistakes_are_told_with_what_would_be_right(scored, tmp_path):
    before, after = scored[".jsonl"]
    assert "did you mean" in fails("compare", before, str(after).replace("scores", "score"))
    assert 'did you mean "worse"' in fails("compare", before, after, "--fail-if", "wors")
    assert "alpha" in fails("compare", before, after, "--alpha", 1)
    assert "comma" in fails("compare", before, after, "--by", "id,")
    other = rows(tmp_path, "other.jsonl", ["passed"])
    assert "in common" in fails("compare", before, other)
    evil = tmp_path / "evil.jsonl"
    evil.write_bytes(lines([{"id": "\x1b[31m\u202e", "verdict": verdict} for verdict in ("passed", "passed")]))
    assert "\x1b" not in fails("compare", before, evil)
    one, two = rows(tmp_path, "one.jsonl", ["passed"]), tmp_path / "two.jsonl"
    two.write_bytes(
        lines([{"id": "\x1b[31m", "verdict": "passed"}, {"id": 0, "verdict": "failed", "reason": "\x1b]0;x"}])
    )
    told = succeeds("compare", one, two)
    assert "\x1b" not in told
    assert "1 row is in AFTER alone: \\u001b[31m" in told


# Files as others have them


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".jsonl"])
def test_csv_files_have_the_ids_of_all_other_files(tmp_path, ending):
    """Spreadsheets take some texts for formulas, and a CSV file has them with a mark, which is no part of the id."""
    ids = ["=a", "'=a", "''=a", "-1", "'-1", "@a", "+a", "'a", "a", "'"]
    calls = ["[]"] * len(ids)
    pq.write_table(pa.table({"id": ids, "tool_calls": calls, "expected_tool_calls": calls}), tmp_path / "runs.parquet")
    for name in ("scores.csv", f"scores{ending}"):
        succeeds("score", str(tmp_path / "runs.parquet"), "-o", str(tmp_path / name))
    with open(tmp_path / "scores.csv", newline="") as file:
        cells = [row["id"] for row in csv.DictReader(file)]
    assert len({*cells}) == len(ids)
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)
    for found in (
        compare(tmp_path / "scores.csv", tmp_path / f"scores{ending}"),
        compare({"id": ids, "verdict": ["passed"] * len(ids)}, tmp_path / "scores.csv"),
    ):
        assert (found.both_passed, found.only_before, found.only_after) == (len(ids), (0, ()), (0, ()))


def test_cells_of_csv_may_be_long_and_the_limit_of_others_stays(tmp_path):
    path, limit = tmp_path / "scores.csv", csv.field_size_limit()
    path.write_text(f"id,verdict,kept\na,passed,{'x' * (limit + 1)}\n")
    assert compare(path, path).both_passed == 1
    assert csv.field_size_limit() == limit


def test_two_columns_of_a_name_are_told(tmp_path):
    arrays = [pa.array(["a"]), pa.array(["b"]), pa.array(["passed"])]
    table = pa.Table.from_arrays(arrays, ["id", "id", "verdict"])
    pq.write_table(table, tmp_path / "scores.parquet")
    for scores, name in ((table, "before"), (tmp_path / "scores.parquet", "scores.parquet")):
        with pytest.raises(InvalidInput, match=rf"{name}: there are two columns 'id'"):
            compare(scores, table)


def test_a_file_damaged_in_the_middle_is_named(tmp_path):
    path = tmp_path / "scores.parquet"
    pq.write_table(pa.table(columns(["passed"] * 1000)), path, compression="zstd")
    whole = bytearray(path.read_bytes())
    whole[4:200] = b"\xff" * 196
    path.write_bytes(whole)
    with pytest.raises(InvalidInput, match=r"scores\.parquet: it can't be read as Parquet"):
        compare(path, path)


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".parquet", ".arrow"])
def test_scores_behind_urls_are_compared(tmp_path, ending):
    verdicts = ["passed", "failed", "passed"]
    table = pa.table({"tool_calls": ["[]", '[{"name": "a"}]', "[]"], "expected_tool_calls": ["[]"] * 3, "id": [*"abc"]})
    scores = ToolCallTrajectory().evaluate_table(table, keep=["id"])
    url = f"memory://scores-of-a-test{ending}"
    pq.write_table(table, tmp_path / "rows.parquet")
    ToolCallTrajectory().evaluate_table(tmp_path / "rows.parquet", keep=["id"]).write(url)
    try:
        found = compare(url, columns(verdicts) | {"id": [*"abc"]})
    finally:
        fsspec.filesystem("memory").rm(url)
    assert (found.both_passed, found.both_failed, found.rows) == (2, 1, 3)
    assert pa.table(scores)["verdict"].to_pylist() == verdicts


def test_urls_that_lead_nowhere_are_named():
    said = fails("compare", "memory://no-such.jsonl", "memory://no-such.csv")
    assert "memory://no-such.jsonl" in said
    with pytest.raises(FileNotFoundError, match="no-such"):
        compare("memory://no-such.jsonl", {"id": [], "verdict": []})
    with pytest.raises(InvalidInput, match=r"nowhere://a\.jsonl"):
        compare("nowhere://a.jsonl", {"id": [], "verdict": []})
