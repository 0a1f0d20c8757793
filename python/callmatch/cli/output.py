"""What the commands have in common: words, files, and how they end."""

from __future__ import annotations

import contextlib
import difflib
import glob
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn, Protocol, TypeVar

import click
from rich import filesize
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from callmatch import _core
from callmatch.errors import CallmatchError, said
from callmatch.storage import find, is_url

__all__ = [
    "EXIT_BELOW_THE_BAR",
    "EXIT_UNUSABLE",
    "Commands",
    "Report",
    "Rows",
    "Words",
    "counted",
    "ending",
    "fail",
    "find_files",
    "is_there",
    "leave",
    "no_such_file",
    "note",
    "reading_bar",
    "told",
    "told_to_end",
    "writable",
]

EXIT_BELOW_THE_BAR = 1
EXIT_UNUSABLE = 2
EXIT_INTERRUPTED = 130


class Words(click.Choice[str]):
    """One of some words; the error for another one names the nearest."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The word, if it is one of them."""
        if value not in self.choices:
            name = param.name if param and param.name else "value"
            self.fail(_core.one_of(name, value, list(self.choices)), param, ctx)
        return value


class Status(SystemExit):
    """An exit status that a command decided on, and not code that it runs."""


class Signalled(KeyboardInterrupt):
    """A signal told the command to end. As Ctrl-C does, it gets through code that may raise what it likes."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Commands(click.Group):
    """Commands that end with a status that they decided on themselves."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command. What code of others leaves with is no status of it: it would say that all is well."""
        try:
            return super().invoke(ctx)
        except Status:
            raise
        except Signalled as error:
            leave(128 + error.number)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            leave(EXIT_INTERRUPTED)
        except SystemExit as error:
            fail(f"it was left by code that it ran, with {said(error)}")


def told_to_end(number: int, frame: object) -> NoReturn:
    """What to do at a signal to end."""
    raise Signalled(number)


def leave(status: int) -> NoReturn:
    """End with a status."""
    raise Status(status)


def fail(message: str) -> NoReturn:
    """End with a message, since nothing useful can be said."""
    click.echo(f"Error: {_core.printable(message)}", err=True)
    leave(EXIT_UNUSABLE)


@contextlib.contextmanager
def ending() -> Iterator[None]:
    """End with a message and the right status where something can't go on."""
    try:
        yield
    except click.ClickException as error:
        fail(error.format_message())
    except CallmatchError as error:
        fail(str(error))
    except ImportError as error:
        fail(str(error))
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))


def is_there(path: Path) -> None:
    """Refuse a path that leads nowhere."""
    if not path.exists():
        raise click.UsageError(_core.printable(no_such_file(str(path))))


def find_files(arguments: Iterable[str], *, folders: bool = False, urls: bool = False) -> list[str]:
    """Expand patterns, for shells that don't. A file that isn't there is a mistake, and so may be a folder."""
    paths: list[str] = []
    for argument in arguments:
        if urls and is_url(argument):
            try:
                paths += find([argument])
            except FileNotFoundError:
                raise click.UsageError(_core.printable(f"no file matches {argument!r}")) from None
            continue
        if argument == "-" or os.path.exists(argument):
            paths.append(argument)
            continue
        found = sorted(glob.glob(argument, recursive=True)) if glob.has_magic(argument) else []
        if not found:
            raise click.UsageError(_core.printable(no_such_file(argument)))
        paths += found
    for path in paths:
        if os.path.isdir(path) and not folders:
            names = os.listdir(path)
            ending = next(
                (end for end in (".parquet", ".arrow", ".csv") if any(name.endswith(end) for name in names)), None
            )
            pattern = os.path.join(path, f"*{ending or '.jsonl'}")
            raise click.UsageError(_core.printable(f"{path} is a directory; give its files, such as '{pattern}'"))
    if paths.count("-") > 1:
        raise click.UsageError("standard input can be read once")
    return paths


def no_such_file(path: str) -> str:
    """What to say of a path that leads nowhere."""
    if glob.has_magic(path):
        return f"no file matches {path!r}"
    directory = os.path.dirname(path)
    try:
        names = os.listdir(directory or ".")
    except OSError:
        return f"no such file: {path!r} (there is no such directory)"
    near = difflib.get_close_matches(os.path.basename(path), names, n=1)
    return f"no such file: {path!r}" + (f"; did you mean {os.path.join(directory, near[0])!r}?" if near else "")


def writable(output: Path, option: str, endings: Iterable[str], inputs: Iterable[str | Path]) -> None:
    """Refuse, before anything is done, a file that could not be written afterwards or would overwrite an input."""
    if output.suffix not in endings:
        raise click.UsageError(_core.one_of(f"the ending of {option}", output.suffix, list(endings)))
    if any(str(path) != "-" and output.exists() and os.path.samefile(path, output) for path in inputs):
        raise click.UsageError(f"{option} would overwrite the input {str(output)!r}")
    if not output.parent.is_dir():
        raise click.UsageError(f"no such directory: {str(output.parent)!r}")


def counted(number: int, noun: str) -> str:
    """A number of things, in words."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def note(diagnostics: Sequence[str], limit: int) -> None:
    """Tell on standard error what could not be read."""
    for diagnostic in diagnostics[:limit]:
        click.echo(f"Note: {_core.printable(diagnostic)}", err=True)
    if len(diagnostics) > limit:
        click.echo(f"Note: {len(diagnostics) - limit:,} more such notes (--limit shows more)", err=True)


class Rows(Protocol):
    """Rows of files."""

    @property
    def bytes_read(self) -> int:
        """How many bytes of all files had been read."""

    def __len__(self) -> int: ...


RowsT = TypeVar("RowsT", bound=Rows)


def told(chunks: Iterator[RowsT], report: Callable[[RowsT], None]) -> Iterator[RowsT]:
    """Rows as they come, of which is told."""
    for rows in chunks:
        yield rows
        report(rows)


class Report(Protocol):
    """What is told how far the work is."""

    def __call__(self, done: int, total: int | None, *, of_bytes: bool = False) -> None:
        """So many traces, or bytes, of so many are done; None: nobody knows of how many."""


@contextlib.contextmanager
def reading_bar(doing: str) -> Iterator[Report]:
    """A bar on a terminal, and nothing anywhere else."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda done, total, of_bytes=False: None
        return
    columns = (TextColumn(doing), BarColumn(), TextColumn("{task.fields[told]}"))
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None, told="")

        def report(done: int, total: int | None, *, of_bytes: bool = False) -> None:
            told = filesize.decimal(done) if of_bytes else counted(total or 0, "trace")
            bar.update(task, completed=done, total=total, told=told)

        yield report
