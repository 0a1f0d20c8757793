"""What many rows say together: verdicts counted, rates and means, and what fails most; of all rows, and of groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, TypedDict, cast

from callmatch import _core
from callmatch.errors import InvalidInput, not_there
from callmatch.intervals import wilson

__all__ = ["Summaries", "Summary"]

GroupKey = tuple[str | None, ...]


class Summary:
    """Counts over rows, and means over those that passed or failed.

    Summaries of parts add up to that of the whole, to the last bit, in whatever order they are added:
    ``sum((s.summary() for s in chunks), Summary())``. ``Summary()`` is that of no rows.

    Two of them are equal if all that they count is.
    """

    def __init__(self) -> None:
        self._core = _core.Summary()

    @classmethod
    def _of(cls, core: _core.Summary) -> Summary:
        summary = cls.__new__(cls)
        summary._core = core
        return summary

    @cached_property
    def _facts(self) -> Facts:
        return cast("Facts", self._core.facts())

    @property
    def rows(self) -> int:
        """All rows; the five counts of verdicts add up to it."""
        return self.judged + self.inconclusive + self.not_applicable + self.error

    @property
    def passed(self) -> int:
        """The rows that passed."""
        return self._facts["passed"]

    @property
    def failed(self) -> int:
        """The rows that failed."""
        return self._facts["failed"]

    @property
    def inconclusive(self) -> int:
        """The rows of which too little was recorded to judge them."""
        return self._facts["inconclusive"]

    @property
    def not_applicable(self) -> int:
        """The rows of which nothing is expected."""
        return self._facts["not_applicable"]

    @property
    def error(self) -> int:
        """The rows that could not be read."""
        return self._facts["error"]

    @property
    def judged(self) -> int:
        """The rows that passed or failed."""
        return self.passed + self.failed

    @property
    def pass_rate(self) -> float | None:
        """Passed / (passed + failed), from 0 to 1; None if no row passed or failed."""
        return self.passed / self.judged if self.judged else None

    @property
    def pass_rate_interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the pass rate (Wilson, 1927: `callmatch.intervals.wilson`); None without a pass rate.

        It takes the rows for independent of each other. Several trials of one task are not: see `Trials`.
        """
        return wilson(self.passed, self.judged)

    @property
    def precision(self) -> float | None:
        """The mean precision of the rows that passed or failed (macro), from 0 to 1; None if there are none."""
        return self._facts["precision"]

    @property
    def recall(self) -> float | None:
        """The mean recall of the rows that passed or failed (macro), from 0 to 1; None if there are none."""
        return self._facts["recall"]

    @property
    def f1(self) -> float | None:
        """The mean F1 of the rows that passed or failed (macro), from 0 to 1; None if there are none."""
        return self._facts["f1"]

    @property
    def micro_precision(self) -> float | None:
        """Matched / made, over the calls of all rows that passed or failed; None if there are no such rows.

        Rows with many calls weigh more here, and all rows weigh the same in `precision`. 1.0 if no call was made and
        none expected, 0.0 if there are calls on one side alone.
        """
        return self._facts["micro_precision"]

    @property
    def micro_recall(self) -> float | None:
        """Matched / expected, over the calls of all rows that passed or failed; see `micro_precision`."""
        return self._facts["micro_recall"]

    @property
    def micro_f1(self) -> float | None:
        """The harmonic mean of `micro_precision` and `micro_recall`."""
        return self._facts["micro_f1"]

    @property
    def difference_kinds(self) -> dict[str, int]:
        """How many failed rows differ first in which way."""
        return self._facts["difference_kinds"]

    @property
    def failing_tools(self) -> dict[str, int] | None:
        """In how many failed rows the first difference is about which tool; the most frequent come first.

        It is the expected tool, or for `unexpected` the one that was called. None if there are more than 10,000
        different tools and arguments.
        """
        return self._facts["failing_tools"]

    @property
    def failing_arguments(self) -> dict[tuple[str, str], int] | None:
        """In how many failed rows the first difference is in which argument of which tool; the most frequent first.

        An argument is told by a JSON pointer, in which `*` is any place of a list (or any key of digits); it is empty
        where the arguments as a whole differ. None if there are more than 10,000 different tools and arguments.
        """
        return self._facts["failing_arguments"]

    def to_dict(self) -> dict[str, Any]:
        """All of it by name, as JSON can hold it.

        Examples:
            >>> from callmatch.metrics import ToolCallTrajectory
            >>> wanted = [{"name": "search", "arguments": {"filters": [{"since": 2024}]}}]
            >>> made = [[{"name": "search", "arguments": {"filters": [{"since": year}]}}] for year in (2024, 2025)]
            >>> facts = ToolCallTrajectory().evaluate_batch(tool_calls=made, expected_tool_calls=[wanted] * 2).summary()
            >>> facts.to_dict()["failing_arguments"]
            [{'tool': 'search', 'argument': '/filters/*/since', 'failed': 1}]
        """
        facts: dict[str, Any] = {name: getattr(self, name) for name in FACTS}
        if self.failing_arguments is not None:
            arguments = self.failing_arguments.items()
            facts["failing_arguments"] = [
                {"tool": tool, "argument": path, "failed": failed} for (tool, path), failed in arguments
            ]
        return facts

    def __add__(self, other: Summary) -> Summary:
        return Summary._of(self._core + other._core) if isinstance(other, Summary) else NotImplemented

    def __eq__(self, other: object) -> bool:
        return self._core == other._core if isinstance(other, Summary) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return Summary._of, (self._core,)

    def __repr__(self) -> str:
        told = ("rows", *_core.VERDICTS, "pass_rate", "precision", "recall", "f1", "difference_kinds")
        return f"Summary({', '.join(f'{name}={getattr(self, name)!r}' for name in told)})"


