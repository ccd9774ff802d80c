import asyncio

import django.db
import pytest

from gateway_project.foundation.database import in_database
from tests.factories import ServerFactory
from tests.patience import PATIENCE_S
from tools import kept_items
from tools.store import items as store
from tools.upstream.errors import ServerStopped
from tools.upstream.listing import Listing

DATABASE = pytest.mark.django_db(transaction=True)
PROMPT = {"name": "greet"}


class Pool:
    """Lists what it is given; an error is raised, an event is waited for."""

    def __init__(self, **lists):
        self.lists = lists
        self.asked = []

    async def list_items(self, server, kind):
        self.asked.append(kind)
        listed = self.lists.get(kind, ())
        if isinstance(listed, asyncio.Event):
            await listed.wait()
        if isinstance(listed, Exception):
            raise listed
        return Listing(items=tuple(listed))


@pytest.fixture(autouse=True)
def _patient(monkeypatch):
    monkeypatch.setattr(kept_items, "RECALL_S", PATIENCE_S)


@DATABASE
async def test_a_server_is_asked_for_what_it_can_do_and_the_answers_are_kept():
    await in_database(ServerFactory, name="a")
    pool = Pool(prompts=[PROMPT])
    await kept_items.discover(pool, "a", {"prompts", "tools"})
    assert pool.asked == ["prompts"]
    assert await kept_items.recall("prompts", ["a", "b"]) == {"a": Listing(items=(PROMPT,))}
    assert await kept_items.recall("resources", ["a"]) == {}


@DATABASE
@pytest.mark.parametrize("trouble", [ServerStopped("a"), asyncio.Event()], ids=["error", "hangs"])
async def test_what_cannot_be_had_costs_neither_the_rest_nor_what_is_known(trouble, monkeypatch):
    monkeypatch.setattr(kept_items, "DISCOVERY_S", 0.05)
    await in_database(ServerFactory, name="a")
    await kept_items.remember("a", "prompts", Listing(items=(PROMPT,)))
    pool = Pool(resources=[{"uri": "x:y"}], templates=[], prompts=trouble)
    await kept_items.discover(pool, "a", {"prompts", "resources"})
    assert (await kept_items.recall("prompts", ["a"]))["a"].items == (PROMPT,)
    assert (await kept_items.recall("resources", ["a"]))["a"].items == ({"uri": "x:y"},)


@DATABASE
async def test_a_list_that_has_no_form_in_the_database_is_not_kept():
    await in_database(ServerFactory, name="a")
    await kept_items.remember("a", "prompts", Listing(items=({"name": "x", "n": float("nan")},)))
    assert await kept_items.recall("prompts", ["a"]) == {}


@DATABASE
async def test_without_a_database_nothing_is_remembered_and_nothing_breaks(monkeypatch):
    def away(*_, **__):
        raise django.db.OperationalError("gone")

    monkeypatch.setattr(store, "load", away)
    monkeypatch.setattr(store, "record", away)
    await kept_items.remember("a", "prompts", Listing())
    assert await kept_items.recall("prompts", ["a"]) == {}
