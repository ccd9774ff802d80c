import asyncio

import django.db
import pytest

from gateway_project.foundation.database import run_in_database_thread
from tests.factories import ServerFactory
from tests.patience import PATIENCE_S
from tools import item_store
from tools.store import items as store
from tools.upstream.errors import ServerStopped
from tools.upstream.listing import ItemListing

DATABASE = pytest.mark.django_db(transaction=True)
PROMPT = {"name": "greet"}


class Pool:
    """Lists what it is given; an error is raised, an event is waited for."""

    def __init__(self, **lists):
        self.lists = lists
        self.asked = []

    async def list_items(self, server, kind, *, caller):
        self.asked.append(kind)
        listed = self.lists.get(kind, ())
        if isinstance(listed, asyncio.Event):
            await listed.wait()
        if isinstance(listed, Exception):
            raise listed
        return ItemListing(items=tuple(listed))


@pytest.fixture(autouse=True)
def _patient(monkeypatch):
    monkeypatch.setattr(item_store, "LOAD_TIMEOUT_S", PATIENCE_S)


@DATABASE
async def test_a_server_is_asked_for_what_it_can_do_and_the_answers_are_kept():
    await run_in_database_thread(ServerFactory, name="a")
    pool = Pool(prompts=[PROMPT])
    await item_store.discover_items(pool, "a", {"prompts", "tools"})
    assert pool.asked == ["prompts"]
    assert await item_store.load_items("prompts", ["a", "b"]) == {
        "a": ItemListing(items=(PROMPT,))
    }
    assert await item_store.load_items("resources", ["a"]) == {}


@DATABASE
@pytest.mark.parametrize("trouble", [ServerStopped("a"), asyncio.Event()], ids=["error", "hangs"])
async def test_what_cannot_be_had_costs_neither_the_rest_nor_what_is_known(trouble, monkeypatch):
    monkeypatch.setattr(item_store, "DISCOVERY_TIMEOUT_S", 0.05)
    await run_in_database_thread(ServerFactory, name="a")
    await item_store.record_items("a", "prompts", ItemListing(items=(PROMPT,)))
    pool = Pool(resources=[{"uri": "x:y"}], templates=[], prompts=trouble)
    await item_store.discover_items(pool, "a", {"prompts", "resources"})
    assert (await item_store.load_items("prompts", ["a"]))["a"].items == (PROMPT,)
    assert (await item_store.load_items("resources", ["a"]))["a"].items == ({"uri": "x:y"},)


@DATABASE
async def test_a_list_that_has_no_form_in_the_database_is_not_kept():
    await run_in_database_thread(ServerFactory, name="a")
    await item_store.record_items(
        "a", "prompts", ItemListing(items=({"name": "x", "n": float("nan")},))
    )
    assert await item_store.load_items("prompts", ["a"]) == {}


@DATABASE
async def test_without_a_database_nothing_is_remembered_and_nothing_breaks(monkeypatch):
    def away(*_, **__):
        raise django.db.OperationalError("gone")

    monkeypatch.setattr(store, "load_items", away)
    monkeypatch.setattr(store, "record_items", away)
    await item_store.record_items("a", "prompts", ItemListing())
    assert await item_store.load_items("prompts", ["a"]) == {}
