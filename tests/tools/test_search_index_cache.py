import asyncio
from contextlib import asynccontextmanager

import django.db
import pytest

from gateway_project.foundation import notify
from gateway_project.foundation.database import run_in_database_thread
from tests.factories import ToolFactory
from tests.fakes import FakeEmbedder
from tests.patience import PATIENCE_S
from tools import lexemes, search_index_cache
from tools.embed_catalogue import embed_missing
from tools.search import SearchRequest, search
from tools.search_index_cache import SearchIndexCache
from tools.store import postings, search_index

pytestmark = pytest.mark.django_db(transaction=True)

EMBEDDER = FakeEmbedder()
PLENTY = 10_000_000


def keeper(*, max_bytes=PLENTY):
    return SearchIndexCache(EMBEDDER.model, max_bytes=max_bytes)


@asynccontextmanager
async def kept():
    """Keep an index by what the database tells, and hand out a way to wait for its next state."""
    index, refreshed = keeper(), asyncio.Event()
    refresh = index.refresh

    async def watched():
        await refresh()
        refreshed.set()

    async def changed(_=None):
        index.invalidate()

    async def until(condition):
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                await refreshed.wait()
                refreshed.clear()

    index.refresh = watched
    listener = notify.NotificationListener(
        (notify.CATALOGUE, notify.SEARCH), on_event=changed, on_resync=changed
    )
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(work) for work in (listener.run(), index.run())]
        yield index, until
        for task in tasks:
            task.cancel()


def found(index, query):
    request = SearchRequest(query=query)
    return [hit.tool for hit in search(request, embedder=EMBEDDER, index=index.current).hits]


async def test_what_another_process_adds_is_found_soon(monkeypatch):
    monkeypatch.setattr(search_index_cache, "DEBOUNCE_S", 0)
    async with kept() as (index, until):
        await until(lambda: index.current is not None)
        tool = await run_in_database_thread(
            ToolFactory, name="late_tool", description="Comes late."
        )
        await run_in_database_thread(embed_missing, EMBEDDER)
        await until(lambda: index.current.embeddings.any() and index.current.texts.all())
        assert index.current.tools.tolist() == [tool.pk]
        assert len(await run_in_database_thread(found, index, "late")) == 1


async def test_words_that_an_earlier_version_indexed_are_indexed_again(monkeypatch):
    tool = await run_in_database_thread(ToolFactory, name="late_tool")
    monkeypatch.setattr(lexemes, "STEMMER_VERSION", "0.0")
    await run_in_database_thread(lambda: postings.index_tools([tool.pk]))
    monkeypatch.undo()
    assert await run_in_database_thread(postings.find_stale_tools) == [tool.pk]
    await keeper().refresh()
    assert await run_in_database_thread(postings.find_stale_tools) == []


async def test_while_the_database_is_away_the_old_index_stays(monkeypatch):
    index = keeper()
    await index.refresh()
    before = index.current
    assert before is not None

    def away(*_, **__):
        raise django.db.OperationalError("gone")

    monkeypatch.setattr(search_index, "refresh_index", away)
    await index.refresh()
    assert index.current is before


async def test_a_catalogue_that_outgrows_the_memory_is_let_go(db):
    index = keeper(max_bytes=1_000)
    await index.refresh()
    assert index.current is not None
    await run_in_database_thread(ToolFactory.create_batch, 3)
    await index.refresh()
    assert index.current is None
