"""What a metric says of one trace."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["MetricResult", "Verdict"]

Verdict = Literal["passed", "failed", "inconclusive", "not_applicable", "error"]


class MetricResult(BaseModel):
    """The result of one metric.

    Attributes:
        name: The metric's name.
        score: 1.0 or 0.0 (other metrics: any number, or a category); None where the verdict is neither passed nor
            failed. Missing data is never a score of 0.
        verdict: ``passed``; ``failed``; ``inconclusive`` (what was recorded doesn't decide it); ``not_applicable``
            (there is nothing to judge by); ``error``.
        passed: True for ``passed``, False for ``failed``, else None.
        reason: One readable sentence. Control characters from the trace are shown as escapes.
        details: What the metric found, by name; ``details["reason"]`` is the reason again.
        spans: What was judged one by one; empty for a metric that judges the whole.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="strings")

    name: str
    score: float | str | None
    verdict: Verdict
    passed: bool | None
    reason: str
    details: dict[str, Any] = Field(default_factory=dict)
    spans: list[dict[str, Any]] = Field(default_factory=list)

    @classmethod
    def _of(
        cls,
        name: str,
        score: float | str | None,
        verdict: Verdict,
        passed: bool | None,
        reason: str,
        details: dict[str, Any],
    ) -> MetricResult:
        """Make a result out of what the core found, which needs no validation: that takes as long as finding it.

        Like `model_construct`, for the fields that are always the same.
        """
        result = cls.__new__(cls)
        values: dict[str, Any] = {
            "name": name,
            "score": score,
            "verdict": verdict,
            "passed": passed,
            "reason": reason,
            "details": details,
            "spans": [],
        }
        _set(result, "__dict__", values)
        _set(result, "__pydantic_fields_set__", _FIELDS.copy())
        _set(result, "__pydantic_extra__", None)
        _set(result, "__pydantic_private__", None)
        return result


_set = object.__setattr__
_FIELDS = set(MetricResult.model_fields)
