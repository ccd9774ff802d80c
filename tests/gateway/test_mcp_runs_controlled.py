"""control_run, as clients see it."""

from dataclasses import replace

import pytest

from execution.control import Action, ActionNotPossible
from execution.status import RunStatus
from tests.gateway import run_views
from tests.gateway.run_requests import FLOW, called, refused
from tests.gateway.run_views import RUN


async def test_a_run_is_steered(connect, world):
    async with connect() as client:
        await called(client, "run_workflow", workflow=FLOW)
        await called(client, "control_run", run_id=str(RUN), action="pause", wait_s=0)
    assert world.runs.handle_notification == [(Action.PAUSE, None)]


async def test_an_impossible_action_is_an_error_with_a_code(connect, world):
    async with connect() as client:
        await called(client, "run_workflow", workflow=FLOW)
        world.runs.error = ActionNotPossible("run_not_paused", "the run is succeeded")
        error = await refused(client, "control_run", run_id=str(RUN), action="resume")
    assert error["code"] == "run_not_paused"
    assert "get_run returns its status" in error["text"]


def half_done(view):
    _, later = view.tasks
    done = run_views.task("log", span=(0, 10), result=run_views.text("log"))
    workflow = {"tasks": [FLOW["tasks"][0] | {"tool": "git:git_log"}, FLOW["tasks"][1]]}
    return replace(
        view, tasks=(done, later), status=RunStatus.PAUSED, workflow=workflow, last_seq=5
    )


async def test_a_replan_keeps_finished_tasks_and_lists_the_changes(connect, world):
    world.runs.becomes = half_done
    new = {
        "tasks": [
            {"id": "status", "tool": "git__git_status", "depends_on": ["log"], "arguments": {}}
        ]
    }
    async with connect() as client:
        await called(client, "run_workflow", workflow=FLOW)
        world.runs.read.clear()
        answer = await called(
            client, "control_run", run_id=str(RUN), action="replan", workflow=new
        )
    assert world.runs.read.count(True) == 1  # its results: for the answer
    assert answer["replanned"] == {
        "kept": ["log"],
        "changed": [],
        "added": ["status"],
        "removed": ["later"],
    }
    ((action, workflow),) = world.runs.handle_notification
    assert action is Action.REPLAN
    assert [task.tool for task in workflow.tasks] == ["git:git_status"]


@pytest.mark.parametrize(
    ("tasks", "code"),
    [
        ([{"id": "log", "tool": "git:git_status", "arguments": {}}], "invalid_workflow"),
        ([{"id": "new", "tool": "no:such", "arguments": {}}], "workflow_not_runnable"),
        ([{"id": "new", "tool": "git:git_status", "depends_on": ["x"]}], "invalid_workflow"),
        (None, "invalid_workflow"),
    ],
    ids=["changes what is done", "unknown tool", "unknown task", "none given"],
)
async def test_a_replan_that_cannot_be_is_refused_and_changes_nothing(connect, world, tasks, code):
    world.runs.becomes = half_done
    given = {} if tasks is None else {"workflow": {"tasks": tasks}}
    async with connect() as client:
        await called(client, "run_workflow", workflow=FLOW)
        error = await refused(client, "control_run", run_id=str(RUN), action="replan", **given)
    assert error["code"] == code
    assert world.runs.handle_notification == []


async def test_a_replan_must_repeat_an_unstarted_task_it_references(connect, world):
    world.runs.becomes = half_done
    new = {"tasks": [{"id": "last", "tool": "git:git_status", "depends_on": ["later", "x"]}]}
    async with connect() as client:
        await called(client, "run_workflow", workflow=FLOW)
        error = await refused(
            client, "control_run", run_id=str(RUN), action="replan", workflow=new
        )
    later, other = error["problems"]
    assert "must repeat the unstarted tasks" in later["message"]
    assert "repeats" not in other["message"]
