"""Configs: what a metric is made of, as plain data."""

import copy
import json
from io import StringIO

import pytest
from ruamel.yaml import YAML

from callmatch import CallmatchError, InvalidInput, InvalidType, Target, Trace
from callmatch.metrics import (
    CategoricalJudge,
    CodeMetric,
    ConversationalJudge,
    Metric,
    NumericJudge,
    ToolCallTrajectory,
    code_metric,
)


def is_short(output):
    return len(output)


@code_metric(threshold=20, operator="<=")
def decorated(output):
    return len(output)


def of_trace(trace):
    return bool(trace.tool_calls)


PROMPT = "The refund matches the policy:\n\n- at most *one* refund per order: no more.\n# and “kind” 👍\n"

METRICS = {
    "trajectory": ToolCallTrajectory(),
    "trajectory with all": ToolCallTrajectory(
        match="any_order", arguments="exact", calls="requested", name="refund flow", target="conversation"
    ),
    "numeric judge": NumericJudge(name="policy", evaluation_prompt=PROMPT),
    "numeric judge with all": NumericJudge(
        name="policy",
        evaluation_prompt=PROMPT,
        model="openai/gpt-4.1",
        min_score=-1,
        max_score=5,
        threshold=2.5,
        operator="<",
        target={"on": "tool_call", "name": "issue_refund", "within": "billing", "aggregate": 0.8},
        max_spans=3,
        attempts=1,
        timeout=2.5,
        max_concurrency=2,
    ),
    "numeric judge with a reference": NumericJudge(name="same", evaluation_prompt=PROMPT, needs_reference=True),
    "mean": NumericJudge(name="policy", evaluation_prompt=PROMPT, target={"on": "turn", "aggregate": "mean"}),
    "categorical judge": CategoricalJudge(
        name="tone", evaluation_prompt=PROMPT, categories=["kind", "no", "yes", "1"], passing_categories=["kind", "1"]
    ),
    "conversational judge": ConversationalJudge(),
    "conversational judge with all": ConversationalJudge(
        name="reached", goal="The order is refunded.", evaluation_prompt=PROMPT, min_score=1, max_score=10, threshold=7
    ),
    "code metric": code_metric(is_short),
    "code metric with all": code_metric(
        name="short", threshold=20, operator="<=", target={"on": "turn", "aggregate": "majority"}, max_spans=7
    )(is_short),
    "code metric with categories": code_metric(passing_categories=["good", "on"], target="retrieval")(is_short),
    "decorated code metric": decorated,
    "code metric of the trace": code_metric(target="run")(of_trace),
}


def by_json(config):
    return json.loads(json.dumps(config, allow_nan=False))


def by_yaml(config):
    yaml, stream = YAML(typ="safe", pure=True), StringIO()
    yaml.dump(config, stream)
    return YAML(typ="safe", pure=True).load(stream.getvalue())


def by_copy(config):
    return copy.deepcopy(config)


WAYS = [by_json, by_yaml, by_copy]
PLAIN = (str, int, float, bool, type(None), list, dict)


def plain_types(value):
    """Whether a value is made of what JSON has, to the last type."""
    if type(value) is dict:
        return all(type(key) is str and plain_types(inner) for key, inner in value.items())
    if type(value) is list:
        return all(map(plain_types, value))
    return type(value) in PLAIN


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("kind", METRICS)
def test_a_config_makes_the_same_metric(kind, way):
    metric = METRICS[kind]
    config = metric.config
    assert plain_types(config)
    for cls in (Metric, type(metric)):
        again = cls.from_config(way(config))
        assert again == metric
        assert type(again) is type(metric)
        assert again.config == config
        assert again.target == metric.target
        assert again.takes == metric.takes
    assert metric.config == config


