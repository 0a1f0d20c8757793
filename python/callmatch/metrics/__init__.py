"""The metrics."""

from callmatch.metrics.trajectory import ArgumentMode, MatchMode, ToolCallTrajectory

__all__ = ["ArgumentMode", "MatchMode", "ToolCallTrajectory"]
