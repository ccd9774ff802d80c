"""Ranks tools for intents with the models and the index that this process holds in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import django.db

from gateway_project.foundation.computing import run_in_worker_thread
from gateway_project.foundation.reasons import summarize_error
from graph import rank_intent
from graph.rank_intent import NOT_LOADED_MESSAGE, RankedIntent, RankingUnavailable
from graph.ranker_cache import RankerCache
from tools.embed.cache import CachedEmbedder
from tools.search_index_cache import SearchIndexCache

if TYPE_CHECKING:
    from graph.suggestion.intent.reading import IntentReading

INDEX_TIMEOUT_S: Final = 2.0
"""Usually enough for a gateway that has just started to read its catalogue."""
RANK_TIMEOUT_S: Final = 9.0
"""Covers the first intent of a process, which loads the model."""
RETRY_TIMEOUT_S: Final = 1.5
"""Timeout after a failure, until a ranking succeeds."""
FAILURE_COOLDOWN_S: Final = 5.0
"""After a failure, callers get an unranked draft at once for this long."""


class IntentRanker:
    """Ranks tools for intents; bound to one event loop.

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
        self._timeout_s = RANK_TIMEOUT_S
        self._failure = ""
        self._failed_until = 0.0
        self._waited_until = 0.0

    async def rank_tools(
        self, reading: IntentReading, team: int | None, considered: Sequence[int]
    ) -> RankedIntent:
        """Rank the tools visible to a team.

        After a database failure, ranking pauses for a while and then gets a shorter timeout.

        Raises:
            graph.rank_intent.RankingUnavailable: If the index, a model or the database is missing.
        """
        clock = asyncio.get_running_loop().time
        if clock() < self._failed_until:
            raise RankingUnavailable(self._failure)
        try:
            async with asyncio.timeout(self._timeout_s):
                ranked = await self._rank_encoded(reading, team, considered)
        except (django.db.Error, TimeoutError) as error:
            timed_out = f"no answer within {self._timeout_s:g} s"
            is_timeout = isinstance(error, TimeoutError)
            self._failure = timed_out if is_timeout else summarize_error(error)
            self._failed_until = clock() + FAILURE_COOLDOWN_S
            self._timeout_s = RETRY_TIMEOUT_S
            raise RankingUnavailable(self._failure) from None
        self._timeout_s = RANK_TIMEOUT_S
        return ranked

    async def _rank_encoded(
        self, reading: IntentReading, team: int | None, considered: Sequence[int]
    ) -> RankedIntent:
        await self._require_index()
        index, models = rank_intent.require_usable_models(
            self._index.current, await self._rankers.get(team), model=self._embedder.model
        )
        encoded = await run_in_worker_thread(
            rank_intent.encode_intent, reading, embedder=self._embedder
        )
        return await run_in_worker_thread(
            rank_intent.rank_encoded,
            encoded,
            index=index,
            models=models,
            team=team,
            considered=considered,
        )

    async def _require_index(self) -> None:
        """Wait briefly for the index; after a timeout, do not wait again for a while.

        Raises:
            RankingUnavailable: If it is not loaded yet.
        """
        clock = asyncio.get_running_loop().time
        if not self._index.is_loaded and clock() >= self._waited_until:
            with suppress(TimeoutError):
                async with asyncio.timeout(INDEX_TIMEOUT_S):
                    await self._index.wait_until_loaded()
            if not self._index.is_loaded:
                self._waited_until = clock() + FAILURE_COOLDOWN_S
        if not self._index.is_loaded:
            raise RankingUnavailable(NOT_LOADED_MESSAGE)
