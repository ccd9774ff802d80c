"""Runs of several users share the workers of a queue."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from execution.control import Action
from execution.models import WorkflowExecution
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.database import run_in_database_thread
from tests.execution.run_setup import (
    ADMIN,
    Gate,
    ended,
    means,
    planned,
    process,
    until,
    until_stored,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("runs_db")]
BOB = Caller(user="bob", team=None, person=None, scopes=frozenset({"call"}), kind="http")
HANGS = planned({"id": "hang"})
QUICK = planned({"id": "quick"})


class Line:
    """A queue whose jobs are fetched by whoever is free, as procrastinate's are."""

    def __init__(self):
        self.jobs = asyncio.Queue()
        self.left = []

    async def put(self, asking, caller, plan):
        """Start a run, and put it in line once it is there."""
        run = (await asking.start(caller, plan)).run
        self.jobs.put_nowait(run)
        return run

    async def slot(self, runs):
        while True:
            run = await self.jobs.get()
            if not await runs.claim_and_execute(run):
                self.left.append(run)


@asynccontextmanager
async def worker(home, sealer, upstream, line, *, concurrency=4):
    wide = {"tasks_at_once": 64, "tasks_per_server": 64, "can_claim_new_runs": False}
    given = means(home, sealer, upstream, runs_at_once=concurrency, **wide)
    async with process(given, listens=True) as runs:
        slots = [asyncio.create_task(line.slot(runs)) for _ in range(concurrency)]
        try:
            yield runs
        finally:
            for slot in slots:
                slot.cancel()
            await asyncio.wait(slots)


def gateway(home, sealer, upstream):
    return process(means(home, sealer, upstream, is_executor=False), listens=True)


def statuses(user):
    found = WorkflowExecution.objects.filter(user=user)
    return sorted(found.values_list("status", flat=True))


async def test_hanging_runs_of_one_user_leave_half_of_the_places(home, sealer):
    line, upstream = Line(), Gate("hang")
    async with (
        gateway(home, sealer, upstream) as asking,
        worker(home, sealer, upstream, line),
    ):
        for _ in range(10):
            await line.put(asking, BOB, HANGS)
        await upstream.until("hang", 2)
        for _ in range(3):
            run = await line.put(asking, ADMIN, QUICK)
            assert (await ended(asking, run)).status == "succeeded"
        assert upstream.seen.count("hang") == 2
        upstream.open.set()
        await until_stored(lambda: statuses("bob") == ["succeeded"] * 10)


async def test_a_run_one_worker_has_no_room_for_is_claimed_by_another(home, sealer):
    line, upstream = Line(), Gate("hang")
    async with gateway(home, sealer, upstream) as asking, worker(home, sealer, upstream, line):
        for _ in range(4):
            await line.put(asking, BOB, HANGS)
        await until(lambda: len(line.left) == 2)
        async with worker(home, sealer, upstream, line):
            await upstream.until("hang", 4)
            upstream.open.set()
            await until_stored(lambda: statuses("bob") == ["succeeded"] * 4)


async def test_runs_that_wait_for_room_are_begun_in_the_order_they_were_asked_for(home, sealer):
    names = [f"next {n}" for n in range(5)]
    line, upstream = Line(), Gate("hang", *names)
    async with (
        gateway(home, sealer, upstream) as asking,
        worker(home, sealer, upstream, line),
    ):
        for _ in range(2):
            await line.put(asking, BOB, HANGS)
        await upstream.until("hang", 2)
        waiting = [await line.put(asking, BOB, planned({"id": name})) for name in names]
        await until(lambda: len(line.left) == 5)
        hanging, upstream.open = upstream.open, asyncio.Event()
        hanging.set()
        await until(lambda: len(upstream.seen) == 4)
        assert sorted(upstream.seen[2:]) == ["next 0", "next 1"]
        upstream.open.set()
        for run in waiting:
            assert (await ended(asking, run, BOB)).status == "succeeded"


async def test_a_full_worker_handles_commands_to_resting_runs(home, sealer):
    line, upstream = Line(), Gate("hang")
    async with (
        gateway(home, sealer, upstream) as asking,
        worker(home, sealer, upstream, line),
    ):
        asks = await line.put(asking, ADMIN, planned({"id": "ask", "tool": "s:ask"}))
        assert (await ended(asking, asks)).status == "waiting"
        for caller in (BOB, ADMIN):
            for _ in range(2):
                await line.put(asking, caller, HANGS)
        await upstream.until("hang", 4)
        await asking.control(ADMIN, asks, Action.ABORT)
        assert (await ended(asking, asks)).status == "aborted"
        upstream.open.set()
        assert (await run_in_database_thread(statuses, "admin")).count("aborted") == 1
