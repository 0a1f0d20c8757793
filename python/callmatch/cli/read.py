"""``callmatch read``: what is in files of traces."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from callmatch import _core
from callmatch.cli.output import Report, Words, counted, ending, find_files, note, reading_bar
from callmatch.display import to_json
from callmatch.readers import ENDINGS, Traces

__all__ = ["read"]

AT_ONCE = 128
"""So many traces are read at a time."""

EXPECTED_FROM = "expected.jsonl"
"""What the hint calls the file that people have to write."""


@dataclass
class Contents:
    """What a file holds."""

    name: str = "all"
    format: str | None = None
    traces: int = 0
    unread: int = 0
    unreported: int = 0
    turns: int = 0
    agents: set[str] = field(default_factory=set)
    conversations: set[str] = field(default_factory=set)
    calls: Counter[str] = field(default_factory=Counter)
    tools: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: Contents) -> Contents:
        return Contents(
            traces=self.traces + other.traces,
            unread=self.unread + other.unread,
            unreported=self.unreported + other.unreported,
            turns=self.turns + other.turns,
            agents=self.agents | other.agents,
            conversations=self.conversations | other.conversations,
            calls=self.calls + other.calls,
            tools=self.tools + other.tools,
        )

    @property
    def counts(self) -> tuple[int, ...]:
        """How much there is of each of `NOUNS`."""
        return self.traces, self.turns, len(self.agents), self.calls.total()


NOUNS = ("trace", "turn", "agent", "tool call")


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILES...")
@click.option(
    "--format",
    type=Words(_core.trace_formats()),
    metavar="WORD",
    help="Insist on a format, such as otlp, or on the words of an instrumentation, such as openinference.",
)
@click.option("--json", "as_json", is_flag=True, help="Print each trace as a line of JSON, which can be read again.")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    help="Show at most so many tools and notes.",
)
def read(files: tuple[str, ...], format: str | None, as_json: bool, limit: int) -> None:
    """Tell what is in FILES of traces, whatever tool wrote them.

    FILES are files or folders, plain, .gz or .zst; "-" is standard input, and quoted patterns such as 'runs/*.jsonl'
    work. The format is found by their shape.

    Exit status: 0; 2 for bad usage or if nothing could be read.
    """
    with ending():
        paths = find_files(files, folders=True)
        with reading_bar("reading") as report:
            traces = Traces(paths, format=format, progress=partial(report, of_bytes=True))
            contents = [] if as_json else look(traces, report)
        if as_json:
            for trace in traces:
                click.echo(to_json(trace.model_dump(mode="json")))
            unread = len(traces.unreadable)
        else:
            unread = sum(content.unread for content in contents)
        if unread and unread == len(traces):
            raise click.ClickException(f"none of the {counted(unread, 'trace')} could be read: {traces.diagnostics[0]}")
    if as_json:
        note(traces.diagnostics, limit)
    else:
        by_format = ["--format", format] if format else []
        show(contents, traces.diagnostics, limit, [*files, *by_format])


def look(traces: Traces, report: Report) -> list[Contents]:
    """What each file holds. A trace that is in several counts in the first."""
    contents = [Contents(name, format) for name, format in traces.files]
    file_of = traces.file_of
    for start in range(0, len(traces), AT_ONCE):
        report(start, len(traces))
        for place, outline in enumerate(traces.outlines(start, start + AT_ONCE), start):
            content = contents[file_of[place]]
            content.traces += 1
            if outline is None:
                content.unread += 1
            else:
                turns, is_reported = outline
                content.turns += turns
                content.unreported += not is_reported
    for part in traces.columns(AT_ONCE):
        report(part["trace"][-1] if part["trace"] else 0, len(traces))
        wanted = ("trace", "kind", "name", "agent", "recorded_as", "conversation_id")
        for place, kind, name, agent, recorded_as, conversation in zip(*(part[key] for key in wanted), strict=True):
            content = contents[file_of[place]]
            if kind == "tool_call":
                content.calls[recorded_as] += 1
                content.tools[name or "(without a name)"] += 1
            content.agents |= {found for found in (agent, name if kind == "agent" else None) if found}
            content.conversations |= {conversation} if conversation else set()
    return contents


def show(contents: Sequence[Contents], diagnostics: Sequence[str], limit: int, arguments: Sequence[str]) -> None:
    """Print what there is: the files as a table on a terminal, as lines with tabs elsewhere, and the rest in words."""
    console = Console(highlight=False, soft_wrap=True)
    total = sum(contents, Contents())
    rows = [*contents, total] if len(contents) > 1 else contents
    if console.is_terminal and rows:
        table = Table()
        for heading in ("file", "format"):
            table.add_column(heading, overflow="fold")
        for noun in NOUNS:
            table.add_column(f"{noun}s", justify="right")
        for row in rows:
            cells = [row.name, row.format or "-", *(f"{count:,}" for count in row.counts)]
            table.add_row(*(Text(_core.printable(cell)) for cell in cells))
        Console().print(table)
    for row in [] if console.is_terminal else rows:
        cells = [row.name, row.format or "-", *map(counted, row.counts, NOUNS)]
        click.echo("\t".join(_core.printable(cell) for cell in cells))
    if not rows:
        click.echo(f"no files: in a folder those count that end with {', '.join(ENDINGS)}, also before .gz or .zst")
    for line in words(total, diagnostics, limit, arguments):
        console.print(Text(_core.printable(line)))


def words(total: Contents, diagnostics: Sequence[str], limit: int, arguments: Sequence[str]) -> Iterator[str]:
    """What else is to be said of all files together."""
    if total.calls.keys() - {"both", "executed"} or len(total.calls) > 1:
        kinds = {"requested": "asked for by a model", "executed": "made", "both": "not told apart"}
        told = [f"{total.calls[kind]:,} {what}" for kind, what in kinds.items() if total.calls[kind]]
        yield f"tool calls: {', '.join(told)}"
    if total.tools:
        most = [f"{name} {count:,}" for name, count in sorted(total.tools.items(), key=rank)[:limit]]
        others = len(total.tools) - len(most)
        yield "tools: " + ", ".join(most) + f" and {others:,} more" * (others > 0)
    if total.conversations:
        yield f"in {counted(len(total.conversations), 'conversation')}"
    if total.unreported:
        yield f"of {counted(total.unreported, 'trace')} it isn't known which tools were called"
    if total.unread:
        yield f"{counted(total.unread, 'trace')} can't be read"
    if diagnostics:
        yield f"{counted(len(diagnostics), 'note')}:"
        yield from (f"  {diagnostic}" for diagnostic in diagnostics[:limit])
        if len(diagnostics) > limit:
            yield f"  … and {len(diagnostics) - limit:,} more (--limit shows more)"
    if total.traces:
        by = "conversation_id" if 1 < len(total.conversations) < total.traces else "trace_id"
        command = f"callmatch score {shlex.join(arguments)} --expected-from {EXPECTED_FROM} --by {by}"
        yield f"to score them: {command}"


def rank(tool: tuple[str, int]) -> tuple[int, str]:
    """The most called tools come first, and of those called as often the first by name."""
    return -tool[1], tool[0]
