"""The command: what it prints, writes and returns."""

import csv
import gzip
import json
import os
import signal
import stat
import subprocess
import sys
import time
import unicodedata
from pathlib import Path

import pytest

import callmatch
from answers import text


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


A, B = call("lookup_order", order_id=42), call("issue_refund", order_id=42)


def record(actual, expected, **more):
    return more | {"tool_calls": actual, "expected_tool_calls": expected}


GOOD = record([A, B], [A, B], id="good")
MISSING = record([B], [A, B], id="missing")
SWAPPED = record([B, A], [A, B], id="swapped")
UNKNOWN = record([{"name": "lookup_order"}], [A], id="unknown")
RECORDS = [GOOD, MISSING, GOOD, SWAPPED, UNKNOWN, GOOD]
PASS_RATE = 3 / 5

posix = pytest.mark.skipif(sys.platform == "win32", reason="about file modes, links and signals of POSIX")


def lines(records):
    return "".join(text(item) + "\n" for item in records).encode()


@pytest.fixture
def runs(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_bytes(lines(RECORDS))
    return path


def run(*arguments, cwd=None, stdin=None):
    return subprocess.run(
        [sys.executable, "-m", "callmatch", *map(str, arguments)],
        cwd=cwd,
        input=stdin,
        stdin=None if stdin is not None else subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )


def succeeds(*arguments, code=0, **options):
    done = run(*arguments, **options)
    assert done.returncode == code, (done.stdout, done.stderr)
    return done.stdout.decode()


def fails(*arguments, code=2, **options):
    done = run(*arguments, **options)
    assert done.returncode == code, (done.stdout, done.stderr)
    message = done.stderr.decode()
    assert message.strip()
    assert "Traceback" not in message
    return message


def as_json(*arguments, code=0, **options):
    return json.loads(succeeds("score", *arguments, "--json", code=code, **options))


# What it prints


def test_version_and_help():
    assert callmatch.__version__ in succeeds("--version")
    script = Path(sys.executable).with_name("callmatch")
    assert (
        callmatch.__version__ in subprocess.run([script, "--version"], capture_output=True, check=True).stdout.decode()
    )
    shown = succeeds("score", "--help")
    for option in (
        "--match",
        "--arguments",
        "--actual",
        "--expected",
        "--id",
        "--fail-under",
        "--limit",
        "--json",
    ):
        assert option in shown
    assert "score" in succeeds("--help")


def test_a_pipe_gets_plain_text_with_the_counts_and_the_first_differences(runs):
    done = run("score", runs)
    assert done.returncode == 0
    shown = done.stdout.decode()
    assert "\x1b" not in shown + done.stderr.decode()
    assert "\r" not in shown + done.stderr.decode()
    for fact in ("missing", "swapped", "lookup_order", "it was never called", "issue_refund", "6", "60"):
        assert fact in shown
    assert "good" not in shown


def test_a_terminal_gets_a_table_and_a_pipe_never_a_progress_bar(runs):
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    environment = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "CI")} | {"TERM": "xterm"}
    command = [sys.executable, "-m", "callmatch", "score", str(runs)]
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, stdin=subprocess.DEVNULL, env=environment)
    os.close(theirs)
    shown = b""
    while True:
        try:
            read = os.read(ours, 65536)
        except OSError:  # the other side was closed
            break
        if not read:
            break
        shown += read
    os.close(ours)
    assert process.wait(30) == 0
    assert b"swapped" in shown
    assert b"\x1b[" in shown


