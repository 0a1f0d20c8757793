"""Repeated trials of tasks: how reliably is a task solved, and can it be solved at all?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable
from fractions import Fraction
from typing import Any, NamedTuple, cast

from callmatch import _core
from callmatch.errors import InvalidInput, InvalidType, not_there
from callmatch.intervals import Interval, wilson
from callmatch.summaries import GroupKey, Summaries

__all__ = ["AtK", "Trials"]

MOST_K = 16
"""A table goes to this k at most, if nobody asks for more."""

CLOSE = 1e-6
"""A reward so near to 1 is one, as in tau-bench."""

Outcome = bool | float | str | None
"""Did a trial pass? A verdict, a reward or score (1 passes, all below fails), or None: it was not judged."""


class AtK(NamedTuple):
    """What is known for one number of trials."""

    k: int
    pass_hat: float
    """pass^k, from 0 to 1."""
    pass_hat_interval: Interval
    """The 95 % interval of pass^k."""
    pass_at: float
    """pass@k, from 0 to 1."""
    tasks: int
    """How many tasks have so many trials."""

    def to_dict(self) -> dict[str, Any]:
        """All of it by name."""
        return self._asdict()


class Trials:
    """Trials of tasks, several of each.

    * pass^k: the probability that all of k trials of a task pass, the mean over the tasks of C(c, k) / C(n, k), where n
      trials of a task were judged and c passed (Yao et al., "tau-bench", 2024, arXiv:2406.12045).
    * pass@k: the probability that one of k passes at least, the mean of 1 - C(n - c, k) / C(n, k) (Chen et al., 2021,
      arXiv:2107.03374).

    A trial that was not judged (inconclusive, not applicable, an error, None) counts as none, neither a pass nor a
    failure; `not_judged` tells how many. Tasks of which fewer than k trials were judged say nothing of k: they are left
    out of it.

    Args:
        tasks: The task of each trial; None where it is not known.
        outcomes: What came of each trial: a verdict (``passed``, ``failed``, ...), a bool, a reward or a score (1
            passes, all below fails), or None.

    Attributes:
        tasks: How many tasks there are.
        judged: How many trials passed or failed.
        not_judged: How many did neither.
        without_task: How many trials are of no task; they count for nothing else.

    Raises:
        InvalidInput: The two are not of one length, or an outcome that can't be.
        InvalidType: An outcome of the wrong type.

    Examples:
        >>> trials = Trials(["a", "a", "a", "b", "b", "b"], [1.0, 1.0, 0.0, 1.0, 1.0, 1.0])
        >>> [(row.k, round(row.pass_hat, 3), round(row.pass_at, 3), row.tasks) for row in trials.table()]
        [(1, 0.833, 0.833, 2), (2, 0.667, 1.0, 2), (3, 0.5, 1.0, 2)]
    """

    def __init__(self, tasks: Iterable[Hashable], outcomes: Iterable[Outcome]) -> None:
        judged: Counter[Hashable] = Counter()
        passed: Counter[Hashable] = Counter()
        not_judged = without_task = 0
        task_of, outcome_of = list(tasks), list(outcomes)
        if len(task_of) != len(outcome_of):
            counts = f"there are {len(task_of)} tasks, and {len(outcome_of)} outcomes"
            raise InvalidInput(f"{counts}; both need one for each trial", "outcomes")
        for place, (task, outcome) in enumerate(zip(task_of, outcome_of, strict=True)):
            result = _passes(outcome, place)
            if _is_null(task):
                without_task += 1
            elif result is None:
                judged[task] += 0
                not_judged += 1
            else:
                judged[task] += 1
                passed[task] += result
        self._fill(((judged[task], passed[task]) for task in judged), not_judged, without_task)

    def _fill(self, counts: Iterable[tuple[int, int]], not_judged: int, without_task: int) -> None:
        self._tasks = Counter(counts)
        self.tasks = self._tasks.total()
        self.judged = sum(judged * tasks for (judged, _), tasks in self._tasks.items())
        self.not_judged, self.without_task = not_judged, without_task

    @classmethod
    def of(cls, summaries: Summaries, by: str) -> dict[GroupKey, Trials]:
        """The trials of rows that were summed up by their task.

        Args:
            summaries: Of rows that are grouped by their task, and maybe by other fields.
            by: Which of the fields tells the task.

        Returns:
            The trials by the values of the other fields, in their order; ``{(): trials}`` if there are none.

        Raises:
            InvalidInput: The rows are not grouped by this field, or there are too many groups.

        Examples:
            >>> import pyarrow
            >>> from callmatch.metrics import ToolCallTrajectory
            >>> right, wrong = '[{"name": "search"}]', "[]"
            >>> table = pyarrow.table({
            ...     "task_id": [1, 1, 2, 2],
            ...     "tool_calls": [right, right, right, wrong],
            ...     "expected_tool_calls": [right] * 4,
            ... })
            >>> summaries = ToolCallTrajectory().evaluate_table(table).summaries(["task_id"])
            >>> trials = Trials.of(summaries, "task_id")[()]
            >>> trials.pass_hat(2), trials.pass_at(2)
            (0.5, 1.0)
        """
        if by not in summaries.by:
            raise InvalidInput(not_there("field to group by", by, summaries.by), "by")
        place = summaries.by.index(by)
        rows: dict[GroupKey, list[tuple[str | None, int, int, int]]] = {}
        for key, summary in summaries.items():
            unjudged = summary.rows - summary.judged
            of_task = (key[place], summary.judged, summary.passed, unjudged)
            rows.setdefault(key[:place] + key[place + 1 :], []).append(of_task)
        return {key: cls._of_counts(counts) for key, counts in rows.items()}

    @classmethod
    def _of_counts(cls, counts: list[tuple[str | None, int, int, int]]) -> Trials:
        trials = cls.__new__(cls)
        known = [(judged, passed, unjudged) for task, judged, passed, unjudged in counts if task is not None]
        trials._fill(
            [(judged, passed) for judged, passed, _ in known],
            not_judged=sum(unjudged for _, _, unjudged in known),
            without_task=sum(judged + unjudged for task, judged, _, unjudged in counts if task is None),
        )
        return trials

    @property
    def most(self) -> int:
        """The largest number of trials of a task that were judged; 0 if there are none."""
        return max((judged for judged, _ in self._tasks), default=0)

    def with_trials(self, k: int) -> int:
        """How many tasks have k trials that were judged."""
        return sum(tasks for (judged, _), tasks in self._tasks.items() if judged >= k)

    def pass_hat(self, k: int) -> float | None:
        """pass^k, from 0 to 1; None if no task has k trials.

        Raises:
            InvalidInput: k is below 1.
        """
        return self._mean(k, lambda judged, passed: Fraction(math.comb(passed, k), math.comb(judged, k)))

    def pass_at(self, k: int) -> float | None:
        """pass@k, from 0 to 1; None if no task has k trials.

        Raises:
            InvalidInput: k is below 1.
        """
        return self._mean(k, lambda judged, passed: 1 - Fraction(math.comb(judged - passed, k), math.comb(judged, k)))

    def _mean(self, k: int, of: Any) -> float | None:
        if type(k) is not int or k < 1:
            raise InvalidInput(f"k is a number from 1 on, not {k!r}", "k")
        counted = self.with_trials(k)
        if not counted:
            return None
        # Exact, so the order of tasks makes no difference.
        shares = (of(judged, passed) * tasks for (judged, passed), tasks in self._tasks.items() if judged >= k)
        return float(sum(shares, Fraction()) / counted)

    def at(self, k: int) -> AtK | None:
        """What is known for k trials; None if no task has so many.

        The interval is Wilson's, with the tasks as what was counted, since trials of one task are not independent. What
        a task contributes lies between 0 and 1, and so varies no more than a yes or no with the same mean (Bhatia and
        Davis, 2000): the interval is rather too wide than too narrow.
        """
        pass_hat, pass_at = self.pass_hat(k), self.pass_at(k)
        if pass_hat is None or pass_at is None:
            return None
        tasks = self.with_trials(k)
        interval = wilson(pass_hat * tasks, tasks) or (0.0, 1.0)
        return AtK(k, pass_hat, interval, pass_at, tasks)

    def table(self, most: int = MOST_K) -> list[AtK]:
        """What is known for each k from 1 on, as far as a task has so many trials; at most so many rows."""
        rows = (self.at(k) for k in range(1, min(self.most, most) + 1))
        return [row for row in rows if row is not None]

    def to_dict(self) -> dict[str, Any]:
        """All of it by name, as JSON can hold it."""
        counts = {name: getattr(self, name) for name in ("tasks", "judged", "not_judged", "without_task")}
        return counts | {"table": [row.to_dict() for row in self.table()]}

    def __repr__(self) -> str:
        return f"<Trials of {self.tasks} tasks: {self.judged} judged, {self.not_judged} not>"


def _is_null(cell: object) -> bool:
    """None, or the NaN that data frames have in its place."""
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def _passes(outcome: Outcome, place: int) -> bool | None:
    """Did a trial pass? None if it was not judged."""
    if _is_null(outcome):
        return None
    if isinstance(outcome, str):
        if outcome not in _core.VERDICTS:
            raise InvalidInput(_core.one_of(f"outcomes[{place}]: a verdict", outcome, list(_core.VERDICTS)), "outcomes")
        return {"passed": True, "failed": False}.get(outcome)
    if isinstance(outcome, bool):
        return outcome
    try:
        reward = float(cast("float", outcome))
    except (TypeError, ValueError):
        what = "a verdict, a bool, a reward or None"
        raise InvalidType(f"outcomes[{place}]: expected {what}, got {type(outcome).__name__}", "outcomes") from None
    if reward > 1 + CLOSE:
        raise InvalidInput(f"outcomes[{place}]: a reward is at most 1, not {reward:g}", "outcomes")
    return reward >= 1 - CLOSE
