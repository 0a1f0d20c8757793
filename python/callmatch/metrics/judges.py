"""Metrics that ask a model."""

from __future__ import annotations

import dataclasses
import sys
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, model_validator
from typing_extensions import Self

from callmatch.concurrency import at_most, run
from callmatch.errors import InvalidInput, InvalidType, one_of, said
from callmatch.metrics.metric import Bar, Case, EachMetric, Operator, Outcome
from callmatch.metrics.models import ModelLike, NoAnswer, ask, model_of
from callmatch.metrics.prompt import Prompts
from callmatch.schema import checked
from callmatch.targets import NOUNS, On, Subject, Target
from callmatch.trace import SPAN_KINDS

__all__ = ["CategoricalJudge", "ConversationalJudge", "NumericJudge"]


def _said(text: str) -> str:
    if not text.strip():
        raise InvalidInput("evaluation_prompt says nothing; it tells what a judge goes by", "evaluation_prompt")
    return text


def _listed(words: object) -> object:
    # A set has no order, so its prompts would not be the same every time.
    if not isinstance(words, (list, tuple)):
        raise InvalidType(f"expected a list of categories, got {type(words).__name__}")
    return words


Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Count = Annotated[int, Field(strict=True, ge=1)]
Categories = Annotated[tuple[str, ...], BeforeValidator(checked(_listed))]


def _is_number(value: object) -> bool:
    is_one = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_one and -sys.float_info.max <= value <= sys.float_info.max  # type: ignore[operator]


REASON = {"type": "string", "description": "Why, in one or two sentences: what in the data decides it."}


class Judge(EachMetric):
    """A metric that asks a model.

    Attributes:
        evaluation_prompt: What to judge by.
        model: What is asked: an object with ``generate(prompt, schema)``; a function of the prompt, or of the prompt
            and the JSON Schema of the answer; or a ``provider/name``, by `LiteLLM`. Objects and functions may be
            asynchronous, and answer with a dict or with text that holds a JSON object. A judge can be made without a
            model, but can't judge then. Of models only a ``provider/name`` is part of the config.
        needs_reference: Whether it compares with an expected output. Then it takes the response alone.
        attempts: How often a model is asked that gives no answer that can be used.
        timeout: How many seconds each time. An asynchronous model that blocks its event loop holds up the others in it,
            and can't be timed out; a model that isn't asynchronous may block.
        max_concurrency: How many turns or spans are judged at the same time.
    """

    evaluation_prompt: Annotated[str, AfterValidator(_said)] = Field(examples=["The answer is polite."])
    model: Annotated[ModelLike | None, PlainValidator(checked(model_of))] = None
    needs_reference: Annotated[bool, Field(strict=True)] = False
    attempts: Count = 3
    timeout: Annotated[float, Field(strict=True, allow_inf_nan=False, gt=0)] = 60.0
    max_concurrency: Count = 8

    @property
    def takes(self) -> tuple[On, ...]:
        """The targets that the judge can take, by their ``on``."""
        return ("response",) if self.needs_reference else ("response", "turn", *SPAN_KINDS)

    def _not_in_config(self) -> set[str]:
        return set() if isinstance(self.model, str) else {"model"}

    @abstractmethod
    def _answer(self) -> tuple[str, dict[str, Any]]:
        """The name of the field of an answer that decides, and its JSON Schema."""

    @abstractmethod
    def _passes(self, answer: Any) -> bool: ...

    @abstractmethod
    def _means(self) -> dict[str, Any]:
        """What the score is held against."""

    def _outcomes(self, subjects: Sequence[Subject], case: Case) -> list[Outcome]:
        return run(self._outcomes_async(subjects, case))

    async def _outcomes_async(self, subjects: Sequence[Subject], case: Case) -> list[Outcome]:
        if self.model is None:
            how = 'give model="provider/name", an object with generate(prompt, schema), or a function of the prompt'
            raise InvalidInput(f"{self.name} has no model to ask: {how}", "model")
        name, rule = self._answer()
        schema = {
            "type": "object",
            "properties": {"reason": REASON, name: rule},
            "required": ["reason", name],
            "additionalProperties": False,
        }
        prompts = Prompts(self.evaluation_prompt, case, schema)
        outcome = partial(self._outcome, self.model, prompts, name, schema)
        return await at_most(self.max_concurrency, [partial(outcome, subject) for subject in subjects])

    async def _outcome(
        self, model: ModelLike, prompts: Prompts, name: str, schema: dict[str, Any], subject: Subject
    ) -> Outcome:
        if self.needs_reference and prompts.case.expected_output is None:
            return Outcome(None, "not_applicable", "It compares with an expected_output, and none was given.")
        if (missing := _missing(subject)) is not None:
            return Outcome(None, "inconclusive", f"{missing} was not recorded, so it can't be judged.", self._means())
        try:
            prompt = prompts.of(subject)
            answer = await ask(model, prompt, schema, attempts=self.attempts, timeout=self.timeout)
        except NoAnswer as error:
            return Outcome(None, "error", f"No judgement: {error}", self._means())
        except Exception as error:  # data that can't be written
            return Outcome(None, "error", f"No judgement: {said(error)}", self._means())
        passed = self._passes(answer[name])
        reason = answer["reason"].strip() or f"The model gave the {name} {answer[name]} without a reason."
        return Outcome(answer[name], "passed" if passed else "failed", reason, self._means())


