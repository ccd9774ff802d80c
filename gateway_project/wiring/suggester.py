"""Ranks tools for intents with what this process keeps in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import django.db

from gateway_project.foundation.computing import computed
from gateway_project.foundation.database import in_database
from gateway_project.foundation.reasons import first_line
from graph import rank_intent
from graph.kept_rankers import KeptRankers
from graph.rank_intent import NOT_READ, NotRanked, Ranked
from tools.embed.cache import CachedEmbedder
from tools.kept_index import KeptIndex

if TYPE_CHECKING:
    from graph.intent.reading import Reading

START_WAIT_S: Final = 2.0
"""A gateway that has just started reads its catalogue within that time as a rule."""
RANK_TIMEOUT_S: Final = 9.0
"""Covers the first intent of a process, which loads the model."""
AGAIN_TIMEOUT_S: Final = 1.5
"""After a failure, until one is ranked again."""
LATELY_S: Final = 5.0
"""So long after a failure nothing is tried: callers get their draft at once."""


class Suggester:
    """Ranks tools for intents; for one event loop.

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
        self._timeout_s = RANK_TIMEOUT_S
        self._failure = ""
        self._failed_until = 0.0
        self._waited_until = 0.0

    async def rank(self, reading: Reading, team: int | None, considered: Sequence[int]) -> Ranked:
        """Rank the tools that a team sees.

        After a failure of the database nothing is tried for a while, and then not for long.

        Raises:
            graph.rank_intent.NotRanked: If something is missing for it.
        """
        clock = asyncio.get_running_loop().time
        if clock() < self._failed_until:
            raise NotRanked(self._failure)
        try:
            async with asyncio.timeout(self._timeout_s):
                ranked = await self._rank(reading, team, considered)
        except (django.db.Error, TimeoutError) as error:
            late = f"no answer within {self._timeout_s:g} s"
            self._failure = late if isinstance(error, TimeoutError) else first_line(error)
            self._failed_until = clock() + LATELY_S
            self._timeout_s = AGAIN_TIMEOUT_S
            raise NotRanked(self._failure) from None
        self._timeout_s = RANK_TIMEOUT_S
        return ranked

    async def _rank(self, reading: Reading, team: int | None, considered: Sequence[int]) -> Ranked:
        await self._started()
        index, kept = rank_intent.usable(
            self._index.current, await self._rankers.get(team), model=self._embedder.model
        )
        await computed(rank_intent.embed, reading, embedder=self._embedder)
        # What was just embedded is remembered, so that this only asks for the words.
        encoded = await in_database(rank_intent.encode, reading, embedder=self._embedder)
        return await computed(
            rank_intent.rank_encoded,
            encoded,
            index=index,
            kept=kept,
            team=team,
            considered=considered,
        )

    async def _started(self) -> None:
        """Wait a little for the catalogue; not again soon where that was in vain.

        Raises:
            NotRanked: If it is not there yet.
        """
        clock = asyncio.get_running_loop().time
        if not self._index.is_read and clock() >= self._waited_until:
            with suppress(TimeoutError):
                async with asyncio.timeout(START_WAIT_S):
                    await self._index.read()
            if not self._index.is_read:
                self._waited_until = clock() + LATELY_S
        if not self._index.is_read:
            raise NotRanked(NOT_READ)
