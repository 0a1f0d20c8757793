"""The command ``callmatch``."""

from __future__ import annotations

import contextlib
import signal

import click

from callmatch import _core
from callmatch.cli.check import check
from callmatch.cli.compare import compare
from callmatch.cli.metrics import metrics
from callmatch.cli.output import Commands, told_to_end
from callmatch.cli.read import read
from callmatch.cli.score import score
from callmatch.cli.test import test

__all__ = ["main"]


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(_core.__version__, prog_name="callmatch")
def main() -> None:
    """Did the agent call the tools it should have, and why not?"""
    # A run that is told to end removes what it was writing, as an interrupted one does.
    for name in ("SIGTERM", "SIGHUP"):
        with contextlib.suppress(ValueError, AttributeError):  # not the main thread, or not on this system
            signal.signal(getattr(signal, name), told_to_end)


main.add_command(read)
main.add_command(score)
main.add_command(compare)
main.add_command(test)
main.add_command(check)
main.add_command(metrics)
