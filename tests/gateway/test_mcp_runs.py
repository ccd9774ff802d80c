"""run_workflow, get_run and control_run, as both eras of clients see them."""

import json
from dataclasses import replace
from uuid import UUID

import jsonschema
import pytest
from mcp_types import ElicitResult

from execution.changes import Event
from execution.control import Action, NotPossible
from execution.status import RunStatus, TaskStatus
from execution.store.runs import IdempotencyConflict
from execution.workflow import OnError
from gateway_project.foundation.caller import Caller
from gateway_project.mcp import consent, meta_tools
from gateway_project.mcp.failure import META_KEY
from gateway_project.run_face import timeline as run_timeline
from tests.gateway import run_views
from tests.gateway.conftest import ERAS
from tests.gateway.run_views import BEGAN, RUN, approval

FLOW = {
    "tasks": [
        {"id": "log", "tool": "git__git_log", "arguments": {"repo_path": "/r"}},
        {
            "id": "later",
            "tool": "time:get_current_time",
            "arguments": {"zone": {"$ref": "log", "pointer": "/zone"}},
        },
    ]
}


async def called(client, name, **arguments):
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.content[0].text
    answer = result.structured_content
    jsonschema.validate(answer, meta_tools.BY_NAME[name].output_schema)
    assert json.loads(result.content[0].text) == answer
    return answer


async def refused(client, name, **arguments):
    result = await client.call_tool(name, arguments)
    assert result.is_error
    return result.meta[META_KEY] | {"text": result.content[0].text}


@pytest.mark.parametrize("era", ERAS)
async def test_a_workflow_is_run_and_its_results_come_back(connect, world, era):
    async with connect(era) as client:
        answer = await called(client, "run_workflow", workflow=FLOW, intent="show the log")
    assert answer["run_id"] == str(RUN)
    assert (answer["status"], answer["results"]) == (
        "succeeded",
        {"log": "log", "later": "later"},
    )
    ((plan, asked),) = world.runs.started
    assert [task.tool for task in plan.workflow.tasks] == ["git:git_log", "time:get_current_time"]
    assert (asked["intent"], asked["idempotency_key"]) == ("show the log", None)
    assert world.runs.waited == [20]


async def test_options_reach_the_run(connect, world):
    options = {
        "wait_s": 0,
        "on_error": "continue",
        "per_layer_validation": True,
        "idempotency_key": "k",
        "deadline_s": 60,
    }
    async with connect() as client:
        await called(client, "run_workflow", workflow=FLOW, options=options)
    ((_, asked),) = world.runs.started
    assert asked["options"].on_error is OnError.CONTINUE
    assert asked["options"].per_layer_validation
    assert (asked["options"].deadline_s, asked["idempotency_key"]) == (60, "k")
    assert world.runs.waited == []


async def test_a_dry_run_tells_the_plan_and_starts_nothing(connect, world):
    async with connect() as client:
        answer = await called(client, "run_workflow", workflow=FLOW, options={"dry_run": True})
    assert answer["layers"] == [["log"], ["later"]]
    assert answer["validation_errors"] == []
    assert {row["task"] for row in answer["side_effects"]} == {"log", "later"}
    assert world.runs.started == []


async def test_a_dry_run_of_what_is_no_workflow_tells_all_that_is_wrong(connect):
    tasks = [{"id": "a", "tool": "git:git_log", "depends_on": ["a"]}, {"tool": 7}]
    async with connect() as client:
        answer = await called(
            client, "run_workflow", workflow={"tasks": tasks}, options={"dry_run": True}
        )
    assert len(answer["validation_errors"]) > 1


@pytest.mark.parametrize(
    ("workflow", "code"),
    [
        ({"tasks": [{"id": "a", "tool": "git:git_log", "depends_on": ["a"]}]}, "invalid_workflow"),
        ({"tasks": [{"id": "a", "tool": "no:such"}]}, "workflow_not_runnable"),
        ({"tasks": [{"id": "a", "tool": "git:git_log"}]}, "workflow_not_runnable"),
        ([], "invalid_workflow"),
        ({"nodes": []}, "invalid_workflow"),
    ],
    ids=["cycle", "unknown tool", "missing argument", "no object", "no tasks"],
)
async def test_what_cannot_be_run_is_told_field_by_field_and_not_started(
    connect, world, workflow, code
):
    async with connect() as client:
        error = await refused(client, "run_workflow", workflow=workflow)
    assert error["code"] == code
    assert error["problems"]
    assert world.runs.started == []


@pytest.mark.parametrize(
    "options", [{"wait_s": 301}, {"wait_s": -1}, {"deadline_s": 0}, {"on_error": "x"}, {"y": 1}]
)
async def test_options_out_of_range_are_refused(connect, world, options):
    async with connect() as client:
        error = await refused(client, "run_workflow", workflow=FLOW, options=options)
    assert error["code"] == "invalid_arguments"
    assert world.runs.started == []


