"""The Tool Call Checks of many requests, by column."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from callmatch import _core
from callmatch.display import to_json

if TYPE_CHECKING:
    from callmatch.results import Verdict
    from callmatch.toolcheck.results import CheckId, CheckVerdict, ToolCallCheckResult

__all__ = ["CheckScores", "CheckSummary"]


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckSummary:
    """Counts over the rows of Tool Call Checks.

    Summaries of parts add up to that of the whole.

    Attributes:
        rows: All rows; the four counts after it add up to it.
        mean: The mean score over the rows that have one, from 0 to 1; None if none has.
        lowest: The lowest score; None if no row has one.
        verdicts: For each instruction how many rows have which verdict.
    """

    rows: int = 0
    passed: int = 0
    failed: int = 0
    inconclusive: int = 0
    error: int = 0
    mean: float | None = None
    lowest: float | None = None
    verdicts: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def judged(self) -> int:
        """The rows with a score."""
        return self.passed + self.failed

    @property
    def pass_rate(self) -> float | None:
        """Passed / (passed + failed), from 0 to 1; None if no row has a score."""
        return self.passed / self.judged if self.judged else None

    def __add__(self, other: CheckSummary) -> CheckSummary:
        if not isinstance(other, CheckSummary):
            return NotImplemented
        judged = self.judged + other.judged
        total = (self.mean or 0.0) * self.judged + (other.mean or 0.0) * other.judged

        def count(check: str, verdict: str) -> int:
            return sum(part.verdicts.get(check, {}).get(verdict, 0) for part in (self, other))

        lowest = [score for score in (self.lowest, other.lowest) if score is not None]
        return CheckSummary(
            rows=self.rows + other.rows,
            passed=self.passed + other.passed,
            failed=self.failed + other.failed,
            inconclusive=self.inconclusive + other.inconclusive,
            error=self.error + other.error,
            mean=total / judged if judged else None,
            lowest=min(lowest, default=None),
            verdicts={
                check: {verdict: count(check, verdict) for verdict in _core.CHECK_VERDICTS} for check in _core.CHECKS
            },
        )


class CheckScores:
    """The Tool Call Checks of many requests.

    Every column is a list as long as this is, with None where a row has no such value. A row is a
    `ToolCallCheckResult`, made when it is asked for: ``scores[17]``, ``scores[-1]``, ``scores[:10]`` (a list),
    ``for result in scores``.

    Args:
        batch: What the core found.
        name: Of the metric.
        threshold: From which score on a row is passed.
        judged: The reports that stand in the place of those of the core, by row.
        ids: The ids of the rows, if the core doesn't know them.
    """

    def __init__(
        self,
        batch: _core.CheckBatch,
        name: str,
        threshold: float,
        *,
        judged: Mapping[int, dict[str, Any]] | None = None,
        ids: Sequence[int | str] | None = None,
    ) -> None:
        self._batch = batch
        self._judged = judged or {}
        self._ids = ids
        self.name = name
        self.threshold = threshold

    def __len__(self) -> int:
        return len(self._batch)

    @overload
    def __getitem__(self, index: int) -> ToolCallCheckResult: ...
    @overload
    def __getitem__(self, index: slice) -> list[ToolCallCheckResult]: ...
    def __getitem__(self, index: int | slice) -> ToolCallCheckResult | list[ToolCallCheckResult]:
        places = range(len(self))[index]
        if isinstance(places, range):
            return [self._row(place) for place in places]
        return self._row(places)

    def __iter__(self) -> Iterator[ToolCallCheckResult]:
        return map(self._row, range(len(self)))

    def __repr__(self) -> str:
        summary = self.summary()
        return f"<CheckScores of {summary.rows} rows: {summary.passed} passed, {summary.failed} failed>"

    def _row(self, place: int) -> ToolCallCheckResult:
        from callmatch.toolcheck.results import ToolCallCheckResult  # noqa: PLC0415 - see `callmatch.__getattr__`

        return ToolCallCheckResult.of_report(self.report(place), self.name, self.threshold)

    def report(self, place: int) -> dict[str, Any]:
        """A row as plain data; of one that could not be read, its ``error``."""
        return self._judged.get(place) or self._batch.row(place)

    def json_lines(self) -> str:
        """JSON Lines: of each row its ``id``, its report, and as ``evidence`` that of all instructions."""
        if not self._judged and self._ids is None:
            return self._batch.json_lines().decode()
        return "".join(f"{self._json(place, id)}\n" for place, id in enumerate(self.id))

    def _json(self, place: int, id: int | str) -> str:
        report = self.report(place)
        if "error" in report:
            return to_json({"id": id, "error": report["error"]})
        evidence = [
            {"instruction": instruction["id"], **one}
            for instruction in report["instructions_list"]
            for one in instruction["evidence"]
        ]
        return to_json({"id": id, **report, "evidence": evidence})

    def _column(self, name: str) -> list[Any]:
        column = self._batch.column(name)
        for place, report in self._judged.items():
            column[place] = report.get(name)
        return column

    def _verdicts(self, check: CheckId) -> list[CheckVerdict | None]:
        column = self._batch.column(check)
        for place, report in self._judged.items():
            those = (one["verdict"] for one in report["instructions_list"] if one["id"] == check)
            column[place] = next(those, None)
        return column

    @cached_property
    def id(self) -> list[int | str]:
        """The id of each row's record, or else its line; of rows from memory, their index."""
        return self._batch.column("id") if self._ids is None else list(self._ids)

    @cached_property
    def file(self) -> list[str | None]:
        """The file that each row is from; None for rows from memory."""
        return self._batch.column("file")

    @cached_property
    def line(self) -> list[int | None]:
        """The line, or in a JSON array the number, of each row's record, from 1; None for rows from memory."""
        return self._batch.column("line")

    @cached_property
    def score(self) -> list[float | None]:
        """The lowest probability over the instructions that were decided, from 0 to 1; None if none was."""
        return self._column("score")

    @cached_property
    def score_floor(self) -> list[float | None]:
        """The score if what is undecided counted as 0; None for a row that could not be read."""
        return self._column("score_floor")

    @cached_property
    def score_basis(self) -> list[CheckId | None]:
        """The instruction that sets each score."""
        return self._column("score_basis")

    @cached_property
    def tool_relevance(self) -> list[CheckVerdict | None]:
        """What became of this instruction in each row; None for a row that could not be read."""
        return self._verdicts("tool_relevance")

    @cached_property
    def result_fidelity(self) -> list[CheckVerdict | None]:
        """What became of this instruction in each row."""
        return self._verdicts("result_fidelity")

    @cached_property
    def status_consistency(self) -> list[CheckVerdict | None]:
        """What became of this instruction in each row."""
        return self._verdicts("status_consistency")

    @cached_property
    def no_hallucination(self) -> list[CheckVerdict | None]:
        """What became of this instruction in each row."""
        return self._verdicts("no_hallucination")

    @cached_property
    def verdict(self) -> list[Verdict]:
        """``passed`` from the threshold on, ``failed`` below it; ``inconclusive`` without a score, or ``error``."""
        rows = zip(self.score, self.error, strict=True)
        return [verdict_of(score, error, self.threshold) for score, error in rows]

    @cached_property
    def error(self) -> list[str | None]:
        """What is wrong with a row's request, and where; None for a row that could be read."""
        return self._column("error")

    @property
    def bytes_read(self) -> int:
        """How many bytes of all files had been read (before decompression) when these rows had been; for progress."""
        return self._batch.bytes_read

    def to_dict(self) -> dict[str, list[Any]]:
        """All columns by name, as data frames take them: ``pandas.DataFrame(scores.to_dict())``."""
        return {name: getattr(self, name) for name in COLUMNS}

    def summary(self) -> CheckSummary:
        """The counts by verdict, and the mean and the lowest score."""
        scores = [score for score in self.score if score is not None]
        return CheckSummary(
            rows=len(self),
            passed=self.verdict.count("passed"),
            failed=self.verdict.count("failed"),
            inconclusive=self.verdict.count("inconclusive"),
            error=self.verdict.count("error"),
            mean=math.fsum(scores) / len(scores) if scores else None,
            lowest=min(scores, default=None),
            verdicts={
                check: {verdict: getattr(self, check).count(verdict) for verdict in _core.CHECK_VERDICTS}
                for check in _core.CHECKS
            },
        )


COLUMNS = (
    "id",
    "file",
    "line",
    "score",
    "verdict",
    "score_floor",
    "score_basis",
    "tool_relevance",
    "result_fidelity",
    "status_consistency",
    "no_hallucination",
    "error",
)


def verdict_of(score: float | None, error: str | None, threshold: float) -> Verdict:
    """The verdict of a row."""
    if error is not None:
        return "error"
    if score is None:
        return "inconclusive"
    return "passed" if score >= threshold else "failed"