def _missing(subject: Subject) -> str | None:
    """What would be needed to judge it, and was not recorded."""
    if subject.on == "conversation":
        return None if subject.trace.messages else "The conversation"
    if subject.output is not None:
        return None
    which = f" of {NOUNS[subject.on][0]} {subject.index + 1}" if subject.on in NOUNS else ""
    return f"The output{which}"


class NumericJudge(Judge):
    """Asks a model for a number: how far something holds.

    The options that are not listed here, such as ``model`` and ``evaluation_prompt``, are those of every `Judge`.

    Attributes:
        min_score: The lowest score; it holds not at all.
        max_score: The highest score; it holds fully.
        threshold: What a score is held against, from `min_score` to `max_score`; without one it is `max_score`.
        operator: How: ``>=``, ``>``, ``<=``, ``<``, ``=`` or ``!=``.

    The score is None, and the verdict ``error``, if the model gives none that can be used: an outage, a time-out, a
    refusal, an answer that is no JSON object of the schema, a number outside of the range. The verdict is
    ``inconclusive`` if the output of what is judged was not recorded, and ``not_applicable`` without the expected
    output that the judge needs.

    Raises:
        InvalidInput: A range that is empty, a threshold outside of it or that no score can pass, a prompt that says
            nothing, a target that the judge can't take.
        InvalidType: Something of the wrong type, or an unknown keyword.

    Examples:
        >>> judge = NumericJudge(
        ...     name="refund_policy",
        ...     evaluation_prompt="The refund matches the policy: at most one refund per order.",
        ...     model=lambda prompt: {"reason": "It is the first refund of order 42.", "score": 1},
        ... )
        >>> result = judge.evaluate(
        ...     input="Refund order 42",
        ...     output="Refunded.",
        ...     tool_calls=[{"name": "issue_refund", "arguments": {"order": 42}, "output": "ok"}],
        ...     target={"on": "tool_call", "name": "issue_refund"},
        ... )
        >>> result.verdict, result.reason, result.spans[0]["reason"]
        ('passed', '1 of 1 tool calls passed', 'It is the first refund of order 42.')
    """

    type: ClassVar[str] = "numeric_judge"

    min_score: Number = 0.0
    max_score: Number = 1.0
    threshold: Number = 1.0
    operator: Operator = ">="

    @model_validator(mode="before")
    @classmethod
    def _threshold_is_max(cls, options: Any) -> Any:
        if not isinstance(options, Mapping) or options.get("threshold") is not None:
            return options
        options = {key: value for key, value in options.items() if key != "threshold"}
        # What is no number is a fault of its own, and not of the threshold as well.
        return {**options, "threshold": options["max_score"]} if _is_number(options.get("max_score")) else options

    @model_validator(mode="after")
    def _can_be_passed(self) -> Self:
        low, high = self.min_score, self.max_score
        if not low < high:
            raise InvalidInput(f"max_score is above min_score, {low:g}, and not {high:g}", "max_score")
        if not low <= self.threshold <= high:
            raise InvalidInput(f"threshold is from {low:g} to {high:g}, not {self.threshold:g}", "threshold")
        if (self.operator, self.threshold) in ((">", high), ("<", low)):
            raise InvalidInput(f"no score from {low:g} to {high:g} is {self._bar}", "threshold")
        return self

    @property
    def _bar(self) -> Bar:
        return Bar(self.operator, self.threshold)

    def _answer(self) -> tuple[str, dict[str, Any]]:
        low, high = self.min_score, self.max_score
        says = f"How far it holds: a number from {low:g} (not at all) to {high:g} (fully)."
        return "score", {"type": "number", "minimum": low, "maximum": high, "description": says}

    def _passes(self, answer: float) -> bool:
        return self._bar.holds(answer)

    def _means(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("min_score", "max_score", "threshold", "operator")}


