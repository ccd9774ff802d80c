"""Thresholds in memory follow the database and never wait for it."""

import asyncio

import django.db
import pytest

from learning import threshold_cache
from learning.memory.context import ContextKey
from learning.threshold_cache import ThresholdCache
from learning.thresholds.in_force import StoredThreshold, ThresholdScope
from learning.thresholds.policy import INITIAL_THRESHOLD, Preset
from tests.patience import PATIENCE_S

KEY = ContextKey(context=11, domain=1)


async def until(condition):
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 - a task of the cache sets no event
            await asyncio.sleep(0.001)


class Store:
    """Stored thresholds; may be away."""

    def __init__(self):
        self.threshold = 0.80
        self.is_away = False
        self.loads = 0

    def load(self):
        self.loads += 1
        if self.is_away:
            raise django.db.OperationalError("away")
        return {ThresholdScope(None, 1, 11): StoredThreshold(threshold=self.threshold)}


@pytest.fixture
def store(monkeypatch):
    made = Store()
    monkeypatch.setattr(threshold_cache, "_load_stored", made.load)
    monkeypatch.setattr(threshold_cache, "DEBOUNCE_S", 0.0)
    monkeypatch.setattr(threshold_cache, "RETRY_S", 0.0)

    async def run_here(function):
        return function()

    monkeypatch.setattr(threshold_cache, "run_in_database_thread", run_here)
    return made


@pytest.fixture
async def cache(store):
    made = ThresholdCache({})
    running = asyncio.create_task(made.run())
    yield made
    running.cancel()


def test_before_loading_it_is_the_preset_or_the_initial_threshold():
    assert ThresholdCache({}).find(None, KEY).value == INITIAL_THRESHOLD
    assert ThresholdCache({1: Preset(initial=0.8)}).find(None, KEY).value == 0.8


async def test_thresholds_are_loaded_at_the_start_and_after_a_change(store, cache):
    await until(lambda: cache.find(None, KEY).value == 0.80)
    store.threshold = 0.75
    cache.invalidate()
    await until(lambda: cache.find(None, KEY).value == 0.75)
    assert store.loads == 2


async def test_thresholds_are_loaded_again_after_a_while(store, cache, monkeypatch):
    await until(lambda: store.loads == 1)
    monkeypatch.setattr(threshold_cache, "REFRESH_S", 0.001)
    cache.invalidate()
    await until(lambda: store.loads >= 4)


async def test_the_last_thresholds_stay_in_force_while_the_database_is_away(store, cache):
    await until(lambda: cache.find(None, KEY).value == 0.80)
    store.is_away, store.threshold = True, 0.75
    cache.invalidate()
    await until(lambda: store.loads >= 3)
    assert cache.find(None, KEY).value == 0.80
    store.is_away = False
    await until(lambda: cache.find(None, KEY).value == 0.75)
