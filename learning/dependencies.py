"""The dependencies and the results of learning from ended runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gateway_project.foundation.sealing import Sealer
from graph.store.usage import UsageKey
from tools.embed.embedder import Embedder

if TYPE_CHECKING:
    from tools.search_index import SearchIndex


@dataclass(frozen=True, kw_only=True)
class LearningDependencies:
    """The collaborators of learning.

    Attributes:
        payload_sealer: Opens payloads of runs.
        embedder: Embeds intents; None: vectors are computed later.
        index: The catalogue's index for the embedder's model; None: not available.
        td_rate: Learning rate of TD(0) for relations; 0: runs are counted.
    """

    sealer: Sealer
    payload_sealer: Sealer
    embedder: Embedder | None = None
    index: SearchIndex | None = None
    td_rate: float = 0.0


@dataclass(frozen=True, kw_only=True)
class LearnedFromRun:
    """What was learned from a run.

    Attributes:
        has_pattern: Whether it counts in a pattern.
        lacks_vectors: Whether that pattern still lacks vectors.
        relation_count: Number of relations observed.
        shape_count: Number of result shapes changed.
        usage: Total calls so far of the called tools, by tool and team.
    """

    has_pattern: bool = False
    lacks_vectors: bool = False
    relation_count: int = 0
    shape_count: int = 0
    usage: Mapping[UsageKey, int] = field(default_factory=dict)

    @property
    def log_fields(self) -> dict[str, int]:
        """Fields for the log."""
        return {
            "pattern": int(self.has_pattern),
            "relations": self.relation_count,
            "shapes": self.shape_count,
            "tools": len(self.usage),
        }
