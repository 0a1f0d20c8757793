"""The commands on traces in anybody's format: `callmatch read`, and `callmatch score --expected-from`."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from answers import text
from callmatch import _core, read

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SPANS, EXPECTED = EXAMPLES / "spans.jsonl", EXAMPLES / "expected.jsonl"

posix = pytest.mark.skipif(sys.platform == "win32", reason="about pipes and terminals of POSIX")


def run(*arguments, stdin=None, cwd=None, status=0):
    """What a command prints, if it ends with a status."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore:callmatch was built", "-m", "callmatch", *map(str, arguments)],
        cwd=cwd,
        input=stdin,
        stdin=None if stdin is not None else subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == status, done.stderr.decode()
    return done.stdout.decode(), done.stderr.decode()


def lines(*records):
    return "".join(text(record) + "\n" for record in records)


def chat(id, *names, **more):
    calls = [{"id": f"c{place}", "function": {"name": name, "arguments": "{}"}} for place, name in enumerate(names)]
    told = {"role": "assistant", "content": "Done.", **({"tool_calls": calls} if calls else {})}
    return {"id": id, "messages": [{"role": "user", "content": "Go on"}, told], **more}


@pytest.fixture
def write(tmp_path):
    def write(name, *records):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(records[0] if isinstance(records[0], str) else lines(*records), encoding="utf-8")
        return path

    return write


# callmatch read


def test_what_is_in_a_file():
    out, err = run("read", "spans.jsonl", cwd=EXAMPLES)
    assert out.splitlines() == [
        "spans.jsonl\totlp\t3 traces\t3 turns\t1 agent\t4 tool calls",
        "tools: issue_refund 2, lookup_order 2",
        "in 2 conversations",
        "to score them: callmatch score spans.jsonl --expected-from expected.jsonl --by conversation_id",
    ]
    assert err == ""


def test_each_file_has_a_line_and_all_have_one(write, tmp_path):
    write("a.jsonl", chat("1", "x"), chat("2", "x", "y"))
    write("in/b c.json", '{"turns": [{"input": "hi", "output": "hello"}]}')
    out, _ = run("read", "in", "a.jsonl", cwd=tmp_path)
    assert out.splitlines() == [
        f"{os.path.join('in', 'b c.json')}\tcallmatch\t1 trace\t1 turn\t0 agents\t0 tool calls",
        "a.jsonl\topenai_chat\t2 traces\t2 turns\t0 agents\t3 tool calls",
        "all\t-\t3 traces\t3 turns\t0 agents\t3 tool calls",
        "tools: x 2, y 1",
        "of 1 trace it isn't known which tools were called",
        "to score them: callmatch score in a.jsonl --expected-from expected.jsonl --by trace_id",
    ]


def test_calls_that_were_asked_for_are_told_from_those_that_were_made(write):
    spans = [
        {"kind": "tool_call", "name": "x", "recorded_as": word}
        for word in ("requested", "requested", "executed", "both")
    ]
    path = write("own.jsonl", {"id": "1", "turns": [{"spans": spans}]}, {"id": "2", "turns": [{"spans": spans[:1]}]})
    out, _ = run("read", path)
    assert "tool calls: 3 asked for by a model, 1 made, 1 not told apart\n" in out
    out, _ = run("read", write("requested.jsonl", {"id": "2", "turns": [{"spans": spans[:1]}]}))
    assert "tool calls: 1 asked for by a model\n" in out


def test_what_could_not_be_read_is_told_up_to_a_limit(write):
    path = write("chat.jsonl", lines(chat("1", "a", "b", "c")) + "{\n" * 3)
    out, _ = run("read", path, "--limit", "2")
    assert "tools: a 1, b 1 and 1 more\n" in out
    told = out[out.index("3 notes:") :].splitlines()
    assert [line.split(": not JSON")[0] for line in told[1:3]] == [f"  {path}:2", f"  {path}:3"]
    assert told[3] == "  … and 1 more (--limit shows more)"
    out, _ = run("read", path, "--limit", "0")
    assert "3 notes:\n  … and 3 more" in out


