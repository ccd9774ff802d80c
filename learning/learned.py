"""What learning from ended runs works with, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gateway_project.foundation.sealing import Sealer
from graph.store.usage import Place
from tools.embed.embedder import Embedder

if TYPE_CHECKING:
    from tools.search_index import SearchIndex


@dataclass(frozen=True, kw_only=True)
class Means:
    """What learning works with.

    Attributes:
        sealer: Seals what is kept of intents and arguments.
        payloads: Opens what runs were given and answered.
        embedder: Embeds intents; None: vectors are made later.
        index: The catalogue in memory, of the embedder's model; None: it is not there.
    """

    sealer: Sealer
    payloads: Sealer
    embedder: Embedder | None = None
    index: SearchIndex | None = None


@dataclass(frozen=True, kw_only=True)
class Learned:
    """What a run taught.

    Attributes:
        pattern: Whether it counts in a pattern.
        unembedded: Whether that pattern waits for its vectors.
        relations: Relations between tools that it says something of.
        shapes: Shapes of results that it changed.
        usage: All calls counted by now of the tools it called, by tool and team.
    """

    pattern: bool = False
    unembedded: bool = False
    relations: int = 0
    shapes: int = 0
    usage: Mapping[Place, int] = field(default_factory=dict)

    @property
    def figures(self) -> dict[str, int]:
        """What is logged of it."""
        return {
            "pattern": int(self.pattern),
            "relations": self.relations,
            "shapes": self.shapes,
            "tools": len(self.usage),
        }
