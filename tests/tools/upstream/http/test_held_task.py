"""Calls that a server answers with an MCP task (SEP-2663)."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from mcp.shared.exceptions import MCPError

from tests.patience import PATIENCE_S
from tests.servers.http_raw import RawServer
from tests.tools.upstream.conftest import eventually
from tests.tools.upstream.http.conftest import remote, text
from tests.upstream_calls import call_tool, send_request
from tools.mcp_tasks import EXTENSION
from tools.upstream.errors import CallTimedOut, ProtocolViolation, UpstreamRefused
from tools.upstream.pool import UpstreamPool
from tools.upstream.request import Downstream

HANDLE = {"resultType": "task", "taskId": "t-1", "status": "working", "pollIntervalMs": 1}
RESULT = {"content": [{"type": "text", "text": "done"}]}
DONE = {"status": "completed", "result": RESULT}
FORM = {"method": "elicitation/create", "params": {"mode": "form", "message": "Sure?"}}
ASKS = {"status": "input_required", "inputRequests": {"k": FORM}}
FOLLOWS = Downstream(capabilities={"extensions": {EXTENSION: {}}})


class TaskServer(RawServer):
    """Answers each call with a task, and each look at it with the next state; the last stays."""

    def __init__(self, *states, handle=HANDLE):
        super().__init__(self._handle)
        self.states = list(states)
        self.handle = handle

    async def _handle(self, asked, reply):
        method, result = asked.rpc, {"resultType": "complete"}
        if method == "server/discover":
            result |= {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
        elif method == "tasks/get":
            state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
            result |= {"taskId": "t-1", "pollIntervalMs": 1, **state}
        elif method in ("tools/call", "prompts/get"):
            result = self.handle
        around = {"ttlMs": 0, "cacheScope": "private"}
        await reply.json({"jsonrpc": "2.0", "id": asked.json["id"], "result": around | result})

    def about_tasks(self):
        return [
            (asked.rpc, {k: v for k, v in asked.json["params"].items() if k != "_meta"})
            for asked in self.asked
            if asked.rpc.startswith("tasks/")
        ]


@asynccontextmanager
async def serving(*states, **options):
    """Yield a server and a pool that knows it as `s`."""
    async with (
        TaskServer(*states, **options) as server,
        UpstreamPool([remote(server.url)]) as pool,
    ):
        yield server, pool


async def test_a_task_is_followed_to_the_result_of_its_call():
    working = {"status": "working"}
    async with serving(working, working, DONE) as (server, pool):
        assert text(await call_tool(pool, "s", "later", {})) == "done"
    assert server.about_tasks() == [("tasks/get", {"taskId": "t-1"})] * 3
    for asked in server.asked[-4:]:
        capabilities = asked.json["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"]
        assert EXTENSION in capabilities["extensions"], "it must be declared with each request"
    assert server.asked[-1].headers["mcp-name"] == "t-1"


async def test_a_task_that_has_ended_with_its_handle_is_read_once():
    handle = {**HANDLE, "status": "completed"}
    async with serving(DONE, handle=handle) as (server, pool):
        assert text(await call_tool(pool, "s", "later", {})) == "done"
    assert len(server.about_tasks()) == 1


async def test_a_client_that_follows_tasks_gets_the_handle():
    async with serving(DONE) as (server, pool):
        result = await call_tool(pool, "s", "later", {}, downstream=FOLLOWS)
        assert result.is_interim
        assert result.raw["taskId"] == "t-1"
        assert server.about_tasks() == []
        state = await send_request(pool, "s", "tasks/get", {"taskId": "t-1"}, downstream=FOLLOWS)
    assert state["result"] == RESULT


@pytest.mark.parametrize(
    ("state", "error", "words"),
    [
        (
            {"status": "failed", "error": {"code": -32050, "message": "broke"}},
            UpstreamRefused,
            "-32050: broke",
        ),
        ({"status": "failed"}, ProtocolViolation, "without its result"),
        ({"status": "completed"}, ProtocolViolation, "without its result"),
        ({"status": "completed", "result": HANDLE}, ProtocolViolation, "without its result"),
        (
            {"status": "cancelled", "statusMessage": "by an operator"},
            UpstreamRefused,
            "cancelled: by an operator",
        ),
    ],
)
async def test_a_task_that_ends_otherwise_fails_its_call(state, error, words):
    async with serving(state) as (server, pool):
        with pytest.raises(error, match=words):
            await call_tool(pool, "s", "later", {})
    assert "tasks/cancel" not in dict(server.about_tasks())


async def test_the_call_s_time_limit_ends_its_task():
    async with serving({"status": "working"}) as (server, pool):
        with pytest.raises(CallTimedOut):
            await call_tool(pool, "s", "later", {}, timeout_s=0.2, is_extensible=False)
    assert server.about_tasks()[-1] == ("tasks/cancel", {"taskId": "t-1"})


async def test_a_cancelled_call_cancels_its_task():
    async with serving({"status": "working"}) as (server, pool):
        call = asyncio.ensure_future(call_tool(pool, "s", "later", {}))
        await eventually(lambda: "tasks/get" in server.methods())
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert pool.list_statuses()["s"].calls_in_flight == 0
    assert server.about_tasks()[-1] == ("tasks/cancel", {"taskId": "t-1"})


async def test_changes_of_a_task_are_progress():
    seen = []

    async def progress(done, total, message):
        seen.append((done, total, message))

    states = [{"status": "working", "statusMessage": said} for said in ("a", "a", "b")]
    async with serving(*states, DONE) as (_server, pool):
        await call_tool(pool, "s", "later", {}, progress=progress)
    assert seen == [(1, None, "a"), (2, None, "b")]


async def test_the_client_answers_what_a_task_asks_once():
    asked = []

    async def ask(method, params):
        asked.append((method, params["message"]))
        return {"action": "accept", "content": {}}

    able = Downstream(capabilities={"elicitation": {}}, ask=ask)
    async with serving(ASKS, ASKS, DONE) as (server, pool):
        result = await call_tool(pool, "s", "later", {}, downstream=able)
    assert text(result) == "done"
    assert asked == [("elicitation/create", "Sure?")]
    answer = {"k": {"action": "accept", "content": {}}}
    updates = [params for method, params in server.about_tasks() if method == "tasks/update"]
    assert updates == [{"taskId": "t-1", "inputResponses": answer}]


async def refuse(_method, _params):
    raise MCPError(-32601, "the client cannot be asked")


@pytest.mark.parametrize(
    ("state", "ask", "words"),
    [
        (ASKS, None, "nobody can be asked"),
        (ASKS, refuse, "the client cannot be asked"),
        (
            {"status": "input_required", "inputRequests": {"k": {"method": "tools/list"}}},
            refuse,
            "MCP does not define",
        ),
    ],
    ids=["nobody", "refused", "unknown"],
)
async def test_a_task_whose_questions_nobody_answers_is_cancelled(state, ask, words):
    async with serving(state) as (server, pool):
        with pytest.raises(UpstreamRefused, match=words):
            await call_tool(pool, "s", "later", {}, downstream=Downstream(ask=ask))
    assert server.about_tasks()[-1] == ("tasks/cancel", {"taskId": "t-1"})


async def test_an_open_question_pauses_the_time_limit():
    opened, answered = asyncio.Event(), asyncio.Event()

    async def ask(_method, _params):
        opened.set()
        await answered.wait()
        return {"action": "decline"}

    async with serving(ASKS, DONE) as (_server, pool):
        call = asyncio.ensure_future(
            call_tool(pool, "s", "later", {}, timeout_s=PATIENCE_S, downstream=Downstream(ask=ask))
        )
        await opened.wait()
        (flight,) = pool._entries["s"].main._flights
        assert flight.deadline.when() is None
        answered.set()
        assert text(await call) == "done"


async def test_a_task_without_an_id_is_no_task():
    handle = {"resultType": "task", "status": "working"}
    async with serving(DONE, handle=handle) as (_server, pool):
        with pytest.raises(ProtocolViolation, match="no id"):
            await call_tool(pool, "s", "later", {})


async def test_a_task_that_nobody_asked_for_is_no_result():
    """Only calls may be answered with one."""
    async with serving(DONE) as (_server, pool):
        with pytest.raises(ProtocolViolation, match="with a task"):
            await send_request(pool, "s", "prompts/get", {"name": "p"})
