"""The models that judges ask: how they are called, what becomes of failures, and how answers are recorded."""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import os
import re
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from callmatch.concurrency import in_thread, within
from callmatch.errors import ENDING, CallmatchError, InvalidInput, InvalidType, one_of, said

if TYPE_CHECKING:
    from concurrent.futures import Future

    from tenacity import RetryCallState

__all__ = ["Answer", "LiteLLM", "Model", "ModelLike", "RecordedModel", "Recorder"]

Answer = Mapping[str, Any] | str
"""What a model answers: the fields of its answer, or text that holds them as a JSON object."""


class Model(Protocol):
    """Something that judges can ask."""

    def generate(self, prompt: str, schema: dict[str, Any], /) -> Answer | Awaitable[Answer]:
        """Answer a prompt.

        Args:
            prompt: All that there is to know, the schema of the answer included.
            schema: The JSON Schema of the answer.

        It may be asynchronous; then it must not block, as all asynchronous models share an event loop, and what blocks
        it can't be ended by a time-out. Whatever is raised says that there is no answer: the judge asks again, unless
        it has a ``status_code`` that says that this is in vain, or is no `Exception`, such as `SystemExit`. Ctrl-C goes
        through.
        """


ModelLike = Model | Callable[..., Any] | str
"""A `Model`; a function of the prompt, or of the prompt and the schema; or a ``provider/name``, for `LiteLLM`."""

FIRST_WAIT, LONGEST_WAIT = 1.0, 30.0
"""Seconds between tries: up to the first, then up to twice as long each time, but never above the second."""

IN_VAIN = (400, 401, 403, 404, 422)
"""The HTTP status codes that another try doesn't change."""

MOST_READ = 100_000
"""How many characters of an answer are read; more is no answer."""

MOST_IN_VAIN = 1_000_000
"""How many characters are read of what begins like JSON in an answer and isn't, which is read again from each brace. A
beginning counts `LEAST_IN_VAIN` at least."""

LEAST_IN_VAIN = 1000


class NoAnswer(Exception):
    """A model gave no answer that can be used."""


def model_of(given: object) -> ModelLike | None:
    """The model that was given as an option of a judge, if it can be one."""
    if isinstance(given, str):
        provider, _, name = given.partition("/")
        if not provider or not name:
            raise InvalidInput(f'a model is named "provider/name", such as "openai/gpt-4.1", not {given!r}', "model")
        return given
    if given is None or (not isinstance(given, type) and (hasattr(given, "generate") or callable(given))):
        return given
    what = f"the class {given.__name__}" if isinstance(given, type) else type(given).__name__
    takes = 'an object with generate(prompt, schema), a function of the prompt, or "provider/name"'
    raise InvalidType(f"model is {takes}, not {what}", "model")


# -- asking


async def ask(
    model: ModelLike, prompt: str, schema: dict[str, Any], *, attempts: int, timeout: float
) -> dict[str, Any]:
    """Ask a model until it gives an answer of the schema.

    Raises:
        NoAnswer: It never did; with the last reason, which may be anything that it raised.
    """
    import asyncio  # noqa: PLC0415 - only when a model is asked, as it takes its time

    from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt  # noqa: PLC0415

    tries = AsyncRetrying(
        stop=stop_after_attempt(attempts),
        wait=_wait,
        retry=retry_if_exception(_may_pass),
        sleep=asyncio.sleep,
        reraise=True,
    )
    try:
        return await tries(_ask_once, model, prompt, schema, timeout)
    except (*ENDING, asyncio.CancelledError):  # of whoever waits, as one of the model is another error by now
        raise
    except BaseException as error:
        count = tries.statistics["attempt_number"]
        why = said(error).removeprefix(f"{NoAnswer.__name__}: ")
        raise NoAnswer(f"{why} ({count} {'try' if count == 1 else 'tries'})") from error


async def _ask_once(model: ModelLike, prompt: str, schema: dict[str, Any], timeout: float) -> dict[str, Any]:
    import asyncio  # noqa: PLC0415

    async def call() -> object:
        try:
            return await _call(model, prompt, schema, timeout)
        except asyncio.TimeoutError as error:  # which is not the one below
            raise NoAnswer(said(error)) from error

    try:
        answer = await within(timeout, call())
    except asyncio.TimeoutError as error:
        raise NoAnswer(f"no answer within {timeout:g} s") from error
    return read_answer(answer, schema)


