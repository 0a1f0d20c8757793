"""Names that begin with a server or plugin: wanted whole, or by their last segment."""

import copy
import json
import pickle
import re
import subprocess
import sys
from itertools import cycle
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answers import (
    CASES,
    answer,
    batch_of_objects,
    batch_of_texts,
    consistent,
    file,
    json_bytes,
    json_str,
    objects,
    write_jsonl,
)
from callmatch import InvalidInput, InvalidType, Target, Trace, _core, resolve
from callmatch.metrics import Metric, ToolCallTrajectory, code_metric
from callmatch.targets import Names
from reference import MATCHES, PAIRS

WAYS = [objects, json_str, json_bytes, batch_of_objects, batch_of_texts, file]


def calls(*names):
    return [{"name": name, "arguments": {}} for name in names]


def judged(made, expected, names="last_segment", **options):
    metric = ToolCallTrajectory(names=names, **options)
    return metric.evaluate(tool_calls=calls(*made), expectations={"tool_calls": calls(*expected)})


def by(way, metric, rows, tmp_path):
    return way(metric, rows, tmp_path / "rows.jsonl") if way is file else way(metric, rows)


def test_the_words_are_those_of_the_core():
    assert get_args(Names) == _core.NAME_MODES == ("exact", "last_segment")


# The rule


SEGMENTS = [
    ("mcp__github__create_issue", "create_issue"),
    ("calculator__add", "add"),
    ("ns.func", "func"),
    ("server/tool", "tool"),
    ("server:tool", "tool"),
    ("Plugin-func", "func"),
    ("a.b/c:d__e", "e"),
    ("server.create-issue", "create-issue"),
    ("сервер__поиск", "поиск"),
    ("服务.搜索", "搜索"),
    ("🛠/😀", "😀"),
    ("\ud800.\udc00", "\udc00"),
]
WHOLE = ["search", "create_issue", "get-the-weather", "a b-c", "é-b", "-b", "b-", "a__", "a.", "a.b/", "__", "-", ""]


@pytest.mark.parametrize(("name", "segment"), SEGMENTS)
def test_a_made_call_is_one_of_its_last_segment(name, segment):
    assert _core.last_segment(name) == segment
    assert judged([name], [segment]).verdict == "passed"
    assert judged([name], [name]).verdict == "passed"
    assert judged([name], [segment], "exact").verdict == "failed"
    assert judged([segment], [name]).verdict == "failed"  # a wanted name is never split


@pytest.mark.parametrize("name", WHOLE)
def test_a_name_without_a_last_segment_is_wanted_whole(name):
    assert _core.last_segment(name) is None
    assert judged([name], [name]).verdict == "passed"
    for wanted in {"b", "issue", "weather", "c", "a", ""} - {name}:
        assert judged([name], [wanted]).verdict == "failed"


def test_a_segment_is_no_other_part_of_a_name():
    for wanted in ("github", "mcp", "github__create_issue", "issue", "Create_Issue"):
        assert judged(["mcp__github__create_issue"], [wanted]).verdict == "failed"


@given(st.text(st.sampled_from("ab_-.:/é搜😀"), max_size=8))
def test_the_rule_as_an_expression(name):
    # What comes first takes as much as it can, so the separator is the last one.
    last = re.fullmatch(r"(?s:.*)(?:__|[./:])(.*)", name)
    hyphen = re.fullmatch(r"[A-Za-z0-9_]+-([A-Za-z0-9_]+)", name)
    wanted = last[1] or None if last else hyphen and hyphen[1]
    assert _core.last_segment(name) == wanted


# Every case with a known answer, its made calls renamed


SPACES = ["mcp__server__", "ns.", "server/", "server:", "a.b__", ""]


def renamed(made, spaces):
    """The same calls with something before their names, whatever their shape."""
    made = copy.deepcopy(made)
    for call in made:
        place = call.get("function", call)
        key = "tool_name" if "tool_name" in place else "name"
        place[key] = next(spaces) + place[key]
    return made


SPACED = cycle(SPACES)
ROWS = [(case["actual"], case["expected"]) for case in CASES]
RENAMED = [(renamed(made, SPACED), expected) for made, expected in ROWS]