async def test_a_key_of_another_request_is_an_error(connect, world):
    world.runs.error = IdempotencyConflict(RUN)
    async with connect() as client:
        error = await refused(
            client, "run_workflow", workflow=FLOW, options={"idempotency_key": "k"}
        )
    assert error["code"] == "idempotency_conflict"


@pytest.mark.parametrize("tool", ["run_workflow", "get_run", "control_run"])
async def test_who_may_not_call_may_not_run(connect, world, tool):
    world.caller = Caller(user="ann", team=None, scopes=frozenset({"search"}), kind="http")
    given = {
        "run_workflow": {"workflow": FLOW},
        "get_run": {"run_id": str(RUN)},
        "control_run": {"run_id": str(RUN), "action": "abort"},
    }
    async with connect() as client:
        assert (await refused(client, tool, **given[tool]))["code"] == "not_permitted"


@pytest.mark.parametrize("run_id", ["", "nonsense", str(UUID(int=1)), "x" * 10_000])
async def test_a_run_that_is_not_there_is_unknown_whatever_its_id(connect, run_id):
    async with connect() as client:
        error = await refused(client, "get_run", run_id=run_id)
    assert error["code"] == "unknown_run"
    assert len(error["text"]) < 300


async def test_a_run_is_looked_at_again(connect, world):
    world.runs.becomes = lambda view: view
    async with connect() as client:
        first = await called(client, "run_workflow", workflow=FLOW, options={"wait_s": 0})
        assert (first["status"], first["tasks"]["log"]) == ("running", "pending")
        assert "get_run" in first["next"]
        world.runs.becomes = run_done
        then = await called(client, "get_run", run_id=first["run_id"], wait_s=3)
    assert then["status"] == "succeeded"
    assert world.runs.waited == [3]


def run_done(view):
    tasks = tuple(replace(task, status=TaskStatus.SUCCEEDED) for task in view.tasks)
    return replace(view, tasks=tasks, status=RunStatus.SUCCEEDED)


async def test_what_happens_is_told_as_progress_that_grows(connect, world):
    kinds = ["task_started", "task_retried", "task_succeeded", "task_started", "task_failed"]
    names = ["log", "log", "log", "later", "later"]
    world.runs.events = [
        Event(seq=number, kind=kind, at=BEGAN, task=name)
        for number, (kind, name) in enumerate(zip(kinds, names, strict=True), start=2)
    ]
    told = []

    async def progress(progress, total, message):
        told.append((progress, total, message))

    # The in-memory transport of the later era carries no token; see the journeys.
    async with connect("legacy") as client:
        await client.call_tool("run_workflow", {"workflow": FLOW}, progress_callback=progress)
    counts = [count for count, _, _ in told]
    assert counts == sorted(set(counts))
    assert told[-1] == (2.0, 2.0, "later failed (2 of 2 done)")
    assert told[1][2] == "log is tried again (0 of 2 done)"


async def test_a_run_is_steered(connect, world):
    async with connect() as client:
        await called(client, "run_workflow", workflow=FLOW)
        await called(client, "control_run", run_id=str(RUN), action="pause", wait_s=0)
    assert world.runs.told == [(Action.PAUSE, None)]


@pytest.mark.parametrize("wait_s", [0, 5])
async def test_what_a_run_gave_is_read_once_after_it_was_told_something(connect, world, wait_s):
    async with connect() as client:
        await called(client, "run_workflow", workflow=FLOW)
        world.runs.read.clear()
        await called(client, "control_run", run_id=str(RUN), action="pause", wait_s=wait_s)
    assert world.runs.read.count(True) == 1


async def test_what_a_run_cannot_do_is_an_error_with_a_code(connect, world):
    async with connect() as client:
        await called(client, "run_workflow", workflow=FLOW)
        world.runs.error = NotPossible("run_not_paused", "the run is succeeded")
        error = await refused(client, "control_run", run_id=str(RUN), action="resume")
    assert error["code"] == "run_not_paused"
    assert "get_run says how it stands" in error["text"]


def half_done(view):
    _, later = view.tasks
    done = run_views.task("log", span=(0, 10), result=run_views.text("log"))
    workflow = {"tasks": [FLOW["tasks"][0] | {"tool": "git:git_log"}, FLOW["tasks"][1]]}
    return replace(
        view, tasks=(done, later), status=RunStatus.PAUSED, workflow=workflow, last_seq=5
    )


async def test_a_replan_keeps_what_is_done_and_tells_the_difference(connect, world):
    world.runs.becomes = half_done
    new = {
        "tasks": [
            {"id": "status", "tool": "git__git_status", "depends_on": ["log"], "arguments": {}}
        ]
    }
    async with connect() as client:
        await called(client, "run_workflow", workflow=FLOW)
        answer = await called(
            client, "control_run", run_id=str(RUN), action="replan", workflow=new
        )
    assert answer["replanned"] == {
        "kept": ["log"],
        "changed": [],
        "added": ["status"],
        "removed": ["later"],
    }
    ((action, workflow),) = world.runs.told
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
    assert world.runs.told == []


