"""The metrics."""

from callmatch.metrics.code import CodeMetric, code_metric
from callmatch.metrics.judges import CategoricalJudge, ConversationalJudge, NumericJudge
from callmatch.metrics.metric import Metric
from callmatch.metrics.models import LiteLLM, Model, RecordedModel, Recorder
from callmatch.metrics.tool_check import ToolCallCheck
from callmatch.metrics.trajectory import ArgumentMode, MatchMode, ToolCallTrajectory

__all__ = [
    "ArgumentMode",
    "CategoricalJudge",
    "CodeMetric",
    "ConversationalJudge",
    "LiteLLM",
    "MatchMode",
    "Metric",
    "Model",
    "NumericJudge",
    "RecordedModel",
    "Recorder",
    "ToolCallCheck",
    "ToolCallTrajectory",
    "code_metric",
]
