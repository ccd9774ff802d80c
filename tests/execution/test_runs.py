import asyncio
import contextlib
import uuid

import django.db
import pytest

from execution import runs as runs_module
from execution.control import Action, ActionNotPossible
from execution.run_dependencies import RunsUnavailable
from execution.store import approvals, views
from execution.store import runs as run_store
from execution.store.runs import UnknownRun
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.database import run_in_database_thread
from tests.execution.run_setup import (
    ADMIN,
    CHAIN,
    Gate,
    ended,
    means,
    planned,
    process,
    until_stored,
)
from tests.gateway.catalogues import FakeUpstream, text_result
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("runs_db")]
OTHER = Caller(user="eve", team=None, person=None, scopes=frozenset({"*"}), kind="http")
ONE = planned({"id": "a"})


async def start(runs, plan=CHAIN, **said):
    return (await runs.start(ADMIN, plan, **said)).run


def outcomes(view):
    return {task.task: task.status.value for task in view.tasks}


async def decide(run, *, approve):
    (pending,) = (
        await run_in_database_thread(views.load_view, run, caller=None, sealer=None, results=False)
    ).pending_approvals
    await run_in_database_thread(
        approvals.decide_approval,
        pending.id,
        approve=approve,
        by="admin",
        via="console",
        allowed=lambda _team, _user: True,
    )


async def test_a_run_is_carried_out_and_recorded(home, sealer):
    upstream = Gate()
    async with process(means(home, sealer, upstream)) as runs:
        view = await ended(runs, await start(runs))
    assert (view.status, upstream.seen) == ("succeeded", ["a", "b", "c"])
    assert set(outcomes(view).values()) == {"succeeded"}
    assert view.tasks[2].result == {"content": [{"type": "text", "text": "c"}]}


async def test_a_wait_times_out_and_the_run_continues(home, sealer):
    upstream = Gate("b")
    async with process(means(home, sealer, upstream)) as runs:
        run = await start(runs)
        await upstream.until("b")
        assert (await runs.wait(ADMIN, run, wait_s=0.05)).status == "running"
        upstream.open.set()
        assert (await ended(runs, run)).status == "succeeded"


async def test_a_run_outlives_its_requester(home, sealer, monkeypatch):
    upstream = Gate()
    async with process(means(home, sealer, upstream)) as runs:
        asking = asyncio.create_task(start(runs, ONE))
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.wait([asking])
        await upstream.until("a")


async def test_a_run_of_another_caller_is_unknown_to_every_request(home, sealer):
    async with process(means(home, sealer, Gate("a"))) as runs:
        run = await start(runs, ONE)
        with pytest.raises(UnknownRun):
            await runs.wait(OTHER, run, wait_s=PATIENCE_S)
        with pytest.raises(UnknownRun):
            await runs.control(OTHER, run, Action.ABORT)
        with pytest.raises(UnknownRun):
            await anext(aiter(runs.follow_events(OTHER, run)))
        with pytest.raises(UnknownRun):
            await runs.load_view(ADMIN, uuid.uuid4())


async def test_events_can_be_followed_from_any_point_to_the_end(home, sealer):
    upstream = Gate("b")
    async with process(means(home, sealer, upstream), listens=True) as runs:
        run = await start(runs)
        seen = []
        async for event in runs.follow_events(ADMIN, run):
            seen.append(event)
            if event.kind == "task_started" and event.task == "b":
                break
        upstream.open.set()
        seen += [event async for event in runs.follow_events(ADMIN, run, after=seen[-1].seq)]
    assert [event.seq for event in seen] == list(range(1, len(seen) + 1))
    assert seen[-1].kind == "run_ended"


async def test_a_paused_run_finishes_calls_in_flight_and_starts_none_until_resumed(home, sealer):
    upstream = Gate("a")
    async with process(means(home, sealer, upstream)) as runs:
        run = await start(runs)
        await upstream.until("a")
        await runs.control(ADMIN, run, Action.PAUSE)
        upstream.open.set()
        view = await ended(runs, run)
        assert (view.status, outcomes(view)["a"], upstream.seen) == ("paused", "succeeded", ["a"])
        await runs.control(ADMIN, run, Action.PAUSE)
        assert (await runs.load_view(ADMIN, run)).status == "paused"
        await runs.control(ADMIN, run, Action.RESUME)
        assert (await ended(runs, run)).status == "succeeded"
    assert upstream.seen == ["a", "b", "c"]


async def test_abort_cancels_the_calls_in_flight(home, sealer):
    upstream = Gate("a")
    async with process(means(home, sealer, upstream)) as runs:
        run = await start(runs)
        await upstream.until("a")
        await runs.control(ADMIN, run, Action.ABORT)
        view = await ended(runs, run)
        assert view.status == "aborted"
        assert outcomes(view) == {"a": "cancelled", "b": "cancelled", "c": "cancelled"}
        assert upstream.cancelled.is_set()
        await runs.control(ADMIN, run, Action.ABORT)
        assert (await runs.load_view(ADMIN, run)).status == "aborted"
        with pytest.raises(ActionNotPossible, match="aborted"):
            await runs.control(ADMIN, run, Action.RESUME)


async def test_a_resting_run_is_claimed_to_be_aborted(home, sealer):
    upstream = Gate("a")
    async with process(means(home, sealer, upstream)) as runs:
        run = await start(runs)
        await upstream.until("a")
        await runs.control(ADMIN, run, Action.PAUSE)
        upstream.open.set()
        await ended(runs, run)
    async with process(means(home, sealer, upstream)) as another:
        await another.control(ADMIN, run, Action.ABORT)
        assert (await another.load_view(ADMIN, run)).status == "aborted"
    assert upstream.seen == ["a"]


