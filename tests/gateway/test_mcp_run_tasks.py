"""Runs as MCP tasks of clients that follow them, and as answers to all others."""

import asyncio
from dataclasses import replace
from uuid import UUID

import pytest
from mcp.client.extension import advertise
from mcp.shared.exceptions import MCPError
from mcp_types import SubscriptionsAcknowledgedNotification

from execution.control import Action, ActionNotPossible
from execution.run_dependencies import RunsUnavailable
from execution.status import RunStatus, TaskStatus
from gateway_project.foundation.caller import SCOPE_ALL
from gateway_project.mcp import consent, run_tasks, task_ids, task_requests
from gateway_project.mcp.results import ServerReply
from gateway_project.mcp.task_ids import ServerTask, UnknownTask
from tests.gateway.catalogues import catalogue, tool
from tests.gateway.run_requests import FLOW, called, run_done
from tests.gateway.run_views import RUN, approval, task, text, view
from tests.gateway.task_clients import EXTENSION, FollowsTasks, ask, call
from tests.patience import PATIENCE_S
from tools.upstream.result import UpstreamResult

KEY = f"approval-{UUID(int=9)}"
UNKNOWN_IDS = [str(UUID(int=8)), "made-up", "gAAAAA", "é", ""]


def goes_on(run):
    return run


async def never_asked(_context, _params):
    raise AssertionError


@pytest.fixture
def following(connect):
    """Connect a client that follows tasks."""

    def open_client(**options):
        return connect(extensions=[FollowsTasks()], **options)

    return open_client


@pytest.fixture
def decided(world, monkeypatch):
    """Have decisions written down here."""
    made = []

    async def at_once(function, /, *given, **options):
        return function(*given, **options)

    def decide(caller, which, *, approve, via):
        made.append((caller.user, which, approve, via))

    monkeypatch.setattr(consent, "run_in_database_thread", at_once)
    monkeypatch.setattr(consent.decide_approval, "decide_approval", decide)
    monkeypatch.setattr(consent.teams, "requires_second_person", lambda _team, _user: False)
    world.runs.known = view(
        task("log", TaskStatus.WAITING_APPROVAL),
        status=RunStatus.WAITING,
        approvals=(approval("log"),),
    )
    return made


async def test_a_client_of_the_sdk_gets_a_long_run_as_a_task_and_its_result_in_the_end(
    connect, world
):
    """Its extension asks for the state; the model sees the result of run_workflow."""
    world.runs.becomes = goes_on
    tasks = FollowsTasks()

    async def load_view(*_given, **_options):
        if len(tasks.states) > 2:
            world.runs.known = run_done(world.runs.known)
        return world.runs.known

    world.runs.load_view = load_view
    async with connect(extensions=[tasks]) as client:
        answer = await called(client, "run_workflow", workflow=FLOW)
    assert (answer["run_id"], answer["status"]) == (str(RUN), "succeeded")
    assert [state["status"] for state in tasks.states] == [
        "working",
        "working",
        "working",
        "completed",
    ]
    assert tasks.states[0]["taskId"] == str(RUN)
    assert len(world.runs.started) == 1


async def test_a_task_s_state_has_all_that_the_extension_requires(following, world):
    world.runs.becomes = goes_on
    world.run_results_s = 60.0
    async with following() as client:
        handle = await call(client, "run_workflow", workflow=FLOW)
        state = await ask(client, "tasks/get", taskId=handle["taskId"])
    assert handle.pop("resultType") == "task"
    assert state.pop("resultType") == "complete"
    handle.pop("_meta"), state.pop("_meta")
    assert handle == state
    assert state == {
        "taskId": str(RUN),
        "status": "working",
        "statusMessage": "running: 0 of 2 tasks done",
        "createdAt": "2026-03-01T12:00:00.000Z",
        "lastUpdatedAt": "2026-03-01T12:00:01.000Z",
        "ttlMs": 61_000,
        "pollIntervalMs": 1000,
    }


