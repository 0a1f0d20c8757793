"""Tool Call Check as a metric: its shape, its errors, and every way in. What rules decide is tested by their cases."""

import asyncio
import json
import math
from pathlib import Path

import pytest

from callmatch import Target, TestSet, Trace, _core
from callmatch.errors import CallmatchError, InvalidInput, InvalidType
from callmatch.metrics import Metric, ToolCallCheck
from callmatch.results import MetricResult
from callmatch.toolcheck import CheckSummary, ToolCallCheckResult

ROOT = Path(__file__).resolve().parents[1]
IDS = ["tool_relevance", "result_fidelity", "status_consistency", "no_hallucination"]
AIMON = {"instruction", "label", "follow_probability", "explanation"}


def call(name, payload=None, status="success", **more):
    return {"tool_name": name, "status": status, "response_payload": payload, **more}


def request(query, text, *calls, **more):
    return {"user_query": query, "generated_text": text, "tool_trace": list(calls), **more}


OSLO = call("weather_lookup", {"temp_c": -3, "cond": "light snow", "humidity": 81}, request_payload={"city": "Oslo"})
RIGHT = request("What's the weather in Oslo?", "It's -3 °C with light snow; humidity is 81%.", OSLO)
WRONG = request("What's the weather in Oslo?", "It's 3 °C in Oslo with light snow.", OSLO)
MAIL = call("send_email", None, "failed", error="550 rejected", request_payload={"to": "dana@x.io"})
FAILED = request("Email the invoice to Dana", "I've emailed the invoice to Dana.", MAIL)
HONEST = request("Email the invoice to Dana", "I couldn't email Dana: the mail server rejected it (550).", MAIL)
GREETING = request("hi", "Hello! How can I help?")
VAGUE = request("How long will it take?", "It will take a while.", call("get_eta", {"eta_min": 34}))
REQUESTS = [RIGHT, WRONG, FAILED, HONEST, GREETING, VAGUE]


def plain(result):
    return json.loads(result.model_dump_json())


# -- the shape


@pytest.mark.parametrize("asked", REQUESTS)
def test_the_four_instructions_have_the_keys_of_aimon_and_ours(asked):
    result = ToolCallCheck(explain=True).evaluate(**asked)
    assert isinstance(result, ToolCallCheckResult)
    assert [instruction.id for instruction in result.instructions_list] == IDS == list(_core.CHECKS)
    for instruction in result.instructions_list:
        labels = {"followed": True, "vacuous": True, "violated": False, "undecided": None}
        assert instruction.label is labels[instruction.verdict]
        assert 0 < instruction.follow_probability <= 1
        if instruction.verdict != "undecided":
            assert (instruction.follow_probability >= 0.5) is instruction.label
        assert instruction.decided_by == ("none" if instruction.verdict == "undecided" else "rules")
        begins = "Nothing to check" if instruction.verdict == "vacuous" else instruction.verdict.capitalize()
        assert instruction.explanation.startswith(f"{begins}: ")
        assert instruction.rules
        for evidence in instruction.evidence:
            assert evidence.relation in _core.CHECK_RELATIONS
            if evidence.start is not None:
                assert asked["generated_text"][evidence.start : evidence.end] == evidence.text
    for one in result.details["instructions_list"]:
        assert one.keys() >= AIMON
    assert result.model_used is False
    assert result.version == _core.__version__


@pytest.mark.parametrize("asked", REQUESTS)
def test_the_score_is_the_lowest_probability_of_what_was_decided(asked):
    result = ToolCallCheck().evaluate(**asked)
    decided = [one for one in result.instructions_list if one.verdict != "undecided"]
    assert result.score == min((one.follow_probability for one in decided), default=None)
    assert result.score_floor == (0 if len(decided) < 4 else result.score)
    if result.score is not None:
        assert result[result.score_basis].follow_probability == result.score
        assert result.verdict == ("passed" if result.score >= 0.5 else "failed")


def test_what_is_violated_fails_with_its_reason():
    result = ToolCallCheck().evaluate(**WRONG)
    assert result.verdict == "failed"
    assert result.passed is False
    assert result.violated == ["result_fidelity"]
    assert result["result_fidelity"].label is False
    assert "3" in result.reason
    assert result.score_basis == "result_fidelity"
    [evidence] = [one for one in result["result_fidelity"].evidence if one.relation == "contradicted"]
    assert evidence.source == "/tool_trace/0/response_payload/temp_c"
    with pytest.raises(KeyError):
        result["relevance"]


