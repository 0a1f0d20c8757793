"""Did the agent call the tools it should have, and why not? In microseconds and without a model.

The metrics are in `callmatch.metrics`; the command is ``callmatch score``.
"""

from callmatch._core import DEBUG as _DEBUG
from callmatch._core import __version__
from callmatch.batch import Scores, Summary
from callmatch.errors import CallmatchError, InvalidInput, InvalidType
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