@pytest.mark.parametrize("kind", METRICS)
def test_a_config_names_its_type_and_holds_what_was_given(kind):
    metric = METRICS[kind]
    types = {
        ToolCallTrajectory: "tool_call_trajectory",
        NumericJudge: "numeric_judge",
        CategoricalJudge: "categorical_judge",
        ConversationalJudge: "conversational_judge",
        CodeMetric: "code_metric",
    }
    assert metric.config["type"] == types[type(metric)]
    assert metric.config["name"] == metric.name
    assert Target.of(metric.config["target"]) == metric.target
    # The type isn't needed where the class is asked.
    untyped = {key: value for key, value in metric.config.items() if key != "type"}
    assert type(metric).from_config(untyped) == metric


def test_the_config_of_the_documentation():
    metric = ToolCallTrajectory(match="exact")
    assert metric.config["match"] == "exact"
    metric.config = {"match": "exact", "target": {"on": "run"}}
    assert (metric.match, metric.target.on) == ("exact", "run")
    judge = NumericJudge.from_config(
        {"name": "policy", "evaluation_prompt": "It is right.", "target": {"on": "tool_call", "name": "issue_refund"}}
    )
    assert judge.target == Target(on="tool_call", name="issue_refund")


def test_a_config_written_by_hand_in_yaml():
    text = """\
- type: tool_call_trajectory
  match: any_order
  target: run
- type: numeric_judge
  name: policy
  evaluation_prompt: |
    At most one refund per order.
  threshold: 1
  target: {on: tool_call, name: issue_refund, aggregate: 0.5}
- type: code_metric
  function: test_configs:is_short
  threshold: 3
"""
    trajectory, judge, code = (
        Metric.from_config(config, f"metrics[{place}]")
        for place, config in enumerate(YAML(typ="safe", pure=True).load(text))
    )
    assert trajectory == ToolCallTrajectory(match="any_order", target="run")
    assert judge.target == Target(on="tool_call", name="issue_refund", aggregate=0.5)
    assert code.evaluate(output="four").verdict == "passed"
    assert code.evaluate(output="no").verdict == "failed"


# Setting a config replaces the whole of it


def test_setting_a_config_replaces_the_whole():
    metric = ToolCallTrajectory(match="exact", arguments="ignore", calls="requested", name="mine", target="run")
    metric.config = {"arguments": "exact"}
    assert metric == ToolCallTrajectory(arguments="exact")
    assert metric.config == ToolCallTrajectory(arguments="exact").config


@pytest.mark.parametrize("kind", METRICS)
def test_every_config_can_be_set(kind):
    metric = METRICS[kind]
    others = [other for other in METRICS.values() if type(other) is type(metric)]
    for other in others:
        changed = copy.deepcopy(metric)
        changed.config = other.config
        assert changed == other
        assert changed.config == other.config
        assert changed.takes == other.takes


def test_what_was_worked_out_before_does_not_stay():
    metric = ToolCallTrajectory(match="exact")
    made, expected = [{"name": "a"}, {"name": "b"}], {"tool_calls": [{"name": "b"}]}
    assert metric.evaluate(tool_calls=made, expectations=expected).verdict == "failed"
    metric.config = {"match": "superset"}
    assert metric.evaluate(tool_calls=made, expectations=expected).verdict == "passed"
    assert metric.evaluate(tool_calls=made, expectations=expected).details["match"] == "superset"

    code = code_metric(threshold=3)(is_short)
    assert code.evaluate(output="four").verdict == "passed"
    code.config = {"function": "test_configs:of_trace"}
    assert code.takes == code_metric(of_trace).takes
    assert code.evaluate(tool_calls=[]).verdict == "failed"


def test_a_config_that_is_wrong_changes_nothing():
    metric = ToolCallTrajectory(match="exact", target="run")
    before = metric.config
    for config in (
        {"match": "exactly"},
        {"target": "turn"},
        {"mtch": "exact"},
        {"type": "code_metric"},
        {"name": 3},
        3,
        None,
    ):
        with pytest.raises(CallmatchError):
            metric.config = config
        assert metric.config == before
    assert metric == ToolCallTrajectory(match="exact", target="run")


