"""Sessions with remote servers of both eras."""

import asyncio
import json

import pytest

from gateway_project.foundation.caller import Caller
from tests.patience import PATIENCE_S
from tests.servers import http_sdk
from tests.servers.http_legacy import LegacyServer, news
from tests.servers.http_legacy import text as answer
from tests.servers.http_raw import RawServer
from tests.tools.upstream.conftest import SOON, Seen, eventually
from tests.tools.upstream.http.conftest import remote, text, times_out, was_called
from tests.upstream_calls import call_tool, restart, send_request
from tools.upstream.breaker import UpstreamEnvironment
from tools.upstream.errors import (
    ConnectionLost,
    ForbiddenAddress,
    ServerUnreachable,
    SignInRequired,
    UnsendableRequest,
    UnsetVariable,
    UpstreamError,
    UpstreamRefused,
)
from tools.upstream.http import client, transport
from tools.upstream.http.remote import RemoteTransports
from tools.upstream.network import NetworkRules, parse_networks
from tools.upstream.pool import UpstreamPool


@pytest.mark.parametrize("json_response", [True, False], ids=["json", "events"])
async def test_a_server_of_the_sdk_lists_answers_reports_and_is_cancelled(json_response, let_pass):
    server = http_sdk.make_server()
    app = server.streamable_http_app(json_response=json_response)
    seen, begun, ended = [], asyncio.Event(), asyncio.Event()

    @server.tool()
    async def linger() -> str:
        """Never return."""
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    async def progress(done: float, total: float | None, message: str | None) -> None:
        seen.append((done, total, message))

    async with http_sdk.served(app) as origin, UpstreamPool([remote(f"{origin}/mcp")]) as pool:
        assert "echo" in {tool.name for tool in (await pool.list_tools("s")).tools}
        assert pool.list_statuses()["s"].protocol_version == "2026-07-28"
        assert text(await call_tool(pool, "s", "echo", {"text": "hi"})) == "hi"
        assert text(await call_tool(pool, "s", "region", {"region": "Zürich"})) == "Zürich"
        if not json_response:
            assert text(await call_tool(pool, "s", "steps", {}, progress=progress)) == "done"
            assert seen == [(1, 2, "half"), (2, 2, "whole")]
            await times_out(pool, "linger", once=begun.is_set, let_pass=let_pass)
            async with asyncio.timeout(PATIENCE_S):
                await ended.wait()
        assert text(await call_tool(pool, "s", "echo", {"text": "still"})) == "still"


async def test_modern_requests_carry_their_headers_and_cancelling_closes_the_stream(let_pass):
    begun, closed = asyncio.Event(), asyncio.Event()

    async def handle(asked, reply):
        if asked.rpc == "server/discover":
            result = {
                "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}},
                "resultType": "complete",
                "ttlMs": 0,
                "cacheScope": "private",
            }
            await reply.json({"jsonrpc": "2.0", "id": asked.json["id"], "result": result})
        elif asked.json["params"].get("name") == "hang":
            await reply.stream()
            begun.set()
            await reply.gone()
            closed.set()
        else:
            await reply.json(answer(asked, "ok"))

    headers = {"X-Key": "${KEY}"}
    around = UpstreamEnvironment(environ={"KEY": "secret-value"})
    async with RawServer(handle) as server:
        spec = remote(server.url, headers=headers)
        async with UpstreamPool([spec], environment=around) as pool:
            await call_tool(pool, "s", "do it", {})
            await times_out(pool, "hang", once=begun.is_set, let_pass=let_pass)
            async with asyncio.timeout(PATIENCE_S):
                await closed.wait()
        calls = [asked for asked in server.asked if asked.rpc == "tools/call"]
        assert (
            calls[0].headers.items()
            >= {
                "accept": "application/json, text/event-stream",
                "content-type": "application/json",
                "mcp-protocol-version": "2026-07-28",
                "mcp-method": "tools/call",
                "mcp-name": "do it",
                "x-key": "secret-value",
            }.items()
        )
        assert {"notifications/cancelled", "DELETE", "GET"}.isdisjoint(server.methods())
        assert len(calls) == 2


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("resources/read", {"uri": "file:///a\ud83d"}),
        ("prompts/get", {"name": "a\ud83d"}),
        ("tools/call", {"name": "look", "arguments": {"where": "a\ud83d"}}),
    ],
)
async def test_half_a_surrogate_that_would_become_a_header_is_not_sent(method, params):
    where = {"type": "string", "x-mcp-header": "Where"}
    schema = {"type": "object", "properties": {"where": where}}
    results = {
        "server/discover": {
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
        },
        "tools/list": {"tools": [{"name": "look", "inputSchema": schema}]},
    }
    around = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}

    async def handle(asked, reply):
        result = results.get(asked.rpc, {"content": [{"type": "text", "text": "on"}]})
        await reply.json({"jsonrpc": "2.0", "id": asked.json["id"], "result": result | around})

    async with RawServer(handle) as server, UpstreamPool([remote(server.url)]) as pool:
        await pool.list_tools("s")
        with pytest.raises(UnsendableRequest) as refused:
            await send_request(pool, "s", method, params)
        assert (refused.value.code, refused.value.is_unsent) == ("unsendable", True)
        assert method not in server.methods()
        assert text(await call_tool(pool, "s", "look", {"where": "ä"})) == "on"


