"""Runs that people and agents steer, each time taken up anew from their rows."""

from dataclasses import replace

import pytest

from execution import runs as runs_module
from execution.control import Action, ActionNotPossible
from execution.models import WorkflowExecution
from execution.store import views
from execution.workflow import RunOptions
from gateway_project.foundation.database import run_in_database_thread
from tests.execution import test_runs_adopted
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
from tests.execution.test_runs_adopted import killed, left, tasks

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("runs_db")]
LAYERED = replace(CHAIN, options=RunOptions(per_layer_validation=True))


async def test_a_layered_run_pauses_after_each_layer_until_continued(home, sealer):
    upstream = Gate()
    async with process(means(home, sealer, upstream)) as runs:
        run = (await runs.start(ADMIN, LAYERED)).run
        for seen in (["a"], ["a", "b"]):
            assert (await ended(runs, run)).status == "paused"
            assert upstream.seen == seen
            await runs.control(ADMIN, run, Action.CONTINUE)
        assert (await ended(runs, run)).status == "succeeded"
        kinds = [event.kind async for event in runs.follow_events(ADMIN, run)]
    assert kinds.count("layer_complete") == 2
    assert upstream.seen == ["a", "b", "c"]


async def test_a_resting_run_is_replanned_and_keeps_what_is_done(home, sealer):
    upstream = Gate()
    async with process(means(home, sealer, upstream)) as runs:
        run = (await runs.start(ADMIN, LAYERED)).run
        await ended(runs, run)
        new = planned({"id": "a"}, {"id": "z", "depends_on": ["a"]}).workflow
        await runs.control(ADMIN, run, Action.REPLAN, workflow=new)
        view = await ended(runs, run)
    assert (view.status, view.version) == ("succeeded", 2)
    assert upstream.seen == ["a", "z"]
    assert {task.task: task.status for task in view.tasks} == {"a": "succeeded", "z": "succeeded"}


async def test_a_replan_that_is_outdated_when_applied_is_refused(home, sealer):
    async with process(means(home, sealer, Gate())) as runs:
        run = (await runs.start(ADMIN, LAYERED)).run
        await ended(runs, run)
        other = planned({"id": "a", "tool": "s:read"}).workflow
        with pytest.raises(ActionNotPossible) as refused:
            await runs.control(ADMIN, run, Action.REPLAN, workflow=other)
        assert refused.value.code == "invalid_workflow"
        assert (await runs.load_view(ADMIN, run)).status == "paused"


@pytest.mark.usefixtures("looks_often")
async def test_a_run_that_waits_for_a_person_ends_when_its_time_is_up(home, sealer):
    upstream = Gate()
    async with process(means(home, sealer, upstream)) as runs:
        plan = planned({"id": "a", "tool": "s:ask"})
        run = (await runs.start(ADMIN, replace(plan, options=RunOptions(deadline_s=0.2)))).run
        await until_stored(lambda: views.load_status(run).is_final)
        view = await runs.load_view(ADMIN, run)
    assert (view.error_code, upstream.seen) == ("deadline_exceeded", [])


async def lost(home, sealer):
    return await run_in_database_thread(left, sealer, owner=killed(home), a="running")


async def test_an_unknown_call_is_repeated_only_by_a_persons_choice(home, sealer):
    upstream = Gate()
    run = await lost(home, sealer)
    async with process(means(home, sealer, upstream)) as runs:
        await until_stored(lambda: views.load_status(run) == "unknown")
        with pytest.raises(ActionNotPossible):
            await runs.control(ADMIN, run, Action.RESUME)
        assert upstream.seen == []
        await runs.control(ADMIN, run, Action.RESUME, rerun_unknown=True)
        assert (await ended(runs, run)).status == "succeeded"
    assert upstream.seen == ["a", "b"]


async def test_an_unknown_call_is_repeated_while_another_is_in_flight(home, sealer, monkeypatch):
    side_by_side = [{**task, "depends_on": []} for task in test_runs_adopted.NAMED["tasks"]]
    monkeypatch.setattr(test_runs_adopted, "NAMED", {"tasks": side_by_side})
    upstream = Gate("b")
    run = await run_in_database_thread(left, sealer, owner=killed(home), b="running", a="running")
    async with process(means(home, sealer, upstream)) as runs:
        await upstream.until("b")
        await until_stored(lambda: "unknown" in tasks(run).values())
        assert (await run_in_database_thread(views.load_status, run)) == "running"
        await runs.control(ADMIN, run, Action.RESUME, rerun_unknown=True)
        await upstream.until("a")
        upstream.open.set()
        assert (await ended(runs, run)).status == "succeeded"


async def test_an_aborted_unknown_run_keeps_its_call_unknown(home, sealer):
    run = await lost(home, sealer)
    async with process(means(home, sealer, Gate())) as runs:
        await until_stored(lambda: views.load_status(run) == "unknown")
        await runs.control(ADMIN, run, Action.ABORT)
        view = await runs.load_view(ADMIN, run)
    assert view.status == "aborted"
    assert view.tasks[0].status == "unknown"


async def test_a_resting_run_has_no_owner(home, sealer):
    async with process(means(home, sealer, Gate())) as runs:
        run = (await runs.start(ADMIN, LAYERED)).run
        await ended(runs, run)
        row = await run_in_database_thread(WorkflowExecution.objects.get, id=run)
        assert (row.owner, row.lease_until, row.status) == ("", None, "paused")


async def test_the_last_command_wins_even_if_none_was_applied_before(home, sealer, monkeypatch):
    monkeypatch.setattr(runs_module, "APPLY_WAIT_S", 0.0)
    upstream = Gate("a")
    async with process(means(home, sealer, upstream, is_executor=False)) as asking:
        run = (await asking.start(ADMIN, CHAIN)).run
        await asking.control(ADMIN, run, Action.PAUSE)
        await asking.control(ADMIN, run, Action.RESUME)
    upstream.open.set()
    async with process(means(home, sealer, upstream)) as runs:
        assert (await ended(runs, run)).status == "succeeded"
