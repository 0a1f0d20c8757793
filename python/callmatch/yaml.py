"""YAML as plain data."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TextIO

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError
from ruamel.yaml.representer import SafeRepresenter

from callmatch.display import digits
from callmatch.documents import fault, integer
from callmatch.errors import InvalidInput

if TYPE_CHECKING:
    from ruamel.yaml.constructor import SafeConstructor

__all__ = ["dump", "line", "loads", "nodes"]

MOST_VALUES = 1_000_000
"""So many values the aliases of a YAML text may stand for. A few lines of them could stand for more than fits."""


def loads(text: str, where: str) -> Any:
    """Read a text as plain data; see `callmatch.documents.load`."""
    yaml = _reader()
    try:
        root = yaml.compose(text)
        return None if root is None else _Plain(yaml.constructor, where).value(root)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        said = ", ".join(part for part in (error.problem, error.context) if part)
        if "block scalar" in said:  # which ">=" looks like the beginning of
            said += "; a text that begins with > or | needs quotes"
        raise fault(where, mark.line + 1 if mark else 1, f"not YAML: {said}") from None
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise fault(where, line, f"not YAML: {str(error).splitlines()[0]}") from None
    except RecursionError:
        raise fault(where, 1, "it is nested too deeply") from None


def dump(data: Any, file: TextIO) -> None:
    """Write plain data as people would."""
    yaml = YAML(typ="safe", pure=True)
    yaml.Representer = _Representer
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    yaml.width = 1 << 30  # lines break where the text has a break
    yaml.dump(data, file)


def nodes(text: str) -> Node | None:
    """What is in a text, with its lines; None if it can't be read."""
    with contextlib.suppress(YAMLError, RecursionError):
        return _reader().compose(text)  # type: ignore[no-any-return]
    return None


def line(node: Node, keys: list[str]) -> int:
    """The line of what keys and indexes lead to; where they lead no further, of what is there."""
    line: int = node.start_mark.line + 1
    for key in keys:
        if isinstance(node, MappingNode):
            found = next((entry for entry in node.value if entry[0].value == key), None)
        elif isinstance(node, SequenceNode) and key.isdecimal() and int(key) < len(node.value):
            found = (node.value[int(key)],) * 2
        else:
            found = None
        if found is None:
            break
        line, node = found[0].start_mark.line + 1, found[1]
    return line


def _reader() -> YAML:
    return YAML(typ="safe", pure=True)


class _Representer(SafeRepresenter):
    """Writes what is there as it is: in its order, in full where it is there twice, several lines as lines."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def text(self, text: str) -> ScalarNode:
        lines = text.split("\n")
        style = None if len(lines) == 1 else "|"
        if not all(line.isprintable() for line in lines):
            style = '"'  # which shows as escapes what can't be seen
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    def integer(self, number: int) -> ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:int", digits(number))


_Representer.add_representer(str, _Representer.text)
_Representer.add_representer(int, _Representer.integer)


class _Plain:
    """Makes plain data out of the nodes of a YAML text, and refuses what JSON can't hold.

    The library's own way from nodes to data follows circles and makes dates, sets and keys of any type.
    """

    def __init__(self, constructor: SafeConstructor, where: str) -> None:
        self.constructor = constructor
        self.where = where
        self.count = 0
        self.around: set[int] = set()
        self.scalars: dict[str, Callable[[Any], Any]] = {
            "null": lambda node: None,
            "bool": constructor.construct_yaml_bool,
            "int": self.integer,
            "float": constructor.construct_yaml_float,
            # These are texts that look like something else, which JSON doesn't have.
            **dict.fromkeys(("str", "timestamp", "value", "merge"), lambda node: node.value),
        }

    def integer(self, node: Any) -> Any:
        try:
            return self.constructor.construct_yaml_int(node)
        except ValueError:  # one of thousands of digits
            return integer(node.value)

    def value(self, node: Node) -> Any:
        self.count += 1
        if self.count > MOST_VALUES:
            raise self.fault(node, f"there are more than {MOST_VALUES:,} values up to here, counting those of aliases")
        if id(node) in self.around:
            raise self.fault(node, "this alias stands for something that it is part of")
        self.around.add(id(node))
        try:
            return self.inner(node)
        finally:
            self.around.remove(id(node))

    def inner(self, node: Node) -> Any:
        tag = str(node.tag).removeprefix("tag:yaml.org,2002:")
        if isinstance(node, SequenceNode) and tag == "seq":
            return [self.value(item) for item in node.value]
        if isinstance(node, MappingNode) and tag == "map":
            return self.mapping(node)
        if isinstance(node, ScalarNode) and tag in self.scalars:
            try:
                return self.scalars[tag](node)
            except (ValueError, KeyError, IndexError):  # such as !!int of no number
                raise self.fault(node, f"this is no {tag} that can be read") from None
        raise self.fault(node, f"the tag {node.tag} makes no JSON value; a text that begins with ! needs quotes")

    def mapping(self, node: MappingNode) -> dict[str, Any]:
        own: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key, value in node.value:
            if str(key.tag) == "tag:yaml.org,2002:merge":
                for key_, value_ in self.merges(value):
                    merged.setdefault(key_, value_)
                continue
            name = self.value(key)
            if not isinstance(name, str):
                shown = f"; write '{key.value}' in quotes" if isinstance(key, ScalarNode) else ""
                raise self.fault(key, f"a key is a text, not {type(name).__name__}{shown}")
            if name in own:
                raise self.fault(key, f"the key {name!r} is there twice")
            own[name] = self.value(value)
        return {**merged, **own}

    def merges(self, node: Node) -> Iterable[tuple[str, Any]]:
        """The entries that ``<<`` takes over from a mapping, or from several, of which the first counts."""
        found = self.value(node)
        for entries in found if isinstance(found, list) else [found]:
            if not isinstance(entries, dict):
                raise self.fault(node, "<< takes over the keys of a mapping, and this is none")
            yield from entries.items()

    def fault(self, node: Node, message: str) -> InvalidInput:
        return fault(self.where, node.start_mark.line + 1, message)