def test_nothing_is_set_but_the_config():
    metric = ToolCallTrajectory()
    for field, value in (("match", "exact"), ("target", Target(on="run")), ("mtch", "exact")):
        with pytest.raises((AttributeError, TypeError, ValueError), match="config"):
            setattr(metric, field, value)
    assert metric == ToolCallTrajectory()


def test_changing_a_config_that_was_read_changes_nothing():
    metric = METRICS["categorical judge"]
    before = copy.deepcopy(metric.config)
    metric.config["categories"].append("another")
    metric.config["match"] = "exact"
    assert metric.config == before


def test_a_model_that_no_text_can_hold_stays():
    def model(prompt):
        return {"reason": "so it was", "score": 1}

    judge = NumericJudge(name="own", evaluation_prompt="It is right.", model=model)
    assert "model" not in judge.config
    again = NumericJudge.from_config(json.loads(json.dumps(judge.config)), model=model)
    assert again == judge
    judge.config = {"name": "another", "evaluation_prompt": "It is right."}
    assert judge.evaluate(output="x").verdict == "passed"
    # A name of a model is one of the options, and goes with the rest.
    judge = NumericJudge(name="own", evaluation_prompt="It is right.", model="openai/gpt-4.1")
    assert judge.config["model"] == "openai/gpt-4.1"
    judge.config = {"name": "own", "evaluation_prompt": "It is right."}
    assert judge.model is None


def test_a_model_of_the_config_goes_before_one_that_is_given():
    config = {"name": "own", "evaluation_prompt": "It is right.", "model": "openai/gpt-4.1"}
    assert NumericJudge.from_config(config, model="openai/gpt-5").model == "openai/gpt-4.1"
    # Kinds of metrics that have no model don't mind.
    assert Metric.from_config({"type": "tool_call_trajectory"}, model="openai/gpt-5") == ToolCallTrajectory()


def test_a_function_that_no_text_can_name():
    metric = code_metric(lambda output: True)
    with pytest.raises(CallmatchError, match="function"):
        CodeMetric.from_config(metric.config)
    assert CodeMetric.from_config(metric.config, function=metric.function) == metric


# Refused

JUDGE = {"type": "numeric_judge", "name": "own", "evaluation_prompt": "It is right."}
CATEGORIES = {
    "type": "categorical_judge",
    "name": "own",
    "evaluation_prompt": "It is right.",
    "categories": ["good", "bad"],
    "passing_categories": ["good"],
}
CODE = {"type": "code_metric", "function": "test_configs:is_short"}
TRAJECTORY = {"type": "tool_call_trajectory"}
CONVERSATION = {"type": "conversational_judge"}

MISSPELT = [
    (TRAJECTORY, "mtch", "exact", "match"),
    (TRAJECTORY, "argument", "exact", "arguments"),
    (TRAJECTORY, "traget", "run", "target"),
    (JUDGE, "min_scor", 1, "min_score"),
    (JUDGE, "treshold", 1, "threshold"),
    (JUDGE, "evaluation_promt", "x", "evaluation_prompt"),
    (JUDGE, "max_span", 3, "max_spans"),
    (CATEGORIES, "passing_category", ["good"], "passing_categories"),
    (CATEGORIES, "category", ["good"], "categories"),
    (CONVERSATION, "gaol", "x", "goal"),
    (CODE, "functions", "x", "function"),
    (CODE, "passing_categorys", ["x"], "passing_categories"),
    ({}, "typ", "numeric_judge", "type"),
]


@pytest.mark.parametrize(("config", "key", "value", "near"), MISSPELT)
def test_a_misspelt_key_gets_the_nearest(config, key, value, near):
    with pytest.raises(CallmatchError) as raised:
        Metric.from_config({**config, key: value}, "metrics[2]")
    assert f'"{near}"' in str(raised.value) or (near == "type" and "type" in str(raised.value))
    assert raised.value.path.startswith("metrics[2]")
    assert str(raised.value).startswith("metrics[2]")


