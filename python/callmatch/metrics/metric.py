"""What all metrics have in common: a name, a target, a config, and how verdicts on several things become one."""

from __future__ import annotations

import math
import operator
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, TypedDict

from pydantic import Field, JsonValue, field_validator, model_validator
from typing_extensions import Self, Unpack

from callmatch import _core
from callmatch.concurrency import in_thread
from callmatch.errors import InvalidInput, InvalidType, one_of, unknown_keyword
from callmatch.results import PASSED, MetricResult, Verdict
from callmatch.schema import Schema, checked
from callmatch.targets import NOUNS, On, Subject, Target, TargetLike, nothing_found, resolve
from callmatch.trace import Span, Trace

__all__ = ["Bar", "Case", "EachMetric", "Metric", "Outcome", "Parts"]

TraceLike = Trace | Sequence[Trace] | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """What a metric judges, and what that is held to."""

    trace: Trace
    expected_output: str | None = None
    expected_tool_calls: Sequence[Any] | None = None
    goal: str | None = None
    instructions: str | None = None
    restrictions: str | None = None


class Outcome(NamedTuple):
    """What a metric says of one thing."""

    score: float | str | None
    verdict: Verdict
    reason: str
    details: Mapping[str, Any] = {}


Operator = Literal[">=", ">", "<=", "<", "=", "!="]

OPERATORS: dict[Operator, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
    "=": operator.eq,
    "!=": operator.ne,
}
"""How a score is held against a threshold."""


class Bar(NamedTuple):
    """What a score has to be to pass."""

    operator: Operator
    threshold: float

    def holds(self, score: float) -> bool:
        """Whether it is that."""
        return OPERATORS[self.operator](score, self.threshold)

    def __str__(self) -> str:
        return f"{self.operator} {self.threshold:g}"


