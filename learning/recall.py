"""Keeps in memory how each team's suggestions turned out, context by context."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

import django.db
import structlog

from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.reasons import summarize_error
from learning.memory.context import ContextKey
from learning.memory.outcomes_of_context import NO_OUTCOMES, ContextOutcomes

REFRESH_INTERVAL_S: Final = 60.0

log = structlog.get_logger(__name__)


class OutcomeRecall:
    """Recalls the outcomes of a context without the database; until they are loaded, none.

    Any thread may recall; `run` is for one event loop.
    """

    def __init__(self) -> None:
        self._outcomes: Mapping[tuple[int | None, int], ContextOutcomes] = {}

    def recall(self, team: int | None, context: ContextKey) -> ContextOutcomes:
        """Return the outcomes of a team's own suggestions in a context.

        Args:
            team: Primary key; None: callers without a team.
            context: The context.
        """
        return self._outcomes.get((team, context.context), NO_OUTCOMES)

    async def run(self) -> None:
        """Load outcomes periodically until cancelled; the last ones stay while that fails."""
        while True:
            try:
                await self.refresh()
            except django.db.Error as error:
                log.warning("events.recall_failed", reason=summarize_error(error))
            await asyncio.sleep(REFRESH_INTERVAL_S)

    async def refresh(self) -> None:
        """Load all outcomes.

        Raises:
            django.db.Error: If the database is unavailable.
        """
        self._outcomes = await run_in_database_thread(_load_outcomes)


def _load_outcomes() -> Mapping[tuple[int | None, int], ContextOutcomes]:
    from learning.store import events  # noqa: PLC0415 - not before a gateway serves

    return events.load_outcomes()
