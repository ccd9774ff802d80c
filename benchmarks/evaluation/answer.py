"""A suggestion for a query in the ids of its data set, as input of the figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

DatasetToolPair = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class SuggestedCall:
    """One call of a workflow.

    Attributes:
        id: Unique within the workflow.
        tool: The data set's id of the tool.
        arguments: Literals, and references `{"$ref": task, "pointer": "/…"}`.
        sources: Source of each argument, by name.
    """

    id: str
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class SuggestedAnswer:
    """A suggested workflow with its confidence.

    Attributes:
        tasks: In display order; empty if nothing fits.
        ordered_pairs: Pairs of tools; the first must finish before the second starts.
        confidence: Calibrated probability that the set of tools is right, in [0, 1].
        raw_probability: The same, uncalibrated.
        similarity: Similarity of the nearest past intent, in [-1, 1]; None without history.
        tool_probabilities: Probability that each tool is part of the workflow.
    """

    tasks: tuple[SuggestedCall, ...] = ()
    ordered_pairs: frozenset[DatasetToolPair] = frozenset()
    confidence: float = 0.0
    raw_probability: float = 0.0
    similarity: float | None = None
    tool_probabilities: Mapping[str, float] = field(default_factory=dict)

    @property
    def chain(self) -> tuple[str, ...]:
        """The tools in order; a tool may recur."""
        return tuple(task.tool for task in self.tasks)
