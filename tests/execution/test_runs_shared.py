"""Runs of several users share a process; whose rights are cut, theirs end."""

import asyncio
from dataclasses import replace

import pytest

from execution import runs as runs_module
from execution.control import Action
from execution.models import RunCommand, WorkflowExecution
from execution.store import views
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.task_group import TaskGroup
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
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("runs_db")]
BOB = Caller(user="bob", team=None, person=None, scopes=frozenset({"call"}), kind="http")
CHAIN = planned({"id": "a"}, {"id": "b", "depends_on": ["a"]})
HANGS = planned({"id": "hang"})
ASKS = planned({"id": "ask", "tool": "s:ask"})


async def start(runs, caller, plan):
    return (await runs.start(caller, plan)).run


def statuses(**which):
    found = WorkflowExecution.objects.filter(**which)
    return sorted(found.values_list("status", flat=True))


def crowded(home, sealer, upstream, **said):
    wide = {"runs_at_once": 16, "tasks_at_once": 64, "tasks_per_server": 64}
    return means(home, sealer, upstream, **(wide | said))


@pytest.mark.usefixtures("looks_often")
@pytest.mark.parametrize("claims", [True, False])
async def test_a_user_without_rights_has_no_further_calls_made(home, sealer, claims):
    upstream, gone = Gate("a"), []

    def standing(caller):
        if gone:
            raise LookupError("there is no such user")
        return caller

    given = means(home, sealer, upstream, refresh_rights=standing, can_claim_runs=claims)
    async with process(given) as runs:
        run = await start(runs, BOB, CHAIN)
        await upstream.until("a")
        gone.append(BOB)
        carried = runs._process.holder._runs[run]
        await until(lambda: carried.has_lost_rights)
        upstream.open.set()
        view = await ended(runs, run, BOB)
    assert (view.status, view.error_code, upstream.seen) == ("failed", "not_permitted", ["a"])
    assert [task.status for task in view.tasks] == ["succeeded", "skipped"]


@pytest.mark.usefixtures("looks_often")
async def test_runs_continue_with_the_remaining_rights_of_their_user(home, sealer):
    upstream, cut = Gate("a"), []

    def standing(caller):
        return replace(caller, scopes=frozenset({"call"})) if cut else caller

    async with process(means(home, sealer, upstream, refresh_rights=standing)) as runs:
        run = await start(runs, ADMIN, CHAIN)
        await upstream.until("a")
        other = await start(runs, BOB, HANGS)
        await upstream.until("hang")
        cut.append(ADMIN)
        carried = runs._process.holder._runs[run]
        await until(lambda: carried.has_lost_rights)
        upstream.open.set()
        assert (await ended(runs, run)).status == "succeeded"
        assert (await ended(runs, other, BOB)).status == "succeeded"
    kinds = [
        event.kind
        for event in await run_in_database_thread(views.load_events, run, after=0, limit=99)
    ]
    assert kinds.count("run_adopted") == 1
    assert upstream.seen == ["a", "hang", "b"]


async def test_one_user_gets_half_of_the_places_and_further_runs_wait(home, sealer):
    upstream = Gate("hang")
    async with process(crowded(home, sealer, upstream), listens=True) as runs:
        for _ in range(20):
            await start(runs, BOB, HANGS)
        await upstream.until("hang", 8)
        await runs.handle_notification(None)
        for _ in range(3):
            run = await start(runs, ADMIN, planned({"id": "a"}))
            assert (await ended(runs, run)).status == "succeeded"
        assert upstream.seen.count("hang") == 8
        upstream.open.set()
        await until_stored(lambda: statuses(user="bob") == ["succeeded"] * 20)


async def test_adopted_runs_count_towards_the_half_too(home, sealer):
    upstream = Gate("hang")
    gateway = crowded(home, sealer, upstream, is_executor=False)
    async with process(gateway) as runs:
        for _ in range(20):
            await start(runs, BOB, HANGS)
        run = await start(runs, ADMIN, planned({"id": "a"}))
    async with process(crowded(home, sealer, upstream)) as runs:
        assert (await ended(runs, run)).status == "succeeded"
        await upstream.until("hang", 8)
        assert upstream.seen.count("hang") == 8
        upstream.open.set()


async def test_a_full_process_handles_commands_of_resting_and_queued_runs(home, sealer):
    upstream = Gate("hang")
    async with process(crowded(home, sealer, upstream), listens=True) as runs:
        asks = await start(runs, ADMIN, ASKS)
        assert (await ended(runs, asks)).status == "waiting"
        callers = [BOB, replace(BOB, user="ann"), replace(BOB, user="eve")]
        for caller in callers:
            for _ in range(9):
                queued = await start(runs, caller, HANGS)
        await upstream.until("hang", 16)
        assert not runs._process.holder.has_room(ADMIN)
        await runs.control(ADMIN, asks, Action.ABORT)
        await runs.control(callers[-1], queued, Action.ABORT)
        await until_stored(lambda: not RunCommand.objects.filter(applied_at=None).exists())
        assert await run_in_database_thread(statuses, user="admin") == ["aborted"]
        assert await run_in_database_thread(lambda: statuses(id=queued)) == ["aborted"]
        assert upstream.seen.count("hang") == 16
        upstream.open.set()


async def test_dead_owners_are_remembered_while_they_own_runs(home, sealer):
    async with process(means(home, sealer, Gate())) as runs:
        holder = runs._process.holder
        holder._claimer._ended_owners.add("gone")
        await holder.claim_waiting_runs()
        assert holder._claimer.dead_owners == set()


@pytest.mark.usefixtures("looks_often")
async def test_a_lost_run_has_its_call_cancelled_and_can_be_claimed_again(home, sealer):
    upstream = Gate("a")
    async with process(means(home, sealer, upstream)) as runs:
        run = await start(runs, ADMIN, planned({"id": "a", "tool": "s:read"}))
        await upstream.until("a")
        holder = runs._process.holder
        taken = WorkflowExecution.objects.filter(id=run)
        await run_in_database_thread(lambda: taken.update(owner="other", epoch=7))
        await until(lambda: run not in holder._runs)
        await run_in_database_thread(lambda: taken.update(owner=""))
        holder.claim_wanted.set()
        await upstream.until("a", 2)
        upstream.open.set()
        assert (await ended(runs, run)).status == "succeeded"


async def test_a_pause_made_by_another_process_is_told_when_it_takes_effect(
    home, sealer, monkeypatch
):
    monkeypatch.setattr(runs_module, "POLL_INTERVAL_S", 10 * PATIENCE_S)
    upstream = Gate("a")
    reader = means(home, sealer, upstream, is_executor=False)
    async with (
        process(means(home, sealer, upstream), listens=True) as carrying,
        process(reader, listens=True) as reading,
        asyncio.timeout(PATIENCE_S),
        TaskGroup() as group,
    ):
        run = await start(carrying, ADMIN, CHAIN)
        await upstream.until("a")
        told = group.create_task(reading.wait(ADMIN, run, wait_s=5 * PATIENCE_S))
        await carrying.control(ADMIN, run, Action.PAUSE)
        upstream.open.set()
        assert (await told).status == "paused"