def test_honest_answers_pass():
    for asked in (RIGHT, HONEST, GREETING):
        result = ToolCallCheck().evaluate(**asked)
        assert result.verdict == "passed", asked
        assert result.violated == []


def test_an_empty_trace_is_judged_and_vacuous_where_nothing_could_go_wrong():
    result = ToolCallCheck().evaluate(**GREETING)
    assert [one.verdict for one in result.instructions_list][:3] == ["vacuous"] * 3
    assert result["status_consistency"].label is True
    assert result["status_consistency"].follow_probability == 1


def test_what_no_rule_decides_has_no_label_and_is_left_out_of_the_score():
    result = ToolCallCheck(explain=True).evaluate(**VAGUE)
    fidelity = result["result_fidelity"]
    assert (fidelity.verdict, fidelity.label, fidelity.follow_probability) == ("undecided", None, 0.5)
    assert fidelity.explanation.startswith("Undecided:")
    assert "result_fidelity" in result.undecided
    assert result.score_floor == 0


@pytest.mark.parametrize(
    ("explain", "explained"),
    [
        (False, []),
        (True, ["followed", "violated", "undecided", "vacuous"]),
        ("negatives_only", ["violated"]),
    ],
)
@pytest.mark.parametrize("asked", REQUESTS)
def test_explanations_are_written_where_they_are_asked_for(explain, explained, asked):
    result = ToolCallCheck(explain=explain).evaluate(**asked)
    for instruction in result.instructions_list:
        assert bool(instruction.explanation) is (instruction.verdict in explained)
    assert result.reason


def test_strict_gives_the_keys_of_aimon_alone_and_labels_that_are_true_or_false():
    for explain in (True, False):
        answer = ToolCallCheck(explain=explain).evaluate(**VAGUE).to_aimon(strict=True)
        assert answer.keys() == {"score", "instructions_list"}
        for one in answer["instructions_list"]:
            assert one.keys() == AIMON
            assert type(one["label"]) is bool
        fidelity = answer["instructions_list"][1]
        assert fidelity["label"] is True
        assert fidelity["explanation"].startswith("Undecided:")
    harsh = ToolCallCheck(threshold=0.6).evaluate(**VAGUE).to_aimon(strict=True)
    assert harsh["instructions_list"][1]["label"] is False
    ours = ToolCallCheck().evaluate(**WRONG).to_aimon()
    assert ours["instructions_list"][1]["verdict"] == "violated"
    assert list(ours)[:2] == ["score", "instructions_list"]
    assert "score_floor" in ours


def test_the_threshold_decides_what_passes():
    score = ToolCallCheck().evaluate(**RIGHT).score
    assert ToolCallCheck(threshold=score).evaluate(**RIGHT).verdict == "passed"
    assert ToolCallCheck(threshold=math.nextafter(score, 2)).evaluate(**RIGHT).verdict == "failed"
    assert ToolCallCheck(threshold=0).evaluate(**WRONG).verdict == "passed"


def test_a_result_is_plain_data_that_a_result_is_made_of_again():
    result = ToolCallCheck(explain=True).evaluate(**WRONG)
    again = ToolCallCheckResult.read_json(result.model_dump_json())
    assert again.instructions_list == result.instructions_list
    assert again.coverage == result.coverage
    assert MetricResult.read(plain(result)).details == again.details


# -- what can't be


MISSING = [
    ({}, InvalidType, "user_query"),
    ({"user_query": "x"}, InvalidType, "generated_text"),
    ({"user_query": "x", "generated_text": "y"}, InvalidType, "tool_trace"),
    ({**RIGHT, "user_query": None}, CallmatchError, "user_query"),
    ({**RIGHT, "generated_text": None}, CallmatchError, "generated_text"),
    ({**RIGHT, "tool_trace": None}, CallmatchError, "tool_trace"),
    ({**RIGHT, "user_query": 3}, InvalidType, "user_query"),
    ({**RIGHT, "tool_trace": 3}, InvalidType, "tool_trace"),
    ({**RIGHT, "tool_trace": [3]}, InvalidType, r"tool_trace\[0\]"),
    ({**RIGHT, "user_qery": "x"}, InvalidType, 'did you mean "user_query"'),
    ({**RIGHT, "tool_traces": []}, InvalidType, 'did you mean "tool_trace"'),
    ({**RIGHT, "target": "turn"}, InvalidInput, "target can't be given beside user_query"),
    ({**RIGHT, "trace": Trace()}, InvalidInput, "trace can't be given beside user_query"),
    ({"trace": Trace(), "available_tools": []}, InvalidInput, "available_tools"),
]


