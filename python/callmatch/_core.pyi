"""The compiled core."""

import os
from typing import Any, Final, final

from callmatch.results import Verdict

__all__ = [
    "ARGUMENT_MODES",
    "COLUMNS",
    "DEBUG",
    "DIFFERENCE_KINDS",
    "MATCH_MODES",
    "VERDICTS",
    "Batch",
    "FileScorer",
    "Trajectory",
    "__version__",
    "one_of",
    "printable",
    "printable_lines",
    "read_messages",
    "read_tool_calls",
    "read_value",
]

__version__: Final[str]
DEBUG: Final[bool]
MATCH_MODES: Final[tuple[str, ...]]
ARGUMENT_MODES: Final[tuple[str, ...]]
VERDICTS: Final[tuple[str, ...]]
DIFFERENCE_KINDS: Final[tuple[str, ...]]
COLUMNS: Final[tuple[str, ...]]

_Row = tuple[float | None, Verdict, bool | None, str, dict[str, Any]]

@final
class Trajectory:
    def __new__(cls, match: str, arguments: str) -> Trajectory: ...
    def evaluate(self, tool_calls: object, expected: object) -> _Row: ...
    def evaluate_batch(self, tool_calls: tuple[object, ...], expected: tuple[object, ...]) -> Batch: ...

@final
class Batch:
    @property
    def bytes_read(self) -> int: ...
    def __len__(self) -> int: ...
    def row(self, index: int) -> _Row: ...
    def column(self, name: str) -> list[Any]: ...
    def counts(self) -> dict[str, Any]: ...

@final
class FileScorer:
    def __new__(cls, trajectory: Trajectory, actual: str, expected: str, id: str, threads: int) -> FileScorer: ...
    def open(self, path: str | os.PathLike[str]) -> None: ...
    def next_chunk(self) -> Batch | None: ...
    def finish(self) -> None: ...

def one_of(what: str, given: str, words: list[str]) -> str: ...
def printable(text: str) -> str: ...
def printable_lines(text: str) -> str: ...
def read_messages(messages: object, where: str) -> list[dict[str, Any]]: ...
def read_tool_calls(calls: object, where: str) -> list[dict[str, Any]] | None: ...
def read_value(value: object, where: str) -> Any: ...
