"""``callmatch check``: files of requests, and whether their answers honour what the tools did."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, get_args

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from callmatch import _core
from callmatch.cli.output import (
    EXIT_BELOW_THE_BAR,
    Words,
    counted,
    ending,
    find_files,
    is_there,
    leave,
    note,
    reading_bar,
    told,
    writable,
)
from callmatch.cli.score import Rate, progress
from callmatch.display import STYLES, share, to_json
from callmatch.documents import load, place_told, writing
from callmatch.errors import InvalidType
from callmatch.metrics.tool_check import ToolCallCheck
from callmatch.metrics.tool_check_judge import JudgeMode
from callmatch.metrics.trajectory import MOST_THREADS
from callmatch.readers import Traces
from callmatch.toolcheck.batch import CheckScores, CheckSummary

__all__ = ["check"]

STYLES_OF_CHECKS = {"followed": "green", "violated": "red", "undecided": "yellow", "vacuous": "dim"}


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILES...")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write what was found in each request to this file, a .jsonl.",
)
@click.option(
    "--fail-under",
    metavar="SCORE",
    type=Rate(),
    help="Exit with 1 if a request has a lower score than this (0 to 1).",
)
@click.option(
    "--traces",
    "are_traces",
    is_flag=True,
    help="FILES are traces in any format that callmatch read reads, or folders of them.",
)
@click.option(
    "--target",
    type=Words(["turn", "response", "conversation", "run"]),
    help="With --traces: what of a trace is checked.  [default: turn]",
)
@click.option("--explain", is_flag=True, help="Write explanations into --output.")
@click.option("--judge", metavar="MODEL", help='Ask this model, a "provider/name", about what rules leave open.')
@click.option(
    "--judge-mode",
    type=Words(get_args(JudgeMode)),
    help="What the judge is asked about.  [default: undecided]",
)
@click.option(
    "--available-tools",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The tools that could be called, for requests that don't say so: a list in a .json, .jsonl or .yaml.",
)
@click.option(
    "--config",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Further options of the check (failure_when, key_aliases …), in a .json or .yaml.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="Show at most so many requests below the bar.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary and the shown requests as a JSON object.")
@click.option("--threads", type=click.IntRange(1, MOST_THREADS), help="How many threads to use.  [default: all cores]")
def check(
    files: tuple[str, ...],
    output: Path | None,
    fail_under: float | None,
    are_traces: bool,
    target: str | None,
    explain: bool,
    judge: str | None,
    judge_mode: str | None,
    available_tools: Path | None,
    config: Path | None,
    limit: int,
    as_json: bool,
    threads: int | None,
) -> None:
    """Check whether the answers in FILES honour what the tools did.

    FILES are JSON Lines or JSON arrays, plain, .gz or .zst, of requests (user_query, generated_text, tool_trace) or of
    objects with "id" and "request"; "-" is standard input, and quoted patterns such as 'runs/*.jsonl' work. With
    --traces they are stored traces.

    Exit status: 0; 1 if a score is below --fail-under; 2 for bad usage or if nothing could be read.
    """
    if target is not None and not are_traces:
        raise click.UsageError("--target needs --traces: it says what of a trace is checked, and FILES are requests")
    if threads is not None and are_traces:
        raise click.UsageError("--threads can't go with --traces: they are read on all cores")
    paths = find_files(files, folders=are_traces)
    summary = CheckSummary()
    shown: list[dict[str, Any]] = []
    inputs: list[str | Path] = [*paths, *(path for path in (available_tools, config) if path is not None)]
    with ending():
        metric = made(
            config,
            available_tools,
            {
                **({"explain": True} if explain else {}),
                **({"judge": judge} if judge is not None else {}),
                **({"judge_mode": judge_mode} if judge_mode is not None else {}),
                **({"threshold": fail_under} if fail_under is not None else {}),
            },
        )
        checking = (
            checked_traces(metric, paths, target or "turn", limit)
            if are_traces
            else checked_requests(metric, paths, threads)
        )
        with writing_lines(output, inputs) as write, checking as chunks:
            for scores in chunks:
                summary += scores.summary()
                shown += below_the_bar(scores, limit - len(shown))
                write(scores)
            if summary.error == summary.rows:
                first = shown[0]["reason"] if shown else "use --limit to see why"
                raise click.ClickException(f"none of the {summary.rows} requests could be read; the first: {first}")
    if as_json:
        click.echo(to_json({"summary": asdict(summary), "rows": shown}, indent=2))
    else:
        show(summary, shown, several_files=len(paths) > 1)
    if fail_under is not None:
        check_bar(summary, fail_under)


@contextlib.contextmanager
def checked_requests(metric: ToolCallCheck, paths: list[str], threads: int | None) -> Iterator[Iterator[CheckScores]]:
    """The scores of requests."""
    with progress(paths, "checking") as report:
        yield told(metric.evaluate_file(paths, threads=threads), report)


@contextlib.contextmanager
def checked_traces(metric: ToolCallCheck, paths: list[str], target: str, limit: int) -> Iterator[Iterator[CheckScores]]:
    """The scores of what is found in traces."""
    with reading_bar("reading") as report:
        traces = Traces(paths, progress=partial(report, of_bytes=True))
    if not traces:
        raise click.ClickException("there are no traces in FILES")
    yield metric.evaluate_traces(traces, target=target)
    note(traces.diagnostics, limit)


def made(config: Path | None, available_tools: Path | None, options: Mapping[str, Any]) -> ToolCallCheck:
    """The check, by the options in files and those of the command, which come first."""
    given: dict[str, Any] = {}
    if config is not None:
        is_there(config)
        given = load(config)
        if isinstance(given, Mapping):
            given = {**given, **options}
    else:
        given = {**options}
    if available_tools is not None:
        is_there(available_tools)
        tools = load(available_tools)
        if isinstance(tools, Mapping) and "tools" in tools:
            tools = tools["tools"]
        if not isinstance(tools, list):
            raise InvalidType(f"{available_tools}: expected a list of tools, got {type(tools).__name__}")
        with place_told(available_tools, "config.available_tools"):
            ToolCallCheck.from_config({"available_tools": tools})
        given = {**given, "available_tools": tools}
    if config is None:
        return ToolCallCheck(**given)
    with place_told(config, "config"):
        return ToolCallCheck.from_config(given)


@contextlib.contextmanager
def writing_lines(output: Path | None, inputs: Sequence[str | Path]) -> Iterator[Callable[[CheckScores], object]]:
    """Write a line for each request to a file, which gets its name when it is whole; without a file, nowhere."""
    if output is None:
        yield lambda scores: None
        return
    writable(output, "--output", [".jsonl"], inputs)
    with writing(output) as file:
        yield lambda scores: file.write(scores.json_lines())


def below_the_bar(scores: CheckScores, most: int) -> list[dict[str, Any]]:
    """The first requests that failed, or could not be read."""
    if most <= 0:
        return []
    places = [place for place, verdict in enumerate(scores.verdict) if verdict in ("failed", "error")]
    return [
        {
            "id": scores.id[place],
            "file": scores.file[place],
            "line": scores.line[place],
            "score": scores.score[place],
            "verdict": scores.verdict[place],
            "score_basis": scores.score_basis[place],
            "reason": scores.error[place] or scores.report(place)["reason"],
        }
        for place in places[:most]
    ]


def show(summary: CheckSummary, shown: Sequence[Mapping[str, Any]], *, several_files: bool) -> None:
    """Print the requests below the bar, and the summary: as tables on a terminal, as plain lines elsewhere."""
    console = Console(highlight=False, soft_wrap=True)
    rows = [
        [
            f"{row['file']}: " * (several_files and row["file"] is not None) + str(row["id"]),
            row["verdict"],
            share(row["score"]),
            row["reason"],
        ]
        for row in shown
    ]
    rows = [[_core.printable(cell) for cell in row] for row in rows]
    if console.is_terminal and rows:
        table = Table("id", "verdict", "score", "reason")
        for id_, verdict, score, reason in rows:
            table.add_row(Text(id_), Text(verdict, style=STYLES[verdict]), score, Text(reason))
        Console().print(table)
    for row in [] if console.is_terminal else rows:
        click.echo("\t".join(row))
    others = summary.failed + summary.error - len(shown)
    if others:
        click.echo(f"… and {others:,} more below the bar (--limit shows more, --output writes all)")
    if console.is_terminal:
        console.print(table_of(summary))
    for line in summary_lines(summary, checks=not console.is_terminal):
        console.print(line)


def table_of(summary: CheckSummary) -> Table:
    """How often each instruction has which verdict."""
    table = Table("instruction")
    for verdict in _core.CHECK_VERDICTS:
        table.add_column(Text(verdict, style=STYLES_OF_CHECKS[verdict]), justify="right")
    for instruction, verdicts in summary.verdicts.items():
        table.add_row(instruction, *(f"{verdicts[verdict]:,}" for verdict in _core.CHECK_VERDICTS))
    return table


def summary_lines(summary: CheckSummary, *, checks: bool) -> Iterator[Text]:
    """The summary in words, with the verdicts on each instruction or without."""
    counts = [(getattr(summary, verdict), verdict) for verdict in ("passed", "failed", "inconclusive", "error")]
    parts = [Text(f"{count:,} {word}", style=STYLES[word]) for count, word in counts if count]
    yield Text(f"{counted(summary.rows, 'answer')}: ") + Text(", ").join(parts)
    for instruction, verdicts in summary.verdicts.items() if checks else ():
        told = [f"{verdicts[verdict]:,} {verdict}" for verdict in _core.CHECK_VERDICTS if verdicts[verdict]]
        yield Text(f"{instruction}: {', '.join(told) or 'none'}")
    if summary.judged:
        yield Text(
            f"score: mean {share(summary.mean)}, lowest {share(summary.lowest)} (over the {summary.judged:,} with one)"
        )


def check_bar(summary: CheckSummary, bar: float) -> None:
    """Exit with 1 if the lowest score is below the bar, or if there is none."""
    if summary.lowest is None:
        click.echo("no request has a score, so there is none to hold against --fail-under", err=True)
        leave(EXIT_BELOW_THE_BAR)
    if summary.lowest < bar:
        click.echo(
            f"{counted(summary.failed, 'request')} below {bar:g}; the lowest score is {summary.lowest:.6g}", err=True
        )
        leave(EXIT_BELOW_THE_BAR)
    if summary.error:
        click.echo(
            f"{counted(summary.error, 'request')} could not be read, and the scores say nothing of them", err=True
        )
