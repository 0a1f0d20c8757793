"""What a Tool Call Check says of one answer, as typed things over the plain data that the core made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, cast

from pydantic import JsonValue

from callmatch.results import PASSED, MetricResult
from callmatch.schema import Schema
from callmatch.toolcheck.batch import verdict_of

__all__ = [
    "AIMON_KEYS",
    "CheckId",
    "CheckVerdict",
    "Coverage",
    "Evidence",
    "Instruction",
    "ToolCallCheckResult",
    "to_aimon",
]

CheckId = Literal["tool_relevance", "result_fidelity", "status_consistency", "no_hallucination"]

CheckVerdict = Literal["followed", "violated", "undecided", "vacuous"]

DecidedBy = Literal["rules", "judge", "none"]

AIMON_KEYS = ("instruction", "label", "follow_probability", "explanation")
"""What AIMon's response has of each instruction."""


class Evidence(Schema):
    """One thing in the text, or missing in it, and what it was held against.

    Attributes:
        kind: ``number``, ``money``, ``percent``, ``date``, ``id``, ``phrase``, ``tool``, ``action`` …
        text: As it stands in the text; None for what is missing in it.
        start: Where it begins in the text, in code points: ``text[start:end]`` is it.
        end: Where it ends.
        relation: ``supported``, ``derived`` (worked out of results), ``echo`` (the user or an argument says it),
            ``unsupported`` (nothing says it), ``contradicted``, ``unchecked``, ``status_agrees``,
            ``status_disagrees``, ``called``, ``never_called``.
        source: What it was held against: a JSON pointer into the request, such as
            ``/tool_trace/0/response_payload/temp_c``.
        expected: The right value, where there is one.
        rule: The rule that found it.
        sentence: The number of the sentence that it is in, from 1.
    """

    kind: str
    text: str | None = None
    start: int | None = None
    end: int | None = None
    relation: str
    source: str | None = None
    expected: JsonValue = None
    rule: str | None = None
    sentence: int | None = None


class Instruction(Schema):
    """What became of one of the four instructions.

    Attributes:
        instruction: What the answer should do, as a sentence.
        label: Whether it does: True for followed and vacuous, False for violated, None for undecided.
        follow_probability: How likely it is that it does, from 0 to 1: an estimate for the rule that decided, not a
            model's confidence. 0.5 where undecided, 1.0 where vacuous.
        explanation: Why, beginning with the verdict; empty unless it was asked for.
        id: ``tool_relevance``, ``result_fidelity``, ``status_consistency`` or ``no_hallucination``.
        verdict: ``followed``; ``violated``; ``undecided`` (no rule decides it); ``vacuous`` (there was nothing that
            could have been violated).
        decided_by: ``rules``, ``judge``, or ``none`` where undecided.
        rules: The rules that fired, the deciding one first.
        probability_basis: What the probability rests on: the counts behind the rule, and where they are from.
        evidence: What was looked at, in the order of the text.
        notes: What did not decide, and may matter: what a judge objects, an error that the answer does not mention.
    """

    instruction: str
    label: bool | None
    follow_probability: float
    explanation: str = ""
    id: CheckId
    verdict: CheckVerdict
    decided_by: DecidedBy
    rules: tuple[str, ...] = ()
    probability_basis: JsonValue = None
    evidence: tuple[Evidence, ...] = ()
    notes: tuple[str, ...] = ()


class Coverage(Schema):
    """How much of the text rules could look at.

    Attributes:
        sentences: How many there are.
        unchecked_sentences: Those in which nothing could be checked: what they claim in words alone is not judged.
        mentions: Values in the text that can be checked: numbers, dates, ids …
        supported: Those that a result says.
        unsupported: Those that nothing says.
        contradicted: Those of which a result says otherwise.
    """

    sentences: int = 0
    unchecked_sentences: int = 0
    mentions: int = 0
    supported: int = 0
    unsupported: int = 0
    contradicted: int = 0


