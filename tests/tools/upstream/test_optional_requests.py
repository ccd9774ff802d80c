"""Requests that the gateway makes of its own accord fail neither a call nor a start."""

import json
from functools import partial

import pytest
from structlog.testing import capture_logs

from tests.servers import http_legacy
from tests.servers.http_legacy import LegacyServer
from tests.servers.http_raw import RawServer
from tests.tools.upstream.conftest import LONG_S, SOON, curious, eventually
from tests.tools.upstream.http.conftest import remote, text
from tests.upstream_calls import SOMEBODY, call_tool, restart, send_request
from tools.upstream import connection as module
from tools.upstream.errors import ServerExited, UpstreamRefused
from tools.upstream.pool import UpstreamPool
from tools.upstream.request import Downstream

SET_LEVEL = "logging/setLevel"
LISTS = ("resources/list", "resources/templates/list", "prompts/list")
LOUD = Downstream(log_level="info")


async def told(pool: UpstreamPool) -> dict:
    return json.loads(
        (await call_tool(pool, "curious", "told", {}, downstream=LOUD)).raw["content"][0]["text"]
    )


async def test_a_call_goes_on_where_the_server_refuses_to_set_its_log_level():
    with capture_logs() as logs:
        async with UpstreamPool([curious(f"refuses={SET_LEVEL}")]) as pool:
            for _ in range(2):
                assert (await told(pool))["levels"] == []
            await restart(pool, "curious")
            assert (await told(pool))["levels"] == []
    failed = [entry for entry in logs if entry["event"] == "server.optional_request_failed"]
    assert [entry["method"] for entry in failed] == [SET_LEVEL] * 2  # once in each life
    assert "no logging/setLevel here" in failed[0]["reason"]


async def test_a_call_does_not_wait_for_long_until_a_log_level_is_set(monkeypatch):
    monkeypatch.setattr(module, "OPTIONAL_REQUEST_S", 0.01)
    spec = curious(f"ignores={SET_LEVEL}", call_timeout_s=LONG_S)
    async with UpstreamPool([spec]) as pool:
        for _ in range(2):
            assert len((await told(pool))["cancelled"]) == 1


async def test_a_server_that_does_not_survive_the_log_level_is_not_sent_it_again():
    async with UpstreamPool([curious(f"dies_of={SET_LEVEL}")], policy=SOON) as pool:
        with pytest.raises(ServerExited) as caught:
            await told(pool)
        assert caught.value.is_unsent  # so that a run makes the call again
        assert (await told(pool))["levels"] == []


async def test_a_client_that_wants_fewer_messages_does_not_take_them_from_others():
    quiet = Downstream(log_level="error")
    async with UpstreamPool([curious()]) as pool:
        for wanted in (quiet, LOUD, quiet):
            await call_tool(pool, "curious", "told", {}, downstream=wanted)
        assert (await told(pool))["levels"] == ["error", "info"]


@pytest.mark.parametrize(
    "behaviour", ["accepted", "disconnect", "fail", "html", "no_http", "refuse", "wrong_id"]
)
async def test_a_remote_server_may_do_anything_with_optional_requests(behaviour):
    refuse = http_legacy.BEHAVIOURS[behaviour]
    optional = ("server/discover", "notifications/initialized", SET_LEVEL)
    server = LegacyServer(
        instead=dict.fromkeys(optional, refuse), capabilities=("logging",), listening=refuse
    )
    async with server, UpstreamPool([remote(server.url)]) as pool:
        for _ in range(2):
            result = await call_tool(pool, "s", "echo", {"text": "hi"}, downstream=LOUD)
            assert text(result) == "hi"
        await eventually(lambda: "GET" in server.methods())


async def test_a_modern_remote_server_that_lists_no_tools_is_called_without_headers_of_them():
    async def handle(asked, reply):
        reply_with = partial(_reply, asked, reply)
        if asked.rpc == "server/discover":
            await reply_with(supportedVersions=["2026-07-28"], capabilities={"tools": {}})
        elif asked.rpc == "tools/list":
            await http_legacy.refuse(asked, reply)
        else:
            await reply_with(content=[{"type": "text", "text": "hi"}])

    async with RawServer(handle) as server, UpstreamPool([remote(server.url)]) as pool:
        assert text(await call_tool(pool, "s", "echo", {})) == "hi"


async def _reply(asked, reply, **result) -> None:
    common = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    message = {"jsonrpc": "2.0", "id": asked.json["id"], "result": {**common, **result}}
    await reply.json(message)


async def test_refused_lists_and_subscriptions_fail_no_call_and_no_later_life():
    refusing = curious(f"refuses={','.join((*LISTS, 'resources/subscribe'))}")
    async with UpstreamPool([curious()], policy=SOON) as pool:
        await send_request(
            pool, "curious", "resources/subscribe", {"uri": "test://1"}, downstream=LOUD
        )
        pool.set_servers([refusing])  # has to subscribe anew, and is refused
        assert (await told(pool))["followed"] == []
        for kind in ("resources", "templates", "prompts"):
            with pytest.raises(UpstreamRefused):
                await pool.list_items("curious", kind, caller=SOMEBODY)
        assert (await told(pool))["followed"] == []
