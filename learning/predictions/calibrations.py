"""Keeps the corrections of confidences in memory, team by team."""

from __future__ import annotations

import asyncio
from typing import Final

import django.db
import structlog

from execution.speculation.outcome import ResolvedSpeculation
from execution.store import speculations
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.reasons import summarize_error
from learning.calibration import IDENTITY, CalibrationMap, JudgedConfidence, choose_correction

MAX_OUTCOMES: Final = 1_000
"""Newest outcomes of a team that a correction is fitted to; some 50 ms."""
REST_S: Final = 60.0
"""Rest between two fits, so that a busy team's outcomes cost little."""
RETRY_S: Final = 5.0

log = structlog.get_logger(__name__)


class CalibrationCache:
    """The corrections of the teams that ask for them; reading one never waits.

    Any thread may read; the other methods are for one event loop. Until a team's outcomes are
    loaded, and while they prove nothing, its correction is the identity.
    """

    def __init__(self) -> None:
        self._maps: dict[int | None, CalibrationMap] = {}
        self._stale: set[int | None] = set()
        self._wake = asyncio.Event()

    def find_calibration(self, team: int | None) -> CalibrationMap:
        """Return the correction of a team; have it loaded if it is not in memory."""
        found = self._maps.get(team)
        if found is None:
            self.invalidate(team)
            return IDENTITY
        return found

    def invalidate(self, team: int | None) -> None:
        """Have a team's correction fitted again."""
        self._stale.add(team)
        self._wake.set()

    async def run(self) -> None:
        """Fit corrections until cancelled."""
        while True:
            await self._wake.wait()
            try:
                await self.refresh()
                await asyncio.sleep(REST_S)
            except django.db.Error as error:
                log.warning("calibration.not_loaded", reason=summarize_error(error))
                await asyncio.sleep(RETRY_S)
                self._wake.set()

    async def refresh(self) -> None:
        """Fit the corrections that are asked for or stale.

        Raises:
            django.db.Error: If the database is unavailable; the last ones stay in force.
        """
        self._wake.clear()
        for team in list(self._stale):
            self._maps[team] = await run_in_database_thread(fit_team, team)
            self._stale.discard(team)


def fit_team(team: int | None) -> CalibrationMap:
    """Return the correction that a team's outcomes justify; blocking."""
    resolved = speculations.load_resolved(team, limit=MAX_OUTCOMES, within_shares=True)
    return choose_correction(list_judged(resolved))


def list_judged(resolved: list[ResolvedSpeculation]) -> list[JudgedConfidence]:
    """Return the confidences as ranked, with whether their tools were the right ones.

    Drafts from words were not ranked, and say nothing.
    """
    return [
        JudgedConfidence(one.ranked_confidence, one.has_right_tools, one.weight)
        for one in resolved
        if one.says_of_tools and one.ranked_confidence
    ]
