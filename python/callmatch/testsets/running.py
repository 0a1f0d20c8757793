"""Running tests and judging what happened."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from callmatch.concurrency import within
from callmatch.errors import ENDING, said
from callmatch.metrics.metric import Case, Metric
from callmatch.results import MetricResult
from callmatch.testsets.agents import Crash, Source
from callmatch.testsets.results import TestResult, roll_up

if TYPE_CHECKING:
    from callmatch.testsets.testset import Test

__all__ = ["Run", "progress_of"]

LOG = logging.getLogger(__name__)

HELD_TO = ("expected_output", "expected_tool_calls", "goal", "instructions", "restrictions")
"""What of a test its metrics see beside the trace."""


@dataclass(frozen=True)
class Run:
    """A test that is to be run once."""

    test: Test
    source: Source
    metrics: Sequence[Metric]

    async def result(self, report: Callable[[], None]) -> TestResult:
        """Get the trace, judge it, and report that it is done."""
        trace, error, seconds = None, None, None
        started = time.perf_counter()
        try:
            trace = await self.source(self.test)
        except Crash as crash:
            error = str(crash)
            LOG.info("There is no trace of the test %r", self.test.id, exc_info=True)
        if self.source.is_live:
            seconds = time.perf_counter() - started
        judged: list[MetricResult] = []
        if trace is not None:
            case = Case(trace, **{name: getattr(self.test, name) for name in HELD_TO})
            judged = [await _judged(metric, case) for metric in self.metrics]
        verdict, reason = roll_up(error, judged)
        report()
        return TestResult(
            id=self.test.id or "",
            verdict=verdict,
            reason=reason,
            metrics=tuple(judged),
            trace=trace,
            error=error,
            seconds=seconds,
        )


async def _judged(metric: Metric, case: Case) -> MetricResult:
    """What a metric says; that it could say nothing is its result too."""
    from asyncio import CancelledError  # noqa: PLC0415 - it takes long to import

    try:
        return await within(None, metric._evaluate_case_async(case, metric.target))
    except (*ENDING, CancelledError):
        raise
    except BaseException as error:
        LOG.info("The metric %r could not judge", metric.name, exc_info=True)
        reason = f"It could not judge this: {said(error)}"
        return MetricResult(name=metric.name, score=None, verdict="error", reason=reason, details={"reason": reason})


@contextlib.contextmanager
def progress_of(total: int, shown: bool | None) -> Iterator[Callable[[], None]]:
    """A progress bar on standard error, by default if that is a terminal; what it yields moves it on by one."""
    if shown is None:
        shown = sys.stderr is not None and sys.stderr.isatty()
    if not shown:
        yield lambda: None
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (TextColumn("testing"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True, force_terminal=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda: bar.advance(task)
