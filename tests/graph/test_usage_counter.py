import asyncio
import threading
from datetime import UTC, datetime

import django.db
import pytest

from gateway_project.foundation.database import run_in_database_thread
from graph import usage_counter
from graph.models import ToolUsage
from graph.record import CallCount
from graph.store import usage
from graph.usage_counter import UsageCounter
from tests.factories import TeamFactory, ToolFactory
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.django_db(transaction=True)

NOW = datetime(2026, 11, 22, tzinfo=UTC)
LATER = datetime(2026, 11, 23, tzinfo=UTC)
GONE = 10**9


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(usage_counter, "FLUSH_INTERVAL_S", 0)
    monkeypatch.setattr(usage_counter, "RETRY_S", 0)
    monkeypatch.setattr(usage_counter, "FINAL_WRITE_TIMEOUT_S", PATIENCE_S)


def stored():
    return set(ToolUsage.objects.values_list("tool_id", "team_id", "calls", "failures"))


async def until(kept, condition):
    async with asyncio.timeout(PATIENCE_S):
        while not await run_in_database_thread(condition):  # noqa: ASYNC110 - the database sets no event
            await asyncio.sleep(0.01)


async def test_calls_are_added_to_stored_counts():
    tool = await run_in_database_thread(ToolFactory)
    await run_in_database_thread(usage.add_usage, {(tool.pk, None): CallCount(5, 1)}, at=NOW)
    kept = UsageCounter(clock=lambda: LATER)
    await kept.load()
    kept.count_call(tool.pk, None, False)
    kept.count_call(tool.pk, None, True)
    assert kept.usage_of_team(None)[tool.pk] == 7
    assert await kept.flush()
    assert await run_in_database_thread(stored) == {(tool.pk, None, 7, 2)}
    assert kept.usage_of_team(None)[tool.pk] == 7


async def test_a_team_sees_its_own_calls_and_those_without_a_team():
    tool, other = await run_in_database_thread(ToolFactory.create_batch, 2)
    ours, theirs = await run_in_database_thread(TeamFactory.create_batch, 2)
    kept = UsageCounter()
    for team in (None, ours.pk, ours.pk, theirs.pk):
        kept.count_call(tool.pk, team, False)
    kept.count_call(other.pk, None, False)
    assert dict(kept.usage_of_team(ours.pk)) == {tool.pk: 3, other.pk: 1}
    assert len(kept.usage_of_team(theirs.pk)) == 2
    assert dict(kept.usage_of_team(None)) == {tool.pk: 1, other.pk: 1}
    assert dict(kept.usage_of_team(GONE)) == {tool.pk: 1, other.pk: 1}
    assert GONE not in kept.usage_of_team(ours.pk)


async def test_counts_wait_while_the_database_is_away(monkeypatch):
    tool = await run_in_database_thread(ToolFactory)
    kept, add = UsageCounter(), usage.add_usage

    def away(*_, **__):
        raise django.db.OperationalError("gone")

    monkeypatch.setattr(usage, "add_usage", away)
    kept.count_call(tool.pk, None, False)
    assert not await kept.flush()
    kept.count_call(tool.pk, None, True)
    monkeypatch.setattr(usage, "add_usage", add)
    assert await kept.flush()
    assert await run_in_database_thread(stored) == {(tool.pk, None, 2, 1)}


async def test_counts_are_written_in_the_background_and_at_shutdown():
    tool = await run_in_database_thread(ToolFactory)
    kept = UsageCounter()
    task = asyncio.ensure_future(kept.run())
    kept.count_call(tool.pk, None, False)
    await until(kept, lambda: stored() == {(tool.pk, None, 1, 0)})
    kept.count_call(tool.pk, None, False)
    task.cancel()
    await asyncio.wait([task])
    assert await run_in_database_thread(stored) == {(tool.pk, None, 2, 0)}


async def test_an_end_in_the_middle_of_a_write_loses_nothing(monkeypatch):
    tool = await run_in_database_thread(ToolFactory)
    kept, add = UsageCounter(), usage.add_usage
    begun, may_go_on = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def slow(*given, **named):
        loop.call_soon_threadsafe(begun.set)
        may_go_on.wait(PATIENCE_S)
        return add(*given, **named)

    monkeypatch.setattr(usage, "add_usage", slow)
    task = asyncio.ensure_future(kept.run())
    kept.count_call(tool.pk, None, False)
    async with asyncio.timeout(PATIENCE_S):
        await begun.wait()
    kept.count_call(tool.pk, None, True)
    task.cancel()
    may_go_on.set()
    await asyncio.wait([task])
    assert await run_in_database_thread(stored) == {(tool.pk, None, 2, 1)}


async def test_shutdown_works_without_a_database(monkeypatch):
    def away(*_, **__):
        raise django.db.OperationalError("gone")

    monkeypatch.setattr(usage, "add_usage", away)
    kept = UsageCounter()
    kept.count_call(1, None, False)
    task = asyncio.ensure_future(kept.run())
    await asyncio.sleep(0)
    task.cancel()
    done, _ = await asyncio.wait([task], timeout=PATIENCE_S)
    assert done
    assert task.cancelled()


async def test_counts_of_deleted_tools_or_teams_do_not_affect_others():
    tool = await run_in_database_thread(ToolFactory)
    kept = UsageCounter()
    for place in ((GONE, None), (tool.pk, GONE), (tool.pk, None)):
        kept.count_call(*place, False)
    assert await kept.flush()
    assert await run_in_database_thread(stored) == {(tool.pk, None, 1, 0)}


async def test_the_first_write_loads_counts_that_failed_to_load(monkeypatch):
    tool, other = await run_in_database_thread(ToolFactory.create_batch, 2)
    await run_in_database_thread(usage.add_usage, {(other.pk, None): CallCount(5, 1)}, at=NOW)
    kept, load = UsageCounter(), usage.load_usage

    def away():
        raise django.db.OperationalError("gone")

    monkeypatch.setattr(usage, "load_usage", away)
    assert not await kept.load()
    monkeypatch.setattr(usage, "load_usage", load)
    kept.count_call(tool.pk, None, False)
    assert await kept.flush()
    assert dict(kept.usage_of_team(None)) == {tool.pk: 1, other.pk: 5}


async def test_servers_called_lately_are_known_those_called_last_first():
    tools = await run_in_database_thread(ToolFactory.create_batch, 3)
    for tool, at in zip(tools, (NOW, LATER, datetime(2026, 11, 1, tzinfo=UTC)), strict=True):
        counts = {(tool.pk, None): CallCount(1, 0)}
        await run_in_database_thread(usage.add_usage, counts, at=at)

    def recent():
        return usage.load_recent_servers(since=NOW)

    assert await run_in_database_thread(recent) == [tools[1].server.name, tools[0].server.name]
