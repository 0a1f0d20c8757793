"""Where the trace of a test comes from: an agent that is asked, or a record of what it did."""

from __future__ import annotations

import inspect
import os
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import JsonValue

from callmatch import _core
from callmatch.concurrency import in_thread
from callmatch.errors import CallmatchError, InvalidInput, InvalidType, one_of
from callmatch.readers import Traces
from callmatch.response_mapping import PARTS, ResponseMapping, trace_from_parts
from callmatch.trace import Trace

if TYPE_CHECKING:
    from callmatch.testsets.testset import Test

__all__ = ["Agent", "Crash", "Source", "source_of"]

Agent = Callable[..., Any] | Traces | Mapping[str, Any] | Iterable[Trace]
"""What can be tested: something that is called with the input of a test, or recorded traces."""

OFFERED = ("conversation_id", "messages", "test")
"""What an agent gets beside the input, if it has parameters of these names."""


class Crash(Exception):
    """There is no trace of a test, and why."""


def raised(error: BaseException) -> str:
    """What was raised, on one line."""
    return _core.printable("".join(traceback.format_exception_only(type(error), error)).strip())


def said(error: Exception) -> str:
    """What an error says: one of this library in its own words, another one also what it is."""
    return _core.printable(str(error)) if isinstance(error, CallmatchError) else raised(error)


class Source(Protocol):
    """Gives the trace of a test."""

    @property
    def is_live(self) -> bool:
        """Whether the agent works while it is waited for."""

    async def __call__(self, test: Test) -> Trace:
        """Get the trace.

        Raises:
            Crash: There is none.
        """


def source_of(agent: Agent, mapping: ResponseMapping | None, timeout: float | None) -> Source:
    """Where the traces of tests come from.

    Raises:
        InvalidInput: Options for an agent that is called, and recorded traces.
        InvalidType: Nothing that can be tested.
    """
    if callable(agent):
        return _Called(agent, mapping, timeout)
    for option, value in (("response_mapping", mapping), ("timeout", timeout)):
        if value is not None:
            raise InvalidInput(f"{option} is for an agent that is called, and these are recorded traces", option)
    return _Recorded(agent)


# -- recorded


class _Recorded:
    """What agents did before."""

    is_live = False

    def __init__(self, traces: Any) -> None:
        self.find: Callable[[str], Trace]
        if isinstance(traces, Traces):
            self.find = traces.for_test
        elif isinstance(traces, Mapping):
            self.find = _finder({str(id): trace for id, trace in traces.items()})
        elif isinstance(traces, Iterable) and not isinstance(traces, (str, bytes, Trace)):
            self.find = _finder(_by_test(traces))
        else:
            hint = "; Traces(path) opens a file or folder of traces" if isinstance(traces, (str, os.PathLike)) else ""
            wanted = "a callable, or recorded traces by the id of their test"
            raise InvalidType(f"agent: expected {wanted}, got {type(traces).__name__}{hint}", "agent")

    async def __call__(self, test: Test) -> Trace:
        try:
            return self.find(test.id or "")
        except Exception as error:
            raise Crash(said(error)) from error


def _by_test(traces: Iterable[Any]) -> dict[str, list[Trace]]:
    """Traces by the test that they are a run of; several of one test are those of its conversation."""
    found: dict[str, list[Trace]] = {}
    for place, trace in enumerate(traces):
        if not isinstance(trace, Trace):
            raise InvalidType(f"agent[{place}]: expected a Trace, got {type(trace).__name__}", f"agent[{place}]")
        name = trace.test_id if trace.test_id is not None else trace.id
        if name is not None:
            found.setdefault(name, []).append(trace)
    return found


def _finder(traces: Mapping[str, Any]) -> Callable[[str], Trace]:
    def find(id: str) -> Trace:
        if id not in traces:
            near = f": {one_of('a recorded test', id, traces)}" if traces else ", nor of any other"
            raise InvalidInput(f"no trace of the test {id!r} was recorded{near}")
        trace = traces[id] or None
        if isinstance(trace, Trace):
            return trace
        if isinstance(trace, Mapping):
            return Trace.read(trace, f"agent[{id!r}]")
        if isinstance(trace, Sequence) and not isinstance(trace, (str, bytes)):
            return Trace.joined(trace)
        raise InvalidType(f"agent[{id!r}]: expected a Trace, got {type(trace).__name__}")

    return find


# -- called


