import asyncio
from contextlib import asynccontextmanager

import django.db
import pytest

from gateway_project.wiring import relist
from gateway_project.wiring.relist import ServerRelister
from tests.patience import PATIENCE_S
from tools.discover import DiscoveryResult


class Listings:
    """Stands for discovery: each server is listed when the test lets it."""

    def __init__(self):
        self.begun = []
        self.may_end = {}
        self.failing = 0
        self.changed = asyncio.Event()

    async def discover(self, _pool, servers, *, approve_new):
        (server,) = servers
        self.begun.append(server)
        self.changed.set()
        if self.failing:
            self.failing -= 1
            raise django.db.OperationalError("gone")
        await self.may_end.setdefault(server, asyncio.Event()).wait()
        return (DiscoveryResult(server=server),)

    async def until(self, *begun):
        async with asyncio.timeout(PATIENCE_S):
            while self.begun != list(begun):
                self.changed.clear()
                await self.changed.wait()


@pytest.fixture
def listings(monkeypatch):
    async def embedded(_function, _embedder):
        return 0

    made = Listings()
    monkeypatch.setattr(relist.discover, "discover_servers", made.discover)
    monkeypatch.setattr(relist, "run_in_database_thread", embedded)
    monkeypatch.setattr(relist, "FIRST_RETRY_S", 0.01)
    return made


@asynccontextmanager
async def running():
    changed = asyncio.Queue()
    relister = ServerRelister(None, None, approve_new=True)
    task = asyncio.ensure_future(relister.run(changed))
    try:
        yield changed
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_a_slow_server_does_not_delay_others(listings):
    async with running() as changed:
        changed.put_nowait("slow")
        changed.put_nowait("quick")
        await listings.until("slow", "quick")


async def test_a_server_that_changes_while_it_is_listed_is_listed_once_more(listings):
    async with running() as changed:
        changed.put_nowait("git")
        await listings.until("git")
        for _ in range(3):
            changed.put_nowait("git")
        while not changed.empty():  # noqa: ASYNC110 - a queue tells of its end by `join` alone
            await asyncio.sleep(0)
        listings.may_end["git"].set()
        await listings.until("git", "git")


async def test_a_listing_without_a_database_is_repeated(listings):
    listings.failing = 2
    async with running() as changed:
        changed.put_nowait("git")
        await listings.until("git", "git", "git")


async def test_a_crashed_listing_does_not_end_others(listings, monkeypatch):
    async def discover(pool, servers, *, approve_new):
        if servers == ["odd"]:
            raise ZeroDivisionError("a defect")
        return await listings.discover(pool, servers, approve_new=approve_new)

    monkeypatch.setattr(relist.discover, "discover_servers", discover)
    async with running() as changed:
        changed.put_nowait("odd")
        changed.put_nowait("git")
        await listings.until("git")
        listings.may_end["git"].set()
        changed.put_nowait("other")
        await listings.until("git", "other")