def test_canonical_lines_can_be_read_again(write, tmp_path):
    awkward = {"role": "user", "content": "café 日本 \u202e\u009b31m \ud83d\ude00 \x1b[31m"}
    path = write("chat.jsonl", chat("1", "a"), {"id": "2", "messages": [awkward], "conversation_id": "c"})
    for source in (path, SPANS, EXAMPLES / "refund_traces.jsonl"):
        out, err = run("read", source, "--json")
        assert err == ""
        again = tmp_path / "again.jsonl"
        again.write_text(out, encoding="utf-8")
        assert [*read(again)] == [*read(source)]
        assert read(again).formats == ["callmatch"]
        # And once more gives the same.
        assert run("read", again, "--json")[0] == out
        assert not {*out} & {"\x1b", "\x9b", "\u202e"}


def test_with_json_notes_go_to_standard_error(write):
    path = write("chat.jsonl", lines(chat("1", "a")) + "{\n" * 3)
    out, err = run("read", path, "--json", "--limit", "1")
    assert [json.loads(line)["id"] for line in out.splitlines()] == ["1"]
    first, second = err.splitlines()
    assert first.startswith(f"Note: {path}:2: not JSON")
    assert second == "Note: 2 more such notes (--limit shows more)"


def test_what_drives_a_terminal_is_shown_as_escapes(write, tmp_path):
    name = "x\x1b[31m\u202e"
    path = write("chat.jsonl", chat("1", name))
    for arguments in (["read", path], ["read", path, "--json"]):
        out, _ = run(*arguments)
        assert "\x1b" not in out
        assert "\u202e" not in out
    _, err = run("read", tmp_path / "\x1b[31m", status=2)
    assert "\x1b" not in err


def test_standard_input_and_compression(write):
    raw = lines(chat("1", "a")).encode()
    for content in (raw, gzip.compress(raw)):
        out, _ = run("read", "-", stdin=content)
        assert out.startswith("standard input\topenai_chat\t1 trace\t")
        assert "callmatch score - --expected-from" in out


def test_patterns_are_expanded(write, tmp_path):
    for name in ("a1.jsonl", "a2.jsonl", "b.jsonl"):
        write(name, chat(name, "x"))
    out, _ = run("read", tmp_path / "a*.jsonl")
    assert [line.split("\t")[0] for line in out.splitlines()[:2]] == [
        str(tmp_path / name) for name in ("a1.jsonl", "a2.jsonl")
    ]


def test_an_empty_file_is_told_and_no_mistake(write):
    out, err = run("read", path := write("empty.jsonl", ""))
    assert (out, err) == (f"{path}\t-\t0 traces\t0 turns\t0 agents\t0 tool calls\n", "")
    assert run("read", path, "--json") == ("", "")


def test_a_folder_without_files_to_read_says_which_count(tmp_path, write):
    write("notes.txt", "hello\n")
    out, _ = run("read", tmp_path)
    assert out.startswith("no files: in a folder those count that end with .json, .jsonl, ")
    assert run("read", tmp_path, "--json") == ("", "")


def test_the_hint_keeps_the_format_that_was_insisted_on():
    out, _ = run("read", "spans.jsonl", "--format", "otel_genai", cwd=EXAMPLES)
    assert "callmatch score spans.jsonl --format otel_genai --expected-from expected.jsonl --by" in out


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_where_nothing_can_be_read_the_status_is_2(write, flags):
    contents = [('{"a": 1}\n', "no known format of traces"), ("{\n{\n", "not JSON")]
    if flags:  # what is wrong inside a trace is known once it was made
        contents.append(('{"id": "x", "turns": [{"input": "x", "spans": [{"kind": "tol"}]}]}\n', "kind"))
    for content, said in contents:
        out, err = run("read", write("bad.jsonl", content), *flags, status=2)
        assert out == ""
        assert err.startswith("Error: ")
        assert said in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["read"], "Missing argument 'FILES...'"),
        (["read", "spans.jsnl"], "no such file: 'spans.jsnl'; did you mean 'spans.jsonl'?"),
        (["read", "nothing/*.jsonl"], "no file matches 'nothing/*.jsonl'"),
        (["read", "-", "-"], "standard input can be read once"),
        (["read", "spans.jsonl", "--format", "otpl"], 'not "otpl"; did you mean "otlp"?'),
        (["read", "spans.jsonl", "--format", "jaeger"], "this is not jaeger, but looks like otlp"),
        (["read", "spans.jsonl", "--limit", "-1"], "-1 is not in the range x>=0"),
        (["read", "spans.jsonl", "--jsn"], "No such option"),
    ],
)
def test_mistakes_of_reading(arguments, said):
    out, err = run(*arguments, cwd=EXAMPLES, status=2)
    assert out == ""
    assert said in err


