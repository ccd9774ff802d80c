"""run_workflow and get_run, as both eras of clients see them."""

import json
from dataclasses import replace
from uuid import UUID

import pytest

from execution.changes import RunEvent
from execution.status import RunStatus, TaskStatus
from execution.store.runs import IdempotencyConflict
from execution.workflow import OnError
from gateway_project.foundation.caller import Caller
from gateway_project.runs import timeline as run_timeline
from tests.gateway import run_views
from tests.gateway.catalogues import catalogue, server, tool
from tests.gateway.conftest import ERAS
from tests.gateway.run_requests import FLOW, called, refused, run_done
from tests.gateway.run_views import BEGAN, RUN


@pytest.mark.parametrize("era", ERAS)
async def test_a_workflow_is_run_and_its_results_returned(connect, world, era):
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
    ((plan, asked),) = world.runs.started
    assert plan.options.on_error is OnError.CONTINUE
    assert plan.options.per_layer_validation
    assert (plan.options.deadline_s, asked["idempotency_key"]) == (60, "k")
    assert world.runs.waited == []


async def test_a_dry_run_returns_the_plan_and_starts_nothing(connect, world):
    async with connect() as client:
        answer = await called(client, "run_workflow", workflow=FLOW, options={"dry_run": True})
    assert answer["layers"] == [["log"], ["later"]]
    assert answer["validation_errors"] == []
    assert {row["task"] for row in answer["side_effects"]} == {"log", "later"}
    assert world.runs.started == []


async def test_a_dry_run_of_an_invalid_workflow_reports_every_problem(connect):
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
async def test_an_invalid_workflow_is_reported_by_field_and_not_started(
    connect, world, workflow, code
):
    async with connect() as client:
        error = await refused(client, "run_workflow", workflow=workflow)
    assert error["code"] == code
    assert error["problems"]
    assert world.runs.started == []


