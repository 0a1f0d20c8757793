"""The commands that run tests and check metrics: what they print, write and return."""

import json
import os
import signal
import subprocess
import sys
import time
import unicodedata
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from callmatch import Trace
from callmatch.cli import main

ROOT = Path(__file__).resolve().parents[1]
EVIL = "\x1b]0;owned\x07\x1b[31m[red]\r\n\x9b31m\x85\u202e"

CALL = {"name": "issue_refund", "arguments": {"order": 42}}
GOOD = Trace.from_parts(id="1", test_id="good", input="x", output="Done.", tool_calls=[CALL])
BAD = Trace.from_parts(id="2", test_id="bad", input="x", output="Done.", tool_calls=[])
UNKNOWN = Trace.from_parts(id="3", test_id="unknown", input="x", output="Done.")
TESTS = [{"id": id, "expected_tool_calls": [CALL]} for id in ("good", "bad", "unknown", "absent")]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Where the commands run, with tests of all verdicts."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    write("tests.json", {"name": "Set", "tests": TESTS})
    traces(GOOD, BAD, UNKNOWN)
    return tmp_path


def write(name, data):
    Path(name).write_text(data if isinstance(data, str) else json.dumps(data), "utf-8")


def traces(*recorded):
    Path("traces.jsonl").write_text("".join(trace.model_dump_json() + "\n" for trace in recorded))


def run(*arguments, code=0):
    done = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert done.exit_code == code, (done.output, done.exception)
    assert done.exception is None or isinstance(done.exception, SystemExit)
    return done


def judged(*more, file="tests.json", code=1):
    return run("test", file, "--traces", "traces.jsonl", *more, code=code)


