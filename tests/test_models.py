"""The models that judges ask: how they are called, retried, read, recorded; and real clients of a real server."""

import asyncio
import functools
import json
import subprocess
import sys
import threading
import time
import warnings
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from callmatch.errors import CallmatchError, InvalidInput, InvalidType
from callmatch.metrics import models
from callmatch.metrics.judges import CategoricalJudge, NumericJudge
from callmatch.metrics.models import LiteLLM, NoAnswer, RecordedModel, Recorder, ask, read_answer

SCHEMA = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "score": {"type": "number", "minimum": 0, "maximum": 1}},
    "required": ["reason", "score"],
    "additionalProperties": False,
}
CATEGORY = {
    **SCHEMA,
    "properties": {"reason": {"type": "string"}, "category": {"type": "string", "enum": ["good", "bad"]}},
    "required": ["reason", "category"],
}
YES = {"reason": "yes", "score": 1.0}


@pytest.fixture(autouse=True)
def _no_waits(monkeypatch):
    monkeypatch.setattr(models, "FIRST_WAIT", 0.001)


def asked(model, attempts=3, timeout=5.0):
    return asyncio.run(ask(model, "Is it?", SCHEMA, attempts=attempts, timeout=timeout))


# -- what a model can be


class Model:
    def generate(self, prompt, schema):
        assert (prompt, schema) == ("Is it?", SCHEMA)
        return YES


class AsyncModel:
    async def generate(self, prompt, schema):
        assert (prompt, schema) == ("Is it?", SCHEMA)
        return json.dumps(YES)


class Callable:
    def __call__(self, prompt, schema):
        assert schema == SCHEMA
        return YES


class AsyncCallable:
    async def __call__(self, prompt):
        await asyncio.sleep(0)
        return YES


async def coroutine(prompt, /, schema=None):
    assert schema == SCHEMA  # it is asked for by its name
    return YES


def with_options(prompt, temperature=0, *rest, **others):
    assert (temperature, rest, others) == (0, (), {})
    return YES


def by_name_alone(prompt, *, schema):
    assert schema == SCHEMA
    return YES


async def later():
    return YES


