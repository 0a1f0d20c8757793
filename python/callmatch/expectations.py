"""What is expected of stored traces, kept apart from them."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args

from callmatch import _core
from callmatch.batch import Scores
from callmatch.display import to_json
from callmatch.documents import Lines, load
from callmatch.errors import InvalidInput, InvalidType, one_of, path_of
from callmatch.readers import Source, Traces

if TYPE_CHECKING:
    from callmatch.metrics import ToolCallTrajectory

__all__ = ["EXPECTED", "By", "evaluate_traces", "expected_texts", "read_expected", "unmatched"]

By = Literal["trace_id", "conversation_id", "test_id"]
"""What an expectation is of: what its id is the id of."""

EXPECTED = "expected_tool_calls"

AT_ONCE = 4096
"""So many rows are scored at a time."""

Group = tuple[str | None, list[int], bytes | None]
"""What a row is called, the places of its traces, and the calls expected of them, as JSON text."""


def evaluate_traces(
    metric: ToolCallTrajectory,
    traces: Traces | Source,
    expected: Mapping[str, object] | str | os.PathLike[str],
    *,
    by: By = "trace_id",
) -> Iterator[Scores]:
    """Judge the tool calls of stored traces, a part at a time, without a Python object for each.

    Args:
        metric: How.
        traces: The traces, or what `callmatch.read` takes.
        expected: The calls that should have been made, by an id: a list of calls, JSON text of one, or None. Or a file
            of such expectations, as `read_expected` reads it.
        by: What this id is of: a trace, a conversation or a test. Traces that share a conversation or a test are judged
            as one, as `Traces.conversation` and `Traces.for_test` join them.

    Returns:
        An iterator over the scores, in the order of the traces. What nothing is expected of is ``not_applicable``. An
        expectation of which there is no trace is a row too, after all others, with the verdict ``error``.

    Raises:
        OSError: A file that is missing or may not be read.
        InvalidInput: What `read` or `read_expected` refuse, or an unknown word.
        InvalidType: Something of the wrong type.

    Examples:
        >>> from callmatch.metrics import ToolCallTrajectory
        >>> expected = {"run-1": [{"name": "lookup_order"}], "run-2": [{"name": "ask"}], "run-9": []}
        >>> for scores in evaluate_traces(ToolCallTrajectory(), "examples/refund_traces.jsonl", expected):
        ...     list(zip(scores.id, scores.verdict))[1:]
        [('run-2', 'failed'), ('run-3', 'not_applicable'), ('run-4', 'not_applicable'), ('run-9', 'error')]
    """
    if by not in get_args(By):
        raise InvalidInput(one_of("by", str(by), get_args(By)), "by")
    if isinstance(expected, (str, os.PathLike)):
        expected = read_expected(expected, by=by)
    elif not isinstance(expected, Mapping):
        what = "expected calls by the id of what should make them, or a file of them"
        raise InvalidType(f"expected: expected {what}, got {type(expected).__name__}", "expected")
    wanted = expected_texts(expected)
    traces = traces if isinstance(traces, Traces) else Traces(traces)
    groups = _groups(traces, wanted, by)
    return (
        Scores(traces._store.score(metric._core, groups[start : start + AT_ONCE], metric.calls), metric.name)
        for start in range(0, len(groups), AT_ONCE)
    )


def unmatched(traces: Traces, ids: Iterable[str], by: By) -> list[str]:
    """Those of some ids that no trace has."""
    known = traces.places_by(by)
    return [id for id in ids if id not in known]


def _groups(traces: Traces, wanted: Mapping[str, bytes | None], by: By) -> list[Group]:
    """The rows that there will be."""
    ids, places_of = traces._store.ids(), traces.places_by(by)
    if by == "trace_id":  # each counts alone, also where an id was used twice
        groups: list[Group] = [(id, [place], None if id is None else wanted.get(id)) for place, id in enumerate(ids)]
    else:
        groups = [(id, places, wanted.get(id)) for id, places in places_of.items()]
        known = {place for places in places_of.values() for place in places}
        groups += [(id, [place], None) for place, id in enumerate(ids) if place not in known]
        groups.sort(key=lambda group: group[1])
    return groups + [(id, [], wanted[id]) for id in unmatched(traces, wanted, by)]


def expected_texts(expected: Mapping[str, object]) -> dict[str, bytes | None]:
    """Expected calls as JSON text, by their ids as traces have them: of half of a pair of surrogates, an escape."""
    texts: dict[str, bytes | None] = {}
    for id, calls in expected.items():
        if not isinstance(id, str):
            raise InvalidType(f"expected: ids are texts, not {type(id).__name__}", "expected")
        shown = id.encode("utf-8", "backslashreplace").decode()
        texts[shown] = _json_text(calls, path_of("expected", [shown]))
    return texts


def _json_text(calls: object, where: str) -> bytes | None:
    if calls is None or isinstance(calls, bytes):
        return calls
    text = calls if isinstance(calls, str) else to_json(_core.read_value(calls, where))
    return text.encode("utf-8", "surrogatepass")


def read_expected(path: str | os.PathLike[str], *, by: By = "trace_id", field: str = EXPECTED) -> dict[str, Any]:
    """The expected calls in a file, by their ids.

    Each line of a .jsonl, or each item of a list in a .json or .yaml, is a record such as
    ``{"trace_id": "run-1", "expected_tool_calls": [{"name": "lookup_order"}]}``.

    Args:
        path: The file.
        by: The key of the id. A record without it has its id as ``id``.
        field: Where in a record the expected calls are: a dotted path or a JSON pointer. Not there: nothing is
            expected.

    Raises:
        OSError: A file that is missing or may not be read.
        InvalidInput: A file that can't be read, a record without an id, two with one id, or a field that no record has;
            with file and line.
    """
    loaded = load(path)
    records = loaded if isinstance(loaded, list) else [loaded]
    lines, calls, places = Lines(path), dict[str, Any](), dict[str, int]()
    for place, record in enumerate(records):
        id = _id_of(record, by)
        if id is None:
            keys = ", ".join(map(str, record)) if isinstance(record, Mapping) else type(record).__name__
            raise _fault(lines, place, f'expected a record with "{by}" or "id", got {keys or "an empty one"}')
        if id in places:
            raise _fault(lines, place, f"the id {id!r} was there before, in line {lines.of(f'[{places[id]}]')}")
        places[id] = place
        calls[id] = _core.find(record, field)
    if records and all(value is None for value in calls.values()):
        missing = f"no record has {field!r}; the first has the keys {', '.join(records[0])}"
        near = difflib.get_close_matches(field, records[0], n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise InvalidInput(_core.printable(f"{path}: {missing}{hint}"), "expected")
    return calls


def _fault(lines: Lines, place: int, message: str) -> InvalidInput:
    line = lines.of(f"[{place}]")
    where = f"{lines.path}:{line}" if line else f"{lines.path}: record {place + 1}"
    return InvalidInput(_core.printable(f"{where}: {message}"), "expected")


def _id_of(record: object, by: By) -> str | None:
    """The id of a record. A number stands for its digits, as in the traces."""
    if not isinstance(record, Mapping):
        return None
    id = next((record[key] for key in (by, "id") if record.get(key) is not None), None)
    return str(id) if isinstance(id, (str, int)) and not isinstance(id, bool) else None
