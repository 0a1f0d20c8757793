"""``callmatch score`` for tables in files, and where it writes scores to."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import click
from click.core import ParameterSource
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from callmatch import _core
from callmatch.arrow import no_two_of_a_name
from callmatch.arrow_files import FileScores
from callmatch.cli.output import counted, writable
from callmatch.metrics.trajectory import ToolCallTrajectory
from callmatch.parts import folder_of
from callmatch.score_files import ENDINGS, Run, Scored, running
from callmatch.storage import Place, is_url
from callmatch.summaries import Summaries
from callmatch.table_files import is_table_file, pyarrow_for
from callmatch.tables import values_of

__all__ = ["Bar", "ColumnNames", "are_tables", "check_output", "names_in", "score_bar", "scored_tables"]

Bar = Callable[[int, float | None], None]
"""What is told how many rows were scored, and how many bytes were read; None for rows of an earlier run."""


class ColumnNames(NamedTuple):
    """What is in which columns of tables."""

    actual: str
    expected: str
    id: str
    keep: Sequence[str]
    group_by: Sequence[str]


def names_in(keep: Sequence[str]) -> list[str]:
    """The columns that are named."""
    names = [name.strip() for option in keep for name in option.split(",")]
    if "" in names:
        raise click.UsageError("--keep: there is no column before or after a comma")
    return names


def are_tables(paths: Sequence[str]) -> bool:
    """Are the files tables? Those that are and those that aren't are read in different ways."""
    tables = [path for path in paths if path != "-" and is_table_file(path)]
    if tables and len(tables) < len(paths):
        other = next(path for path in paths if path not in tables)
        what = f"{tables[0]} is a table, and {other} is none: give tables and files of records apart"
        raise click.UsageError(_core.printable(what))
    return bool(tables)


def check_output(output: str, inputs: Sequence[str | Path]) -> None:
    """Refuse, before anything is done, a file that could not be written afterwards or would overwrite an input."""
    place = Place.of(output)
    if place.is_local:
        here = [path for path in inputs if not is_url(str(path))]
        writable(Path(place.path), "--output", ENDINGS, here)
        return
    ending = Path(place.path).suffix
    if ending.lower() not in ENDINGS:
        raise click.UsageError(_core.one_of("the ending of --output", ending, list(ENDINGS)))
    if any(Place.of(str(path)).is_same(place) for path in inputs if is_url(str(path))):
        raise click.UsageError(f"--output would overwrite the input {output!r}")


class Tables:
    """The scores of tables as they are written."""

    def __init__(self, run: Run, bar: Bar, before: list[int] | None) -> None:
        self._run, self._bar, self._before = run, bar, before

    def __iter__(self) -> Iterator[Scored]:
        for scored in self._run:
            yield scored
            read = scored.share
            if read is not None and self._before is not None:
                start, end = self._before[scored.file : scored.file + 2]
                read = start + read * (end - start)
            self._bar(scored.batch.num_rows, read)

    def not_passed(self, scored: Scored, most: int) -> list[dict[str, Any]]:
        """The first rows that were judged, or should have been, and did not pass."""
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.compute as pc  # noqa: PLC0415

        if most <= 0:
            return []
        batch = scored.batch
        bad = pc.invert(pc.is_in(batch.column("verdict"), pa.array(["passed", "not_applicable"])))
        rows = batch.filter(bad).slice(0, most)
        columns = [values_of(column, name) for column, name in zip(rows.columns, rows.schema.names, strict=True)]
        return [dict(zip(rows.schema.names, row, strict=True)) for row in zip(*columns, strict=True)]

    def summaries(self) -> Summaries:
        """Those of all rows."""
        summaries = self._run.summaries
        if summaries.total.error == summaries.total.rows:
            # It will be told, and there is no use in going on.
            self._run.discard()
        return summaries


@contextlib.contextmanager
def scored_tables(
    metric: ToolCallTrajectory,
    paths: Sequence[str],
    output: str | None,
    columns: ColumnNames,
    *,
    resume: bool,
    threads: int | None,
) -> Iterator[Tables]:
    """The scores of tables as they are written. The output gets its name when the block is left."""
    pyarrow_for(paths[0])
    no_two_of_a_name(["id", "file", "row", *columns.keep, *_core.SCORE_COLUMNS])
    given = click.get_current_context().get_parameter_source("id_") is not ParameterSource.DEFAULT
    scores = FileScores(
        metric,
        paths,
        [],
        columns.keep,
        id=columns.id,
        id_is_there=given,
        numbered=True,
        actual=columns.actual,
        expected=columns.expected,
        group_by=columns.group_by,
        threads=threads or 0,
    )
    if output is not None and not resume:
        note_discarded(output)
    before = sizes(scores.places)
    with running(scores, output, resume=resume) as run, score_bar(before[-1] if before else None) as bar:
        try:
            yield Tables(run, bar, before)
        except BaseException:
            if run.kept:
                click.echo(f"{counted(run.kept, 'row')} are scored; the same command with --resume goes on", err=True)
            raise


def note_discarded(output: str) -> None:
    """Say that what an earlier run left is not used."""
    folder = folder_of(Place.of(output).resolved())
    if folder.exists():
        what = f"{folder.name} is of a run that was interrupted, and is discarded; --resume would have gone on with it"
        click.echo(f"Note: {_core.printable(what)}", err=True)


def sizes(places: Sequence[Place]) -> list[int] | None:
    """How many bytes the first files have together, of none up to all; None if nobody knows, or nobody looks."""
    if not Console(stderr=True).is_terminal:
        return None
    found = [place.stamp()["size"] for place in places]
    return None if None in found else list(accumulate(found, initial=0))


@contextlib.contextmanager
def score_bar(total: int | None, doing: str = "scoring") -> Iterator[Bar]:
    """A bar on a terminal, and nothing anywhere else."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda rows, read: None
        return
    columns = (
        TextColumn(doing),
        BarColumn(),
        DownloadColumn(),
        TextColumn("{task.fields[rows]:,} rows, {task.fields[rate]:,.0f}/s"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        yield Rate(progress, progress.add_task("", total=total, rows=0, rate=0.0))


class Rate:
    """Tells a bar how far the work is, and how many rows are scored in a second."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress, self._task = progress, task
        self._rows = self._before = 0
        self._start = time.monotonic()

    def __call__(self, rows: int, read: float | None) -> None:
        """So many rows more are done, and so many bytes in all were read; None: an earlier run scored the rows."""
        self._rows += rows
        if read is None:
            self._before = self._rows
            self._start = time.monotonic()
            self._progress.update(self._task, rows=self._rows)
            return
        rate = (self._rows - self._before) / max(time.monotonic() - self._start, 1e-9)
        if self._before and self._before + rows == self._rows:
            # What was done before says nothing of how long the rest will take.
            self._progress.reset(self._task, completed=int(read), rows=self._rows, rate=rate)
        self._progress.update(self._task, completed=read, rows=self._rows, rate=rate)