def steering(shown):
    """The characters, other than line breaks, that a terminal obeys instead of showing them."""
    return {char for char in shown if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp")} - {"\n"}


EVIL = "\x1b]0;owned\x07\x1b[31m\r\n\x9b31m\x85\u202e"


def test_names_and_values_cannot_steer_the_terminal(tmp_path):
    evil = [
        record([call(EVIL, v=EVIL)], [call(EVIL, v="x")], id=EVIL),
        record([call(EVIL)], [A]),
        record([{EVIL: 1}], [A]),
        record([A], [A], id=EVIL),
    ]
    (tmp_path / "runs.jsonl").write_bytes(lines(evil))
    (tmp_path / "\u202e.jsonl").write_bytes(lines(evil) + EVIL.replace("\n", "").encode())
    for more in ([], ["--json"], ["--match", "exact"], ["-o", "scores.jsonl"], ["-o", "scores.csv"]):
        done = run("score", "runs.jsonl", "\u202e.jsonl", *more, cwd=tmp_path)
        assert done.returncode == 0
        assert steering(done.stdout.decode().replace(os.linesep, "\n")) <= {"\t"}, more
        assert not steering(done.stderr.decode().replace(os.linesep, "\n")), more
    rows = (tmp_path / "scores.jsonl").read_text("utf-8")
    assert not steering(rows)
    assert [json.loads(row)["id"] for row in rows.splitlines()] == [EVIL, 2, 3, EVIL] * 2 + [5]
    assert not steering((tmp_path / "scores.csv").read_bytes().decode().replace("\r\n", "\n"))


def test_a_failing_command_cannot_steer_the_terminal_either(tmp_path):
    for arguments in ([f"{EVIL}.jsonl"], ["runs.jsonl", "--actual", EVIL], ["runs.jsonl", "--match", EVIL]):
        (tmp_path / "runs.jsonl").write_bytes(lines([GOOD]))
        assert not steering(fails("score", *arguments, cwd=tmp_path).replace(os.linesep, "\n")), arguments


def test_json_is_one_object_with_the_summary_and_the_failing_rows(runs):
    shown = as_json(runs)
    assert set(shown) == {"summary", "rows"}
    summary = shown["summary"]
    counts = {key: summary[key] for key in ("rows", "passed", "failed", "inconclusive", "not_applicable", "error")}
    assert counts == {"rows": 6, "passed": 3, "failed": 2, "inconclusive": 1, "not_applicable": 0, "error": 0}
    assert summary["pass_rate"] == pytest.approx(PASS_RATE)
    assert summary["difference_kinds"] == {"missing": 1, "order": 1}
    failed = [row for row in shown["rows"] if row["verdict"] == "failed"]
    assert [row["id"] for row in failed] == ["missing", "swapped"]
    assert failed[0]["reason"] == "Expected `lookup_order`; it was never called."
    assert all(row["verdict"] != "passed" for row in shown["rows"])


def test_the_limit_bounds_the_rows_shown_not_the_rows_scored(runs):
    for limit in (0, 1):
        shown = as_json(runs, "--limit", limit)
        assert len(shown["rows"]) == limit
        assert shown["summary"]["failed"] == 2
    assert "swapped" not in succeeds("score", runs, "--limit", 1)


def test_the_modes_are_taken_from_the_options(runs):
    assert as_json(runs, "--match", "any_order")["summary"]["passed"] == 4
    assert as_json(runs, "--match", "subset", "--arguments", "ignore")["summary"]["passed"] == 6


def test_where_the_calls_are_is_taken_from_the_options(tmp_path):
    path = tmp_path / "deep.json"
    path.write_text(json.dumps([{"run": {"calls": [A]}, "want": [[A]], "key": {"n": 7}}, {"run": {}, "key": {"n": 8}}]))
    shown = as_json(path, "--actual", "run.calls", "--expected", "/want/0", "--id", "key.n")["summary"]
    assert (shown["passed"], shown["not_applicable"]) == (1, 1)
    path.write_text(json.dumps([{"run": {"calls": [B]}, "want": [[A]], "key": {"n": 7}}]))
    assert as_json(path, "--actual", "/run/calls", "--expected", "want.0", "--id", "/key/n")["rows"][0]["id"] == 7


# What it reads


def test_standard_input(runs):
    for content in (runs.read_bytes(), json.dumps(RECORDS, indent=2).encode()):
        assert as_json("-", stdin=content)["summary"]["rows"] == 6


def test_several_files_and_globs(runs, tmp_path):
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "a.jsonl").write_bytes(lines([GOOD]))
    (tmp_path / "more" / "b.jsonl.gz").write_bytes(gzip.compress(lines([MISSING])))
    assert as_json(runs, tmp_path / "more" / "a.jsonl")["summary"]["rows"] == 7
    assert as_json("more/*", cwd=tmp_path)["summary"]["rows"] == 2
    assert as_json("**/*.jsonl", cwd=tmp_path)["summary"]["rows"] == 7
    assert as_json(runs, "more/*.gz", cwd=tmp_path)["summary"]["rows"] == 7


def test_a_file_whose_name_looks_like_a_glob(tmp_path):
    (tmp_path / "runs[1].jsonl").write_bytes(lines([GOOD]))
    assert as_json("runs[1].jsonl", cwd=tmp_path)["summary"]["rows"] == 1


def test_threads(runs):
    assert as_json(runs, "--threads", 1) == as_json(runs, "--threads", 3)


# The bar


@pytest.mark.parametrize(("bar", "code"), [(0, 0), (0.59, 0), (PASS_RATE, 0), (0.61, 1), (1, 1)])
def test_the_exit_code_says_whether_the_bar_was_reached(runs, bar, code):
    succeeds("score", runs, "--fail-under", bar, code=code)
    assert as_json(runs, "--fail-under", bar, code=code)["summary"]["rows"] == 6


def test_failures_without_a_bar_are_no_failure_of_the_command(runs):
    succeeds("score", runs)


