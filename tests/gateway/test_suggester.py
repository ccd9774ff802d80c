"""Ranking with what a process keeps in memory, and without the database."""

import asyncio
import threading

import django.db
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

pytestmark = pytest.mark.django_db(transaction=True)

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
    for name in ("MODELS_TIMEOUT_S", "WORDS_TIMEOUT_S", "FAILURE_COOLDOWN_S"):
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
def encode_as(index, monkeypatch):
    """Make a loader whose database answers as a function does."""

    def made(encode):
        monkeypatch.setattr(
            rank_intent, "_require_usable_models", lambda *_args, **_more: (None, None)
        )
        monkeypatch.setattr(rank_intent, "encode_intent", encode)
        monkeypatch.setattr(rank_intent, "rank_encoded", lambda *_args, **_more: FOUND)
        index._read.set()
        return make_loader(index)

    return made


async def test_a_catalogue_that_is_being_read_is_waited_for_a_little(
    encode_as, index, monkeypatch
):
    loader = encode_as(lambda *_: None)
    index._read.clear()
    monkeypatch.setattr(suggester, "INDEX_TIMEOUT_S", 10 * PATIENCE_S)
    async with asyncio.TaskGroup() as group, asyncio.timeout(PATIENCE_S):
        waiting = group.create_task(rank(loader))
        await asyncio.sleep(0)
        index._read.set()
    assert waiting.result() is FOUND


async def test_one_that_is_not_read_yet_and_one_that_is_too_large_are_told_apart(index):
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


async def test_a_database_that_hangs_is_waited_for_once(encode_as, monkeypatch):
    monkeypatch.setattr(suggester, "WORDS_TIMEOUT_S", 0.05)
    answers, calls = threading.Event(), []

    def hang(*_args):
        calls.append(1)
        answers.wait(PATIENCE_S)

    loader = encode_as(hang)
    try:
        for _ in range(3):
            with pytest.raises(RankingUnavailable, match=r"no answer within 0\.05 s"):
                await rank(loader)
        assert len(calls) <= 1  # not even once where the time was up before it was asked
        answers.set()
        monkeypatch.setattr(loader, "_failed_until", 0.0)
        assert await rank(loader) is FOUND
    finally:
        answers.set()


async def test_what_the_driver_says_is_cut_to_one_line(encode_as):
    def refuse(*_args):
        raise django.db.OperationalError("refused\nIs the server running on 10.0.0.5?")

    loader = encode_as(refuse)
    for _ in range(2):
        with pytest.raises(RankingUnavailable) as error:
            await rank(loader)
        assert str(error.value) == "refused"


async def test_vectors_and_rankings_occupy_no_thread_of_the_database(encode_as, monkeypatch):
    threads = {}

    def note(name, value=None):
        def noted(*_args, **_more):
            threads[name] = threading.current_thread().name.partition("_")[0]
            return value

        return noted

    loader = encode_as(note("words"))
    monkeypatch.setattr(loader._embedder, "embed", note("vectors"))
    monkeypatch.setattr(rank_intent, "rank_encoded", note("ranking", FOUND))
    await rank(loader)
    assert threads == {"vectors": "computing", "words": "database", "ranking": "computing"}
