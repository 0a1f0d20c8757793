"""What is inside the data of tests. It is read here and not by pydantic: so all errors tell the whole path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import JsonValue, TypeAdapter, ValidationError

from callmatch import _core
from callmatch.errors import InvalidInput, InvalidType, path_of
from callmatch.metrics.metric import Metric

__all__ = ["read_metrics", "with_parts"]

PLAIN_CALLS = TypeAdapter(list[JsonValue])


def with_parts(data: Any, where: str = "", **objects: Any) -> Any:
    """The data of a test or of a set of them, with its metrics and expected calls read."""
    if not isinstance(data, Mapping):
        return data
    data = dict(data)
    if data.get("metrics") is not None:
        data["metrics"] = read_metrics(data["metrics"], path_of(where, ["metrics"]), **objects)
    if data.get("expected_tool_calls") is not None:
        data["expected_tool_calls"] = _read_calls(data["expected_tool_calls"], path_of(where, ["expected_tool_calls"]))
    return data


def read_metrics(configs: object, where: str, **objects: Any) -> tuple[Metric, ...]:
    """Metrics that are given as such or by their configs.

    Args:
        configs: A list of them.
        where: How errors call the list.
        **objects: What no text can hold, such as the ``model`` of judges.

    Raises:
        InvalidInput: A config that can't be, with the path to what is wrong.
        InvalidType: No list, or something else in it.
    """
    if isinstance(configs, (str, Mapping, Metric)) or not isinstance(configs, Sequence):
        raise InvalidType(f"{where}: expected a list of metrics, got {type(configs).__name__}", where)
    return tuple(_read_metric(config, path_of(where, [place]), objects) for place, config in enumerate(configs))


def _read_metric(config: object, where: str, objects: Mapping[str, Any]) -> Metric:
    if isinstance(config, Metric):
        return config
    if not isinstance(config, Mapping):
        raise InvalidType(f"{where}: expected a metric or its config, got {type(config).__name__}", where)
    return Metric.from_config(config, where, **objects)


def _read_calls(given: Any, where: str) -> list[Any]:
    """Expected calls as they were given, or if JSON can't hold that, as it can."""
    calls = _core.read_tool_calls(given, where) or []
    for place, call in enumerate(calls):
        if call["input"] is not None and not isinstance(call["input"], dict):
            path = path_of(where, [place, "arguments"])
            raise InvalidInput(f"{path}: expected an object or JSON text of one", path)
    try:
        return PLAIN_CALLS.validate_python(given)
    except ValidationError:  # JSON text, models, dataclasses …
        named = [{"name": call["name"], "arguments": call["input"]} for call in calls]
        return [{key: value for key, value in call.items() if value is not None} for call in named]