@pytest.mark.parametrize(("asked", "kind", "says"), MISSING)
def test_what_is_missing_or_wrong_is_named(asked, kind, says):
    with pytest.raises(kind, match=says):
        ToolCallCheck().evaluate(**asked)
    with pytest.raises(kind, match=says):
        asyncio.run(ToolCallCheck().evaluate_async(**asked))


@pytest.mark.parametrize(
    ("options", "kind", "says"),
    [
        ({"explain": "negative_only"}, InvalidInput, 'did you mean "negatives_only"'),
        ({"explain": 1.5}, InvalidType, "explain is True, False"),
        ({"judge_mode": "al"}, InvalidInput, 'did you mean "all"'),
        ({"judge": "gpt"}, InvalidInput, "provider/name"),
        ({"judge": 3}, InvalidType, "judge is an object"),
        ({"threshold": 1.5}, InvalidInput, "threshold"),
        ({"threshold": "0.5"}, InvalidType, "threshold"),
        ({"failure_when": {"pay": ["status"]}}, InvalidInput, r"failure_when.pay\[0\]"),
        ({"failure_when": {"pay": 3}}, InvalidType, "failure_when.pay"),
        ({"ignore_keys": "id"}, InvalidType, "ignore_keys"),
        ({"calibration": {"relatet": {"followed": 1, "n": 1}}}, InvalidInput, 'did you mean "related"'),
        ({"available_tools": 3}, InvalidType, "available_tools"),
        ({"target": "tool_call"}, InvalidInput, "response, turn, conversation or run"),
        ({"explian": True}, InvalidType, 'did you mean "explain"'),
    ],
)
def test_options_that_can_not_be_are_refused(options, kind, says):
    with pytest.raises(kind, match=says):
        ToolCallCheck(**options)


def test_odd_requests_are_judged():
    """An unknown status, texts where data should be, and times that run backwards are no errors."""
    odd = [
        call("a", {"n": 1}, "exploded"),
        {"name": "b", "arguments": '{"x": 1}', "output": '{"y": 2}'},
        call("c", "plain text", None, start_time="2026-01-02T00:00:00Z", end_time="2026-01-01T00:00:00Z"),
        call("d", b"\xff\xfe", True, error=False),
    ]
    result = ToolCallCheck().evaluate(**request("q", "The answer is 7.", *odd))
    assert result.verdict in ("passed", "failed")
    assert any("exploded" in note for note in result.notes + list(result["status_consistency"].notes))


# -- options reach the rules


def test_failure_when_says_which_results_are_failures():
    refund = call("refund", {"success": False, "reason": "window closed", "code": 7}, request_payload={"id": "R1"})
    asked = request("Refund R1", "Your refund R1 went through.", refund)
    told = ToolCallCheck(failure_when={"refund": ["/code"]}).evaluate(**asked)
    assert told["status_consistency"].verdict == "violated"
    other = ToolCallCheck(failure_when={"pay": ["/code"]}).evaluate(**asked)
    assert other["status_consistency"].verdict != "violated"


def test_ignored_keys_contradict_nothing_and_still_support():
    stock = call("stock", {"left": 12}, request_payload={"sku": "X1"})
    wrong, right = (request("stock of X1?", f"There are {number} left of X1.", stock) for number in (13, 12))
    assert ToolCallCheck().evaluate(**wrong)["result_fidelity"].rules[0] == "contradicted_slot"
    ignoring = ToolCallCheck(ignore_keys=["left"])
    assert "contradicted_slot" not in ignoring.evaluate(**wrong)["result_fidelity"].rules
    assert ignoring.evaluate(**right)["result_fidelity"].verdict == "followed"


def test_aliases_say_what_a_key_is_called_in_answers():
    asked = request("how warm?", "The temperature is 5 degrees.", call("read_sensor", {"tmp": 6}))
    assert "contradicted_slot" not in ToolCallCheck().evaluate(**asked)["result_fidelity"].rules
    told = ToolCallCheck(key_aliases={"tmp": ["temperature"]}).evaluate(**asked)
    assert told["result_fidelity"].rules[0] == "contradicted_slot"


