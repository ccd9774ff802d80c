"""Keeps the thresholds of speculation in memory, so that no request waits for the database."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

import django.db
import structlog

from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.reasons import summarize_error
from learning.memory.context import ContextKey
from learning.thresholds.in_force import (
    StoredThreshold,
    ThresholdInForce,
    ThresholdScope,
    ThresholdTable,
)
from learning.thresholds.policy import Presets

DEBOUNCE_S: Final = 0.5
"""Predictions that are resolved together notify several times."""
RETRY_S: Final = 5.0
REFRESH_S: Final = 600.0
"""Thresholds are read again after this long even without a notification."""

log = structlog.get_logger(__name__)


class ThresholdCache:
    """The thresholds in force; reading them never waits.

    Until they are loaded, and for what nothing is known of, it is the preset of the domain or the
    default. While the database is away the last ones stay in force. Any thread may read; `run`
    and `invalidate` are for one event loop.
    """

    def __init__(self, presets: Presets) -> None:
        self._table = ThresholdTable(presets=presets)
        self._stale = asyncio.Event()
        self._stale.set()

    def find(self, team: int | None, key: ContextKey) -> ThresholdInForce:
        """Return the threshold in force for an intent of a team."""
        return self._table.find(team, key)

    def invalidate(self) -> None:
        """Mark the thresholds as stale: some may have changed."""
        self._stale.set()

    async def run(self) -> None:
        """Load thresholds, and load them again when they have changed, until cancelled."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(REFRESH_S):
                    await self._stale.wait()
            await asyncio.sleep(DEBOUNCE_S)
            self._stale.clear()
            try:
                await self.refresh()
            except django.db.Error as error:
                log.warning("thresholds.not_loaded", reason=summarize_error(error))
                self._stale.set()
                await asyncio.sleep(RETRY_S)

    async def refresh(self) -> None:
        """Load the thresholds now.

        Raises:
            django.db.Error: If the database is unavailable; the last ones stay in force.
        """
        stored = await run_in_database_thread(_load_stored)
        self._table = ThresholdTable(stored, self._table.presets)


def _load_stored() -> dict[ThresholdScope, StoredThreshold]:
    from learning.store import thresholds  # noqa: PLC0415 - not before a gateway serves

    return thresholds.load_stored()
