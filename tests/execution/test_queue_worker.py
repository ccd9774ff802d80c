"""A worker's loop, on jobs in the database."""

import asyncio
import json
import uuid
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest
from django.db import connection
from procrastinate.exceptions import ConnectorException
from psycopg_pool import AsyncConnectionPool

from execution import queue_worker
from execution.models import WorkflowExecution
from execution.store import jobs
from gateway_project.foundation.database import run_in_database_thread
from tests.execution import queue_tables
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.django_db(transaction=True)

LEASE_S = 60
SHORT_LEASE_S = 20
"""Of a worker that takes one for dead which has stood still for half a minute."""


@pytest.fixture(autouse=True)
def tables(db):
    with queue_tables.queue_tables():
        yield


@pytest.fixture(autouse=True)
def prompt_retries(monkeypatch):
    monkeypatch.setattr(queue_worker, "FIRST_RETRY_S", 0.01)
    monkeypatch.setattr(queue_worker, "LONGEST_RETRY_S", 0.05)


class Runner:
    """Takes runs, and lets each go on until it is told to end."""

    def __init__(self):
        self.taken = asyncio.Queue()
        self.may_end = asyncio.Event()
        self.at_once = self.most_at_once = 0

    async def take(self, run):
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        self.taken.put_nowait(run)
        try:
            await self.may_end.wait()
        finally:
            self.at_once -= 1
        return True

    async def next(self):
        async with asyncio.timeout(PATIENCE_S):
            return await self.taken.get()


@asynccontextmanager
async def working(take, *, concurrency=4, lease_s=LEASE_S):
    async with asyncio.timeout(PATIENCE_S):
        task = asyncio.create_task(
            queue_worker.run_worker(take, concurrency=concurrency, lease_s=lease_s)
        )
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])


async def deferred():
    run = uuid.uuid4()
    await run_in_database_thread(jobs.enqueue_run, run)
    return run


async def until_in_database(condition):
    async with asyncio.timeout(PATIENCE_S):
        while not await run_in_database_thread(condition):  # noqa: ASYNC110 - other sessions bring it about
            await asyncio.sleep(0.01)


async def no_jobs_are_left():
    await until_in_database(lambda: not queue_tables.jobs())


def break_off():
    """End every other session, as a database that restarts does."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity "
            "WHERE datname = current_database() AND backend_type = 'client backend' "
            "AND pid <> pg_backend_pid()"
        )


async def test_a_job_executes_its_run_and_is_deleted():
    runner = Runner()
    early = await deferred()
    async with working(runner.take):
        assert await runner.next() == early
        late = await deferred()
        assert await runner.next() == late
        runner.may_end.set()
        await no_jobs_are_left()


async def test_it_ends_though_its_connection_breaks_off_at_that_moment(monkeypatch):
    fetching = asyncio.Event()

    async def break_off_when_cancelled(*_args, **_options):
        fetching.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise ConnectorException("broken off") from None

    monkeypatch.setattr(queue_worker, "_fetch_jobs", break_off_when_cancelled)
    async with working(Runner().take):
        await fetching.wait()


async def test_connections_are_closed_if_it_is_cancelled_while_they_open(monkeypatch):
    open_pool, is_open = AsyncConnectionPool.open, asyncio.Event()
    pools = []

    async def hang_once_open(pool, **options):
        await open_pool(pool, **options)
        pools.append(pool)
        is_open.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(AsyncConnectionPool, "open", hang_once_open)
    async with working(Runner().take):
        await is_open.wait()
    assert [pool.closed for pool in pools] == [True]


async def test_no_more_runs_are_fetched_at_once_than_allowed():
    runner = Runner()
    waiting = {await deferred() for _ in range(5)}
    async with working(runner.take, concurrency=2):
        first = {await runner.next(), await runner.next()}
        runner.may_end.set()
        rest = {await runner.next() for _ in range(3)}
        await no_jobs_are_left()
    assert first | rest == waiting
    assert runner.most_at_once == 2


async def test_a_connection_that_breaks_off_is_replaced():
    runner = Runner()
    runner.may_end.set()
    async with working(runner.take):
        run = await deferred()
        assert await runner.next() == run
        await run_in_database_thread(break_off)
        again = await deferred()
        assert await runner.next() == again


async def test_a_run_that_cannot_be_claimed_does_not_affect_others():
    runner = Runner()
    runner.may_end.set()
    bad = await deferred()

    async def take(run):
        if run == bad:
            raise ValueError("no such luck")
        return await runner.take(run)

    good = await deferred()
    async with working(take):
        assert await runner.next() == good
        await no_jobs_are_left()


async def test_it_stops_without_waiting_for_runs():
    runner = Runner()
    run = await deferred()
    async with working(runner.take):
        assert await runner.next() == run
    assert runner.at_once == 0


def take_for_dead():
    """Forget every worker, as another one does with those that stood still for too long."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM procrastinate_workers")


async def test_a_worker_presumed_dead_registers_again():
    runner = Runner()
    runner.may_end.set()
    async with working(runner.take):
        run = await deferred()
        assert await runner.next() == run
        await no_jobs_are_left()
        await run_in_database_thread(take_for_dead)
        again = await deferred()
        assert await runner.next() == again


def leave_in_line():
    """Make a run whose job a worker has fetched that stands still since half a minute."""
    now = datetime.now(UTC)
    run = WorkflowExecution.objects.create(created_at=now, changed_at=now).pk
    jobs.enqueue_run(run)
    with connection.cursor() as cursor:
        cursor.execute(
            "WITH worker AS (INSERT INTO procrastinate_workers (last_heartbeat) "
            "VALUES (now() - interval '30 seconds') RETURNING id) "
            "UPDATE procrastinate_jobs SET status = 'doing', worker_id = worker.id FROM worker "
            "WHERE args ->> 'run' = %s",
            [str(run)],
        )
    return run


async def test_a_job_fetched_by_a_stalled_worker_is_fetched_by_another():
    runner = Runner()
    left = await run_in_database_thread(leave_in_line)
    async with working(runner.take, lease_s=SHORT_LEASE_S):
        assert await runner.next() == left


def is_in_line(run):
    return ("todo", str(run)) in (
        (status, json.loads(args)["run"]) for status, args in queue_tables.jobs()
    )


@pytest.fixture
def works_often(monkeypatch):
    """Have what a worker does several times within its lease be done ten times a second."""
    monkeypatch.setattr(queue_worker, "RENEWALS_PER_LEASE", 10 * SHORT_LEASE_S)


@pytest.mark.usefixtures("works_often")
async def test_lost_jobs_are_searched_for_even_by_a_full_worker():
    runner = Runner()
    busy = await deferred()
    async with working(runner.take, concurrency=1, lease_s=SHORT_LEASE_S):
        assert await runner.next() == busy
        left = await run_in_database_thread(leave_in_line)
        await until_in_database(lambda: is_in_line(left))
        runner.may_end.set()
        assert await runner.next() == left


def heartbeat():
    with connection.cursor() as cursor:
        cursor.execute("SELECT max(last_heartbeat) FROM procrastinate_workers")
        return cursor.fetchone()[0]


@pytest.mark.usefixtures("works_often")
async def test_a_worker_sends_several_heartbeats_per_lease():
    runner = Runner()
    async with working(runner.take, lease_s=SHORT_LEASE_S):
        run = await deferred()
        assert await runner.next() == run
        for _ in range(10):  # at the queue's own pace that would take too long
            last = await run_in_database_thread(heartbeat)
            await until_in_database(lambda last=last: heartbeat() > last)
