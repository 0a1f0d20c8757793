"""Groups of rows and repeated trials, as ``callmatch score`` tells them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from callmatch import _core
from callmatch.cli.output import counted
from callmatch.display import share
from callmatch.summaries import GroupKey, Summaries, Summary
from callmatch.trials import AtK, Trials

__all__ = ["Grouping", "interval", "most_failing"]

MOST_GROUPS = 100
"""On a terminal so many groups are shown, and all of them in a pipe."""

WIDE = 100
"""On a terminal of fewer columns than this, F1 stands for precision and recall too."""

MOST_FAILING = 5
"""So many of the tools and arguments that fail most are told."""


class Grouping(NamedTuple):
    """By which fields rows are grouped, and which of them tells the trials of a task."""

    fields: tuple[str, ...]
    task: str | None

    @classmethod
    def of(cls, group_by: Iterable[str], trials_by: str | None) -> Grouping:
        """What the two options say."""
        fields = tuple(field.strip() for option in group_by for field in option.split(","))
        for place, field in enumerate(fields):
            if not field:
                raise click.UsageError("--group-by: there is no field before or after a comma")
            if field in fields[:place]:
                raise click.UsageError(_core.printable(f"--group-by: {field} is there twice"))
        if trials_by in fields:
            raise click.UsageError(_core.printable(f"--group-by and --trials-by are of one field, {trials_by}"))
        return cls(fields, trials_by)

    @property
    def all(self) -> list[str]:
        """All fields that rows are told apart by."""
        return [*self.fields, self.task] if self.task is not None else [*self.fields]

    def to_dict(self, summaries: Summaries) -> dict[str, Any]:
        """What is told of groups and trials, as JSON can hold it."""
        told: dict[str, Any] = {}
        if self.fields:
            told["groups"] = summaries.by_fields(self.fields).to_dicts()
        if self.task is not None:
            trials = Trials.of(summaries, self.task)
            told["trials"] = [
                {"group": dict(zip(self.fields, key, strict=True))} | found.to_dict() for key, found in trials.items()
            ]
        return told

    def show(self, summaries: Summaries) -> None:
        """Print groups and trials: as tables on a terminal, as lines with tabs elsewhere."""
        if self.fields:
            groups = summaries.by_fields(self.fields)
            rows = [named(key) + group_cells(group) for key, group in groups.items()]
            show(self.fields, GROUP_HEADINGS, rows)
        if self.task is not None:
            trials = Trials.of(summaries, self.task)
            show(self.fields, TRIAL_HEADINGS, list(self._trial_rows(trials)))
            for line in about(trials.values(), self.task):
                click.echo(_core.printable(line))

    def _trial_rows(self, trials: dict[GroupKey, Trials]) -> Iterator[list[str]]:
        for key, found in trials.items():
            for row in found.table():
                yield named(key) + trial_cells(row)


GROUP_HEADINGS = ("rows", "passed", "failed", "other", "pass rate", "95 %", "precision", "recall", "F1")
TRIAL_HEADINGS = ("k", "pass^k", "95 %", "pass@k", "tasks")


def group_cells(summary: Summary) -> list[str]:
    """What is told of a group."""
    counts = (summary.rows, summary.passed, summary.failed, summary.rows - summary.judged)
    means = (summary.precision, summary.recall, summary.f1)
    rates = [share(summary.pass_rate), interval(summary.pass_rate_interval), *map(share, means)]
    return [*(f"{count:,}" for count in counts), *rates]


def trial_cells(row: AtK) -> list[str]:
    """What is told of a number of trials."""
    return [str(row.k), share(row.pass_hat), interval(row.pass_hat_interval), share(row.pass_at), f"{row.tasks:,}"]


def about(trials: Iterable[Trials], task: str) -> Iterator[str]:
    """What else is to be said of trials."""
    found = list(trials)
    not_judged, without = sum(one.not_judged for one in found), sum(one.without_task for one in found)
    judged = counted(sum(one.judged for one in found), "trial")
    yield f"{counted(found[0].tasks, 'task')} by {task}, {judged}" if len(found) == 1 else f"{judged} by {task}"
    if not_judged:
        yield f"not counted: {counted(not_judged, 'trial')} that neither passed nor failed"
    if without:
        yield f"{counted(without, 'row')} without {task} {'is' if without == 1 else 'are'} left out"


def named(key: GroupKey) -> list[str]:
    """The values of a group; a text that could be taken for null has quotes."""
    return ["null" if value is None else f'"{value}"' if value in ("null", "") else value for value in key]


def interval(ends: tuple[float, float] | None) -> str:
    """The two ends of an interval."""
    return "-" if ends is None else f"{share(ends[0])} to {share(ends[1])}"


def most_failing(summary: Summary) -> Iterator[str]:
    """Which tools and arguments fail most."""
    if summary.failing_tools is None or summary.failing_arguments is None:
        yield "more than 10,000 different tools and arguments fail"
        return
    arguments = {f"{tool} {path or '(all)'}": count for (tool, path), count in summary.failing_arguments.items()}
    for what, counts in (("tools", summary.failing_tools), ("arguments", arguments)):
        if counts:
            most = [f"{name} {count:,}" for name, count in list(counts.items())[:MOST_FAILING]]
            others = len(counts) - len(most)
            yield f"{what} that fail most: {', '.join(most)}" + f" and {others:,} more" * (others > 0)


def show(fields: Sequence[str], numbers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table of the values of fields and of numbers, which have these headings."""
    console = Console(highlight=False, soft_wrap=True)
    if not console.is_terminal:
        for row in ([*fields, *numbers], *rows):
            click.echo("\t".join(map(_core.printable, row)))
        return
    table = Table()
    for field in fields:
        table.add_column(Text(_core.printable(field)), overflow="fold")
    left_out = {"precision", "recall"} if console.width < WIDE else set()
    places = [*range(len(fields)), *(len(fields) + i for i, name in enumerate(numbers) if name not in left_out)]
    for heading in numbers:
        if heading not in left_out:
            table.add_column(heading, justify="right")
    for row in rows[:MOST_GROUPS]:
        table.add_row(*(Text(_core.printable(row[place])) for place in places))
    Console().print(table)
    if len(rows) > MOST_GROUPS:
        console.print(f"… and {len(rows) - MOST_GROUPS:,} more (a pipe gets all of them, and so does --json)")