class Metric(Schema):
    """Something that judges what an agent did.

    Attributes:
        name: The name that results carry.
        target: What of a trace it judges.

    The options of a metric are set when it is made, or all at once by setting its `config`.
    """

    type: ClassVar[str]
    """What the kind of metric is called in a config."""

    name: str = Field(examples=["polite"])
    target: Target = Target()

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if "type" in cls.__dict__:
            KINDS[cls.type] = cls

    @property
    @abstractmethod
    def takes(self) -> tuple[On, ...]:
        """The targets that the metric can take, by their ``on``."""

    @field_validator("target", mode="before")
    @classmethod
    @checked
    def _target_by_its_word(cls, target: Any) -> Target:
        return Target.of(target)

    @field_validator("name")
    @classmethod
    def _can_be_written(cls, name: str) -> str:
        if not name:
            raise InvalidInput("name is empty", "name")
        try:
            name.encode()
        except UnicodeEncodeError:
            raise InvalidInput(f"name holds a lone surrogate: {name!r}", "name") from None
        return name

    @model_validator(mode="after")
    def _can_take_its_target(self) -> Self:
        self._checked(self.target)
        return self

    def _checked(self, target: TargetLike) -> Target:
        """The target, if the metric can take it.

        Raises:
            InvalidInput: It can't, and those that it can take.
        """
        target = Target.of(target)
        if target.on not in self.takes:
            takes = self.takes
            words = f"{', '.join(takes[:-1])} or {takes[-1]}" if len(takes) > 1 else takes[0]
            raise InvalidInput(f"{self.name} can't take the target {target.on}; it takes {words}", "target")
        if target.aggregate == "mean" and self._bar is None:
            why = "needs scores that are numbers, and a threshold to hold their mean against"
            raise InvalidInput(f'the aggregate "mean" {why}, which {self.name} does not have', "target.aggregate")
        return target

    @property
    def _bar(self) -> Bar | None:
        """What a score is held against, if it is a number; so is the mean of several."""
        return None

    # -- config

    @property
    def config(self) -> dict[str, Any]:
        """All options, as JSON and YAML can hold them, with the kind of the metric as ``type``.

        Setting it replaces the whole: what the new config does not give goes back to its default.

        Raises:
            InvalidInput: A key or value that can't be, a target that the metric can't take, or another kind of metric.
        """
        written = self.model_dump(mode="json", exclude=self._not_in_config())
        return {"type": self.type, **written, "target": self.target.short()}

    def _not_in_config(self) -> set[str]:
        """The options that no text can hold."""
        return set()

    @classmethod
    def from_config(cls, config: Mapping[str, Any], where: str = "config", **objects: Any) -> Self:
        """Make a metric out of its config.

        Args:
            config: The options, with ``type`` unless it is asked of the class of the metric itself.
            where: How errors call the place of the config.
            **objects: Options that no text can hold, such as the ``model`` of a judge; those that the kind of metric
                doesn't have are not used.

        Raises:
            InvalidInput: A key or value that can't be, with the path to it.
            InvalidType: Something of the wrong type.
        """
        from callmatch import metrics  # noqa: F401, PLC0415 - all kinds are known once it is imported

        if not isinstance(config, Mapping):
            raise InvalidType(f"{where}: expected a mapping, got {type(config).__name__}", where)
        own = getattr(cls, "type", None)
        kind = config.get("type", own)
        kinds = KINDS if own is None else {own: cls}
        if kind is None:
            raise InvalidInput(f"{where}: it has no type, which is one of {', '.join(kinds)}", where)
        if not isinstance(kind, str):
            words = ", ".join(kinds)
            raise InvalidType(f"{where}.type: type is one of {words}, not {type(kind).__name__}", f"{where}.type")
        if kind not in kinds:
            raise InvalidInput(f"{where}.type: {one_of('type', kind, kinds)}", f"{where}.type")
        found: Any = kinds[kind]
        options = {key: value for key, value in config.items() if key != "type"}
        # A null in a file doesn't take away what is given beside it.
        options |= {key: objects[key] for key in found.model_fields.keys() & objects if options.get(key) is None}
        return found.read(options, where)  # type: ignore[no-any-return]

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "config":
            raise AttributeError(f"{name} can't be set alone; set the config of the metric, which replaces the whole")
        objects = {key: getattr(self, key) for key in self._not_in_config()}
        object.__setattr__(self, "__dict__", type(self).from_config(value, **objects).__dict__)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{name} can't be taken away; set the config of the metric, which replaces the whole")

    # -- judging

    @abstractmethod
    def _evaluate_case(self, case: Case, target: Target) -> MetricResult: ...

    async def _evaluate_case_async(self, case: Case, target: Target) -> MetricResult:
        # It may take long, and nobody else should have to wait.
        return await in_thread(lambda: self._evaluate_case(case, target))


KINDS: dict[str, type[Metric]] = {}
"""Every kind of metric by its type."""


class Parts(TypedDict, total=False):
    """What can be given to `evaluate`."""

    input: JsonValue
    output: JsonValue
    tool_calls: object
    context: Sequence[JsonValue] | None
    spans: Sequence[Span | Mapping[str, Any]] | None
    messages: object
    trace: TraceLike | None
    expected_output: str | None
    goal: str | None
    instructions: str | None
    restrictions: str | None
    target: TargetLike | None


RECORDED = ("input", "output", "tool_calls", "context", "spans", "messages")