WORDS = [
    ({"type": "tool_call_trajectry"}, "type", "tool_call_trajectory"),
    ({"type": "NumericJudge"}, "type", "numeric_judge"),
    ({**TRAJECTORY, "match": "inorder"}, "match", "in_order"),
    ({**TRAJECTORY, "arguments": "partially"}, "arguments", "partial"),
    ({**TRAJECTORY, "calls": "request"}, "calls", "requested"),
    ({**TRAJECTORY, "target": "runs"}, "target.on", "run"),
    ({**TRAJECTORY, "target": {"on": "conversations"}}, "target.on", "conversation"),
    ({**TRAJECTORY, "target": {"onn": "run"}}, "target.onn", "on"),
    ({**JUDGE, "target": {"on": "tool_call", "agregate": "any"}}, "target.agregate", "aggregate"),
    ({**JUDGE, "target": {"on": "tool_call", "aggregate": "majorty"}}, "target.aggregate", "majority"),
    ({**JUDGE, "target": {"on": "tool_call", "aggregate": 2}}, "target.aggregate", "2"),
    ({**JUDGE, "target": {"on": "turn", "name": "x"}}, "target.name", "turn"),
    ({**JUDGE, "operator": "=>"}, "operator", ">="),
    ({**JUDGE, "threshold": 2}, "threshold", "2"),
    ({**JUDGE, "threshold": "1"}, "threshold", "str"),
    ({**JUDGE, "threshold": True}, "threshold", "bool"),
    ({**JUDGE, "min_score": 1}, "max_score", "1"),
    ({**JUDGE, "max_spans": 0}, "max_spans", "0"),
    ({**JUDGE, "attempts": 0}, "attempts", "0"),
    ({**JUDGE, "model": "gpt"}, "model", "provider/name"),
    ({**JUDGE, "name": 3}, "name", "string"),
    ({**JUDGE, "evaluation_prompt": " "}, "evaluation_prompt", "evaluation_prompt"),
    ({**CATEGORIES, "passing_categories": ["god"]}, "passing_categories", "good"),
    ({**CATEGORIES, "categories": ["good"]}, "categories", "2"),
    ({**CATEGORIES, "categories": "good"}, "categories", "list"),
    ({**CODE, "function": "is_short"}, "function", "module:name"),
    ({**CODE, "function": "test_configs:is_shrt"}, "function", "is_shrt"),
    ({**CODE, "function": "no_such_module:is_short"}, "function", "no_such_module"),
    ({**CODE, "function": "test_configs:PROMPT"}, "function", "str"),
    ({**CODE, "operator": "is"}, "operator", ">="),
]


@pytest.mark.parametrize(("config", "path", "word"), WORDS)
def test_a_wrong_word_says_where_and_what_would_be_right(config, path, word):
    for way in (by_json, by_yaml):
        with pytest.raises(CallmatchError) as raised:
            Metric.from_config(way(config), "metrics[2]")
        assert word in str(raised.value)
        assert raised.value.path == f"metrics[2].{path}"
        assert str(raised.value).startswith("metrics[2]")


UNTAKEABLE = [
    (TRAJECTORY, "turn", ["response", "conversation", "run"]),
    (TRAJECTORY, {"on": "tool_call", "name": "x"}, ["response", "conversation", "run"]),
    (JUDGE, "conversation", ["response", "turn", "tool_call", "handoff"]),
    (JUDGE, "run", ["response", "turn", "tool_call", "handoff"]),
    ({**JUDGE, "needs_reference": True}, "tool_call", ["response"]),
    ({**JUDGE, "needs_reference": True}, "turn", ["response"]),
    (CATEGORIES, "run", ["response", "turn", "tool_call", "handoff"]),
    (CONVERSATION, "response", ["conversation"]),
    (CONVERSATION, "turn", ["conversation"]),
    (CODE, "run", ["response", "turn", "tool_call", "handoff"]),
    ({**CODE, "function": "test_configs:of_trace"}, "tool_call", ["turn", "conversation", "run"]),
    (CATEGORIES, {"on": "turn", "aggregate": "mean"}, ["mean", "threshold"]),
    (CODE, {"on": "turn", "aggregate": "mean"}, ["mean", "threshold"]),
]


