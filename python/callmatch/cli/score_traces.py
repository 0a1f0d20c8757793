"""``callmatch score --expected-from``: traces of which a file of its own says what is expected."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import click

from callmatch import _core
from callmatch.batch import Scores
from callmatch.cli.output import counted, is_there, note, reading_bar, told
from callmatch.expectations import By, read_expected, unmatched
from callmatch.metrics.trajectory import ToolCallTrajectory
from callmatch.readers import Traces

__all__ = ["Expected", "scored_traces"]


class Expected(NamedTuple):
    """A file of expectations, what their ids are of, and where in a record they are."""

    file: Path
    by: By
    field: str


@contextlib.contextmanager
def scored_traces(
    metric: ToolCallTrajectory, paths: list[str], of: Expected, *, format: str | None, limit: int
) -> Iterator[Iterator[Scores]]:
    """The scores of traces of which is expected what a file of its own says."""
    is_there(of.file)
    wanted = read_expected(of.file, by=of.by, field=of.field)
    with reading_bar("scoring") as report:
        traces, done = Traces(paths, format=format, progress=partial(report, of_bytes=True)), 0
        if not traces:
            raise click.ClickException("there are no traces in FILES")
        missing = unmatched(traces, wanted, of.by)
        if missing and len(missing) == len(wanted):
            raise click.ClickException(nothing_fits(traces, missing, of))

        def tell(scores: Scores) -> None:
            nonlocal done
            done += len(scores)
            report(min(done, len(traces)), len(traces))

        yield told(metric.evaluate_traces(traces, wanted, by=of.by), tell)
    if missing:
        what = f"{counted(len(missing), 'record')} of {of.file} {'is' if len(missing) == 1 else 'are'} of no trace"
        click.echo(f"Note: {_core.printable(f'{what}: {some(missing)}')}", err=True)
    note(traces.diagnostics, limit)


def nothing_fits(traces: Traces, missing: Sequence[str], of: Expected) -> str:
    """What to say where no expectation is of a trace: its ids must be of something else."""
    known = list(traces.places_by(of.by))
    there = f"of the traces there are {some(known)}" if known else "no trace has one"
    return f"no {of.by} in {of.file} is that of a trace: it has {some(missing)}, and {there}; --by says what ids are of"


def some(ids: Sequence[str]) -> str:
    """The first of some ids."""
    return ", ".join(map(repr, ids[:3])) + ", …" * (len(ids) > 3)