@pytest.mark.parametrize(
    ("options", "becomes"),
    [
        ({}, run_done),
        ({"wait_s": 0}, goes_on),
        ({"per_layer_validation": True}, goes_on),
        ({}, lambda run: replace(run, status=RunStatus.UNKNOWN)),
    ],
    ids=["ends at once", "is not waited for", "asks between layers", "needs a decision"],
)
async def test_a_run_that_no_task_helps_with_is_answered_as_ever(
    following, world, options, becomes
):
    world.runs.becomes = becomes
    async with following() as client:
        answer = await call(client, "run_workflow", workflow=FLOW, options=options)
    assert answer["resultType"] == "complete"
    assert answer["structuredContent"]["run_id"] == str(RUN)


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_a_client_that_follows_no_tasks_gets_none(connect, world, era):
    world.runs.becomes = goes_on
    extensions = [FollowsTasks()] if era == "legacy" else []
    async with connect(era, extensions=extensions) as client:
        answer = await called(client, "run_workflow", workflow=FLOW)
        assert answer["status"] == "running"
        with pytest.raises(MCPError) as refusal:
            await ask(client, "tasks/get", taskId=str(RUN))
    assert refusal.value.error.code == (-32601 if era == "legacy" else -32021)
    if era == "auto":
        required = {"extensions": {EXTENSION: {}}}
        assert refusal.value.error.data == {"requiredCapabilities": required}
    assert world.runs.waited == [20]


@pytest.mark.parametrize(
    ("status", "shown"),
    [
        (RunStatus.QUEUED, "working"),
        (RunStatus.RUNNING, "working"),
        (RunStatus.PAUSED, "working"),
        (RunStatus.SUCCEEDED, "completed"),
        (RunStatus.PARTIAL_SUCCESS, "completed"),
        (RunStatus.FAILED, "completed"),
        (RunStatus.UNKNOWN, "completed"),
        (RunStatus.ABORTED, "cancelled"),
    ],
)
async def test_the_status_of_a_run_is_one_of_a_task(following, world, status, shown):
    world.runs.known = view(task("log", result=text("x")), status=status)
    async with following() as client:
        state = await ask(client, "tasks/get", taskId=str(RUN))
    assert state["status"] == shown
    assert ("result" in state) == (shown == "completed")
    if "result" in state:
        assert state["result"]["structuredContent"]["status"] == status.value


@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
@pytest.mark.parametrize("task_id", UNKNOWN_IDS)
async def test_unknown_and_foreign_tasks_are_refused_alike(following, method, task_id):
    async with following() as client:
        with pytest.raises(MCPError) as refusal:
            await ask(client, method, taskId=task_id, inputResponses={})
    assert refusal.value.error.code == -32602
    assert refusal.value.error.message.startswith("unknown_task: you have no task")


async def test_a_caller_who_may_not_call_follows_no_run(following, world):
    world.runs.known = view(task("log"))
    world.caller = replace(world.caller, scopes=world.caller.scopes - {SCOPE_ALL})
    async with following() as client:
        with pytest.raises(MCPError, match="not_permitted"):
            await ask(client, "tasks/get", taskId=str(RUN))


async def test_a_task_is_cancelled_by_aborting_its_run(following, world):
    world.runs.known = view(task("log", TaskStatus.RUNNING), status=RunStatus.RUNNING)
    async with following() as client:
        answer = await ask(client, "tasks/cancel", taskId=str(RUN))
    assert answer.keys() == {"resultType", "_meta"}
    assert world.runs.handle_notification == [(Action.ABORT, None)]


@pytest.mark.parametrize(
    "status", [RunStatus.RUNNING, RunStatus.SUCCEEDED, RunStatus.ABORTED, RunStatus.UNKNOWN]
)
async def test_cancelling_what_has_ended_is_acknowledged(following, world, status):
    """It may have ended meanwhile; one with an unknown outcome waits for a person."""
    world.runs.known = view(task("log"), status=status)
    if status is RunStatus.RUNNING:
        world.runs.error = ActionNotPossible("run_not_open", "the run is succeeded")
    async with following() as client:
        answer = await ask(client, "tasks/cancel", taskId=str(RUN))
    assert answer["resultType"] == "complete"
    assert world.runs.handle_notification == []


async def test_a_pending_approval_is_asked_for_by_the_task(following, world, decided):
    async with following(elicitation_callback=never_asked) as client:
        state = await ask(client, "tasks/get", taskId=str(RUN))
        (question,) = state["inputRequests"].values()
        assert (state["status"], list(state["inputRequests"])) == ("input_required", [KEY])
        assert question["method"] == "elicitation/create"
        assert "server:log" in question["params"]["message"]
        assert list(question["params"]["requestedSchema"]["properties"]) == ["approve"]
        answers = {KEY: {"action": "accept", "content": {"approve": True}}, "other": {}}
        answer = await ask(client, "tasks/update", taskId=str(RUN), inputResponses=answers)
    assert answer.keys() == {"resultType", "_meta"}
    assert decided == [("admin", UUID(int=9), True, "elicitation")]


