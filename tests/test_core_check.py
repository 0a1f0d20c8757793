"""Tool Call Check in the compiled module: requests in all the forms that they come in, and rows."""

import dataclasses
import datetime
import decimal
import enum
import json
import pathlib
import pickle
import types
import uuid
from collections import OrderedDict, deque
from typing import Any

import pydantic
import pytest

from callmatch import _core
from callmatch.errors import InvalidInput, InvalidType

REQUEST: dict[str, Any] = {
    "user_query": "What's the weather in Oslo?",
    "generated_text": "It's \u22123 °C in Oslo 😀 with light snow.",
    "tool_trace": [
        {
            "order": 1,
            "tool_name": "weather_lookup",
            "status": "success",
            "start_time": "2026-03-02T09:15:00Z",
            "end_time": "2026-03-02T09:15:01Z",
            "error": None,
            "request_payload": {"city": "Oslo"},
            "response_payload": {"temp_c": -3, "cond": "light snow", "humidity": 81},
            "retries": 0,
        }
    ],
}


def with_payload(payload: object) -> dict[str, Any]:
    return {**REQUEST, "tool_trace": [{**REQUEST["tool_trace"][0], "response_payload": payload}]}


def test_the_answer_has_aimons_shape_and_more():
    answer = _core.ToolCheck({"explain": True}).check(REQUEST)
    assert list(answer) == [
        "score",
        "score_floor",
        "score_basis",
        "reason",
        "instructions_list",
        "coverage",
        "notes",
        "model_used",
        "version",
    ]
    assert [instruction["id"] for instruction in answer["instructions_list"]] == list(_core.CHECKS)
    for instruction in answer["instructions_list"]:
        assert {"instruction", "label", "follow_probability", "explanation"} < set(instruction)
        assert instruction["instruction"] == _core.CHECK_INSTRUCTIONS[instruction["id"]]
        assert instruction["verdict"] in _core.CHECK_VERDICTS
        assert instruction["label"] == {"violated": False, "undecided": None}.get(instruction["verdict"], True)
        assert instruction["explanation"]
        for evidence in instruction["evidence"]:
            assert evidence["relation"] in _core.CHECK_RELATIONS
            if evidence["start"] is not None:
                assert REQUEST["generated_text"][evidence["start"] : evidence["end"]] == evidence["text"]
    decided = [(i["verdict"], i["follow_probability"]) for i in answer["instructions_list"] if i["label"] is not None]
    assert answer["score"] == (min(p for _, p in decided) if decided else None)
    assert answer["version"] == _core.__version__
    assert answer["model_used"] is False
    json.dumps(answer)


