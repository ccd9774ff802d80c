import asyncio
from contextlib import asynccontextmanager

import pytest
from django.db import OperationalError, connection, transaction

from gateway_project.foundation import notify
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.notify import CATALOGUE, Notification, NotificationListener
from tests.factories import (
    CategoryFactory,
    DangerousOperationFactory,
    ServerFactory,
    TeamFactory,
    ToolFactory,
)
from tests.patience import PATIENCE_S
from tools.models import Server, ToolDefinition

pytestmark = pytest.mark.django_db(transaction=True)


class Ears:
    """What a listener hears, to be waited for."""

    def __init__(self):
        self.events = asyncio.Queue()
        self.resyncs = asyncio.Queue()

    async def on_event(self, event):
        self.events.put_nowait(event)

    async def on_resync(self):
        self.resyncs.put_nowait(None)

    async def next_event(self):
        async with asyncio.timeout(PATIENCE_S):
            return await self.events.get()

    async def next_resync(self):
        async with asyncio.timeout(PATIENCE_S):
            await self.resyncs.get()

    async def heard_until(self, mark):
        """Return the payloads heard before a mark, which is sent now."""
        await run_in_database_thread(notify.send_notification, CATALOGUE, mark)
        heard = []
        while (event := await self.next_event()).payload != mark:
            heard.append(event.payload)
        return heard


@asynccontextmanager
async def listening(*channels):
    ears = Ears()
    listener = NotificationListener(
        channels or (CATALOGUE,), on_event=ears.on_event, on_resync=ears.on_resync
    )
    async with asyncio.TaskGroup() as group:
        task = group.create_task(listener.run())
        await ears.next_resync()
        yield ears
        task.cancel()


@pytest.fixture(autouse=True)
def prompt_retries(monkeypatch):
    monkeypatch.setattr(notify, "FIRST_RETRY_S", 0.01)
    monkeypatch.setattr(notify, "MAX_RETRY_S", 0.05)


