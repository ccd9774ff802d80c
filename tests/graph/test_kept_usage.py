import asyncio
import threading
from datetime import UTC, datetime

import django.db
import pytest

from gateway_project.foundation.database import in_database
from graph import kept_usage
from graph.kept_usage import KeptUsage
from graph.models import ToolUsage
from graph.store import usage
from graph.store.usage import Count
from tests.factories import TeamFactory, ToolFactory
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.django_db(transaction=True)

NOW = datetime(2026, 11, 22, tzinfo=UTC)
LATER = datetime(2026, 11, 23, tzinfo=UTC)
GONE = 10**9


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(kept_usage, "EVERY_S", 0)
    monkeypatch.setattr(kept_usage, "RETRY_S", 0)
    monkeypatch.setattr(kept_usage, "LAST_WRITE_S", PATIENCE_S)


def stored():
    return set(ToolUsage.objects.values_list("tool_id", "team_id", "calls", "failures"))


async def until(kept, condition):
    async with asyncio.timeout(PATIENCE_S):
        while not await in_database(condition):  # noqa: ASYNC110 - the database sets no event
            await asyncio.sleep(0.01)


async def test_calls_are_added_to_what_is_stored():
    tool = await in_database(ToolFactory)
    await in_database(usage.add, {(tool.pk, None): Count(5, 1)}, at=NOW)
    kept = KeptUsage(clock=lambda: LATER)
    await kept.load()
    kept.count(tool.pk, None, False)
    kept.count(tool.pk, None, True)
    assert kept.of(None)[tool.pk] == 7
    assert await kept.flush()
    assert await in_database(stored) == {(tool.pk, None, 7, 2)}
    assert kept.of(None)[tool.pk] == 7


async def test_a_team_sees_its_own_calls_beside_those_of_nobody_in_particular():
    tool, other = await in_database(ToolFactory.create_batch, 2)
    ours, theirs = await in_database(TeamFactory.create_batch, 2)
    kept = KeptUsage()
    for team in (None, ours.pk, ours.pk, theirs.pk):
        kept.count(tool.pk, team, False)
    kept.count(other.pk, None, False)
    assert dict(kept.of(ours.pk)) == {tool.pk: 3, other.pk: 1}
    assert len(kept.of(theirs.pk)) == 2
    assert dict(kept.of(None)) == {tool.pk: 1, other.pk: 1}
    assert dict(kept.of(GONE)) == {tool.pk: 1, other.pk: 1}
    assert GONE not in kept.of(ours.pk)


async def test_counts_of_two_processes_add_up():
    tool = await in_database(ToolFactory)
    one, other = KeptUsage(), KeptUsage()
    for kept in (one, other, one):
        kept.count(tool.pk, None, False)
        await kept.flush()
    assert one.of(None)[tool.pk] == 3
    assert other.of(None)[tool.pk] == 2
    await other.load()
    assert other.of(None)[tool.pk] == 3


async def test_counts_wait_while_the_database_is_away(monkeypatch):
    tool = await in_database(ToolFactory)
    kept, add = KeptUsage(), usage.add

    def away(*_, **__):
        raise django.db.OperationalError("gone")

    monkeypatch.setattr(usage, "add", away)
    kept.count(tool.pk, None, False)
    assert not await kept.flush()
    kept.count(tool.pk, None, True)
    monkeypatch.setattr(usage, "add", add)
    assert await kept.flush()
    assert await in_database(stored) == {(tool.pk, None, 2, 1)}


async def test_what_is_counted_is_written_in_the_background_and_the_rest_at_the_end():
    tool = await in_database(ToolFactory)
    kept = KeptUsage()
    task = asyncio.ensure_future(kept.run())
    kept.count(tool.pk, None, False)
    await until(kept, lambda: stored() == {(tool.pk, None, 1, 0)})
    kept.count(tool.pk, None, False)
    task.cancel()
    await asyncio.wait([task])
    assert await in_database(stored) == {(tool.pk, None, 2, 0)}


async def test_an_end_in_the_middle_of_a_write_loses_nothing(monkeypatch):
    tool = await in_database(ToolFactory)
    kept, add = KeptUsage(), usage.add
    begun, may_go_on = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def slow(*given, **named):
        loop.call_soon_threadsafe(begun.set)
        may_go_on.wait(PATIENCE_S)
        return add(*given, **named)

    monkeypatch.setattr(usage, "add", slow)
    task = asyncio.ensure_future(kept.run())
    kept.count(tool.pk, None, False)
    async with asyncio.timeout(PATIENCE_S):
        await begun.wait()
    kept.count(tool.pk, None, True)
    task.cancel()
    may_go_on.set()
    await asyncio.wait([task])
    assert await in_database(stored) == {(tool.pk, None, 2, 1)}


async def test_an_end_without_a_database_is_an_end_all_the_same(monkeypatch):
    def away(*_, **__):
        raise django.db.OperationalError("gone")

    monkeypatch.setattr(usage, "add", away)
    kept = KeptUsage()
    kept.count(1, None, False)
    task = asyncio.ensure_future(kept.run())
    await asyncio.sleep(0)
    task.cancel()
    done, _ = await asyncio.wait([task], timeout=PATIENCE_S)
    assert done
    assert task.cancelled()


async def test_what_is_of_a_deleted_tool_or_team_harms_nothing_else():
    tool = await in_database(ToolFactory)
    kept = KeptUsage()
    for place in ((GONE, None), (tool.pk, GONE), (tool.pk, None)):
        kept.count(*place, False)
    assert await kept.flush()
    assert await in_database(stored) == {(tool.pk, None, 1, 0)}


async def test_the_first_write_reads_what_could_not_be_read_before(monkeypatch):
    tool, other = await in_database(ToolFactory.create_batch, 2)
    await in_database(usage.add, {(other.pk, None): Count(5, 1)}, at=NOW)
    kept, load = KeptUsage(), usage.load

    def away():
        raise django.db.OperationalError("gone")

    monkeypatch.setattr(usage, "load", away)
    assert not await kept.load()
    monkeypatch.setattr(usage, "load", load)
    kept.count(tool.pk, None, False)
    assert await kept.flush()
    assert dict(kept.of(None)) == {tool.pk: 1, other.pk: 5}


async def test_a_defect_in_one_write_does_not_stop_those_that_follow(monkeypatch):
    tool = await in_database(ToolFactory)
    kept, add = KeptUsage(), usage.add

    def odd(*_given, **_named):
        raise ValueError("odd")

    monkeypatch.setattr(usage, "add", odd)
    kept.count(tool.pk, None, False)
    with pytest.raises(ValueError, match="odd"):
        await kept.flush()
    monkeypatch.setattr(usage, "add", add)
    kept.count(tool.pk, None, False)
    assert await kept.flush()
    assert (await in_database(ToolUsage.objects.get)).calls == 1
