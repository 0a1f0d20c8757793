"""What all frozen, typed things have in common: their errors are those of the family, and say what would be right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails, PydanticSerializationError, to_json

from callmatch import _core
from callmatch.errors import CallmatchError, InvalidInput, InvalidType, one_of, path_of

__all__ = ["Schema", "checked", "faults"]

Self = TypeVar("Self", bound="Schema")


class _Carried(ValueError):
    """An error on its way out of a validator: pydantic lets a `TypeError` through, and then its place is lost."""

    def __init__(self, error: InvalidType) -> None:
        super().__init__(str(error))
        self.error = error


def checked(check: Callable[..., Any]) -> Callable[..., Any]:
    """A validator for pydantic out of a function that raises errors of the family."""

    @wraps(check)
    def validator(*args: Any) -> Any:
        try:
            return check(*args)
        except InvalidType as error:
            raise _Carried(error) from None

    return validator


class Schema(BaseModel):
    """A frozen model. What can't be right is an `InvalidInput` or an `InvalidType` with the path to it."""

    model_config = ConfigDict(extra="forbid", frozen=True, serialize_by_alias=True, ser_json_inf_nan="constants")

    # Type checkers see the constructor with the fields that pydantic gives it.
    if not TYPE_CHECKING:

        def __init__(self, /, **data: Any) -> None:
            try:
                self.__pydantic_validator__.validate_python(data, self_instance=self)
            except ValidationError as error:
                raise translated(type(self), error, data, keywords=True) from None

        # To pydantic this is its own constructor, so a model inside another one is still made without calling Python.
        __init__.__pydantic_base_init__ = True

    @classmethod
    def read(cls: type[Self], data: object, where: str = "") -> Self:
        """Make one out of plain data, such as what JSON or YAML text holds.

        Args:
            data: A mapping, or an instance, which is taken as it is.
            where: How errors call the place of the data.

        Raises:
            InvalidInput: An unknown key or word, a value that can't be; with the path to it.
            InvalidType: Something of the wrong type.
        """
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise translated(cls, error, data, where) from None

    @classmethod
    def read_json(cls: type[Self], text: str | bytes, where: str = "") -> Self:
        """Make one out of JSON text; otherwise as `read`."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            from callmatch.documents import parsed  # noqa: PLC0415 - needed for few texts

            try:
                # Python's reader takes deeper nesting, longer integers, and escapes of halves of surrogate pairs.
                data = parsed(text if isinstance(text, str) else text.decode())
            except (ValueError, RecursionError):
                raise translated(cls, error, None, where) from None
        return cls.read(data, where)

    def model_dump_json(self, **options: Any) -> str:
        """The JSON text; as that of pydantic, but half of a pair of surrogates is written as U+FFFD."""
        try:
            return super().model_dump_json(**options)
        except PydanticSerializationError:
            options.setdefault("by_alias", self.model_config.get("serialize_by_alias"))
            indent = options.pop("indent", None)
            return to_json(_writable(self.model_dump(mode="json", **options)), indent=indent).decode()


def _writable(value: Any) -> Any:
    """A JSON value without halves of surrogate pairs, which UTF-8 has none of."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_writable(key): _writable(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_writable(inner) for inner in value]
    return value


def translated(
    model: type[BaseModel], error: ValidationError, data: object, where: str = "", *, keywords: bool = False
) -> CallmatchError:
    """The first thing that pydantic has found, in the words of the family.

    An unknown key is told before a missing one, since that is what became of it.
    """
    found = error.errors(include_url=False)
    detail = next((one for one in found if one["type"] == "extra_forbidden"), found[0])
    return _told(model, detail, data, where, keywords=keywords)


def faults(model: type[BaseModel], error: ValidationError, data: object, where: str = "") -> list[CallmatchError]:
    """Everything that pydantic has found, in the words of the family."""
    return [_told(model, detail, data, where) for detail in error.errors(include_url=False)]


def _told(
    model: type[BaseModel], detail: ErrorDetails, data: object, where: str, *, keywords: bool = False
) -> CallmatchError:
    path = path_of(where, _places(detail, data))
    raised = detail.get("ctx", {}).get("error")
    if isinstance(raised, _Carried):
        raised = raised.error
    # A keyword is named by what is said of it.
    is_keyword = keywords and not any(mark in path for mark in ".[")
    if isinstance(raised, CallmatchError):
        path = _joined(path, raised.path)
        message = str(raised) if is_keyword else str(raised).removeprefix(f"{raised.path}: ")
        kind = type(raised)
    else:
        message, kind = _said(model, detail, keywords=keywords and len(detail["loc"]) == 1)
    names_it = is_keyword and path in message
    return kind(message if names_it or not path else f"{_short(path)}: {message}", path)