@pytest.mark.parametrize(("match", "arguments"), PAIRS)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_every_case_in_every_mode_by_every_way(way, match, arguments, tmp_path):
    metric = ToolCallTrajectory(match=match, arguments=arguments, names="last_segment")
    results = by(way, metric, RENAMED, tmp_path)
    found = {case["id"]: answer(result) for case, result in zip(CASES, results, strict=True)}
    assert found == {case["id"]: case["want"][f"{match}/{arguments}"] for case in CASES}
    assert all(consistent(result) for result in results)


@pytest.mark.parametrize(("match", "arguments"), PAIRS)
def test_all_else_of_a_result_is_that_of_the_short_names(match, arguments):
    short = objects(ToolCallTrajectory(match=match, arguments=arguments), ROWS)
    long = objects(ToolCallTrajectory(match=match, arguments=arguments, names="last_segment"), RENAMED)
    space = re.compile("|".join(re.escape(space) for space in SPACES if space))
    for before, after in zip(short, long, strict=True):
        assert space.sub("", after.model_dump_json()) == before.model_dump_json()


@pytest.mark.parametrize(("match", "arguments"), PAIRS)
def test_names_without_separators_are_the_same_in_both_modes(match, arguments):
    both = [ToolCallTrajectory(match=match, arguments=arguments, names=names) for names in _core.NAME_MODES]
    exact, by_segment = ([result.model_dump_json() for result in objects(metric, ROWS)] for metric in both)
    assert exact == by_segment


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_many_names_are_found_as_few_are(way, tmp_path):
    """More than sixteen are looked up by hash, whatever the storage of their text."""
    wanted = [f"{letter}{n}" for n in range(20) for letter in ("a", "é", "搜", "😀")]
    rows = [(calls(*(f"{space}{name}" for name in reversed(wanted))), calls(*wanted)) for space in ("s__", "ü.", "服/")]
    for result in by(way, ToolCallTrajectory(match="any_order", names="last_segment"), rows, tmp_path):
        assert (result.verdict, result.details["matched"]) == ("passed", 80)


# Reasons


def test_a_tool_called_by_several_names_is_counted_as_one():
    result = judged(["a__search", "b__search"], ["search"], match="any_order")
    assert result.reason == "`search` was called twice; it was expected once."
    assert result.details["difference"]["actual_index"] == 1
    result = judged(["a__search"], ["search", "search"], match="superset")
    assert result.reason == "Expected `search` twice; it was called once."


def test_a_call_that_was_not_expected_is_told_by_its_recorded_name():
    result = judged(["a__search", "a__reply"], ["search"], match="exact")
    assert result.reason == "`a__reply` was called (call 2), which was not expected."
    assert result.details["difference"]["name"] == "a__reply"
    result = judged(["a__search"], ["reply"], match="exact")
    assert result.reason == "Call 1 was `a__search`; expected `reply`, which was never called."


def test_a_call_whose_arguments_were_not_recorded_is_told_by_its_recorded_name():
    metric = ToolCallTrajectory(names="last_segment")
    expected = {"tool_calls": [{"name": "pay", "arguments": {"amount": 5}}]}
    result = metric.evaluate(tool_calls=[{"name": "bank__pay"}], expectations=expected)
    assert result.verdict == "inconclusive"
    assert "`bank__pay` (call 1)" in result.reason


# Expectations in which one call would be two


AMBIGUOUS = [
    (["a__x", "x"], 1),
    (["x", "a__x"], 1),
    (["y", "x", "y", "x", "a.x", "b.x"], 4),
    (["Plugin-func", "func"], 1),
    (["a__b-c", "b-c"], 1),
    ([*(f"t{n}" for n in range(40)), "s:t7"], 40),
]


@pytest.mark.parametrize("match", MATCHES)
@pytest.mark.parametrize(("expected", "second"), AMBIGUOUS)
def test_two_names_that_one_call_could_have_are_an_error(match, expected, second):
    for made in ([], ["x"], None):
        metric = ToolCallTrajectory(match=match, names="last_segment")
        with pytest.raises(InvalidInput) as raised:
            metric.evaluate(
                tool_calls=None if made is None else calls(*made), expectations={"tool_calls": calls(*expected)}
            )
        assert raised.value.path == f"expectations.tool_calls[{second}]"
        for part in (expected[second], 'names="exact"', "alike"):
            assert part in str(raised.value)
    assert judged(["other"], expected, "exact", match=match).verdict == "failed"


