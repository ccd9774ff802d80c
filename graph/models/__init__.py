"""Tables of the tool graph. Constraints and indexes live in the database."""

from graph.models.history import (
    FittedModel,
    LearnedBinding,
    PatternEmbedding,
    PatternRun,
    WorkflowPattern,
)
from graph.models.relations import (
    GraphSnapshot,
    GraphState,
    OutputShape,
    RelationEvidence,
    ToolDependency,
    ToolMetric,
    ToolUsage,
)

__all__ = [
    "FittedModel",
    "GraphSnapshot",
    "GraphState",
    "LearnedBinding",
    "OutputShape",
    "PatternEmbedding",
    "PatternRun",
    "RelationEvidence",
    "ToolDependency",
    "ToolMetric",
    "ToolUsage",
    "WorkflowPattern",
]
