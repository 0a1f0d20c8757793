"""Code metrics: a function that judges."""

from __future__ import annotations

import inspect
import math
import numbers
import sys
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import cached_property, partial
from importlib import import_module
from operator import attrgetter
from typing import Annotated, Any, ClassVar, overload

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator

from callmatch import _core
from callmatch.concurrency import at_most, run, within
from callmatch.errors import ENDING, CallmatchError, InvalidInput, InvalidType, NotRecorded, one_of, raised, said
from callmatch.metrics.metric import Bar, Case, EachMetric, Operator, Outcome
from callmatch.results import MetricResult
from callmatch.schema import checked
from callmatch.targets import NOUNS, On, Subject
from callmatch.trace import SPAN_KINDS, Span

__all__ = ["CodeMetric", "code_metric"]

READABLE = ("input", "output", "expected_output", "context", "tool_calls", "trace", "span", "turn")
"""What the parameters of a function can ask for, by their names."""

RECORDED = ("input", "output", "context", "tool_calls")
"""Those that may not have been recorded; then they are None, and a function that needs them isn't asked."""


def _tool_calls(subject: Subject) -> tuple[Span, ...] | None:
    return subject.trace.tool_calls if subject.trace.tool_calls_reported else None


TRUE = Outcome(1.0, "passed", "returned True")
FALSE = Outcome(0.0, "failed", "returned False")

MOST_AT_ONCE = 8
"""How many calls of an asynchronous function run at the same time."""


def _function(given: object) -> object:
    """A function, or one by its ``module:name``."""
    if isinstance(given, CodeMetric):
        return given.function
    if not isinstance(given, str):
        return given
    module, separator, name = given.partition(":")
    if not (separator and module and name):
        raise InvalidInput(f'a function is given as "module:name", not {given!r}', "function")
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except ENDING:
        raise
    except BaseException as error:  # importing runs any code
        raise InvalidInput(f"can't load {given!r}: {said(error)}", "function") from error
    return found.function if isinstance(found, CodeMetric) else found


def _path(function: Callable[..., Any]) -> str:
    return f"{getattr(function, '__module__', None)}:{getattr(function, '__qualname__', None)}"