def test_the_error_names_both():
    with pytest.raises(InvalidInput) as raised:
        judged([], ["reply", "crm.search", "search"])
    assert str(raised.value) == (
        "expectations.tool_calls[2]: a call of `crm.search` would be one of `search` too, which is its last segment; "
        'use names="exact", or write the two names alike'
    )


def test_names_that_no_call_could_both_have_are_no_error():
    assert judged(["a__x", "b__x"], ["a__x", "b__x"]).verdict == "passed"
    assert judged(["s.a__b"], ["a__b"]).verdict == "failed"  # its last segment is b
    assert judged(["s__a-b", "b"], ["s__a-b", "b"]).verdict == "passed"
    assert judged(["a__x", "a__x"], ["a__x", "a__x"]).verdict == "passed"


def test_such_an_expectation_is_an_error_of_its_row_alone(tmp_path):
    metric = ToolCallTrajectory(names="last_segment")
    rows = [(calls("a__x"), calls("x")), (calls("a__x"), calls("x", "a__x"))]
    for many in (1, 200):  # on one thread, and on several
        repeated = rows * many
        for scores in (
            metric.evaluate_batch(
                tool_calls=[made for made, _ in repeated], expected_tool_calls=[wanted for _, wanted in repeated]
            ),
            metric.evaluate_batch(
                tool_calls=[json.dumps(made) for made, _ in repeated],
                expected_tool_calls=[json.dumps(wanted) for _, wanted in repeated],
            ),
        ):
            assert scores.verdict == ["passed", "error"] * many
            assert scores.error[1].startswith("expected_tool_calls[1][1]: a call of `a__x` would be one of `x` too")
    records = [{"tool_calls": made, "expected_tool_calls": wanted} for made, wanted in rows]
    path = write_jsonl(tmp_path / "runs.jsonl", records)
    (scores,) = metric.evaluate_file(path)
    assert scores.verdict == ["passed", "error"]
    assert scores.error[1].startswith(f"{path}:2: expected_tool_calls[1]: a call of `a__x`")


# The option


def test_exact_is_the_default():
    assert ToolCallTrajectory().names == "exact"
    assert judged(["a__x"], ["x"], "exact").verdict == "failed"


@pytest.mark.parametrize(("wrong", "nearest"), [("last_segments", "last_segment"), ("Exact", "exact"), ("last", None)])
def test_an_unknown_word_lists_the_right_ones_and_the_nearest(wrong, nearest):
    for make in (
        lambda: ToolCallTrajectory(names=wrong),
        lambda: Target(on="tool_call", name="x", names=wrong),
        lambda: Metric.from_config({"type": "tool_call_trajectory", "names": wrong}),
        lambda: _core.Trajectory("exact", "exact", wrong),
    ):
        with pytest.raises(InvalidInput, match="names is one of exact, last_segment") as raised:
            make()
        assert ("did you mean" in str(raised.value)) == (nearest is not None)
        assert nearest is None or f'did you mean "{nearest}"?' in str(raised.value)


@pytest.mark.parametrize("value", [None, 5, True, ["exact"]])
def test_what_is_no_word_is_refused(value):
    for make in (ToolCallTrajectory, lambda names: Target(on="tool_call", name="x", names=names)):
        with pytest.raises(InvalidType, match="exact, last_segment"):
            make(names=value)


def test_a_misspelt_keyword_gets_the_nearest():
    with pytest.raises(InvalidType, match='did you mean "names"'):
        ToolCallTrajectory(namess="exact")


def test_it_goes_through_configs_and_pickle():
    metric = ToolCallTrajectory(names="last_segment")
    assert metric.config["names"] == "last_segment"
    assert metric != ToolCallTrajectory()
    metric.evaluate(tool_calls=[], expectations=None)  # so that the core's part is there to be pickled
    for again in (Metric.from_config(metric.config), pickle.loads(pickle.dumps(metric)), copy.deepcopy(metric)):
        assert again == metric
        assert again.evaluate(tool_calls=calls("a__x"), expectations={"tool_calls": calls("x")}).verdict == "passed"


