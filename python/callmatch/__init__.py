"""Did the agent call the tools it should have, and why not? In microseconds and without a model.

The metrics are in `callmatch.metrics`; the commands are ``callmatch read``, ``callmatch score``, ``callmatch compare``,
``callmatch check``, ``callmatch test`` and ``callmatch metrics check``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from callmatch._core import DEBUG as _DEBUG
from callmatch._core import __version__
from callmatch.batch import Scores
from callmatch.errors import CallmatchError, InvalidInput, InvalidType, NotRecorded
from callmatch.summaries import Summaries, Summary

if TYPE_CHECKING:
    from callmatch.comparison import Comparison, compare
    from callmatch.readers import Traces, read
    from callmatch.response_mapping import ResponseMapping
    from callmatch.results import MetricResult, Verdict
    from callmatch.span_tables import SpanScores, span_columns
    from callmatch.targets import Subject, Target, resolve
    from callmatch.testsets import Test, TestResult, TestResults, TestSet
    from callmatch.trace import Span, Trace, Turn
    from callmatch.trials import Trials

    from_messages = Trace.from_messages

__all__ = [
    "CallmatchError",
    "Comparison",
    "InvalidInput",
    "InvalidType",
    "MetricResult",
    "NotRecorded",
    "ResponseMapping",
    "Scores",
    "Span",
    "SpanScores",
    "Subject",
    "Summaries",
    "Summary",
    "Target",
    "Test",
    "TestResult",
    "TestResults",
    "TestSet",
    "Trace",
    "Traces",
    "Trials",
    "Turn",
    "Verdict",
    "__version__",
    "compare",
    "from_messages",
    "read",
    "resolve",
    "span_columns",
]

if _DEBUG:
    import warnings

    warnings.warn("callmatch was built for debugging and is slow: build it with --release", stacklevel=2)

# Most of the time of an import would be pydantic's, so these wait until they are asked for.
_LATE = {
    "Comparison": "comparison",
    "MetricResult": "results",
    "ResponseMapping": "response_mapping",
    "Span": "trace",
    "SpanScores": "span_tables",
    "Subject": "targets",
    "Target": "targets",
    "Test": "testsets",
    "TestResult": "testsets",
    "TestResults": "testsets",
    "TestSet": "testsets",
    "Trace": "trace",
    "Traces": "readers",
    "Trials": "trials",
    "Turn": "trace",
    "Verdict": "results",
    "compare": "comparison",
    "read": "readers",
    "resolve": "targets",
    "span_columns": "span_tables",
}


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return getattr(import_module(f"callmatch.{_LATE[name]}"), name)
    if name == "from_messages":
        return import_module("callmatch.trace").Trace.from_messages
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
