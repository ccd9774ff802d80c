"""Sessions that a remote server has forgotten, whatever it says."""

import asyncio

import pytest

from tests.servers.http_legacy import Behaviour, LegacyServer
from tests.tools.upstream.conftest import eventually
from tests.tools.upstream.http.conftest import remote, text, was_called
from tests.upstream_calls import call_tool
from tools.upstream.errors import (
    CallTimedOut,
    ConnectionLost,
    HttpRefused,
    SessionExpired,
    UpstreamError,
    UpstreamRefused,
)
from tools.upstream.pool import UpstreamPool


async def test_calls_beside_one_that_finds_the_session_gone_are_told_the_truth(legacy, pool):
    await call_tool(pool, "s", "echo", {})
    async with asyncio.TaskGroup() as group:
        hanging = group.create_task(_error(call_tool(pool, "s", "hang", {})))
        await eventually(lambda: was_called(legacy, "hang"))
        legacy.sessions.clear()
        expired = group.create_task(call_tool(pool, "s", "echo", {"text": "again"}))
    assert text(expired.result()) == "again"
    assert isinstance(hanging.result(), ConnectionLost)


async def _error(call) -> BaseException | None:
    with pytest.raises(UpstreamError) as caught:
        await call
    return caught.value


@pytest.mark.parametrize("unknown", [404, 400])
async def test_a_call_that_finds_the_session_gone_is_sent_again_in_a_new_one(unknown):
    async with LegacyServer(unknown=unknown) as server:
        async with UpstreamPool([remote(server.url)]) as pool:
            await call_tool(pool, "s", "echo", {})
            server.sessions.clear()
            assert text(await call_tool(pool, "s", "echo", {"text": "lost"})) == "lost"
            assert pool.list_statuses()["s"].last_error == ""
        assert server.methods().count("initialize") == 2
        sent = [asked.headers for asked in server.asked if b"lost" in asked.body]
        assert [each["mcp-session-id"] for each in sent] == ["session-1", "session-2"]


def in_json(status: int, code: int, message: str) -> Behaviour:
    async def refuse(asked, reply):
        error = {"code": code, "message": message}
        await reply.json({"jsonrpc": "2.0", "id": None, "error": error}, status=status)

    return refuse


def in_text(status: int, message: str) -> Behaviour:
    async def refuse(asked, reply):
        await reply.whole(status, message.encode(), content_type="text/plain")

    return refuse


@pytest.mark.parametrize(
    "unknown",
    [
        in_json(400, -32600, "Bad Request: No valid session ID provided"),
        in_text(400, "Invalid session ID"),
        in_text(401, "Unauthorized: Session not found"),
        in_text(401, ""),
        in_json(409, 1, "session unknown"),
        in_text(410, "Session gone"),
        in_json(200, -32002, "Server not initialized"),
    ],
)
async def test_a_session_refused_in_any_words_is_opened_anew_and_the_call_repeated(unknown):
    async with LegacyServer(unknown=unknown) as server:
        async with UpstreamPool([remote(server.url)]) as pool:
            await pool.list_tools("s")
            server.sessions.clear()
            assert text(await call_tool(pool, "s", "echo", {"text": "lost"})) == "lost"
            assert pool.list_statuses()["s"].last_error == ""
        assert server.methods().count("initialize") == 2


@pytest.mark.parametrize(
    "unknown",
    [
        in_json(500, -32603, "Session not found or expired"),
        in_json(503, -32000, "MCP session is unknown on this instance"),
        in_text(500, "Internal Server Error"),
        in_text(400, "Bad Request"),
    ],
)
async def test_after_a_failure_that_says_less_only_reads_are_repeated(unknown):
    async with LegacyServer(unknown=unknown) as server:
        async with UpstreamPool([remote(server.url)]) as pool:
            await pool.list_tools("s")
            server.sessions.clear()
            with pytest.raises(SessionExpired, match="may have been carried out") as caught:
                await call_tool(pool, "s", "echo", {"text": "lost"})
            assert not caught.value.is_unsent
            assert text(await call_tool(pool, "s", "echo", {"text": "next"})) == "next"
            server.sessions.clear()
            assert (await pool.list_tools("s")).tools
        assert server.methods().count("initialize") == 3
        assert len([asked for asked in server.asked if b"lost" in asked.body]) == 1


@pytest.mark.parametrize(
    "refusal",
    [
        in_json(200, -32602, "no such session id: x"),
        in_json(400, -32602, "no such session id: x"),
        in_text(500, "failed"),
        in_text(400, "no"),
    ],
)
async def test_a_failure_of_one_tool_leaves_the_session_as_it_is(refusal):
    async with LegacyServer(own={"refuse": refusal}) as server:
        async with UpstreamPool([remote(server.url)]) as pool:
            await pool.list_tools("s")
            with pytest.raises((UpstreamRefused, HttpRefused)):
                await call_tool(pool, "s", "refuse", {})
            assert text(await call_tool(pool, "s", "echo", {"text": "on"})) == "on"
        assert server.methods().count("initialize") == 1


async def test_a_server_that_does_not_know_ping_keeps_its_session():
    refusals = {"refuse": in_json(200, -32602, "session_name is required")}
    instead = {"ping": in_json(200, -32603, "Method not supported: ping")}
    async with LegacyServer(own=refusals, instead=instead) as server:
        async with UpstreamPool([remote(server.url)]) as pool:
            with pytest.raises(UpstreamRefused, match="session_name"):
                await call_tool(pool, "s", "refuse", {})
        assert server.methods().count("ping") == 1
        assert server.methods().count("initialize") == 1


async def test_a_server_that_forgets_every_session_is_asked_twice_and_no_more():
    class Forgetful(LegacyServer):
        async def _answer(self, asked, reply):
            if asked.rpc == "tools/call":
                self.sessions.clear()
            await super()._answer(asked, reply)

    async with Forgetful() as server, UpstreamPool([remote(server.url)]) as pool:
        with pytest.raises(SessionExpired):
            await call_tool(pool, "s", "echo", {"text": "lost"})
        assert len([asked for asked in server.asked if b"lost" in asked.body]) == 2


@pytest.mark.parametrize("status", [400, 404, 500])
async def test_a_refused_notification_does_not_end_the_session(status):
    async def refuse(asked, reply):
        await reply.whole(status)

    instead = {"notifications/initialized": refuse, "notifications/cancelled": refuse}
    async with LegacyServer(instead=instead) as server:
        async with UpstreamPool([remote(server.url)]) as pool:
            with pytest.raises(CallTimedOut):
                await call_tool(pool, "s", "hang", {}, timeout_s=0.2)
            assert text(await call_tool(pool, "s", "echo", {"text": "on"})) == "on"
        assert server.methods().count("notifications/cancelled") == 1
        assert server.methods().count("initialize") == 1