class CategoricalJudge(Judge):
    """Asks a model for one of several categories, which is the score.

    The options that are not listed here, such as ``model`` and ``evaluation_prompt``, are those of every `Judge`.

    Attributes:
        categories: What the model chooses from; at least two.
        passing_categories: Those that pass; at least one.

    When there is no score, and what the verdict is then: as with `NumericJudge`.

    Raises:
        InvalidInput: Too few categories, one that is empty or given twice, one that passes and can't be chosen, a
            prompt that says nothing, a target that the judge can't take.
        InvalidType: Something of the wrong type, or an unknown keyword.

    Examples:
        >>> judge = CategoricalJudge(
        ...     name="tone",
        ...     evaluation_prompt="What is the tone of the answer?",
        ...     categories=["friendly", "neutral", "rude"],
        ...     passing_categories=["friendly", "neutral"],
        ...     model=lambda prompt: '{"reason": "It calls the user names.", "category": "rude"}',
        ... )
        >>> result = judge.evaluate(input="Hello", output="What now, dimwit?")
        >>> result.score, result.verdict
        ('rude', 'failed')
    """

    type: ClassVar[str] = "categorical_judge"

    categories: Categories = Field(examples=[["polite", "rude"]])
    passing_categories: Categories = Field(examples=[["polite"]])

    @model_validator(mode="after")
    def _can_be_told_apart(self) -> Self:
        for key, least in (("categories", 2), ("passing_categories", 1)):
            words = getattr(self, key)
            if len(words) < least:
                raise InvalidInput(f"{key}: expected at least {least}, got {len(words)}", key)
            for place, word in enumerate(words):
                if not word.strip():
                    raise InvalidInput(f"{key}[{place}] is empty", key)
                if word in words[:place]:
                    raise InvalidInput(f"{key}[{place}]: {word!r} is given twice", key)
        for word in self.passing_categories:
            if word not in self.categories:
                raise InvalidInput(one_of("a passing category", word, self.categories), "passing_categories")
        return self

    def _answer(self) -> tuple[str, dict[str, Any]]:
        return "category", {"type": "string", "enum": list(self.categories), "description": "What it is."}

    def _passes(self, answer: str) -> bool:
        return answer in self.passing_categories

    def _means(self) -> dict[str, Any]:
        return {"categories": list(self.categories), "passing_categories": list(self.passing_categories)}


class ConversationalJudge(NumericJudge):
    """Asks a model for a number about a whole conversation: without another prompt, how far its goal was reached.

    Attributes:
        goal: What the conversation is held to, if `evaluate` or the test gives no goal.

    The rest is as with `NumericJudge`. A conversation of which nothing was recorded is ``inconclusive``.

    Examples:
        >>> judge = ConversationalJudge(
        ...     goal="The order is refunded.", model=lambda prompt: {"reason": "It was.", "score": 1}
        ... )
        >>> judge.evaluate(messages=[
        ...     {"role": "user", "content": "Refund order 42"},
        ...     {"role": "assistant", "content": "Refunded."},
        ... ]).verdict
        'passed'
    """

    type: ClassVar[str] = "conversational_judge"

    name: str = "conversational_judge"
    target: Target = Target(on="conversation")
    evaluation_prompt: Annotated[str, AfterValidator(_said)] = (
        "The goal of the conversation was reached. If no goal is given, it is what the user wanted."
    )
    goal: str | None = None

    @property
    def takes(self) -> tuple[On, ...]:
        """The targets that the judge can take, by their ``on``: the conversation alone."""
        return ("conversation",)

    async def _outcomes_async(self, subjects: Sequence[Subject], case: Case) -> list[Outcome]:
        if case.goal is None:
            case = dataclasses.replace(case, goal=self.goal)
        return await super()._outcomes_async(subjects, case)
