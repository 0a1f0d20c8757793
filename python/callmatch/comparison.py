"""Two runs of the same cases, compared case by case: what was fixed, what broke, and could that be chance?"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import IO, Any, NamedTuple, cast

from callmatch import _core
from callmatch.batch import Scores
from callmatch.display import to_json
from callmatch.documents import fault, parsed
from callmatch.errors import InvalidInput, InvalidType, not_there, one_of
from callmatch.intervals import Interval, mcnemar, of_difference
from callmatch.score_files import text_of_cell
from callmatch.storage import Place, reached

__all__ = ["Change", "Comparison", "compare"]

Key = str | tuple[str, ...]
"""What a row is called: the text of its id, or one for each of several columns."""

AT_ONCE = 4096
"""So many rows of a file are in memory at a time."""

MOST_NAMED = 5
"""So many rows that one run lacks are named."""


class Change(NamedTuple):
    """A row whose verdict is another one."""

    id: Key
    before: str
    after: str
    reason: str | None
    """Why it has the verdict that it has now, if that is known."""

    def to_dict(self) -> dict[str, Any]:
        """All of it by name."""
        return self._asdict()


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two runs of the same cases.

    Attributes:
        both_passed: How many rows passed before and after; the six counts up to `not_judged_after` add up to `rows`.
        both_failed: How many failed both times.
        fixed: How many failed before, and pass now.
        broken: How many passed before, and fail now.
        lost: How many passed before, and can't be judged now: inconclusive, not applicable, or an error.
        not_judged: How many others were not judged before, after, or both times.
        only_before: The rows that only the run before has: how many, and the first of them.
        only_after: Those that only the run after has.
        changes: The rows whose verdict changed: what broke, what was lost, what was fixed, and what else; the rows of
            each kind in the order of the run after.
    """

    both_passed: int
    both_failed: int
    fixed: int
    broken: int
    lost: int
    not_judged: int
    only_before: tuple[int, tuple[Key, ...]]
    only_after: tuple[int, tuple[Key, ...]]
    changes: list[Change]

    @property
    def rows(self) -> int:
        """The rows that are in both runs."""
        return self.judged + self.lost + self.not_judged

    @property
    def judged(self) -> int:
        """The rows that passed or failed both times. All that follows is about these."""
        return self.both_passed + self.both_failed + self.fixed + self.broken

    @property
    def pass_rate_before(self) -> float | None:
        """How many of them passed before, from 0 to 1; None if there are none."""
        return (self.both_passed + self.broken) / self.judged if self.judged else None

    @property
    def pass_rate_after(self) -> float | None:
        """How many of them pass now, from 0 to 1; None if there are none."""
        return (self.both_passed + self.fixed) / self.judged if self.judged else None

    @property
    def difference(self) -> float | None:
        """The pass rate after less that before, from -1 to 1; None if there are none."""
        return (self.fixed - self.broken) / self.judged if self.judged else None

    @property
    def difference_interval(self) -> Interval | None:
        """The 95 % interval of the difference (Newcombe, 1998: `callmatch.intervals.of_difference`)."""
        return of_difference(self.both_passed, self.broken, self.fixed, self.both_failed)

    @cached_property
    def p_value(self) -> float:
        """How probable so many more rows fixed than broken (or broken than fixed) are, if nothing had changed.

        McNemar's exact test, two-sided: `callmatch.intervals.mcnemar`.
        """
        return mcnemar(self.broken, self.fixed)

    @cached_property
    def mid_p_value(self) -> float:
        """The same by the mid-p test, which is less careful."""
        return mcnemar(self.broken, self.fixed, mid=True)

    def to_dict(self) -> dict[str, Any]:
        """All of it by name, as JSON can hold it."""
        facts: dict[str, Any] = {name: getattr(self, name) for name in FACTS}
        for side in ("only_before", "only_after"):
            count, first = getattr(self, side)
            facts[side] = {"rows": count, "first": list(first)}
        return facts | {"changes": [change.to_dict() for change in self.changes]}

    def __repr__(self) -> str:
        told = ", ".join(f"{getattr(self, name)} {name.replace('_', ' ')}" for name in ("broken", "fixed"))
        return f"<Comparison of {self.rows} rows: {told}, p = {self.p_value:.3g}>"


FACTS = (
    "rows",
    "judged",
    "both_passed",
    "both_failed",
    "fixed",
    "broken",
    "lost",
    "not_judged",
    "pass_rate_before",
    "pass_rate_after",
    "difference",
    "difference_interval",
    "p_value",
    "mid_p_value",
)
"""What a comparison tells in numbers, in its order."""