async def test_a_legacy_session_is_named_listened_to_and_ended(
    legacy, pool, let_pass, monkeypatch
):
    monkeypatch.setattr(transport, "GOODBYE_TIMEOUT_S", PATIENCE_S)
    assert text(await call_tool(pool, "s", "echo", {"text": "hi"})) == "hi"
    assert pool.list_statuses()["s"].protocol_version == "2025-11-25"
    await eventually(lambda: "GET" in legacy.methods())
    await times_out(pool, "hang", once=lambda: was_called(legacy, "hang"), let_pass=let_pass)
    await eventually(lambda: "notifications/cancelled" in legacy.methods())
    await pool.aclose()
    methods = legacy.methods()
    assert methods[:3] == ["server/discover", "initialize", "notifications/initialized"]
    assert methods[-1] == "DELETE"
    assert legacy.sessions == set()
    later = [asked.headers for asked in legacy.asked if asked.rpc in ("tools/call", "")]
    assert {each["mcp-session-id"] for each in later} == {"session-1"}
    assert {each["mcp-protocol-version"] for each in later} == {"2025-11-25"}


async def test_cookies_of_a_server_last_as_long_as_its_connection():
    async def set_cookie(asked, reply):
        cookie = asked.json["params"]["arguments"]["cookie"]
        await reply.json(answer(asked, "ok"), set_cookie=cookie)

    given = ["node=a1; HttpOnly", "x=1; Path=/elsewhere", "x=2; Secure", "node=; Max-Age=0"]
    async with LegacyServer(own={"set": set_cookie}) as server:
        entry = remote(server.url, headers={"Cookie": "own=me"})
        for cookies in (given, [*(f"{name}={'x' * 3000}" for name in "abc"), "node=b"]):
            async with UpstreamPool([entry]) as pool:
                for cookie in cookies:
                    await call_tool(pool, "s", "set", {"cookie": cookie})
        calls = [asked.headers["cookie"] for asked in server.asked if asked.rpc == "tools/call"]
        assert calls[:4] == ["own=me", *["own=me; node=a1"] * 3]
        assert [len(each) for each in calls[4:]] == [6, 3010, 6014, 6]
        assert server.asked[-1].headers["cookie"] == "own=me; node=b"


@pytest.mark.parametrize("status", [400, 404, 405, 500])
async def test_a_server_that_refuses_the_probe_in_its_own_words_is_of_the_older_era(status):
    class Older(LegacyServer):
        async def _answer(self, asked, reply):
            if asked.rpc == "server/discover":
                await reply.whole(status, b"<html>", content_type="text/html")
            else:
                await super()._answer(asked, reply)

    async with Older() as server, UpstreamPool([remote(server.url)]) as pool:
        assert text(await call_tool(pool, "s", "echo", {"text": "hi"})) == "hi"
        assert pool.list_statuses()["s"].protocol_version == "2025-11-25"


