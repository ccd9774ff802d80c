"""What was suggested for a query, in the ids of its data set, as the figures read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Pair = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class AnsweredTask:
    """One call of a workflow.

    Attributes:
        id: Unique in its workflow.
        tool: The data set's id of its tool.
        arguments: Literals, and references `{"$ref": task, "pointer": "/…"}`.
        sources: Where each of the arguments came from, by name.
    """

    id: str
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A workflow that was suggested, and how sure of it the gateway was.

    Attributes:
        tasks: In the order it is displayed in; empty where nothing fits.
        waits: Pairs of tools of which the first must be done before the second begins.
        confidence: Calibrated probability that the set of tools is right, in [0, 1].
        probability: The same as the model of sets says it, not calibrated.
        similarity: Of the nearest past intent, in [-1, 1]; None without history.
        likely: How likely each tool is to be part of it.
    """

    tasks: tuple[AnsweredTask, ...] = ()
    waits: frozenset[Pair] = frozenset()
    confidence: float = 0.0
    probability: float = 0.0
    similarity: float | None = None
    likely: Mapping[str, float] = field(default_factory=dict)

    @property
    def chain(self) -> tuple[str, ...]:
        """Return the tools in order; one may recur."""
        return tuple(task.tool for task in self.tasks)