class _Called:
    """An agent that is called with what the user says."""

    is_live = True

    def __init__(self, agent: Callable[..., Any], mapping: ResponseMapping | None, timeout: float | None) -> None:
        self.agent = agent
        self.mapping = mapping
        self.timeout = timeout
        self.takes_input, self.named = _takes(agent)
        is_async = inspect.iscoroutinefunction
        self.blocks = not (is_async(agent) or is_async(getattr(agent, "__call__", None)))  # noqa: B004

    async def __call__(self, test: Test) -> Trace:
        """Say all that the test has the user say, and put together what happened."""
        inputs = test.inputs
        if not inputs and "test" not in self.named:
            raise Crash("The test has no input to give to the agent.")
        parts: list[Trace] = []
        messages: list[dict[str, JsonValue]] = []
        for place, message in enumerate(inputs or [None]):
            messages.append({"role": "user", "content": message})
            conversation_id = parts[-1].conversation_id if parts else None
            offered = {"conversation_id": conversation_id, "messages": list(messages), "test": test}
            answer = await self._answer(message, {name: offered[name] for name in self.named})
            try:
                trace = _read_answer(answer, message, self.mapping)
                # An agent may tell of this answer alone, or each time of the conversation so far.
                whole = place > 0 and [turn.input for turn in trace.turns] == inputs[: place + 1]
                parts = [trace] if whole else [*parts, trace]
                joined = Trace.joined(parts)
            except Exception as error:
                raise Crash(f"The agent's answer can't be read: {said(error)}") from error
            messages.append({"role": "assistant", "content": trace.output})
        return joined.model_copy(update={"test_id": joined.test_id or test.id})

    async def _answer(self, message: JsonValue, named: Mapping[str, Any]) -> Any:
        """What the agent says to a message."""
        import asyncio  # noqa: PLC0415 - it takes long to import, and `callmatch score` needs none

        given = (message,) if self.takes_input else ()
        task = asyncio.ensure_future(self._call(lambda: self.agent(*given, **named)))
        try:
            await asyncio.wait([task], timeout=self.timeout)
        finally:
            given_up = task.cancel()
        if given_up:
            raise Crash(f"The agent gave no answer within {self.timeout:g} s.")
        if task.cancelled():
            raise Crash("The agent was cancelled.")
        if isinstance(error := task.exception(), Exception):
            raise Crash(f"The agent raised {raised(error)}") from error
        return task.result()  # or what ends the program, such as Ctrl-C

    async def _call(self, call: Callable[[], Any]) -> Any:
        answer = await in_thread(call) if self.blocks else call()
        return await answer if inspect.isawaitable(answer) else answer


def _takes(agent: Callable[..., Any]) -> tuple[bool, list[str]]:
    """Whether an agent takes the input as its first argument, and which of the others it takes by name."""
    try:
        signature = inspect.signature(agent)
    except (TypeError, ValueError):  # of some that are written in C nobody knows
        return True, []
    parameters = list(signature.parameters.values())
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    named = [one.name for one in parameters if one.name in OFFERED and one.kind in by_name]
    # One that begins with, say, ``messages`` means those, and no input.
    takes_input = not (parameters and parameters[0].name in named)
    try:
        signature.bind(*(("",) if takes_input else ()), **dict.fromkeys(named))
    except TypeError as error:
        takes = f"the input, and by name {', '.join(OFFERED)} if it has them"
        raise InvalidType(f"agent: it is called with {takes}, which it does not take: {error}", "agent") from None
    return takes_input, named


def _read_answer(answer: Any, message: JsonValue, mapping: ResponseMapping | None) -> Trace:
    """The trace that an agent's answer to a message tells of."""
    if isinstance(answer, Trace):
        trace = answer
    elif mapping is not None:
        trace = mapping.trace(answer, message)
    elif isinstance(answer, str):
        trace = Trace.from_parts(input=message, output=answer)
    elif isinstance(answer, Mapping) and "turns" in answer:
        trace = Trace.read(answer, "answer")
    elif isinstance(answer, Mapping):
        try:
            trace = trace_from_parts(answer, message)
        except InvalidInput as error:
            unknown = set(map(str, answer)) - set(PARTS)
            hint = "; a response_mapping takes the parts out of other shapes" if unknown else ""
            raise InvalidInput(f"{error}{hint}", error.path) from None
    elif isinstance(answer, Sequence) and not isinstance(answer, (bytes, bytearray)):
        trace = Trace.from_messages(list(answer))
    else:
        wanted = f"a text, a dict with some of {', '.join(PARTS)}, a list of chat messages, or a Trace"
        raise InvalidType(f"expected {wanted}, got {type(answer).__name__}")
    first, *others = trace.turns or [None]
    if first is None or first.input is not None:
        return trace
    # Many agents tell what they answered, and not what they were asked.
    return trace.model_copy(update={"turns": (first.model_copy(update={"input": message}), *others)})
