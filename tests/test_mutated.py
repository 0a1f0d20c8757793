"""Real files with something in them broken: they are read, or are an error that says what is wrong."""

import copy
import json
import random

import pytest

import callmatch
from callmatch import CallmatchError
from callmatch.expectations import evaluate_traces
from callmatch.metrics import ToolCallTrajectory
from conftest import SHARED

SAMPLES = SHARED / "samples"
FILES = sorted(path for path in SAMPLES.rglob("*.json*") if path.stat().st_size < 100_000) if SAMPLES.exists() else []
OTHERS = [None, True, 7, -1.5, "", "x", "[", [], {}, [None], {"x": {}}]


def places(value, path=()):
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from places(item, (*path, index))


def mutated(value, rng):
    """A copy in which one value is another one, or is left out, or stands there twice."""
    path = rng.choice([path for path in places(value) if path])
    value = copy.deepcopy(value)
    holder = value
    for key in path[:-1]:
        holder = holder[key]
    what = rng.randrange(4)
    if what == 0:
        del holder[path[-1]]
    elif what == 1 and isinstance(holder, list):
        holder.insert(path[-1], copy.deepcopy(holder[path[-1]]))
    else:
        holder[path[-1]] = rng.choice(OTHERS)
    return value


def read(path):
    """Calls of each trace, one at a time and in bulk; None where nothing can be read."""
    try:
        traces, others = callmatch.read(path), callmatch.read(path)
    except CallmatchError:
        return None
    # These are found and read in one pass.
    columns = [{name: list(column) for name, column in part.items()} for part in others.columns()]
    names = []
    for trace in traces:
        names.append([call.name for call in trace.tool_calls] if trace.tool_calls_reported else [])
    in_bulk = [
        (place, name)
        for part in traces.columns(kind="tool_call")
        for place, name in zip(part["trace"], part["name"], strict=True)
    ]
    if not any("can't" in told or "cannot" in told for told in traces.diagnostics) and len(names) == len(traces):
        assert in_bulk == [(place, name) for place, calls in enumerate(names) for name in calls]
    assert columns == [{name: list(column) for name, column in part.items()} for part in traces.columns()]
    rows = [verdict for scores in evaluate_traces(ToolCallTrajectory(), traces, {}) for verdict in scores.verdict]
    assert len(rows) == len(traces)
    return names


@pytest.mark.parametrize("path", [pytest.param(path, id=str(path.relative_to(SAMPLES))) for path in FILES])
def test_a_file_with_a_wrong_value_is_read_or_is_an_error(path, tmp_path):
    rng = random.Random(path.name)
    lines = path.suffix == ".jsonl"
    try:
        text = path.read_text(encoding="utf-8")
        whole = [json.loads(line) for line in text.splitlines()] if lines else json.loads(text)
    except ValueError:
        pytest.skip("it is broken already")
    for _ in range(25):
        value = mutated(whole, rng)
        broken = tmp_path / path.name
        broken.write_text("\n".join(map(json.dumps, value)) if lines else json.dumps(value), encoding="utf-8")
        read(broken)


@pytest.mark.parametrize(
    "path", [pytest.param(path, id=str(path.relative_to(SAMPLES))) for path in FILES if path.suffix == ".jsonl"]
)
def test_a_broken_line_is_told_and_the_others_are_read(path, tmp_path):
    whole = read(path)
    lines = path.read_text(encoding="utf-8").splitlines()
    for place in range(1, len(lines) + 1):
        broken = tmp_path / path.name
        broken.write_text("\n".join([*lines[:place], '{"cut": ', *lines[place:]]), encoding="utf-8")
        assert read(broken) == whole
        assert any(f"{path.name}:{place + 1}: not JSON" in told for told in callmatch.read(broken).diagnostics)