def test_the_calls_of_a_trace_and_of_messages():
    metric = ToolCallTrajectory(match="exact", names="last_segment")
    expectations = {"tool_calls": [{"name": "create_issue"}]}
    made = [{"role": "assistant", "tool_calls": [{"function": {"name": "mcp__github__create_issue"}}]}]
    assert metric.evaluate(tool_calls=made, expectations=expectations).verdict == "passed"
    trace = Trace.from_parts(input="Hi", tool_calls=calls("mcp__github__create_issue"))
    assert metric.evaluate(trace=trace, expectations=expectations).verdict == "passed"
    assert trace.tool_calls[0].name == "mcp__github__create_issue"


# The command


def score(*arguments):
    command = [sys.executable, "-m", "callmatch", "score", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=60, check=False)


def test_the_command_takes_it(tmp_path):
    records = [{"tool_calls": calls("a__x"), "expected_tool_calls": calls("x")}]
    runs = write_jsonl(tmp_path / "runs.jsonl", records)
    for options, rate in (([], 0.0), (["--names", "exact"], 0.0), (["--names", "last_segment"], 1.0)):
        done = score(runs, "--json", *options)
        assert (done.returncode, json.loads(done.stdout)["summary"]["passed"]) == (0, rate)
    done = score(runs, "--names", "last_segmnt")
    assert done.returncode == 2
    assert all(word in done.stderr for word in ("--names", "exact", 'did you mean "last_segment"'))


# Targets


TRACE = Trace.read(
    {
        "turns": [
            {
                "input": "Hi",
                "spans": [
                    {"kind": "agent", "id": "desk", "name": "team/desk"},
                    {"kind": "tool_call", "name": "mcp__github__create_issue", "parent_id": "desk"},
                    {"kind": "tool_call", "name": "create_issue"},
                    {"kind": "tool_call", "name": "create_issue__later"},
                    {"kind": "tool_call", "name": "issues-create_issue"},
                    {"kind": "tool_call", "name": "recreate_issue"},
                    {"kind": "llm", "name": "x.create_issue"},
                    {"kind": "llm"},
                ],
            }
        ]
    }
)


def found(**target):
    return [subject.name for subject in resolve(TRACE, target)]


def test_a_target_finds_spans_by_the_last_segment():
    wanted = {"on": "tool_call", "name": "create_issue"}
    assert found(**wanted) == found(**wanted, names="exact") == ["create_issue"]
    by_segment = ["mcp__github__create_issue", "create_issue", "issues-create_issue"]
    assert found(**wanted, names="last_segment") == by_segment
    assert found(**wanted, names="last_segment", within="team/desk") == by_segment[:1]
    assert found(**wanted, names="last_segment", within="desk") == []  # an agent around is named as a whole
    assert found(on="tool_call", name="mcp__github__create_issue", names="last_segment") == by_segment[:1]
    assert found(on="agent", name="desk", names="last_segment") == ["team/desk"]
    assert found(on="llm", name="create_issue", names="last_segment") == ["x.create_issue"]


def test_a_metric_judges_what_such_a_target_finds():
    @code_metric(target={"on": "tool_call", "name": "create_issue", "names": "last_segment"})
    def is_issue(span):
        return span.name.endswith("create_issue")

    result = is_issue.evaluate(trace=TRACE)
    assert (result.verdict, result.details["found"], result.details["passed"]) == ("passed", 3, 3)
    assert is_issue.config["target"] == {"on": "tool_call", "name": "create_issue", "names": "last_segment"}
    nothing = is_issue.evaluate(trace=TRACE, target={"on": "tool_call", "name": "x", "names": "last_segment"})
    assert nothing.verdict == "not_applicable"
    assert nothing.reason.startswith("No tool calls named `x` (or with that as the last segment) were recorded.")


def test_a_target_without_a_name_has_no_names():
    with pytest.raises(InvalidInput, match="name beside it") as raised:
        Target.of({"on": "tool_call", "names": "last_segment"})
    assert raised.value.path == "target.names"
    with pytest.raises(InvalidInput, match="kinds of spans"):
        Target(on="turn", name="x", names="last_segment")
    with pytest.raises(InvalidInput, match='did you mean "names"'):
        Target.of({"on": "tool_call", "name": "x", "namess": "last_segment"})


def test_a_target_can_be_written_and_read_again():
    for target in (Target(on="tool_call"), Target(on="tool_call", name="x", names="last_segment")):
        assert Target.of(target.model_dump()) == Target.of(target.short()) == target
