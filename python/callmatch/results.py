"""What a metric says of one trace."""

from __future__ import annotations

import math
from typing import Any, Literal

from pydantic import ConfigDict, Field, field_validator, model_validator
from typing_extensions import Self

from callmatch import _core
from callmatch.errors import InvalidInput
from callmatch.schema import Schema, checked

__all__ = ["MetricResult", "Verdict"]

Verdict = Literal["passed", "failed", "inconclusive", "not_applicable", "error"]


PASSED: dict[Verdict, bool] = {"passed": True, "failed": False}
"""What `passed` is; None for the other verdicts."""


class MetricResult(Schema):
    """The result of one metric.

    Attributes:
        name: The metric's name.
        score: 1.0 or 0.0 (other metrics: any number, or a category); None where the verdict is neither passed nor
            failed. Missing data is never a score of 0.
        verdict: ``passed``; ``failed``; ``inconclusive`` (what was recorded doesn't decide it); ``not_applicable``
            (there is nothing to judge by); ``error``.
        passed: True for ``passed``, False for ``failed``, else None. It follows from the verdict, if it isn't given.
        reason: One readable sentence. Control characters from the trace are shown as escapes.
        details: What the metric found, by name; ``details["reason"]`` is the reason again.
        spans: What was judged one by one (``index``, ``id``, ``name``, ``score``, ``verdict``, ``reason``); empty where
            the whole was judged.
    """

    model_config = ConfigDict(ser_json_inf_nan="strings")

    name: str
    score: float | str | None
    verdict: Verdict
    passed: bool | None = None
    reason: str
    details: dict[str, Any] = Field(default_factory=dict)
    spans: list[dict[str, Any]] = Field(default_factory=list)

    @model_validator(mode="after")
    def _passed_follows(self) -> Self:
        passed = PASSED.get(self.verdict)
        if "passed" in self.model_fields_set and self.passed != passed:
            raise InvalidInput(f"passed is {passed} where the verdict is {self.verdict}, not {self.passed}", "passed")
        self.__dict__["passed"] = passed
        if isinstance(self.score, float) and not math.isfinite(self.score):
            raise InvalidInput(f"score is a finite number, not {self.score}", "score")
        if (self.score is None) == (passed is not None):
            one = "one" if self.score is None else "none"
            raise InvalidInput(f"score is {self.score!r}; a result that is {self.verdict} has {one}", "score")
        return self

    @field_validator("details")
    @classmethod
    @checked
    def _can_be_written(cls, details: dict[str, Any]) -> Any:
        return _core.read_value(details, "details")

    @classmethod
    def _of(
        cls,
        name: str,
        score: float | str | None,
        verdict: Verdict,
        passed: bool | None,
        reason: str,
        details: dict[str, Any],
        spans: list[dict[str, Any]] | None = None,
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
            "spans": [] if spans is None else spans,
        }
        _set(result, "__dict__", values)
        _set(result, "__pydantic_fields_set__", _FIELDS.copy())
        _set(result, "__pydantic_extra__", None)
        _set(result, "__pydantic_private__", None)
        return result


_set = object.__setattr__
_FIELDS = set(MetricResult.model_fields)
