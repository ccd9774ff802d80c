"""A gateway as it is wired searches, and suggests workflows, by what it holds in memory."""

import asyncio
from contextlib import suppress

import pytest
from django.conf import settings as django_settings

from gateway_project import flow, wiring
from gateway_project.find import lookup
from gateway_project.foundation import sealing
from gateway_project.foundation.computing import run_in_worker_thread
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.intent.answer import IntentRequest
from gateway_project.wiring import suggester
from graph import fit_models
from graph.fit_models import FitSettings
from graph.rank_intent import RankingUnavailable
from graph.record_runs import record_runs
from graph.suggestion.intent.reading import read_intent
from tests.factories import ToolFactory, UserFactory
from tests.fakes import FakeEmbedder
from tests.gateway.test_wiring import running, served
from tests.graph.histories import NOW, run, task
from tests.patience import PATIENCE_S
from tools import search_index_cache
from tools.embed.cache import CachedEmbedder
from tools.embed_catalogue import embed_missing
from tools.search import SearchRequest
from tools.store import embeddings

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def embedder(monkeypatch, home):
    fake = FakeEmbedder()
    monkeypatch.setattr(wiring.embedding, "make_embedder", lambda _config: CachedEmbedder(fake))
    monkeypatch.setattr(wiring.token_count, "count_tokens", len)
    monkeypatch.setattr(search_index_cache, "DEBOUNCE_S", 0)
    return fake


def teach(embedder):
    """Store two tools, and twelve runs that all used the second; fit the models."""
    UserFactory(username="admin", superuser=True)
    _, used = (ToolFactory(name=name) for name in ("convert_time", "send_note"))
    embed_missing(embedder)
    sealer = sealing.load_or_create_sealer(django_settings.FOREGATE.home)
    record_runs(
        [run(f"r{at}", "convert it for ann", task("x", used.pk)) for at in range(12)],
        team=None,
        embedder=embedder,
        sealer=sealer,
    )
    settings = FitSettings(embedding_model=embedder.model, max_bytes=10_000_000, sealer=sealer)
    fit_models.fit_due_scopes(settings, now=NOW)
    return used.pk


async def test_a_gateway_searches_by_what_was_used_once_its_models_are_loaded(embedder):
    used = await run_in_database_thread(teach, embedder)
    async with running() as readiness:
        readiness.in_use.set()
        find = (await served(readiness)).effects.search
        while True:
            answer = await find(SearchRequest(query="convert it for ann"))
            if answer.hits[0].reasons[0].startswith("used in"):
                break
            await asyncio.sleep(0)
    assert answer.hits[0].tool_pk == used
    assert answer.hits[0].reasons[0] == "used in 1 of 1 similar request"
    await run_in_database_thread(embeddings.drop_index, embedder.model)


async def test_the_models_of_the_first_intent_are_loaded_before_it(embedder):
    await run_in_database_thread(UserFactory, username="admin", superuser=True)
    await run_in_database_thread(ToolFactory, server__name="sky", name="get_weather")
    await run_in_database_thread(embed_missing, embedder)
    async with running() as readiness:
        gateway = await served(readiness)
        readiness.in_use.set()
        ranked = None
        while ranked is None:
            await asyncio.sleep(0)
            with suppress(RankingUnavailable):
                rank = gateway.effects.find_ranker(gateway.caller.owner)
                ranked = await run_in_worker_thread(rank, read_intent("get weather"), ())


async def test_an_intent_is_ranked_from_memory(embedder, monkeypatch):
    monkeypatch.setattr(suggester, "INDEX_TIMEOUT_S", 0)
    monkeypatch.setattr(suggester, "MODELS_TIMEOUT_S", PATIENCE_S)
    monkeypatch.setattr(lookup, "SEARCH_TIMEOUT_S", PATIENCE_S)
    await run_in_database_thread(UserFactory, username="admin", superuser=True)
    tool = await run_in_database_thread(ToolFactory, server__name="sky", name="get_weather")
    await run_in_database_thread(embed_missing, embedder)
    async with running() as readiness:
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
    for one in (answer, *(done.result() for done in at_once)):
        assert [step.tool.pk for step in one.suggestion.tasks] == [tool.pk]
        assert one.suggestion.ranked_set.tools == (tool.pk,)
        assert one.ranked.ranking.tool_probabilities.keys() == {tool.pk}