def kill_listeners():
    """End every session that listens; return how many there were."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid() "
            # its last statement, where it has not probed yet, and afterwards
            "AND (query LIKE 'LISTEN %' OR query LIKE '%pg_locks AS held%')"
        )
        return cursor.fetchone()[0]


async def test_a_notification_is_delivered_with_its_channel():
    async with listening("one", "two") as ears:
        await run_in_database_thread(notify.send_notification, "two", "hello")
        assert await ears.next_event() == Notification(channel="two", payload="hello")


async def test_other_channels_are_not_heard():
    async with listening() as ears:
        await run_in_database_thread(notify.send_notification, "elsewhere", "not for us")
        assert await ears.heard_until("mark") == []


async def test_a_notification_is_sent_only_on_commit():
    def roll_back():
        with transaction.atomic():
            notify.send_notification(CATALOGUE, "never")
            transaction.set_rollback(True)

    async with listening() as ears:
        await run_in_database_thread(roll_back)
        assert await ears.heard_until("mark") == []


async def test_a_killed_connection_is_reopened_and_followed_by_a_resync():
    async with listening() as ears:
        assert await run_in_database_thread(kill_listeners)
        await ears.next_resync()
        await run_in_database_thread(notify.send_notification, CATALOGUE, "after")
        assert (await ears.next_event()).payload == "after"


async def test_a_listener_outlives_a_database_that_cannot_be_reached(monkeypatch):
    real, failures = notify.get_connection_parameters, iter(range(3))

    def unreachable():
        if next(failures, None) is not None:
            raise OperationalError("connection refused")
        return real()

    monkeypatch.setattr(notify, "get_connection_parameters", unreachable)
    async with listening() as ears:
        await run_in_database_thread(notify.send_notification, CATALOGUE, "at last")
        assert (await ears.next_event()).payload == "at last"


async def test_a_listener_outlives_a_resync_that_loses_the_database():
    ears, failures = Ears(), iter(range(2))

    async def on_resync():
        if next(failures, None) is not None:
            raise OperationalError("the connection is closed")
        await ears.on_resync()

    listener = NotificationListener((CATALOGUE,), on_event=ears.on_event, on_resync=on_resync)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(listener.run())
        await ears.next_resync()
        task.cancel()


async def test_after_a_good_connection_the_backoff_starts_anew(monkeypatch):
    monkeypatch.setattr(notify, "MAX_RETRY_S", 100.0)
    waits = []

    def uniform(low, high):
        assert (low, high) == (0.5, 1.0)
        return 1.0

    async def note(delay):
        waits.append(delay)

    monkeypatch.setattr(notify.random, "uniform", uniform)
    async with listening() as ears:
        monkeypatch.setattr(notify.asyncio, "sleep", note)
        for _ in range(3):
            assert await run_in_database_thread(kill_listeners)
            await ears.next_resync()
        monkeypatch.undo()
    assert waits == [0.01, 0.01, 0.01]


class Health:
    """What probes find."""

    def __init__(self):
        self.found = asyncio.Queue()

    async def next(self):
        async with asyncio.timeout(PATIENCE_S):
            return await self.found.get()


@asynccontextmanager
async def probing(monkeypatch):
    monkeypatch.setattr(notify, "PROBE_INTERVAL_S", 0.01)
    ears, health = Ears(), Health()
    listener = NotificationListener(
        (CATALOGUE,),
        on_event=ears.on_event,
        on_resync=ears.on_resync,
        on_probe=health.found.put_nowait,
    )
    async with asyncio.TaskGroup() as group:
        task = group.create_task(listener.run())
        yield ears, health
        task.cancel()


async def test_the_database_is_probed_between_notifications(monkeypatch):
    async with probing(monkeypatch) as (ears, health):
        assert [await health.next() for _ in range(3)] == ["", "", ""]
        await run_in_database_thread(notify.send_notification, CATALOGUE, "still here")
        assert (await ears.next_event()).payload == "still here"


async def test_a_lost_connection_is_reported_and_then_that_it_is_back(monkeypatch):
    async with probing(monkeypatch) as (_, health):
        await health.next()
        await run_in_database_thread(kill_listeners)
        while not await health.next():
            pass
        while await health.next():
            pass


async def test_a_database_that_does_not_answer_is_reported(monkeypatch):
    async def never(*_, **__):
        await asyncio.Event().wait()

    async with probing(monkeypatch) as (_, health):
        await health.next()
        monkeypatch.setattr(notify, "PROBE_TIMEOUT_S", 0.01)
        monkeypatch.setattr(notify.psycopg.AsyncConnection, "execute", never)
        while "has not answered" not in await health.next():
            pass


async def test_a_mistake_in_the_handler_is_not_swallowed():
    async def on_event(_):
        raise ZeroDivisionError

    async def on_resync():
        await run_in_database_thread(notify.send_notification, CATALOGUE, "x")

    listener = NotificationListener((CATALOGUE,), on_event=on_event, on_resync=on_resync)
    with pytest.raises(ZeroDivisionError):
        async with asyncio.timeout(PATIENCE_S):
            await listener.run()


WRITES = {
    "a server is added": (lambda: ServerFactory(), "tools_server"),
    "a server is disabled": (
        lambda: Server.objects.filter(name="here").update(enabled=False),
        "tools_server",
    ),
    "a server is deleted": (lambda: Server.objects.filter(name="bare").delete(), "tools_server"),
    "a tool is added": (
        lambda: ToolFactory(server=Server.objects.get(name="here"), pinned=False),
        "tools_tool",
    ),
    "a tool is overridden": (
        lambda: Server.objects.get(name="here").tools.update(danger_override="read"),
        "tools_tool",
    ),
    "a team is added": (lambda: TeamFactory(), "tools_team"),
    "a category is named": (lambda: CategoryFactory(), "tools_category"),
    "an operation is curated": (lambda: DangerousOperationFactory(), "tools_dangerousoperation"),
}


@pytest.mark.parametrize(("write", "table"), WRITES.values(), ids=WRITES.keys())
async def test_every_catalogue_change_is_notified(write, table):
    def prepare():
        ToolFactory(server__name="here")
        ServerFactory(name="bare")

    await run_in_database_thread(prepare)
    async with listening() as ears:
        await run_in_database_thread(write)
        assert table in await ears.heard_until("mark")


SILENT = {
    "a server answers": lambda: Server.objects.update(protocol_version="2026-07-28"),
    "a server fails": lambda: Server.objects.update(last_error="exited"),
    "a definition is stored": lambda: ToolDefinition.objects.update(token_count=7),
}


@pytest.mark.parametrize("write", SILENT.values(), ids=SILENT.keys())
async def test_other_changes_are_not_notified(write):
    await run_in_database_thread(lambda: ToolFactory(server__name="here"))
    async with listening() as ears:
        await run_in_database_thread(write)
        assert await ears.heard_until("mark") == []