@pytest.mark.parametrize(("config", "target", "words"), UNTAKEABLE)
def test_a_target_that_it_cannot_take_is_refused_with_those_it_can(config, target, words):
    with pytest.raises(InvalidInput) as raised:
        Metric.from_config({**config, "target": target}, "metrics[2]")
    assert all(word in str(raised.value) for word in words)
    assert raised.value.path.startswith("metrics[2].target")
    metric = Metric.from_config(config)
    before = metric.config
    with pytest.raises(InvalidInput) as raised:
        metric.config = {**config, "target": target}
    assert all(word in str(raised.value) for word in words)
    assert metric.config == before


def test_what_is_missing():
    for config, word in (
        ({}, "type"),
        ({"type": None}, "type"),
        ({"type": "numeric_judge"}, "missing"),
        ({"type": "numeric_judge", "name": "own"}, "evaluation_prompt"),
        ({"type": "categorical_judge", "name": "own", "evaluation_prompt": "x"}, "categories"),
        ({"type": "code_metric"}, "missing"),
    ):
        with pytest.raises(CallmatchError) as raised:
            Metric.from_config(config, "metrics[2]")
        assert word in str(raised.value)
        assert raised.value.path.startswith("metrics[2]")


@pytest.mark.parametrize("config", [None, 3, "numeric_judge", ["numeric_judge"], True])
def test_what_is_no_config(config):
    with pytest.raises(InvalidType, match="mapping") as raised:
        Metric.from_config(config, "metrics[2]")
    assert raised.value.path == "metrics[2]"


@pytest.mark.parametrize("kind", [3, ["numeric_judge"], {"a": 1}, True])
def test_a_type_that_is_no_word(kind):
    with pytest.raises(CallmatchError) as raised:
        Metric.from_config({"type": kind})
    assert "numeric_judge" in str(raised.value)


def test_a_config_of_another_kind_is_refused():
    with pytest.raises(InvalidInput, match="numeric_judge"):
        ToolCallTrajectory.from_config(JUDGE)
    with pytest.raises(InvalidInput, match="type"):
        NumericJudge.from_config(TRAJECTORY)


def test_constructors_refuse_what_configs_refuse():
    for way, kind, near in (
        (lambda: ToolCallTrajectory(mtch="exact"), InvalidType, "match"),
        (lambda: ToolCallTrajectory(match="inorder"), InvalidInput, "in_order"),
        (lambda: NumericJudge(name="own", evaluation_prompt="x", treshold=1), InvalidType, "threshold"),
        (lambda: NumericJudge(name="own", evaluation_prompt="x", target="retrievl"), InvalidInput, "retrieval"),
        (lambda: CategoricalJudge(name="own", evaluation_prompt="x", categorys=[]), InvalidType, "categories"),
        (lambda: ConversationalJudge(goals="x"), InvalidType, "goal"),
        (lambda: code_metric(treshold=1)(is_short), InvalidType, "threshold"),
    ):
        with pytest.raises(kind, match=f'"{near}"'):
            way()


def test_metrics_that_differ_are_not_equal():
    everything = list(METRICS.values())
    for place, metric in enumerate(everything):
        for other in everything[:place]:
            assert metric != other
        assert copy.deepcopy(metric) == metric


def test_a_metric_that_was_used_is_still_equal():
    metric, trace = ToolCallTrajectory(), Trace.from_parts(output="x", tool_calls=[{"name": "a"}])
    metric.evaluate(trace=trace, expectations={"tool_calls": [{"name": "a"}]})
    assert metric == ToolCallTrajectory()
    assert copy.deepcopy(metric) == metric
    assert metric.evaluate(trace=trace, expectations={"tool_calls": []}).verdict == "failed"
    code = code_metric(is_short)
    code.evaluate(trace=trace)
    assert code == code_metric(is_short)
    assert copy.deepcopy(code) == code