def test_unit_hints_say_what_the_numbers_of_a_key_are_in():
    asked = request("how far?", "It is 12 miles away.", call("measure", {"dist": 12}))
    assert ToolCallCheck(unit_hints={"dist": "mi"}).evaluate(**asked).violated == []
    assert ToolCallCheck(unit_hints={"dist": "km"}).evaluate(**asked).violated == ["result_fidelity"]


def test_tools_that_could_be_called_are_those_of_the_request_or_else_of_the_metric():
    tools = [{"name": "stock_api", "description": "Stock prices"}]
    asked = request("price of ACME?", "I used stock_api: it is 12.30.", call("quote_lookup", {"price": 12.3}))
    metric = ToolCallCheck(available_tools=tools)
    assert metric.evaluate(**asked)["no_hallucination"].rules[0] == "uncalled_tool"
    beside = ToolCallCheck().evaluate(**asked, available_tools=tools)
    assert beside["no_hallucination"] == metric.evaluate(**asked)["no_hallucination"]
    assert metric.evaluate(**asked, available_tools=[])["no_hallucination"].rules[0] == "unknown_tool"
    assert metric.evaluate_batch([asked]).no_hallucination == ["violated"]


# -- many


def test_a_batch_says_what_single_requests_say():
    check = ToolCallCheck(explain=True)
    scores = check.evaluate_batch(REQUESTS * 50)
    for place, asked in enumerate(REQUESTS * 50):
        if place < 2 * len(REQUESTS):
            assert plain(scores[place]) == plain(check.evaluate(**asked))
        assert scores.score[place] == scores.score[place % len(REQUESTS)]
    assert [plain(result) for result in scores[:2]] == [plain(result) for result in list(scores)[:2]]
    assert plain(scores[-1]) == plain(check.evaluate(**REQUESTS[-1]))


def test_requests_may_be_json_text_and_come_from_an_iterator():
    check = ToolCallCheck()
    texts = (json.dumps(asked).encode() if place % 2 else json.dumps(asked) for place, asked in enumerate(REQUESTS))
    assert check.evaluate_batch(texts).to_dict() == check.evaluate_batch(REQUESTS).to_dict()


def test_the_columns_agree_with_the_rows():
    scores = ToolCallCheck().evaluate_batch([*REQUESTS, {}, 3])
    for place, result in enumerate(scores):
        assert scores.score[place] == result.score
        assert scores.verdict[place] == result.verdict
        assert scores.score_basis[place] == result.score_basis
        for id in IDS:
            expected = result[id].verdict if result.instructions_list else None
            assert getattr(scores, id)[place] == expected
    assert scores.id == list(range(8))
    assert {len(column) for column in scores.to_dict().values()} == {8}


def test_a_request_that_can_not_be_read_is_a_row_of_its_own():
    scores = ToolCallCheck().evaluate_batch([RIGHT, {**RIGHT, "generated_text": None}, WRONG])
    assert scores.verdict == ["passed", "error", "failed"]
    assert "generated_text" in scores.error[1]
    assert scores[1].verdict == "error"
    assert "generated_text" in scores[1].reason
    assert scores[1].instructions_list == []
    with pytest.raises(InvalidInput, match=r"requests\[1\]: .*generated_text"):
        ToolCallCheck().evaluate_batch([RIGHT, {**RIGHT, "generated_text": None}], on_error="raise")


def test_a_batch_refuses_what_is_no_list_of_requests():
    for wrong in (RIGHT, "x", b"x", 3, {"a"}):
        with pytest.raises(InvalidType, match="requests: expected a list"):
            ToolCallCheck().evaluate_batch(wrong)
    with pytest.raises(InvalidInput, match='did you mean "raise"'):
        ToolCallCheck().evaluate_batch([], on_error="rais")
    with pytest.raises(InvalidType, match='did you mean "on_error"'):
        ToolCallCheck().evaluate_batch([], onerror="row")
    empty = ToolCallCheck().evaluate_batch([])
    assert len(empty) == 0
    assert empty.summary().rows == 0
    assert empty.summary().lowest is None


