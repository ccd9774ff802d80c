"""What a gateway starts before its first call needs it."""

import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.conf import settings as django_settings

from gateway_project.foundation.database import run_in_database_thread
from gateway_project.readiness import Readiness
from gateway_project.wiring import follow
from gateway_project.wiring.follow import CurrentSnapshot
from graph.record import CallCount
from graph.store import usage
from tests.factories import ServerFactory, ToolFactory, UserFactory

pytestmark = pytest.mark.django_db(transaction=True)


class Pool:
    """Records what is started."""

    def __init__(self):
        self.started = []

    async def start_ahead(self, names, *, unused_stop_s):
        self.started.append(list(names))


def rows():
    """Four servers: two called lately, one long ago, one with a connection for each caller."""
    UserFactory(username="admin", superuser=True)
    now = datetime.now(UTC)
    ages = {"first": 3, "last": 1, "old": 24 * 5, "own": 2}
    for name, hours in ages.items():
        session = "per_caller" if name == "own" else "shared"
        server = ServerFactory(name=name, command=sys.executable, session=session)
        counts = {(ToolFactory(server=server, name="t").pk, None): CallCount(1, 0)}
        usage.add_usage(counts, at=now - timedelta(hours=hours))


async def start(limit, *, group=None):
    readiness, pool = Readiness(), Pool()
    readiness.in_use.set()
    load = follow.snapshot.make_loader(django_settings.FOREGATE, "admin", kind="stdio")
    loaded = await follow.snapshot.load_snapshot(load)
    if group:
        loaded = replace(loaded, caller=replace(loaded.caller, group=group))
    current = CurrentSnapshot(snapshot=loaded, readiness=readiness, sealer=None)
    await follow.start_recent_servers(current, pool, limit=limit)
    return pool.started


async def test_servers_called_lately_are_started_those_called_last_first(home):
    await run_in_database_thread(rows)
    assert await start(5) == [["last", "first"]]
    assert await start(1) == [["last"]]


async def test_none_is_started_where_the_setting_says_so(home):
    await run_in_database_thread(rows)
    assert await start(0) == []


async def test_none_is_started_that_the_caller_does_not_see(home):
    await run_in_database_thread(rows)
    assert await start(5, group="nothing") == [[]]