@pytest.mark.parametrize(
    "options",
    [
        {"wait_s": 301},
        {"wait_s": -1},
        {"deadline_s": 0},
        {"deadline_s": 3e11},
        {"on_error": "x"},
        {"y": 1},
    ],
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
async def test_running_requires_the_call_scope(connect, world, tool):
    world.caller = Caller(
        user="ann", team=None, person=None, scopes=frozenset({"search"}), kind="http"
    )
    given = {
        "run_workflow": {"workflow": FLOW},
        "get_run": {"run_id": str(RUN)},
        "control_run": {"run_id": str(RUN), "action": "abort"},
    }
    async with connect() as client:
        assert (await refused(client, tool, **given[tool]))["code"] == "not_permitted"


@pytest.mark.parametrize("run_id", ["", "nonsense", str(UUID(int=1)), "x" * 10_000])
async def test_a_missing_run_is_unknown_for_any_id(connect, run_id):
    async with connect() as client:
        error = await refused(client, "get_run", run_id=run_id)
    assert error["code"] == "unknown_run"
    assert len(error["text"]) < 300


async def test_a_run_can_be_read_repeatedly(connect, world):
    world.runs.becomes = lambda view: view
    async with connect() as client:
        first = await called(client, "run_workflow", workflow=FLOW, options={"wait_s": 0})
        assert (first["status"], first["tasks"]["log"]) == ("running", "pending")
        assert "get_run" in first["next"]
        world.runs.becomes = run_done
        then = await called(client, "get_run", run_id=first["run_id"], wait_s=3)
    assert then["status"] == "succeeded"
    assert world.runs.waited == [3]


async def test_events_are_sent_as_increasing_progress(connect, world):
    kinds = ["task_started", "task_retried", "task_succeeded", "task_started", "task_failed"]
    names = ["log", "log", "log", "later", "later"]
    world.runs.events = [
        RunEvent(seq=number, kind=kind, at=BEGAN, task=name)
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
    assert told[1][2] == "log is being retried (0 of 2 done)"


async def test_a_large_result_becomes_a_link_to_the_whole(connect, world):
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


async def test_a_resource_that_a_result_of_a_run_links_to_is_read_at_its_server(connect, world):
    world.catalogue = catalogue(
        tool("git:git_log"),
        tool("time:get_current_time"),
        servers=(server("git"), server("time")),
    )
    link = {"type": "resource_link", "uri": "made:///1", "name": "n"}

    def linking(view):
        log = run_views.task("log", result={"content": [link]})
        tasks = (replace(log, tool="git:git_log"),)
        return replace(view, tasks=tasks, status=RunStatus.SUCCEEDED)

    async def answer(requested):
        return {"contents": [{"uri": requested.params["uri"], "text": requested.server}]}

    world.runs.becomes, world.requests.answer = linking, answer
    async with connect() as client:
        await called(client, "run_workflow", workflow=FLOW)
        assert (await client.read_resource("made:///1")).contents[0].text == "git"


@pytest.mark.parametrize("size", [3_000_000, 6_000_000])
async def test_pictures_of_a_run_are_blocks_and_never_text(connect, world, size):
    world.result_link_bytes = 1_000
    picture = {"type": "image", "mimeType": "image/png", "data": "iVBO" * (size // 4)}
    raw = run_views.text("taken")
    raw = {**raw, "content": [*raw["content"], picture]}
    data = picture["data"][:-4] + "JVBE"
    other = {"content": [{**picture, "data": data}], "structuredContent": {"x": [data]}}

    def pictured(view):
        tasks = (
            run_views.task("log", result=raw, result_bytes=size + 100),
            run_views.task("later"),
            run_views.task("later", item=0, result=other, result_bytes=size + 100),
        )
        return replace(view, tasks=tasks, status=RunStatus.SUCCEEDED)

    world.runs.becomes = pictured
    async with connect() as client:
        result = await client.call_tool("run_workflow", {"workflow": FLOW})
        again = await client.call_tool("get_run", {"run_id": result.structured_content["run_id"]})
        if size > 5_000_000:
            (read,) = (await client.read_resource(result.content[1].uri)).contents
            assert (read.mime_type, read.blob) == ("image/png", picture["data"])
    kind = "image" if size < 5_000_000 else "resource_link"
    for answer in (result, again):
        assert [block.type for block in answer.content] == ["text", kind, kind]
        assert len(answer.content[0].text) < 3_000
        assert json.loads(answer.content[0].text) == answer.structured_content
        contents = answer.structured_content["contents"]
        assert (contents["log"][0]["type"], contents["log"][0]["block"]) == (kind, 1)
        assert contents["later"][0][0]["block"] == 2
        results = answer.structured_content["results"]
        assert results == {"log": "taken", "later": [{"x": ["content block 2"]}]}


async def test_a_large_interrupted_list_becomes_a_link_to_its_results(connect, world):
    world.result_link_bytes = 500
    raw = run_views.text("x" * 2_000)

    def broken_off(view):
        tasks = (
            run_views.task("log", TaskStatus.FAILED, error_code="item_failed"),
            run_views.task("log", TaskStatus.FAILED, item=0, error_code="tool_error"),
            run_views.task("log", item=1, result=raw),
        )
        return replace(view, tasks=tasks, status=RunStatus.FAILED)

    world.runs.becomes = broken_off
    async with connect() as client:
        link = (await called(client, "run_workflow", workflow=FLOW))["links"]["log"]
        read = await client.read_resource(link["uri"])
    assert json.loads(read.contents[0].text) == {"items": [None, raw]}
    assert link["begins"] == "x" * 500


async def test_the_timeline_of_calls_is_in_the_metadata(connect):
    async with connect() as client:
        result = await client.call_tool("run_workflow", {"workflow": FLOW})
    timeline = result.meta[run_timeline.META_KEY]
    assert (timeline["elapsed_ms"], timeline["speed_up"]) == (10, 2)


async def test_what_servers_say_of_their_results_is_in_the_metadata(connect, world):
    said = {"lab/trace": "t-1"}

    def becomes(view):
        raw = run_views.text("x") | {"_meta": said}
        items = (run_views.task("b", item=item, result=raw) for item in (0, 1))
        tasks = (run_views.task("a", result=raw), run_views.task("b"), *items)
        return replace(view, tasks=tasks, status=RunStatus.SUCCEEDED)

    world.runs.becomes = becomes
    async with connect() as client:
        result = await client.call_tool("run_workflow", {"workflow": FLOW})
    assert result.meta["foregate/results"] == {"a": said, "b": [said, said]}


async def test_a_suggestion_of_run_intent_can_be_run_unchanged(connect, world):
    intent = "what is the current time"
    async with connect() as client:
        suggested = await called(client, "run_intent", intent=intent)
        drafted = suggested.get("workflow") or suggested["draft_workflow"]
        assert drafted["tasks"]
        answer = await called(client, "run_workflow", workflow=drafted, intent=intent)
    assert answer["status"] == "succeeded"
    assert set(answer["results"]) == {task["id"] for task in drafted["tasks"]}