def test_summaries_of_parts_add_up():
    check = ToolCallCheck()
    whole = check.evaluate_batch([*REQUESTS, {}]).summary()
    parts = [check.evaluate_batch([*REQUESTS, {}][start : start + 2]).summary() for start in range(0, 7, 2)]
    total = sum(parts, CheckSummary())
    assert total.mean == pytest.approx(whole.mean)
    assert {**vars_of(total), "mean": None} == {**vars_of(whole), "mean": None}
    assert whole.rows == whole.passed + whole.failed + whole.inconclusive + whole.error == 7
    assert whole.lowest == min(score for score in check.evaluate_batch(REQUESTS).score if score is not None)
    for verdicts in whole.verdicts.values():
        assert sum(verdicts.values()) == 6


def vars_of(summary):
    return {name: getattr(summary, name) for name in CheckSummary.__dataclass_fields__}


def test_no_result_is_made_before_it_is_asked_for(monkeypatch):
    def refuse(*_):
        raise AssertionError("a result was made")

    monkeypatch.setattr(ToolCallCheckResult, "of_report", refuse)
    scores = ToolCallCheck().evaluate_batch(REQUESTS)
    scores.summary()
    scores.to_dict()
    with pytest.raises(AssertionError, match="a result was made"):
        scores[0]