async def test_commands_are_applied_in_order_each_once(home, sealer):
    upstream = Gate("a")
    async with process(means(home, sealer, upstream)) as runs:
        run = await start(runs)
        await upstream.until("a")
        async with asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(runs.control(ADMIN, run, Action.PAUSE))
        upstream.open.set()
        assert (await ended(runs, run)).status == "paused"
        await runs.control(ADMIN, run, Action.RESUME)
        assert (await ended(runs, run)).status == "succeeded"
    assert upstream.seen == ["a", "b", "c"]


async def test_a_call_waits_for_its_approval_and_is_then_made(home, sealer):
    upstream = Gate()
    plan = planned({"id": "a", "tool": "s:ask"}, {"id": "b", "depends_on": ["a"]})
    async with process(means(home, sealer, upstream), listens=True) as runs:
        run = await start(runs, plan)
        view = await ended(runs, run)
        assert (view.status, upstream.seen) == ("waiting", [])
        await decide(run, approve=True)
        await until_stored(lambda: views.load_status(run) == "succeeded")
    assert upstream.seen == ["a", "b"]


async def test_a_rejected_call_fails_with_that_code(home, sealer):
    upstream = Gate()
    async with process(means(home, sealer, upstream), listens=True) as runs:
        run = await start(runs, planned({"id": "a", "tool": "s:ask"}))
        await ended(runs, run)
        await decide(run, approve=False)
        await until_stored(lambda: views.load_status(run) == "failed")
        view = await runs.load_view(ADMIN, run)
    assert (view.tasks[0].error_code, upstream.seen) == ("approval_rejected", [])


@pytest.mark.usefixtures("looks_often")
async def test_an_expired_approval_fails_its_task(home, sealer):
    upstream = Gate()
    async with process(means(home, sealer, upstream, approval_expiry_s=0.05)) as runs:
        run = await start(runs, planned({"id": "a", "tool": "s:ask"}))
        await until_stored(lambda: views.load_status(run) == "failed")
        view = await runs.load_view(ADMIN, run)
    assert (view.tasks[0].error_code, upstream.seen) == ("approval_expired", [])


async def test_runs_beyond_the_limit_wait_their_turn(home, sealer):
    upstream = Gate("a")
    async with process(means(home, sealer, upstream, runs_at_once=1)) as runs:
        first, second = await start(runs, ONE), await start(runs, ONE)
        await upstream.until("a")
        assert (await runs.load_view(ADMIN, second)).status == "queued"
        upstream.open.set()
        assert (await ended(runs, first)).status == "succeeded"
        assert (await ended(runs, second)).status == "succeeded"


async def test_a_non_executing_process_leaves_runs_to_others(home, sealer):
    upstream, deferred = Gate(), []
    gateway = means(home, sealer, upstream, is_executor=False, enqueue_run=deferred.append)
    async with process(gateway) as runs:
        run = await start(runs, ONE)
        assert (deferred, (await runs.load_view(ADMIN, run)).status) == ([run], "queued")
        async with process(means(home, sealer, upstream, can_claim_runs=False)) as worker:
            assert await worker.claim_and_execute(run)
            assert not await worker.claim_and_execute(run)
        assert (await ended(runs, run)).status == "succeeded"


async def test_without_a_database_every_request_reports_it(home, sealer, monkeypatch):
    def away(*_args, **_named):
        raise django.db.OperationalError("the server closed the connection")

    async with process(means(home, sealer, Gate())) as runs:
        run = await start(runs, ONE)
        await ended(runs, run)
        monkeypatch.setattr(run_store, "create_run", away)
        monkeypatch.setattr(runs_module.views, "load_view", away)
        for asked in (
            start(runs, ONE),
            runs.wait(ADMIN, run, wait_s=0.05),
            runs.control(ADMIN, run, Action.ABORT),
        ):
            with pytest.raises(RunsUnavailable, match="closed the connection") as refused:
                await asked
            assert refused.value.code == "database_unavailable"


async def test_listeners_of_a_run_receive_server_progress(home, sealer):
    heard = asyncio.Event()

    async def answer(_called, progress):
        while not heard.is_set():
            await progress(3.0, 4.0, "nearly")
            await asyncio.sleep(0.005)
        return text_result("done")

    async with process(means(home, sealer, FakeUpstream(answer=answer))) as runs:
        run = await start(runs, ONE, is_followed=True)
        async with contextlib.aclosing(runs.follow_progress(ADMIN, run)) as reports:
            newest = await anext(reports)
        with pytest.raises(UnknownRun):
            await anext(runs.follow_progress(OTHER, run))
        heard.set()
        await ended(runs, run)
    assert [(one.task, one.progress, one.total, one.message) for one in newest] == [
        ("a", 3.0, 4.0, "nearly")
    ]


@pytest.mark.parametrize("is_followed", [True, False])
async def test_a_server_is_asked_for_progress_only_if_somebody_follows(home, sealer, is_followed):
    """Some servers refuse a call with a progress token."""
    asked = []

    async def answer(_called, progress):
        asked.append(progress is not None)
        return text_result("done")

    async with process(means(home, sealer, FakeUpstream(answer=answer))) as runs:
        await ended(runs, await start(runs, ONE, is_followed=is_followed))
    assert asked == [is_followed]
