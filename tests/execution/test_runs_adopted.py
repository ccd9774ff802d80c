"""Runs that a process takes over from another, or from nobody."""

import asyncio
import uuid

import django.db
import pytest

from execution import runs as runs_module
from execution.control import Action
from execution.models import Payload, TaskRun, WorkflowExecution
from execution.process import background, held_run, run_claimer
from execution.process.owner import ProcessOwner
from execution.runs import Runs
from execution.status import RunStatus, TaskStatus
from execution.store import leases, runs, views
from execution.store.restored import hold_open_runs
from gateway_project.foundation.database import run_in_database_thread
from tests.execution import stored
from tests.execution.run_setup import (
    ADMIN,
    CHAIN,
    Gate,
    end_at_leisure,
    ended,
    means,
    planned,
    process,
    until,
    until_stored,
)
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("runs_db")]
NAMED = {
    "tasks": [
        {"id": "a", "tool": "s:write", "arguments": {"as": "a"}},
        {"id": "b", "tool": "s:read", "arguments": {"as": "b"}, "depends_on": ["a"]},
    ]
}


def left(sealer, *, owner, lease_s=60.0, **started):
    """Leave a run as a process left it that is gone: some tasks under way, others done."""
    new = runs.NewRun(
        caller=ADMIN,
        workflow=NAMED,
        tasks=[("a", "s:write"), ("b", "s:read")],
        owner=owner,
        lease_s=lease_s,
    )
    created = runs.create_run(new, sealer=sealer)
    for seq, (task, status) in enumerate(started.items(), 2):
        hashes = {"definition_hash": {"a": "w", "b": "r"}[task], "attempts": 1}
        change = stored.change(task, status, **hashes)
        stored.write(
            sealer,
            stored.changes(created.run, change, seqs=[seq], epoch=1, status=RunStatus.RUNNING),
        )
    return created.run


def killed(home):
    """Be a process that was killed; return what it was known as."""
    owner = ProcessOwner(home)
    owner.close(is_owning=True)
    return owner.id


def status(run):
    return views.load_status(run).value


def tasks(run):
    return dict(TaskRun.objects.filter(run=run).values_list("task", "status"))


def error_code(run):
    return WorkflowExecution.objects.get(id=run).error_code


async def adopt(home, sealer, run, upstream, *, until="succeeded", **said):
    async with process(means(home, sealer, upstream, **said)):
        await until_stored(lambda: status(run) == until)


async def test_runs_of_a_killed_process_continue_at_once(home, sealer):
    upstream = Gate()
    run = await run_in_database_thread(left, sealer, owner=killed(home), a="succeeded")
    await adopt(home, sealer, run, upstream)
    assert upstream.seen == ["b"]


async def test_a_lost_repeatable_call_is_repeated(home, sealer):
    upstream = Gate()
    run = await run_in_database_thread(
        left, sealer, owner=killed(home), a="succeeded", b="running"
    )
    await adopt(home, sealer, run, upstream)
    assert upstream.seen == ["b"]


async def test_any_other_lost_call_is_unknown_and_waits_for_a_person(home, sealer):
    upstream = Gate()
    run = await run_in_database_thread(left, sealer, owner=killed(home), a="running")
    await adopt(home, sealer, run, upstream, until="unknown")
    assert upstream.seen == []
    assert (await run_in_database_thread(tasks, run))["a"] == "unknown"


@pytest.mark.usefixtures("looks_often")
@pytest.mark.parametrize(
    ("lost", "called"),
    [({}, ["a", "b"]), ({"a": "succeeded", "b": "running"}, ["b"])],
    ids=["not begun", "lost in a call that is safe to repeat"],
)
async def test_a_run_of_a_restored_backup_calls_nothing_before_it_is_resumed(
    home, sealer, lost, called
):
    upstream = Gate()
    run = await run_in_database_thread(left, sealer, owner=killed(home), **lost)
    await run_in_database_thread(hold_open_runs)
    async with process(means(home, sealer, upstream)) as runs:
        await until_stored(lambda: WorkflowExecution.objects.get(id=run).owner == "")
        assert (await run_in_database_thread(status, run), upstream.seen) == ("paused", [])
        await runs.control(ADMIN, run, Action.RESUME)
        await until_stored(lambda: status(run) == "succeeded")
    assert upstream.seen == called