MODELS = {
    "an object": Model(),
    "an asynchronous object": AsyncModel(),
    "a callable object": Callable(),
    "an asynchronous callable object": AsyncCallable(),
    "a coroutine function": coroutine,
    "a function with options of its own": with_options,
    "a bound method": Model().generate,
    "a function that returns an awaitable": lambda prompt: later(),
    "a part of a function": functools.partial(lambda more, prompt, schema: {**YES, "score": more}, 1),
    "a part of a coroutine function": functools.partial(coroutine),
    "a function that needs the schema": lambda prompt, schema, more=0: YES if schema == SCHEMA else None,
    "a function that takes the schema by its name alone": by_name_alone,
    "a function that can take the schema by its name alone": lambda prompt, *, schema=None: YES if schema else None,
    "an object that takes the schema by its name alone": type(
        "ByName", (), {"generate": staticmethod(by_name_alone)}
    )(),
    "a function of any arguments": lambda *prompts: YES if prompts == ("Is it?",) else None,
    "what is not written in Python": {"Is it?": YES}.get,
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_model_can_be(model):
    assert asked(model) == YES


@pytest.mark.parametrize(
    ("model", "error", "says"),
    [
        (
            7,
            InvalidType,
            'model is an object with generate(prompt, schema), a function of the prompt, or "provider/name"',
        ),
        (Model, InvalidType, "not the class Model"),
        ("gpt-4.1", InvalidInput, 'a model is named "provider/name", such as "openai/gpt-4.1", not \'gpt-4.1\''),
        ("/gpt", InvalidInput, "provider/name"),
        ("openai/", InvalidInput, "provider/name"),
    ],
)
def test_a_model_can_not_be(model, error, says):
    with pytest.raises(error) as caught:
        NumericJudge(name="a", evaluation_prompt="Is it?", model=model)
    assert says in str(caught.value)
    assert caught.value.path == "model"


def test_what_blocks_holds_up_nobody():
    barrier = threading.Barrier(3, timeout=5)

    def blocks(prompt):
        barrier.wait()
        return YES

    async def all_three():
        return await asyncio.gather(*(ask(blocks, "Is it?", SCHEMA, attempts=1, timeout=5) for _ in range(3)))

    assert asyncio.run(all_three()) == [YES] * 3


# -- another try


class WithStatus(Exception):
    def __init__(self, status_code):
        super().__init__(f"status {status_code}")
        self.status_code = status_code


class WithResponse(Exception):
    """As httpx raises it."""

    def __init__(self, status_code, headers=None):
        super().__init__("refused")
        self.response = type("Response", (), {"status_code": status_code, "headers": headers or {}})()


@pytest.mark.parametrize(
    ("failure", "tries"),
    [
        (ConnectionError("reset"), 3),
        (WithStatus(500), 3),
        (WithStatus(429), 3),
        (WithStatus(None), 3),
        (WithResponse(503), 3),
        (WithResponse(429, {"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}), 3),
        (WithResponse(429, {"retry-after": "nan"}), 3),
        (WithResponse(429, {"retry-after": "-1"}), 3),
        ("no JSON", 3),
        ({"reason": "yes", "score": 7}, 3),
        *((WithStatus(status), 1) for status in (400, 401, 403, 404, 422)),
        (WithResponse(401), 1),
        (ImportError("litellm"), 1),
        (InvalidInput("wrong"), 1),
    ],
    ids=repr,
)
def test_another_try(failure, tries):
    model = RecordedModel([failure] * 3)
    with pytest.raises(NoAnswer, match=rf"\({tries} (try|tries)\)$"):
        asked(model)
    assert len(model.prompts) == tries
    if tries > 1:
        assert asked(RecordedModel([failure, failure, YES])) == YES


def test_a_server_says_how_long_to_wait(monkeypatch):
    started = time.perf_counter()
    assert asked(RecordedModel([WithResponse(429, {"retry-after": "0.2"}), YES])) == YES
    assert time.perf_counter() - started >= 0.2
    monkeypatch.setattr(models, "LONGEST_WAIT", 0.01)
    started = time.perf_counter()
    assert asked(RecordedModel([WithResponse(429, {"retry-after": "3600"}), YES])) == YES
    assert time.perf_counter() - started < 5


def test_no_answer_in_time():
    async def slow(prompt):
        await asyncio.sleep(30)

    for model in (slow, lambda prompt: time.sleep(3)):
        started = time.perf_counter()
        with pytest.raises(NoAnswer, match=r"^no answer within 0\.05 s \(2 tries\)$"):
            asked(model, attempts=2, timeout=0.05)
        assert time.perf_counter() - started < 2
    with pytest.raises(NoAnswer, match=r"^TimeoutError: the pool is empty \(1 try\)$"):
        asked(RecordedModel([TimeoutError("the pool is empty")]), attempts=1)
    for error in (TimeoutError(), asyncio.TimeoutError()):  # its own
        with pytest.raises(NoAnswer, match=r"^TimeoutError \(1 try\)$"):
            asked(RecordedModel([error]), attempts=1)


def test_a_model_that_will_not_be_cancelled_is_left():
    async def main():
        finish, ended = asyncio.Event(), asyncio.Event()

        async def model(prompt):
            while not finish.is_set():
                with suppress(asyncio.CancelledError):
                    await finish.wait()
            ended.set()
            raise ValueError("which nobody hears of")

        started = time.perf_counter()
        with pytest.raises(NoAnswer, match=r"^no answer within 0\.05 s \(1 try\)$"):
            await ask(model, "Is it?", SCHEMA, attempts=1, timeout=0.05)
        assert time.perf_counter() - started < 5
        finish.set()
        await ended.wait()

    asyncio.run(main())


def test_a_model_that_cancels_itself():
    async def model(prompt):
        asyncio.current_task().cancel()
        return YES

    with pytest.raises(NoAnswer, match=r"^RuntimeError: it was cancelled \(2 tries\)$"):
        asked(model, attempts=2)


@pytest.mark.parametrize("as_coroutine", [False, True])
def test_an_interrupt_is_no_failure(as_coroutine):
    def interrupted(prompt):
        raise KeyboardInterrupt

    model = RecordedModel([KeyboardInterrupt()]) if as_coroutine else interrupted
    with pytest.raises(KeyboardInterrupt):
        asked(model)


@pytest.mark.parametrize("as_coroutine", [False, True])
def test_a_model_does_not_end_the_program(as_coroutine):
    def leaves(prompt):
        raise SystemExit("no key")

    model = RecordedModel([SystemExit("no key")]) if as_coroutine else leaves
    with pytest.raises(NoAnswer, match=r"^SystemExit: no key \(1 try\)$"):
        asked(model)


def test_an_error_that_can_not_say_what_it_is():
    class Mute(Exception):
        def __str__(self):
            raise SystemExit

    with pytest.raises(NoAnswer, match=r"^Mute: "):
        asked(RecordedModel([Mute()]), attempts=1)


def test_long_messages_are_cut():
    with pytest.raises(NoAnswer) as caught:
        asked(RecordedModel([ValueError("x" * 10_000)]), attempts=1)
    assert len(str(caught.value)) < 600
    assert "x…" in str(caught.value)


# -- reading answers


@pytest.mark.parametrize(
    ("answer", "fields"),
    [
        ({"reason": "r", "score": 1}, {"reason": "r", "score": 1.0}),
        ({"score": 0, "reason": ""}, {"reason": "", "score": 0.0}),
        ({"reason": "r", "score": 0.25, "confidence": "high"}, {"reason": "r", "score": 0.25}),
        ('{"reason": "r", "score": 1}', {"reason": "r", "score": 1.0}),
        ('Sure!\n```json\n{"reason": "r", "score": 1}\n```\nAnything else?', {"reason": "r", "score": 1.0}),
        ('<think>It has {"order": 42} and {} {…</think>{"reason": "{r}", "score": 1}', {"reason": "{r}", "score": 1.0}),
        ('{"reason": "r", "score": 1} as I said {"score": 1, "reason": "r"}', {"reason": "r", "score": 1.0}),
        ('{"reason": "two\nlines", "score": 1}', {"reason": "two\nlines", "score": 1.0}),
        ('{"reason": "\\ud800", "score": 1}', {"reason": "\\ud800", "score": 1.0}),
        ("\\frac{a}{b} {" * 5_000 + '{\n"reason": "r", "score": 1}', {"reason": "r", "score": 1.0}),
        ('{"answer": ' * 100 + '{"reason": "r", "score": 1}', {"reason": "r", "score": 1.0}),
    ],
)
def test_an_answer_is_read(answer, fields):
    read = read_answer(answer, SCHEMA)
    assert read == fields
    assert isinstance(read["score"], float)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (None, "the answer is no JSON object, but NoneType"),
        ([YES], "the answer is no JSON object, but list"),
        (True, "the answer is no JSON object, but bool"),
        ("", "the answer holds no JSON object with reason and score: ''"),
        (
            "I can't help with that.",
            'the answer holds no JSON object with reason and score: "I can\'t help with that."',
        ),
        ('{"reason": "r", "sco', "the answer holds no JSON object with reason and score"),
        ('[{"score": 1}]', "the answer holds no JSON object with reason and score"),
        ('{"a": ' * 16_000, "the answer holds "),
        ('{"a": ' * 100_000, "the answer is too long to be read: it has 600000 characters, and 100000 may be"),
        (
            '{"reason": "a", "score": 1} or rather {"reason": "b", "score": 0}',
            "the answer holds different JSON objects with reason and score",
        ),
        ({"score": 1}, "the answer has no reason"),
        ({"reason": "r"}, "the answer has no score"),
        ({"reason": None, "score": 1}, "the answer's reason is NoneType, not text"),
        ({"reason": "r", "score": None}, "the answer's score is NoneType, not a number"),
        ({"reason": "r", "score": True}, "the answer's score is bool, not a number"),
        ({"reason": "r", "score": "1"}, "the answer's score is str, not a number"),
        ({"reason": "r", "score": 1.5}, "the answer's score is 1.5, not from 0 to 1"),
        ({"reason": "r", "score": -1}, "the answer's score is -1, not from 0 to 1"),
        ({"reason": "r", "score": float("nan")}, "the answer's score is nan, not from 0 to 1"),
        ('{"reason": "r", "score": Infinity}', "the answer's score is inf, not from 0 to 1"),
        ({"reason": "r", "score": 10**400}, "the answer's score is "),
    ],
    ids=lambda value: str(value)[:40],
)
def test_an_answer_is_not_of_the_schema(answer, says):
    with pytest.raises(NoAnswer) as caught:
        read_answer(answer, SCHEMA)
    assert str(caught.value).startswith(says)


RUBBISH = {
    "braces": "{" * 150_000,
    "as many braces as are read": "{" * 100_000,
    "beginnings": '{"' * 50_000,
    "lines": '{"\n\n' * 25_000,
    "deep, and long": '{"a":' * 900 + "[1" + ",1" * 45_000,
    "deep, many times": ('{"a":' * 900 + "x") * 20,
    "empty objects": "{}" * 50_000,
    "many answers": "".join(f'{{"reason": "r", "score": 0.{number}}}' for number in range(3_000)),
    "numbers too long": ('{"a":' + "1" * 4_990 + ",") * 20,
    "lists": '{"a":' + "[" * 90_000,
    "objects in text": '{"a": ["' + '{"b": "' * 14_000,
    "spaces": "{ " * 50_000,
    "much space": ("{" + " " * 999) * 100,
}


@pytest.mark.parametrize("text", RUBBISH.values(), ids=RUBBISH)
def test_rubbish_does_not_take_long(text):
    started = time.perf_counter()
    with pytest.raises(NoAnswer, match=r"^the answer (holds|is too long)"):
        read_answer(text, SCHEMA)
    assert time.perf_counter() - started < 1


@pytest.mark.parametrize("category", ["Good", "good ", "goood", "", None, 1, ["good"], {}])
def test_a_category_is_one_of_them(category):
    assert read_answer({"reason": "r", "category": "good"}, CATEGORY)["category"] == "good"
    with pytest.raises(NoAnswer, match="good, bad"):
        read_answer({"reason": "r", "category": category}, CATEGORY)


# -- recorded answers


def test_recorded_answers_are_given_in_their_order():
    model = RecordedModel([YES, json.dumps({**YES, "score": 0})])
    assert [asked(model)["score"] for _ in range(2)] == [1.0, 0.0]
    with pytest.raises(NoAnswer, match=r"^a RecordedModel has no answer left: it was asked 3 times \(1 try\)$"):
        asked(model)
    assert model.prompts == ["Is it?"] * 3


def test_one_recorded_answer_is_always_given():
    for answer in (YES, json.dumps(YES)):
        model = RecordedModel(answer)
        assert [asked(model) for _ in range(3)] == [YES] * 3
    with pytest.raises(InvalidType, match="expected an answer or a list of them, got int"):
        RecordedModel(7)


def test_the_first_recorded_answer_is_for_the_first_that_is_judged():
    names = [f"tool_{place}" for place in range(20)]
    answers = [{"reason": f"{name} it is", "score": 1} for name in names]
    judge = NumericJudge(name="a", evaluation_prompt="Is it?", model=RecordedModel(answers), target="tool_call")
    result = judge.evaluate(tool_calls=[{"name": name} for name in names])
    assert [span["reason"] for span in result.spans] == [f"{name} it is" for name in names]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_recorder_replays(tmp_path, is_async):
    path = tmp_path / "answers.jsonl"
    questions = []

    def model(prompt):
        questions.append(prompt)
        return f'{{"reason": "Größe {len(questions)}", "score": 1, "more": 1}}'

    async def async_model(prompt):
        return model(prompt)

    recorder = Recorder(async_model if is_async else model, path)
    judge = NumericJudge(name="a", evaluation_prompt="Is it?", model=recorder, target="tool_call", max_concurrency=1)
    parts = {"tool_calls": [{"name": "search"}, {"name": "reply"}]}
    first = judge.evaluate(**parts)
    assert [span["reason"] for span in first.spans] == ["Größe 1", "Größe 2"]
    assert judge.evaluate(**parts) == first
    assert len(questions) == 2
    text = path.read_text(encoding="utf-8")
    assert "Größe 1" in text
    assert list(tmp_path.iterdir()) == [path]

    replay = NumericJudge(name="a", evaluation_prompt="Is it?", model=Recorder(None, path), target="tool_call")
    assert replay.evaluate(**parts) == first
    other = replay.evaluate(tool_calls=[{"name": "buy"}])
    assert (other.score, other.verdict) == (None, "error")
    for words in (
        str(path),
        "has no answer to the prompt that begins 'Is it?",
        "record it again, with a model (1 try)",
    ):
        assert words in other.reason
    assert path.read_text(encoding="utf-8") == text


def test_a_recorder_keeps_no_answer_that_can_not_be_used(tmp_path):
    path = tmp_path / "answers.jsonl"
    assert asked(Recorder(RecordedModel(["what?", {"reason": "r", "score": 9}, YES]), path)) == YES
    [line] = path.read_text().splitlines()
    assert json.loads(line)["answer"] == YES
    with pytest.raises(NoAnswer):
        asked(Recorder(RecordedModel("what?"), tmp_path / "other.jsonl"))
    assert not (tmp_path / "other.jsonl").exists()


def test_a_recording_of_another_schema_is_another_one(tmp_path):
    path = tmp_path / "answers.jsonl"
    asked(Recorder(RecordedModel(YES), path))
    with pytest.raises(InvalidInput, match="has no answer"):
        asyncio.run(Recorder(None, path).generate("Is it?", CATEGORY))


def test_what_is_no_recording(tmp_path):
    with pytest.raises(FileNotFoundError):
        Recorder(None, tmp_path / "missing.jsonl")
    path = tmp_path / "answers.jsonl"
    for text, says in (
        ("what?", ":1: not JSON"),
        ('{"key": "a", "answer": {}}\n<<<<<<<', ":2: not JSON"),
        ("[]", ":1: not a line of a Recorder"),
        ("[" * 100_000, ":1: not "),
        ('{"a": 1}', ":1: not a line of a Recorder"),
        ('{"key": "a", "answer": 1}', ":1: not a line of a Recorder"),
        ('{\n "a": {\n', ":2: not JSON"),
    ):
        path.write_text(text)
        with pytest.raises(InvalidInput, match=says) as caught:
            Recorder(None, path)
        assert str(path) in str(caught.value)
    with pytest.raises(InvalidType):
        Recorder(7, path)


async def asked_all(recorder, prompts):
    return await asyncio.gather(*(recorder.generate(prompt, SCHEMA) for prompt in prompts))


PROMPTS = [f"Is it {number}?" for number in range(20)]


def numbered(prompt):
    return {"reason": f"yes, {prompt}", "score": 1.0}


def test_recorders_lose_nothing_in_one_file(tmp_path):
    path = tmp_path / "answers.jsonl"
    first, second = Recorder(numbered, path), Recorder(numbered, path)
    threads = [
        threading.Thread(target=lambda one=one, prompts=prompts: asyncio.run(asked_all(one, prompts)))
        for one, prompts in ((first, PROMPTS[:12]), (second, PROMPTS[8:]))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = [numbered(prompt) for prompt in PROMPTS]
    assert asyncio.run(asked_all(Recorder(None, path), PROMPTS)) == expected
    assert len(path.read_bytes().splitlines()) == 24


def test_a_recorder_adds_to_its_file(tmp_path):
    path = tmp_path / "answers.jsonl"
    recorder, before = Recorder(numbered, path), b""
    for count, prompt in enumerate(PROMPTS, 1):
        asyncio.run(recorder.generate(prompt, SCHEMA))
        now = path.read_bytes()
        assert now.startswith(before)
        assert now.count(b"\n") == count
        before = now


def test_the_later_of_two_answers_counts(tmp_path):
    path = tmp_path / "answers.jsonl"
    for score in (0, 1):
        asked(Recorder(RecordedModel({"reason": "r", "score": score}), tmp_path / f"{score}.jsonl"))
    path.write_bytes((tmp_path / "0.jsonl").read_bytes() + b"\r\n" + (tmp_path / "1.jsonl").read_bytes())
    assert asked(Recorder(None, path))["score"] == 1


def test_a_line_that_a_crash_cut_off(tmp_path):
    path = tmp_path / "answers.jsonl"
    asyncio.run(
        asked_all(Recorder(lambda prompt: {**numbered(prompt), "reason": f"Größe {prompt}"}, path), PROMPTS[:2])
    )
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    for cut in range(first, len(whole)):
        path.write_bytes(whole[:cut])
        asyncio.run(asked_all(Recorder(numbered, path), PROMPTS[1:3]))
        again = asyncio.run(asked_all(Recorder(None, path), PROMPTS[:3]))
        second = f"Größe {PROMPTS[1]}" if cut == len(whole) - 1 else f"yes, {PROMPTS[1]}"
        assert [one["reason"] for one in again] == [f"Größe {PROMPTS[0]}", second, f"yes, {PROMPTS[2]}"]


@pytest.mark.parametrize("is_async", [False, True])
def test_what_is_asked_at_the_same_time_is_asked_once(tmp_path, is_async):
    questions = []

    def model(prompt):
        questions.append(prompt)
        time.sleep(0.05)
        return numbered(prompt)

    async def async_model(prompt):
        questions.append(prompt)
        await asyncio.sleep(0.05)
        return numbered(prompt)

    recorder = Recorder(async_model if is_async else model, tmp_path / "answers.jsonl")
    answers = []
    # In several event loops as well.
    threads = [
        threading.Thread(target=lambda: answers.extend(asyncio.run(asked_all(recorder, PROMPTS[:3] * 4))))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(questions) == sorted(PROMPTS[:3])
    assert answers == [numbered(prompt) for prompt in PROMPTS[:3]] * 12
    assert len((tmp_path / "answers.jsonl").read_bytes().splitlines()) == 3


@pytest.mark.parametrize("first", [ValueError("outage"), SystemExit(1), "given up"], ids=str)
def test_where_there_was_no_answer_the_next_one_asks(tmp_path, first):
    async def main():
        questions = []

        async def model(prompt):
            questions.append(prompt)
            await asyncio.sleep(0.02 if len(questions) > 1 or first != "given up" else 30)
            if len(questions) == 1:
                raise first
            return YES

        recorder = Recorder(model, tmp_path / "answers.jsonl")
        asking = [ask(recorder, "Is it?", SCHEMA, attempts=1, timeout=timeout) for timeout in (0.1, 20, 20, 0.001)]
        failed, *others, too_late = await asyncio.gather(*asking, return_exceptions=True)
        assert isinstance(failed, NoAnswer)
        assert isinstance(too_late, NoAnswer)
        assert others == [YES, YES]
        assert len(questions) == 2

    asyncio.run(main())


def test_many_answers_are_recorded_in_time(tmp_path):
    prompts = [f"Is it {number}?" for number in range(1_000)]

    async def model(prompt):
        return numbered(prompt)

    started = time.perf_counter()
    asyncio.run(asked_all(Recorder(model, tmp_path / "answers.jsonl"), prompts))
    assert time.perf_counter() - started < 2


# -- a real client and a real server


def chat(content, finish_reason="stop", **message):
    """What a server of OpenAI's chat completions answers."""
    choice = {
        "index": 0,
        "finish_reason": finish_reason,
        "message": {"role": "assistant", "content": content, **message},
    }
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {
        "id": "c-1",
        "object": "chat.completion",
        "created": 1,
        "model": "judge",
        "choices": [choice],
        "usage": usage,
    }


OK = (200, chat(json.dumps(YES)))
OUTAGE = (500, {"error": {"message": "The server is on fire", "type": "server_error"}})


class Server(ThreadingHTTPServer):
    """Gives replies, a status and a body each, in their order, and keeps what it was sent."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.replies, self.requests, self.delay = [], [], 0
        self.url = f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, request, client_address):
        """A client that gave up is what some tests are about."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections are kept, as by real servers

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, self.headers["Authorization"], body))
        time.sleep(self.server.delay)
        status, reply, *headers = self.server.replies.pop(0)
        content = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
        self.send_response(status)
        for header in [*headers, ("Content-Type", "application/json"), ("Content-Length", str(len(content)))]:
            self.send_header(*header)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@contextmanager
def litellm_model(server):
    yield LiteLLM("openai/judge", api_base=server.url, api_key="secret", temperature=0)


@contextmanager
def openai_function(server):
    openai = pytest.importorskip("openai")
    with openai.OpenAI(base_url=server.url, api_key="secret", max_retries=0) as client:

        def model(prompt, schema):
            message = client.chat.completions.create(
                model="judge",
                temperature=0,
                messages=[{"role": "user", "content": prompt}],
                response_format={
                    "type": "json_schema",
                    "json_schema": {"name": "judgement", "strict": True, "schema": schema},
                },
            ).choices[0]
            if message.message.refusal:
                raise RuntimeError(f"the model refused: {message.message.refusal}")
            return message.message.content

        yield model


CLIENTS = {"litellm": litellm_model, "openai": openai_function}


@pytest.fixture(scope="module")
def with_litellm():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it fetches one
        # Its modules, of which the last are imported by the first call, warn while they are imported.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            litellm = pytest.importorskip("litellm")
            litellm.completion(
                "openai/judge", [{"role": "user", "content": "Hello"}], mock_response="Hello", api_key="k"
            )
        # As where a judge is the first to import it.
        patch.setattr(litellm, "suppress_debug_info", True)
        yield


@pytest.fixture(params=CLIENTS)
def client(request, server, with_litellm):
    with CLIENTS[request.param](server) as model:
        yield model


def judged(model, **options):
    judge = NumericJudge(name="a", evaluation_prompt="It was refunded.", model=model, **{"timeout": 20, **options})
    return judge.evaluate(input="Refund order 42", output="Refunded.")


def test_a_judge_asks_a_server(client, server, capfd):
    server.replies = [OK]
    result = judged(client)
    assert (result.score, result.verdict, result.reason) == (1.0, "passed", "yes")
    [(path, key, body)] = server.requests
    assert (path, key) == ("/v1/chat/completions", "Bearer secret")
    assert (body["model"], body["temperature"]) == ("judge", 0)
    [message] = body["messages"]
    assert message["role"] == "user"
    assert "It was refunded." in message["content"]
    assert 'output: "Refunded."' in message["content"]
    asked_for = body["response_format"]["json_schema"]
    assert asked_for["strict"] is True
    assert list(asked_for["schema"]["properties"]) == asked_for["schema"]["required"] == ["reason", "score"]
    assert asked_for["schema"]["properties"]["score"].items() >= {"type": "number", "minimum": 0, "maximum": 1}.items()
    assert asked_for["schema"]["additionalProperties"] is False
    assert capfd.readouterr() == ("", "")


def test_an_outage_that_passes(client, server):
    server.replies = [OUTAGE, (429, {"error": {"message": "slow down"}}, ("Retry-After", "0.1")), OK]
    assert judged(client).verdict == "passed"
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("reply", "tries", "says"),
    [
        (OUTAGE, 3, "The server is on fire"),
        ((401, {"error": {"message": "Incorrect API key provided"}}), 1, "Incorrect API key provided"),
        ((404, {"error": {"message": "There is no model judge"}}), 1, "There is no model judge"),
        ((200, b"<html>Bad gateway</html>"), 3, ""),
        ((200, chat("The score is 1.")), 3, "holds no JSON object with reason and score: 'The score is 1.'"),
        ((200, chat('{"reason": "r", "score": 2}')), 3, "the answer's score is 2, not from 0 to 1"),
        ((200, chat(None, refusal="I can't judge that.")), 3, "the model refused: I can't judge that."),
    ],
    ids=["outage", "wrong key", "no such model", "no JSON", "no object", "out of range", "refusal"],
)
def test_a_failure_is_an_error_and_never_a_score(client, server, capfd, reply, tries, says):
    server.replies = [reply] * 3
    result = judged(client)
    assert (result.score, result.verdict, result.passed) == (None, "error", None)
    assert says in result.reason
    assert len(server.requests) == tries
    assert capfd.readouterr() == ("", "")


def test_a_server_that_does_not_answer(client, server):
    server.replies, server.delay = [OK] * 2, 0.6
    result = judged(client, timeout=0.2, attempts=2)
    assert (result.score, result.verdict) == (None, "error")
    assert result.reason == "No judgement: no answer within 0.2 s (2 tries)"


@pytest.mark.parametrize("finish_reason", ["length", "content_filter"])
def test_half_an_answer(server, with_litellm, finish_reason):
    server.replies = [(200, chat(json.dumps(YES), finish_reason))]
    with litellm_model(server) as model:
        result = judged(model, attempts=1)
    assert (result.score, result.verdict) == (None, "error")
    assert finish_reason in result.reason


def test_a_model_by_its_name(server, with_litellm, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "from the environment")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    server.replies = [(200, chat('{"reason": "r", "category": "good"}'))]
    judge = CategoricalJudge(
        name="a",
        evaluation_prompt="Is it?",
        categories=["good", "bad"],
        passing_categories=["good"],
        model="openai/judge",
    )
    result = judge.evaluate(output="yes")
    assert (result.score, result.verdict) == ("good", "passed")
    [(_, key, body)] = server.requests
    assert key == "Bearer from the environment"
    assert body["response_format"]["json_schema"]["schema"]["properties"]["category"]["enum"] == ["good", "bad"]


def test_options_of_litellm(server, with_litellm):
    server.replies = [OK]
    model = LiteLLM("openai/judge", api_base=server.url, api_key="secret", response_format=None, seed=7)
    assert "secret" not in repr(model)
    assert judged(model).verdict == "passed"
    [(_, _, body)] = server.requests
    assert "response_format" not in body
    assert body["seed"] == 7


def test_spans_are_judged_at_the_same_time(client, server):
    server.replies, server.delay = [OK] * 8, 0.25
    judge = NumericJudge(name="a", evaluation_prompt="Is it?", model=client, target="tool_call", timeout=20)
    judge.evaluate(output="warm", target="response")
    server.replies = [OK] * 8
    started = time.perf_counter()
    result = judge.evaluate(tool_calls=[{"name": "search"}] * 8)
    assert time.perf_counter() - started < 8 * 0.25
    assert result.reason == "8 of 8 tool calls passed"


def test_all_calls_share_a_loop():
    """An asynchronous client keeps its connections, which belong to the loop that they were opened in."""
    loops = []

    async def model(prompt):
        loops.append(asyncio.get_running_loop())
        return YES

    for _ in range(3):
        judged(model)
    assert len({id(loop) for loop in loops}) == 1
    assert not loops[0].is_closed()


# -- without the extra


def test_nothing_is_imported_before_it_is_used():
    heavy = "{'litellm', 'openai', 'tenacity', 'asyncio', 'httpx', 'jsonschema'}"
    code = f"""
import sys
from callmatch.metrics.judges import NumericJudge
NumericJudge(name="a", evaluation_prompt="Is it?", model="openai/judge").config
print({heavy} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_without_litellm(monkeypatch):
    monkeypatch.setitem(sys.modules, "litellm", None)
    result = judged("openai/judge")
    assert (result.score, result.verdict) == (None, "error")
    assert 'pip install "callmatch[litellm]"' in result.reason
    assert result.reason.endswith("(1 try)")


def test_errors_are_of_the_family():
    for error in (InvalidInput, InvalidType):
        assert issubclass(error, CallmatchError)
