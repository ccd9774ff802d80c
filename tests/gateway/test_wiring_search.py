import asyncio

import pytest
from django.conf import settings as django_settings

from gateway_project import wiring
from gateway_project.foundation import sealing
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.readiness import NotReady, Readiness
from graph import fit_models
from graph.fit_models import FitSettings
from graph.record_runs import record_runs
from tests.factories import ToolFactory, UserFactory
from tests.fakes import FakeEmbedder
from tests.graph.histories import NOW, run, task
from tests.patience import PATIENCE_S
from tools import search as search_module
from tools import search_index_cache
from tools.embed.cache import CachedEmbedder
from tools.embed_catalogue import embed_missing
from tools.search import SearchRequest
from tools.search_index_cache import SearchIndexCache
from tools.store import embeddings

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def embedder(monkeypatch, home):
    fake = FakeEmbedder()
    monkeypatch.setattr(wiring.embedding, "make_embedder", lambda _config: CachedEmbedder(fake))
    monkeypatch.setattr(wiring.token_count, "count_tokens", len)
    monkeypatch.setattr(search_index_cache, "DEBOUNCE_S", 0)
    return fake


@pytest.fixture
def refreshed(monkeypatch):
    """Tell of every refresh of the index."""
    done = asyncio.Event()
    refresh = SearchIndexCache.refresh

    async def watched(self):
        await refresh(self)
        done.set()

    monkeypatch.setattr(SearchIndexCache, "refresh", watched)
    return done


@pytest.fixture
def used(monkeypatch):
    """Note with which index each search is made."""
    noted = []
    search = search_module.search

    def watched(request, *, embedder, index, weigh):
        noted.append(index)
        return search(request, embedder=embedder, index=index, weigh=weigh)

    monkeypatch.setattr(search_module, "search", watched)
    return noted


def is_complete(used):
    index = used[-1] if used else None
    return index is not None and len(index.tools) == 1 and bool(index.embeddings.all())


async def served(readiness):
    while True:
        try:
            return await readiness.wait_for_gateway()
        except NotReady:
            await asyncio.sleep(0)


async def test_a_gateway_searches_in_memory_once_there_is_a_client(embedder, refreshed, used):
    await run_in_database_thread(UserFactory, username="admin", superuser=True)
    await run_in_database_thread(ToolFactory, name="convert_time")
    await run_in_database_thread(embed_missing, embedder)
    readiness = Readiness()
    async with asyncio.TaskGroup() as group, asyncio.timeout(PATIENCE_S):
        task = group.create_task(
            wiring.run_gateway(readiness, config=django_settings.FOREGATE, user="admin")
        )
        find = (await served(readiness)).effects.search
        await find(SearchRequest(query="convert"))
        assert used == [None]
        assert not refreshed.is_set()
        readiness.in_use.set()
        await refreshed.wait()
        answer = await find(SearchRequest(query="convert"))
        assert used[-1] is not None
        assert len(answer.hits) == 1
        task.cancel()


async def test_a_tool_that_is_new_in_the_database_is_soon_searched_in_memory(
    embedder, refreshed, used
):
    await run_in_database_thread(UserFactory, username="admin", superuser=True)
    readiness = Readiness()
    readiness.in_use.set()
    async with asyncio.TaskGroup() as group, asyncio.timeout(PATIENCE_S):
        task = group.create_task(
            wiring.run_gateway(readiness, config=django_settings.FOREGATE, user="admin")
        )
        find = (await served(readiness)).effects.search
        await run_in_database_thread(ToolFactory, name="convert_time")
        await run_in_database_thread(embed_missing, embedder)
        while not is_complete(used):
            await refreshed.wait()
            refreshed.clear()
            await find(SearchRequest(query="convert"))
        task.cancel()


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
    readiness = Readiness()
    readiness.in_use.set()
    async with asyncio.TaskGroup() as group, asyncio.timeout(PATIENCE_S):
        task = group.create_task(
            wiring.run_gateway(readiness, config=django_settings.FOREGATE, user="admin")
        )
        find = (await served(readiness)).effects.search
        while True:
            answer = await find(SearchRequest(query="convert it for ann"))
            if answer.hits[0].reasons[0].startswith("used in"):
                break
            await asyncio.sleep(0)
        task.cancel()
    assert answer.hits[0].tool_pk == used
    assert answer.hits[0].reasons[0] == "used in 1 of 1 similar request"
    await run_in_database_thread(embeddings.drop_index, embedder.model)