async def _call(model: Any, prompt: str, schema: dict[str, Any], timeout: float | None = None) -> object:
    if isinstance(model, str):
        model = LiteLLM(model, **({} if timeout is None else {"timeout": timeout}))
    call = _bound(model, prompt, schema)
    # What blocks waits in a thread, since others wait for their answers as well.
    answer = call() if _is_async(call.func) else await in_thread(call)
    return await answer if inspect.isawaitable(answer) else answer


def _is_async(function: object) -> bool:
    call = getattr(function, "__call__", None)  # noqa: B004 - of an object, not whether there is one
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def _bound(model: Any, prompt: str, schema: dict[str, Any]) -> partial[Any]:
    """The call of a model. A function gets the schema if it has a parameter for it.

    That is one that can be given by its name alone, the second one if it has the name, or the second one that the
    function can't do without.
    """
    is_object = hasattr(model, "generate")
    function = model.generate if is_object else model
    parameters: Mapping[str, inspect.Parameter]
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # one that is not written in Python
        parameters = {}
    if "schema" in parameters and parameters["schema"].kind is inspect.Parameter.KEYWORD_ONLY:
        return partial(function, prompt, schema=schema)
    needed = [one for one in parameters.values() if one.default is one.empty and one.kind in POSITIONAL]
    if is_object or len(needed) > 1 or list(parameters)[1:2] == ["schema"]:
        return partial(function, prompt, schema)
    return partial(function, prompt)


POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _may_pass(error: BaseException) -> bool:
    """Whether another try can go better."""
    if not isinstance(error, Exception) or isinstance(error, (CallmatchError, ImportError)):
        return False
    response = getattr(error, "response", None)
    return getattr(error, "status_code", getattr(response, "status_code", None)) not in IN_VAIN


def _wait(state: RetryCallState) -> float:
    """How long until the next try: random, longer each time, and not shorter than a server wants it."""
    from tenacity import wait_random_exponential  # noqa: PLC0415

    error = state.outcome.exception() if state.outcome else None
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    try:
        wanted = float(headers.get("retry-after", 0))
    except (TypeError, ValueError, AttributeError):  # a date, or no headers of HTTP
        wanted = 0.0
    return min(max(wait_random_exponential(FIRST_WAIT, LONGEST_WAIT)(state), wanted), LONGEST_WAIT)


# -- reading answers