Run = Any
"""Scores, several of them, a table or columns of scores, or a file of them."""


class Part(NamedTuple):
    """Some rows of a run."""

    keys: list[Key]
    verdicts: Sequence[str]
    reason: Callable[[int], str | None]


def compare(before: Run, after: Run, *, by: str | Sequence[str] = "id") -> Comparison:
    """Compare two runs of the same cases, row by row.

    Args:
        before: The scores of one run: `Scores`, an iterable of them as `evaluate_file` gives it, columns by name
            (``{"id": ..., "verdict": ..., "reason": ...}``) or an Arrow table of them, or a file that
            ``callmatch score -o`` wrote: a .jsonl, .csv, .parquet or .arrow.
        after: Those of the other run, in any of these.
        by: The column, or several, by which rows of the two are the same case. No two rows of a run may be.

    Returns:
        What changed. What is held in memory grows with the rows of the runs: their ids and verdicts, and for each row
        that changed its reason.

    Raises:
        OSError: A file that is missing or may not be read.
        InvalidInput: Two rows with one id, a row without one, an unknown verdict or column, a file that can't be read,
            or two runs that have no row in common.
        InvalidType: Something of the wrong type.
        ImportError: A file or a table that needs pyarrow, which is not there.

    Examples:
        >>> before = {"id": ["a", "b", "c"], "verdict": ["passed", "failed", "passed"]}
        >>> after = {"id": ["c", "b", "a"], "verdict": ["failed", "failed", "passed"]}
        >>> found = compare(before, after)
        >>> found.both_passed, found.both_failed, found.broken, found.fixed, found.p_value
        (1, 1, 1, 0, 1.0)
        >>> found.changes
        [Change(id='c', before='passed', after='failed', reason=None)]
    """
    columns = [by] if isinstance(by, str) or not isinstance(by, Iterable) else list(by)
    if not columns or not all(isinstance(column, str) for column in columns):
        raise InvalidType(f"by: expected the name of a column, or several, got {by!r}", "by")
    known: dict[Key, str | None] = {}
    for key, verdict, _, _ in _rows(before, columns, "before"):
        if key in known:
            raise _twice("before", before, columns, key)
        known[key] = verdict
    counts = dict.fromkeys(("both_passed", "both_failed", "fixed", "broken", "lost", "not_judged"), 0)
    changes: dict[str, list[Change]] = {kind: [] for kind in ("broken", "lost", "fixed", "not_judged")}
    new: dict[Key, None] = {}
    for key, verdict, reason, place in _rows(after, columns, "after"):
        if key not in known:
            if key in new:
                raise _twice("after", after, columns, key)
            new[key] = None
            continue
        was = known[key]
        if was is None:
            raise _twice("after", after, columns, key)
        known[key] = None
        kind = KINDS.get((was, verdict), "lost" if was == "passed" else "not_judged")
        counts[kind] += 1
        if was != verdict:
            changes[kind].append(Change(key, was, verdict, reason(place)))
    gone = [key for key, verdict in known.items() if verdict is not None]
    if not sum(counts.values()) and (gone or new):
        there = [f"{name} has {_some(list(keys))}" for name, keys in (("before", gone), ("after", new)) if keys]
        told = ", ".join(columns)
        raise InvalidInput(_core.printable(f"the two runs have no {told} in common: {'; '.join(there)}"), "by")
    return Comparison(
        **counts,
        only_before=(len(gone), tuple(gone[:MOST_NAMED])),
        only_after=(len(new), tuple(list(new)[:MOST_NAMED])),
        changes=[change for kind in changes.values() for change in kind],
    )


KINDS = {
    ("passed", "passed"): "both_passed",
    ("failed", "failed"): "both_failed",
    ("failed", "passed"): "fixed",
    ("passed", "failed"): "broken",
}
"""What becomes of a row that was judged both times."""


def _twice(side: str, run: Run, columns: Sequence[str], key: Key) -> InvalidInput:
    name = _name(run, side)
    what = ", ".join(columns)
    hint = "other columns may tell them apart (by)"
    return InvalidInput(_core.printable(f"{name}: two rows have the {what} {_told(key)}; {hint}"), "by")


def _told(key: Key) -> str:
    return repr(key) if isinstance(key, str) else ", ".join(map(repr, key))


def _some(keys: Sequence[Key]) -> str:
    return ", ".join(map(_told, keys[:3])) + ", …" * (len(keys) > 3)


