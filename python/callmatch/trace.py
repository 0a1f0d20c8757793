"""What happened while an agent answered: a trace of turns, and a turn of spans."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple, get_args

from pydantic import BeforeValidator, Field, JsonValue, TypeAdapter, ValidationError, model_validator
from typing_extensions import Self

from callmatch import _core
from callmatch.errors import InvalidInput, InvalidType, NotRecorded
from callmatch.schema import Schema

__all__ = ["Span", "SpanKind", "Trace", "Turn"]

SpanKind = Literal["tool_call", "retrieval", "agent", "llm", "embedding", "rerank", "guardrail", "handoff", "chain"]

SPAN_KINDS: tuple[SpanKind, ...] = get_args(SpanKind)


def span_kind(word: object) -> object:
    """The kind of a span by its word; ``model`` is another one for ``llm``."""
    return "llm" if word == "model" else word


class Span(Schema):
    """One step of a run, such as a tool call, a retrieval, or an agent's work.

    Attributes:
        id: As recorded; None where it was not.
        parent_id: The id of the span around it. It may be missing from the trace.
        kind: ``tool_call``, ``retrieval``, ``agent``, ``llm`` (or ``model``), ``embedding``, ``rerank``, ``guardrail``,
            ``handoff``, ``chain`` (any other step).
        name: Of the tool, agent or model.
        agent: The name of the nearest agent around it; a trace fills it in from the parents.
        input: What it was given. A tool call's are its arguments: an object; None if they were not recorded; text if
            they could not be read.
        output: What came out; None if that was not recorded.
        status: As recorded, such as ``ok`` or ``error``.
        error: What went wrong, in words.
        started_at: When it began. Without a time zone, UTC is meant.
        ended_at: When it ended.
        recorded_as: Of a tool call, in a log that has both what a model requested and what was executed: which of them
            this call was. ``both`` where the log doesn't tell them apart.
        attributes: All else that was recorded.
    """

    id: str | None = None
    parent_id: str | None = None
    kind: Annotated[SpanKind, BeforeValidator(span_kind)]
    name: str | None = None
    agent: str | None = None
    input: JsonValue = None
    output: JsonValue = None
    status: str | None = None
    error: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    recorded_as: Literal["requested", "executed", "both"] = "both"
    attributes: dict[str, JsonValue] = Field(default_factory=dict)

    @property
    def arguments(self) -> JsonValue:
        """The input, under the name that it has for a tool call."""
        return self.input


class Turn(Schema):
    """What a user said, and all that happened until the answer.

    Attributes:
        input: The user's message; None for what came before the first one.
        output: The answer, which is the last text of the assistant; None if there was none.
        tool_calls_reported: False if nobody knows whether tools were called. By default that is so where no spans are
            given; an empty list of spans says that none was.
    """

    input: JsonValue = None
    output: JsonValue = None
    recorded: tuple[Span, ...] = Field(default=(), alias="spans", repr=False)
    tool_calls_reported: bool = False

    @model_validator(mode="after")
    def _reported(self) -> Self:
        if "tool_calls_reported" not in self.model_fields_set and "recorded" in self.model_fields_set:
            self.__dict__["tool_calls_reported"] = True
        return self

    @cached_property
    def around(self) -> Around:
        """The agents around each span. A trace sets it, for its turns."""
        return Around(Agents(), (-1,) * len(self.recorded))

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy. Of spans that are changed nobody knows which agents are around them, but from their parents."""
        copy = super().model_copy(update=update, deep=deep)
        if update and "recorded" in update:
            copy.__dict__.pop("around", None)
        return copy

    def spans(self, kind: str | None = None) -> tuple[Span, ...]:
        """The spans of the turn in their order, or those of one kind.

        Raises:
            InvalidInput: An unknown kind.
        """
        return of_kind(self.recorded, kind)

    @property
    def trace(self) -> Trace:
        """The turn's own trace: itself alone. Its spans stay inside the agents that they are in in the whole trace."""
        return Trace(turns=(self,))