def test_nothing_to_judge_fails_a_bar_and_only_a_bar(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_bytes(lines([UNKNOWN, record(None, [A]), record([A], None)]))
    succeeds("score", path)
    succeeds("score", path, "--fail-under", 0.5, code=1)
    succeeds("score", path, "--fail-under", 0, code=1)


def test_malformed_lines_are_counted_and_shown_and_do_not_stop_the_rest(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_bytes(lines([GOOD]) + b"{oops\n" + lines([GOOD]))
    shown = as_json(path)
    assert (shown["summary"]["passed"], shown["summary"]["error"], shown["summary"]["rows"]) == (2, 1, 3)
    assert any("runs.jsonl:2: " in row["reason"] for row in shown["rows"])
    plain = run("score", path)
    assert plain.returncode == 0
    assert "runs.jsonl:2" in (plain.stdout + plain.stderr).decode()


@pytest.mark.parametrize(("bad", "said"), [(0, ""), (1, "1 row could not be read"), (1234, "1,234 rows could not")])
def test_a_bar_that_was_reached_without_unreadable_rows_says_so(tmp_path, bad, said):
    path = tmp_path / "runs.jsonl"
    path.write_bytes(lines([GOOD]) + b"{oops\n" * bad)
    for more in ([], ["--json"]):
        done = run("score", path, "--fail-under", 1, *more)
        assert done.returncode == 0
        assert said in done.stderr.decode()
        assert bool(said) == bool(done.stderr)
    assert not run("score", path).stderr


# Bad usage


@pytest.mark.parametrize(
    ("arguments", "facts"),
    [
        (["--match", "inorder"], ["in_order", "any_order", "exact", "subset", "superset"]),
        (["--arguments", "partail"], ["partial", "exact", "ignore"]),
        (["--fail-under", "high"], ["--fail-under"]),
        (["--fail-under", "1.5"], ["--fail-under"]),
        (["--fail-under", "-0.1"], ["--fail-under"]),
        (["--fail-under", "nan"], ["--fail-under"]),
        (["--limit", "-1"], ["--limit"]),
        (["--threads", "0"], ["--threads"]),
        (["--fial-under", "0.5"], ["--fail-under"]),
        (["-o", "scores.xlsx"], ["jsonl", "csv"]),
        (["--expected", "expected_tool_cals"], ["expected_tool_calls"]),
        (["--actual", "/tool_call"], ["tool_calls"]),
        (["-o", "no/such/folder/scores.jsonl"], ["no/such/folder"]),
    ],
)
def test_bad_usage_returns_2_and_says_what_would_be_right(runs, tmp_path, arguments, facts):
    message = fails("score", runs, *arguments, cwd=tmp_path)
    for fact in facts:
        assert fact in message
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs.jsonl"]


def test_no_files_and_no_command_are_bad_usage():
    fails("score")
    fails("scroe")


@pytest.mark.parametrize("name", ["absent.jsonl", "absent-*.jsonl", "folder"])
def test_a_missing_file_a_glob_without_files_and_a_directory(tmp_path, name):
    (tmp_path / "folder").mkdir()
    assert name in fails("score", name, cwd=tmp_path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.jsonl", b""),
        ("binary.jsonl", bytes(range(256)) * 20),
        ("cut.jsonl.gz", gzip.compress(lines(RECORDS * 300))[:400]),
        ("text.jsonl", b"no JSON here\nnor here\n"),
        ("other.jsonl", b'{"a": 1}\n'),
    ],
)
def test_no_readable_input_returns_2_names_the_file_and_writes_nothing(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    (tmp_path / "old.csv").write_text("from an earlier run")
    for output in ("scores.jsonl", "old.csv"):
        message = fails("score", name, "-o", output, cwd=tmp_path)
        assert name in message or "tool_calls" in message
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, "old.csv"])
    assert (tmp_path / "old.csv").read_text() == "from an earlier run"


def test_a_file_that_breaks_off_after_a_good_one_leaves_no_output(runs, tmp_path):
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(lines(RECORDS * 300))[:400])
    message = fails("score", runs, "cut.jsonl.gz", "-o", "scores.jsonl", cwd=tmp_path)
    assert "cut.jsonl.gz" in message
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cut.jsonl.gz", "runs.jsonl"]


# What it writes