class ToolCallCheckResult(MetricResult):
    """The result of a Tool Call Check: a `MetricResult` that tells what became of each instruction.

    All of it is plain data in `details`; the properties show that as typed things. It says whether an answer is
    consistent with the trace, never that it is true.

    `score` is the lowest `follow_probability` over the instructions that were decided, from 0 to 1; None if none was,
    and then the verdict is ``inconclusive``. Where several turns were judged, it is as of any metric (docs/targets.md),
    and `checks` has the result of each.

    Examples:
        >>> from callmatch.metrics import ToolCallCheck
        >>> result = ToolCallCheck().evaluate(
        ...     user_query="Email the invoice to Dana",
        ...     generated_text="I've emailed the invoice to Dana.",
        ...     tool_trace=[{"tool_name": "send_email", "status": "failed", "error": "550 rejected",
        ...                  "request_payload": {"to": "Dana"}}],
        ... )
        >>> result.verdict, result.violated
        ('failed', ['status_consistency'])
        >>> result["status_consistency"].label
        False
    """

    @classmethod
    def of_report(cls, report: Mapping[str, Any], name: str, threshold: float) -> ToolCallCheckResult:
        """The result of a metric with a name, out of what the core and a judge found, or out of an ``error``."""
        score, error = report.get("score"), report.get("error")
        verdict = verdict_of(score, error, threshold)
        reason = report["reason"] if error is None else error
        details = {**report, "reason": reason, "threshold": threshold}
        return cast("ToolCallCheckResult", cls._of(name, score, verdict, PASSED.get(verdict), reason, details))

    def __getitem__(self, id: CheckId) -> Instruction:
        """What became of the instruction with an id."""
        for instruction in self.instructions_list:
            if instruction.id == id:
                return instruction
        raise KeyError(id)

    @cached_property
    def instructions_list(self) -> list[Instruction]:
        """The four instructions in their order; empty where nothing was judged, and where several turns were."""
        return [Instruction.read(one) for one in self.details.get("instructions_list", ())]

    @property
    def score_floor(self) -> float | None:
        """The score if what is undecided counted as 0, for a bar that trusts nothing undecided."""
        return self.details.get("score_floor")

    @property
    def score_basis(self) -> CheckId | None:
        """The instruction that sets the score."""
        return self.details.get("score_basis")

    @property
    def violated(self) -> list[CheckId]:
        """The ids of the violated instructions."""
        return self._with_verdict("violated")

    @property
    def undecided(self) -> list[CheckId]:
        """The ids of the undecided instructions."""
        return self._with_verdict("undecided")

    def _with_verdict(self, verdict: CheckVerdict) -> list[CheckId]:
        return [one["id"] for one in self.details.get("instructions_list", ()) if one["verdict"] == verdict]

    @cached_property
    def coverage(self) -> Coverage:
        """How much of the text rules could look at."""
        return Coverage.read(self.details.get("coverage") or {})

    @property
    def notes(self) -> list[str]:
        """What was odd about the request."""
        return list(self.details.get("notes") or ())

    @property
    def model_used(self) -> bool:
        """Whether a judge was asked."""
        return bool(self.details.get("model_used"))

    @property
    def version(self) -> str | None:
        """The version that judged."""
        return self.details.get("version")

    @cached_property
    def checks(self) -> list[ToolCallCheckResult]:
        """Where several turns were judged, the result of each."""
        return [
            ToolCallCheckResult(
                name=self.name,
                score=span["score"],
                verdict=span["verdict"],
                reason=span["reason"],
                details={"reason": span["reason"], **check},
            )
            for span, check in zip(self.spans, self.details.get("checks", ()), strict=True)
        ]

    def to_aimon(self, *, strict: bool = False) -> dict[str, Any]:
        """The result as AIMon's Tool Call Check gives it: ``score`` and ``instructions_list``.

        Args:
            strict: Only AIMon's keys, with every label True or False: undecided is True from the threshold on, and its
                explanation begins with "Undecided:". Else our keys stand beside these.

        Returns:
            A dict of plain data. Without a score, strict or not, it is None.
        """
        return to_aimon(self.details, strict=strict, threshold=self.details.get("threshold", THRESHOLD))


THRESHOLD = 0.5
"""From this probability on, AIMon says that an instruction was followed."""


def to_aimon(report: Mapping[str, Any], *, strict: bool, threshold: float = THRESHOLD) -> dict[str, Any]:
    """The plain data of a result in AIMon's shape; see `ToolCallCheckResult.to_aimon`."""
    instructions: Sequence[Mapping[str, Any]] = report.get("instructions_list", ())
    if not strict:
        others = {key: value for key, value in report.items() if key not in OF_RESULTS}
        score = {"score": report.get("score"), "instructions_list": list(instructions)}
        return {**score, **{key: value for key, value in others.items() if key not in score}}
    return {
        "score": report.get("score"),
        "instructions_list": [_strict(instruction, threshold) for instruction in instructions],
    }


OF_RESULTS = ("reason", "target", "threshold")
"""What is in the details of a result, and not of the check."""


def _strict(instruction: Mapping[str, Any], threshold: float) -> dict[str, Any]:
    strict = {key: instruction[key] for key in AIMON_KEYS}
    if strict["label"] is None:
        strict["label"] = strict["follow_probability"] >= threshold
        if not strict["explanation"].startswith("Undecided:"):
            why = strict["explanation"] or "no rule decides it."
            strict["explanation"] = f"Undecided: {why}"
    return strict