class Trace(Schema):
    """What happened in a run, or in a conversation of several turns.

    It is frozen, but the JSON values in it (inputs, outputs, attributes) are plain lists and dicts, which nothing keeps
    a metric from changing.

    Spans are in the order in which they started, if all spans of their turn say when; else in the order of the log.
    Parents may be missing, come later or lead in a circle (then the first of them, in the order of the log, counts as
    having none); no span is lost.

    Attributes:
        id: As recorded; None where it was not.
        conversation_id: What the traces of one conversation share.
        test_id: The test that it is a run of.
        turns: In their order.
        attributes: All else that was recorded.

    Examples:
        >>> trace = Trace.from_parts(input="Refund order 42", output="Refunded.",
        ...                          tool_calls=[{"name": "issue_refund", "arguments": {"order": 42}, "output": "ok"}])
        >>> [call.name for call in trace.tool_calls], trace.output, len(trace.turns)
        (['issue_refund'], 'Refunded.', 1)
    """

    id: str | None = None
    conversation_id: str | None = None
    test_id: str | None = None
    turns: tuple[Turn, ...] = ()
    attributes: dict[str, JsonValue] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _linked(self) -> Self:
        """Put the spans in order and say which agents are around them, once."""
        self.__dict__["turns"] = tuple(_link(self.turns))
        return self

    @classmethod
    def from_parts(
        cls,
        *,
        input: JsonValue = None,
        output: JsonValue = None,
        tool_calls: object = None,
        context: Sequence[JsonValue] | None = None,
        spans: Iterable[Span | Mapping[str, Any]] | None = None,
        id: str | None = None,
        conversation_id: str | None = None,
        test_id: str | None = None,
        attributes: Mapping[str, JsonValue] | None = None,
    ) -> Trace:
        """Make a trace of one turn out of what was reported of it.

        Args:
            input: What the user said.
            output: The answer.
            tool_calls: The calls made, in any shape that a tool call has (README, "Shapes of tool calls"), with
                ``output``, ``status`` and ``error`` where known. ``[]`` if none was made; None: not reported.
            context: What was retrieved. Texts or documents are those of one retrieval; lists of them, or objects with
                ``documents`` and perhaps a ``query``, are a retrieval each.
            spans: Further spans. If any list of them is given, the run was traced, and tool calls count as reported.
            id: Of the trace.
            conversation_id: What the traces of one conversation share.
            test_id: The test that it is a run of.
            attributes: All else.

        Raises:
            InvalidInput: A value that can't be, with the path to it.
            InvalidType: Something of the wrong type, with the path to it.
        """
        calls = _core.read_tool_calls(tool_calls, "tool_calls")
        recorded = [Span.read(span, "context") for span in _retrievals(_core.read_value(context, "context"))]
        others = _spans_of(spans)
        # A call that is a span too is told by the span, which knows more of it.
        told = {span.id for span in others if span.kind == "tool_call" and span.id is not None}
        recorded += [
            _call(call, f"tool_calls[{place}]") for place, call in enumerate(calls or ()) if call["id"] not in told
        ]
        recorded += others
        turn = {
            "input": _core.read_value(input, "input"),
            "output": _core.read_value(output, "output"),
            "spans": recorded,
            "tool_calls_reported": calls is not None or spans is not None,
        }
        trace = {"id": id, "conversation_id": conversation_id, "test_id": test_id, "turns": [Turn.read(turn)]}
        return cls.read({**trace, "attributes": dict(attributes or {})})

    @classmethod
    def from_messages(cls, messages: object, **about: Any) -> Trace:
        """Make a trace out of the messages of a conversation, whoever wrote them.

        A user message starts a turn, and everything up to the next one belongs to it, also the calls of an assistant
        message without text. ``callmatch.from_messages`` is the same function.

        Args:
            messages: Of any provider or framework that docs/traces.md ("Messages") lists: a list, a request or
                response, pairs of them, or a stream; as dicts, objects of an SDK or JSON text.
            **about: ``id``, ``conversation_id``, ``test_id``, ``attributes`` of the trace.

        Raises:
            InvalidInput: A value that can't be, with the path to it, or messages that fit two dialects.
            InvalidType: Something of the wrong type, with the path to it, or messages that no dialect reads.

        Examples:
            >>> trace = Trace.from_messages([
            ...     {"role": "user", "content": "Hello"},
            ...     {"role": "assistant", "content": "Hello! How can I help?"},
            ... ])
            >>> trace.input, trace.output, trace.tool_calls
            ('Hello', 'Hello! How can I help?', ())
        """
        turns = _core.read_messages(messages, "messages")
        for number, turn in enumerate(turns, 1):
            where = f"messages (turn {number}, call "
            turn["spans"] = [_call(call, f"{where}{place})") for place, call in enumerate(turn["spans"], 1)]
        return cls.read({**about, "turns": turns})

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Trace:
        """Read a file that holds one trace, in any of the formats that `callmatch.read` finds.

        Raises:
            OSError: A file that is missing or may not be read.
            InvalidInput: Not one trace, of which `callmatch.read` reads several; or what that refuses.

        Examples:
            >>> Trace.from_file("examples/refund_traces.jsonl")
            Traceback (most recent call last):
            callmatch.errors.InvalidInput: examples/refund_traces.jsonl: expected one trace, found 4
        """
        from callmatch.readers import Traces  # noqa: PLC0415

        return Traces(path).only()

    @classmethod
    def joined(cls, traces: Iterable[Trace]) -> Trace:
        """Make one trace out of those of a conversation, in their order. It has the ids of the first.

        Raises:
            InvalidInput: No trace, or traces of several conversations.
        """
        parts = list(traces)
        for part in parts:
            if not isinstance(part, Trace):
                raise InvalidType(f"trace: expected traces, got {type(part).__name__}", "trace")
        ids = sorted({part.conversation_id for part in parts if part.conversation_id is not None})
        if not parts:
            raise InvalidInput("trace: expected at least one", "trace")
        if len(ids) > 1:
            raise InvalidInput(f"trace: they are of several conversations: {', '.join(map(repr, ids[:3]))}", "trace")
        if len(parts) == 1:
            return parts[0]
        # Not through the constructor: the ids of spans mean nothing outside their own trace.
        return cls.model_construct(
            id=parts[0].id,
            conversation_id=ids[0] if ids else None,
            test_id=parts[0].test_id,
            turns=tuple(turn for part in parts for turn in _on_its_own(part, len(parts))),
            attributes={key: value for part in reversed(parts) for key, value in part.attributes.items()},
        )

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy; if it has other turns, these are put in order."""
        if update and "turns" in update:
            return type(self)(**{**{name: getattr(self, name) for name in type(self).model_fields}, **update})
        return super().model_copy(update=update, deep=deep)

    def spans(self, kind: str | None = None) -> tuple[Span, ...]:
        """All spans in their order, or those of one kind.

        Raises:
            InvalidInput: An unknown kind.
        """
        return of_kind(self._spans, kind)

    @cached_property
    def _spans(self) -> tuple[Span, ...]:
        return tuple(span for turn in self.turns for span in turn.recorded)

    @property
    def tool_calls(self) -> tuple[Span, ...]:
        """The tool calls, those of sub-agents too.

        Raises:
            NotRecorded: They were not reported, which is not the same as none: see `tool_calls_reported`.
        """
        if not self.tool_calls_reported:
            raise NotRecorded("the tool calls of this trace were not reported", "tool_calls")
        return self._tool_calls

    @cached_property
    def _tool_calls(self) -> tuple[Span, ...]:
        return self.spans("tool_call")

    @property
    def tool_calls_reported(self) -> bool:
        """Whether it is known of every turn which tools were called."""
        return all(turn.tool_calls_reported for turn in self.turns) and bool(self.turns)

    @cached_property
    def retrievals(self) -> tuple[Span, ...]:
        """The retrievals."""
        return self.spans("retrieval")

    @cached_property
    def agents(self) -> tuple[Span, ...]:
        """The work of agents, sub-agents among them."""
        return self.spans("agent")

    @property
    def input(self) -> JsonValue:
        """What the last turn was given: the message that the response answers. None without one."""
        return self.turns[-1].input if self.turns else None

    @property
    def output(self) -> JsonValue:
        """The response, which is the output of the last turn; None if there was none."""
        return self.turns[-1].output if self.turns else None

    @cached_property
    def context(self) -> list[JsonValue] | None:
        """What was retrieved, document by document; None if no retrieval was recorded, or one without what it found."""
        outputs = [span.output for span in self.retrievals]
        if not outputs or None in outputs:
            return None
        return [document for output in outputs for document in (output if isinstance(output, list) else [output])]

    @property
    def messages(self) -> list[dict[str, JsonValue]]:
        """The conversation: what was said, and the tools called in between with what they gave.

        A message has ``role`` and ``content``. A call is an assistant's message with ``tool_calls`` (``id``, ``name``,
        ``arguments``) and, where its output is known, one of the role ``tool`` with ``name`` after it.
        """
        return [message for turn in self.turns for message in _messages(turn)]


def of_kind(spans: tuple[Span, ...], kind: str | None) -> tuple[Span, ...]:
    """The spans of a kind, or all."""
    if kind is None:
        return spans
    kind = str(span_kind(kind))
    if kind not in SPAN_KINDS:
        raise InvalidInput(_core.one_of("kind", kind, list(SPAN_KINDS)), "kind")
    return tuple([span for span in spans if span.kind == kind])


class Agents:
    """The agents around spans: the name of each, and which of them is around it (-1: none), after which it comes.

    Flat, so that however deep agents are nested, nothing that walks, copies or pickles it recurses.
    """

    def __init__(self) -> None:
        self.names: list[str | None] = []
        self.outer: list[int] = []

    def add(self, name: str | None, outer: int) -> int:
        """Add an agent inside another one, and tell its place."""
        self.names.append(name)
        self.outer.append(outer)
        return len(self.names) - 1

    def inside(self, name: str) -> list[bool]:
        """For each, whether what it is around is inside an agent of this name; the last is for what is in none."""
        inside: list[bool] = []
        for own, outer in zip(self.names, self.outer, strict=True):
            inside.append(own == name or (outer >= 0 and inside[outer]))
        return [*inside, False]

    def include(self, others: Agents, place: int, places: dict[tuple[int, int], int]) -> int:
        """Add an agent of others with those around it, unless they are there: `places` remembers."""
        path = []
        while place >= 0 and (id(others), place) not in places:
            path.append(place)
            place = others.outer[place]
        own = places[id(others), place] if place >= 0 else -1
        for place in reversed(path):
            own = places[id(others), place] = self.add(others.names[place], own)
        return own


class Around(NamedTuple):
    """Where among the agents each span of a turn is."""

    agents: Agents
    places: tuple[int, ...]


def _link(turns: Sequence[Turn]) -> Iterator[Turn]:
    """The turns with their spans in order, and the agents around each of them. Linear, whatever the parents are."""
    spans = [span for turn in turns for span in turn.recorded]
    agents, included = Agents(), dict[tuple[int, int], int]()
    # The agents around those spans whose parents are not in the trace, if another trace knew them.
    known = [agents.include(turn.around.agents, place, included) for turn in turns for place in turn.around.places]
    around, depths = [-1] * len(spans), [-1] * len(spans)
    within: dict[int, int] = {}
    parents = _parents(turns, spans)
    for start in range(len(spans)):
        for place in reversed(_path_up(start, parents, depths)):
            span, parent = spans[place], parents[place]
            if parent < 0:
                inner, depths[place] = known[place], 0
            else:
                inner, depths[place] = around[parent], depths[parent] + 1
                if spans[parent].kind == "agent":
                    if parent not in within:
                        within[parent] = agents.add(spans[parent].name, inner)
                    inner = within[parent]
            if span.agent is not None and (inner < 0 or agents.names[inner] != span.agent):
                inner = agents.add(span.agent, inner)
            around[place] = inner
    stop = 0
    for turn in turns:
        own = range(stop, stop + len(turn.recorded))
        stop = own.stop
        order = _order(spans, depths, own)
        named = (_with_agent(spans[place], agents, around[place]) for place in order)
        linked = turn.model_copy(update={"recorded": tuple(named)})
        linked.__dict__["around"] = Around(agents, tuple(around[place] for place in order))
        yield linked


def _parents(turns: Sequence[Turn], spans: Sequence[Span]) -> list[int]:
    """The place of each span's parent, or -1. Of several with an id, the first in the span's own turn is meant."""
    everywhere: dict[str, int] = {}
    for place, span in enumerate(spans):
        if span.id is not None:
            everywhere.setdefault(span.id, place)
    parents: list[int] = []
    for turn in turns:
        nearby: dict[str, int] = {}
        for place, span in enumerate(turn.recorded, len(parents)):
            if span.id is not None:
                nearby.setdefault(span.id, place)
        for span in turn.recorded:
            id = span.parent_id
            parents.append(-1 if id is None else nearby.get(id, everywhere.get(id, -1)))
    return parents


def _path_up(start: int, parents: list[int], depths: list[int]) -> list[int]:
    """The spans from this one up to the first that is known or has no parent. Cuts a circle at its first span."""
    path: list[int] = []
    on_path: set[int] = set()
    place = start
    while place >= 0 and depths[place] < 0:
        if place in on_path:
            parents[min(path[path.index(place) :])] = -1
            return _path_up(start, parents, depths)
        path.append(place)
        on_path.add(place)
        place = parents[place]
    return path


def _order(spans: Sequence[Span], depths: Sequence[int], own: range) -> Sequence[int]:
    """The order of a turn's spans: by their start, parents first; as in the log, unless all say when they started."""
    starts = [span.started_at for span in spans[own.start : own.stop]]
    times = [_utc(start) for start in starts if start is not None]
    if not times or len(times) < len(starts):
        return own
    return sorted(own, key=lambda place: (times[place - own.start], depths[place]))


