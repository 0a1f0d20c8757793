"""``callmatch metrics``: are the metrics of a file right?"""

from __future__ import annotations

import os
import sys
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from pydantic import ValidationError

from callmatch import _core
from callmatch.cli.output import EXIT_BELOW_THE_BAR, ending, is_there, leave
from callmatch.display import to_json
from callmatch.documents import Lines, load
from callmatch.errors import CallmatchError, path_of
from callmatch.metrics.metric import KINDS, Metric
from callmatch.schema import faults

__all__ = ["metrics"]


@click.group()
def metrics() -> None:
    """Look at metrics and their configs."""


@metrics.command()
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--json", "as_json", is_flag=True, help="Print the metrics and their faults as a JSON object.")
def check(file: Path, as_json: bool) -> None:
    """Check the metrics of FILE, and name each fault with its place.

    FILE holds the config of a metric, a list of them, or a mapping with such a list as "metrics", as YAML or JSON; or a
    config on each line of a .jsonl; or a test set, whose metrics and those of its tests are checked.

    Exit status: 0 if all are right, 1 if there is a fault, 2 if FILE can't be read.
    """
    with ending():
        is_there(file)
        sys.path.append(os.getcwd())  # code metrics may lie beside what names them
        root, configs = configs_in(load(file))
        lines = Lines(file)
        rows = [row_of(lines, root, config, where) for where, config in configs.items()]
    found = [fault for row in rows for fault in row["faults"]]
    if as_json:
        click.echo(to_json({"metrics": rows}, indent=2))
    else:
        for row in rows:
            verdict = "ok" if not row["faults"] else f"{len(row['faults'])} wrong"
            about = (_core.printable(str(row[key] or "-")) for key in ("place", "type", "name"))
            click.echo("\t".join([*about, verdict]))
        for fault in found:
            place = f"{file}:{fault['line']}" if fault["line"] else str(file)
            click.echo(_core.printable(f"{place}: {fault['message']}"))
    if found or not rows:
        leave(EXIT_BELOW_THE_BAR)


def configs_in(data: Any) -> tuple[str, dict[str, Any]]:
    """The configs that a file holds by their places, and how these begin where the file has no name for it."""
    if isinstance(data, list):
        return "metrics", _placed("metrics", data)
    if isinstance(data, Mapping) and ("metrics" in data or "tests" in data):
        found = _placed("metrics", data.get("metrics"))
        tests = data.get("tests")
        for place, test in enumerate(tests if isinstance(tests, list) else []):
            if isinstance(test, Mapping):
                found |= _placed(f"tests[{place}].metrics", test.get("metrics"))
        return "", found
    return "metrics[0]", _placed("metrics", [data])


def _placed(where: str, configs: Any) -> dict[str, Any]:
    configs = [] if configs is None else configs if isinstance(configs, list) else [configs]
    return {path_of(where, [place]): config for place, config in enumerate(configs)}


def row_of(lines: Lines, root: str, config: Any, where: str) -> dict[str, Any]:
    """What a config is, and what is wrong with it, in the order of the file."""
    faults = [
        {"path": fault.path, "line": lines.of(fault.path.removeprefix(root)), "message": str(fault)}
        for fault in faults_of(config, where)
    ]
    about = {key: config.get(key) if isinstance(config, Mapping) else None for key in ("type", "name")}
    return {"place": where, **about, "faults": sorted(faults, key=lambda fault: fault["line"] or 0)}


def faults_of(config: Any, where: str) -> list[CallmatchError]:
    """All that is wrong with the config of a metric."""
    found: dict[str, CallmatchError] = {}
    kind = _kind_of(config)
    needed = {key: field for key, field in kind.model_fields.items() if field.is_required()} if kind else {}
    examples = {key: field.examples or () for key, field in needed.items()}
    # Some faults hide others, so what was told is left out to hear of the next. What is needed becomes an example.
    while new := {fault.path: fault for fault in _faults(config, where) if not _follows(fault.path, found)}:
        found |= new
        for path in new if kind else ():
            config = _without(config, path.removeprefix(f"{where}."), examples)
    return list(found.values())


ON = {"on": ("tool_call",)}
"""What is in place of a wrong word for what is judged: all else of a target may go with it."""


def _follows(path: str, found: Container[str]) -> bool:
    """Whether a fault is known, or may be one of an example: whether a metric can take a target depends on its word."""
    return path in found or f"{path}.on" in found


def _without(config: Mapping[str, Any], path: str, examples: Mapping[str, Sequence[Any]]) -> Mapping[str, Any]:
    """A config without what a path leads to, or with an example of it; if it leads to nothing, without the nearest."""
    keys = [key for key in config if path == key or path.startswith((f"{key}.", f"{key}["))]
    key = max(keys, key=len, default=path)
    inner = path[len(key) + 1 :]
    if inner and isinstance(config[key], Mapping):
        return {**config, key: _without(config[key], inner, ON)}
    if key in examples and not examples[key]:
        return config
    others = {name: value for name, value in config.items() if name != key}
    return {**others, key: examples[key][0]} if key in examples else others


def _faults(config: Any, where: str) -> list[CallmatchError]:
    """What is wrong with a config at first sight."""
    try:
        Metric.from_config(config, where)
    except CallmatchError as error:
        first = error
    else:
        return []
    if kind := _kind_of(config):
        options = {key: value for key, value in config.items() if key != "type"}
        try:
            kind.model_validate(options)
        except ValidationError as error:
            return faults(kind, error, options, where)
        except CallmatchError:  # which is the first
            pass
    return [first]


def _kind_of(config: Any) -> type[Metric] | None:
    return KINDS.get(str(config.get("type"))) if isinstance(config, Mapping) else None
