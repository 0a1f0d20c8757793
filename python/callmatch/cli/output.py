"""What the commands have in common: words, files, and how they end."""

from __future__ import annotations

import contextlib
import difflib
import glob
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NoReturn

import click

from callmatch import _core
from callmatch.errors import CallmatchError

__all__ = ["EXIT_BELOW_THE_BAR", "EXIT_UNUSABLE", "Words", "ending", "fail", "is_there", "no_such_file", "writable"]

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


def fail(message: str) -> NoReturn:
    """End with a message, since nothing useful can be said."""
    click.echo(f"Error: {_core.printable(message)}", err=True)
    sys.exit(EXIT_UNUSABLE)


@contextlib.contextmanager
def ending() -> Iterator[None]:
    """End with a message and the right status where something can't go on."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        sys.exit(EXIT_INTERRUPTED)
    except click.ClickException as error:
        fail(error.format_message())
    except CallmatchError as error:
        fail(str(error))
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))


def is_there(path: Path) -> None:
    """Refuse a path that leads nowhere."""
    if not path.exists():
        raise click.UsageError(_core.printable(no_such_file(str(path))))


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