def test_files_say_what_batches_say(tmp_path):
    path = tmp_path / "requests.jsonl"
    lines = [{"id": f"r{place}", "request": asked} if place % 2 else asked for place, asked in enumerate(REQUESTS)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    [scores] = ToolCallCheck().evaluate_file(path)
    assert scores.score == ToolCallCheck().evaluate_batch(REQUESTS).score
    assert scores.id == [1, "r1", 3, "r3", 5, "r5"]
    assert scores.line == [1, 2, 3, 4, 5, 6]
    assert [json.loads(line)["id"] for line in scores.json_lines().splitlines()] == scores.id
    with pytest.raises(OSError, match="nowhere"):
        ToolCallCheck().evaluate_file(tmp_path / "nowhere.jsonl")
    with pytest.raises(InvalidInput, match="threads is a number"):
        ToolCallCheck().evaluate_file(path, threads=0)


# -- traces


def turn(query, text, *calls):
    spans = [{"kind": "tool_call", **one} for one in calls]
    return {"input": query, "output": text, "spans": spans}


def span(name, output=None, status="ok", **more):
    return {"name": name, "input": more.pop("input", {}), "output": output, "status": status, **more}


FIRST = turn(
    "What's the weather in Oslo?", "It's -3 °C in Oslo.", span("weather_lookup", {"temp_c": -3}, input={"city": "Oslo"})
)
SECOND = turn("And in Bergen?", "It's 9 °C in Bergen.", span("weather_lookup", {"temp_c": 4}, input={"city": "Bergen"}))
TRACE = Trace.read({"turns": [FIRST, SECOND]})


def test_each_turn_is_judged_by_its_own_calls():
    result = ToolCallCheck().evaluate(trace=TRACE, target="turn")
    assert isinstance(result, ToolCallCheckResult)
    assert [one["verdict"] for one in result.spans] == ["passed", "failed"]
    assert result.score == 0.5
    assert result.verdict == "failed"
    assert [check.violated for check in result.checks] == [[], ["result_fidelity"]]
    assert result.instructions_list == []
    assert ToolCallCheck(target=Target(on="turn", aggregate="any")).evaluate(trace=TRACE).verdict == "passed"
    mean = ToolCallCheck().evaluate(trace=TRACE, target={"on": "turn", "aggregate": "mean"})
    assert mean.score == pytest.approx(sum(one["score"] for one in result.spans) / 2)


def test_a_response_is_the_last_turn_and_a_run_all_of_them():
    response = ToolCallCheck().evaluate(trace=TRACE)
    assert response.details["target"] == "response"
    assert response.violated == ["result_fidelity"]
    direct = ToolCallCheck().evaluate(
        **request(
            "And in Bergen?",
            "It's 9 °C in Bergen.",
            call("weather_lookup", {"temp_c": 4}, request_payload={"city": "Bergen"}),
        )
    )
    assert response["result_fidelity"].rules == direct["result_fidelity"].rules
    for on in ("run", "conversation"):
        assert ToolCallCheck().evaluate(trace=Trace.read({"turns": [FIRST]}), target=on).verdict == "passed"
        assert ToolCallCheck().evaluate(trace=TRACE, target=on).violated == ["result_fidelity"]


def test_what_was_said_and_called_before_is_known():
    later = turn("Thanks! Which was it again?", "It was -3 °C in Oslo, as weather_lookup said.")
    result = ToolCallCheck().evaluate(trace=Trace.read({"turns": [FIRST, later]}))
    assert result.violated == []


def test_only_so_much_of_what_was_before_is_known(monkeypatch):
    from callmatch.targets import resolve
    from callmatch.toolcheck import requests

    trace = Trace.read({"turns": [turn(f"q{number}", f"a{number}") for number in range(9)]})
    subject = resolve(trace, "turn")[8]
    assert requests.request_of(subject, trace)["context"] == [f"{x}{n}" for n in range(8) for x in "qa"]
    monkeypatch.setattr(requests, "MOST_BEFORE", 9)
    assert requests.request_of(subject, trace)["context"] == ["q6", "a6", "q7", "a7"]


def test_parts_and_messages_are_traces_too():
    calls = [{"name": "weather_lookup", "arguments": {"city": "Oslo"}, "output": {"temp_c": -3}}]
    parts = ToolCallCheck().evaluate(input="Weather in Oslo?", output="It's 3 °C in Oslo.", tool_calls=calls)
    assert parts.violated == ["result_fidelity"]
    messages = [
        {"role": "user", "content": "Weather in Oslo?"},
        {
            "role": "assistant",
            "tool_calls": [
                {"id": "1", "type": "function", "function": {"name": "weather_lookup", "arguments": '{"city": "Oslo"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "1", "content": '{"temp_c": -3}'},
        {"role": "assistant", "content": "It's 3 °C in Oslo."},
    ]
    for result in (
        ToolCallCheck().evaluate(messages=messages),
        asyncio.run(ToolCallCheck().evaluate_async(messages=messages)),
    ):
        assert result.violated == ["result_fidelity"]


def test_a_status_that_was_not_recorded_stays_unknown():
    calls = [{"name": "send_email", "arguments": {"to": "dana@x.io"}}]
    result = ToolCallCheck().evaluate(input="Email Dana", output="I've emailed Dana.", tool_calls=calls)
    assert result["status_consistency"].verdict != "violated"
    failed = [{**calls[0], "status": "error", "error": "550 rejected"}]
    result = ToolCallCheck().evaluate(input="Email Dana", output="I've emailed Dana.", tool_calls=failed)
    assert result["status_consistency"].verdict == "violated"


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"input": "Hi", "tool_calls": []}, "output was not recorded"),
        ({"output": "Hello", "tool_calls": []}, "input was not recorded"),
        ({"input": "Hi", "output": "Hello"}, "isn't known which tools were called"),
        ({"trace": Trace()}, "output was not recorded"),
    ],
)
@pytest.mark.parametrize("on", ["response", "run", "conversation"])
def test_what_was_not_recorded_is_inconclusive(parts, says, on):
    result = ToolCallCheck().evaluate(**parts, target=on)
    assert (result.verdict, result.score) == ("inconclusive", None)
    assert says in result.reason
    assert result.instructions_list == []


def test_a_trace_without_turns_has_none_to_judge():
    assert ToolCallCheck().evaluate(trace=Trace(), target="turn").verdict == "not_applicable"


def test_answers_that_are_no_text_are_judged_as_json():
    calls = [{"name": "weather_lookup", "output": {"temp_c": -3}}]
    result = ToolCallCheck().evaluate(input={"city": "Oslo"}, output={"temp": 3}, tool_calls=calls)
    assert result.instructions_list


def test_stored_traces_are_judged_turn_by_turn_or_as_a_whole(tmp_path):
    path = tmp_path / "traces.jsonl"
    traces = [
        {"id": "two", "turns": [FIRST, SECOND]},
        {"turns": [FIRST]},
        {"id": "silent", "turns": [{"input": "Hi", "spans": []}]},
    ]
    path.write_text("".join(json.dumps(one) + "\n" for one in traces))
    check = ToolCallCheck(explain=True)
    [scores] = check.evaluate_traces(path, target="turn")
    assert scores.id == ["two (turn 1)", "two (turn 2)", 2, "silent"]
    assert scores.verdict == ["passed", "failed", "passed", "inconclusive"]
    assert scores.result_fidelity == ["followed", "violated", "followed", None]
    assert scores.error == [None] * 4
    assert scores[1].instructions_list == check.evaluate(trace=TRACE, target="turn").checks[1].instructions_list
    lines = [json.loads(line) for line in scores.json_lines().splitlines()]
    assert [line["id"] for line in lines] == scores.id
    assert [line["score"] for line in lines] == scores.score
    assert scores.summary().inconclusive == 1
    [scores] = check.evaluate_traces(path)
    assert scores.id == ["two", 2, "silent"]
    with pytest.raises(InvalidInput, match="can't take the target tool_call"):
        check.evaluate_traces(path, target="tool_call")
    with pytest.raises(InvalidType, match='did you mean "target"'):
        check.evaluate_traces(path, targt="turn")


# -- configs and test sets


def test_a_config_makes_the_same_metric():
    check = ToolCallCheck(
        explain="negatives_only",
        judge="openai/judge",
        judge_mode="all",
        threshold=0.25,
        failure_when={"*": ["/error"]},
        key_aliases={"temp_c": ["temperature"]},
        unit_hints={"dist": "km"},
        ignore_keys=["id"],
        available_tools=[{"name": "a"}],
        target="run",
    )
    written = json.loads(json.dumps(check.config))
    assert written["type"] == "tool_call_check"
    assert Metric.from_config(written) == check
    assert Metric.from_config({"type": "tool_call_check"}) == ToolCallCheck()
    with pytest.raises(InvalidInput, match=r"config.judge_mode: .*did you mean"):
        Metric.from_config({"type": "tool_call_check", "judge_mode": "undecidd"})
    with pytest.raises(InvalidInput, match=r"metrics\[0\].failure_when.pay"):
        Metric.from_config({"type": "tool_call_check", "failure_when": {"pay": ["x"]}}, "metrics[0]")


def test_a_test_set_judges_with_it():
    def agent(message):
        calls = [{"name": "send_email", "arguments": {"to": "Dana"}, "status": "error", "error": "550"}]
        return {"output": "I've emailed Dana.", "tool_calls": calls}

    tests = TestSet.read({"metrics": [{"type": "tool_call_check"}], "tests": [{"id": "mail", "input": "Email Dana"}]})
    result = tests.run(agent)["mail"]
    assert result.verdict == "failed"
    [judged] = json.loads(result.model_dump_json())["metrics"]
    assert [one["verdict"] for one in judged["details"]["instructions_list"]][2] == "violated"


# -- AIMon's list in, list out


def test_detect_takes_and_gives_a_list():
    items = [{**asked, "config": {"tool_call_check": {"detector_name": "default"}}} for asked in REQUESTS]
    check = ToolCallCheck()
    answers = check.detect(items)
    assert [answer["tool_call_check"] for answer in answers] == [
        check.evaluate(**asked).to_aimon() for asked in REQUESTS
    ]
    for answer in check.detect(items, strict=True):
        assert answer["tool_call_check"].keys() == {"score", "instructions_list"}
    assert check.detect([]) == []


def test_detect_explains_where_an_item_asks_for_it():
    def of(explain):
        return {**WRONG, "config": {"tool_call_check": {"explain": explain}}}

    items = [of(True), WRONG, of(False), of("negatives_only"), of(None)]
    lists = [answer["tool_call_check"]["instructions_list"] for answer in ToolCallCheck().detect(items)]
    explained = [[one["id"] for one in instructions if one["explanation"]] for instructions in lists]
    assert explained == [IDS, [], [], ["result_fidelity"], []]


@pytest.mark.parametrize(
    ("item", "kind", "says"),
    [
        (3, InvalidType, r"body\[1\]: expected a mapping, got int"),
        ({**RIGHT, "config": 3}, InvalidType, r"body\[1\].config"),
        (
            {**RIGHT, "config": {"tool_call_check": {"detector_name": "v2"}}},
            InvalidInput,
            r"detector_name.*default.*v2",
        ),
        ({**RIGHT, "config": {"tool_call_check": {"explian": True}}}, InvalidInput, 'did you mean "explain"'),
        ({**RIGHT, "config": {"tool_call_check": {"explain": "yes"}}}, InvalidInput, r"body\[1\].*explain"),
        ({"user_query": "x", "tool_trace": []}, InvalidInput, r"body\[1\]: .*generated_text"),
    ],
)
def test_detect_names_the_item_that_it_can_not_read(item, kind, says):
    with pytest.raises(kind, match=says):
        ToolCallCheck().detect([RIGHT, item])


# -- probabilities


def test_calibration_moves_the_probability_of_the_rules_that_decided():
    check = ToolCallCheck()
    before = check.evaluate(**FAILED)["status_consistency"]
    labelled = [(FAILED, {"status_consistency": True, "result_fidelity": None})] * 30
    after = check.calibrate(labelled).evaluate(**FAILED)["status_consistency"]
    assert after.verdict == "violated"
    assert after.rules == before.rules
    assert after.follow_probability > before.follow_probability
    assert after.probability_basis["n"] >= 30
    assert check.evaluate(**FAILED)["status_consistency"] == before


def test_the_shipped_counts_weigh_at_most_twenty():
    row = next(row for row in _core.CHECK_RULES if row["rule"] == "unsupported_value")
    assert row["n"] > 20
    asked = request("Order total?", "The total is 1234.56 EUR.", call("get_order", {"total": 99.95, "currency": "EUR"}))
    rule = ToolCallCheck().evaluate(**asked)["result_fidelity"].rules[0]
    row = next(row for row in _core.CHECK_RULES if row["rule"] == rule)
    refitted = ToolCallCheck().calibrate([(asked, {"result_fidelity": "violated"})] * 5).calibration[rule]
    weight = min(row["n"], 20)
    assert refitted["n"] == pytest.approx(weight + 5)
    assert refitted["followed"] == pytest.approx(row["followed"] / row["n"] * weight)


def test_calibration_is_part_of_the_config_and_adds_up():
    labelled = [(FAILED, {"status_consistency": "violated"})]
    once = ToolCallCheck(threshold=0.3).calibrate(labelled)
    twice = once.calibrate(labelled)
    [rule] = twice.calibration
    assert twice.calibration[rule]["n"] == once.calibration[rule]["n"] + 1
    assert twice.threshold == 0.3
    assert Metric.from_config(json.loads(json.dumps(twice.config))) == twice


def test_what_is_not_decided_or_not_labelled_is_not_counted():
    labelled = [(VAGUE, {"result_fidelity": "followed"}), (RIGHT, {}), (RIGHT, {"result_fidelity": None})]
    assert ToolCallCheck().calibrate(labelled).calibration == {}
    assert ToolCallCheck().calibrate([]).calibration == {}


@pytest.mark.parametrize(
    ("pair", "kind", "says"),
    [
        (3, InvalidType, r"labelled\[0\]: expected a request and a mapping"),
        ((RIGHT, ["followed"]), InvalidType, r"labelled\[0\]"),
        ((RIGHT, {"result_fidelty": True}), InvalidInput, 'did you mean "result_fidelity"'),
        ((RIGHT, {"result_fidelity": "violatd"}), InvalidInput, 'did you mean "violated"'),
        ((RIGHT, {"result_fidelity": 1}), InvalidType, "a label is followed, violated, True or False"),
        (({}, {"result_fidelity": True}), InvalidInput, r"labelled\[0\]: .*user_query"),
    ],
)
def test_labels_that_can_not_be_are_named(pair, kind, says):
    with pytest.raises(kind, match=says):
        ToolCallCheck().calibrate([pair])


# -- the documents


def test_the_document_lists_the_rules_of_the_core():
    text = (ROOT / "docs/toolcheck.md").read_text(encoding="utf-8")
    listed = [line.split("`")[1] for line in text.splitlines() if line.startswith("| `") and line.count("|") == 5]
    rows = {line.split("`")[1]: line for line in text.splitlines() if line.startswith("| `")}
    rules = [row["rule"] for row in _core.CHECK_RULES]
    assert sorted(set(rules) - set(listed)) == []
    for row in _core.CHECK_RULES:
        cells = [cell.strip() for cell in rows[row["rule"]].split("|")]
        assert row["meaning"] in cells, row["rule"]
        assert f"{row['probability']:.2f}" in cells, row["rule"]


def test_the_examples_show_each_verdict():
    [scores] = ToolCallCheck().evaluate_file(ROOT / "examples/toolcheck.jsonl")
    assert scores.summary().error == 0
    for result in scores:
        assert result.verdict == ("failed" if result.violated else "passed")
    assert {"passed", "failed"} <= {*scores.verdict}
    found = {verdict for id in IDS for verdict in getattr(scores, id)}
    assert found == {*_core.CHECK_VERDICTS}
    assert all("violated" in getattr(scores, id) for id in IDS[1:])