def _name(run: Run, side: str) -> str:
    return os.fspath(run) if isinstance(run, (str, os.PathLike)) else side


def _rows(run: Run, by: list[str], side: str) -> Iterator[tuple[Key, str, Callable[[int], str | None], int]]:
    """The rows of a run: what each is called, its verdict, and where its reason is."""
    name = _name(run, side)
    verdicts = {word: word for word in _core.VERDICTS}
    for part in _parts(run, by, name):
        for place, (key, verdict) in enumerate(zip(part.keys, part.verdicts, strict=True)):
            word = verdicts.get(verdict) if isinstance(verdict, str) else None
            if word is None:
                said = one_of("a verdict", str(verdict), _core.VERDICTS)
                raise InvalidInput(_core.printable(f"{name}: the row {_told(key)}: {said}"))
            yield key, word, part.reason, place


def _parts(run: Run, by: list[str], name: str) -> Iterator[Part]:
    if isinstance(run, (str, os.PathLike)):
        yield from _of_file(Place.of(os.fspath(run)), by)
    elif isinstance(run, Scores):
        yield _of_scores(run, by, name)
    elif isinstance(run, Mapping):
        yield _of_columns(run, by, name)
    elif hasattr(run, "__arrow_c_stream__"):
        arrow = _pyarrow(name)
        yield from _of_batches(arrow.RecordBatchReader.from_stream(run), by, name)
    elif isinstance(run, Iterable) and not isinstance(run, bytes):
        for scores in run:
            if not isinstance(scores, Scores):
                raise InvalidType(f"{name}: expected Scores, a table, columns or a file, got {type(scores).__name__}")
            yield _of_scores(scores, by, name)
    else:
        raise InvalidType(f"{name}: expected Scores, a table, columns or a file, got {type(run).__name__}")


def _of_scores(scores: Scores, by: list[str], name: str) -> Part:
    for column in by:
        if column not in _core.COLUMNS:
            raise InvalidInput(f"{name}: {not_there('column', column, _core.COLUMNS)}", "by")
    keys = _keys([getattr(scores, column) for column in by], by, name)
    return Part(keys, scores.verdict, lambda place: scores[place].reason)


def _of_columns(columns: Mapping[str, Sequence[Any]], by: list[str], name: str) -> Part:
    for column in [*by, "verdict"]:
        if column not in columns:
            raise InvalidInput(_core.printable(f"{name}: {not_there('column', column, map(str, columns))}"), "by")
    lists = {column: list(columns[column]) for column in (*by, "verdict", "reason") if column in columns}
    if len({len(cells) for cells in lists.values()}) > 1:
        counts = ", ".join(f"{column} {len(cells)}" for column, cells in lists.items())
        raise InvalidInput(f"{name}: columns are of one length, not {counts}")
    reasons = lists.get("reason")
    keys = _keys([lists[column] for column in by], by, name)
    return Part(keys, lists["verdict"], lambda place: None if reasons is None else reasons[place])


def _keys(columns: list[list[Any]], by: list[str], name: str) -> list[Key]:
    for column, cells in zip(by, columns, strict=True):
        if any(cell is None for cell in cells):
            raise InvalidInput(_core.printable(f"{name}: a row has no {column}"), "by")
    texts = [[cell if type(cell) is str else _text(cell) for cell in cells] for cells in columns]
    return cast("list[Key]", texts[0] if len(texts) == 1 else list(zip(*texts, strict=True)))


def _text(cell: Any) -> str:
    """Files of one kind have numbers where others have texts."""
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    return cell if isinstance(cell, str) else to_json(cell) if isinstance(cell, JSON) else str(cell)


MOST_IN_A_CELL = 1 << 28
"""So long a cell of a CSV file may be; a quote without an end would make one of the whole file."""

JSON = (bool, int, float, list, dict)


# Files


def _of_file(place: Place, by: list[str]) -> Iterator[Part]:
    suffix = os.path.splitext(place.path)[1].lower()
    reading = READERS.get(suffix)
    if reading is None:
        said = one_of("the ending of a file of scores", suffix, READERS)
        raise InvalidInput(_core.printable(f"{place.name}: {said}"))
    # What goes wrong while it is read is the file's, or that of what is behind a URL.
    with contextlib.nullcontext() if place.is_local else reached(place.name), place.open("rb") as file:
        yield from reading(file, by, place.name)


def _of_jsonl(file: IO[bytes], by: list[str], name: str) -> Iterator[Part]:
    yield from _of_rows(_json_rows(file, name), by, name)