@pytest.mark.parametrize(
    "refusal",
    [
        (400, b"Bad Request: Unsupported protocol version", "text/plain"),
        (400, b'{"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": "no"}}', "json"),
        (200, b'{"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": "no"}}', "json"),
        (500, b"", "text/plain"),
    ],
)
async def test_a_server_that_refuses_newer_versions_is_asked_for_older_ones_once(refusal):
    asked_versions = []

    class Strict(LegacyServer):
        async def _initialize(self, asked, reply):
            asked_versions.append(asked.json["params"]["protocolVersion"])
            if asked_versions[-1] > "2024-11-05":
                status, body, kind = refusal
                kind = "application/json" if kind == "json" else kind
                headers = {"content_type": kind, "mcp_session_id": "none"}
                await reply.whole(status, body, **headers)
            else:
                assert "mcp-session-id" not in asked.headers
                await super()._initialize(asked, reply)

    async with Strict() as server, UpstreamPool([remote(server.url)]) as pool:
        assert text(await call_tool(pool, "s", "echo", {"text": "hi"})) == "hi"
        assert asked_versions == ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
        await restart(pool, "s")
        assert asked_versions[4:] == ["2024-11-05"]


async def test_pools_end_at_once_while_a_server_is_just_ending(legacy):
    async with asyncio.timeout(PATIENCE_S):
        async with UpstreamPool([remote(legacy.url)]) as pool:
            await call_tool(pool, "s", "echo", {})
            legacy.sessions.clear()
            await call_tool(pool, "s", "echo", {})


@pytest.mark.parametrize("first", ["answer", "status"])
async def test_an_answer_on_the_stream_of_the_server_is_taken(first):
    streams = []
    opened = asyncio.Event()

    async def listen(asked, reply):
        await reply.stream()
        streams.append(reply)
        opened.set()
        await reply.gone()

    async def accept(asked, reply):
        if first == "status":
            await reply.whole(202)
        await streams[0].event(answer(asked, "elsewhere"))
        if first == "answer":
            await asyncio.sleep(0.05)
            await reply.whole(202)

    async with (
        LegacyServer(listening=listen, own={"accept": accept}) as server,
        UpstreamPool([remote(server.url)]) as pool,
    ):
        await pool.warm_up()
        await opened.wait()
        assert text(await call_tool(pool, "s", "accept", {})) == "elsewhere"
        assert text(await call_tool(pool, "s", "echo", {"text": "on"})) == "on"
        assert pool.list_statuses()["s"].messages_dropped == 0


@pytest.mark.parametrize("kind", ["", "text/plain", "application/json-rpc"])
async def test_an_answer_in_json_of_another_or_no_type_is_taken(kind):
    async def speak(asked, reply):
        headers = {"content_type": kind} if kind else {}
        await reply.whole(200, json.dumps(answer(asked, "spoken")).encode(), **headers)

    async with (
        LegacyServer(own={"speak": speak}) as server,
        UpstreamPool([remote(server.url)]) as pool,
    ):
        assert text(await call_tool(pool, "s", "speak", {})) == "spoken"


async def test_a_broken_stream_is_resumed_where_it_broke_off(legacy, pool):
    assert text(await call_tool(pool, "s", "resume", {})) == "resumed"
    resumed = [asked for asked in legacy.asked if "last-event-id" in asked.headers]
    assert [asked.method for asked in resumed] == ["GET"]
    assert resumed[0].headers["last-event-id"].startswith("call-")


async def test_news_on_the_servers_own_stream_are_heard_and_its_pings_answered():
    changed = []

    async def listening(asked, reply):
        await reply.stream()
        await reply.event(news("notifications/tools/list_changed"), id="e1")
        await reply.event({"jsonrpc": "2.0", "id": "p", "method": "ping"})
        await reply.gone()

    async with LegacyServer(listening=listening) as server:
        specs = [remote(server.url)]
        on_changed = lambda name, kind: changed.append((name, kind))  # noqa: E731
        async with UpstreamPool(specs, on_changed=on_changed) as pool:
            await pool.warm_up()
            await eventually(lambda: changed == [("s", "tools")])
            await eventually(lambda: any(asked.json.get("id") == "p" for asked in server.asked))


