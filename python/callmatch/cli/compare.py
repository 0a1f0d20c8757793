"""``callmatch compare``: two runs of the same cases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from callmatch import _core
from callmatch.cli.output import EXIT_BELOW_THE_BAR, Words, counted, ending, is_there, leave
from callmatch.comparison import Change, Comparison, Key
from callmatch.comparison import compare as compare_runs
from callmatch.display import STYLES, share, to_json
from callmatch.storage import is_url

__all__ = ["compare"]

BAD = ("broken", "worse")
"""What a comparison may fail for."""


class Chance(click.FloatRange):
    """A number between 0 and 1."""

    def __init__(self) -> None:
        super().__init__(0, 1, min_open=True, max_open=True)


@click.command()
@click.argument("before", metavar="BEFORE")
@click.argument("after", metavar="AFTER")
@click.option(
    "--by",
    metavar="COLUMN,...",
    default="id",
    show_default=True,
    help="The columns by which rows of the two runs are the same case.",
)
@click.option(
    "--fail-if",
    type=Words(BAD),
    help="Exit with 1 if any row that passed before does not pass now (broken), or if more rows broke than were fixed "
    "and by --alpha that is no chance (worse).",
)
@click.option(
    "--alpha",
    type=Chance(),
    default=0.05,
    show_default=True,
    help="With --fail-if worse: below which p-value of McNemar's exact test it is no chance.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="Show at most so many rows that changed.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the comparison and the shown rows as a JSON object.")
def compare(before: str, after: str, by: str, fail_if: str | None, alpha: float, limit: int, as_json: bool) -> None:
    """Compare two runs of the same cases: what was fixed, what broke, and could that be chance?

    BEFORE and AFTER are files that callmatch score -o wrote, or URLs of such, a .jsonl, .csv, .parquet or .arrow each.
    Rows with the same id are the same case.

    Exit status: 0; 1 for what --fail-if names; 2 for bad usage or if nothing could be compared.
    """
    columns = [column.strip() for column in by.split(",")]
    if not all(columns):
        raise click.UsageError("--by: there is no column before or after a comma")
    for path in (before, after):
        if not is_url(path):
            is_there(Path(path))
    with ending():
        try:
            found = compare_runs(before, after, by=columns)
        except ImportError as error:
            raise click.ClickException(str(error)) from None
    if as_json:
        told = found.to_dict()
        changes = told.pop("changes")
        click.echo(to_json({"comparison": told, "rows": changes[:limit]}, indent=2))
    else:
        show(found, limit)
    if fail_if == "broken" and found.broken + found.lost:
        click.echo(f"{counted(found.broken + found.lost, 'row')} that passed before did not now", err=True)
        leave(EXIT_BELOW_THE_BAR)
    if fail_if == "worse" and found.broken > found.fixed and found.p_value < alpha:
        click.echo(f"more rows broke than were fixed, and p = {found.p_value:.3g} is below {alpha:g}", err=True)
        leave(EXIT_BELOW_THE_BAR)


def show(found: Comparison, limit: int) -> None:
    """Print the rows that changed, as a table on a terminal and as lines with tabs elsewhere, and what they come to."""
    console = Console(highlight=False, soft_wrap=True)
    shown = found.changes[:limit]
    if console.is_terminal and shown:
        Console().print(table_of(shown))
    for change in [] if console.is_terminal else shown:
        click.echo("\t".join(_core.printable(cell) for cell in cells(change)))
    if len(shown) < len(found.changes):
        others = len(found.changes) - len(shown)
        click.echo(f"… and {others:,} more that changed (--limit shows more)")
    for line in words(found):
        console.print(Text(_core.printable(line)))


def table_of(changes: Sequence[Change]) -> Table:
    """The rows that changed, on a terminal."""
    table = Table("id", "before", "after", "reason")
    for change in changes:
        id_, was, now, reason = (_core.printable(cell) for cell in cells(change))
        table.add_row(Text(id_), Text(was, style=STYLES[was]), Text(now, style=STYLES[now]), Text(reason))
    return table


def cells(change: Change) -> tuple[str, str, str, str]:
    """What is told of a row that changed."""
    return named(change.id), change.before, change.after, change.reason or ""


def named(key: Key) -> str:
    """What a row is called."""
    return key if isinstance(key, str) else ", ".join(key)


def words(found: Comparison) -> Iterator[str]:
    """What the rows come to."""
    counts = {
        "broken": found.broken,
        "fixed": found.fixed,
        "passed both times": found.both_passed,
        "failed both times": found.both_failed,
        "passed before and can't be judged now": found.lost,
        "not judged": found.not_judged,
    }
    told = [f"{count:,} {what}" for what, count in counts.items() if count]
    yield f"{counted(found.rows, 'row')} in both: {', '.join(told) or 'none'}"
    if found.difference is not None:
        rates = f"pass rate {share(found.pass_rate_before)} before, {share(found.pass_rate_after)} after"
        yield f"{rates}; difference {signed(found.difference)} (95 %: {signed_interval(found)})"
        yield f"McNemar's exact test: p = {found.p_value:.3g} (mid-p {found.mid_p_value:.3g})"
    for side, (count, first) in (("BEFORE", found.only_before), ("AFTER", found.only_after)):
        if count:
            some = ", ".join(map(named, first)) + ", …" * (count > len(first))
            yield f"{counted(count, 'row')} {'is' if count == 1 else 'are'} in {side} alone: {some}"


def signed(number: float) -> str:
    """A number from -1 to 1 with three decimals, and its sign."""
    return f"{number:+.3f}"


def signed_interval(found: Comparison) -> str:
    """The interval of the difference."""
    ends = found.difference_interval
    return "-" if ends is None else f"{signed(ends[0])} to {signed(ends[1])}"