@posix
def test_a_pipe_that_is_closed_is_no_error(write):
    path = write("many.jsonl", *(chat(str(number), "x") for number in range(3000)))
    command = f"{sys.executable} -W 'ignore:callmatch was built' -m callmatch read {path} --json | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, timeout=60, check=True)
    assert json.loads(done.stdout)["id"] == "0"
    assert done.stderr == b""


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_waits_for_standard_input_can_be_ended(number):
    command = [sys.executable, "-W", "ignore:callmatch was built", "-m", "callmatch", "read", "-"]
    reader, writer = os.pipe()
    waiting = subprocess.Popen(command, stdin=reader, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    time.sleep(2)
    waiting.send_signal(number)
    _, err = waiting.communicate(timeout=10)
    os.close(reader)
    os.close(writer)
    assert waiting.returncode == 128 + number
    assert err == (b"interrupted\n" if number == signal.SIGINT else b"")


@posix
def test_on_a_terminal_the_files_are_a_table():
    import pty

    reader, writer = pty.openpty()
    command = [sys.executable, "-W", "ignore:callmatch was built", "-m", "callmatch", "read", "spans.jsonl"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    subprocess.run(command, cwd=EXAMPLES, stdout=writer, stderr=writer, env=environment, timeout=60, check=True)
    os.close(writer)
    out = b""
    while True:
        try:
            part = os.read(reader, 1 << 16)
        except OSError:
            break
        if not part:
            break
        out += part
    os.close(reader)
    shown = out.decode()
    assert "│ spans.jsonl │ otlp   │      3 │     3 │      1 │          4 │" in shown
    assert "tools: issue_refund 2, lookup_order 2" in shown


# callmatch score --expected-from


def test_traces_are_scored_by_expectations_that_stand_apart(tmp_path):
    out, err = run("score", SPANS, "--expected-from", EXPECTED, "-o", tmp_path / "rows.jsonl")
    third = "c1b2c3d4" * 4
    assert out.splitlines()[:2] == [
        f"{third}\tfailed\t1.000\t0.500\tExpected `lookup_order`; it was never called.",
        "3 rows: 2 passed, 1 failed",
    ]
    assert err == ""
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text("utf-8").splitlines()]
    assert [(row["id"][:2], row["verdict"]) for row in rows] == [("a1", "passed"), ("b1", "passed"), ("c1", "failed")]
    assert [*rows[0]] == [*_core.COLUMNS]
    run("score", SPANS, "--expected-from", EXPECTED, "--fail-under", "0.9", status=1)
    run("score", SPANS, "--expected-from", EXPECTED, "--fail-under", "0.5")


def test_the_options_of_scoring_work_on_traces(write):
    path = write("chat.jsonl", chat("1", "a", "b"))
    expected = write("expected.jsonl", {"trace_id": "1", "want": {"calls": [{"name": "b"}, {"name": "a"}]}})
    summary = json.loads(run("score", path, "--expected-from", expected, "--expected", "want.calls", "--json")[0])[
        "summary"
    ]
    assert (summary["rows"], summary["failed"]) == (1, 1)
    out, _ = run("score", path, "--expected-from", expected, "--expected", "/want/calls", "--match", "any_order")
    assert out.startswith("1 row: 1 passed\n")


def test_calls_of_either_kind_may_be_counted(write):
    spans = [{"kind": "tool_call", "name": name, "recorded_as": name} for name in ("requested", "executed")]
    path = write("own.jsonl", {"id": "1", "turns": [{"spans": spans}]})
    for word in ("requested", "executed"):
        expected = write("expected.jsonl", {"id": "1", "expected_tool_calls": [{"name": word}]})
        arguments = ["score", path, "--expected-from", expected, "--match", "exact", "--calls"]
        assert run(*arguments, word)[0].startswith("1 row: 1 passed\n")
        assert "1 row: 1 failed\n" in run(*arguments, "executed" if word == "requested" else "requested")[0]


def test_traces_and_expectations_without_one_another_are_told(write):
    path = write("chat.jsonl", chat("1", "a"), chat("2", "a"))
    wanted = [{"id": id, "expected_tool_calls": []} for id in ("9", "2", "8", "7", "6")]
    out, err = run("score", path, "--expected-from", write("expected.jsonl", *wanted))
    assert err.endswith("expected.jsonl are of no trace: '9', '8', '7', …\n")
    assert err.startswith("Note: 4 records of ")
    assert "9\terror\t-\t-\tthere is no trace with this id\n" in out
    assert "6 rows: 1 failed, 1 not applicable, 4 error\n" in out


def test_by_conversation_and_by_test(write):
    path = write(
        "chat.jsonl", *(chat(str(n), name, conversation_id="c", test_id=f"t{n}") for n, name in enumerate("ab"))
    )
    calls = [{"name": "a"}, {"name": "b"}]
    expected = write("expected.jsonl", {"conversation_id": "c", "id": "t1", "expected_tool_calls": calls})
    out, _ = run("score", path, "--expected-from", expected, "--by", "conversation_id")
    assert out.startswith("1 row: 1 passed\n")
    out, _ = run("score", path, "--expected-from", expected, "--by", "test_id")
    assert "t1\tfailed" in out
    assert "2 rows: 1 failed, 1 not applicable\n" in out


def test_ids_of_something_else_are_a_mistake(write):
    path = write("chat.jsonl", chat("1", "a"))
    expected = write("expected.jsonl", {"id": "t1", "expected_tool_calls": []})
    _, err = run("score", path, "--expected-from", expected, status=2)
    assert "no trace_id in " in err
    assert "it has 't1', and of the traces there are '1'; --by says what ids are of" in err
    _, err = run("score", path, "--expected-from", expected, "--by", "conversation_id", status=2)
    assert "no trace has one" in err


def test_folders_of_traces_are_scored(write, tmp_path):
    write("in/a.jsonl", chat("1", "a"))
    write("in/note.json", '{"x": 1}')
    expected = write("expected.jsonl", {"id": "1", "expected_tool_calls": [{"name": "a"}]})
    out, err = run("score", tmp_path / "in", "--expected-from", expected)
    assert out.startswith("1 row: 1 passed\n")
    assert err.startswith(f"Note: {tmp_path / 'in' / 'note.json'}: no known format")
    _, err = run("score", tmp_path / "in", status=2)
    assert "is a directory; give its files" in err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--actual", "x"], "--actual can't go with --expected-from: it says where something is in a record"),
        (["--id", "x"], "--id can't go with --expected-from"),
        (["--threads", "2"], "--threads can't go with --expected-from: traces are read on all cores"),
        (["--by", "trace"], 'not "trace"'),
        (["--format", "otpl"], 'did you mean "otlp"?'),
        (["--format", "jaeger"], "this is not jaeger, but looks like otlp"),
        (["--calls", "excuted"], 'did you mean "executed"?'),
        (["--expected", "nowhere"], "no record has 'nowhere'; the first has the keys trace_id, expected_tool_calls"),
        (["-o", "expected.jsonl"], "--output would overwrite the input"),
    ],
)
def test_mistakes_of_scoring_traces(options, said):
    out, err = run("score", "spans.jsonl", "--expected-from", "expected.jsonl", *options, cwd=EXAMPLES, status=2)
    assert out == ""
    assert said in err