@pytest.mark.usefixtures("looks_often")
async def test_a_run_on_another_machine_is_claimed_after_its_lease(home, sealer):
    upstream = Gate()
    run = await run_in_database_thread(
        left, sealer, owner=uuid.uuid4().hex, lease_s=0.3, a="succeeded"
    )
    await adopt(home, sealer, run, upstream)
    assert upstream.seen == ["b"]


async def test_a_run_on_another_machine_is_claimed_even_if_the_database_clock_was_set_back(
    home, sealer, monkeypatch
):
    # It has to look about, without a gap of half a lease, for two of them.
    monkeypatch.setattr(background, "RENEWALS_PER_LEASE", 50)
    upstream = Gate()
    run = await run_in_database_thread(
        left, sealer, owner=uuid.uuid4().hex, lease_s=3_600, a="succeeded"
    )
    await adopt(home, sealer, run, upstream, lease_s=0.8)
    assert upstream.seen == ["b"]


async def test_a_run_with_a_live_owner_is_left_alone(home, sealer):
    run = await run_in_database_thread(left, sealer, owner=uuid.uuid4().hex, a="succeeded")
    async with process(means(home, sealer, Gate())) as carried:
        assert not await carried.claim_and_execute(run)
    assert await run_in_database_thread(status, run) == "running"


async def test_late_writes_are_refused_and_the_run_is_done_once(home, sealer):
    stopped, another = Gate("b"), Gate()
    async with process(means(home, sealer, stopped)) as late:
        run = (await late.start(ADMIN, CHAIN)).run
        await stopped.until("b")
        held = await run_in_database_thread(
            leases.acquire_lease,
            run,
            owner="other",
            lease_s=0.01,
            sealer=sealer,
            dead=[late._process.holder.id],
        )
        assert held.tasks["b", -1].status is TaskStatus.RUNNING
        async with process(means(home, sealer, another, lease_s=0.3)) as alive:
            await until_stored(lambda: status(run) == "unknown")
            stopped.open.set()
            assert (await ended(late, run)).status == "unknown"
            await alive.load_view(ADMIN, run)
    assert (stopped.seen, another.seen) == (["a", "b"], [])
    assert (await run_in_database_thread(tasks, run))["b"] == "unknown"


async def test_a_process_that_ends_releases_its_runs(home, sealer, monkeypatch):
    end_at_leisure(monkeypatch, 0.1)
    upstream = Gate("a")
    async with process(means(home, sealer, upstream)) as runs_:
        run = (await runs_.start(ADMIN, planned({"id": "a", "tool": "s:read"}))).run
        await upstream.until("a")
    row = await run_in_database_thread(WorkflowExecution.objects.get, id=run)
    assert (row.owner, row.status) == ("", "running")
    assert list((home / "runs").iterdir()) == []
    upstream.open.set()
    await adopt(home, sealer, run, upstream)
    assert upstream.seen == ["a", "a"]


@pytest.mark.usefixtures("looks_often")
async def test_polling_makes_up_for_a_lost_notification(home, sealer, monkeypatch):
    monkeypatch.setattr(runs_module, "POLL_INTERVAL_S", 0.2)
    upstream = Gate()
    gateway = means(home, sealer, upstream, is_executor=False)
    async with (
        process(means(home, sealer, upstream)),
        process(gateway) as runs_,
    ):
        run = (await runs_.start(ADMIN, CHAIN)).run
        assert (await ended(runs_, run)).status == "succeeded"


def spoil_payload(run):
    Payload.objects.filter(run=run).update(content=b"spoiled")


def spoil_workflow(run):
    Payload.objects.filter(run=run).delete()


def spoil_options(run):
    WorkflowExecution.objects.filter(id=run).update(options={"on_error": "rubbish"})


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (spoil_payload, "sealed"),
        (spoil_workflow, "expired"),
        (spoil_options, "internal_error"),
    ],
)
async def test_an_unreadable_run_fails_once_and_does_not_affect_others(home, sealer, spoil, code):
    upstream = Gate()
    gone = killed(home)
    bad = await run_in_database_thread(left, sealer, owner=gone, a="succeeded", b="running")
    good = await run_in_database_thread(left, sealer, owner=gone, a="succeeded")
    await run_in_database_thread(spoil, bad)
    await adopt(home, sealer, good, upstream, lease_s=0.3)
    await adopt(home, sealer, bad, upstream, until="failed", lease_s=0.3)
    row = await run_in_database_thread(WorkflowExecution.objects.get, id=bad)
    assert (row.error_code, row.owner, row.ended_at is not None) == (code, "", True)
    assert (await run_in_database_thread(tasks, bad)) == {"a": "succeeded", "b": "unknown"}
    assert upstream.seen == ["b"]


