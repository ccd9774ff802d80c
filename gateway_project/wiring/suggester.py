"""Loads what ranking needs into memory: the search index and the models of a team."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from gateway_project.foundation.computing import run_in_worker_thread
from gateway_project.foundation.database import run_in_database_thread
from graph.rank_intent import NOT_LOADED_MESSAGE, RankTools, rank_intent, refuse_to_rank
from graph.ranker_cache import RankerCache, TeamModels
from graph.weigh_past_use import weigh_past_use
from tools import search
from tools.catalogue import CatalogueTool
from tools.embed.cache import CachedEmbedder
from tools.fusion import WeighPastUse
from tools.search import SearchAnswer, SearchRequest
from tools.search_index_cache import SearchIndexCache
from tools.store.search import SearchScope

INDEX_TIMEOUT_S: Final = 2.0
"""Usually enough for a gateway that has just started to read its catalogue."""
MODELS_TIMEOUT_S: Final = 9.0
"""For the first intent of a team, which loads its models."""
RETRY_TIMEOUT_S: Final = 1.5
"""Timeout for models after one that passed, until some are loaded."""
FAILURE_COOLDOWN_S: Final = 5.0
"""After a timeout, callers get an unranked draft at once for this long."""


class RankerLoader:
    """Loads rankings; bound to one event loop.

    Args:
        embedder: Embeds intents.
        index: Holds the search index.
        rankers: Holds the fitted models of each team.
    """

    def __init__(
        self, *, embedder: CachedEmbedder, index: SearchIndexCache, rankers: RankerCache
    ) -> None:
        self._embedder = embedder
        self._index = index
        self._rankers = rankers
        self._models_timeout_s = MODELS_TIMEOUT_S
        self._failure = ""
        self._failed_until = 0.0
        self._waited_until = 0.0

    async def load_ranker(
        self, team: int | None, within: frozenset[int] | None = None
    ) -> RankTools:
        """Return a ranking of a team's tools by the index and the models in force.

        Waits briefly for what is not in memory yet. After a timeout, those that wait for models
        are refused for a while, and then wait less.

        Args:
            team: Primary key of the caller's team.
            within: Primary keys of the only tools that exist for the caller; None: all that its
                team sees.
        """
        await self._wait_for_index()
        if not self._index.is_loaded:
            return refuse_to_rank(NOT_LOADED_MESSAGE)
        models, clock = self._rankers.find(team), asyncio.get_running_loop().time
        if models is None:
            if clock() < self._failed_until:
                return refuse_to_rank(self._failure)
            try:
                async with asyncio.timeout(self._models_timeout_s):
                    models = await self._rankers.load(team)
            except TimeoutError:
                self._failure = f"no answer within {self._models_timeout_s:g} s"
                self._failed_until = clock() + FAILURE_COOLDOWN_S
                self._models_timeout_s = RETRY_TIMEOUT_S
                return refuse_to_rank(self._failure)
            self._models_timeout_s = MODELS_TIMEOUT_S
        return self._rank_with(models, team, within)

    def find_ranker(self, team: int | None, within: frozenset[int] | None = None) -> RankTools:
        """Return the same ranking if all that it needs is in memory, else one that refuses."""
        models = self._rankers.find(team)
        if not self._index.is_loaded or models is None:
            return refuse_to_rank(NOT_LOADED_MESSAGE)
        return self._rank_with(models, team, within)

    def _rank_with(
        self, models: TeamModels | None, team: int | None, within: frozenset[int] | None
    ) -> RankTools:
        return partial(
            rank_intent,
            index=self._index.current,
            embedder=self._embedder,
            models=models,
            team=team,
            within=within,
            read=self._embedder.read,
        )

    async def _wait_for_index(self) -> None:
        """Wait briefly for the index; after a timeout, do not wait again for a while."""
        clock = asyncio.get_running_loop().time
        if self._index.is_loaded or clock() < self._waited_until:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(INDEX_TIMEOUT_S):
                await self._index.wait_until_loaded()
        if not self._index.is_loaded:
            self._waited_until = clock() + FAILURE_COOLDOWN_S


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
