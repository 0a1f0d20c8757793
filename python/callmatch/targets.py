"""What of a trace a metric judges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple, get_args

from pydantic import BeforeValidator, Field, JsonValue, model_validator
from typing_extensions import Self

from callmatch import _core
from callmatch.errors import InvalidInput, InvalidType
from callmatch.schema import Schema, checked
from callmatch.trace import SPAN_KINDS, Span, SpanKind, Trace, Turn, span_kind

__all__ = ["Aggregate", "Names", "On", "Subject", "Target", "TargetLike", "resolve"]

On = Literal["response", "turn", "conversation", "run"] | SpanKind
ON: tuple[On, ...] = ("response", "turn", "conversation", "run", *SPAN_KINDS)

Names = Literal["exact", "last_segment"]
"""Whether a recorded name is the wanted one: as a whole, or also by its last segment."""

AggregateWord = Literal["all", "any", "majority", "mean"]
Aggregate = AggregateWord | float

NOUNS: dict[On, tuple[str, str]] = {
    "turn": ("turn", "turns"),
    "tool_call": ("tool call", "tool calls"),
    "retrieval": ("retrieval", "retrievals"),
    "agent": ("agent", "agents"),
    "llm": ("LLM call", "LLM calls"),
    "embedding": ("embedding", "embeddings"),
    "rerank": ("rerank", "reranks"),
    "guardrail": ("guardrail", "guardrails"),
    "handoff": ("handoff", "handoffs"),
    "chain": ("chain", "chains"),
}
"""What the things are called that a target may find several of: one, and many."""

RECORDED_BY: dict[On, str] = {
    "turn": "A user message starts a turn: give the messages of the conversation, or an input and an output.",
    "tool_call": "Report the calls in `tool_calls`, or trace the tools as spans of the kind `tool_call`.",
    "retrieval": "Report what was retrieved in `context`, or trace retrievals as spans of the kind `retrieval`.",
}
"""What would record them."""


def _aggregate(value: object) -> object:
    """Hold the aggregate against its words; a share is a number above 0 and up to 1."""
    words = get_args(AggregateWord)
    if isinstance(value, str):
        if value not in words:
            raise InvalidInput(_core.one_of("aggregate", value, list(words)) + ", nor a share such as 0.8", "aggregate")
    elif isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidType(f"aggregate is one of {', '.join(words)}, or a share such as 0.8", "aggregate")
    elif not 0 < value <= 1:
        raise InvalidInput(f"a share is above 0 and at most 1, not {value!r}", "aggregate")
    return value


def _on(word: object) -> object:
    word = span_kind(word)
    if not isinstance(word, str):
        raise InvalidType(f"on is one of {', '.join(ON)}, not {type(word).__name__}", "on")
    if word not in ON:
        raise InvalidInput(_core.one_of("on", word, list(ON)), "on")
    return word


class Target(Schema):
    """What of a trace a metric judges, and how the verdicts on several things become one (our definition).

    Attributes:
        on: ``response`` (as a whole), ``turn`` (each), ``conversation`` (as one), ``run`` (as a whole), or a kind of
            span (each): ``tool_call``, ``retrieval``, ``agent``, ``llm`` (or ``model``), ``embedding``, ``rerank``,
            ``guardrail``, ``handoff``, ``chain``.
        name: Only spans with this tool, agent or model name.
        names: Whether ``name`` is the whole name (``exact``), or may also be its last segment (``last_segment``), as
            ``create_issue`` is of ``mcp__github__create_issue``.
        within: Only spans inside the agent with this name, at any depth.
        aggregate: When what was judged one by one passes as a whole: ``all``, ``any``, ``majority`` (more than half), a
            share such as 0.8 (at least so much) of those with a verdict passed; ``mean``: their mean score holds
            against the metric's threshold.

    Raises:
        InvalidInput: An unknown word; ``name`` or ``within`` for what is no span; ``names`` without a ``name``;
            ``aggregate`` for what is only one.

    Examples:
        >>> Target(on="tool_call", name="issue_refund", aggregate="majority").on
        'tool_call'
    """

    on: Annotated[On, BeforeValidator(checked(_on))] = "response"
    name: str | None = Field(default=None, min_length=1)
    names: Names = "exact"
    within: str | None = Field(default=None, min_length=1)
    aggregate: Annotated[Aggregate, BeforeValidator(checked(_aggregate))] = "all"

    @model_validator(mode="after")
    def _refinements_fit(self) -> Self:
        for key in ("name", "within"):
            if getattr(self, key) is not None and self.on not in SPAN_KINDS:
                raise InvalidInput(f"{key} is for kinds of spans ({', '.join(SPAN_KINDS)}), not for {self.on}", key)
        if self.names != "exact" and self.name is None:
            raise InvalidInput("names says how a name is matched; give the name beside it", "names")
        if self.aggregate != "all" and not self.is_several:
            raise InvalidInput(
                f"aggregate is for turns and spans, of which there are several, not for {self.on}", "aggregate"
            )
        return self

    @property
    def is_several(self) -> bool:
        """Whether it finds any number of things, each of which is judged; else it is always one."""
        return self.on in NOUNS

    @classmethod
    def of(cls, target: TargetLike, where: str = "target") -> Target:
        """Read a target that is given by its word or as a mapping."""
        if isinstance(target, Target):
            return target
        if isinstance(target, str):
            target = {"on": target}
        elif not isinstance(target, Mapping):
            kind = type(target).__name__
            raise InvalidType(f'{where}: expected a word such as "tool_call" or {{"on": ...}}, got {kind}', where)
        return cls.read(target, where)

    def short(self) -> str | dict[str, Any]:
        """The target as one would write it: its word alone, if that says all."""
        return {"on": self.on, **self._more} if self._more else self.on

    @cached_property
    def _more(self) -> dict[str, Any]:
        return self.model_dump(exclude={"on"}, exclude_defaults=True)


TargetLike = Target | str | Mapping[str, Any]


class Subject(NamedTuple):
    """One thing that a target found, with what a metric sees of it.

    Attributes:
        on: What it is.
        index: Its place among those found, from 0.
        id: The id of the span; None if it has none, and for all else.
        name: The tool, agent or model name of the span; None for all else.
        input: The message or input that it was given. For a retrieval without a query it is the input of its turn.
        output: What came out of it. For a tool call or a handoff without one it is empty text.
        trace: The whole trace; for a turn the turn's own.
        turn: The turn that it is, or is part of.
        span: The span that it is.
    """

    on: On
    index: int  # type: ignore[assignment]  # a place, not the method of tuples
    id: str | None
    name: str | None
    input: JsonValue
    output: JsonValue
    trace: Trace
    turn: Turn | None
    span: Span | None


def resolve(trace: Trace, target: TargetLike = "response") -> list[Subject]:
    """Find what a target means in a trace (our definition; docs/targets.md).

    Args:
        trace: Where to look.
        target: What to look for.

    Returns:
        What was found, in the order of the trace, without a limit. ``response``, ``conversation`` and ``run`` are
        always one; of turns and spans there may be none.

    Raises:
        InvalidInput: A target that can't be.
        InvalidType: Not a trace, or not a target.

    Examples:
        >>> trace = Trace.from_parts(input="Hi", tool_calls=[{"name": "search"}, {"name": "reply", "output": "sent"}])
        >>> [(subject.name, subject.output) for subject in resolve(trace, "tool_call")]
        [('search', ''), ('reply', 'sent')]
        >>> resolve(trace, {"on": "tool_call", "name": "issue_refund"})
        []
    """
    if not isinstance(trace, Trace):
        raise InvalidType(f"trace: expected a Trace, got {type(trace).__name__}", "trace")
    target = Target.of(target)
    on = target.on
    if on == "turn":
        return [
            Subject(on, index, None, None, turn.input, turn.output, turn.trace, turn, None)
            for index, turn in enumerate(trace.turns)
        ]
    if on == "response":
        turn = trace.turns[-1] if trace.turns else None
        return [Subject(on, 0, None, None, trace.input, trace.output, trace, turn, None)]
    if not target.is_several:
        return [Subject(on, 0, None, None, None, None, trace, None, None)]
    return _spans(trace, target)


def _spans(trace: Trace, target: Target) -> list[Subject]:
    on, name = target.on, target.name
    by_segment = target.names == "last_segment"
    found: list[Subject] = []
    inside: dict[int, list[bool]] = {}
    new = tuple.__new__  # the constructor of a named tuple takes three times as long, and there may be many
    for turn in trace.turns:
        spans: Iterable[Span] = turn.recorded
        if target.within is not None:
            agents, places = turn.around
            # The turns of a trace share their agents.
            if id(agents) not in inside:
                inside[id(agents)] = agents.inside(target.within)
            is_inside = inside[id(agents)]
            spans = [span for span, place in zip(spans, places, strict=True) if is_inside[place]]
        for span in spans:
            if span.kind != on:
                continue
            if name is not None and span.name != name and not (by_segment and _is_last(name, span)):
                continue
            given, output = span.input, span.output
            if given is None and on == "retrieval":
                given = turn.input
            if output is None and on in ("tool_call", "handoff"):
                output = ""
            found.append(new(Subject, (on, len(found), span.id, span.name, given, output, trace, turn, span)))
    return found


def _is_last(name: str, span: Span) -> bool:
    """Whether a name is the last segment of a span's."""
    return span.name is not None and _core.last_segment(span.name) == name


def nothing_found(trace: Trace, target: Target) -> str:
    """Why a metric is not applicable where its target found nothing, and what would be found."""
    many = NOUNS[target.on][1]
    named = f" named `{_core.printable(target.name)}`" if target.name is not None else ""
    if target.names == "last_segment":
        named += " (or with that as the last segment)"
    within = f" inside the agent `{_core.printable(target.within)}`" if target.within is not None else ""
    said = f"No {many}{named}{within} were recorded."
    others = sorted({span.name for span in trace.spans(target.on) if span.name} - {target.name}) if named else []
    if others:
        listed = ", ".join(f"`{_core.printable(name)}`" for name in others[:MOST_NAMES])
        more = f" and {len(others) - MOST_NAMES} more" if len(others) > MOST_NAMES else ""
        said = f"{said} Those recorded are named {listed}{more}."
    by = RECORDED_BY.get(target.on, f"Trace them as spans of the kind `{target.on}`.")
    return f"{said} {by}"


MOST_NAMES = 5