def test_scores_as_lines(runs, tmp_path):
    succeeds("score", runs, "-o", "scores.jsonl", cwd=tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text("utf-8").splitlines()]
    assert [row["id"] for row in rows] == [item["id"] for item in RECORDS]
    assert [row["score"] for row in rows] == [1.0, 0.0, 1.0, 0.0, None, 1.0]
    assert [row["verdict"] for row in rows] == [
        "passed",
        "failed",
        "passed",
        "failed",
        "inconclusive",
        "passed",
    ]
    assert rows[1]["difference_kind"] == "missing"
    assert rows[1]["reason"] == "Expected `lookup_order`; it was never called."
    assert [row["line"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs.jsonl", "scores.jsonl"]


def test_scores_as_a_table(tmp_path):
    odd = 'a, "b"\nc;é'
    (tmp_path / "runs.jsonl").write_bytes(lines([GOOD, record([call(odd)], [A], id=odd)]) + b"{oops\n")
    succeeds("score", "runs.jsonl", "-o", "scores.csv", cwd=tmp_path)
    with (tmp_path / "scores.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == ["good", odd, "3"]
    assert [row["verdict"] for row in rows] == ["passed", "failed", "error"]
    assert [row["score"] and float(row["score"]) for row in rows] == [1.0, 0.0, ""]
    assert "runs.jsonl:3: " in rows[2]["error"]


def test_cells_of_a_table_are_no_formulas_and_hold_no_control_characters(tmp_path):
    formulas = ["=1+1", "+1", "-1", "@SUM(A1)", '=HYPERLINK("x", "y")', "=\x1b[31m\x00\x9b\r\t\u202e", "a\nb=1", "a-1"]
    (tmp_path / "=1.jsonl").write_bytes(lines([record([A], [A], id=id) for id in [*formulas, -7]]) + b"{oops\n")
    succeeds("score", "=1.jsonl", "-o", "scores.csv", cwd=tmp_path)
    with (tmp_path / "scores.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    ids = [row["id"] for row in rows]
    assert ids[:5] == [f"'{text}" for text in formulas[:5]]
    assert ids[5].startswith("'=")
    assert ids[6:9] == [*formulas[6:], "-7"]
    assert {row["file"] for row in rows} == {"'=1.jsonl"}
    assert rows[-1]["error"].startswith("'=1.jsonl:10: ")
    assert not any(steering(cell) for row in rows for cell in row.values())


@posix
@pytest.mark.parametrize("output", ["scores.jsonl", "scores.csv"])
def test_a_file_that_is_replaced_keeps_its_mode(runs, tmp_path, output):
    path = tmp_path / output
    path.touch()
    for mode in (0o600, 0o640):
        path.chmod(mode)
        succeeds("score", runs, "-o", path)
        assert path.stat().st_size
        assert stat.S_IMODE(path.stat().st_mode) == mode


@posix
def test_scores_are_written_through_a_link(runs, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "target.jsonl", tmp_path / "scores.jsonl"
    link.symlink_to(target)
    for _ in range(2):  # a link that leads nowhere yet, and one that leads to a file
        succeeds("score", runs, "-o", link)
        assert link.is_symlink()
        assert len(target.read_text().splitlines()) == 6
        assert [path.name for path in target.parent.iterdir()] == ["target.jsonl"]
        target.write_text("from an earlier run")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["elsewhere", "runs.jsonl", "scores.jsonl"]


def test_scores_replace_those_of_an_earlier_run(runs, tmp_path):
    (tmp_path / "scores.jsonl").write_text("from an earlier run, and longer than what comes now\n" * 200)
    succeeds("score", runs, "-o", "scores.jsonl", cwd=tmp_path)
    assert len((tmp_path / "scores.jsonl").read_text().splitlines()) == 6


def test_scores_are_written_below_the_bar_too(runs, tmp_path):
    succeeds("score", runs, "-o", "scores.jsonl", "--fail-under", 1, code=1, cwd=tmp_path)
    assert len((tmp_path / "scores.jsonl").read_text().splitlines()) == 6


@posix
@pytest.mark.parametrize("output", ["new.jsonl", "old.csv"])
def test_an_interrupted_run_leaves_no_half_written_output(tmp_path, output):
    (tmp_path / "old.csv").write_text("from an earlier run")
    command = [sys.executable, "-m", "callmatch", "score", "-", "-o", output]
    pipes = dict.fromkeys(["stdin", "stdout", "stderr"], subprocess.PIPE)
    with subprocess.Popen(command, cwd=tmp_path, **pipes) as process:
        # More than a pipe holds: when it is written, the run is reading.
        process.stdin.write(lines(RECORDS * 20_000))
        process.stdin.flush()
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        try:
            process.wait(8)
        finally:
            process.kill()
        message = process.stderr.read().decode()
    assert process.returncode not in (0, -signal.SIGKILL)
    assert "Traceback" not in message
    assert [path.name for path in tmp_path.iterdir()] == ["old.csv"]
    assert (tmp_path / "old.csv").read_text() == "from an earlier run"


def test_a_reader_that_goes_away_gets_no_traceback(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_bytes(lines([MISSING] * 5000))
    command = [sys.executable, "-m", "callmatch", "score", str(path), "--limit", "5000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        message = process.stderr.read().decode()
        process.wait(30)
    assert "Traceback" not in message
    assert "Exception ignored" not in message