async def test_a_workflow_that_is_none_fails_its_run(home, sealer):
    new = runs.NewRun(caller=ADMIN, workflow={"tasks": "none"}, tasks=[("a", "s:write")])
    created = await run_in_database_thread(runs.create_run, new, sealer=sealer)
    await adopt(home, sealer, created.run, Gate(), until="failed")
    assert await run_in_database_thread(error_code, created.run) == "invalid_workflow"


async def test_a_run_of_a_deleted_user_fails(home, sealer):
    def gone(caller):
        raise LookupError(f"no active user {caller.user!r}")

    run = await run_in_database_thread(left, sealer, owner=killed(home), a="succeeded")
    upstream = Gate()
    await adopt(home, sealer, run, upstream, until="failed", refresh_rights=gone)
    assert (await run_in_database_thread(error_code, run), upstream.seen) == ("not_permitted", [])


async def test_a_run_that_crashes_the_gateway_fails_and_does_not_affect_others(
    home, sealer, monkeypatch
):
    carry_out = held_run.execute_run

    async def broken(held, execution, given):
        if execution.snapshot.run == bad:
            raise RuntimeError("a defect")
        return await carry_out(held, execution, given)

    monkeypatch.setattr(held_run, "execute_run", broken)
    gone, upstream = killed(home), Gate()
    bad = await run_in_database_thread(left, sealer, owner=gone, a="running")
    good = await run_in_database_thread(left, sealer, owner=gone, a="succeeded")
    async with process(means(home, sealer, upstream)):
        await until_stored(lambda: (status(bad), status(good)) == ("failed", "succeeded"))
    assert await run_in_database_thread(error_code, bad) == "internal_error"
    assert (await run_in_database_thread(tasks, bad))["a"] == "unknown"


async def test_a_run_whose_acquisition_was_not_acknowledged_is_acquired_again(
    home, sealer, monkeypatch
):
    acquire, lost = leases.acquire_lease, []

    def unacknowledged(*args, **named):
        held = acquire(*args, **named)
        if not lost:
            lost.append(held)
            raise django.db.OperationalError("the connection was lost")
        return held

    monkeypatch.setattr(leases, "acquire_lease", unacknowledged)
    upstream = Gate()
    run = await run_in_database_thread(left, sealer, owner=killed(home), a="succeeded")
    await adopt(home, sealer, run, upstream)
    assert (len(lost), upstream.seen) == (1, ["b"])


async def test_a_run_that_keeps_failing_is_not_claimed_in_a_hot_loop(home, sealer, monkeypatch):
    taken = []

    async def idle(_held, execution, _given):
        taken.append(execution.snapshot.run)
        return RunStatus.RUNNING

    monkeypatch.setattr(held_run, "execute_run", idle)
    run = await run_in_database_thread(left, sealer, owner=killed(home), a="succeeded")
    async with process(means(home, sealer, Gate()), listens=True) as carried:
        await until(lambda: len(taken) >= run_claimer.MAX_CLAIMS_PER_LEASE)
        await carried.handle_notification(None)
        await until(lambda: not carried._process.holder.claim_wanted.is_set())
        assert set(taken) == {run}
    assert len(taken) == run_claimer.MAX_CLAIMS_PER_LEASE


async def test_a_job_fetched_before_the_process_is_ready_waits(home, sealer):
    run = await run_in_database_thread(left, sealer, owner="gone", lease_s=0.0, a="succeeded")
    worker = Runs(means(home, sealer, Gate(), can_claim_runs=False))
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        taking = group.create_task(worker.claim_and_execute(run))
        carrying = group.create_task(worker.run())
        assert await taking
        assert await run_in_database_thread(status, run) == "succeeded"
        carrying.cancel()


async def test_a_run_whose_creation_was_not_acknowledged_belongs_to_the_caller(
    home, sealer, monkeypatch
):
    create = runs.create_run

    def lossy(*args, **kwargs):
        create(*args, **kwargs)
        raise django.db.OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(runs, "create_run", lossy)
    upstream = Gate()
    async with process(means(home, sealer, upstream)) as carrying:
        run = (await carrying.start(ADMIN, CHAIN)).run
        assert (await ended(carrying, run)).status == "succeeded"
    assert upstream.seen == ["a", "b", "c"]