class EachMetric(Metric):
    """A metric that judges a whole, or one by one the turns or spans that its target finds.

    Attributes:
        max_spans: At most so many turns or spans are judged, which are the first.
    """

    max_spans: int = Field(default=25, strict=True, gt=0)

    def evaluate(self, **parts: Unpack[Parts]) -> MetricResult:
        """Judge a trace, or what the parts tell of one.

        Args:
            **parts: What is judged is given as a ``trace`` (or the traces of a conversation, in their order), as
                ``messages``, or as the parts of one turn: ``input``, ``output``, ``tool_calls``, ``context`` and
                ``spans`` (`Trace.from_parts`). What it is held to: ``expected_output``, ``goal``, ``instructions``,
                ``restrictions``. ``target``: what of the trace is judged, in place of the metric's own target.

        Returns:
            The result. For turns and spans the score is the share that passed (or the mean), `spans` lists each that
            was judged (``index``, ``id``, ``name``, ``score``, ``verdict``, ``reason``), and `details` hold ``found``,
            ``judged``, ``passed``, ``failed`` and ``without_verdict`` (counts), and ``first_failed`` (an index). If
            nothing was found it is ``not_applicable``; if nothing got a verdict, ``inconclusive``, or ``error`` if that
            is what became of one.

        Raises:
            InvalidInput: A value that can't be, or a target that the metric can't take.
            InvalidType: Something of the wrong type, or an unknown keyword.
        """
        return self._evaluate_case(*self._case(parts))

    async def evaluate_async(self, **parts: Unpack[Parts]) -> MetricResult:
        """Judge as `evaluate` does, without blocking."""
        return await self._evaluate_case_async(*self._case(parts))

    def _case(self, parts: Parts) -> tuple[Case, Target]:
        given = {key: value for key, value in parts.items() if value is not None}
        if unknown := given.keys() - Parts.__annotations__.keys():
            raise unknown_keyword("evaluate", unknown, Parts.__annotations__)
        target: Any = given.pop("target", None)
        trace = trace_of({key: given.pop(key) for key in (*RECORDED, "trace") if key in given})
        for key, value in given.items():
            if not isinstance(value, str):
                raise InvalidType(f"{key} is a string, not {type(value).__name__}", key)
        case = Case(trace, **given)  # type: ignore[arg-type]
        return case, self.target if target is None else self._checked(target)

    def _evaluate_case(self, case: Case, target: Target) -> MetricResult:
        found = resolve(case.trace, target)
        return self._combined(case, target, found, self._outcomes(found[: self.max_spans], case))

    async def _evaluate_case_async(self, case: Case, target: Target) -> MetricResult:
        found = resolve(case.trace, target)
        return self._combined(case, target, found, await self._outcomes_async(found[: self.max_spans], case))

    @abstractmethod
    def _outcomes(self, subjects: Sequence[Subject], case: Case) -> list[Outcome]:
        """What the metric says of each. A crash on one is that one's error."""

    async def _outcomes_async(self, subjects: Sequence[Subject], case: Case) -> list[Outcome]:
        return await in_thread(lambda: self._outcomes(subjects, case))

    def _combined(
        self, case: Case, target: Target, found: Sequence[Subject], outcomes: Sequence[Outcome]
    ) -> MetricResult:
        if not found:
            reason = nothing_found(case.trace, target)
            details = {"reason": reason, "target": target.short(), "found": 0}
            return MetricResult._of(self.name, None, "not_applicable", None, reason, details)
        if not target.is_several:
            score, verdict, reason, more = outcomes[0]
            reason = _core.printable(reason)
            details = {**more, "reason": reason, "target": target.short()}
            return MetricResult._of(self.name, score, verdict, PASSED.get(verdict), reason, details)
        return combined(self, target, found, outcomes)


def trace_of(given: Mapping[str, Any]) -> Trace:
    """The trace that was given, as a whole or in parts.

    Raises:
        InvalidInput: Several of a trace, messages, and parts.
    """
    whole = [key for key in ("trace", "messages") if key in given]
    if whole and len(given) > 1:
        other = next(key for key in given if key != whole[0])
        raise InvalidInput(f"{whole[0]} holds all that was recorded, so {other} can't be given beside it", other)
    if "messages" in given:
        return Trace.from_messages(given["messages"])
    if "trace" not in given:
        return Trace.from_parts(**given)
    trace = given["trace"]
    if isinstance(trace, Trace):
        return trace
    if isinstance(trace, Mapping):
        return Trace.read(trace, "trace")
    if isinstance(trace, Sequence) and not isinstance(trace, (str, bytes)):
        return Trace.joined(trace)
    raise InvalidType(f"expected a Trace, or those of a conversation, got {type(trace).__name__}", "trace")


