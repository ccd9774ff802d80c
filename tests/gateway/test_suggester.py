"""Ranking with what a process keeps in memory, and without the database."""

import asyncio

import pytest

from gateway_project.foundation.computing import run_in_worker_thread
from gateway_project.wiring import suggester
from gateway_project.wiring.suggester import RankerLoader
from graph import rank_intent
from graph.rank_intent import (
    NOT_LOADED_MESSAGE,
    TOO_LARGE_MESSAGE,
    RankedIntent,
    RankingUnavailable,
)
from graph.suggestion.intent.reading import read_intent
from tests.fakes import FakeEmbedder
from tests.graph.suggestion.workflow.builders import ranked, ranking
from tests.patience import PATIENCE_S
from tools.embed.cache import CachedEmbedder
from tools.search_index_cache import SearchIndexCache

READ = read_intent("show the log")
FOUND = RankedIntent(ranking=ranking(ranked(1)))


class Rankers:
    """Models that are in memory, or that a function reads from the database."""

    def __init__(self, read=None):
        self.read = read

    def find(self, _team):
        return None if self.read else object()

    async def load(self, _team):
        return await self.read()


@pytest.fixture
def index(monkeypatch):
    # What a test is to see waited for in vain, it makes short itself.
    for name in ("MODELS_TIMEOUT_S", "RETRY_TIMEOUT_S", "FAILURE_COOLDOWN_S"):
        monkeypatch.setattr(suggester, name, 10 * PATIENCE_S)
    monkeypatch.setattr(suggester, "INDEX_TIMEOUT_S", 0.01)
    return SearchIndexCache("fake", max_bytes=1)


def make_loader(index, rankers=None):
    return RankerLoader(
        embedder=CachedEmbedder(FakeEmbedder()), index=index, rankers=rankers or Rankers()
    )


async def rank(loader):
    return await run_in_worker_thread(await loader.load_ranker(None), READ, ())


@pytest.fixture
def ranking_found(monkeypatch):
    """Have every ranking with loaded models find the same."""
    monkeypatch.setattr(
        rank_intent, "_require_usable_models", lambda *_args, **_more: (None, None)
    )
    monkeypatch.setattr(rank_intent, "rank_encoded", lambda *_args, **_more: FOUND)


async def test_an_unloaded_and_an_oversized_index_are_distinguished(index):
    loader = make_loader(index)
    with pytest.raises(RankingUnavailable) as early:
        await rank(loader)
    index._read.set()
    with pytest.raises(RankingUnavailable) as never:
        await rank(loader)
    assert (str(early.value), str(never.value)) == (NOT_LOADED_MESSAGE, TOO_LARGE_MESSAGE)


async def test_a_wait_in_vain_is_not_repeated_at_once(index, monkeypatch):
    loader = make_loader(index)
    with pytest.raises(RankingUnavailable):
        await rank(loader)
    monkeypatch.setattr(suggester, "INDEX_TIMEOUT_S", 10 * PATIENCE_S)
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(RankingUnavailable):
            await rank(loader)


async def test_models_that_are_not_read_in_time_are_waited_for_once(index, monkeypatch):
    monkeypatch.setattr(suggester, "MODELS_TIMEOUT_S", 0.05)
    index._read.set()
    calls = []

    async def hang():
        calls.append(1)
        await asyncio.Event().wait()

    loader = make_loader(index, Rankers(hang))
    for _ in range(3):
        with pytest.raises(RankingUnavailable, match=r"no answer within 0\.05 s"):
            await rank(loader)
    assert calls == [1]


@pytest.mark.usefixtures("ranking_found")
async def test_models_in_memory_need_no_database_that_hangs(index, monkeypatch):
    monkeypatch.setattr(suggester, "MODELS_TIMEOUT_S", 0.05)
    index._read.set()
    rankers = Rankers(asyncio.Event().wait)
    loader = make_loader(index, rankers)
    with pytest.raises(RankingUnavailable):
        await rank(loader)
    rankers.read = None
    assert await rank(loader) is FOUND