async def test_a_request_of_the_server_during_a_call_is_answered(legacy, pool):
    assert text(await call_tool(pool, "s", "ask", {})) == "asked"
    await eventually(lambda: any("result" in asked.json for asked in legacy.asked))


async def test_calls_side_by_side_share_the_session_and_use_connections_again(legacy, monkeypatch):
    monkeypatch.setattr(client, "KEEP_ALIVE_S", PATIENCE_S)
    async with UpstreamPool([remote(legacy.url)]) as pool:
        await pool.warm_up()
        async with asyncio.TaskGroup() as group:
            calls = [
                group.create_task(call_tool(pool, "s", "echo", {"text": str(n)}))
                for n in range(20)
            ]
        assert [text(call.result()) for call in calls] == [str(n) for n in range(20)]
        before = legacy.connections
        for _ in range(20):
            await call_tool(pool, "s", "echo", {})
        assert legacy.connections == before


async def test_a_server_that_is_not_there_is_told_and_tried_again(seen: Seen):
    async with LegacyServer() as server:
        spec, port = remote(server.url), server.port
    async with UpstreamPool([spec], policy=SOON, on_status=seen) as pool:
        with pytest.raises(ServerUnreachable, match="does not accept connections"):
            await call_tool(pool, "s", "echo", {})
        assert (await seen.until("s", "backoff")).last_error.startswith("server 's': http://127")
    assert str(port) in str(seen.statuses[-2].last_error)


async def test_a_server_that_goes_away_is_noticed_by_the_next_calls(legacy, pool):
    await call_tool(pool, "s", "echo", {})
    await legacy.__aexit__()
    kinds = set()
    async with asyncio.timeout(PATIENCE_S):
        while ServerUnreachable not in kinds:
            with pytest.raises(UpstreamError) as caught:
                await call_tool(pool, "s", "echo", {})
            kinds.add(type(caught.value))
    assert kinds <= {ConnectionLost, ServerUnreachable}
    await eventually(lambda: pool.list_statuses()["s"].state != "ready")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"])
async def test_a_private_address_needs_leave_and_the_error_says_whose(legacy, host):
    url = f"http://{host}:{legacy.port}/mcp"
    async with UpstreamPool([remote(url, private_network=False)]) as pool:
        with pytest.raises(ForbiddenAddress, match="tick 'private network'"):
            await call_tool(pool, "s", "echo", {})
        assert pool.list_statuses()["s"].state == "failed"
    assert legacy.connections == 0
    allowed = RemoteTransports(rules=NetworkRules(allowed=parse_networks("127.0.0.0/8, ::1")))
    spec = remote(f"http://127.0.0.1:{legacy.port}/mcp", private_network=False)
    async with UpstreamPool([spec], remote=allowed) as pool:
        assert text(await call_tool(pool, "s", "echo", {"text": "in"})) == "in"


async def test_a_variable_that_is_not_set_is_named():
    spec = remote("https://${FG_NOWHERE}/mcp")
    async with UpstreamPool([spec], environment=UpstreamEnvironment(environ={})) as pool:
        with pytest.raises(UnsetVariable, match="FG_NOWHERE"):
            await call_tool(pool, "s", "echo", {})


class Tokens:
    """Has one token, and another when the first is refused."""

    def __init__(self, *tokens: str) -> None:
        self.tokens = list(tokens)
        self.refusals: list[tuple[int, str, str]] = []

    async def build_headers(self, url: str, caller: Caller) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.tokens[0]}"}

    async def handle_refusal(self, *, status: int, www_authenticate: str, caller: Caller) -> bool:
        self.refusals.append((status, www_authenticate, caller.user))
        if len(self.tokens) > 1:
            self.tokens.pop(0)
            return True
        return False


class GuardedServer(LegacyServer):
    """Wants one certain token."""

    async def _answer(self, asked, reply):
        if asked.headers.get("authorization") == "Bearer good":
            await super()._answer(asked, reply)
        elif asked.headers.get("authorization") == "Bearer narrow":
            challenge = 'Bearer error="insufficient_scope", scope="more"'
            await reply.whole(403, www_authenticate=challenge)
        else:
            await reply.whole(401, www_authenticate='Bearer resource_metadata="x"')


