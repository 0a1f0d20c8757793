"""Where the trace of a test comes from: an agent that is asked, or a record of what it did."""

from __future__ import annotations

import contextlib
import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import JsonValue

from callmatch.concurrency import in_thread, within
from callmatch.errors import ENDING, CallmatchError, InvalidInput, InvalidType, not_there, said
from callmatch.readers import Traces
from callmatch.response_mapping import PARTS, ResponseMapping, trace_from_parts
from callmatch.trace import Trace, Turn

if TYPE_CHECKING:
    from callmatch.testsets.testset import Test

__all__ = ["Agent", "Crash", "Source", "source_of"]

Agent = Callable[..., Any] | Traces | Mapping[str, Any] | Iterable[Trace]
"""What can be tested: something that is called with the input of a test, or recorded traces."""

OFFERED = ("conversation_id", "messages", "test")
"""What an agent gets beside the input, if it has parameters of these names."""


class Crash(Exception):
    """There is no trace of a test, and why."""


@contextlib.contextmanager
def crashing(what: str = "") -> Iterator[None]:
    """Make a `Crash` of whatever is raised, but for what ends the program."""
    try:
        yield
    except ENDING:
        raise
    except BaseException as error:
        raise Crash(f"{what}{said(error)}") from error


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
        with crashing():
            return self.find(test.id or "")


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
            none = "" if traces else "; none was recorded"
            raise InvalidInput(f"{not_there('trace of the test', id, traces)}{none}")
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
        for message in inputs or [None]:
            messages.append({"role": "user", "content": message})
            conversation_id = parts[-1].conversation_id if parts else None
            offered = {"conversation_id": conversation_id, "messages": list(messages), "test": test}
            answer = await self._answer(message, {name: offered[name] for name in self.named})
            with crashing("The agent's answer can't be read: "):
                trace = _read_answer(answer, message, self.mapping)
                # An agent may tell of this answer alone, or each time of the conversation so far.
                whole = _told_again(trace, [turn for part in parts for turn in part.turns])
                parts = [*parts, trace] if whole is None else [whole]
                joined = Trace.joined(parts)
            messages.append({"role": "assistant", "content": trace.output})
        return joined.model_copy(update={"test_id": joined.test_id or test.id})

    async def _answer(self, message: JsonValue, named: Mapping[str, Any]) -> Any:
        """What the agent says to a message."""
        import asyncio  # noqa: PLC0415 - it takes long to import, and `callmatch score` needs none

        given = (message,) if self.takes_input else ()
        try:
            return await within(self.timeout, self._call(lambda: self.agent(*given, **named)))
        except asyncio.TimeoutError:  # not one of the agent's own, which are crashes, as all that it raises
            raise Crash(f"The agent gave no answer within {self.timeout:g} s.") from None
        except RuntimeError:
            raise Crash("The agent was cancelled.") from None

    async def _call(self, call: Callable[[], Any]) -> Any:
        from asyncio import CancelledError  # noqa: PLC0415

        try:
            answer = await in_thread(call) if self.blocks else call()
            return await answer if inspect.isawaitable(answer) else answer
        except (*ENDING, CancelledError):
            raise
        except BaseException as error:
            kind = f"{type(error).__name__}: " if isinstance(error, CallmatchError) else ""
            raise Crash(f"The agent raised {kind}{said(error)}") from error


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
    # Many agents tell what they answered, and not what they were asked.
    return _with_inputs(trace, [*[None] * (len(trace.turns) - 1), message])


def _with_inputs(trace: Trace, inputs: Iterable[JsonValue]) -> Trace:
    """The trace with an input for each turn that tells of none."""
    turns = [
        turn if given is None or turn.input is not None else turn.model_copy(update={"input": given})
        for turn, given in zip(trace.turns, inputs, strict=False)
    ]
    changed = any(turn is not before for turn, before in zip(turns, trace.turns, strict=True))
    return trace.model_copy(update={"turns": tuple(turns)}) if changed else trace


def _told_again(trace: Trace, reported: Sequence[Turn]) -> Trace | None:
    """The trace, if it tells of all that was reported before it, in the same order, and of something new after that.

    What the agent tells of the user's messages doesn't count, since many put something around these. Nor do ids, times
    and what tools gave, which may be others or shorter each time. Before what was reported there may be more, such as a
    greeting.
    """
    told, before = [_happened(turn) for turn in trace.turns], [_happened(turn) for turn in reported]
    size = len(before)
    for start in range(len(told) - size) if before else ():
        if told[start : start + size] == before:
            return _with_inputs(trace, [*[None] * start, *(turn.input for turn in reported), *[None] * len(told)])
    return None


def _happened(turn: Turn) -> tuple[JsonValue, list[tuple[JsonValue, ...]]]:
    """What a turn comes down to."""
    return turn.output, [(span.kind, span.name, span.input) for span in turn.recorded]