def test_a_request_in_any_form_has_the_same_answer():
    check = _core.ToolCheck({"explain": True})
    answer = check.check(REQUEST)
    text = json.dumps(REQUEST)

    class Entry(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(extra="allow")
        tool_name: str

    @dataclasses.dataclass
    class Call:
        tool_name: str
        status: str
        request_payload: dict[str, Any]
        response_payload: dict[str, Any]
        order: int = 1
        start_time: str = "2026-03-02T09:15:00Z"
        end_time: str = "2026-03-02T09:15:01Z"
        retries: int = 0
        error: None = None

    entry = REQUEST["tool_trace"][0]
    known = dict(entry.items())
    for request in (
        text,
        text.encode(),
        json.dumps(REQUEST, ensure_ascii=False),
        OrderedDict(REQUEST),
        types.MappingProxyType(REQUEST),
        {**REQUEST, "tool_trace": (entry,)},
        {**REQUEST, "tool_trace": deque([entry])},
        {**REQUEST, "tool_trace": [Entry(**entry)]},
        {**REQUEST, "tool_trace": [Call(**known)]},
        {**REQUEST, "tool_trace": json.dumps([entry])},
    ):
        assert check.check(request) == answer
    assert check.check_many((REQUEST,) * 40).row(39) == answer
    assert check.check_many((text,) * 40).row(39) == answer


def test_what_is_wrong_names_the_field():
    check = _core.ToolCheck()
    for key in ("user_query", "generated_text", "tool_trace"):
        with pytest.raises(InvalidInput, match=f"^{key}: missing") as raised:
            check.check({k: v for k, v in REQUEST.items() if k != key})
        assert raised.value.path == key
        with pytest.raises(InvalidType, match=f"^{key}: expected"):
            check.check({**REQUEST, key: None})
    misspelt = {("tool_traces" if key == "tool_trace" else key): value for key, value in REQUEST.items()}
    with pytest.raises(InvalidInput, match='did you mean "tool_trace"'):
        check.check(misspelt)
    with pytest.raises(InvalidInput, match=r"^tool_trace\[1\]\.tool_name: missing"):
        check.check({**REQUEST, "tool_trace": [{"tool_name": "a"}, {}]})
    with pytest.raises(InvalidInput, match="not JSON"):
        check.check('{"user_query":')
    with pytest.raises(InvalidType):
        check.check(3)
    with pytest.raises(InvalidInput, match="explain"):
        _core.ToolCheck({"explain": "yes"})
    with pytest.raises(InvalidInput, match='did you mean "ignore_keys"'):
        _core.ToolCheck({"ignore_key": []})


class Colour(enum.Enum):
    RED = "red"


class Raising:
    def __str__(self) -> str:
        raise RuntimeError("no")


class Silent:
    __slots__ = ()


class Model(pydantic.BaseModel):
    when: datetime.date
    price: decimal.Decimal


def test_a_payload_never_raises_and_what_is_odd_is_noted():
    check = _core.ToolCheck()
    inside: list[Any] = []
    inside.append(inside)
    deep: Any = 1
    for _ in range(5000):
        deep = [deep]
    for payload, notes in [
        (datetime.datetime(2026, 3, 2, 9, 15, tzinfo=datetime.timezone.utc), []),
        ({"when": datetime.date(2026, 3, 2), "for": datetime.timedelta(hours=1)}, ["timedelta was read as the text"]),
        ({"price": decimal.Decimal("12.50"), "nan": decimal.Decimal("sNaN")}, []),
        (Colour.RED, []),
        (Model(when=datetime.date(2026, 3, 2), price=decimal.Decimal("1.5")), []),
        (uuid.UUID(int=1), ["UUID was read as the text"]),
        (pathlib.PurePosixPath("/a"), ["PurePosixPath was read as the text"]),
        ({"a", "b"}, []),
        ({2: "a", None: "b", True: "c", Colour.RED: "d", (1, 2): "e"}, []),
        (b'{"temp_c": -3}', ["bytes were read as UTF-8"]),
        ("Temperatur \u22123 °C".encode("utf-16"), ["bytes were read as UTF-16"]),
        ("Köln: 3 °C".encode("latin-1"), ["bytes were read as LATIN-1"]),
        (bytearray(b"abc"), ["bytes were read as UTF-8"]),
        (memoryview(b"abc"), ["bytes were read as UTF-8"]),
        (ValueError("quota"), []),
        (types.SimpleNamespace(a=1), []),
        (Raising(), ["Raising raised RuntimeError; read as [Raising]"]),
        (Silent(), ["Silent has no JSON value; read as [Silent]"]),
        (Silent, []),
        (inside, ["nested too deep"]),
        (deep, ["nested too deep"]),
        (10**5000, []),
        ([float("nan"), float("inf"), 10**400, "\ud800"], []),
    ]:
        answer = check.check(with_payload(payload))
        said = " ".join(answer["notes"])
        for note in notes:
            assert note in said, (payload, answer["notes"])
        batch = check.check_many((with_payload(payload),) * 20)
        assert batch.row(19) == answer


def test_many_are_rows_in_order_whatever_is_wrong_with_one():
    check = _core.ToolCheck()
    requests = [REQUEST, "{", {}, None, 3, json.dumps(REQUEST), with_payload(Raising()), b"\xff", Raising()] * 40
    batch = check.check_many(tuple(requests))
    assert len(batch) == len(requests)
    for start in range(0, len(requests), 9):
        rows = [batch.row(start + offset) for offset in range(9)]
        assert [list(row) == ["error"] for row in rows] == [False, True, True, True, True, False, False, True, True]
        assert rows[0] == rows[5] == check.check(REQUEST)
        assert "user_query: missing" in rows[2]["error"]
    assert batch.column("id") == list(range(len(requests)))
    assert batch.column("error")[1] == batch.row(1)["error"]
    assert batch.column("score")[0] == batch.row(0)["score"]
    assert batch.column("result_fidelity")[:2] == [batch.row(0)["instructions_list"][1]["verdict"], None]
    counts = batch.counts()
    assert counts["rows"] == len(requests)
    assert counts["errors"] == 6 * 40
    assert sum(counts["tool_relevance"].values()) == 3 * 40
    with pytest.raises(IndexError):
        batch.column("nothing")
    with pytest.raises(IndexError):
        batch.row(len(requests))
    lines = batch.json_lines().splitlines()
    assert [json.loads(line)["id"] for line in lines] == list(range(len(requests)))
    assert lines[3].decode() == batch.json(3)
    assert len(check.check_many(())) == 0


def test_files(tmp_path):
    lines = [
        json.dumps(REQUEST),
        json.dumps({"id": "a", "request": REQUEST}),
        "{}",
        "not json",
        json.dumps({"id": 7, **REQUEST}),
    ]
    path = tmp_path / "requests.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    check = _core.ToolCheck({"explain": True})
    for threads, keep in ((1, True), (0, False)):
        files = _core.FileChecker(check, threads, keep)
        files.open(path)
        chunk = files.next_chunk()
        assert files.next_chunk() is None
        files.finish()
        assert chunk.column("id") == [1, "a", 3, 4, 7]
        assert chunk.column("line") == [1, 2, 3, 4, 5]
        assert chunk.column("file") == [str(path)] * 5
        assert chunk.row(0) == chunk.row(1) == check.check(REQUEST)
        assert chunk.row(2)["error"] == f"{path}:3: user_query: missing; expected a text"
        assert f"{path}:4: not JSON" in chunk.row(3)["error"]
        assert chunk.request(1) == (REQUEST if keep else None)
        assert chunk.request(3) is None
        answer = json.loads(chunk.json(1))
        assert next(iter(answer)) == "id"
        assert list(answer)[-1] == "evidence"
        assert {k: v for k, v in answer.items() if k not in {"id", "evidence"}} == chunk.row(1)
        flat = [
            {"instruction": instruction["id"], **evidence}
            for instruction in chunk.row(1)["instructions_list"]
            for evidence in instruction["evidence"]
        ]
        assert answer["evidence"] == flat
        assert json.loads(chunk.json(2)) == {"id": 3, "error": chunk.row(2)["error"]}
        assert chunk.bytes_read == path.stat().st_size
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    files = _core.FileChecker(check)
    files.open(empty)
    assert files.next_chunk() is None
    with pytest.raises(InvalidInput, match="no records"):
        files.finish()
    with pytest.raises(OSError, match="No such file"):
        files.open(tmp_path / "none.jsonl")


def test_the_score_of_other_verdicts():
    assert _core.check_score([("followed", 0.9), ("violated", 0.1), ("vacuous", 1.0), ("undecided", 0.5)]) == (
        0.1,
        0.0,
        1,
    )
    assert _core.check_score([("undecided", 0.5)]) == (None, 0.0, None)
    assert _core.check_score([("vacuous", 1.0), ("followed", 0.9)]) == (0.9, 0.9, 1)
    with pytest.raises(InvalidInput, match="did you mean"):
        _core.check_score([("follow", 0.9)])


def test_the_table_of_rules():
    for row in _core.CHECK_RULES:
        assert row["check"] in {*_core.CHECKS, "any"}
        assert 0 < row["probability"] <= 1
        assert row["assumed"] == row["source"].startswith("assumed")
    counts = {"unsupported_value": {"followed": 1, "n": 9}}
    assert pickle.loads(pickle.dumps(_core.ToolCheck({"calibration": counts}))).check(REQUEST)
    with pytest.raises(InvalidInput, match="a rule is one of"):
        _core.ToolCheck({"calibration": {"no_such_rule": {}}})


def test_mentions_slice_back():
    text = "Ünï 😀 \ud800 It's \u22123 °C, €1,234.50, 9 March 2026 at 2:05 PM; see https://example.org or a@b.io."
    mentions = _core.mentions(text)
    assert {mention["kind"] for mention in mentions} >= {"number", "url", "email"}
    for mention in mentions:
        assert text[mention["start"] : mention["end"]] == mention["text"]
    assert _core.mentions("") == []
