"""Where in what an agent returns its answer is, and the tools that it called."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, JsonValue, ValidationInfo, model_validator
from pydantic_core import PydanticSerializationError, to_jsonable_python
from typing_extensions import Self

from callmatch.documents import parsed
from callmatch.errors import InvalidInput, InvalidType, one_of
from callmatch.schema import Schema
from callmatch.trace import Trace

if TYPE_CHECKING:
    from jsonpath import CompoundJSONPath, JSONPath

__all__ = ["PARTS", "ResponseMapping", "trace_from_parts"]

PARTS = ("output", "tool_calls", "context", "spans", "conversation_id", "messages")
"""What an agent can tell of its answer, by name."""


def trace_from_parts(parts: Mapping[str, Any], input: JsonValue = None) -> Trace:
    """Make a trace out of what an agent tells of its answer.

    Args:
        parts: Some of `PARTS`; None is as good as not there. ``messages`` hold all that was recorded, so of the others
            only the ``conversation_id`` can be beside them.
        input: What the agent was given.

    Raises:
        InvalidInput: An unknown part, messages beside others, or a value that can't be, with the path to it.
        InvalidType: Something of the wrong type.
    """
    given = {str(name): part for name, part in parts.items() if part is not None}
    if unknown := given.keys() - set(PARTS):
        raise InvalidInput(one_of("a key of the answer", min(unknown), PARTS))
    conversation_id = given.pop("conversation_id", None)
    if isinstance(conversation_id, int) and not isinstance(conversation_id, bool):
        conversation_id = str(conversation_id)
    messages = given.pop("messages", None)
    if messages is None:
        return Trace.from_parts(input=input, conversation_id=conversation_id, **given)
    if given:
        other = min(given)
        raise InvalidInput(f"messages hold all that was recorded, so {other} can't be given beside them", other)
    return Trace.from_messages(messages, conversation_id=conversation_id)


@lru_cache(maxsize=256)
def _compiled(path: str) -> JSONPath | CompoundJSONPath:
    # Here, since most who run tests need none of it.
    from jsonpath import JSONPathEnvironment  # noqa: PLC0415

    return JSONPathEnvironment(strict=True).compile(path)


def _is_path(path: str, info: ValidationInfo) -> str:
    from jsonpath import JSONPathError  # noqa: PLC0415

    field = info.field_name or ""
    if not path.startswith("$"):
        raise InvalidInput(f"{field}: {path!r} is no JSONPath; one begins with $, such as $.{field}", field)
    try:
        _compiled(path)
    except JSONPathError as error:
        index = error.token.index if error.token is not None and error.token.index >= 0 else len(path)
        message = f"{path!r} is no JSONPath: {error.args[0]}, at character {index + 1}"
        raise InvalidInput(f"{field}: {message}", field) from None
    return path


Path = Annotated[str, AfterValidator(_is_path)]


class ResponseMapping(Schema):
    """Where in what an agent returns its parts are, as JSONPaths (RFC 9535).

    A path that finds nothing, or null, says that the part was not reported. So a list is best named itself
    (``$.calls``): it may be empty, which says that no tool was called, while the items of an empty list
    (``$.calls[*]``) are not found.

    Attributes:
        output: The answer.
        tool_calls: The tool calls: a list, or several places (``$.steps[*].call``), of which each holds one or a list.
        context: What was retrieved: a list of texts or documents, or several places.
        conversation_id: What the next message of the conversation is sent with.
        messages: The chat messages of the conversation, which hold all but the ``conversation_id``.

    Raises:
        InvalidInput: No JSONPath, with the place of the mistake; messages beside the other parts.

    Examples:
        >>> mapping = ResponseMapping(output="$.answer.text", tool_calls="$.steps[*].calls")
        >>> trace = mapping.trace({"answer": {"text": "Refunded."}, "steps": [{"calls": [{"name": "issue_refund"}]}]})
        >>> trace.output, [call.name for call in trace.tool_calls]
        ('Refunded.', ['issue_refund'])
        >>> mapping.trace({"answer": {"text": "Hello."}}).tool_calls_reported
        False
    """

    output: Path | None = None
    tool_calls: Path | None = None
    context: Path | None = None
    conversation_id: Path | None = None
    messages: Path | None = None

    @model_validator(mode="after")
    def _messages_hold_all(self) -> Self:
        beside = [name for name in ("output", "tool_calls", "context") if getattr(self, name) is not None]
        if self.messages is not None and beside:
            other = beside[0]
            raise InvalidInput(f"messages hold all that was recorded, so {other} can't be mapped beside them", other)
        return self

    def trace(self, response: object, input: JsonValue = None) -> Trace:
        """Make a trace out of what an agent returned.

        Args:
            response: Plain data, models or dataclasses, or JSON text.
            input: What the agent was given.

        Raises:
            InvalidInput: No JSON; several values where one is needed; a value that can't be, with the path to it.
            InvalidType: Something of the wrong type.
        """
        data = _plain(response)
        parts = {name: _compiled(path).findall(data) for name, path in self if path is not None}
        return trace_from_parts({name: self._one(name, found) for name, found in parts.items()}, input)

    def _one(self, name: str, found: list[Any]) -> Any:
        """One value out of those that the path of a part found."""
        found = [value for value in found if value is not None]
        if not found:
            return None
        if name in ("tool_calls", "context"):
            return _listed(name, found)
        if len(found) > 1:
            message = f"{getattr(self, name)} finds {len(found)} values, and there can be one"
            raise InvalidInput(f"{name}: {message}", name)
        return found[0]


def _listed(name: str, found: list[Any]) -> list[Any]:
    if len(found) == 1:
        return found[0] if isinstance(found[0], list) else found
    if name == "context":  # several lists are several retrievals
        return found
    return [call for calls in found for call in (calls if isinstance(calls, list) else [calls])]


def _plain(response: object) -> Any:
    try:
        data = to_jsonable_python(response)
    except (PydanticSerializationError, ValueError) as error:
        raise InvalidType(f"the response is no JSON value: {error}") from None
    if not isinstance(data, str):
        return data
    try:
        return parsed(data)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the response is a text that is not JSON: {error}") from None