class CodeMetric(EachMetric):
    """A metric that asks a function. It is made by the decorator `code_metric`, and can be called as the function.

    Attributes:
        function: What judges; in a config ``module:name``.
        threshold: What a number is held against.
        operator: How: ``>=``, ``>``, ``<=``, ``<``, ``=`` or ``!=``.
        passing_categories: Which categories (texts) pass.
    """

    type: ClassVar[str] = "code_metric"

    function: Annotated[Callable[..., Any], BeforeValidator(checked(_function)), PlainSerializer(_path)]
    threshold: float | None = Field(default=None, strict=True, allow_inf_nan=False)
    operator: Operator = ">="
    passing_categories: Annotated[tuple[str, ...], Field(min_length=1)] | None = None

    @model_validator(mode="before")
    @classmethod
    @checked
    def _defaults(cls, options: Any) -> Any:
        """The name is the function's, and the target one that it can take."""
        if not isinstance(options, Mapping) or "function" not in options:
            return options
        function: Any = _function(options["function"])
        if not callable(function):
            raise InvalidType(f"function is a function, not {type(function).__name__}", "function")
        name = getattr(function, "__name__", type(function).__name__)
        options = {"name": name, **options, "function": function}
        if "target" not in options:
            takes = _takes(*_reads(function, options["name"]))
            options["target"] = next(on for on in ("response", "run", "turn", "tool_call") if on in takes)
        return options

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return self.function(*args, **kwargs)

    @property
    def takes(self) -> tuple[On, ...]:
        """The targets that the metric can take, by their ``on``: they follow from the parameters of the function.

        ``span``: spans; ``turn``: turns; a required ``expected_output``: the response; ``input`` or ``output``: the
        response, turns and spans; else turns, the conversation and the run.
        """
        return _takes(*self._reads)

    @cached_property
    def _reads(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return _reads(self.function, self.name)

    @cached_property
    def _arguments(self) -> tuple[tuple[str, Callable[[Subject], Any]], ...]:
        """What is read of each subject."""
        names = [name for names in self._reads for name in names if name != "expected_output"]
        getters: dict[str, Callable[[Subject], Any]] = {
            "tool_calls": _tool_calls,
            "context": attrgetter("trace.context"),
        }
        return tuple((name, getters.get(name) or attrgetter(name)) for name in names)

    @cached_property
    def _needs(self) -> tuple[str, ...]:
        return tuple(name for name in self._reads[0] if name in RECORDED)

    @property
    def _bar(self) -> Bar | None:
        return None if self.threshold is None else Bar(self.operator, self.threshold)

    def _not_in_config(self) -> set[str]:
        """A function that can't be found by its name, such as one inside another function."""
        found: Any = sys.modules.get(getattr(self.function, "__module__", ""))
        for part in getattr(self.function, "__qualname__", "").split("."):
            found = getattr(found, part, None)
        own = found is self.function or (isinstance(found, CodeMetric) and found.function is self.function)
        return set() if own else {"function"}

    @cached_property
    def _is_async(self) -> bool:
        call = getattr(self.function, "__call__", None)  # noqa: B004 - of an object, not whether there is one
        return inspect.iscoroutinefunction(self.function) or inspect.iscoroutinefunction(call)

    def _outcomes(self, subjects: Sequence[Subject], case: Case) -> list[Outcome]:
        if self._is_async:
            return run(self._outcomes_async(subjects, case))
        if (missing := self._missing(case)) is not None:
            return [missing] * len(subjects)
        function, arguments, needs, read = self._held_to(case, subjects), self._arguments, self._needs, self._read
        outcomes = []
        for subject in subjects:
            given = {}
            for name, get in arguments:
                value = given[name] = get(subject)
                if value is None and name in needs:
                    outcomes.append(_not_recorded(name))
                    break
            else:
                try:
                    outcomes.append(read(function(**given)))
                except ENDING:
                    raise
                except BaseException as error:
                    outcomes.append(_crash(error))
        return outcomes

    async def _outcomes_async(self, subjects: Sequence[Subject], case: Case) -> list[Outcome]:
        if not self._is_async:
            return await super()._outcomes_async(subjects, case)
        from asyncio import CancelledError  # noqa: PLC0415 - it takes long to import

        if (missing := self._missing(case)) is not None:
            return [missing] * len(subjects)
        function = self._held_to(case, subjects)

        async def one(subject: Subject) -> Outcome:
            given = {name: get(subject) for name, get in self._arguments}
            if missing := next((name for name in self._needs if given[name] is None), None):
                return _not_recorded(missing)
            try:
                return self._read(await within(None, function(**given)))
            except (*ENDING, CancelledError):
                raise
            except BaseException as error:
                return _crash(error)

        return await at_most(MOST_AT_ONCE, [lambda subject=subject: one(subject) for subject in subjects])  # type: ignore[misc]

    def _held_to(self, case: Case, subjects: Sequence[Subject]) -> Callable[..., Any]:
        """The function, with what is the same for all subjects."""
        if not any("expected_output" in names for names in self._reads):
            return self.function
        # It describes the whole response, and not a turn or a span.
        is_whole = any(subject.on not in NOUNS for subject in subjects)
        return partial(self.function, expected_output=case.expected_output if is_whole else None)

    def _missing(self, case: Case) -> Outcome | None:
        if case.expected_output is None and "expected_output" in self._reads[0]:
            return Outcome(None, "not_applicable", "It reads expected_output, and none was given.")
        return None

    def _read(self, value: Any) -> Outcome:
        """What a function says with what it returns."""
        if value is True:
            return TRUE
        if value is False:
            return FALSE
        if isinstance(value, MetricResult):
            more = {"spans": value.spans} if value.spans else {}
            return _with_details(Outcome(value.score, value.verdict, value.reason), {**value.details, **more})
        if isinstance(value, Mapping):
            return self._read_mapping(value)
        if isinstance(value, str):
            return self._read_category(value)
        if isinstance(value, (numbers.Real, Decimal)):
            try:
                return self._read_number(float(value))
            except OverflowError:
                return _wrong("returned a number that is too large for a score")
        # A bool of numpy is none of Python's.
        if not isinstance(value, Sequence) and hasattr(value, "item"):
            return self._read(value.item())
        if inspect.isawaitable(value):
            return self._read(run(within(None, value)))
        got = "nothing, so a score is missing" if value is None else f"a {type(value).__name__}"
        return _wrong(f"returned {got}; expected a bool, a number, a category, a dict with a score, or a MetricResult")

    def _read_number(self, score: float) -> Outcome:
        if not math.isfinite(score):
            return _wrong(f"returned {score}, which is no score")
        if (bar := self._bar) is None:
            return _wrong(f"returned the number {score:g}, and has no threshold to hold it against")
        return Outcome(score, "passed" if bar.holds(score) else "failed", f"returned {score:g} ({bar} is needed)")

    def _read_category(self, category: str) -> Outcome:
        if self.passing_categories is None:
            return _wrong(f"returned the category {category!r}, and has no passing_categories to hold it against")
        passed = category in self.passing_categories
        return Outcome(category, "passed" if passed else "failed", f"returned {category!r}")

    def _read_mapping(self, value: Mapping[Any, Any]) -> Outcome:
        unknown = sorted(str(key) for key in value if key not in MAPPING_KEYS)
        if unknown:
            return _wrong(f"returned a dict whose keys are wrong: {one_of('a key', unknown[0], MAPPING_KEYS)}")
        score = value.get("score")
        if score is None:
            return _wrong("returned a dict without a score")
        if isinstance(score, (Mapping, MetricResult)):
            return _wrong(f"returned a dict whose score is a {type(score).__name__}")
        passed = value.get("passed")
        if passed is not None and not isinstance(passed, bool):
            return _wrong(f"returned a dict whose passed is {passed!r}, not True or False")
        if isinstance(score, bool) and passed == (not score):
            return _wrong(f"returned a dict whose score is {score} and whose passed is {passed}")
        read = self._read(score)
        if passed is not None:
            # It decides in place of a threshold or categories, but what is no score stays none.
            score = read.score if read.score is not None else _plain_score(score)
            if score is None:
                return read
            read = Outcome(score, "passed" if passed else "failed", read.reason if read.score is not None else "")
        reason, details = value.get("reason"), value.get("details") or {}
        if not isinstance(details, Mapping):
            return _wrong(f"returned a dict whose details are a {type(details).__name__}")
        why = str(reason) if reason is not None and read.verdict != "error" else read.reason
        return _with_details(read._replace(reason=why or f"returned passed={passed}"), details)


MAPPING_KEYS = ("score", "passed", "reason", "details")


def _plain_score(score: object) -> float | str | None:
    if isinstance(score, str):
        return score
    if isinstance(score, (numbers.Real, Decimal)) and math.isfinite(score):
        return float(score)
    return None


def _with_details(outcome: Outcome, details: Mapping[Any, Any]) -> Outcome:
    """The outcome with its details, which a result has to be able to write."""
    try:
        return outcome._replace(details=_core.read_value(dict(details), "details"))
    except CallmatchError as error:
        return _wrong(f"returned what can't be written: {error}")


def _wrong(message: str) -> Outcome:
    return Outcome(None, "error", message)


def _not_recorded(name: str) -> Outcome:
    return Outcome(None, "inconclusive", f"It reads {name}, which was not recorded.")


def _crash(error: BaseException) -> Outcome:
    if isinstance(error, NotRecorded):
        return _not_recorded(error.path)
    return Outcome(None, "error", f"raised {raised(error)}")


def _reads(function: Callable[..., Any], name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Which of what can be read a function asks for: what it needs, and what it can do without."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError) as error:
        raise InvalidType(f"can't tell the parameters of {name}: {error}", "function") from None
    required: list[str] = []
    optional: list[str] = []
    for parameter in parameters:
        has_default = parameter.default is not parameter.empty
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.name not in READABLE:
            if has_default:
                continue
            raise InvalidInput(one_of(f"a parameter of the code metric {name}", parameter.name, READABLE), "function")
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise InvalidInput(f"the parameter {parameter.name} of {name} can't be given by its name", "function")
        (optional if has_default else required).append(parameter.name)
    if "expected_output" in required and {"span", "turn"} & {*required}:
        message = f"{name} needs a {'span' if 'span' in required else 'turn'} and the expected_output, which has none"
        raise InvalidInput(f"{message}: it is that of the whole response", "function")
    if not required and not optional:
        words = ", ".join(READABLE)
        raise InvalidInput(f"the code metric {name} reads nothing; its parameters are of {words}", "function")
    return tuple(required), tuple(optional)


def _takes(required: tuple[str, ...], optional: tuple[str, ...]) -> tuple[On, ...]:
    reads = {*required, *optional}
    if "span" in required:
        return SPAN_KINDS
    if "turn" in required:
        return ("turn",)
    # A turn or a span isn't held to it.
    if "expected_output" in required:
        return ("response",)
    if reads & {"input", "output", "span", "expected_output"}:
        return ("response", "turn", *SPAN_KINDS)
    return ("turn", "conversation", "run")


@overload
def code_metric(function: Callable[..., Any], /) -> CodeMetric: ...


@overload
def code_metric(**options: Any) -> Callable[[Callable[..., Any]], CodeMetric]: ...


def code_metric(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Make a metric out of a function, which may be asynchronous.

    The function asks by the names of its parameters for what it reads: ``input``, ``output``, ``expected_output``,
    ``context``, ``tool_calls``, ``trace``, ``span``, ``turn``. They decide which targets the metric can take
    (`CodeMetric.takes`); without a target it judges the response, or else the run. What it reads is None if it was not
    recorded; but where the parameter has no default, the function isn't asked then, and the result is ``inconclusive``
    (``not_applicable`` without an ``expected_output``).

    It returns a bool; a number, held against ``threshold``; a category, which passes if it is one of
    ``passing_categories``; a dict with ``score`` and perhaps ``passed``, ``reason``, ``details``; or a `MetricResult`.
    Anything else, NaN, nothing, and an exception are an ``error``, and never a score of 0.

    Args:
        function: What judges.
        **options: Those of `CodeMetric`: ``name`` (the function's), ``target``, ``threshold``, ``operator``,
            ``passing_categories``, ``max_spans``.

    Raises:
        InvalidInput: A parameter that can't be asked for, or a target that the metric can't take.
        InvalidType: An unknown option.

    Examples:
        >>> @code_metric
        ... def no_repeats(trace):
        ...     calls = [(call.name, repr(call.arguments)) for call in trace.tool_calls]
        ...     return len(calls) == len(set(calls))
        >>> no_repeats.evaluate(tool_calls=[{"name": "pay"}, {"name": "pay"}]).verdict
        'failed'
        >>> @code_metric(target={"on": "tool_call", "aggregate": "any"}, threshold=5)
        ... def length(output):
        ...     return len(output)
        >>> length.evaluate(tool_calls=[{"name": "a", "output": "ok"}, {"name": "b", "output": "done it"}]).reason
        '1 of 2 tool calls passed'
    """
    if function is not None:
        return CodeMetric(function=function, **options)
    return lambda function: CodeMetric(function=function, **options)