@pytest.mark.parametrize("old", ["old", "narrow"])
async def test_a_refused_token_is_renewed_once(old):
    tokens = Tokens(old, "good")
    async with GuardedServer() as server:
        spec = remote(server.url, authorization="oauth")
        async with UpstreamPool(
            [spec], remote=RemoteTransports(authorize=lambda _: tokens)
        ) as pool:
            assert text(await call_tool(pool, "s", "echo", {"text": "in"})) == "in"
        assert len(tokens.refusals) == 1
        assert tokens.refusals[0][0] == (403 if old == "narrow" else 401)
        assert ("scope" in tokens.refusals[0][1]) == (old == "narrow")


async def test_without_a_sign_in_that_does_the_error_says_how_to_get_one():
    async with GuardedServer() as server:
        tokens = Tokens("bad")
        spec = remote(server.url, authorization="oauth")
        async with UpstreamPool(
            [spec], remote=RemoteTransports(authorize=lambda _: tokens)
        ) as pool:
            with pytest.raises(SignInRequired, match=r"manage\.py sign_in s"):
                await call_tool(pool, "s", "echo", {})
            assert pool.list_statuses()["s"].state == "failed"
            tokens.tokens = ["good"]
            assert text(await call_tool(pool, "s", "echo", {"text": "in"})) == "in"
        async with UpstreamPool([remote(server.url)]) as pool:
            with pytest.raises(SignInRequired, match="no authorization by OAuth"):
                await call_tool(pool, "s", "echo", {})


async def test_a_refused_sign_in_is_no_forgotten_session():
    tokens = Tokens("good")
    async with GuardedServer() as server:
        pool = UpstreamPool(
            [remote(server.url, authorization="oauth")],
            remote=RemoteTransports(authorize=lambda _: tokens),
        )
        async with pool:
            await pool.list_tools("s")
            tokens.tokens = ["bad"]
            with pytest.raises(SignInRequired):
                await call_tool(pool, "s", "echo", {})
        assert server.methods().count("initialize") == 1


async def test_no_secret_shows_in_errors_or_reprs(caplog):
    async def handle(asked, reply):
        await reply.whole(418, json.dumps(asked.headers).encode())

    async with RawServer(handle) as server:
        spec = remote(f"{server.url}?key=s3cr3t-query", headers={"Authorization": "Bearer s3cr3t"})
        async with UpstreamPool([spec]) as pool:
            with pytest.raises(Exception, match="418") as caught:
                await call_tool(pool, "s", "echo", {})
            shown = [str(caught.value), repr(spec), repr(pool.list_statuses()), caplog.text]
        assert "key=s3cr3t-query" in server.asked[0].path
        assert [where for where in shown if "s3cr3t" in where] == []


class TellingServer(LegacyServer):
    """Repeats the credentials and the address it was called with in an error."""

    async def _answer(self, asked, reply):
        if asked.rpc != "tools/call":
            await super()._answer(asked, reply)
            return
        said = f"{asked.headers['authorization']} at {asked.path}"
        error = {"code": -32001, "message": said, "data": {"said": [said]}}
        await reply.json({"jsonrpc": "2.0", "id": asked.json["id"], "error": error})


async def test_tokens_and_the_secrets_of_an_address_that_a_server_repeats_are_blanked_out():
    tokens = Tokens("t0ken-of-a-sign-in")
    async with TellingServer() as server:
        spec = remote(f"{server.url}?api_key=k3y1", authorization="oauth")
        async with UpstreamPool(
            [spec], remote=RemoteTransports(authorize=lambda _: tokens)
        ) as pool:
            with pytest.raises(UpstreamRefused) as caught:
                await call_tool(pool, "s", "echo", {})
    error = caught.value
    assert "Bearer [redacted] at /mcp?api_key=[redacted]" in error.rpc_message
    for shown in (str(error), error.rpc_message, str(error.data)):
        assert "t0ken" not in shown
        assert "k3y1" not in shown
