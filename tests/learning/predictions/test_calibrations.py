"""Each team's confidences are corrected by its own outcomes, once these prove something."""

import asyncio
from datetime import UTC, datetime
from uuid import uuid4

import django.db
import pytest
from django.db import transaction

from execution.speculation.outcome import Verdict
from execution.store import speculations
from execution.store.speculations import NewSpeculation
from gateway_project.foundation.database import run_in_database_thread
from learning.calibration import IDENTITY
from learning.predictions import calibrations
from learning.predictions.calibrations import CalibrationCache
from tests.factories import TeamFactory
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.django_db(transaction=True)

AT = datetime(2026, 11, 23, 12, tzinfo=UTC)


@transaction.atomic
def reject(team, count):
    """Record suggestions that were nearly certain, and that were all wrong."""
    for _ in range(count):
        new = NewSpeculation(
            id=uuid4(), user="ann", team=team, context_hash=1, domain_hash=2, confidence=0.5,
            ranked_confidence=0.9, threshold=0.92, is_admitted=False, is_runnable=True, tools=(),
            digest="d" * 64, at=AT,
        )  # fmt: skip
        speculations.insert_speculations([new])
        speculations.record_verdict(
            new.id, Verdict.REJECT, allowed=lambda _team, _user: True, at=AT
        )


async def test_a_teams_outcomes_correct_its_own_confidences_only():
    team = (await run_in_database_thread(TeamFactory)).pk
    await run_in_database_thread(reject, team, 60)
    cache = CalibrationCache()
    assert cache.find_calibration(team) == cache.find_calibration(None) == IDENTITY
    await cache.refresh()
    assert cache.find_calibration(team).apply(0.9) < 0.7
    assert cache.find_calibration(None) == IDENTITY


async def test_new_outcomes_count_once_they_are_announced():
    cache = CalibrationCache()
    cache.find_calibration(None)
    await cache.refresh()
    await run_in_database_thread(reject, None, 60)
    await cache.refresh()
    assert cache.find_calibration(None) == IDENTITY
    cache.invalidate(None)
    await cache.refresh()
    assert cache.find_calibration(None) != IDENTITY


async def test_in_the_background_they_are_fitted_when_asked_for_and_after_an_outage(monkeypatch):
    monkeypatch.setattr(calibrations, "RETRY_S", 0.0)
    await run_in_database_thread(reject, None, 60)
    real, failures = calibrations.fit_team, [django.db.OperationalError("away")]

    def fit(team):
        if failures:
            raise failures.pop()
        return real(team)

    monkeypatch.setattr(calibrations, "fit_team", fit)
    cache = CalibrationCache()
    background = asyncio.ensure_future(cache.run())
    async with asyncio.timeout(PATIENCE_S):
        while cache.find_calibration(None) == IDENTITY:
            await run_in_database_thread(int)
    background.cancel()
    assert not failures
