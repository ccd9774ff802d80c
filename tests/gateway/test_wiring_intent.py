"""A gateway as it is wired suggests workflows."""

import asyncio
from contextlib import suppress

import pytest
from django.conf import settings as django_settings

from gateway_project import flow, wiring
from gateway_project.find import fallback
from gateway_project.foundation.computing import run_in_worker_thread
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.intent.answer import IntentRequest
from gateway_project.readiness import NotReady, Readiness
from gateway_project.wiring import suggester
from graph.rank_intent import RankingUnavailable
from graph.suggestion.intent.reading import read_intent
from tests.factories import ToolFactory, UserFactory
from tests.fakes import FakeEmbedder
from tests.patience import PATIENCE_S
from tools import search_index_cache
from tools.embed.cache import CachedEmbedder
from tools.embed_catalogue import embed_missing

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def embedder(monkeypatch, home):
    fake = FakeEmbedder()
    monkeypatch.setattr(wiring.embedding, "make_embedder", lambda _config: CachedEmbedder(fake))
    monkeypatch.setattr(search_index_cache, "DEBOUNCE_S", 0)
    return fake


async def served(readiness):
    while True:
        try:
            return await readiness.wait_for_gateway()
        except NotReady:
            await asyncio.sleep(0)


async def test_the_models_of_the_first_intent_are_loaded_before_it(embedder):
    await run_in_database_thread(UserFactory, username="admin", superuser=True)
    await run_in_database_thread(ToolFactory, server__name="sky", name="get_weather")
    await run_in_database_thread(embed_missing, embedder)
    readiness = Readiness()
    async with asyncio.TaskGroup() as group, asyncio.timeout(PATIENCE_S):
        task = group.create_task(
            wiring.run_gateway(readiness, config=django_settings.FOREGATE, user="admin")
        )
        gateway = await served(readiness)
        readiness.in_use.set()
        ranked = None
        while ranked is None:
            await asyncio.sleep(0)
            with suppress(RankingUnavailable):
                rank = gateway.effects.find_ranker(gateway.caller.owner)
                ranked = await run_in_worker_thread(rank, read_intent("get weather"), ())
        task.cancel()


async def test_an_intent_is_ranked_from_memory(embedder, monkeypatch):
    monkeypatch.setattr(suggester, "INDEX_TIMEOUT_S", 0)
    monkeypatch.setattr(suggester, "MODELS_TIMEOUT_S", PATIENCE_S)
    monkeypatch.setattr(fallback, "SEARCH_TIMEOUT_S", PATIENCE_S)
    await run_in_database_thread(UserFactory, username="admin", superuser=True)
    tool = await run_in_database_thread(ToolFactory, server__name="sky", name="get_weather")
    await run_in_database_thread(embed_missing, embedder)
    readiness = Readiness()
    async with asyncio.TaskGroup() as group, asyncio.timeout(PATIENCE_S):
        task = group.create_task(
            wiring.run_gateway(readiness, config=django_settings.FOREGATE, user="admin")
        )
        gateway = await served(readiness)

        async def answered():
            request = IntentRequest(intent="get weather")
            return await flow.handle_intent(gateway.effects, gateway.caller, request)

        early = await answered()
        assert early.warnings[0].endswith("is still loading; try again in a second")
        readiness.in_use.set()
        while (answer := await answered()).warnings:
            continue
        async with asyncio.TaskGroup() as many:
            at_once = [many.create_task(answered()) for _ in range(8)]
        task.cancel()
    for one in (answer, *(done.result() for done in at_once)):
        assert [step.tool for step in one.suggestion.tasks] == [tool.pk]
        assert one.suggestion.ranked_set.tools == (tool.pk,)
        assert one.ranked.ranking.tool_probabilities.keys() == {tool.pk}
