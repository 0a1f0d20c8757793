"""Tool Call Check: does the answer honour what the tools did?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from itertools import islice
from typing import Annotated, Any, ClassVar, NamedTuple, NoReturn, cast

from pydantic import BeforeValidator, Field, JsonValue, PlainValidator, model_validator
from typing_extensions import Self, Unpack

from callmatch import _core
from callmatch.concurrency import run
from callmatch.errors import (
    CallmatchError,
    InvalidInput,
    InvalidType,
    missing_keyword,
    one_of,
    said,
    unknown_key,
    unknown_keyword,
)
from callmatch.metrics.judges import Count
from callmatch.metrics.metric import RECORDED, Bar, Case, EachMetric, Outcome, Parts
from callmatch.metrics.models import ModelLike, model_of
from callmatch.metrics.tool_check_judge import Explain, JudgeMode, Judging, is_asked
from callmatch.metrics.trajectory import File, files_of, threads_of
from callmatch.readers import Source, Traces
from callmatch.schema import checked
from callmatch.targets import On, Subject, Target, TargetLike, resolve
from callmatch.toolcheck.batch import CheckScores, verdict_of
from callmatch.toolcheck.requests import request_of
from callmatch.toolcheck.results import ToolCallCheckResult, to_aimon

__all__ = ["ToolCallCheck"]

Report = dict[str, Any]


class CheckParts(Parts, total=False):
    """What can be given to `ToolCallCheck.evaluate`."""

    user_query: str
    generated_text: str
    tool_trace: object
    available_tools: object


NEEDED = ("user_query", "generated_text", "tool_trace")
"""What a request has to have."""

REQUEST = (*NEEDED, "available_tools", "context")
"""What a request may have."""


def _explain(value: object) -> object:
    if isinstance(value, str) and value != "negatives_only":
        raise InvalidInput(one_of("explain", value, ["True", "False", "negatives_only"]), "explain")
    if not isinstance(value, (bool, str)):
        raise InvalidType(f'explain is True, False or "negatives_only", not {type(value).__name__}', "explain")
    return value


def _judge(value: object) -> ModelLike | None:
    try:
        return model_of(value)
    except CallmatchError as error:
        raise type(error)(str(error).replace("model is", "judge is", 1), "judge") from None


class ToolCallCheck(EachMetric):
    """Decides whether an answer honours what the tools did, by rules and offline.

    Four instructions are decided, each for itself:

    * ``tool_relevance``: the tools that were called fit what the user asked for;
    * ``result_fidelity``: the answer agrees with what the tools returned;
    * ``status_consistency``: it doesn't treat failed or pending calls as successes;
    * ``no_hallucination``: it claims no tool and no action that there was no call of.

    Rules decide what they can see, and leave the rest undecided. docs/toolcheck.md lists them, and says what they can't
    see. It is about what is consistent with the trace, and never about what is true.

    Attributes:
        explain: Whether explanations are written: False, True, or ``"negatives_only"``: for what is violated.
        judge: A model that is asked about what rules leave open, as judges are (docs/metrics.md): an object with
            ``generate(prompt, schema)``, a function of the prompt, or a ``provider/name``. Only the latter is part of
            the config.
        judge_mode: What it is asked about: ``undecided`` instructions; ``all`` but the vacuous ones, where what rules
            decided stands and an objection is noted; ``never``.
        threshold: From which score on a result is ``passed``, from 0 to 1.
        failure_when: For a tool, or for all as ``*``: JSON pointers into its responses. If one of them leads to
            something that is not false, null, zero or empty, the call failed, whatever its status.
        key_aliases: For a key of payloads, other words that texts have for it.
        unit_hints: For a key of payloads, the unit of its numbers, such as ``km``.
        ignore_keys: Keys of payloads that contradict nothing; they still support what an answer says.
        available_tools: The tools that could be called (``name``, ``description``, ``parameters``), for requests that
            don't bring their own.
        calibration: Other counts for some rules than the shipped ones: ``{rule: {"followed": ..., "n": ...}}``; see
            `calibrate`.
        attempts: How often a judge is asked that gives no answer that can be used.
        timeout: How many seconds each time.
        max_concurrency: How many instructions a judge is asked about at the same time.
        target: ``response``, ``turn``, ``conversation`` or ``run``, for traces.

    Raises:
        InvalidInput: An unknown word, a number outside of its range, a target that it can't take.
        InvalidType: Something of the wrong type, or an unknown keyword.

    Examples:
        >>> check = ToolCallCheck(explain=True)
        >>> result = check.evaluate(
        ...     user_query="What's the weather in Oslo?",
        ...     generated_text="It's 3 °C in Oslo.",
        ...     tool_trace=[{"tool_name": "weather_lookup", "status": "success",
        ...                  "request_payload": {"city": "Oslo"}, "response_payload": {"temp_c": -3}}],
        ... )
        >>> result.verdict, result.violated
        ('failed', ['result_fidelity'])
    """

    type: ClassVar[str] = "tool_call_check"

    name: str = "tool_call_check"
    explain: Annotated[Explain, BeforeValidator(checked(_explain))] = False
    judge: Annotated[ModelLike | None, PlainValidator(checked(_judge))] = None
    judge_mode: JudgeMode = "undecided"
    threshold: Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0, le=1)] = 0.5
    failure_when: dict[str, list[str]] = Field(default_factory=dict)
    key_aliases: dict[str, list[str]] = Field(default_factory=dict)
    unit_hints: dict[str, str] = Field(default_factory=dict)
    ignore_keys: list[str] = Field(default_factory=list)
    available_tools: list[Any] | None = None
    calibration: dict[str, dict[str, JsonValue]] = Field(default_factory=dict)
    attempts: Count = 3
    timeout: Annotated[float, Field(strict=True, allow_inf_nan=False, gt=0)] = 60.0
    max_concurrency: Count = 8

    @model_validator(mode="after")
    @checked
    def _core_takes_it(self) -> Self:
        _ = self._rules
        return self

    @property
    def takes(self) -> tuple[On, ...]:
        """The targets that the metric can take, by their ``on``."""
        return ("response", "turn", "conversation", "run")

    @property
    def _bar(self) -> Bar:
        return Bar(">=", self.threshold)

    def _not_in_config(self) -> set[str]:
        return set() if isinstance(self.judge, str) else {"judge"}

    @cached_property
    def _rules(self) -> _core.ToolCheck:
        return self._rules_with(self.explain)

    def _rules_with(self, explain: Explain) -> _core.ToolCheck:
        return _core.ToolCheck(
            {
                "explain": explain,
                "failure_when": self.failure_when,
                "key_aliases": self.key_aliases,
                "unit_hints": self.unit_hints,
                "ignore_keys": self.ignore_keys,
                "available_tools": self.available_tools,
                "calibration": self.calibration,
            }
        )

    def _judging(self, explain: Explain | None = None) -> Judging | None:
        """How the judge is asked; None if none is."""
        if self.judge_mode == "never" or (self.judge is None and self.judge_mode == "undecided"):
            return None
        if self.judge is None:
            how = 'give judge="provider/name", an object with generate(prompt, schema), or a function of the prompt'
            raise InvalidInput(f'judge_mode is "all", but {self.name} has no judge to ask: {how}', "judge")
        explain = self.explain if explain is None else explain
        return Judging(
            model=self.judge,
            mode=self.judge_mode,
            tools=self.available_tools,
            explain=explain,
            attempts=self.attempts,
            timeout=self.timeout,
            max_concurrency=self.max_concurrency,
        )

    # -- one answer

    def evaluate(self, **parts: Unpack[CheckParts]) -> ToolCallCheckResult:
        """Judge one answer, or those of a trace.

        Args:
            **parts: Either ``user_query`` (a text), ``generated_text`` (the answer) and ``tool_trace`` (a list of calls
                in AIMon's shape: ``tool_name``, ``status``, ``error``, ``request_payload``, ``response_payload``,
                ``order``, ``start_time``, ``end_time``, ``retries``; ``[]`` if none was made), and perhaps
                ``available_tools`` (``name``, ``description``, ``parameters``) and ``context`` (a text, or several:
                what else the model was given). Or what other metrics take: a ``trace`` or those of a conversation,
                ``messages``, or the parts of one turn; with a ``target``, in place of the metric's own.

        Returns:
            The result. An empty trace of tools is judged. Of a trace without an output, an input, or any report of
            which tools were called, the result is ``inconclusive``.

        Raises:
            InvalidInput: A value that can't be, with the path to it.
            InvalidType: Something missing or of the wrong type, with the path to it, or an unknown keyword.

        Examples:
            >>> ToolCallCheck().evaluate(user_query="Hi", generated_text="Hello!", tool_trace=[]).verdict
            'passed'
        """
        request = self._request("evaluate", parts)
        if request is None:
            return cast("ToolCallCheckResult", super().evaluate(**_recorded(parts)))
        judging, report = self._judging(), self._rules.check(request)
        if judging is not None:
            report = run(judging.of(report, request))
        return ToolCallCheckResult.of_report(report, self.name, self.threshold)

    async def evaluate_async(self, **parts: Unpack[CheckParts]) -> ToolCallCheckResult:
        """Judge as `evaluate` does, without blocking."""
        request = self._request("evaluate_async", parts)
        if request is None:
            return cast("ToolCallCheckResult", await super().evaluate_async(**_recorded(parts)))
        judging, report = self._judging(), self._rules.check(request)
        if judging is not None:
            report = await judging.of(report, request)
        return ToolCallCheckResult.of_report(report, self.name, self.threshold)

    def _request(self, where: str, parts: CheckParts) -> dict[str, Any] | None:
        """The request that was given; None for what is recorded in a trace."""
        known = CheckParts.__annotations__
        if unknown := parts.keys() - known.keys():
            raise unknown_keyword(where, unknown, known)
        is_recorded = any(parts.get(key) is not None for key in ("trace", *RECORDED))
        if is_recorded and not any(key in parts for key in NEEDED):
            if parts.get("available_tools") is not None:
                how = "a trace does not say which tools could be called; give them to the metric when it is made"
                raise InvalidInput(f"available_tools: {how}", "available_tools")
            return None
        for key in NEEDED:
            if key not in parts:
                raise missing_keyword(where, key)
        if other := [key for key in parts if key not in REQUEST and parts.get(key) is not None]:
            why = "a query, a text and a trace of tools are all that is judged"
            raise InvalidInput(f"{other[0]} can't be given beside user_query: {why}", other[0])
        given: Mapping[str, Any] = parts
        return {key: given[key] for key in REQUEST if key in NEEDED or given.get(key) is not None}

    # -- what a target finds in a trace

    def _outcomes(self, subjects: Sequence[Subject], case: Case) -> list[Outcome]:
        if self._judging() is not None:
            return run(self._outcomes_async(subjects, case))
        return [self._outcome(report) for report, _ in self._reports(subjects, case)]

    async def _outcomes_async(self, subjects: Sequence[Subject], case: Case) -> list[Outcome]:
        judging, reports = self._judging(), list(self._reports(subjects, case))
        if judging is not None:
            places = [place for place, (report, _) in enumerate(reports) if "instructions_list" in report]
            judged = await judging.of_all([reports[place] for place in places])
            for place, report in zip(places, judged, strict=True):
                reports[place] = report, None
        return [self._outcome(report) for report, _ in reports]

    def _reports(self, subjects: Sequence[Subject], case: Case) -> Iterator[tuple[Report, object]]:
        """What the rules say of each, and the request."""
        for subject in subjects:
            request = request_of(subject, case.trace)
            if isinstance(request, str):
                yield {"score": None, "reason": request}, None
                continue
            try:
                yield self._rules.check(request), request
            except CallmatchError as error:
                yield {"error": said(error), "reason": said(error)}, None

    def _outcome(self, report: Report) -> Outcome:
        score = report.get("score")
        verdict = verdict_of(score, report.get("error"), self.threshold)
        return Outcome(score, verdict, report["reason"], {**report, "threshold": self.threshold})

    def _combined(
        self, case: Case, target: Target, found: Sequence[Subject], outcomes: Sequence[Outcome]
    ) -> ToolCallCheckResult:
        result = super()._combined(case, target, found, outcomes)
        details = result.details
        if target.is_several:
            details = {**details, "checks": [dict(outcome.details) for outcome in outcomes]}
        combined = ToolCallCheckResult._of(
            result.name, result.score, result.verdict, result.passed, result.reason, details, result.spans
        )
        return cast("ToolCallCheckResult", combined)

    # -- many requests

    def evaluate_batch(self, requests: Iterable[object], *, on_error: str = "row", **unknown: NoReturn) -> CheckScores:
        """Judge many requests at once, on all cores.

        Args:
            requests: Mappings with ``user_query``, ``generated_text``, ``tool_trace``, and perhaps
                ``available_tools`` and ``context``; or JSON text of such.
            on_error: What becomes of a request that can't be read: ``row`` (one with the verdict ``error``), or
                ``raise``.

        Returns:
            The scores, by column and by row. A judge, if there is one, is asked about all that rules left open before
            this returns.

        Raises:
            InvalidInput: An unknown word; with ``on_error="raise"`` the first request that can't be read.
            InvalidType: No iterable of requests.

        Examples:
            >>> request = {"user_query": "Hi", "generated_text": "Hello!", "tool_trace": []}
            >>> scores = ToolCallCheck().evaluate_batch([request, {}])
            >>> scores.verdict
            ['passed', 'error']
        """
        if unknown:
            raise unknown_keyword("evaluate_batch", unknown, ["requests", "on_error"])
        if on_error not in ("row", "raise"):
            raise InvalidInput(one_of("on_error", str(on_error), ["row", "raise"]), "on_error")
        rows = tuple(_each("requests", requests))
        scores = self._judged(self._rules.check_many(rows), rows.__getitem__, self._judging())
        if on_error == "raise":
            for place, error in enumerate(scores.error):
                if error is not None:
                    raise InvalidInput(f"requests[{place}]: {error}", f"requests[{place}]")
        return scores

    def evaluate_file(
        self, files: File | Iterable[File], *, threads: int | None = None, **unknown: NoReturn
    ) -> Iterator[CheckScores]:
        """Judge the requests of files, a part at a time.

        Args:
            files: One file or several, of JSON Lines or a JSON array, plain or compressed with gzip or Zstandard. Each
                record is a request, or an object with ``id`` and ``request``. ``"-"`` is standard input.
            threads: How many threads read and check; None for as many as there are cores.

        Returns:
            An iterator over the scores of some requests at a time, in the order of the files. A record that can't be
            read has the verdict ``error``, and its error names file and line.

        Raises:
            OSError: A file that is missing, a directory, or may not be read.
            InvalidInput: A file that holds no text, or compressed data that is damaged. At the end: no records at all.
            InvalidType: An argument of the wrong type.
        """
        if unknown:
            raise unknown_keyword("evaluate_file", unknown, ["files", "threads"])
        paths, judging = files_of(files), self._judging()
        checker = _core.FileChecker(self._rules, threads_of(threads), judging is not None)
        # What is wrong with the first file is said here, and not when the first rows are asked for.
        checker.open(paths[0])
        return self._chunks(checker, paths, judging)

    def _chunks(self, checker: _core.FileChecker, paths: list[File], judging: Judging | None) -> Iterator[CheckScores]:
        for place, path in enumerate(paths):
            if place > 0:
                checker.open(path)
            while (batch := checker.next_chunk()) is not None:
                yield self._judged(batch, batch.request, judging)
        checker.finish()

    def evaluate_traces(
        self,
        traces: Traces | Source,
        *,
        target: TargetLike | None = None,
        **unknown: NoReturn,
    ) -> Iterator[CheckScores]:
        """Judge stored traces in any format, a part at a time.

        Args:
            traces: The traces, or what `callmatch.read` takes.
            target: What is a row: each ``turn``, or of each trace the ``response``, ``conversation`` or ``run``; in
                place of the metric's own target.

        Returns:
            An iterator over the scores. A row has the id of its trace, or else its number from 1, and that of its turn
            where there are several. What can't be judged is ``inconclusive``, and a trace that can't be read an
            ``error``.

        Raises:
            OSError: A file that is missing or may not be read.
            InvalidInput: What `callmatch.read` refuses, or a target that the metric can't take.
            InvalidType: Something of the wrong type.

        Examples:
            >>> for scores in ToolCallCheck().evaluate_traces("examples/refund_traces.jsonl", target="turn"):
            ...     len(scores), scores.id[0]
            (5, 'run-1')
        """
        if unknown:
            raise unknown_keyword("evaluate_traces", unknown, ["traces", "target"])
        found = traces if isinstance(traces, Traces) else Traces(traces)
        return self._parts(found, self.target if target is None else self._checked(target), self._judging())

    def _parts(self, traces: Traces, target: Target, judging: Judging | None) -> Iterator[CheckScores]:
        rows = _rows(traces, target)
        while part := list(islice(rows, AT_ONCE)):
            requests = tuple(row.request for row in part)
            yield self._judged(
                self._rules.check_many(requests),
                requests.__getitem__,
                judging,
                judged={place: row.report for place, row in enumerate(part) if row.report is not None},
                ids=[row.id for row in part],
            )

    def _judged(
        self,
        batch: _core.CheckBatch,
        request: Callable[[int], object],
        judging: Judging | None,
        *,
        judged: Mapping[int, Report] | None = None,
        ids: Sequence[int | str] | None = None,
    ) -> CheckScores:
        """The scores of a batch, with what the judge says of those that it is asked about."""
        if judging is None:
            return CheckScores(batch, self.name, self.threshold, judged=judged, ids=ids)
        verdicts = zip(*(batch.column(check) for check in _core.CHECKS), strict=True)
        places = [
            place
            for place, those in enumerate(verdicts)
            if any(verdict is not None and is_asked(verdict, judging.mode) for verdict in those)
        ]
        reports = run(judging.of_all([(batch.row(place), request(place)) for place in places]))
        judged = {**(judged or {}), **dict(zip(places, reports, strict=True))}
        return CheckScores(batch, self.name, self.threshold, judged=judged, ids=ids)

    # -- AIMon's shape

    def detect(self, body: Iterable[Mapping[str, Any]], *, strict: bool = False) -> list[dict[str, Any]]:
        """Judge a list of items as AIMon's ``detect`` does.

        Args:
            body: Items with ``user_query``, ``generated_text``, ``tool_trace``, and perhaps ``available_tools``,
                ``context`` and ``config``: ``{"tool_call_check": {"detector_name": "default", "explain": ...}}``, which
                says for this item whether explanations are written. Other keys are not used.
            strict: Only AIMon's keys in the answer, and labels that are True or False.

        Returns:
            For each item ``{"tool_call_check": {"score": ..., "instructions_list": [...]}}``.

        Raises:
            InvalidInput: An item that can't be read, with the path to it, or an unknown detector.
            InvalidType: Something missing or of the wrong type.

        Examples:
            >>> item = {"user_query": "Hi", "generated_text": "Hello!", "tool_trace": []}
            >>> [answer] = ToolCallCheck().detect([item], strict=True)
            >>> sorted(answer["tool_call_check"]), len(answer["tool_call_check"]["instructions_list"])
            (['instructions_list', 'score'], 4)
        """
        items = list(_each("body", body))
        explains = [self._explain_of(item, f"body[{place}]") for place, item in enumerate(items)]
        answers: list[dict[str, Any]] = [{}] * len(items)
        for explain in dict.fromkeys(explains):
            places = [place for place, own in enumerate(explains) if own == explain]
            requests = tuple({key: items[place][key] for key in REQUEST if key in items[place]} for place in places)
            batch = self._rules_with(explain).check_many(requests)
            scores = self._judged(batch, requests.__getitem__, self._judging(explain))
            for row, (place, error) in enumerate(zip(places, scores.error, strict=True)):
                if error is not None:
                    raise InvalidInput(f"body[{place}]: {error}", f"body[{place}]")
                answer = to_aimon(scores.report(row), strict=strict, threshold=self.threshold)
                answers[place] = {"tool_call_check": answer}
        return answers

    def _explain_of(self, item: object, where: str) -> Explain:
        """Whether explanations are written for an item of AIMon's."""
        if not isinstance(item, Mapping):
            raise InvalidType(f"{where}: expected a mapping, got {type(item).__name__}", where)
        config = item.get("config")
        options = config.get("tool_call_check") if isinstance(config, Mapping) else config
        where = f"{where}.config" if not isinstance(config, Mapping) else f"{where}.config.tool_call_check"
        if options is None:
            return self.explain
        if not isinstance(options, Mapping):
            raise InvalidType(f"{where}: expected a mapping, got {type(options).__name__}", where)
        if unknown := set(options) - {"detector_name", "explain"}:
            raise unknown_key(where, unknown, ["detector_name", "explain"])
        if (detector := options.get("detector_name", "default")) != "default":
            raise InvalidInput(
                f"{where}.{one_of('detector_name', str(detector), ['default'])}", f"{where}.detector_name"
            )
        if options.get("explain") is None:
            return self.explain
        try:
            return cast("Explain", _explain(options["explain"]))
        except CallmatchError as error:
            raise type(error)(f"{where}.explain: {error}", f"{where}.explain") from None

    # -- probabilities

    def calibrate(self, labelled: Iterable[tuple[object, Mapping[str, object]]]) -> Self:
        """Refit the probabilities of rules to labelled requests.

        For each rule that decided it is counted how often the instruction was followed. The probability is that of a
        beta-binomial model: the shipped counts, as if they were at most 20, are the prior, and those counted are added.

        Args:
            labelled: Pairs of a request and its labels: by the id of an instruction ``"followed"``, ``"violated"``,
                True or False. What has no label, or None, is not counted, nor is what no rule decided.

        Returns:
            A new metric with the sums in its `calibration`. To those that this one has already, the counts are added.

        Raises:
            InvalidInput: A request that can't be read, an unknown instruction or label.
            InvalidType: Something of the wrong type.

        Examples:
            >>> request = {
            ...     "user_query": "Email Dana",
            ...     "generated_text": "I've emailed Dana.",
            ...     "tool_trace": [{"tool_name": "send_email", "status": "failed", "request_payload": {"to": "Dana"}}],
            ... }
            >>> check = ToolCallCheck().calibrate([(request, {"status_consistency": "violated"})])
            >>> check.calibration
            {'failure_told_as_success': {'followed': 0.0, 'n': 13.0, 'source': 'shipped counts and 1 labelled'}}
        """
        counts: dict[str, list[int]] = {}
        requests, labels = [], []
        for place, pair in enumerate(_each("labelled", labelled)):
            where = f"labelled[{place}]"
            if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not isinstance(pair[1], Mapping):
                raise InvalidType(f"{where}: expected a request and a mapping of its labels", where)
            requests.append(pair[0])
            labels.append({id: _label(id, label, where) for id, label in pair[1].items()})
        batch = self._rules.check_many(tuple(requests))
        for place, error in enumerate(batch.column("error")):
            if error is not None:
                raise InvalidInput(f"labelled[{place}]: {error}", f"labelled[{place}]")
            if not labels[place]:
                continue
            for instruction in batch.row(place)["instructions_list"]:
                label = labels[place].get(instruction["id"])
                if label is None or instruction["verdict"] not in ("followed", "violated"):
                    continue
                count = counts.setdefault(instruction["rules"][0], [0, 0])
                count[0] += label
                count[1] += 1
        options = {key: getattr(self, key) for key in type(self).model_fields}
        refitted = {rule: self._refitted(rule, *count) for rule, count in sorted(counts.items())}
        return type(self)(**{**options, "calibration": {**self.calibration, **refitted}})

    def _refitted(self, rule: str, followed: int, n: int) -> dict[str, JsonValue]:
        """The counts of a rule with those of labelled data on top."""
        known: Mapping[str, Any] | None = self.calibration.get(rule)
        if known is None:
            known = next(row for row in _core.CHECK_RULES if row["rule"] == rule)
            weight = min(known["n"], MOST_OF_PRIOR) / known["n"] if known["n"] else 0.0
            source = "shipped counts"
        else:
            weight, source = 1.0, str(known.get("source", "counts"))
        return {
            "followed": known["followed"] * weight + followed,
            "n": known["n"] * weight + n,
            "source": f"{source} and {n} labelled",
        }


