"""Tests and sets of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Annotated, Any, ClassVar

from pydantic import Field, JsonValue, PlainSerializer, field_validator, model_validator
from typing_extensions import Self

from callmatch import _core
from callmatch.concurrency import at_most, run
from callmatch.display import digits
from callmatch.documents import format_of, load, place_told, save
from callmatch.errors import InvalidInput, path_of
from callmatch.metrics.metric import KINDS, Metric
from callmatch.metrics.trajectory import ToolCallTrajectory
from callmatch.response_mapping import ResponseMapping
from callmatch.schema import Schema
from callmatch.testsets.agents import Agent, source_of
from callmatch.testsets.reading import with_parts
from callmatch.testsets.results import TestResults
from callmatch.testsets.running import Run, progress_of

__all__ = ["Test", "TestSet"]

SavedMetric = Annotated[Metric, PlainSerializer(lambda metric: metric.config)]


class Test(Schema):
    """What an agent is given, and what it is held to.

    Attributes:
        id: What it is called; in a `TestSet` one without is called ``test-1``, ``test-2`` … by its place.
        input: What the user says. A list of texts is a conversation: the user's messages, said one after the other.
        expected_tool_calls: The calls that should be made, over the whole conversation, in any shape that a tool call
            has. ``[]`` expects that none is; None: nothing is expected.
        expected_output: What a right answer would be.
        goal: What the user wants to reach.
        instructions: What the agent should do.
        restrictions: What it must not do.
        metrics: Those that judge it, in place of those of its set; each is given as such or by its config.
        attributes: All else.

    Raises:
        InvalidInput: A value that can't be, such as an expected call whose arguments are no object.
        InvalidType: Something of the wrong type, or an unknown keyword.

    Examples:
        >>> test = Test(id="late-order", input="Order 42 is late, I want my money back.",
        ...             expected_tool_calls=[{"name": "issue_refund", "arguments": {"order_id": 42}}])
        >>> Test(id="late-order", expected_tool_calls=[{"name": "issue_refund", "arguments": "order 42"}])
        Traceback (most recent call last):
        ...
        callmatch.errors.InvalidInput: expected_tool_calls[0].arguments: expected an object or JSON text of one
    """

    __test__: ClassVar[bool] = False  # for pytest, to which a class of this name is one of tests

    id: str | None = Field(default=None, min_length=1)
    input: JsonValue = None
    expected_tool_calls: list[JsonValue] | None = None
    expected_output: str | None = None
    goal: str | None = None
    instructions: str | None = None
    restrictions: str | None = None
    metrics: tuple[SavedMetric, ...] | None = None
    attributes: dict[str, JsonValue] = Field(default_factory=dict)

    @classmethod
    def read(cls, data: object, where: str = "", **objects: Any) -> Self:
        """Make one out of plain data, as JSON or YAML holds it.

        Args:
            data: The fields of the test.
            where: How errors call the place of the data.
            **objects: What no text can hold of its metrics, such as the ``model`` of judges.

        Raises:
            InvalidInput: An unknown key, a value that can't be; with the path to it.
            InvalidType: Something of the wrong type.
        """
        return super().read(with_parts(data, where, **objects), where)

    @model_validator(mode="before")
    @classmethod
    def _parts_read(cls, data: Any) -> Any:
        return with_parts(data)

    @field_validator("id", mode="before")
    @classmethod
    def _number_as_id(cls, id: object) -> object:
        return digits(id) if isinstance(id, int) and not isinstance(id, bool) else id

    @property
    def inputs(self) -> list[JsonValue]:
        """What the user says, message by message; empty without an input."""
        if self.input is None or self.input == []:
            return []
        if isinstance(self.input, list) and all(isinstance(message, str) for message in self.input):
            return self.input
        return [self.input]


class TestSet(Schema):
    """Tests, and the metrics that judge them.

    Attributes:
        name: What it is called.
        tests: In their order. Ids are given to those without one.
        metrics: Those for tests that have none of their own; by default a `ToolCallTrajectory`.

    Raises:
        InvalidInput: An id that two tests have, or a value that can't be, with the path to it.
        InvalidType: Something of the wrong type.

    Examples:
        >>> tests = TestSet(tests=[Test(input="Where is order 42?", expected_tool_calls=[{"name": "lookup_order"}])])
        >>> results = tests.run(lambda message: {"output": "On its way.", "tool_calls": [{"name": "lookup_order"}]})
        >>> results["test-1"].verdict
        'passed'
        >>> print(tests.run(lambda message: "On its way."))  # doctest: +NORMALIZE_WHITESPACE
        test-1  inconclusive  tool_call_trajectory: The tool calls were not reported, so they can't be judged.
        1 test: 1 inconclusive
    """

    __test__: ClassVar[bool] = False

    name: str | None = None
    tests: tuple[Test, ...]
    metrics: tuple[SavedMetric, ...] | None = None

    @classmethod
    def read(cls, data: object, where: str = "", **objects: Any) -> Self:
        """Make one out of plain data: a mapping of the fields, or a list of tests. Otherwise as `Test.read`."""
        return super().read(_with_tests(data, where, **objects), where)

    @model_validator(mode="before")
    @classmethod
    def _tests_read(cls, data: Any) -> Any:
        return _with_tests(data)

    @classmethod
    def load(cls, path: str | os.PathLike[str], **objects: Any) -> Self:
        """Read a file: the fields of a set or a list of tests as JSON or YAML, or a test on each line of a ``.jsonl``.

        Args:
            path: The file.
            **objects: What no text can hold of its metrics, such as the ``model`` of judges.

        Raises:
            OSError: A file that is missing or may not be read.
            InvalidInput: What can't be, with the file, the line and the path to it.
            InvalidType: Something of the wrong type.
        """
        data = load(path)
        with place_told(path, root="tests" if isinstance(data, list) else ""):
            return cls.read(data, **objects)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file that `load` reads.

        Raises:
            OSError: A file that can't be written.
            InvalidInput: Another ending; a set with a name or metrics and a ``.jsonl``, which has no place for them; a
                metric that would be missing where the file is read, such as one of a function inside another one.
        """
        for where, metric in self._metrics():
            if why := _can_not_be_read(metric):
                name = _core.printable(metric.name)
                raise InvalidInput(f"{where}: a file can't hold the metric {name}: {why}", where)
        data = self.model_dump(mode="json", exclude_defaults=True)
        tests = data.pop("tests")
        if format_of(path) != "jsonl":
            save(path, {**data, "tests": tests})
        elif data:
            held = " and ".join(data)
            raise InvalidInput(f"{path}: a .jsonl holds tests alone, not the {held} of their set; use .json or .yaml")
        else:
            save(path, tests)

    def _metrics(self) -> Iterator[tuple[str, Metric]]:
        """All metrics, with their places."""
        tests = ((f"tests[{place}].metrics", test.metrics) for place, test in enumerate(self.tests))
        for where, metrics in (("metrics", self.metrics), *tests):
            for place, metric in enumerate(metrics or ()):
                yield f"{where}[{place}]", metric

    def __iter__(self) -> Iterator[Test]:  # type: ignore[override]  # not the fields, as of other models
        return iter(self.tests)

    def __len__(self) -> int:
        return len(self.tests)

    def run(
        self,
        agent: Agent,
        *,
        max_concurrency: int = 4,
        progress: bool | None = None,
        response_mapping: ResponseMapping | Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> TestResults:
        """Run all tests and judge what the agent did.

        Args:
            agent: Something to call, which may be asynchronous, or recorded traces.

                A callable gets the input as its first argument. If it has parameters of these names it also gets the
                ``conversation_id`` that its last answer gave, the ``messages`` so far (``role`` and ``content``), and
                the ``test``. It returns the output as a text; or a dict with some of ``output``, ``tool_calls``,
                ``context``, ``spans``, ``conversation_id`` and ``messages``; or a list of chat messages; or a `Trace`.
                For a conversation it is called once for each message of the user.

                Recorded traces are a `Traces`, a mapping from the ids of tests, or traces whose `test_id` (or else
                `id`) is that of a test.
            max_concurrency: So many tests run at the same time.
            progress: Whether to show a progress bar, on standard error; by default if that is a terminal.
            response_mapping: Where in what the agent returns the parts are, if it has a shape of its own.
            timeout: So many seconds an answer may take.

        Returns:
            A result for each test, in their order. What goes wrong with one, in the agent or in a metric, is the
            ``error`` of that one, and the others go on; its traceback is logged at the level INFO. Only a
            `KeyboardInterrupt` (or `GeneratorExit`) ends the run.

        Raises:
            InvalidInput: Options that can't be.
            InvalidType: Something that can't be tested.
        """
        return run(
            self.run_async(
                agent,
                max_concurrency=max_concurrency,
                progress=progress,
                response_mapping=response_mapping,
                timeout=timeout,
            )
        )

    async def run_async(
        self,
        agent: Agent,
        *,
        max_concurrency: int = 4,
        progress: bool | None = None,
        response_mapping: ResponseMapping | Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> TestResults:
        """Run all tests as `run` does, without blocking."""
        if isinstance(max_concurrency, bool) or not isinstance(max_concurrency, int) or max_concurrency < 1:
            raise InvalidInput(f"max_concurrency is a number from 1 on, not {max_concurrency!r}", "max_concurrency")
        is_number = isinstance(timeout, (int, float)) and not isinstance(timeout, bool)
        if timeout is not None and not (is_number and timeout > 0):
            raise InvalidInput(f"timeout is a number of seconds above 0, not {timeout!r}", "timeout")
        if response_mapping is not None:
            response_mapping = ResponseMapping.read(response_mapping, "response_mapping")
        source = source_of(agent, response_mapping, timeout)
        default = (ToolCallTrajectory(),) if self.metrics is None else self.metrics
        runs = [Run(test, source, default if test.metrics is None else test.metrics) for test in self.tests]
        with progress_of(len(runs), progress) as report:
            results = await at_most(max_concurrency, [partial(run.result, report) for run in runs])
        return TestResults(name=self.name, results=tuple(results))


def _with_tests(data: Any, where: str = "", **objects: Any) -> Any:
    """The data of a set with all that is inside it read."""
    if isinstance(data, (list, tuple)):
        data = {"tests": data}
    data = with_parts(data, where, **objects)
    if isinstance(data, Mapping) and isinstance(data.get("tests"), (list, tuple)):
        tests = {path_of(where, ["tests", place]): test for place, test in enumerate(data["tests"])}
        read = {place: Test.read(test, place, **objects) for place, test in tests.items()}
        return {**data, "tests": tuple(_with_ids(read))}
    return data


def _can_not_be_read(metric: Metric) -> str | None:
    """Why a file that holds the config of a metric would not be read as this metric; None if it would."""
    kind = type(metric)
    if KINDS.get(getattr(kind, "type", "")) is not kind:
        return f"no type of a config stands for {kind.__name__}; give the class a type of its own"
    config = metric.config
    # What can be left out may be given where the file is read, such as the model of a judge.
    if any(field.is_required() and name not in config for name, field in kind.model_fields.items()):
        return "its function can't be found by a name; define it with def, at the top of a module that can be imported"
    if str(config.get("function")).startswith("__main__:"):
        return "its function is in __main__, which is another module where the file is read; move it to one of its own"
    return None


def _with_ids(tests: Mapping[str, Test]) -> Iterator[Test]:
    """Tests by their places, each with an id of its own."""
    places: dict[str, str] = {}
    for number, (place, test) in enumerate(tests.items(), 1):
        id = f"test-{number}" if test.id is None else test.id
        if id in places:
            raise InvalidInput(_core.printable(f"{place}.id: {id!r} is the id of {places[id]} too"), f"{place}.id")
        places[id] = place
        yield test if test.id is not None else test.model_copy(update={"id": id})
