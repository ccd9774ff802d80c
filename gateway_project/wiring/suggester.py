"""Ranks tools for intents with what this process keeps in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gateway_project.foundation.database import in_database
from graph import rank_intent
from graph.kept_rankers import KeptRankers
from graph.rank_intent import Ranked
from tools.embed.cache import CachedEmbedder
from tools.kept_index import KeptIndex

if TYPE_CHECKING:
    from graph.intent.reading import Reading


class Suggester:
    """Ranks tools for intents.

    Args:
        embedder: Embeds intents.
        index: Keeps the catalogue in memory.
        rankers: Keeps the fitted models of each team.
    """

    def __init__(
        self, *, embedder: CachedEmbedder, index: KeptIndex, rankers: KeptRankers
    ) -> None:
        self._embedder = embedder
        self._index = index
        self._rankers = rankers

    async def rank(self, reading: Reading, team: int | None, considered: Sequence[int]) -> Ranked:
        """Rank the tools that a team sees.

        Raises:
            graph.rank_intent.NotRanked: If something is missing for it.
            django.db.Error: If the database cannot be reached.
        """
        kept = await self._rankers.get(team)
        return await in_database(
            rank_intent.rank_intent,
            reading,
            index=self._index.current,
            embedder=self._embedder,
            kept=kept,
            team=team,
            considered=considered,
        )