MOST_OF_PRIOR = 20
"""As so many counts the shipped ones count at most, where labelled ones are added."""


def _recorded(parts: CheckParts) -> Parts:
    """The parts that other metrics take as well."""
    return cast("Parts", {key: value for key, value in parts.items() if key in Parts.__annotations__})


def _each(keyword: str, rows: Iterable[Any]) -> Iterable[Any]:
    if isinstance(rows, (str, bytes, Mapping, Set)) or not isinstance(rows, Iterable):
        raise InvalidType(f"{keyword}: expected a list, got {type(rows).__name__}", keyword)
    return rows


class Row(NamedTuple):
    """A row of traces: its id, and its request; or what is said of it without one."""

    id: int | str
    request: dict[str, Any] | None
    report: Report | None = None


AT_ONCE = 256
"""So many rows of traces are judged at a time."""


def _rows(traces: Traces, target: Target) -> Iterator[Row]:
    """What a target finds in each trace."""
    for place in range(len(traces)):
        try:
            trace = traces[place]
        except InvalidInput as error:
            yield Row(place + 1, None, {"error": str(error), "instructions_list": []})
            continue
        id = place + 1 if trace.id is None else trace.id
        for subject in (subjects := resolve(trace, target)):
            row_id = id if len(subjects) == 1 else f"{id} (turn {subject.index + 1})"
            request = request_of(subject, trace)
            if isinstance(request, str):
                yield Row(row_id, None, {"score": None, "reason": request, "instructions_list": []})
            else:
                yield Row(row_id, request)


LABELS: dict[str, bool] = {"followed": True, "vacuous": True, "violated": False}


def _label(id: object, label: object, where: str) -> bool | None:
    """Whether an instruction was followed; None if the label doesn't say so."""
    if id not in _core.CHECKS:
        raise unknown_key(where, [id], _core.CHECKS)
    if label is None or isinstance(label, bool):
        return label
    if not isinstance(label, str):
        path = f"{where}.{id}"
        raise InvalidType(f"{path}: a label is followed, violated, True or False, not {type(label).__name__}", path)
    if label == "undecided":
        return None
    if label not in LABELS:
        raise InvalidInput(f"{where}.{id}: {one_of('a label', label, LABELS)}", f"{where}.{id}")
    return LABELS[label]
