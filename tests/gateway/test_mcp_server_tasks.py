"""MCP tasks of servers, passed on to clients that follow them."""

from dataclasses import replace

import pytest
from cryptography.fernet import Fernet
from mcp.shared.exceptions import MCPError

from gateway_project.foundation.sealing import Sealer
from gateway_project.mcp import task_ids
from gateway_project.mcp.results import ERROR_KEY
from gateway_project.mcp.task_ids import ServerTask, UnknownTask
from tests.gateway.conftest import ADMIN
from tests.gateway.task_clients import FollowsTasks, ask, call
from tools.upstream.errors import UpstreamRefused
from tools.upstream.result import UpstreamResult

STATE = {
    "taskId": "t-1",
    "status": "working",
    "createdAt": "2026-03-01T12:00:00Z",
    "lastUpdatedAt": "2026-03-01T12:00:00Z",
    "ttlMs": None,
    "vendor": {"x": 1},
}
FORM = {"mode": "form", "message": "Sure?", "requestedSchema": {"type": "object"}}
QUESTION = {"method": "elicitation/create", "params": FORM}
RESULT = {"content": [{"type": "text", "text": "done"}], "_meta": {"foregate/x": 1, "theirs": 2}}
SERVER_TASK = ServerTask(tool="git:git_status", task="t-1", is_linkable=True)


async def hands_over(_called, _progress):
    return UpstreamResult(raw={**STATE, "resultType": "task"})


async def elicit(_context, _params):
    raise AssertionError


@pytest.fixture
def following(connect, world):
    """Connect a client that follows tasks to a gateway before a server that answers with one."""
    world.upstream.answer = hands_over

    def open_client(**options):
        return connect(extensions=[FollowsTasks()], elicitation_callback=elicit, **options)

    return open_client


def answers(world, **state):
    async def answer(_called):
        return {**STATE, "resultType": "complete", **state}

    world.requests.answer = answer


def made(world):
    return [
        (called.server, called.request.method, dict(called.request.params))
        for called in world.requests.made
    ]


@pytest.mark.parametrize("exposed", [False, True])
async def test_a_task_is_handed_over_under_an_id_of_the_gateway(following, world, exposed):
    world.exposure = "full" if exposed else "meta"
    name, given = ("git__git_status", {}) if exposed else ("call_tool", {"tool": "git:git_status"})
    async with following() as client:
        handle = await call(client, name, **given)
    handle.pop("_meta")
    task_id = handle.pop("taskId")
    assert handle == {
        **{key: STATE[key] for key in STATE if key != "taskId"},
        "resultType": "task",
    }
    assert "t-1" not in task_id
    assert task_ids.unseal_id(world.sealer, ADMIN, task_id) == SERVER_TASK
    assert world.counted == [], "it is no result yet"


async def test_its_state_passes_and_its_result_is_exposed_as_a_call_s(following, world):
    answers(world, status="completed", result=RESULT)
    async with following() as client:
        handle = await call(client, "call_tool", tool="git:git_status")
        state = await ask(client, "tasks/get", taskId=handle["taskId"])
    assert (state["taskId"], state["status"]) == (handle["taskId"], "completed")
    assert state["vendor"] == {"x": 1}
    assert state["result"] == {"content": RESULT["content"], "_meta": {"theirs": 2}}
    assert made(world) == [("git", "tasks/get", {"taskId": "t-1"})]
    assert world.requests.made[0].caller.user == "admin"


async def test_a_large_result_is_linked_to(following, world):
    world.result_link_bytes = 100
    answers(world, status="completed", result={"content": [{"type": "text", "text": "x" * 500}]})
    async with following() as client:
        handle = await call(client, "call_tool", tool="git:git_status")
        state = await ask(client, "tasks/get", taskId=handle["taskId"])
    link = state["result"]["_meta"]["foregate/result"]
    assert link["uri"].startswith("foregate://")


