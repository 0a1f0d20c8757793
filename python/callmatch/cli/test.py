"""``callmatch test``: the tests of a set on recorded traces."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from callmatch import _core
from callmatch.cli.metrics import configs_in
from callmatch.cli.output import EXIT_BELOW_THE_BAR, ending, is_there, leave, writable
from callmatch.display import to_json
from callmatch.documents import ENDINGS, load, place_told
from callmatch.errors import CallmatchError
from callmatch.metrics.models import model_of
from callmatch.readers import Traces
from callmatch.testsets import TestResults, TestSet
from callmatch.testsets.reading import read_metrics

__all__ = ["test"]

FILE = click.Path(path_type=Path)


def named(context: click.Context, option: click.Parameter, model: str | None) -> str | None:
    """The name of a model, if it can be one."""
    try:
        model_of(model)
    except CallmatchError as error:
        raise click.BadParameter(_core.printable(str(error)), context, option) from None
    return model


@click.command()
@click.argument("file", type=FILE, metavar="FILE")
@click.option(
    "--traces",
    "traces_path",
    type=FILE,
    metavar="PATH",
    required=True,
    help="The file or folder of traces of what the agent did, each with the id of its test.",
)
@click.option(
    "--metrics",
    "metrics_file",
    type=FILE,
    metavar="FILE",
    help="Judge with the metrics of this file, in place of those of the set.",
)
@click.option(
    "--model",
    metavar="PROVIDER/NAME",
    callback=named,
    help="What judges ask that name no model of their own.",
)
@click.option("--junit", type=FILE, metavar="FILE", help="Write JUnit XML, which continuous integration reads.")
@click.option("-o", "--output", type=FILE, metavar="FILE", help="Write all results, a .json, .jsonl or .yaml.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary and the shown tests as a JSON object.")
@click.option(
    "--concurrency",
    type=click.IntRange(min=1),
    default=4,
    show_default=True,
    help="How many tests are judged at the same time.",
)
@click.option("--allow-inconclusive", is_flag=True, help="Exit with 0 also if tests are inconclusive.")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="Show at most so many tests that did not pass.",
)
def test(
    file: Path,
    traces_path: Path,
    metrics_file: Path | None,
    model: str | None,
    junit: Path | None,
    output: Path | None,
    as_json: bool,
    concurrency: int,
    allow_inconclusive: bool,
    limit: int,
) -> None:
    """Judge recorded traces by the tests of FILE.

    FILE holds a test set as YAML or JSON, or a test on each line of a .jsonl.

    Exit status: 0 if all tests passed; 1 if one did not, or there is none; 2 for bad usage or a file that can't be read
    (of a line of traces that can't be, a note on standard error tells).
    """
    with ending():
        inputs = [path for path in (file, traces_path, metrics_file) if path is not None]
        for path in inputs:
            is_there(path)
        if junit is not None:
            writable(junit, "--junit", [".xml"], inputs)
        if output is not None:
            writable(output, "--output", ENDINGS, inputs)
        tests = test_set(file, metrics_file, {} if model is None else {"model": model})
        traces = Traces(traces_path)
        results = tests.run(traces, max_concurrency=concurrency)
        for diagnostic in traces.diagnostics:
            click.echo(f"Note: {_core.printable(diagnostic)}", err=True)
        if output is not None:
            results.save(output)
        if junit is not None:
            results.to_junit(junit)
    show(results, limit, as_json=as_json)
    counts = results.counts
    passed = counts["passed"] + counts["inconclusive"] * allow_inconclusive
    if len(results) == 0 or passed < len(results):
        leave(EXIT_BELOW_THE_BAR)


def test_set(file: Path, metrics_file: Path | None, objects: dict[str, Any]) -> TestSet:
    """The tests of a file, judged by their own metrics or by those of another file."""
    # Code metrics may lie beside what names them, as for other commands that load by name.
    sys.path.append(os.getcwd())
    tests = TestSet.load(file, **objects)
    changes: dict[str, Any] = {"name": file.stem if tests.name is None else tests.name}
    if metrics_file is not None:
        root, configs = configs_in(load(metrics_file))
        with place_told(metrics_file, root):
            listed = [config for where, config in configs.items() if where.startswith("metrics")]
            changes["metrics"] = read_metrics(listed, "metrics", **objects)
    return tests.model_copy(update=changes)


def show(results: TestResults, limit: int, *, as_json: bool) -> None:
    """Print the tests that did not pass, and the summary: as JSON, as a table on a terminal, else as plain lines."""
    missed = [result for result in results if result.verdict != "passed"]
    shown = results.model_copy(update={"results": tuple(missed[:limit])})
    if as_json:
        counts = {"tests": len(results), **{str(verdict): count for verdict, count in results.counts.items()}}
        summary = {"name": results.name, **counts, "pass_rate": results.pass_rate}
        rows = [result.model_dump(mode="json", exclude={"trace"}) for result in shown]
        click.echo(to_json({"summary": summary, "tests": rows}, indent=2))
        return
    console = Console()
    if console.is_terminal and len(shown):
        console.print(shown.table())
    else:
        for row in shown.rows():
            click.echo(row)
    if len(missed) > limit:
        click.echo(f"… and {len(missed) - limit:,} more that did not pass (--limit shows more, --output writes all)")
    for line in results.summary():
        click.echo(line)
