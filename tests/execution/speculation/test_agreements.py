"""A tool earns being served by agreeing with real calls, and loses it by one disagreement."""

import asyncio

import django.db
import pytest

from execution.speculation.agreements import (
    AGE_FACTOR,
    COMPARED_SHARE,
    NEEDED,
    AgreementCounts,
    AgreementKey,
    Agreements,
)
from tests.execution.speculation_setup import known_tool

TOOL = known_tool("git:show", pk=1)
TEAM = 7


class Shelf:
    """Counts that processes share."""

    def __init__(self):
        self.counts = {}
        self.draws = iter(())

    def open(self, draw=lambda: 1.0):
        return Agreements(load=self.load, store=self.store, draw=draw)

    async def load(self):
        return self.counts

    async def store(self, compared):
        for one in compared:
            counts = self.counts.get(one.key, AgreementCounts())
            self.counts[one.key] = counts.add(agreed=one.agreed, age_s=one.age_s)


@pytest.fixture
def shelf():
    return Shelf()


async def earned(shelf, *, ages=(2.0, 3.0, 4.0), **options):
    agreements = shelf.open(**options)
    for age_s in ages:
        agreements.record(TOOL, TEAM, agreed=True, age_s=age_s)
    await agreements.exchange()
    return agreements


async def test_nothing_is_served_until_several_results_agreed(shelf):
    agreements = await earned(shelf, ages=[5.0] * (NEEDED - 1))
    assert not agreements.is_served(TOOL, TEAM, 0.0)
    agreements.record(TOOL, TEAM, agreed=True, age_s=5.0)
    assert agreements.is_served(TOOL, TEAM, 5.0)


async def test_nothing_is_served_before_the_counts_are_loaded(shelf):
    await earned(shelf)
    other = shelf.open()
    assert not other.is_served(TOOL, TEAM, 0.0)
    await other.exchange()
    assert other.is_served(TOOL, TEAM, 0.0)


async def test_only_ages_that_agreed_often_enough_are_served(shelf):
    agreements = await earned(shelf, ages=[0.1, 0.2, 0.3, 50.0])
    assert agreements.is_served(TOOL, TEAM, AGE_FACTOR * 0.2)
    assert not agreements.is_served(TOOL, TEAM, AGE_FACTOR * 0.21)


async def test_one_disagreement_ends_it_in_every_process_and_after_a_restart(shelf):
    agreements = await earned(shelf)
    other = await earned(shelf, ages=())
    assert other.is_served(TOOL, TEAM, 1.0)
    assert not agreements.has_failed(TOOL, TEAM)
    agreements.record(TOOL, TEAM, agreed=False, age_s=1.0)
    assert agreements.has_failed(TOOL, TEAM)
    assert not agreements.has_failed(TOOL, None)
    assert not agreements.is_served(TOOL, TEAM, 1.0)
    await agreements.exchange()
    await other.exchange()
    assert not other.is_served(TOOL, TEAM, 1.0)
    for _ in range(50):
        other.record(TOOL, TEAM, agreed=True, age_s=1.0)
    assert not other.is_served(TOOL, TEAM, 1.0)


@pytest.mark.parametrize(
    "other", [known_tool("git:show", pk=2), known_tool("git:show", pk=1, definition_hash="c" * 64),
              known_tool("git:show", pk=1, launch_hash="c" * 64)]
)  # fmt: skip
async def test_another_definition_or_server_earns_it_anew(shelf, other):
    agreements = await earned(shelf)
    assert not agreements.is_served(other, TEAM, 1.0)


async def test_teams_earn_apart(shelf):
    agreements = await earned(shelf)
    assert not agreements.is_served(TOOL, None, 1.0)
    assert not agreements.is_served(TOOL, TEAM + 1, 1.0)


async def test_some_are_compared_for_ever(shelf):
    agreements = await earned(shelf, draw=lambda: COMPARED_SHARE / 2)
    assert not agreements.is_served(TOOL, TEAM, 1.0)


async def test_what_cannot_be_stored_is_kept_and_counts_here(shelf):
    agreements = await earned(shelf)
    store, failing = shelf.store, True

    async def fail(compared):
        if failing:
            raise django.db.OperationalError
        await store(compared)

    agreements._store = fail
    agreements.record(TOOL, TEAM, agreed=False, age_s=1.0)
    with pytest.raises(django.db.OperationalError):
        await agreements.exchange()
    assert not agreements.is_served(TOOL, TEAM, 1.0)
    failing = False
    await agreements.exchange()
    key = AgreementKey(TOOL.pk, TOOL.definition_hash, TOOL.launch_hash, TEAM)
    assert shelf.counts[key].disagreed == 1


async def test_what_was_recorded_last_is_stored_at_the_end(shelf):
    agreements = shelf.open()
    running = asyncio.create_task(agreements.run())
    await asyncio.sleep(0)
    agreements.record(TOOL, TEAM, agreed=False, age_s=1.0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert [counts.disagreed for counts in shelf.counts.values()] == [1]
