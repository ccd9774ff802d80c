"""Searches the catalogue with what a process keeps in memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from gateway_project.foundation.computing import run_in_worker_thread
from gateway_project.foundation.database import run_in_database_thread
from graph.ranker_cache import RankerCache
from graph.weigh_past_use import weigh_past_use
from tools import search
from tools.catalogue import CatalogueTool
from tools.embed.cache import CachedEmbedder
from tools.past_use import WeighPastUse
from tools.search import SearchAnswer, SearchRequest
from tools.search_index_cache import SearchIndexCache
from tools.store.search import SearchScope


class CatalogueSearcher:
    """Searches by text, and by what the team's past requests say once its models are loaded.

    Args:
        embedder: Embeds queries.
        index: Holds the search index.
        rankers: Holds the fitted models of each team; the first search of a team requests them.
    """

    def __init__(
        self, *, embedder: CachedEmbedder, index: SearchIndexCache, rankers: RankerCache
    ) -> None:
        self._embedder = embedder
        self._index = index
        self._rankers = rankers

    async def search(self, request: SearchRequest) -> SearchAnswer:
        """Search; see `tools.search.search`."""
        return await run_in_database_thread(
            search.search,
            request,
            embedder=self._embedder,
            index=self._index.current,
            weigh=self._weigh_for(request.scope),
        )

    async def search_in_memory(
        self, request: SearchRequest, tools: Sequence[CatalogueTool]
    ) -> SearchAnswer:
        """Search without the database; see `tools.search.search_in_memory`."""
        return await run_in_worker_thread(
            search.search_in_memory,
            request,
            tools=tools,
            embedder=self._embedder,
            index=self._index.current,
            weigh=self._weigh_for(request.scope),
        )

    def _weigh_for(self, scope: SearchScope) -> WeighPastUse:
        return partial(
            weigh_past_use,
            index=self._index.current,
            embedder=self._embedder,
            models=self._rankers.find_or_request(scope.team),
            team=scope.team,
            within=scope.within,
        )