class Facts(TypedDict):
    """What the core tells of a summary."""

    passed: int
    failed: int
    inconclusive: int
    not_applicable: int
    error: int
    precision: float | None
    recall: float | None
    f1: float | None
    micro_precision: float | None
    micro_recall: float | None
    micro_f1: float | None
    difference_kinds: dict[str, int]
    failing_tools: dict[str, int] | None
    failing_arguments: dict[tuple[str, str], int] | None


FACTS = (
    "rows",
    *_core.VERDICTS,
    "pass_rate",
    "pass_rate_interval",
    "precision",
    "recall",
    "f1",
    "micro_precision",
    "micro_recall",
    "micro_f1",
    "difference_kinds",
    "failing_tools",
    "failing_arguments",
)
"""What a summary tells, in its order."""


class Summaries(Mapping[GroupKey, Summary]):
    """The summaries of groups of rows, by the values that they share.

    A key is a tuple of texts, one for each field that rows are grouped by: numbers and all else that is no text as JSON
    text, None for null and for what is not there. Groups come in the order of their keys: None first, then numbers by
    their size, then texts.

    Summaries of parts add up to those of the whole: ``total = Summaries(["model"])``, and ``total += part.summaries()``
    for each part.

    At most 100,000 groups are kept, and 64 MiB of their values; of more, only the `total` is told, and asking for the
    groups is an error that names the field.

    Args:
        by: The fields that rows are grouped by; these are the summaries of no rows.

    Attributes:
        by: The fields that rows are grouped by.

    Examples:
        >>> import pyarrow
        >>> from callmatch.metrics import ToolCallTrajectory
        >>> called = '[{"name": "search"}]'
        >>> table = pyarrow.table({
        ...     "model": ["large", "small", "small"],
        ...     "tool_calls": [called, called, "[]"],
        ...     "expected_tool_calls": [called] * 3,
        ... })
        >>> by_model = ToolCallTrajectory().evaluate_table(table).summaries(["model"])
        >>> {model: summary.pass_rate for (model,), summary in by_model.items()}
        {'large': 1.0, 'small': 0.5}
        >>> by_model.total.pass_rate
        0.6666666666666666
    """

    def __init__(self, by: Iterable[str] = ()) -> None:
        self._core = _core.Summaries(list(by))

    @classmethod
    def _of(cls, core: _core.Summaries) -> Summaries:
        summaries = cls.__new__(cls)
        summaries._core = core
        return summaries

    @property
    def by(self) -> tuple[str, ...]:
        """The fields that rows are grouped by."""
        return tuple(self._core.by)

    @cached_property
    def total(self) -> Summary:
        """The summary of all rows."""
        return Summary._of(self._core.total)

    @cached_property
    def _groups(self) -> dict[GroupKey, Summary]:
        return {key: Summary._of(core) for key, core in self._core.groups()}

    def __getitem__(self, key: GroupKey) -> Summary:
        return self._groups[key]

    def __iter__(self) -> Iterator[GroupKey]:
        return iter(self._groups)

    def __len__(self) -> int:
        return len(self._groups)

    def by_fields(self, fields: Iterable[str]) -> Summaries:
        """The summaries of the larger groups that share the values of some of the fields.

        Raises:
            InvalidInput: The rows are not grouped by such a field.
        """
        names = list(fields)
        for name in names:
            if name not in self.by:
                raise InvalidInput(not_there("field to group by", name, self.by), "fields")
        return Summaries._of(self._core.by_fields(names))

    def to_dicts(self) -> list[dict[str, Any]]:
        """A dict for each group, as JSON can hold it: its values as ``group``, and all of its summary."""
        return [{"group": dict(zip(self.by, key, strict=True))} | summary.to_dict() for key, summary in self.items()]

    def to_state(self) -> list[Any]:
        """All of it as lists, numbers and texts, as JSON can hold it, so that another process may go on adding."""
        return list(self._core.state())

    @classmethod
    def from_state(cls, state: Iterable[Any]) -> Summaries:
        """What `to_state` was called on.

        Raises:
            InvalidInput: It is no such state.
        """
        try:
            by, *others = tuples(list(state))
            return cls._of(_core.Summaries(by, (by, *others)))
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidInput(f"this is not the state of summaries: {error}") from None

    def __add__(self, other: Summaries) -> Summaries:
        return Summaries._of(self._core + other._core) if isinstance(other, Summaries) else NotImplemented

    def __iadd__(self, other: Summaries) -> Summaries:
        """Add to these, which takes no longer the more groups there are already."""
        if not isinstance(other, Summaries) or other._core is self._core:
            return self + other
        self._core.add(other._core)
        for name in ("total", "_groups"):
            self.__dict__.pop(name, None)
        return self

    def __eq__(self, other: object) -> bool:
        return self._core.state() == other._core.state() if isinstance(other, Summaries) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return Summaries._of, (self._core,)

    def __repr__(self) -> str:
        return f"<Summaries of {self.total.rows} rows by {', '.join(self.by) or 'nothing'}>"


def tuples(state: Any) -> Any:
    """Lists, also in lists, as tuples, which is what JSON makes lists of."""
    return tuple(map(tuples, state)) if isinstance(state, list) else state