@pytest.mark.parametrize(
    ("response", "decision"),
    [
        ({"action": "decline"}, [False]),
        ({"action": "cancel"}, []),
        ({"action": "accept", "content": {}}, []),
        ("yes", []),
    ],
)
async def test_only_a_clear_answer_decides(following, decided, response, decision):
    async with following(elicitation_callback=never_asked) as client:
        await ask(client, "tasks/update", taskId=str(RUN), inputResponses={KEY: response})
    assert [approve for _, _, approve, _ in decided] == decision


async def test_an_update_without_answers_is_refused(following, decided):
    async with following(elicitation_callback=never_asked) as client:
        with pytest.raises(MCPError) as refusal:
            await ask(client, "tasks/update", taskId=str(RUN))
    assert refusal.value.error.code == -32602
    assert decided == []


@pytest.mark.parametrize("second", [False, True])
async def test_a_person_elsewhere_decides_where_the_client_cannot(
    following, decided, monkeypatch, second
):
    monkeypatch.setattr(consent.teams, "requires_second_person", lambda _team, _user: second)
    options = {"elicitation_callback": never_asked} if second else {}
    async with following(**options) as client:
        state = await ask(client, "tasks/get", taskId=str(RUN))
        answers = {KEY: {"action": "accept", "content": {"approve": True}}}
        if second:
            await ask(client, "tasks/update", taskId=str(RUN), inputResponses=answers)
    assert state["status"] == "working"
    assert "inputRequests" not in state
    assert f"http://console/{UUID(int=9)}" in state["statusMessage"]
    assert decided == []


async def test_the_result_of_a_call_s_run_is_that_of_the_call(following, world, monkeypatch):
    delivered = []

    async def mark(function, run):
        delivered.append((function.__name__, run))

    monkeypatch.setattr(task_requests.direct_call, "run_in_database", mark)
    world.runs.known = view(
        replace(task("call", result=text("the log")), tool="git:git_log"), is_direct=True
    )
    async with following() as client:
        state = await ask(client, "tasks/get", taskId=str(RUN))
        world.runs.known = view(
            task("call", TaskStatus.FAILED, error_code="rejected", error="a person rejected it"),
            status=RunStatus.FAILED,
            is_direct=True,
        )
        failed = await ask(client, "tasks/get", taskId=str(RUN))
    assert state["result"]["content"] == [{"type": "text", "text": "the log"}]
    assert delivered == [("mark_delivered", RUN)] * 2
    assert (failed["status"], failed["result"]["isError"]) == ("completed", True)
    assert failed["result"]["_meta"]["foregate/error"]["code"] == "rejected"


@pytest.mark.parametrize("shows_pages", [True, False])
async def test_a_task_s_result_names_the_page_of_its_tool_as_the_call_s_would(
    connect, world, monkeypatch, shows_pages
):
    async def ignore(*_anything):
        return None

    async def answer(_called):
        return {"status": "completed", "result": text("noon")}

    monkeypatch.setattr(task_requests.direct_call, "run_in_database", ignore)
    page = {"_meta": {"ui": {"resourceUri": "ui://clock/face.html"}}}
    world.catalogue = catalogue(tool("clock:tell", extras=page))
    done = replace(task("call", result=text("noon")), tool="clock:tell")
    world.runs.known, world.requests.answer = view(done, is_direct=True), answer
    of_server = ServerTask(tool="clock:tell", task="t-1", is_linkable=True)
    sealed = task_ids.seal_id(world.sealer, world.caller, of_server)
    host = [advertise("io.modelcontextprotocol/ui", {})] if shows_pages else []
    async with connect(extensions=[FollowsTasks(), *host]) as client:
        states = [await ask(client, "tasks/get", taskId=one) for one in (str(RUN), sealed)]
    shown = {"resourceUri": "ui://foregate/clock/clock%2Fface.html"} if shows_pages else None
    assert [one["result"].get("_meta", {}).get("ui") for one in states] == [shown] * 2


