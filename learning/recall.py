"""Keeps in memory how each team's suggestions turned out, context by context."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import django.db
import structlog

from execution.speculation.outcome import OutcomeSum
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.reasons import summarize_error
from learning.calibration import CalibrationMap
from learning.memory.context import ContextKey
from learning.memory.outcomes_of_context import ContextOutcomes, build_outcomes

REFRESH_INTERVAL_S: Final = 60.0

log = structlog.get_logger(__name__)


class OutcomeRecall:
    """Recalls the outcomes of a context without the database; until they are loaded, none.

    For one event loop.
    """

    def __init__(self, find_calibration: Callable[[int | None], CalibrationMap]) -> None:
        self._find_calibration = find_calibration
        self._sums: Mapping[tuple[int | None, int], Sequence[OutcomeSum]] = {}

    def recall(self, team: int | None, context: ContextKey) -> ContextOutcomes:
        """Return the outcomes of a team's own suggestions in a context."""
        sums = self._sums.get((team, context.context), ())
        return build_outcomes(sums, self._find_calibration(team))

    async def run(self) -> None:
        """Load outcomes periodically until cancelled; the last ones stay while that fails."""
        while True:
            try:
                await self.refresh()
            except django.db.Error as error:
                log.warning("outcomes.not_loaded", reason=summarize_error(error))
            await asyncio.sleep(REFRESH_INTERVAL_S)

    async def refresh(self) -> None:
        """Load all outcomes.

        Raises:
            django.db.Error: If the database is unavailable.
        """
        sums = defaultdict(list)
        for one in await run_in_database_thread(_load_sums):
            sums[one.team, one.context_hash].append(one)
        self._sums = dict(sums)


def _load_sums() -> list[OutcomeSum]:
    from execution.store import outcome_sums  # noqa: PLC0415 - not before a gateway serves

    return outcome_sums.sum_outcomes()
