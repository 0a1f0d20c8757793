"""The command ``callmatch check``: what it prints, writes and returns."""

import gzip
import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from callmatch.metrics import ToolCallCheck

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples/toolcheck.jsonl"

OSLO = {
    "tool_name": "weather_lookup",
    "status": "success",
    "request_payload": {"city": "Oslo"},
    "response_payload": {"temp_c": -3},
}
RIGHT = {"user_query": "Weather in Oslo?", "generated_text": "It's -3 °C in Oslo.", "tool_trace": [OSLO]}
WRONG = {**RIGHT, "generated_text": "It's 3 °C in Oslo."}
LINES = [{"id": "right", "request": RIGHT}, WRONG, {"id": "broken", "request": {"user_query": "x"}}]


def run(*arguments, code=0, stdin=None, cwd=None):
    done = subprocess.run(
        [sys.executable, "-m", "callmatch", "check", *map(str, arguments)],
        cwd=cwd,
        input=stdin,
        stdin=None if stdin is not None else subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code, (done.stdout, done.stderr)
    assert b"Traceback" not in done.stderr
    return done


def shown(*arguments, **options):
    return run(*arguments, **options).stdout.decode()


def fails(*arguments, code=2, **options):
    message = run(*arguments, code=code, **options).stderr.decode()
    assert message.strip()
    return message


def text(records):
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


@pytest.fixture
def requests(tmp_path):
    path = tmp_path / "requests.jsonl"
    path.write_bytes(text(LINES))
    return path


def steering(told):
    return {char for char in told if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp")} - {"\n"}


def test_a_pipe_gets_plain_text_with_what_is_below_the_bar_and_the_counts(requests):
    done = run(requests)
    told = done.stdout.decode()
    assert "\x1b" not in told + done.stderr.decode()
    lines = told.splitlines()
    [failed] = [line for line in lines if "\tfailed\t" in line]
    assert failed.startswith("2\t")
    assert "3" in failed
    [broken] = [line for line in lines if line.startswith("broken\terror\t")]
    assert "generated_text" in broken
    assert "right" not in told
    assert "3 answers: 1 passed, 1 failed, 1 error" in lines
    assert "result_fidelity: 1 followed, 1 violated" in lines
    assert any(line.startswith("score: mean ") for line in lines)


def test_a_terminal_gets_tables(requests):
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    environment = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "CI")} | {"TERM": "xterm"}
    command = [sys.executable, "-m", "callmatch", "check", str(requests)]
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, stdin=subprocess.DEVNULL, env=environment)
    os.close(theirs)
    told = b""
    while True:
        try:
            read = os.read(ours, 65536)
        except OSError:
            break
        if not read:
            break
        told += read
    os.close(ours)
    assert process.wait(30) == 0
    assert b"\x1b[" in told
    assert b"undecided" in told
    assert b"result_fidelity" in told


def test_help_names_the_options():
    told = shown("--help")
    for option in (
        "--output",
        "--fail-under",
        "--explain",
        "--json",
        "--limit",
        "--threads",
        "--judge",
        "--available-tools",
    ):
        assert option in told


