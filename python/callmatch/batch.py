"""The scores of many traces, by column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from callmatch import _core
from callmatch.errors import InvalidInput, InvalidType
from callmatch.summaries import Summaries, Summary

if TYPE_CHECKING:
    from callmatch.results import MetricResult, Verdict

__all__ = ["Scores"]


class Scores:
    """The scores of many traces.

    Every column is a list as long as this is, with None where a row has no such value. A row is a `MetricResult`:
    ``scores[17]``, ``scores[-1]``, ``scores[:10]`` (a list), ``for result in scores``. To send the columns to another
    process, send `to_dict()`.
    """

    def __init__(self, batch: _core.Batch, name: str) -> None:
        self._batch = batch
        self._name = name

    def __len__(self) -> int:
        return len(self._batch)

    @overload
    def __getitem__(self, index: int) -> MetricResult: ...
    @overload
    def __getitem__(self, index: slice) -> list[MetricResult]: ...
    def __getitem__(self, index: int | slice) -> MetricResult | list[MetricResult]:
        places = range(len(self))[index]
        if isinstance(places, range):
            return [self._row(place) for place in places]
        return self._row(places)

    def __iter__(self) -> Iterator[MetricResult]:
        return map(self._row, range(len(self)))

    def __repr__(self) -> str:
        summary = self.summary()
        return f"<Scores of {summary.rows} rows: {summary.passed} passed, {summary.failed} failed>"

    def _row(self, place: int) -> MetricResult:
        from callmatch.results import MetricResult  # noqa: PLC0415 - see `callmatch.__getattr__`

        return MetricResult._of(self._name, *self._batch.row(place))

    @cached_property
    def id(self) -> list[int | str]:
        """The id of each row's record, or else its line; of rows from memory, their index."""
        return self._batch.column("id")

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
        """1.0 or 0.0; None for rows that neither passed nor failed."""
        return self._batch.column("score")

    @cached_property
    def verdict(self) -> list[Verdict]:
        """The verdict of each row."""
        return self._batch.column("verdict")

    @cached_property
    def matched(self) -> list[int | None]:
        """The size of the largest one-to-one pairing of expected and made calls."""
        return self._batch.column("matched")

    @cached_property
    def made(self) -> list[int | None]:
        """How many calls were made; None where they were not reported."""
        return self._batch.column("made")

    @cached_property
    def expected(self) -> list[int | None]:
        """How many calls were expected; None without an expectation."""
        return self._batch.column("expected")

    @cached_property
    def precision(self) -> list[float | None]:
        """Matched / made, from 0 to 1. 1.0 if both sides are empty, 0.0 if one is."""
        return self._batch.column("precision")

    @cached_property
    def recall(self) -> list[float | None]:
        """Matched / expected, from 0 to 1. 1.0 if both sides are empty, 0.0 if one is."""
        return self._batch.column("recall")

    @cached_property
    def f1(self) -> list[float | None]:
        """The harmonic mean of precision and recall, from 0 to 1."""
        return self._batch.column("f1")

    @cached_property
    def difference_kind(self) -> list[str | None]:
        """How the first call that differs does: missing, unexpected, arguments, name or order; None if none does."""
        return self._batch.column("difference_kind")

    @cached_property
    def expected_index(self) -> list[int | None]:
        """The expected call that differs first."""
        return self._batch.column("expected_index")

    @cached_property
    def actual_index(self) -> list[int | None]:
        """The call made that differs first."""
        return self._batch.column("actual_index")

    @cached_property
    def reason(self) -> list[str]:
        """One readable sentence for each row."""
        return self._batch.column("reason")

    @cached_property
    def error(self) -> list[str | None]:
        """What is wrong with a row's input, and where; None for a row that could be read."""
        return self._batch.column("error")

    @property
    def bytes_read(self) -> int:
        """How many bytes of all files had been read (before decompression) when these rows had been; for progress."""
        return self._batch.bytes_read

    def to_dict(self) -> dict[str, list[Any]]:
        """All columns by name, as data frames take them: ``pandas.DataFrame(scores.to_dict())``."""
        return {name: getattr(self, name) for name in _core.COLUMNS}

    def summary(self) -> Summary:
        """The counts by verdict, the means over the rows that passed or failed, and what fails most."""
        return self.summaries().total

    def summaries(self, group_by: Mapping[str, Iterable[object]] | None = None) -> Summaries:
        """The same, in groups too.

        Args:
            group_by: By which values: a column for each name, as long as this. None for the fields of records that
                `evaluate_file` was told to group by.

        Raises:
            InvalidInput: A column that is not as long as this, or holds what has no JSON value.
            InvalidType: No columns.

        Examples:
            >>> from callmatch.metrics import ToolCallTrajectory
            >>> made, wanted = [[{"name": "search"}], [], []], [[{"name": "search"}]] * 3
            >>> scores = ToolCallTrajectory().evaluate_batch(tool_calls=made, expected_tool_calls=wanted)
            >>> by_model = scores.summaries({"model": ["large", "large", "small"]})
            >>> {model: summary.pass_rate for (model,), summary in by_model.items()}
            {'large': 0.5, 'small': 0.0}
        """
        if group_by is None:
            return Summaries._of(self._batch.summaries())
        if not isinstance(group_by, Mapping):
            raise InvalidType(f"group_by: expected columns by name, got {type(group_by).__name__}", "group_by")
        columns: list[tuple[str, list[object]]] = []
        for name, cells in group_by.items():
            if (
                not isinstance(name, str)
                or isinstance(cells, (str, bytes, Mapping, Set))
                or not isinstance(cells, Iterable)
            ):
                raise InvalidType(
                    f"group_by: expected a name and a column of values, got {name!r}: {cells!r}", "group_by"
                )
            columns.append((name, list(cells)))
            if len(columns[-1][1]) != len(self):
                raise InvalidInput(
                    f"group_by: {name} has {len(columns[-1][1])} values for {len(self)} rows", "group_by"
                )
        return Summaries._of(self._batch.summaries(columns))