def combined(metric: Metric, target: Target, found: Sequence[Subject], outcomes: Sequence[Outcome]) -> MetricResult:
    """One result out of what was judged one by one (our definition; docs/targets.md).

    What has no verdict is left out of the count. Nothing with one: inconclusive, or an error if that is what became of
    one of them.
    """
    verdicts = [outcome.verdict for outcome in outcomes]
    passed, failed = verdicts.count("passed"), verdicts.count("failed")
    first_failed = verdicts.index("failed") if failed else None
    counted = passed + failed
    without = len(verdicts) - counted
    printable = _core.printable
    spans = [
        {
            "index": subject.index,
            "id": subject.id,
            "name": subject.name,
            "score": outcome.score,
            "verdict": outcome.verdict,
            "reason": printable(outcome.reason),
        }
        for subject, outcome in zip(found, outcomes, strict=False)
    ]
    many = NOUNS[target.on][1]
    notes = []
    if len(found) > len(spans):
        notes.append(f"the first {len(spans)} of {len(found)} were judged")
    score: float | None = None
    verdict: Verdict
    if counted == 0:
        verdict = "error" if "error" in verdicts else "inconclusive"
        if verdict == "error":
            told = _told(spans[verdicts.index("error")], target.on, "first that crashed")
        else:
            told = _told(spans[0], target.on, "first")
        reason = f"None of {len(spans)} {many} got a verdict{_noted(notes)}; {told}"
    else:
        if without:
            notes.append(f"{without} without a verdict left out")
        score, holds, bar = _held(metric, target, passed, counted, spans)
        verdict = "error" if holds is None else "passed" if holds else "failed"
        reason = f"{passed} of {counted} {many} passed{bar}{_noted(notes)}"
        if holds is False and first_failed is not None:
            reason += f"; {_told(spans[first_failed], target.on, 'first that failed')}"
    details = {
        "reason": reason,
        "target": target.short(),
        "found": len(found),
        "judged": len(spans),
        "passed": passed,
        "failed": failed,
        "without_verdict": without,
        "first_failed": first_failed,
    }
    return MetricResult._of(metric.name, score, verdict, PASSED.get(verdict), reason, details, spans)


def _held(
    metric: Metric, target: Target, passed: int, counted: int, spans: list[dict[str, Any]]
) -> tuple[float | None, bool | None, str]:
    """The score, whether it is enough (None: there is none), and what would be, where that isn't plain."""
    share = passed / counted
    match target.aggregate:
        case "mean":
            scores = [span["score"] for span in spans if span["verdict"] in PASSED]
            if other := [score for score in scores if not isinstance(score, (int, float))]:
                return None, None, f", but there is no mean score with {other[0]!r} among them"
            mean, bar = math.fsum(scores) / counted, metric._bar
            return mean, bar is not None and bar.holds(mean), f", with a mean score of {mean:.4g} ({bar} is needed)"
        case "all":
            return share, passed == counted, ""
        case "any":
            return share, passed > 0, ""
        case "majority":
            return share, 2 * passed > counted, "" if 2 * passed > counted else " (more than half must)"
        case least:
            # Both are the floats nearest to what is meant, so 7 of 10 are a share of 0.7.
            return share, share >= least, "" if share >= least else f" (a share of {least:g} must)"


def _noted(notes: list[str]) -> str:
    return f" ({'; '.join(notes)})" if notes else ""


def _told(span: dict[str, Any], on: On, which: str) -> str:
    """Which one it was, and what became of it."""
    name = f"`{_core.printable(span['name'])}`, " if span["name"] is not None else ""
    return f"the {which} is {name}{NOUNS[on][0]} {span['index'] + 1}: {span['reason']}"