def test_the_output_has_a_line_for_each_request(requests, tmp_path):
    output = tmp_path / "checked.jsonl"
    run(requests, "-o", output)
    lines = [json.loads(line) for line in output.read_text("utf-8").splitlines()]
    assert [line["id"] for line in lines] == ["right", 2, "broken"]
    for line, request in zip(lines, (RIGHT, WRONG), strict=False):
        result = ToolCallCheck().evaluate(**request)
        assert line["score"] == result.score
        assert line["instructions_list"] == result.details["instructions_list"]
        for one in line["evidence"]:
            if one["start"] is not None:
                assert request["generated_text"][one["start"] : one["end"]] == one["text"]
            assert {"relation", "kind"} <= one.keys()
        assert not any(one["explanation"] for one in line["instructions_list"])
    assert any(one["relation"] == "contradicted" for one in lines[1]["evidence"])
    assert "generated_text" in lines[2]["error"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checked.jsonl", "requests.jsonl"]
    run(requests, "-o", output, "--explain")
    lines = [json.loads(line) for line in output.read_text("utf-8").splitlines()]
    assert all(one["explanation"] for one in lines[0]["instructions_list"])


@pytest.mark.parametrize(("bar", "code"), [(0, 0), (0.5, 1), (1, 1)])
def test_the_bar_decides_the_exit_status(requests, bar, code):
    done = run(requests, "--fail-under", bar, code=code)
    if code:
        assert "below" in done.stderr.decode()


def test_without_a_score_there_is_nothing_to_hold_against_the_bar(tmp_path):
    path = tmp_path / "right.jsonl"
    path.write_bytes(text([RIGHT, {"user_query": "x"}]))
    assert "1 request could not be read" in run(path, "--fail-under", 0.2).stderr.decode()


def test_json_is_one_object_with_the_summary_and_the_rows_below_the_bar(requests):
    told = json.loads(shown(requests, "--json"))
    assert told.keys() == {"summary", "rows"}
    summary = told["summary"]
    assert {key: summary[key] for key in ("rows", "passed", "failed", "inconclusive", "error")} == {
        "rows": 3,
        "passed": 1,
        "failed": 1,
        "inconclusive": 0,
        "error": 1,
    }
    assert summary["verdicts"]["result_fidelity"]["violated"] == 1
    assert [row["id"] for row in told["rows"]] == [2, "broken"]
    assert told["rows"][0]["score_basis"] == "result_fidelity"
    assert len(json.loads(shown(requests, "--json", "--limit", 1))["rows"]) == 1
    assert "1 more below the bar" in shown(requests, "--limit", 1)


def test_standard_input_and_compressed_files_are_read(requests, tmp_path):
    expected = json.loads(shown(requests, "--json"))["summary"]
    packed = tmp_path / "requests.jsonl.gz"
    packed.write_bytes(gzip.compress(requests.read_bytes()))
    assert json.loads(shown(packed, "--json"))["summary"] == expected
    assert json.loads(shown("-", "--json", stdin=requests.read_bytes()))["summary"] == expected
    assert json.loads(shown(requests, "--json", "--threads", 1))["summary"] == expected
    both = json.loads(shown(requests, packed, "--json"))["summary"]
    assert both["rows"] == 6
    assert str(packed) in shown(requests, packed)


def test_available_tools_and_options_come_from_files(tmp_path):
    request = {
        "user_query": "Price of ACME?",
        "generated_text": "I used stock_api: it is 12.30.",
        "tool_trace": [{"tool_name": "quote_lookup", "status": "success", "response_payload": {"price": 12.3}}],
    }
    path, tools, config = tmp_path / "r.jsonl", tmp_path / "tools.json", tmp_path / "check.yaml"
    path.write_bytes(text([request]))
    tools.write_text(json.dumps({"tools": [{"name": "stock_api"}]}))
    output = tmp_path / "o.jsonl"
    run(path, "--available-tools", tools, "-o", output)
    [line] = [json.loads(line) for line in output.read_text("utf-8").splitlines()]
    assert line["instructions_list"][3]["rules"][0] == "uncalled_tool"
    config.write_text("type: tool_call_check\nfailure_when: {'*': [/price]}\n")
    run(path, "--config", config, "-o", output)
    [line] = [json.loads(line) for line in output.read_text("utf-8").splitlines()]
    assert line["instructions_list"][2]["verdict"] != "vacuous"


def test_stored_traces_are_checked_turn_by_turn(tmp_path):
    path, output = tmp_path / "traces.jsonl", tmp_path / "o.jsonl"
    span = {"kind": "tool_call", "name": "weather_lookup", "input": {"city": "Oslo"}, "output": {"temp_c": -3}}
    turns = [
        {"input": "Weather in Oslo?", "output": said, "spans": [span]} for said in ("It's -3 °C.", "It's 3 °C in Oslo.")
    ]
    path.write_bytes(text([{"id": "run-1", "turns": turns}]))
    told = shown(path, "--traces", "-o", output, "--fail-under", 0.5, code=1)
    assert told.startswith("run-1 (turn 2)\tfailed")
    assert [json.loads(line)["id"] for line in output.read_text("utf-8").splitlines()] == [
        "run-1 (turn 1)",
        "run-1 (turn 2)",
    ]
    assert shown(tmp_path, "--traces", "--target", "response").startswith("run-1\tfailed")
    assert "--target needs --traces" in fails(path, "--target", "turn")
    assert "no traces" in fails(output, "--traces") or "no known format" in fails(output, "--traces")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["requets.jsonl"], "did you mean 'requests.jsonl'"),
        (["."], "is a directory"),
        (["requests.jsonl", "-o", "checked.csv"], ".jsonl"),
        (["requests.jsonl", "-o", "requests.jsonl"], "would overwrite the input"),
        (["requests.jsonl", "-o", "nowhere/checked.jsonl"], "no such directory"),
        (["requests.jsonl", "--fail-under", "2"], "0<=x<=1"),
        (["requests.jsonl", "--fail-under", "nan"], "range"),
        (["requests.jsonl", "--judge", "gpt"], "provider/name"),
        (["requests.jsonl", "--judge-mode", "al"], 'did you mean "all"'),
        (["requests.jsonl", "--judge-mode", "all"], "has no judge to ask"),
        (["requests.jsonl", "--available-tools", "tool.json"], "did you mean 'tools.json'"),
        (["requests.jsonl", "--available-tools", "tools.json"], "expected a list of tools"),
        (["requests.jsonl", "--config", "config.json"], "failure_whn"),
        (["requests.jsonl", "--fail-unter", "0.5"], "--fail-under"),
        (["broken.jsonl"], "none of the 1 requests could be read"),
        ([], "FILES"),
    ],
)
def test_mistakes_are_told_kindly(requests, tmp_path, arguments, says):
    (tmp_path / "tools.json").write_text('{"tool": []}')
    (tmp_path / "config.json").write_text('{"failure_whn": {}}')
    (tmp_path / "broken.jsonl").write_text('{"user_query": 1}\n')
    assert says in fails(*arguments, cwd=tmp_path)
    assert not (tmp_path / "checked.jsonl").exists()


