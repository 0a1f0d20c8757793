"""Tool Call Trajectory: were the expected tools called?"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from typing import Any, ClassVar, Literal, NoReturn

from callmatch import _core
from callmatch.arrow import ScoreTable, Table, score_table
from callmatch.batch import Scores
from callmatch.errors import InvalidInput, InvalidType, missing_keyword, unknown_key, unknown_keyword
from callmatch.expectations import By, evaluate_traces
from callmatch.metrics.metric import Case, Metric, TraceLike, trace_of
from callmatch.readers import Source, Traces
from callmatch.results import MetricResult
from callmatch.span_tables import Spans, SpanScores, evaluate_spans
from callmatch.storage import fetched, is_url
from callmatch.targets import Names, On, Target, TargetLike
from callmatch.trace import Trace

__all__ = ["ArgumentMode", "MatchMode", "ToolCallTrajectory"]

MatchMode = Literal["exact", "in_order", "any_order", "subset", "superset"]
ArgumentMode = Literal["partial", "exact", "ignore"]

Calls = list[Any] | tuple[Any, ...] | str | bytes | None
"""A list of tool calls or of chat messages, or JSON text of one; None: not reported, or nothing is expected."""

File = str | os.PathLike[str]

MOST_THREADS = 1024

_MISSING: Any = object()
"""Not given; as a default it leaves it to us to say what is missing or misspelt."""


class ToolCallTrajectory(Metric):
    """Compares the tool calls that an agent made with those it was expected to make.

    Args:
        match: How the calls must line up.

            * ``exact``: as many calls as expected, and each fits the expected one at its position;
            * ``in_order``: the expected calls were made in order, others may come between;
            * ``any_order``: the same calls in any order, and no others;
            * ``subset``: every call made was expected, some may be missing;
            * ``superset``: every expected call was made, others are allowed.
        arguments: When the arguments of a call match those listed.

            * ``partial``: every listed key has an equal value, other keys are ignored;
            * ``exact``: they are equal;
            * ``ignore``: always.

            Whatever the mode, an expected call without arguments matches any.
        names: When the name of a call is the expected one.

            * ``exact``: they are equal;
            * ``last_segment``: they are equal, or the expected one is the last segment of the recorded one:
              ``create_issue`` of ``mcp__github__create_issue``.
        calls: Which calls of a trace count, where it tells apart those that were ``executed`` and those that a model
            ``requested``.
        name: The name that results carry.
        target: ``response``, ``conversation`` or ``run``; the calls of the whole trace are judged, those of sub-agents
            too.

    Values are equal as JSON values: 1 and 1.0 are, 1 and True are not, nor are an absent key and null.
    Calls are paired one to one, by the largest pairing there is.

    The definitions are those of the Rhesis page "Checking Tool Calls", made exact where it is silent (README, "What
    counts as a match").

    Raises:
        InvalidInput: An unknown mode, or a target that it can't take.
        InvalidType: An unknown keyword.

    Examples:
        >>> metric = ToolCallTrajectory(match="in_order", arguments="partial")
        >>> result = metric.evaluate(
        ...     tool_calls=[{"name": "search", "arguments": {"query": "refunds", "limit": 5}}],
        ...     expectations={"tool_calls": [{"name": "search"}, {"name": "reply"}]},
        ... )
        >>> result.verdict, result.score, result.details["recall"]
        ('failed', 0.0, 0.5)
        >>> result.reason
        'Expected `reply`; it was never called.'
    """

    type: ClassVar[str] = "tool_call_trajectory"

    match: MatchMode = "in_order"
    arguments: ArgumentMode = "partial"
    names: Names = "exact"
    calls: Literal["executed", "requested"] = "executed"
    name: str = "tool_call_trajectory"

    @cached_property
    def _core(self) -> _core.Trajectory:
        return _core.Trajectory(self.match, self.arguments, self.names)

    @property
    def takes(self) -> tuple[On, ...]:
        """The targets that the metric can take, by their ``on``."""
        return ("response", "conversation", "run")

    def evaluate(
        self,
        *,
        tool_calls: Calls = None,
        expectations: Mapping[str, Any] | None = None,
        trace: TraceLike | None = None,
        target: TargetLike | None = None,
        **unknown: NoReturn,
    ) -> MetricResult:
        """Judge the tool calls of one trace.

        Args:
            tool_calls: The calls that were made, in any of the shapes that the README lists, or the chat messages that
                hold them; ``[]`` if none was made, None if they are not known.
            expectations: ``{"tool_calls": [...]}``, the calls that should have been made. ``[]`` expects that none is;
                without the key, or with None, nothing is expected and the result is ``not_applicable``.
            trace: A trace, or those of a conversation in their order, in place of ``tool_calls``.
            target: ``response``, ``conversation`` or ``run``, in place of the metric's own target.

        Returns:
            A result whose `details` hold ``matched``, ``made``, ``expected`` (counts), ``precision``, ``recall``,
            ``f1`` (from 0 to 1; 1.0 if both sides are empty, 0.0 if one is), ``pairs`` (of ``expected`` and ``actual``
            indexes), ``missing`` and ``unexpected`` (the indexes without a partner), ``difference`` (the first call
            that differs, None if none does), ``reason``, and the two modes.

        Raises:
            InvalidInput: A value that can't be, with the path to it; under ``names="last_segment"``, two expected names
                of which one is the last segment of the other.
            InvalidType: Something of the wrong type, with the path to it.

        Examples:
            >>> ToolCallTrajectory().evaluate(tool_calls=[], expectations={"tool_calls": []}).verdict
            'passed'
            >>> ToolCallTrajectory().evaluate(tool_calls=None, expectations={"tool_calls": []}).verdict
            'inconclusive'
        """
        if unknown:
            raise unknown_keyword("evaluate", unknown, ["tool_calls", "expectations", "trace", "target"])
        expected: object = None
        if expectations is not None:
            if type(expectations) is not dict and not isinstance(expectations, Mapping):
                kind = type(expectations).__name__
                raise InvalidType(f'expectations: expected {{"tool_calls": [...]}}, got {kind}', "expectations")
            expected = expectations.get("tool_calls")
            if len(expectations) != ("tool_calls" in expectations):
                raise unknown_key("expectations", set(expectations) - {"tool_calls"}, ["tool_calls"])
        if target is not None:
            self._checked(target)
        if trace is not None:
            if tool_calls is not None:
                raise InvalidInput("a trace holds its tool calls, so none can be given beside it", "tool_calls")
            tool_calls = self._calls_of(trace_of({"trace": trace}))
        return MetricResult._of(self.name, *self._core.evaluate(tool_calls, expected))

    async def evaluate_async(self, **parts: Any) -> MetricResult:
        """Judge as `evaluate` does; it takes microseconds, so nothing is waited for."""
        return self.evaluate(**parts)

    def _evaluate_case(self, case: Case, target: Target) -> MetricResult:
        return self.evaluate(trace=case.trace, expectations={"tool_calls": case.expected_tool_calls}, target=target)

    async def _evaluate_case_async(self, case: Case, target: Target) -> MetricResult:
        return self._evaluate_case(case, target)

    def _calls_of(self, trace: Trace) -> list[dict[str, Any]] | None:
        """The calls that were made in a trace, as the core reads them; None if they were not reported."""
        if not trace.tool_calls_reported:
            return None
        counted = [call for call in trace.tool_calls if call.recorded_as in ("both", self.calls)]
        return [{"name": call.name, "arguments": call.input} for call in counted]

    def evaluate_batch(
        self,
        *,
        tool_calls: Iterable[Calls] = _MISSING,
        expected_tool_calls: Iterable[Calls] = _MISSING,
        **unknown: NoReturn,
    ) -> Scores:
        """Judge many traces at once.

        Args:
            tool_calls: For each trace what `evaluate` takes as ``tool_calls``.
            expected_tool_calls: For each trace the calls that should have been made; None: nothing is expected.

        Returns:
            The scores, by column and by row. Both empty: no rows. A row that can't be read has the verdict ``error``.
            Many rows are read on all cores; while objects are, no other Python code runs.

        Raises:
            InvalidInput: The two are not of one length.
            InvalidType: One of them is no iterable of traces.

        Examples:
            >>> scores = ToolCallTrajectory().evaluate_batch(
            ...     tool_calls=[[{"name": "search"}], []],
            ...     expected_tool_calls=[[{"name": "search"}], [{"name": "search"}]],
            ... )
            >>> scores.score, scores.f1, scores[1].reason
            ([1.0, 0.0], [1.0, 0.0], 'Expected `search`; no tool calls were recorded.')
        """
        if unknown:
            raise unknown_keyword("evaluate_batch", unknown, ["tool_calls", "expected_tool_calls"])
        made = _rows("tool_calls", tool_calls)
        expected = _rows("expected_tool_calls", expected_tool_calls)
        if len(made) != len(expected):
            counts = f"tool_calls has {len(made)} rows, expected_tool_calls has {len(expected)}"
            raise InvalidInput(f"{counts}; both need one for each trace")
        return Scores(self._core.evaluate_batch(made, expected), self.name)

    def evaluate_file(
        self,
        files: File | Iterable[File],
        *,
        actual: str = "tool_calls",
        expected: str = "expected_tool_calls",
        id: str = "id",
        group_by: Iterable[str] = (),
        threads: int | None = None,
        **unknown: NoReturn,
    ) -> Iterator[Scores]:
        """Judge the records of files, a part at a time: however long the files are, the memory needed stays the same.

        Args:
            files: One file or several, of JSON Lines or a JSON array of records, plain or compressed with gzip or
                Zstandard. ``"-"`` is standard input. A URL is one that fsspec knows (``callmatch[parquet]``); what is
                behind it is copied here while it is read.
            actual: Where in a record the calls are that were made, as a list of calls or of chat messages: a dotted
                path (``info.task.actions``) or a JSON pointer (``/info/task/actions``). Not there: not reported.
            expected: Where the expected ones are. Not there: the row is ``not_applicable``.
            id: Where the id of the record is. Not there: the line is its id.
            group_by: Fields by whose values ``scores.summaries()`` groups the records, such as ``model``. Not there:
                None.
            threads: How many threads read and compare; None for as many as there are cores.

        Returns:
            An iterator over the scores of some thousand records at a time, in the order of the files. A record that
            can't be read has the verdict ``error``, and its error names file and line.

        Raises:
            OSError: A file that is missing, a directory, or may not be read.
            InvalidInput: A file that holds no text, or compressed data that is damaged or ends too early. At the end:
                no records in any file, or a field that is in none of them.
            InvalidType: An argument of the wrong type.
        """
        if unknown:
            raise unknown_keyword("evaluate_file", unknown, ["actual", "expected", "id", "group_by", "threads"])
        paths = files_of(files)
        if isinstance(group_by, str) or not isinstance(group_by, Iterable):
            raise InvalidType(f"group_by: expected a list of fields, got {group_by!r}", "group_by")
        fields = [("actual", actual), ("expected", expected), ("id", id), *(("group_by", field) for field in group_by)]
        for keyword, path in fields:
            if not isinstance(path, str):
                raise InvalidType(f"{keyword} is a dotted path or a JSON pointer, not {type(path).__name__}", keyword)
        by = [path for keyword, path in fields if keyword == "group_by"]
        scorer = _core.FileScorer(self._core, actual, expected, id, threads_of(threads), by)
        # What is wrong with the first file is said here, and not when the first rows are asked for.
        return _chunks(scorer, paths, _opened(scorer, paths[0]), self.name)

    def evaluate_table(
        self,
        table: Table | File | Sequence[File],
        *,
        tool_calls: str = "tool_calls",
        expected_tool_calls: str = "expected_tool_calls",
        keep: Iterable[str] = (),
        columns: Iterable[str] | None = None,
        threads: int | None = None,
        **unknown: NoReturn,
    ) -> ScoreTable:
        """Judge the rows of a table, as Arrow columns in and out: no Python object is made for a row.

        Args:
            table: Anything that gives an Arrow stream: a table of pyarrow, polars, duckdb, pandas (from 2.2), others,
                or a reader of record batches. Or tables in files: a path, a URL or a pattern of them, or a list of
                these, of Parquet, Arrow IPC or CSV (whose cells are JSON text).
            tool_calls: The column with the calls that were made: JSON text (as text or bytes, dictionary-encoded or
                not), or lists of structs with ``name`` and ``arguments``, which are JSON text, structs or maps. A null
                in a struct is a key that is not there, as every row of a column has all keys; one in a map is a null.
            expected_tool_calls: The column with the calls that should have been made. A null: nothing is expected, and
                the row is ``not_applicable``.
            keep: Columns of the table that come out as they are, before those of the scores.
            columns: Which columns of scores come out; None for all: ``score``, ``verdict``, ``matched``, ``made``,
                ``expected``, ``precision``, ``recall``, ``f1``, ``difference_kind``, ``expected_index``,
                ``actual_index``, ``reason``, ``error``. Reasons take longer than all the others.
            threads: How many threads read and compare; None for as many as there are cores.

        Returns:
            A row for each row of the table, in its order, as something that gives an Arrow stream and can `write` it to
            a file. No rows in, no rows out. A row that can't be read has the verdict ``error``, and its ``error`` says
            which row and why.

        Raises:
            OSError: A file that is missing or may not be read.
            InvalidInput: A column that is not there, or there twice; a file that is damaged, empty or no table.
            InvalidType: No table, or a column that holds no calls.
            ImportError: Files without pyarrow: ``pip install 'callmatch[parquet]'``.

        Examples:
            >>> import pyarrow
            >>> wanted = '[{"name": "search"}]'
            >>> table = pyarrow.table({"run": [1, 2], "made": [wanted, "[]"], "wanted": [wanted, wanted]})
            >>> metric = ToolCallTrajectory()
            >>> scores = metric.evaluate_table(table, tool_calls="made", expected_tool_calls="wanted", keep=["run"])
            >>> pyarrow.table(scores).select(["run", "verdict", "recall"]).to_pylist()
            [{'run': 1, 'verdict': 'passed', 'recall': 1.0}, {'run': 2, 'verdict': 'failed', 'recall': 0.0}]
        """
        if unknown:
            known = ["tool_calls", "expected_tool_calls", "keep", "columns", "threads"]
            raise unknown_keyword("evaluate_table", unknown, known)
        return score_table(
            self,
            table,
            tool_calls=tool_calls,
            expected_tool_calls=expected_tool_calls,
            keep=keep,
            columns=columns,
            threads=threads_of(threads),
        )

    def evaluate_traces(
        self,
        traces: Traces | Source,
        expected: Mapping[str, object] | File,
        *,
        by: By = "trace_id",
        **unknown: NoReturn,
    ) -> Iterator[Scores]:
        """Judge stored traces in any format by expected calls that are kept apart from them, a part at a time.

        Args:
            traces: The traces, or what `callmatch.read` takes.
            expected: The calls that should have been made, by an id: a list of calls, JSON text of one, or None. Or a
                .jsonl, .json or .yaml file of records such as ``{"trace_id": ..., "expected_tool_calls": [...]}``.
            by: What these ids are of: ``trace_id``, ``conversation_id`` or ``test_id``. Traces that share a
                conversation or a test are judged as one.

        Returns:
            An iterator over the scores, a row for each trace (conversation, test) in their order. What nothing is
            expected of is ``not_applicable``. An expectation of which there is no trace is a row too, after all others,
            with the verdict ``error``.

        Raises:
            OSError: A file that is missing or may not be read.
            InvalidInput: What `callmatch.read` refuses, expectations that can't be read, or an unknown word.
            InvalidType: Something of the wrong type.

        Examples:
            >>> expected = {"run-1": [{"name": "lookup_order"}], "run-2": [{"name": "ask"}], "run-9": []}
            >>> for scores in ToolCallTrajectory().evaluate_traces("examples/refund_traces.jsonl", expected):
            ...     list(zip(scores.id, scores.verdict))[1:]
            [('run-2', 'failed'), ('run-3', 'not_applicable'), ('run-4', 'not_applicable'), ('run-9', 'error')]
        """
        if unknown:
            raise unknown_keyword("evaluate_traces", unknown, ["by"])
        return evaluate_traces(self, traces, expected, by=by)

    def evaluate_spans(
        self,
        spans: Spans,
        expected: Mapping[str, object] | Table | File,
        *,
        by: By = "trace_id",
        profile: str | None = None,
        columns: Iterable[str] | None = None,
        threads: int | None = None,
        **unknown: NoReturn,
    ) -> SpanScores:
        """Judge the tool calls of the traces of a table whose rows are spans, without a Python object for any of them.

        The rows of a trace may stand anywhere in the table, and what was exported twice counts once. The answers are
        those of `evaluate_traces` of what `callmatch.read` makes of the table. Columns that say nothing of calls, such
        as what models were told, are not read; until the end of the table, what is needed of each span is kept.

        Args:
            spans: Anything that gives an Arrow stream (a table of pyarrow, polars, duckdb, pandas from 2.2), or a
                dataset of pyarrow, of which only the columns are read that `callmatch.span_columns` names.
            expected: The calls that should have been made, as `evaluate_traces` takes them: by an id, or a file. Or a
                table with the columns ``trace_id`` (or what `by` says) and ``expected_tool_calls``; a null: nothing is
                expected.
            by: What these ids are of: ``trace_id``, ``conversation_id`` or ``test_id``, which for spans is that of the
                trace. Traces that share a conversation are judged as one.
            profile: Whose columns these are, where those of several are there: ``phoenix``, ``clickhouse``,
                ``otel_table``, ``logfire``, ``langfuse``, ``langsmith``, ``mlflow`` or ``adk_bigquery``.
            columns: Which columns of scores come out, as for `evaluate_table`; None for all.
            threads: How many threads read and compare; None for as many as there are cores.

        Returns:
            A row for each trace (or conversation), in the order in which they begin in the table, as something that
            gives an Arrow stream, with `diagnostics`. Its first column is the id. What nothing is expected of is
            ``not_applicable``. An expectation of which there is no trace is a row too, after all others, with the
            verdict ``error``. No rows in: rows for the expectations alone.

        Raises:
            OSError: A file of expectations that is missing or may not be read.
            InvalidInput: No profile that is known has such columns, or several have; a column that holds a VARIANT, or
                is there twice; expectations that can't be read, or with one id twice; an unknown word.
            InvalidType: No table, or something else of the wrong type.

        Examples:
            >>> import pyarrow
            >>> rows = pyarrow.table({
            ...     "TraceId": ["a", "b", "a"],
            ...     "SpanId": ["1", "2", "3"],
            ...     "SpanName": ["execute_tool search", "execute_tool reply", "execute_tool reply"],
            ...     "SpanAttributes": [{"gen_ai.tool.name": name} for name in ("search", "reply", "reply")],
            ... })
            >>> expected = {"a": [{"name": "search"}, {"name": "reply"}], "b": [{"name": "search"}]}
            >>> scores = ToolCallTrajectory().evaluate_spans(rows, expected, columns=["verdict"])
            >>> pyarrow.table(scores).to_pylist()
            [{'trace_id': 'a', 'verdict': 'passed'}, {'trace_id': 'b', 'verdict': 'failed'}]
        """
        if unknown:
            raise unknown_keyword("evaluate_spans", unknown, ["by", "profile", "columns", "threads"])
        return evaluate_spans(
            self, spans, expected, by=by, profile=profile, columns=columns, threads=threads_of(threads)
        )


def _rows(keyword: str, rows: Iterable[Calls]) -> tuple[Calls, ...]:
    if rows is _MISSING:
        raise missing_keyword("evaluate_batch", keyword)
    # A set has no order, so its rows would be those of other traces.
    if isinstance(rows, (str, bytes, Mapping, Set)) or not isinstance(rows, Iterable):
        kind = type(rows).__name__
        raise InvalidType(f"{keyword}: expected a list with the calls of each trace, got {kind}", keyword)
    return tuple(rows)


def threads_of(threads: int | None) -> int:
    """How many threads are wanted; 0 for as many as there are cores."""
    if threads is not None and (type(threads) is not int or not 1 <= threads <= MOST_THREADS):
        what = f"a number from 1 to {MOST_THREADS}, or None for all cores"
        raise InvalidInput(f"threads is {what}, not {threads!r}", "threads")
    return threads or 0


def files_of(files: File | Iterable[File]) -> list[File]:
    """The files that were given, one or several."""
    if not isinstance(files, (str, os.PathLike, Iterable)):
        raise InvalidType(f"files: expected a path or several, got {type(files).__name__}", "files")
    paths = [files] if isinstance(files, (str, os.PathLike)) else list(files)
    if not paths:
        raise InvalidInput("files: expected at least one", "files")
    for path in paths:
        if not isinstance(path, (str, os.PathLike)):
            raise InvalidType(f"files: expected paths, got {type(path).__name__}", "files")
    return paths


def _opened(scorer: _core.FileScorer, path: File) -> contextlib.ExitStack:
    """Go on with a file; what comes back is to be closed when it was read."""
    with contextlib.ExitStack() as opening:
        if isinstance(path, str) and is_url(path):
            scorer.open(opening.enter_context(fetched(path)), path)
        else:
            scorer.open(path)
        return opening.pop_all()


def _chunks(scorer: _core.FileScorer, paths: list[File], first: contextlib.ExitStack, name: str) -> Iterator[Scores]:
    for place, path in enumerate(paths):
        with _opened(scorer, path) if place > 0 else first:
            while (batch := scorer.next_chunk()) is not None:
                yield Scores(batch, name)
    scorer.finish()