async def test_a_call_that_awaits_approval_is_a_task_at_once(following, world, decided):
    """The client's user is asked by the task, not in the middle of the call."""
    tool = next(iter(world.catalogue.tools.values()))
    assert tool.tool == "git:git_log"
    world.catalogue = replace(
        world.catalogue,
        tools={**world.catalogue.tools, tool.tool: replace(tool, approval="always")},
    )

    def waits(run):
        return replace(
            run, status=RunStatus.WAITING, approvals=(approval("call"),), is_direct=True
        )

    world.runs.becomes = waits
    given = {"tool": "git:git_log", "arguments": {"repo_path": "/r"}}
    async with following(elicitation_callback=never_asked) as client:
        handle = await call(client, "call_tool", **given)
        with_limit = await call(client, "call_tool", **given, max_tokens=50)
    assert (handle["resultType"], handle["taskId"]) == ("task", str(RUN))
    assert (handle["status"], "inputRequests" in handle) == ("input_required", False)
    assert world.runs.waited[0] <= 1
    assert with_limit["resultType"] == "input_required", "what is cut is cut by the call itself"


async def test_the_extension_is_declared_to_clients_that_can_follow(connect):
    async with connect() as client:
        assert client.server_capabilities.extensions.keys() >= {EXTENSION}
    async with connect("legacy") as client:
        assert EXTENSION not in client.server_capabilities.extensions


async def test_a_stream_of_changes_of_tasks_is_refused_to_who_cannot_follow_them(connect):
    async with connect() as client:
        with pytest.raises(MCPError) as refusal:
            await ask(client, "subscriptions/listen", notifications={"taskIds": [str(RUN)]})
    assert refusal.value.error.code == -32021


async def test_a_run_that_cannot_be_read_is_named_by_the_error_instead_of_a_task(following, world):
    gate = asyncio.Event()

    async def answer(_called, _progress):
        await gate.wait()
        return UpstreamResult(raw=text("late"))

    async def load_view(*_given, **_options):
        raise RunsUnavailable(OSError("away"))

    world.upstream.answer, world.call_patience_s, world.runs.load_view = answer, 0.01, load_view
    async with following() as client:
        result = await call(client, "call_tool", tool="git:git_status")
        gate.set()
    error = result["_meta"]["foregate/error"]
    assert (error["code"], error["run_id"]) == ("call_continues", str(RUN))


async def test_changes_of_tasks_are_announced_on_a_stream_until_they_end(
    connect, world, monkeypatch
):
    monkeypatch.setattr(run_tasks, "POLL_INTERVAL_MS", 10)
    world.runs.known = view(task("log", TaskStatus.PENDING), status=RunStatus.RUNNING)
    tasks, acknowledged = FollowsTasks(), asyncio.get_running_loop().create_future()

    async def listen(message):
        if isinstance(message, SubscriptionsAcknowledgedNotification):
            acknowledged.set_result(message.params.notifications.model_extra)

    async with connect(extensions=[tasks], message_handler=listen) as client:
        ids = [str(RUN), *UNKNOWN_IDS, 7]
        stream = asyncio.create_task(
            ask(client, "subscriptions/listen", notifications={"taskIds": ids})
        )
        async with asyncio.timeout(PATIENCE_S):
            assert await acknowledged == {"taskIds": [str(RUN)]}
            first = await tasks.announced.get()
            state = await ask(client, "tasks/get", taskId=str(RUN))
            assert strip_envelope(first) == strip_envelope(state)
            world.runs.known = run_done(world.runs.known)
            last = await tasks.announced.get()
        state = await ask(client, "tasks/get", taskId=str(RUN))
        assert strip_envelope(last) == strip_envelope(state)
        assert last["result"]["structuredContent"]["status"] == "succeeded"
        stream.cancel()
        await asyncio.wait({stream})
    assert tasks.announced.empty(), "nothing is announced twice"


def strip_envelope(state):
    """Return what a task's state says, without what belongs to its message."""
    return {key: state[key] for key in state if key not in ("_meta", "resultType")}


@pytest.mark.parametrize("is_deleted", [False, True])
async def test_a_task_is_announced_once_for_each_change_also_after_an_outage(
    monkeypatch, is_deleted
):
    working = {"status": "working", "pollIntervalMs": 0}
    ended = UnknownTask() if is_deleted else {**working, "status": "completed"}
    looks = iter([working, RunsUnavailable(OSError("away")), working, ended])

    async def look(_request, _params):
        found = next(looks)
        if isinstance(found, Exception):
            raise found
        return ServerReply(raw=found)

    monkeypatch.setattr(task_requests, "get_task", look)
    announced = []
    await task_requests._follow_run(None, str(RUN), announced.append)
    assert announced == ([working] if is_deleted else [working, ended])