def _utc(time: datetime) -> datetime:
    return time.replace(tzinfo=timezone.utc) if time.tzinfo is None else time


def _with_agent(span: Span, agents: Agents, place: int) -> Span:
    return span if place < 0 or span.agent is not None else span.model_copy(update={"agent": agents.names[place]})


def _spans_of(spans: object) -> list[Span]:
    if spans is None:
        return []
    if not isinstance(spans, Iterable) or isinstance(spans, (str, bytes, Mapping)):
        raise InvalidType(f"spans: expected a list of spans, got {type(spans).__name__}", "spans")
    return [Span.read(span, f"spans[{place}]") for place, span in enumerate(spans)]


def _call(call: dict[str, Any], where: str) -> Span:
    """A tool call as the core reads it. A time that can't be read is kept, but not as a time."""
    unread = {}
    for key in ("started_at", "ended_at"):
        try:
            call[key] = TIME.validate_python(call[key])
        except ValidationError:
            unread[key] = call.pop(key)
    return Span.read({"kind": "tool_call", "attributes": unread, **call}, where)


TIME = TypeAdapter[datetime | None](datetime | None)


def _on_its_own(trace: Trace, parts: int) -> Iterator[Turn]:
    """The turns of a trace that is to be joined with others, in which its spans must find no parents."""
    own = {span.id for span in trace.spans()}
    for turn in trace.turns:
        if parts == 1 or all(span.parent_id is None or span.parent_id in own for span in turn.recorded):
            yield turn
            continue
        spans = [
            span if span.parent_id in own else span.model_copy(update={"parent_id": None}) for span in turn.recorded
        ]
        copy = turn.model_copy(update={"recorded": tuple(spans)})
        copy.__dict__["around"] = turn.around
        yield copy


