"""Tool Call Check: does an answer honour what the tools did? The metric itself is `callmatch.metrics.ToolCallCheck`."""

from callmatch.toolcheck.batch import CheckScores, CheckSummary
from callmatch.toolcheck.results import Coverage, Evidence, Instruction, ToolCallCheckResult

__all__ = ["CheckScores", "CheckSummary", "Coverage", "Evidence", "Instruction", "ToolCallCheckResult"]