async def test_questions_are_signed_and_answers_and_cancellations_forwarded(following, world):
    answers(world, status="input_required", inputRequests={"k": QUESTION})
    given = {"k": {"action": "accept", "content": {}}}
    async with following() as client:
        task_id = (await call(client, "call_tool", tool="git:git_status"))["taskId"]
        state = await ask(client, "tasks/get", taskId=task_id)
        answered = await ask(client, "tasks/update", taskId=task_id, inputResponses=given)
        cancelled = await ask(client, "tasks/cancel", taskId=task_id)
    assert state["inputRequests"]["k"]["params"]["message"] == "git asks: Sure?"
    assert answered.keys() == cancelled.keys() == {"resultType", "_meta"}
    assert made(world)[1:] == [
        ("git", "tasks/update", {"taskId": "t-1", "inputResponses": given}),
        ("git", "tasks/cancel", {"taskId": "t-1"}),
    ]


async def test_a_question_that_the_client_cannot_take_is_not_put(following, world):
    asked = {"k": {"method": "elicitation/create", "params": {"mode": "url", "url": "file:///"}}}
    answers(world, status="input_required", inputRequests=asked)
    async with following() as client:
        task_id = (await call(client, "call_tool", tool="git:git_status"))["taskId"]
        with pytest.raises(MCPError, match="cannot_ask_client"):
            await ask(client, "tasks/get", taskId=task_id)


async def test_a_failure_of_the_server_is_passed_on(following, world):
    async def answer(_called):
        raise UpstreamRefused(server="git", rpc_code=-32602, rpc_message="Task has expired")

    world.requests.answer = answer
    async with following() as client:
        task_id = (await call(client, "call_tool", tool="git:git_status"))["taskId"]
        with pytest.raises(MCPError) as refusal:
            await ask(client, "tasks/get", taskId=task_id)
    assert (refusal.value.error.code, refusal.value.error.message) == (-32602, "Task has expired")


@pytest.mark.parametrize(
    "other",
    [
        replace(ADMIN, user="eve"),
        replace(ADMIN, team=3),
        replace(ADMIN, group="a group"),
    ],
    ids=["user", "team", "group"],
)
async def test_nobody_else_can_use_the_id(following, world, other):
    world.caller = other
    token = task_ids.seal_id(world.sealer, ADMIN, SERVER_TASK)
    async with following() as client:
        with pytest.raises(MCPError) as refusal:
            await ask(client, "tasks/get", taskId=token)
    assert refusal.value.error.code == -32602
    assert refusal.value.error.data[ERROR_KEY]["code"] == "unknown_task"
    assert world.requests.made == []


def test_an_id_sealed_for_another_purpose_or_elsewhere_is_no_task(world):
    elsewhere = Sealer([Fernet.generate_key()])
    for token in (
        world.sealer.seal({"purpose": "request state"}),
        world.sealer.seal(["another", "admin", None, None, "git:git_status", "t-1", True]),
        task_ids.seal_id(elsewhere, ADMIN, SERVER_TASK),
    ):
        with pytest.raises(UnknownTask):
            task_ids.unseal_id(world.sealer, ADMIN, token)


async def test_the_task_of_a_tool_that_is_gone_is_unknown(following, world):
    async with following() as client:
        task_id = (await call(client, "call_tool", tool="git:git_status"))["taskId"]
        rest = {name: one for name, one in world.catalogue.tools.items() if "status" not in name}
        world.catalogue = replace(world.catalogue, tools=rest)
        with pytest.raises(MCPError, match="unknown_task"):
            await ask(client, "tasks/get", taskId=task_id)
    assert world.requests.made == []


async def test_a_task_is_held_where_its_result_is_cut(following, world):
    """The server's connection holds a task for a call that does not declare the extension."""
    async with following() as client:
        await call(client, "call_tool", tool="git:git_status")
        await call(client, "call_tool", tool="git:git_status", max_tokens=50)
    follows, holds = (
        called.downstream.capabilities.get("extensions") for called in world.upstream.calls
    )
    assert (len(follows), holds) == (1, {})