def steering(shown):
    return {char for char in shown if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp")} - {"\n", "\t"}


# callmatch test


def test_the_examples_show_a_pass_a_failure_and_an_inconclusive_test():
    shown = run("test", ROOT / "examples/refunds.yaml", "--traces", ROOT / "examples/refund_traces.jsonl", code=1)
    assert shown.stdout.splitlines() == [
        "wrong-order\tfailed\ttool_call_trajectory: Expected `lookup_order`; it was never called.",
        "second-refund\tinconclusive\ttool_call_trajectory: The tool calls were not reported, so they can't be judged.",
        "4 tests: 2 passed, 1 failed, 1 inconclusive",
        "pass rate 0.667 (of the 3 that passed or failed)",
    ]
    assert not shown.stderr


def test_a_pipe_gets_plain_lines_of_what_did_not_pass():
    shown = judged().stdout
    lines = [line.split("\t") for line in shown.splitlines()]
    assert [line[:2] for line in lines[:-2]] == [["bad", "failed"], ["unknown", "inconclusive"], ["absent", "error"]]
    assert lines[-2] == ["4 tests: 1 passed, 1 failed, 1 inconclusive, 1 error"]
    assert "\x1b" not in shown


def test_the_limit_bounds_what_is_shown():
    for limit, more in ((0, 3), (2, 1), (3, 0)):
        shown = judged("--limit", limit).stdout
        assert (f"{more} more that did not pass" in shown) == bool(more)
        assert len(shown.splitlines()) == limit + bool(more) + 2


def test_json_is_one_object():
    shown = json.loads(judged("--json", "--limit", 2).stdout)
    counts = {"passed": 1, "failed": 1, "inconclusive": 1, "error": 1}
    assert shown["summary"] == {"name": "Set", "tests": 4, **counts, "pass_rate": 0.5}
    assert [test["id"] for test in shown["tests"]] == ["bad", "unknown"]
    assert shown["tests"][0]["metrics"][0]["details"]["missing"] == [0]
    assert "trace" not in shown["tests"][0]


@pytest.mark.parametrize(
    ("ids", "options", "code"),
    [
        (["good"], [], 0),
        (["good", "bad"], [], 1),
        (["good", "unknown"], [], 1),
        (["good", "unknown"], ["--allow-inconclusive"], 0),
        (["good", "bad"], ["--allow-inconclusive"], 1),
        (["good", "absent"], ["--allow-inconclusive"], 1),
        (["unknown"], ["--allow-inconclusive"], 0),
        ([], [], 1),
        ([], ["--allow-inconclusive"], 1),
    ],
)
def test_the_exit_code(ids, options, code):
    write("tests.json", [test for test in TESTS if test["id"] in ids])
    judged(*options, code=code)
    judged(*options, "--json", code=code)


def test_what_it_writes():
    judged("--junit", "junit.xml", "-o", "results.json", "--limit", 0)
    (suite,) = ElementTree.parse("junit.xml").getroot()
    assert [case.get("name") for case in suite] == ["good", "bad", "unknown", "absent"]
    assert suite.get("name") == "Set"
    results = json.loads(Path("results.json").read_text("utf-8"))["results"]
    assert [result["verdict"] for result in results] == ["passed", "failed", "inconclusive", "error"]
    assert Trace.read(results[0]["trace"]).tool_calls[0].name == "issue_refund"
    judged("-o", "results.jsonl")
    assert len(Path("results.jsonl").read_text("utf-8").splitlines()) == 4


def test_a_set_without_a_name_is_called_as_its_file():
    write("tests.json", TESTS)
    assert json.loads(judged("--json").stdout)["summary"]["name"] == "tests"


def test_metrics_of_another_file():
    write("metrics.yaml", "- type: tool_call_trajectory\n  name: other\n  match: subset\n")
    for data in (
        [{"type": "tool_call_trajectory", "match": "subset"}],
        {"metrics": [{"type": "tool_call_trajectory"}]},
    ):
        write("metrics.json", data)
        judged("--metrics", "metrics.json")
    assert "5 tests" not in judged("--metrics", "metrics.yaml").stdout
    assert json.loads(judged("--metrics", "metrics.yaml", "--json").stdout)["summary"]["passed"] == 2
    write("metrics.yaml", "metrics:\n- type: tool_call_trajectory\n  match: subste\n")
    assert "metrics.yaml:3: metrics[0].match" in judged("--metrics", "metrics.yaml", code=2).stderr


def test_a_model_is_for_judges_that_name_none(monkeypatch):
    monkeypatch.setitem(sys.modules, "litellm", None)  # as if it were not installed
    judge = {"type": "numeric_judge", "name": "tone", "evaluation_prompt": "Polite?", "attempts": 1}
    write("tests.json", {"tests": [{"id": "good"}], "metrics": [judge]})
    assert "litellm" not in judged().stdout
    assert "litellm" in judged("--model", "provider/name").stdout


def test_code_metrics_beside_the_tests():
    Path("own_checks_of_this_test.py").write_text("def answers(output) -> bool:\n    return output == 'Done.'\n")
    metrics = [{"type": "code_metric", "function": "own_checks_of_this_test:answers"}]
    write("tests.json", {"tests": [{"id": "good"}], "metrics": metrics})
    judged(code=0)
    write("metrics.json", metrics)
    run("metrics", "check", "metrics.json")


@pytest.mark.parametrize(
    ("arguments", "facts"),
    [
        (["test.json", "--traces", "traces.jsonl"], ["no such file: 'test.json'", "tests.json"]),
        (["tests.json", "--traces", "trace.jsonl"], ["no such file: 'trace.jsonl'", "traces.jsonl"]),
        (["tests.json"], ["--traces"]),
        (["tests.json", "--traces", "traces.jsonl", "--metrics", "absent.json"], ["absent.json"]),
        (["tests.json", "--traces", "traces.jsonl", "-o", "results.xlsx"], [".jsonl"]),
        (["tests.json", "--traces", "traces.jsonl", "-o", "no/results.json"], ["no such directory"]),
        (["tests.json", "--traces", "traces.jsonl", "-o", "tests.json"], ["overwrite"]),
        (["tests.json", "--traces", "traces.jsonl", "--junit", "junit.json"], [".xml"]),
        (["tests.json", "--traces", "traces.jsonl", "--concurrency", "0"], ["concurrency"]),
        (["traces.jsonl", "--traces", "traces.jsonl"], ["traces.jsonl:1", "conversation_id"]),
        (["tests.txt", "--traces", "traces.jsonl"], ["tests.txt", ".yaml"]),
        (["broken.yaml", "--traces", "traces.jsonl"], ["broken.yaml:2: "]),
        (["wrong.yaml", "--traces", "traces.jsonl"], ["wrong.yaml:3: tests[0].expected_toolcalls", "did you mean"]),
        ([".", "--traces", "traces.jsonl"], ["ending"]),
        (["folder.json", "--traces", "traces.jsonl"], ["folder.json"]),
    ],
)
def test_bad_usage_returns_2_says_what_is_wrong_and_writes_nothing(folder, arguments, facts):
    write("tests.txt", "")
    write("broken.yaml", "a: 1\nb: [")
    write("wrong.yaml", "tests:\n- id: x\n  expected_toolcalls: []\n")
    os.mkdir("folder.json")
    before = sorted(folder.iterdir())
    message = run("test", *arguments, code=2).stderr
    for fact in facts:
        assert fact in message
    assert "Traceback" not in message
    assert sorted(folder.iterdir()) == before


def test_traces_that_can_not_be_read_are_told():
    Path("traces.jsonl").write_text(GOOD.model_dump_json() + "\n{oops\n")
    done = judged()
    assert "traces.jsonl:2" in done.stderr


def test_nothing_steers_the_terminal():
    evil = GOOD.model_copy(update={"test_id": EVIL})
    traces(evil)
    call = {"name": EVIL, "arguments": {EVIL: EVIL}}
    write(
        "tests.json", [{"id": EVIL, "expected_tool_calls": [call]}, {"id": f"{EVIL}2", "expected_tool_calls": [call]}]
    )
    for more in ([], ["--json"], ["--junit", "junit.xml", "-o", "results.json"]):
        done = judged(*more)
        assert not steering(done.stdout + done.stderr)
    assert not steering(Path("junit.xml").read_text("utf-8") + Path("results.json").read_text("utf-8"))
    write("tests.json", [{"id": "x", EVIL: 1}])
    assert not steering(judged(code=2).stderr)
    write("metrics.json", [{"type": EVIL}, {"type": "tool_call_trajectory", EVIL: 1}, {"name": EVIL}])
    assert not steering(run("metrics", "check", "metrics.json", code=1).stdout)
    assert not steering(run("metrics", "check", "metrics.json", "--json", code=1).stdout)


def test_a_terminal_gets_a_table(folder):
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    environment = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "CI")} | {"TERM": "xterm"}
    command = [sys.executable, "-m", "callmatch", "test", "tests.json", "--traces", "traces.jsonl"]
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, stdin=subprocess.DEVNULL, env=environment) as process:
        os.close(theirs)
        shown = b""
        try:
            while read := os.read(ours, 65536):
                shown += read
        except OSError:  # the other side was closed
            pass
        os.close(ours)
    assert process.returncode == 1
    assert b"testing" in shown  # the progress bar
    assert "┃".encode() in shown