def _retrievals(context: object) -> Iterator[dict[str, Any]]:
    """The retrievals that a reported context stands for."""
    if context is None:
        return
    if isinstance(context, str) or not isinstance(context, Sequence):
        raise InvalidType(f"context: expected a list of texts or documents, got {type(context).__name__}", "context")
    each = [_retrieval(item) for item in context]
    if all(each):
        yield from (retrieval for retrieval in each if retrieval)
    elif any(each):
        mixed = "either documents, or retrievals (lists of documents, or objects with documents), not both"
        raise InvalidInput(f"context: expected {mixed}", "context")
    else:
        yield {"kind": "retrieval", "output": list(context)}


def _retrieval(item: object) -> dict[str, Any] | None:
    if isinstance(item, Mapping) and "documents" in item:
        others = {str(key): value for key, value in item.items() if key not in ("query", "documents")}
        return {"kind": "retrieval", "input": item.get("query"), "output": item["documents"], "attributes": others}
    if isinstance(item, Sequence) and not isinstance(item, str):
        return {"kind": "retrieval", "output": list(item)}
    return None


def _messages(turn: Turn) -> Iterator[dict[str, JsonValue]]:
    if turn.input is not None:
        yield {"role": "user", "content": turn.input}
    for call in turn.spans("tool_call"):
        yield {"role": "assistant", "tool_calls": [{"id": call.id, "name": call.name, "arguments": call.input}]}
        if call.output is not None:
            yield {"role": "tool", "name": call.name, "content": call.output}
    if turn.output is not None:
        yield {"role": "assistant", "content": turn.output}
