"""What of a trace is judged, as requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import JsonValue

from callmatch.display import to_json
from callmatch.targets import Subject
from callmatch.trace import Span, Trace, Turn

__all__ = ["request_of"]


def request_of(subject: Subject, trace: Trace) -> dict[str, Any] | str:
    """The request for something that a target found in a trace; or why there is none.

    A turn or a response is judged by its own calls, with the turns before it as context. A conversation or a run is
    judged as a whole: by all that was asked, answered and called in it.

    Args:
        subject: A response, turn, conversation or run.
        trace: The whole trace.
    """
    if subject.on in ("conversation", "run"):
        judged, before = trace.turns, trace.turns[:0]
    else:
        place = subject.index if subject.on == "turn" else len(trace.turns) - 1
        judged, before = trace.turns[max(place, 0) : place + 1], trace.turns[: max(place, 0)]
    queries = [text_of(turn.input) for turn in judged if turn.input is not None]
    answers = [text_of(turn.output) for turn in judged if turn.output is not None]
    if not answers:
        return "The output was not recorded, so it can't be judged."
    if not queries:
        return "The input was not recorded, so nobody knows what in the output the user said."
    if not all(turn.tool_calls_reported for turn in judged):
        return "It isn't known which tools were called, so the output can't be held against them."
    return {
        "user_query": "\n\n".join(queries),
        "generated_text": "\n\n".join(answers),
        "tool_trace": [_entry(call) for turn in judged for call in turn.spans("tool_call")],
        "context": [*_before(before), *(text for turn in judged for text in _retrieved(turn))],
    }


def text_of(value: JsonValue) -> str:
    """A text as it is, and all else as JSON."""
    return value if isinstance(value, str) else to_json(value)


def _entry(call: Span) -> dict[str, Any]:
    """A call as an entry of a trace of tools. What was not recorded is left out: then it is not known."""
    entry = {
        "tool_name": call.name,
        "status": call.status,
        "error": call.error,
        "request_payload": call.input,
        "response_payload": call.output,
        "start_time": None if call.started_at is None else call.started_at.isoformat(),
        "end_time": None if call.ended_at is None else call.ended_at.isoformat(),
    }
    return {"tool_name": call.name or "", **{key: value for key, value in entry.items() if value is not None}}


def _before(turns: Sequence[Turn]) -> list[str]:
    """What was said, called and retrieved in earlier turns, the latest that there is room for."""
    texts: list[str] = []
    room = MOST_BEFORE
    for turn in reversed(turns):
        said = [*_said(turn), *_retrieved(turn)]
        room -= sum(map(len, said))
        if room < 0:
            break
        texts = [*said, *texts]
    return texts


MOST_BEFORE = 1_000_000
"""So many characters of earlier turns are context: each turn of a long conversation has almost all others before it."""


def _said(turn: Turn) -> Iterator[str]:
    """What was said and called in an earlier turn."""
    if turn.input is not None:
        yield text_of(turn.input)
    for call in turn.spans("tool_call"):
        yield f"{call.name} was called with {to_json(call.input)} and returned {text_of(call.output)}"
    if turn.output is not None:
        yield text_of(turn.output)


def _retrieved(turn: Turn) -> Iterator[str]:
    """What was retrieved in a turn."""
    for retrieval in turn.spans("retrieval"):
        if retrieval.output is not None:
            yield text_of(retrieval.output)