def _joined(path: str, inner: str) -> str:
    """The path to something inside a field; the validator of a field may or may not begin with the field itself."""
    field = path.rpartition(".")[2]
    if inner == field or inner.startswith((f"{field}.", f"{field}[")):
        return path + inner[len(field) :]
    if not inner or not path:
        return path or inner
    return path + inner if inner.startswith("[") else f"{path}.{inner}"


def _said(model: type[BaseModel], detail: ErrorDetails, *, keywords: bool) -> tuple[str, type[CallmatchError]]:
    loc = detail["loc"]
    key = str(loc[-1]) if loc else model.__name__
    given, context = detail["input"], detail.get("ctx", {})
    match detail["type"]:
        case "extra_forbidden":
            owner = _owner(model, loc[:-1])
            known = [field.alias or name for name, field in owner.model_fields.items()] if owner else []
            if keywords:
                return one_of(f"a keyword of {model.__name__}", key, known), InvalidType
            return one_of(f"a key of {owner.__name__ if owner else 'this'}", key, known), InvalidInput
        case "missing":
            return (f"{model.__name__} needs the keyword {key}" if keywords else "it is missing"), InvalidType
        case "literal_error":
            words = _words(context.get("expected", ""))
            if isinstance(given, str):
                return one_of(key, given, words), InvalidInput
            return f"{key} is one of {', '.join(words)}, not {type(given).__name__}", InvalidType
        case "string_type":
            return f"{key} is a string, not {type(given).__name__}", InvalidType
        case "string_unicode":
            return f"{key} holds a lone surrogate: {given!r}", InvalidInput
        case "model_type" | "dict_type" | "model_attributes_type":
            return f"expected a mapping, got {type(given).__name__}", InvalidType
        case "recursion_loop" | "recursion_depth_exceeded":
            return "it contains itself, or nests too deeply", InvalidInput
        case "list_type" | "tuple_type":
            return f"expected a list, got {type(given).__name__}", InvalidType
        case "invalid-json-value":
            return f"{type(given).__name__} is not a JSON value", InvalidType
        case "json_invalid":
            return f"not JSON: {context.get('error', '')}", InvalidInput
        case kind:
            message = detail["msg"][:1].lower() + detail["msg"][1:]
            wrong_type = kind.endswith("_type") or kind.startswith("is_instance")
            got = f", got {type(given).__name__}" if wrong_type else f", not {given!r}" if _is_short(given) else ""
            return _core.printable(f"{message}{got}"), InvalidType if wrong_type else InvalidInput


def _places(detail: ErrorDetails, data: object) -> Iterator[int | str]:
    """The keys and indexes that lead to a place; pydantic puts the names of types between them."""
    *before, last = detail["loc"] or ("",)
    for key in before:
        is_item = isinstance(data, (list, tuple)) and isinstance(key, int) and key < len(data)
        if is_item or (isinstance(data, Mapping) and key in data):
            data = data[key]  # type: ignore[index]
        elif isinstance(key, str) and hasattr(data, key):
            data = getattr(data, key)
        elif data is not None:
            continue
        yield key
    is_there = not isinstance(data, (Mapping, list, tuple)) or detail["type"] == "missing"
    is_there = is_there or (isinstance(data, Mapping) and last in data) or isinstance(last, int)
    if last != "" and is_there:
        yield last


def _short(path: str) -> str:
    return path if len(path) <= MOST_OF_A_PATH else f"{path[:MOST_OF_A_PATH]}…"


MOST_OF_A_PATH = 200
"""So many characters of the path to something that is deep inside are told."""


def _is_short(given: object) -> bool:
    return given is None or isinstance(given, (bool, int, float)) or (isinstance(given, str) and len(given) <= 80)


def _words(said: str) -> list[str]:
    """The words of a literal, which pydantic gives in a sentence: 'a', 'b' or 'c'."""
    return said.split("'")[1::2]


def _owner(model: type[BaseModel], loc: Iterable[int | str]) -> type[BaseModel] | None:
    """The model that a place inside another one belongs to."""
    owner: type[BaseModel] | None = model
    for key in loc:
        if isinstance(key, int) or owner is None:
            continue
        fields = {field.alias or name: field for name, field in owner.model_fields.items()}
        if key in fields:
            owner = _model_in(fields[key].annotation)
    return owner


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for inner in get_args(annotation) if (found := _model_in(inner))), None)
