"""Did the agent call the tools it should have, and why not? In microseconds and without a model.

The metrics are in `callmatch.metrics`; the command is ``callmatch score``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from callmatch._core import DEBUG as _DEBUG
from callmatch._core import __version__
from callmatch.batch import Scores, Summary
from callmatch.errors import CallmatchError, InvalidInput, InvalidType

if TYPE_CHECKING:
    from callmatch.results import MetricResult, Verdict

__all__ = [
    "CallmatchError",
    "InvalidInput",
    "InvalidType",
    "MetricResult",
    "Scores",
    "Summary",
    "Verdict",
    "__version__",
]

if _DEBUG:
    import warnings

    warnings.warn("callmatch was built for debugging and is slow: build it with --release", stacklevel=2)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    # Most of the time of an import would be pydantic's, so it waits until a result is asked for.
    if name in ("MetricResult", "Verdict"):
        from callmatch import results  # noqa: PLC0415

        return getattr(results, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