EVIL = "\x1b]0;owned\x07\x1b[31m\r\n\x9b31m\x85\u202e"


def test_nothing_in_a_request_can_steer_the_terminal(tmp_path):
    evil = {
        "user_query": f"{EVIL}?",
        "generated_text": f"It's 3 °C in {EVIL}. I used {EVIL}. `{EVIL}` said 4711.",
        "tool_trace": [{**OSLO, "tool_name": f"a{EVIL}", "error": EVIL, EVIL: EVIL, "response_payload": {EVIL: EVIL}}],
    }
    path = tmp_path / "evil.jsonl"
    path.write_bytes(text([{"id": EVIL, "request": evil}, {"id": EVIL, "request": {EVIL: 1}}, evil]))
    for more in ([], ["--json"], ["--explain", "-o", tmp_path / "o.jsonl"]):
        done = run(path, *more)
        assert steering(done.stdout.decode().replace(os.linesep, "\n")) <= {"\t"}, more
        assert not steering(done.stderr.decode().replace(os.linesep, "\n")), more
    written = (tmp_path / "o.jsonl").read_text("utf-8")
    assert not steering(written)
    assert [json.loads(line)["id"] for line in written.splitlines()] == [EVIL, EVIL, 3]


def test_an_interrupted_run_leaves_no_half_of_a_file(tmp_path):
    path, output = tmp_path / "requests.jsonl", tmp_path / "checked.jsonl"
    output.write_text("as it was\n")
    path.write_bytes(text([{"user_query": "x"}]))
    run(path, "-o", output, code=2)
    assert output.read_text() == "as it was\n"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["checked.jsonl", "requests.jsonl"]


def test_the_examples_show_what_is_found():
    told = shown(EXAMPLES)
    assert "failed" in told
    assert run(EXAMPLES, "--fail-under", 0.5, code=1)