def _json_rows(file: Iterable[bytes], name: str) -> Iterator[Mapping[str, Any]]:
    for number, line in enumerate(file, 1):
        if line.strip():
            try:
                row = parsed(line.decode("utf-8-sig"))
            except (ValueError, RecursionError) as error:
                said = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
                raise fault(name, number, f"not JSON: {said}") from None
            if not isinstance(row, dict):
                raise fault(name, number, f"expected a row of scores (an object), got {type(row).__name__}")
            yield row


def _of_csv(file: IO[bytes], by: list[str], name: str) -> Iterator[Part]:
    try:
        with io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as lines:
            yield from _of_rows(_csv_rows(lines), by, name)
    except (csv.Error, UnicodeDecodeError) as error:
        raise InvalidInput(_core.printable(f"{name}: it can't be read as CSV: {error}")) from None


def _csv_rows(file: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    """The rows of a file, each with the texts that its cells were made of."""
    # What is kept may be whole conversations, and the limit is one of all that read CSV: it is set for each row.
    before = csv.field_size_limit()
    rows = csv.DictReader(file)
    while True:
        csv.field_size_limit(MOST_IN_A_CELL)
        try:
            row = next(rows, None)
        finally:
            csv.field_size_limit(before)
        if row is None:
            return
        yield {name: text_of_cell(cell) if isinstance(cell, str) else cell for name, cell in row.items()}


def _of_rows(rows: Iterable[Mapping[str, Any]], by: list[str], name: str) -> Iterator[Part]:
    columns = list(dict.fromkeys([*by, "verdict", "reason"]))
    cells: dict[str, list[Any]] = {column: [] for column in columns}
    for row in rows:
        for column in columns:
            if column not in row and column != "reason":
                raise InvalidInput(_core.printable(f"{name}: {not_there('column', column, map(str, row))}"), "by")
            cells[column].append(row.get(column))
        if len(cells["verdict"]) == AT_ONCE:
            yield _of_columns(cells, by, name)
            cells = {column: [] for column in columns}
    yield _of_columns(cells, by, name)


def _of_parquet(source: IO[bytes], by: list[str], name: str) -> Iterator[Part]:
    arrow = _pyarrow(name)
    from pyarrow import parquet  # noqa: PLC0415

    try:
        with parquet.ParquetFile(source) as file:
            columns = _projected(file.schema_arrow.names, by, name)
            yield from _of_batches(file.iter_batches(AT_ONCE, columns=columns), by, name)
    except (arrow.ArrowException, OSError) as error:
        raise InvalidInput(_core.printable(f"{name}: it can't be read as Parquet: {error}")) from None


def _of_ipc(source: IO[bytes], by: list[str], name: str) -> Iterator[Part]:
    arrow = _pyarrow(name)
    try:
        file = arrow.ipc.open_file(source)
        batches = (file.get_batch(place) for place in range(file.num_record_batches))
        yield from _of_batches(batches, by, name)
    except (arrow.ArrowException, OSError) as error:
        raise InvalidInput(_core.printable(f"{name}: it can't be read as an Arrow file: {error}")) from None


def _of_batches(batches: Iterable[Any], by: list[str], name: str) -> Iterator[Part]:
    for batch in batches:
        columns = _projected(batch.schema.names, by, name)
        yield _of_columns({column: batch.column(column).to_pylist() for column in columns}, by, name)


def _projected(names: Sequence[str], by: list[str], name: str) -> list[str]:
    """The columns that are read."""
    for column in [*by, "verdict"]:
        if column not in names:
            raise InvalidInput(_core.printable(f"{name}: {not_there('column', column, names)}"), "by")
    for column in [*by, "verdict", "reason"]:
        if names.count(column) > 1:
            raise InvalidInput(_core.printable(f"{name}: there are two columns {column!r}"), "by")
    return [column for column in dict.fromkeys([*by, "verdict", "reason"]) if column in names]


def _pyarrow(name: str) -> Any:
    try:
        import pyarrow  # noqa: PLC0415 - few need it
        import pyarrow.ipc  # noqa: PLC0415
    except ImportError as error:
        message = f"{name}: reading it needs pyarrow: pip install 'callmatch[parquet]'"
        raise ImportError(message, name=error.name) from None
    return pyarrow


READERS: dict[str, Callable[[IO[bytes], list[str], str], Iterator[Part]]] = {
    ".jsonl": _of_jsonl,
    ".csv": _of_csv,
    ".parquet": _of_parquet,
    ".arrow": _of_ipc,
}
"""What reads the files of scores, by their ending."""