async def test_a_replan_that_needs_a_task_not_begun_is_told_to_repeat_it(connect, world):
    world.runs.becomes = half_done
    new = {"tasks": [{"id": "last", "tool": "git:git_status", "depends_on": ["later", "x"]}]}
    async with connect() as client:
        await called(client, "run_workflow", workflow=FLOW)
        error = await refused(
            client, "control_run", run_id=str(RUN), action="replan", workflow=new
        )
    later, other = error["problems"]
    assert "repeats the tasks that have not begun" in later["message"]
    assert "repeats" not in other["message"]


def waiting(view):
    return replace(view, status=RunStatus.WAITING, approvals=(approval("log"),))


@pytest.fixture
def decided(world, monkeypatch):
    """Have decisions written down here, and runs go on once there is one."""
    made = []

    def decide(caller, which, *, approve, via):
        made.append((caller.user, which, approve, via))
        world.runs.becomes = run_done if approve else waiting
        world.runs.known = replace(world.runs.known, approvals=())

    world.runs.becomes = waiting

    async def at_once(function, /, *given, **options):
        return function(*given, **options)

    monkeypatch.setattr(consent.decide_approval, "decide", decide)
    monkeypatch.setattr(consent, "in_database", at_once)
    return made


@pytest.mark.parametrize("era", ERAS)
async def test_the_client_s_user_is_asked_and_the_run_goes_on(connect, world, decided, era):
    asked = []

    async def answer(_context, params):
        asked.append(params.message)
        return ElicitResult(action="accept", content={"approve": True})

    async with connect(era, elicitation_callback=answer) as client:
        result = await called(client, "run_workflow", workflow=FLOW)
    assert result["status"] == "succeeded"
    assert decided == [("admin", UUID(int=9), True, "elicitation")]
    assert len(world.runs.started) == 1
    assert "server:log" in asked[0]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("action", ["approve", "reject"])
async def test_a_model_s_own_control_run_decides_nothing(connect, decided, era, action):
    async with connect(era) as client:
        first = await called(client, "run_workflow", workflow=FLOW)
        assert first["status"] == "waiting"
        (pending,) = first["pending_approvals"]
        then = await called(
            client, "control_run", run_id=first["run_id"], action=action, approval=pending["id"]
        )
    assert then["status"] == "waiting"
    assert then["pending_approvals"][0]["link"] == f"http://console/{UUID(int=9)}"
    assert "approve asks your user" not in then["next"]
    assert decided == []


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_that_can_ask_is_told_how_to_have_its_user_asked(connect, decided, era):
    async def later(_context, _params):
        return ElicitResult(action="cancel")

    async with connect(era, elicitation_callback=later) as client:
        first = await called(client, "run_workflow", workflow=FLOW)
    assert "control_run approve asks your user" in first["next"]


async def test_an_approval_that_the_run_does_not_have_is_unknown(connect, decided):
    async with connect() as client:
        first = await called(client, "run_workflow", workflow=FLOW)
        error = await refused(
            client, "control_run", run_id=first["run_id"], action="approve", approval="nope"
        )
    assert error["code"] == "unknown_approval"


@pytest.mark.parametrize("era", ERAS)
async def test_no_tool_has_unknown_calls_made_again(connect, world, era):
    async with connect(era) as client:
        first = await called(client, "run_workflow", workflow=FLOW)
        error = await refused(
            client, "control_run", run_id=first["run_id"], action="resume", rerun_unknown=True
        )
    assert error["code"] == "invalid_arguments"
    assert world.runs.told == []


async def test_a_large_result_becomes_a_link_that_leads_to_all_of_it(connect, world):
    world.result_link_bytes = 500

    def large(view):
        raw = run_views.text("x" * 2_000)
        return replace(
            view,
            tasks=(run_views.task("log", result=raw), run_views.task("later", result=raw | {})),
            status=RunStatus.SUCCEEDED,
        )

    world.runs.becomes = large
    async with connect() as client:
        result = await client.call_tool("run_workflow", {"workflow": FLOW})
        answer = result.structured_content
        link = answer["links"]["log"]
        read = await client.read_resource(link["uri"])
    assert answer["results"] == {}
    assert [block.type for block in result.content] == ["text", "resource_link", "resource_link"]
    assert json.loads(read.contents[0].text) == run_views.text("x" * 2_000)
    assert link["begins"] == "x" * 500


async def test_programs_are_told_when_calls_were_under_way(connect):
    async with connect() as client:
        result = await client.call_tool("run_workflow", {"workflow": FLOW})
    timeline = result.meta[run_timeline.META_KEY]
    assert (timeline["elapsed_ms"], timeline["speed_up"]) == (10, 2)


async def test_what_run_intent_suggests_can_be_run_as_it_is(connect, world):
    intent = "what is the current time"
    async with connect() as client:
        suggested = await called(client, "run_intent", intent=intent)
        drafted = suggested.get("workflow") or suggested["draft_workflow"]
        assert drafted["tasks"]
        answer = await called(client, "run_workflow", workflow=drafted, intent=intent)
    assert answer["status"] == "succeeded"
    assert set(answer["results"]) == {task["id"] for task in drafted["tasks"]}
