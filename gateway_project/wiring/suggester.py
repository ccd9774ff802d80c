"""Ranks tools for intents with the models and the index that this process holds in memory."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

import django.db

from gateway_project.foundation.database import call_in_database_thread
from gateway_project.foundation.reasons import summarize_error
from graph import rank_intent
from graph.rank_intent import (
    NOT_LOADED_MESSAGE,
    RankingUnavailable,
    RankTools,
    refuse_to_rank,
)
from graph.ranker_cache import RankerCache
from tools.embed.cache import CachedEmbedder
from tools.search_index_cache import SearchIndexCache

if TYPE_CHECKING:
    from graph.ranker_cache import TeamModels
    from graph.suggestion.intent.encoded import EncodedIntent
    from graph.suggestion.intent.reading import IntentReading
    from tools.embed.embedder import Embedder

INDEX_TIMEOUT_S: Final = 2.0
"""Usually enough for a gateway that has just started to read its catalogue."""
MODELS_TIMEOUT_S: Final = 9.0
"""For the first intent of a team, which loads its models."""
WORDS_TIMEOUT_S: Final = 1.5
"""For the words of an intent; after a failure also for models, until the database answers."""
FAILURE_COOLDOWN_S: Final = 5.0
"""After a failure, callers get an unranked draft at once for this long."""


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

    async def load_ranker(self, team: int | None) -> RankTools:
        """Return a ranking of a team's tools by the index and the models in force.

        Waits briefly for what is not in memory yet. After a database failure, ranking pauses for
        a while and then gets a shorter timeout.
        """
        await self._wait_for_index()
        if not self._index.is_loaded:
            return refuse_to_rank(NOT_LOADED_MESSAGE)
        try:
            models = self._rankers.find(team) or await self._load_models(team)
        except RankingUnavailable as error:
            return refuse_to_rank(str(error))
        return partial(
            rank_intent.rank_intent,
            index=self._index.current,
            embedder=self._embedder,
            models=models,
            team=team,
            encode=self._encode_intent,
        )

    async def _wait_for_index(self) -> None:
        """Wait briefly for the index; after a timeout, do not wait again for a while."""
        if self._index.is_loaded or time.monotonic() < self._waited_until:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(INDEX_TIMEOUT_S):
                await self._index.wait_until_loaded()
        if not self._index.is_loaded:
            self._waited_until = time.monotonic() + FAILURE_COOLDOWN_S

    async def _load_models(self, team: int | None) -> TeamModels | None:
        self._require_database()
        try:
            async with asyncio.timeout(self._models_timeout_s):
                return await self._rankers.load(team)
        except TimeoutError:
            reason = f"no answer within {self._models_timeout_s:g} s"
            raise self._pause_ranking(reason) from None

    def _encode_intent(self, reading: IntentReading, embedder: Embedder) -> EncodedIntent:
        """Embed an intent in this thread, and look up its words in one of the database."""
        self._require_database()
        embedder.embed(list(reading.distinct_texts), kind="query")
        try:
            # The embedding is cached, so this only queries the database for the words.
            encoded = call_in_database_thread(
                WORDS_TIMEOUT_S, rank_intent.encode_intent, reading, embedder
            )
        except TimeoutError:
            raise self._pause_ranking(f"no answer within {WORDS_TIMEOUT_S:g} s") from None
        except django.db.Error as error:
            raise self._pause_ranking(summarize_error(error)) from None
        self._models_timeout_s = MODELS_TIMEOUT_S
        return encoded

    def _require_database(self) -> None:
        if time.monotonic() < self._failed_until:
            raise RankingUnavailable(self._failure)

    def _pause_ranking(self, reason: str) -> RankingUnavailable:
        self._failure = reason
        self._failed_until = time.monotonic() + FAILURE_COOLDOWN_S
        self._models_timeout_s = WORDS_TIMEOUT_S
        return RankingUnavailable(reason)