@pytest.mark.parametrize("option", [["--by", "test_id"], ["--format", "otlp"], ["--calls", "requested"]])
def test_what_is_about_traces_is_refused_for_records(option):
    _, err = run("score", EXAMPLES / "runs.jsonl", *option, status=2)
    assert f"{option[0]} needs --expected-from: it is about traces, and FILES are records" in err


@pytest.mark.parametrize(
    ("records", "said"),
    [
        (["{"], ":1: not JSON"),
        ([{"id": "1", "expected_tool_calls": []}, {"id": "1"}], ":2: the id '1' was there before, in line 1"),
        ([{"name": "x"}], ':1: expected a record with "trace_id" or "id", got name'),
    ],
)
def test_mistakes_in_expectations(write, records, said):
    path = write("expected.jsonl", *records)
    _, err = run("score", SPANS, "--expected-from", path, status=2)
    assert f"{path}{said}" in err


def test_files_that_are_not_there(tmp_path):
    _, err = run("score", SPANS, "--expected-from", "expectd.jsonl", cwd=EXAMPLES, status=2)
    assert "no such file: 'expectd.jsonl'; did you mean 'expected.jsonl'?" in err
    (tmp_path / "empty.jsonl").write_text("")
    _, err = run("score", tmp_path / "empty.jsonl", "--expected-from", EXPECTED, status=2)
    assert "there are no traces in FILES" in err
