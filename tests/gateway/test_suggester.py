"""Ranking with what a process keeps in memory, and without the database."""

import asyncio
import threading

import django.db
import pytest

from gateway_project.wiring import suggester
from gateway_project.wiring.suggester import IntentRanker
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
    async def get(self, _team):
        return object()


@pytest.fixture
def index(monkeypatch):
    # What a test is to see waited for in vain, it makes short itself.
    for name in ("RANK_TIMEOUT_S", "RETRY_TIMEOUT_S", "FAILURE_COOLDOWN_S"):
        monkeypatch.setattr(suggester, name, 10 * PATIENCE_S)
    monkeypatch.setattr(suggester, "INDEX_TIMEOUT_S", 0.01)
    return SearchIndexCache("fake", max_bytes=1)


@pytest.fixture
def asked(index, monkeypatch):
    """Make a suggester whose database answers as a function does."""

    def made(encode):
        monkeypatch.setattr(
            rank_intent, "require_usable_models", lambda *_args, **_more: (None, None)
        )
        monkeypatch.setattr(rank_intent, "encode_intent", encode)
        monkeypatch.setattr(rank_intent, "rank_encoded", lambda *_args, **_more: FOUND)
        index._read.set()
        return IntentRanker(
            embedder=CachedEmbedder(FakeEmbedder()), index=index, rankers=Rankers()
        )

    return made


async def test_a_catalogue_that_is_being_read_is_waited_for_a_little(index, monkeypatch):
    monkeypatch.setattr(suggester, "INDEX_TIMEOUT_S", 10 * PATIENCE_S)
    monkeypatch.setattr(rank_intent, "require_usable_models", lambda *_args, **_more: (None, None))
    monkeypatch.setattr(rank_intent, "encode_intent", lambda *_args, **_more: None)
    monkeypatch.setattr(rank_intent, "rank_encoded", lambda *_args, **_more: FOUND)
    one = IntentRanker(embedder=CachedEmbedder(FakeEmbedder()), index=index, rankers=Rankers())
    async with asyncio.TaskGroup() as group, asyncio.timeout(PATIENCE_S):
        waiting = group.create_task(one.rank_tools(READ, None, ()))
        await asyncio.sleep(0)
        index._read.set()
    assert waiting.result() is FOUND


async def test_one_that_is_not_read_yet_and_one_that_is_too_large_are_told_apart(index):
    one = IntentRanker(embedder=CachedEmbedder(FakeEmbedder()), index=index, rankers=Rankers())
    with pytest.raises(RankingUnavailable) as early:
        await one.rank_tools(READ, None, ())
    index._read.set()
    with pytest.raises(RankingUnavailable) as never:
        await one.rank_tools(READ, None, ())
    assert (str(early.value), str(never.value)) == (NOT_LOADED_MESSAGE, TOO_LARGE_MESSAGE)


async def test_a_wait_in_vain_is_not_repeated_at_once(index, monkeypatch):
    one = IntentRanker(embedder=CachedEmbedder(FakeEmbedder()), index=index, rankers=Rankers())
    with pytest.raises(RankingUnavailable):
        await one.rank_tools(READ, None, ())
    monkeypatch.setattr(suggester, "INDEX_TIMEOUT_S", 10 * PATIENCE_S)
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(RankingUnavailable):
            await one.rank_tools(READ, None, ())


async def test_a_database_that_hangs_is_waited_for_once(asked, monkeypatch):
    monkeypatch.setattr(suggester, "RANK_TIMEOUT_S", 0.05)
    answers, calls = threading.Event(), []

    def hang(*_args, **_more):
        calls.append(1)
        answers.wait(PATIENCE_S)

    one = asked(hang)
    try:
        for _ in range(3):
            with pytest.raises(RankingUnavailable, match=r"no answer within 0\.05 s"):
                await one.rank_tools(READ, None, ())
        assert len(calls) <= 1  # not even once where the time was up before it was asked
        answers.set()
        monkeypatch.setattr(one, "_failed_until", 0.0)
        assert await one.rank_tools(READ, None, ()) is FOUND
    finally:
        answers.set()


async def test_what_the_driver_says_is_cut_to_one_line(asked):
    def refuse(*_args, **_more):
        raise django.db.OperationalError("refused\nIs the server running on 10.0.0.5?")

    one = asked(refuse)
    for _ in range(2):
        with pytest.raises(RankingUnavailable) as error:
            await one.rank_tools(READ, None, ())
        assert str(error.value) == "refused"


async def test_encoding_and_ranking_occupy_no_thread_of_the_database(asked, monkeypatch):
    threads = {}

    def note(name, value=None):
        def noted(*_args, **_more):
            threads[name] = threading.current_thread().name.partition("_")[0]
            return value

        return noted

    one = asked(note("encoding"))
    monkeypatch.setattr(rank_intent, "rank_encoded", note("ranking", FOUND))
    await one.rank_tools(READ, None, ())
    assert threads == {"encoding": "computing", "ranking": "computing"}
