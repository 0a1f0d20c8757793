"""What became of tests."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from callmatch import _core
from callmatch.display import STYLES, share, to_json
from callmatch.documents import format_of, save, writing
from callmatch.errors import InvalidInput, InvalidType, not_there, said
from callmatch.results import MetricResult, Verdict
from callmatch.schema import Schema
from callmatch.trace import Trace

if TYPE_CHECKING:
    from junitparser import TestCase
    from rich.table import Table

__all__ = ["TestResult", "TestResults", "roll_up"]

DECIDING: tuple[Verdict, ...] = ("failed", "error", "inconclusive")
"""What decides the verdict of a test, if one of its metrics says so: the first before the next."""

COUNTED: tuple[Verdict, ...] = ("passed", "failed", "inconclusive", "error")
"""What may become of a test."""


def roll_up(run_error: str | None, results: Sequence[MetricResult]) -> tuple[Verdict, str]:
    """One verdict for a test out of those of its metrics, and why.

    A run that crashed is an ``error``; else a metric that failed makes it ``failed``, else one that crashed ``error``,
    else an inconclusive one ``inconclusive``; else it is ``passed``. Metrics that are not applicable don't count; where
    none is left, the test is ``inconclusive``.

    Args:
        run_error: Why there is nothing to judge; None if there is.
        results: Of the metrics.

    Examples:
        >>> roll_up(None, [])
        ('inconclusive', 'No metric judged it.')
        >>> roll_up(None, [MetricResult(name="tools", score=None, verdict="inconclusive", reason="Not reported."),
        ...                MetricResult(name="tone", score=0.0, verdict="failed", reason="It was rude.")])
        ('failed', 'tone: It was rude.')
    """
    if run_error is not None:
        return "error", run_error
    for verdict in DECIDING:
        those = [result for result in results if result.verdict == verdict]
        if those:
            others = ", ".join(_core.printable(result.name) for result in those[1:])
            return verdict, f"{_said(those[0])}{f' ({verdict} too: {others})' if others else ''}"
    passed = sum(result.verdict == "passed" for result in results)
    if passed:
        return "passed", f"{passed} metric{'s' * (passed != 1)} passed"
    if results:
        return "inconclusive", f"No metric applies. {' '.join(map(_said, results))}"
    return "inconclusive", "No metric judged it."


def _said(result: MetricResult) -> str:
    return f"{_core.printable(result.name)}: {result.reason}"


class TestResult(Schema):
    """What became of one test.

    Attributes:
        id: Of the test.
        verdict: ``passed``, ``failed``, ``inconclusive`` or ``error``; see `roll_up`.
        reason: Why, in one line.
        metrics: What each metric says, in their order; empty if the run crashed.
        trace: What the agent did; None if the run crashed.
        error: Why the run crashed; None if it didn't.
        seconds: How long the agent took; None for a recorded trace.
    """

    __test__: ClassVar[bool] = False  # for pytest, to which a class of this name is one of tests

    id: str
    verdict: Verdict
    reason: str
    metrics: tuple[MetricResult, ...] = ()
    trace: Trace | None = None
    error: str | None = None
    seconds: float | None = None


class TestResults(Schema):
    """What became of the tests of a set, in their order: a sequence of `TestResult`, which can be asked for by id too.

    Attributes:
        name: Of the test set.
        results: One for each test.

    Examples:
        >>> results = TestResults(results=[TestResult(id="late-order", verdict="passed", reason="1 metric passed"),
        ...                                TestResult(id="no-order", verdict="failed", reason="tone: It was rude.")])
        >>> results.passed, results.pass_rate, results["no-order"].reason
        (False, 0.5, 'tone: It was rude.')
        >>> print(results)  # doctest: +NORMALIZE_WHITESPACE
        no-order  failed  tone: It was rude.
        2 tests: 1 passed, 1 failed
        pass rate 0.500 (of the 2 that passed or failed)
    """

    __test__: ClassVar[bool] = False

    name: str | None = None
    results: tuple[TestResult, ...] = ()

    @property
    def counts(self) -> dict[Verdict, int]:
        """How many tests passed, failed, are inconclusive, and are an error."""
        verdicts = [result.verdict for result in self.results]
        return {verdict: verdicts.count(verdict) for verdict in COUNTED}

    @property
    def passed(self) -> bool:
        """Whether there are tests and all of them passed."""
        return bool(self.results) and all(result.verdict == "passed" for result in self.results)

    @property
    def pass_rate(self) -> float | None:
        """The share that passed of the tests that passed or failed, from 0 to 1; None if there are none of these."""
        counts = self.counts
        judged = counts["passed"] + counts["failed"]
        return counts["passed"] / judged if judged else None

    def __iter__(self) -> Iterator[TestResult]:  # type: ignore[override]  # not the fields, as of other models
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, key: int | str) -> TestResult:
        """The result of the test at a place or with an id.

        Raises:
            IndexError: There is no such place.
            InvalidInput: There is no such id; the message names the nearest.
            InvalidType: Neither of them.
        """
        if isinstance(key, int):
            return self.results[key]
        if not isinstance(key, str):
            raise InvalidType(f"results are asked for by their place or the id of a test, not {type(key).__name__}")
        for result in self.results:
            if result.id == key:
                return result
        raise InvalidInput(not_there("result of the test", key, [result.id for result in self.results]))

    def __str__(self) -> str:
        return "\n".join([*self.rows(), *self.summary()])

    def rows(self) -> Iterator[str]:
        """A line for each test that did not pass: its id, verdict and reason, with tabs between them."""
        for result in self.results:
            if result.verdict != "passed":
                yield "\t".join(map(_core.printable, (result.id, result.verdict, result.reason)))

    def summary(self) -> Iterator[str]:
        """The counts in words, and the pass rate if there is one."""
        parts = [f"{count:,} {verdict}" for verdict, count in self.counts.items() if count]
        total = len(self.results)
        yield f"{total:,} test{'s' * (total != 1)}" + (f": {', '.join(parts)}" if parts else "")
        if self.pass_rate is not None:
            judged = self.counts["passed"] + self.counts["failed"]
            yield f"pass rate {share(self.pass_rate)} (of the {judged:,} that passed or failed)"

    def table(self) -> Table:
        """All tests as a table for a terminal (`rich.print`)."""
        from rich.table import Table  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415

        table = Table("test", "verdict", "reason")
        for result in self.results:
            # A Text, since in a str rich would obey what is in square brackets.
            verdict = Text(result.verdict, style=STYLES[result.verdict])
            table.add_row(Text(_core.printable(result.id)), verdict, Text(_core.printable(result.reason)))
        return table

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all results with their traces to a ``.json`` or ``.yaml``, or as a line for each test to a ``.jsonl``.

        Raises:
            OSError: A file that can't be written.
            InvalidInput: Another ending; what no file can hold, with the test and the path to it.
        """
        is_jsonl = format_of(path) == "jsonl"
        try:
            data = self.model_dump(mode="json")
            save(path, data["results"] if is_jsonl else data)
        except UNWRITABLE as error:
            raise _first_unwritable(self.results) or error from None

    def to_junit(self, path: str | os.PathLike[str]) -> None:
        """Write a JUnit XML file, which systems for continuous integration read.

        A test is a test case. What failed is a failure, an error an error, and what is inconclusive is skipped, each
        with the reason; the text below it tells what each metric says. Characters that XML can't hold become escapes.

        Raises:
            OSError: A file that can't be written.
        """
        from junitparser import JUnitXml, TestSuite  # noqa: PLC0415

        name = _core.printable(self.name or "callmatch")
        suite = TestSuite(name)
        suite.add_testcases([_junit(result, name) for result in self.results])
        whole = JUnitXml(name)
        whole.add_testsuite(suite)
        whole.update_statistics()  # type: ignore[no-untyped-call]
        with writing(path) as file:
            file.write(whole.tostring().decode("utf-8") + "\n")  # type: ignore[no-untyped-call]


UNWRITABLE = (ValueError, TypeError, RecursionError)
"""What comes of writing what can't be written."""


def _first_unwritable(results: Iterable[TestResult]) -> InvalidInput | None:
    """Where among results is the first thing that can't be written, and why."""
    for place, result in enumerate(results):
        for name in type(result).model_fields:
            try:
                to_json(result.model_dump(mode="json", include={name}))
            except UNWRITABLE as error:
                path = f"results[{place}].{name}"
                message = f"{path}: this of the test {result.id!r} can't be written: {said(error)}"
                return InvalidInput(_core.printable(message), path)
    return None


def _junit(result: TestResult, suite: str) -> TestCase:
    from junitparser import Error, Failure, Skipped, TestCase  # noqa: PLC0415

    case = TestCase(_core.printable(result.id), suite, result.seconds or 0)
    kinds: dict[Verdict, type[Error | Failure | Skipped]] = {"failed": Failure, "error": Error, "inconclusive": Skipped}
    if result.verdict in kinds:
        entry = kinds[result.verdict](_core.printable(result.reason), result.verdict)
        entry.text = "\n".join(
            _core.printable(f"{metric.name}: {metric.verdict}: {metric.reason}") for metric in result.metrics
        )
        case.result = [entry]
    return case