def read_answer(answer: object, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Read what a model answered.

    Args:
        answer: The fields, or text with one JSON object that has them. Others beside them are left out.
        schema: Their JSON Schema; of which ``type`` (string, number), ``enum``, ``minimum`` and ``maximum`` count.

    Raises:
        NoAnswer: It is not of the schema.
    """
    if isinstance(answer, str):
        answer = _object_in(answer, schema["required"])
    if not isinstance(answer, Mapping):
        raise NoAnswer(f"the answer is no JSON object, but {type(answer).__name__}")
    return {name: _field(name, answer, rule) for name, rule in schema["properties"].items()}


def _object_in(text: str, names: Sequence[str]) -> dict[str, Any]:
    """The one JSON object with these names; models put words and fences around it, and think aloud."""
    if len(text) > MOST_READ:
        raise NoAnswer(f"the answer is too long to be read: it has {len(text)} characters, and {MOST_READ} may be")
    wanted = " and ".join(names)
    found: dict[str, Any] | None = None
    left = MOST_IN_VAIN
    start = BEGINNING.search(text)
    while start:
        place = start.start()
        try:
            value, end = DECODER.raw_decode(text, place)
        except ValueError as error:
            end = place + 1
            left -= max(getattr(error, "pos", len(text)) - place, LEAST_IN_VAIN)
            if left < 0:
                raise NoAnswer(
                    f"the answer holds too much that only begins like a JSON object: {text[:80]!r}"
                ) from None
        except RecursionError:  # no answer is that deep, and to look on would take long
            break
        else:
            if all(name in value for name in names):
                if found is not None and value != found:
                    raise NoAnswer(f"the answer holds different JSON objects with {wanted}")
                found = value
        start = BEGINNING.search(text, end)
    if found is None:
        raise NoAnswer(f"the answer holds no JSON object with {wanted}: {text[:80]!r}")
    return found


BEGINNING = re.compile(r'\{(?=[ \t\n\r]*["}])')
"""That of a JSON object. Formulas and code have many other braces."""

DECODER = json.JSONDecoder(strict=False)
"""Models forget to escape the ends of lines."""


def _field(name: str, answer: Mapping[str, Any], rule: Mapping[str, Any]) -> str | float:
    if name not in answer:
        raise NoAnswer(f"the answer has no {name}")
    value = answer[name]
    if "enum" in rule:
        if isinstance(value, str) and value in rule["enum"]:
            return value
        raise NoAnswer(f"the answer's {one_of(name, str(value)[:80], rule['enum'])}")
    if rule["type"] == "string":
        if isinstance(value, str):
            return value.encode(errors="backslashreplace").decode()
        raise NoAnswer(f"the answer's {name} is {type(value).__name__}, not text")
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise NoAnswer(f"the answer's {name} is {type(value).__name__}, not a number")
    try:
        number = float(value)
    except OverflowError:  # an integer beyond all of them
        number = math.inf
    if not rule["minimum"] <= number <= rule["maximum"]:  # nor is NaN
        raise NoAnswer(f"the answer's {name} is {number:g}, not from {rule['minimum']:g} to {rule['maximum']:g}")
    return number


# -- models


class LiteLLM:
    """A model of any provider that LiteLLM knows, which a judge also makes of the text ``provider/name``.

    Needs the extra ``callmatch[litellm]``, which is imported when the model is first asked. Answers are asked for as
    structured output where the model can do that.

    Args:
        model: The ``provider/name``, such as ``openai/gpt-4.1``, ``anthropic/claude-sonnet-4-5``, ``ollama/llama3``.
        **options: Those of `litellm.completion`, such as ``api_base``, ``api_key``, ``temperature``, ``seed``. Without
            ``api_key`` it is in the environment, under the provider's name for it. ``response_format=None`` is for a
            server that can't do structured output.

    Examples:
        >>> LiteLLM("openai/judge", api_base="http://localhost:8000/v1", api_key="none", temperature=0)
        LiteLLM('openai/judge', api_base=..., api_key=..., temperature=...)
    """

    def __init__(self, model: str, **options: Any) -> None:
        self.model = model
        self.options = options

    def __repr__(self) -> str:
        # A key should not be seen in a log.
        return f"LiteLLM({', '.join([repr(self.model), *(f'{name}=...' for name in self.options)])})"

    def generate(self, prompt: str, schema: dict[str, Any]) -> str:
        """Ask the model once."""
        response_format = {
            "type": "json_schema",
            "json_schema": {"name": "judgement", "strict": True, "schema": schema},
        }
        response = _litellm().completion(
            **{
                "model": self.model,
                "messages": [{"role": "user", "content": prompt}],
                "response_format": response_format,
                "drop_params": True,  # what this model can't do, such as structured output
                "max_retries": 0,  # the judge asks again
                "timeout": 600,  # when a judge has given up long ago, its thread should end too
                **self.options,
            }
        )
        choice = response.choices[0]
        if refusal := getattr(choice.message, "refusal", None):
            raise NoAnswer(f"the model refused: {refusal}")
        if choice.finish_reason in ("length", "content_filter") or not choice.message.content:
            raise NoAnswer(f"the model gave no whole answer; it ended because of {choice.finish_reason!r}")
        return str(choice.message.content)


def _litellm() -> Any:
    is_first = "litellm" not in sys.modules
    # Else importing it fetches a list of prices, which nothing here asks for.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    try:
        import litellm  # noqa: PLC0415 - takes seconds
    except ImportError as error:
        raise ImportError('a model given as "provider/name" needs LiteLLM: pip install "callmatch[litellm]"') from error
    if is_first:
        litellm.suppress_debug_info = True  # else it prints advice on every error
    return litellm


class RecordedModel:
    """A model for tests, whose answers are given beforehand.

    Things that are judged at the same time are asked about in their order: the first answer is for the first of them.

    Args:
        answers: One, which is always given; or several, which are given one after the other. An exception among them
            is raised.

    Attributes:
        prompts: What was asked, in that order.

    Examples:
        >>> model = RecordedModel([{"reason": "It fits.", "score": 1}, TimeoutError("took too long")])
        >>> import asyncio
        >>> asyncio.run(model.generate("Does it fit?", {}))
        {'reason': 'It fits.', 'score': 1}
    """

    def __init__(self, answers: Answer | Sequence[Answer | BaseException]) -> None:
        one = isinstance(answers, (Mapping, str))
        if not one and not isinstance(answers, Sequence):
            raise InvalidType(f"answers: expected an answer or a list of them, got {type(answers).__name__}", "answers")
        self._answers: Iterator[Any] = repeat(answers) if one else iter(answers)
        self.prompts: list[str] = []

    async def generate(self, prompt: str, schema: dict[str, Any]) -> Answer:
        """Give the next answer.

        Raises:
            InvalidInput: None is left.
        """
        self.prompts.append(prompt)
        answer: Answer | BaseException | None = next(self._answers, None)
        if answer is None:
            raise InvalidInput(f"a RecordedModel has no answer left: it was asked {len(self.prompts)} times", "answers")
        if isinstance(answer, BaseException):
            raise answer
        return answer


class Recorder:
    """A model that asks another one, keeps its answers in a file, and gives them again when it is asked the same.

    So tests can run without a network: an answer is found by the hash of the prompt and the schema, and a judge always
    makes the same prompt of the same things. Only answers that can be used are kept. What is asked several times at the
    same time is asked once.

    Several recorders, also of several processes, may write to one file; each gives what was in it when it was made, and
    what it recorded itself. Of two answers to the same the later line counts.

    Args:
        model: What is asked if an answer isn't in the file; None: nothing is, and that is an error.
        path: The JSON Lines file, of an object with ``key`` and ``answer`` each. Lines are only ever added to it. It is
            made if it is missing, unless there is no model. A line that a crash has cut off is left out.

    Raises:
        OSError: A file that may not be read, or is missing and there is no model.
        InvalidInput: Not a file of a recorder.

    Examples:
        >>> import asyncio, tempfile, pathlib
        >>> schema = {"properties": {"reason": {"type": "string"}}, "required": ["reason"]}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "answers.jsonl")
        ...     recorded = asyncio.run(Recorder(lambda prompt: {"reason": "yes"}, path).generate("Why?", schema))
        ...     asyncio.run(Recorder(None, path).generate("Why?", schema))
        {'reason': 'yes'}
    """

    def __init__(self, model: ModelLike | None, path: str | os.PathLike[str]) -> None:
        self.model = model_of(model)
        self.path = Path(path)
        self._lock = threading.Lock()
        self._asking: dict[str, Future[None]] = {}
        self._answers: dict[str, dict[str, Any]] = {}
        if model is None or self.path.exists():
            self._answers = _recorded(self.path)

    async def generate(self, prompt: str, schema: dict[str, Any]) -> dict[str, Any]:
        """Give the recorded answer, or ask the model and record what it says.

        Raises:
            InvalidInput: There is no recorded answer, and no model.
        """
        import asyncio  # noqa: PLC0415
        from concurrent.futures import Future  # noqa: PLC0415

        key = hashlib.sha256(json.dumps([prompt, schema], sort_keys=True).encode()).hexdigest()
        if self.model is None and key not in self._answers:
            which = f"the prompt that begins {prompt[:60]!r}"
            raise InvalidInput(f"{self.path} has no answer to {which}: record it again, with a model", "model")
        asked: Future[None] = Future()
        asked.set_running_or_notify_cancel()  # so that it isn't cancelled with one of those that wait for it
        while True:
            with self._lock:
                if key in self._answers:
                    return self._answers[key]
                others = self._asking.get(key)
                if others is None:
                    self._asking[key] = asked
                    break
            # It may be asked in another event loop. If there was no answer, the next one asks.
            await asyncio.wrap_future(others)
        try:
            answer = read_answer(await _call(self.model, prompt, schema), schema)
            _record(self.path, key, answer)
            self._answers[key] = answer
            return answer
        finally:
            with self._lock:
                del self._asking[key]
            asked.set_result(None)


RECORDING = threading.Lock()


def _record(path: Path, key: str, answer: dict[str, Any]) -> None:
    line = json.dumps({"key": key, "answer": answer}, ensure_ascii=False).encode() + b"\n"
    with RECORDING, path.open("ab+") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":  # a crash, or an editor
                line = b"\n" + line
        file.write(line)


def _recorded(path: Path) -> dict[str, dict[str, Any]]:
    answers = {}
    for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            one = json.loads(line)
        except ValueError as error:
            if line.startswith(BEGINS[: len(line)]):  # cut off by a crash
                continue
            raise InvalidInput(f"{path}:{number}: not JSON: {error}", str(path)) from None
        except RecursionError:
            one = None
        match one:
            case {"key": str(key), "answer": dict(answer)}:
                answers[key] = answer
            case _:
                what = 'not a line of a Recorder, which holds an object with "key" and "answer"'
                raise InvalidInput(f"{path}:{number}: {what}", str(path))
    return answers


BEGINS = b'{"key": "'
"""How the lines of a recorder begin."""
