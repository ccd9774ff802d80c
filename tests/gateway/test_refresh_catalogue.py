"""`manage.py discover` beside other processes that discover."""

import asyncio

import pytest
from django.conf import settings

from gateway_project.foundation.advisory import AdvisoryLocks
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.use_cases import discover_servers
from gateway_project.use_cases import refresh_catalogue as module
from gateway_project.use_cases.refresh_catalogue import refresh_catalogue
from tests.factories import ServerFactory
from tests.fakes import FakeUpstream, upstream_tool
from tests.patience import PATIENCE_S
from tools.models import ServerDiscovery, Tool

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("home")]


class Pool(FakeUpstream):
    """Servers in memory that are opened and closed as the pool is."""

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        return None


@pytest.fixture
def pool(monkeypatch):
    made = Pool(tools={"a": [upstream_tool("x")], "b": [upstream_tool("y")]})
    monkeypatch.setattr(discover_servers, "UpstreamPool", lambda *_, **__: made)
    return made


@pytest.fixture
def refused(monkeypatch):
    """Set whenever a lock is not to be had."""
    event = asyncio.Event()

    class Watched(AdvisoryLocks):
        async def acquire(self, name):
            is_ours = await super().acquire(name)
            if not is_ours:
                event.set()
            return is_ours

    monkeypatch.setattr(module, "AdvisoryLocks", Watched)
    monkeypatch.setattr(module, "LOCK_POLL_INTERVAL_S", 0)
    return event


def register():
    for name in ("a", "b"):
        ServerFactory(name=name)


async def test_a_server_being_discovered_elsewhere_is_discovered_afterwards(pool, refused):
    await run_in_database_thread(register)
    others = AdvisoryLocks()
    assert await others.acquire("discover a")
    task = asyncio.ensure_future(refresh_catalogue(settings.FOREGATE))
    async with asyncio.timeout(PATIENCE_S):
        await refused.wait()
        assert "a" not in pool.listed
        await others.release("discover a")
        refreshed = await task
    assert [outcome.server for outcome in refreshed.servers] == ["a", "b"]
    assert sorted(pool.listed) == ["a", "b"]
    assert await run_in_database_thread(Tool.objects.count) == 2


async def test_a_stalled_process_is_not_waited_for_forever(pool, refused, monkeypatch):
    monkeypatch.setattr(module, "MAX_LOCK_POLLS", 3)
    await run_in_database_thread(register)
    others = AdvisoryLocks()
    assert await others.acquire("discover a")
    async with asyncio.timeout(PATIENCE_S):
        await refresh_catalogue(settings.FOREGATE)
        await others.aclose()
    assert sorted(pool.listed) == ["a", "b"]


async def test_a_server_is_discovered_by_one_process_at_a_time(pool, monkeypatch):
    await run_in_database_thread(register)
    others, taken = AdvisoryLocks(), []
    listing = pool.list_tools

    async def listed(server):
        taken.append(await others.acquire(f"discover {server}"))
        return await listing(server)

    monkeypatch.setattr(pool, "list_tools", listed)
    async with asyncio.timeout(PATIENCE_S):
        await refresh_catalogue(settings.FOREGATE)
        assert taken == [False, False]
        assert await others.acquire("discover a")
        await others.aclose()


async def test_an_interrupted_attempt_does_not_look_active(pool, monkeypatch):
    await run_in_database_thread(register)

    async def interrupted(_server):
        raise KeyError("a defect")

    monkeypatch.setattr(pool, "list_tools", interrupted)
    with pytest.raises(KeyError):
        await refresh_catalogue(settings.FOREGATE)
    started = await run_in_database_thread(
        lambda: list(ServerDiscovery.objects.values_list("started_at", flat=True))
    )
    assert started
    assert not any(started)
