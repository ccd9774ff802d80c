"""Keeps the latencies of tools in memory, for estimates of saved time."""

from __future__ import annotations

import asyncio
from typing import Final

import structlog
from django.db import Error as DatabaseError

from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.reasons import summarize_error
from learning.latency import LatencyEstimate, LatencyTable

REFRESH_S: Final = 60.0
"""Latencies change slowly, and an estimate that is a minute old is as good."""

log = structlog.get_logger(__name__)


class LatencyCache:
    """The latencies of all tools, loaded again every minute."""

    def __init__(self) -> None:
        self._table = LatencyTable()

    def estimate_latency(self, team: int | None, tool: int) -> LatencyEstimate | None:
        """Return how long calls of a tool take; None: unknown. From any thread.

        Args:
            team: Primary key of the caller's team; None: a caller without one.
            tool: Primary key.
        """
        return self._table.estimate(team, tool)

    async def refresh(self) -> None:
        """Load the latencies; on a database error keep the old ones, and log."""
        try:
            self._table = await run_in_database_thread(_load_table)
        except DatabaseError as error:
            log.warning("latency.load_failed", reason=summarize_error(error))

    async def run(self) -> None:
        """Load the latencies again and again until cancelled."""
        while True:
            await self.refresh()
            await asyncio.sleep(REFRESH_S)


def _load_table() -> LatencyTable:
    from learning.store import experience  # noqa: PLC0415 - not before a gateway serves

    return LatencyTable(experience.load_latencies())