@pytest.mark.skipif(sys.platform == "win32", reason="about signals of POSIX")
def test_an_interrupted_run_ends_at_once_and_writes_nothing(folder):
    slow = "import pathlib, time\ndef wait(output) -> bool:\n    pathlib.Path('begun').touch()\n    time.sleep(30)\n"
    Path("slow_checks_of_this_test.py").write_text(slow)
    metric = {"type": "code_metric", "function": "slow_checks_of_this_test:wait"}
    write("tests.json", {"tests": [{"id": "good"}], "metrics": [metric]})
    command = [sys.executable, "-m", "callmatch", "test", "tests.json", "--traces", "traces.jsonl", "-o", "o.json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        limit = time.monotonic() + 20
        while not Path("begun").exists() and time.monotonic() < limit:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, message = process.communicate(timeout=20)
    assert process.returncode == 130
    assert b"Traceback" not in message
    assert not list(folder.glob("*o.json*"))


LEAVES = "import sys\ndef leaves(output) -> bool:\n    sys.exit(0)\n"


@pytest.mark.parametrize(
    ("module", "judged", "checked"),
    [
        (LEAVES, 1, 0),
        (LEAVES.replace("sys.exit(0)", "raise SystemExit"), 1, 0),
        (LEAVES + "sys.exit(0)\n", 2, 1),
        ("import leaving_checks_of_this_test as own\nraise SystemExit\n", 2, 1),
        (LEAVES + "def __getattr__(name):\n    sys.exit(0)\n", 1, 0),
        ("import sys\ndef __getattr__(name):\n    sys.exit(0)\n", 2, 1),
        (LEAVES.replace("sys.exit(0)", "import pytest; pytest.fail('no')"), 1, 0),
    ],
)
def test_code_that_leaves_does_not_pass(module, judged, checked):
    Path("leaving_checks_of_this_test.py").write_text(module)
    metric = {"type": "code_metric", "function": "leaving_checks_of_this_test:leaves"}
    write("tests.json", {"tests": [{"id": "good"}], "metrics": [metric]})
    for arguments, code in ((("test", "tests.json", "--traces", "traces.jsonl"), judged), (CHECK, checked)):
        command = [sys.executable, "-m", "callmatch", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == code, done
        assert done.stdout or done.stderr
        assert "Traceback" not in done.stderr


CHECK = ("metrics", "check", "tests.json")


@pytest.mark.parametrize("leaves", ["sys.exit(0)", "sys.exit()", "raise SystemExit('done')", "quit()"])
def test_the_exit_status_is_always_one_that_the_command_decided_on(leaves):
    program = f"""
import sys
from callmatch.cli import main
from callmatch.testsets import TestSet

def foreign(*arguments, **options):
    {leaves}

TestSet.load = foreign
main(["test", "tests.json", "--traces", "traces.jsonl"])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: ")
    assert "SystemExit" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="about signals of POSIX")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])  # Windows lacks one
@pytest.mark.parametrize("where", ["imported", "called"])
def test_a_signal_ends_the_command_whatever_code_runs(name, where):
    wait = "import pathlib, time\npathlib.Path('begun').touch()\ntime.sleep(30)\n"
    body = "    " + wait.replace("\n", "\n    ") if where == "called" else "    return True"
    Path("slow_checks_of_this_test.py").write_text(wait * (where == "imported") + f"def wait(output):\n{body}\n")
    metric = {"type": "code_metric", "function": "slow_checks_of_this_test:wait"}
    write("tests.json", {"tests": [{"id": "good"}], "metrics": [metric]})
    arguments = CHECK if where == "imported" else ("test", "tests.json", "--traces", "traces.jsonl")
    command = [sys.executable, "-m", "callmatch", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        limit = time.monotonic() + 20
        while not Path("begun").exists() and time.monotonic() < limit:
            time.sleep(0.02)
        process.send_signal(getattr(signal, name))
        shown, message = process.communicate(timeout=20)
    assert process.returncode == 128 + getattr(signal, name)
    assert not shown
    assert b"Traceback" not in message


# callmatch metrics check


RIGHT = {"type": "tool_call_trajectory", "match": "exact"}
WRONG = {"type": "tool_call_trajectory", "match": "exat", "argumets": "exact", "target": {"on": "runn"}}
UNTAKEABLE = {"type": "tool_call_trajectory", "target": "tool_call"}
JUDGE = {"type": "numeric_judge", "threshold": "high", "target": {"on": "run", "name": "x"}, "max_span": 3}


@pytest.mark.parametrize("data", [RIGHT, [RIGHT], {"metrics": [RIGHT, RIGHT]}, {"metrics": [RIGHT], "tests": []}])
def test_metrics_that_are_right(data):
    write("metrics.json", data)
    assert "ok" in run("metrics", "check", "metrics.json").stdout


@pytest.mark.parametrize(
    ("config", "paths"),
    [
        (WRONG, ["argumets", "match", "target.on"]),
        (UNTAKEABLE, ["target"]),
        ({**WRONG, "target": "tool_call"}, ["argumets", "match", "target"]),
        (JUDGE, ["evaluation_prompt", "max_span", "name", "target.name", "threshold"]),
        ({"type": "tool_call_trajektory"}, ["type"]),
        # What is wrong inside a target is left out, and not all of it.
        ({**RIGHT, "target": {"on": "tol_call", "nme": "x"}}, ["target.nme", "target.on"]),
        (
            {**RIGHT, "target": {"on": "tol_call", "nme": "x", "aggregate": "al", "name": ""}, "match": "exat"},
            ["match", "target.aggregate", "target.name", "target.nme", "target.on"],
        ),
        ({**RIGHT, "target": {"on": "tool_call", "nme": "x"}}, ["target", "target.nme"]),
        ({**RIGHT, "target": {"on": "run", "name": "x", "within": "y"}}, ["target.name", "target.within"]),
        # What goes with one word for what is judged and not with another one is not held against a wrong word.
        ({**RIGHT, "target": {"on": "tol_call", "name": "x", "aggregate": 0.5}}, ["target.on"]),
        ({**RIGHT, "target": {"on": 5, "name": "x"}}, ["target.on"]),
        ({**RIGHT, "a.b": 1, "target": {"on": "run", "c[0]": 1}, "match": 5}, ["a.b", "match", "target.c[0]"]),
        # What is missing hides nothing: a threshold is held against a range, and categories against each other.
        ({"type": "numeric_judge", "name": "n", "threshold": 2}, ["evaluation_prompt", "threshold"]),
        (
            {"type": "categorical_judge", "name": "n", "categories": ["a"], "attempts": 0},
            ["attempts", "categories", "evaluation_prompt", "passing_categories"],
        ),
        ({"match": "exact"}, [""]),
        (5, [""]),
        ({"type": "code_metric", "function": "json:loadz", "threshold": "x"}, ["function"]),
    ],
)
def test_every_fault_is_named_with_its_place(config, paths):
    write("metrics.json", {"metrics": [RIGHT, config]})
    shown = json.loads(run("metrics", "check", "metrics.json", "--json", code=1).stdout)
    right, wrong = shown["metrics"]
    assert right["faults"] == []
    found = sorted(fault["path"].removeprefix("metrics[1]").removeprefix(".") for fault in wrong["faults"])
    if config is not JUDGE:
        assert found == paths
    else:  # what a judge needs is its own affair
        assert {"evaluation_prompt", "max_span", "target.name", "threshold"} <= {*found}


def test_the_metrics_of_a_test_set_are_checked_and_those_of_its_tests():
    write("set.json", {"metrics": [RIGHT], "tests": [{"id": "a", "metrics": [RIGHT, WRONG]}, {"id": "b"}, 5]})
    done = run("metrics", "check", "set.json", "--json", code=1)
    found = {row["place"]: len(row["faults"]) for row in json.loads(done.stdout)["metrics"]}
    assert found == {"metrics[0]": 0, "tests[0].metrics[0]": 0, "tests[0].metrics[1]": 3}
    write("set.json", {"tests": [{"id": "a", "metrics": [RIGHT]}]})
    assert run("metrics", "check", "set.json").stdout.startswith("tests[0].metrics[0]\t")


def test_a_model_that_can_be_none_is_the_fault_of_the_option():
    done = judged("--model", "nonsense", code=2)
    assert "--model" in done.stderr
    assert "provider/name" in done.stderr


def test_faults_are_shown_with_file_and_line():
    write("metrics.yaml", "- type: tool_call_trajectory\n  match: exat\n  target: tool_call\n- type: nope\n")
    lines = run("metrics", "check", "metrics.yaml", code=1).stdout.splitlines()
    assert [line.split("\t") for line in lines[:2]] == [
        ["metrics[0]", "tool_call_trajectory", "-", "2 wrong"],
        ["metrics[1]", "nope", "-", "1 wrong"],
    ]
    starts = [
        "metrics.yaml:2: metrics[0].match",
        "metrics.yaml:3: metrics[0].target",
        "metrics.yaml:4: metrics[1].type",
    ]
    assert all(line.startswith(start) for line, start in zip(lines[2:], starts, strict=True))
    assert 'did you mean "exact"' in lines[2]
    assert "conversation" in lines[3]


@pytest.mark.parametrize("ending", ["json", "yaml", "jsonl"])
def test_the_faults_of_many_metrics_take_no_quadratic_time(ending):
    count = 1000
    wrong = {"type": "tool_call_trajectory", "match": "exat", "target": {"on": "runn"}}
    if ending == "json":
        write("metrics.json", json.dumps([wrong] * count, indent=0))
    elif ending == "jsonl":
        write("metrics.jsonl", (json.dumps(wrong) + "\n") * count)
    else:
        write("metrics.yaml", "- type: tool_call_trajectory\n  match: exat\n  target: runn\n" * count)
    start = time.monotonic()
    shown = json.loads(run("metrics", "check", f"metrics.{ending}", "--json", code=1).stdout)
    assert time.monotonic() - start < 30
    lines = [[fault["line"] for fault in metric["faults"]] for metric in shown["metrics"]]
    assert all(len(found) == 2 and None not in found for found in lines)
    assert lines == sorted(lines)


def test_no_metrics_and_no_file():
    write("metrics.json", [])
    run("metrics", "check", "metrics.json", code=1)
    for name, content in (("absent.yaml", None), ("metrics.yaml", "a: ["), ("metrics.toml", "")):
        if content is not None:
            write(name, content)
        assert name in run("metrics", "check", name, code=2).stderr
