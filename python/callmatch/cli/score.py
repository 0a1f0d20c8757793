"""``callmatch score``: files of records against what they expect."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast, get_args

import click
from click.core import ParameterSource
from rich.console import Console
from rich.table import Table
from rich.text import Text

from callmatch import _core
from callmatch.batch import Scores
from callmatch.cli.groups import Grouping, interval, most_failing
from callmatch.cli.output import EXIT_BELOW_THE_BAR, Rows, Words, ending, find_files, leave, told
from callmatch.cli.score_tables import ColumnNames, are_tables, check_output, names_in, score_bar, scored_tables
from callmatch.cli.score_traces import Expected, scored_traces
from callmatch.display import STYLES, share, to_json
from callmatch.expectations import By
from callmatch.metrics.trajectory import MOST_THREADS, ArgumentMode, MatchMode, ToolCallTrajectory
from callmatch.score_files import writing_records
from callmatch.summaries import Summaries, Summary
from callmatch.targets import Names

__all__ = ["score"]


Calls = Literal["executed", "requested"]

OF_RECORDS = {
    "actual": "--actual",
    "id_": "--id",
    "group_by": "--group-by",
    "trials_by": "--trials-by",
    "threads": "--threads",
}
"""The options that say something of records, or of how they are read."""

OF_TRACES = {"by": "--by", "format": "--format", "calls": "--calls"}
"""The options that say something of traces."""

OF_TABLES = {"keep": "--keep", "resume": "--resume"}
"""The options that say something of tables, or of how they are read."""


class Rate(click.FloatRange):
    """A number from 0 to 1, and not NaN, which is below nothing."""

    def __init__(self) -> None:
        super().__init__(0, 1)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        rate = super().convert(value, param, ctx)
        if math.isnan(rate):
            self.fail(f"{value} is not in the range 0<=x<=1.", param, ctx)
        return rate


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILES...")
@click.option(
    "--match",
    type=Words(_core.MATCH_MODES),
    default="in_order",
    show_default=True,
    help="How the calls must line up.",
)
@click.option(
    "--arguments",
    type=Words(_core.ARGUMENT_MODES),
    default="partial",
    show_default=True,
    help="When the arguments of a call match.",
)
@click.option(
    "--names",
    type=Words(_core.NAME_MODES),
    default="exact",
    show_default=True,
    help="Whether expected names are whole names, or may be the last segments of those recorded.",
)
@click.option(
    "--actual",
    metavar="PATH",
    default="tool_calls",
    show_default=True,
    help="Where in a record the calls made are (a list of calls or of chat messages): a dotted path or a JSON pointer.",
)
@click.option(
    "--expected",
    metavar="PATH",
    default="expected_tool_calls",
    show_default=True,
    help="Where in a record the expected calls are.",
)
@click.option(
    "--id",
    "id_",
    metavar="PATH",
    default="id",
    show_default=True,
    help="Where in a record its id is. Without one it is called by its line.",
)
@click.option(
    "--expected-from",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Score traces in any format by the expected calls of the records of this file, a .jsonl, .json or .yaml.",
)
@click.option(
    "--by",
    type=Words(get_args(By)),
    default="trace_id",
    show_default=True,
    help="With --expected-from: what the ids of its records are of, and their key.",
)
@click.option(
    "--format",
    type=Words(_core.trace_formats()),
    metavar="WORD",
    help="With --expected-from: insist on a format of FILES; callmatch read tells which is found.",
)
@click.option(
    "--calls",
    type=Words(get_args(Calls)),
    default="executed",
    show_default=True,
    help="With --expected-from: which calls count, where traces tell those made from those asked for.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Write all rows to this file or URL, a .parquet, .arrow, .jsonl or .csv.",
)
@click.option(
    "--keep",
    metavar="COLUMN,...",
    multiple=True,
    help="Of tables: write these columns too, such as model,agent.",
)
@click.option(
    "--resume",
    is_flag=True,
    help="Of tables: go on where a run that was interrupted ended. It left what it scored beside --output.",
)
@click.option(
    "--fail-under",
    metavar="RATE",
    type=Rate(),
    help="Exit with 1 if the pass rate is lower than this (0 to 1).",
)
@click.option(
    "--group-by",
    metavar="PATH,...",
    multiple=True,
    help="Sum the records up by the values of these fields too, such as model,agent.",
)
@click.option(
    "--trials-by",
    metavar="PATH",
    help="Tell pass^k and pass@k of repeated trials: where in a record its task is, such as task_id.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="Show at most so many rows that did not pass.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary and the shown rows as a JSON object.")
@click.option("--threads", type=click.IntRange(1, MOST_THREADS), help="How many threads to use.  [default: all cores]")
def score(
    files: tuple[str, ...],
    match: str,
    arguments: str,
    names: str,
    actual: str,
    expected: str,
    id_: str,
    expected_from: Path | None,
    by: str,
    format: str | None,
    calls: str,
    output: str | None,
    keep: tuple[str, ...],
    resume: bool,
    fail_under: float | None,
    group_by: tuple[str, ...],
    trials_by: str | None,
    limit: int,
    as_json: bool,
    threads: int | None,
) -> None:
    """Score the tool calls recorded in FILES against the expected ones.

    FILES are JSON Lines or JSON arrays of records, plain, .gz or .zst; "-" is standard input, and quoted patterns such
    as 'runs/*.jsonl' work. Or they are tables, .parquet, .arrow or .csv, of which --actual, --expected and --id name
    columns. Records and tables may be behind URLs, s3://bucket/*.parquet say. With --expected-from FILES are traces in
    any format that callmatch read reads, or folders of them, and what is expected stands in a file of its own.

    Exit status: 0; 1 if the pass rate is below --fail-under; 2 for bad usage or if nothing could be read.
    """
    metric = ToolCallTrajectory(
        match=cast("MatchMode", match),
        arguments=cast("ArgumentMode", arguments),
        names=cast("Names", names),
        calls=cast("Calls", calls),
    )
    refuse(OF_RECORDS if expected_from else OF_TRACES, expected_from)
    with ending():
        paths = find_files(files, folders=expected_from is not None, urls=expected_from is None)
        if output is not None:
            check_output(output, [*paths] if expected_from is None else [*paths, expected_from])
        of_tables = expected_from is None and are_tables(paths)
    if not of_tables:
        refuse_for(OF_TABLES, "FILES that are tables: .parquet, .arrow or .csv")
    elif resume and output is None:
        raise click.UsageError("--resume needs --output, beside which an earlier run left what it scored")
    grouping = Grouping.of(group_by, trials_by)
    summaries = Summaries(grouping.all)
    shown: list[dict[str, Any]] = []
    if of_tables:
        columns = ColumnNames(actual, expected, id_, names_in(keep), grouping.all)
        with ending(), scored_tables(metric, paths, output, columns, resume=resume, threads=threads) as tables:
            for scored in tables:
                shown += tables.not_passed(scored, limit - len(shown))
            summaries = tables.summaries()
            check_any(summaries.total, shown)
    else:
        if expected_from is None:
            scoring = scored_records(
                metric, paths, actual=actual, expected=expected, id=id_, group_by=grouping.all, threads=threads
            )
        else:
            of = Expected(expected_from, cast("By", by), expected)
            scoring = scored_traces(metric, paths, of, format=format, limit=limit)
        with ending(), writing_rows(output) as write, scoring as chunks:
            for scores in chunks:
                summaries += scores.summaries()
                shown += not_passed(scores, limit - len(shown))
                write(scores)
            check_any(summaries.total, shown)
    summary = summaries.total
    with ending():
        if as_json:
            told = {"summary": summary.to_dict(), "rows": shown} | grouping.to_dict(summaries)
            click.echo(to_json(told, indent=2))
        else:
            show(summary, shown, several_files=len(paths) > 1)
            grouping.show(summaries)
    if fail_under is not None:
        check_bar(summary, fail_under)


def refuse(options: Mapping[str, str], expected_from: Path | None) -> None:
    """Refuse options that would do nothing."""
    if expected_from is None:
        refuse_for(options, "--expected-from: it is about traces, and FILES are records")
        return
    for name in given(options):
        hint = "it says where something is in a record" if name != "threads" else "traces are read on all cores"
        raise click.UsageError(f"{options[name]} can't go with --expected-from: {hint}, and FILES are traces")


def refuse_for(options: Mapping[str, str], need: str) -> None:
    """Refuse options that would do nothing without something else."""
    for name in given(options):
        raise click.UsageError(f"{options[name]} needs {need}")


def given(options: Iterable[str]) -> list[str]:
    """Those of the options that were given."""
    context = click.get_current_context()
    return [name for name in options if context.get_parameter_source(name) is not ParameterSource.DEFAULT]


def check_any(summary: Summary, shown: Sequence[dict[str, Any]]) -> None:
    """End with a message where no row could be read."""
    if summary.error == summary.rows:
        first = next(row["error"] for row in shown) if shown else "use --limit to see why"
        raise click.ClickException(f"none of the {summary.rows} records could be read; the first: {first}")


@contextlib.contextmanager
def scored_records(metric: ToolCallTrajectory, paths: list[str], **options: Any) -> Iterator[Iterator[Scores]]:
    """The scores of records that hold what is expected."""
    with progress(paths) as report:
        yield told(metric.evaluate_file(paths, **options), report)


def not_passed(scores: Scores, most: int) -> list[dict[str, Any]]:
    """The first rows that were judged, or should have been, and did not pass."""
    rows: list[dict[str, Any]] = []
    if most <= 0:
        return rows
    for place, verdict in enumerate(scores.verdict):
        if verdict not in ("passed", "not_applicable"):
            rows.append({name: column[place] for name, column in scores.to_dict().items()})
            if len(rows) == most:
                break
    return rows


@contextlib.contextmanager
def writing_rows(output: str | None) -> Iterator[Callable[[Scores], None]]:
    """Write rows to a file, which gets its name when it is whole; without a file, nowhere."""
    if output is None:
        yield lambda scores: None
        return
    with writing_records(output) as records:
        yield records.write


@contextlib.contextmanager
def progress(paths: list[str], doing: str = "scoring") -> Iterator[Callable[[Rows], None]]:
    """A bar on a terminal, and nothing anywhere else."""
    # How long standard input or a pipe is, nobody knows.
    sizes = [os.path.getsize(path) for path in paths if os.path.isfile(path)]
    with score_bar(sum(sizes) if len(sizes) == len(paths) else None, doing) as bar:
        yield lambda rows: bar(len(rows), rows.bytes_read)


def show(summary: Summary, shown: list[dict[str, Any]], *, several_files: bool) -> None:
    """Print the rows that did not pass, and the summary: as a table on a terminal, as plain lines elsewhere."""
    console = Console(highlight=False, soft_wrap=True)
    rows = [
        [
            f"{row['file']}: " * several_files + str(row["id"]),
            row["verdict"],
            share(row["precision"]),
            share(row["recall"]),
            row["reason"],
        ]
        for row in shown
    ]
    rows = [[_core.printable(cell) for cell in row] for row in rows]
    if console.is_terminal and rows:
        table = Table("id", "verdict", "precision", "recall", "reason")
        for id_, verdict, precision, recall, reason in rows:
            table.add_row(Text(id_), Text(verdict, style=STYLES[verdict]), precision, recall, Text(reason))
        Console().print(table)
    for row in [] if console.is_terminal else rows:
        click.echo("\t".join(row))
    others = summary.failed + summary.inconclusive + summary.error - len(shown)
    if others:
        click.echo(f"… and {others:,} more that did not pass (--limit shows more, --output writes all)")
    for line in summary_lines(summary):
        console.print(line)


def summary_lines(summary: Summary) -> Iterator[Text]:
    """The summary in words."""
    counts = [(getattr(summary, verdict), verdict) for verdict in _core.VERDICTS]
    line = Text(f"{summary.rows:,} row{'s' * (summary.rows != 1)}: ")
    parts = [Text(f"{count:,} {word.replace('_', ' ')}", style=STYLES[word]) for count, word in counts if count]
    yield line + Text(", ").join(parts)
    if summary.judged:
        of_all = f"pass rate {share(summary.pass_rate)} (95 %: {interval(summary.pass_rate_interval)})"
        means = f"precision {share(summary.precision)}, recall {share(summary.recall)}, F1 {share(summary.f1)}"
        yield Text(f"{of_all}; {means} (means over the {summary.judged:,} that passed or failed)")
    if summary.difference_kinds:
        kinds = sorted(summary.difference_kinds.items(), key=lambda item: -item[1])
        yield Text("first differences: " + ", ".join(f"{count:,} {kind}" for kind, count in kinds))
        yield from (Text(_core.printable(line)) for line in most_failing(summary))


def check_bar(summary: Summary, bar: float) -> None:
    """Exit with 1 if the pass rate is below the bar, or can't be told."""
    if summary.pass_rate is None:
        click.echo("no row passed or failed, so there is no pass rate to hold against --fail-under", err=True)
        leave(EXIT_BELOW_THE_BAR)
    if summary.pass_rate < bar:
        click.echo(f"the pass rate {summary.pass_rate:.6g} is below {bar:g}", err=True)
        leave(EXIT_BELOW_THE_BAR)
    if summary.error:
        rows = "1 row" if summary.error == 1 else f"{summary.error:,} rows"
        click.echo(f"{rows} could not be read, and the pass rate says nothing of them", err=True)
