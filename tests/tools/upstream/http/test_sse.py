"""Servers of the protocol's first version."""

import json

import pytest

from gateway_project.foundation.caller import Caller
from tests.patience import PATIENCE_S
from tests.servers import http_sdk
from tests.servers.http_legacy import LegacyServer
from tests.servers.http_legacy import text as answer
from tests.servers.http_raw import RawServer
from tests.tools.upstream.http.conftest import remote, text
from tests.upstream_calls import call_tool, restart
from tools.upstream.errors import (
    CallTimedOut,
    ConnectionLost,
    ForbiddenAddress,
    HttpRefused,
    MessageTooLarge,
    ProtocolViolation,
    SessionExpired,
    UpstreamError,
)
from tools.upstream.http import sse
from tools.upstream.http.remote import RemoteTransports
from tools.upstream.limits import UpstreamLimits
from tools.upstream.pool import UpstreamPool


class SseServer(RawServer):
    """Speaks HTTP+SSE by hand."""

    def __init__(self, endpoint: str = "/messages?session=1") -> None:
        super().__init__(self._answer)
        self._endpoint = endpoint
        self.listeners: list = []

    @property
    def sse_url(self) -> str:
        return self.url.replace("/mcp", "/sse")

    async def _answer(self, asked, reply):
        if asked.method == "GET":
            await reply.stream()
            await reply.raw(f"event: endpoint\ndata: {self._endpoint}\n\n".encode())
            self.listeners.append(reply)
            await reply.gone()
            return
        await reply.whole(*self.taken(asked), content_type="text/plain")
        if "id" in asked.json:
            await self.answer(asked, self.listeners[-1])

    def taken(self, asked):
        return (404, b"") if asked.json.get("params", {}).get("name") == "lost" else (202, b"ok")

    async def answer(self, asked, stream):
        name = asked.json.get("params", {}).get("name")
        result = answer(asked, "hi")
        if asked.rpc == "initialize":
            result["result"] = {
                "protocolVersion": "2024-11-05",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "old", "version": "0"},
            }
        if name == "leave":
            stream.close()
        elif name == "mumble":
            await stream.raw(
                b'data: {"jsonrpc":"2.0","id":%d,"result":{"x":caf\xe9}}\n\n' % asked.json["id"]
            )
        elif name == "huge":
            await stream.raw(
                b'data: {"jsonrpc":"2.0","id":%d,"result":{"x":"%s"}}\n\n'
                % (asked.json["id"], b"x" * 200_000)
            )
        elif name not in ("lost", "hang"):
            lines = json.dumps(result, indent=1).splitlines()
            await stream.raw("".join(f"data: {line}\r\n" for line in lines).encode() + b"\r\n")


def old(server: SseServer, **values):
    return remote(server.sse_url, transport="sse", **values)


async def test_a_server_of_the_sdk_answers():
    app = http_sdk.make_server().sse_app()
    async with (
        http_sdk.served(app) as origin,
        UpstreamPool([remote(f"{origin}/sse", transport="sse")]) as pool,
    ):
        assert "echo" in {tool.name for tool in (await pool.list_tools("s")).tools}
        assert text(await call_tool(pool, "s", "echo", {"text": "hi"})) == "hi"


@pytest.mark.parametrize(
    ("tool", "kind"),
    [
        ("hang", CallTimedOut),
        ("mumble", ProtocolViolation),
        ("huge", MessageTooLarge),
        ("lost", SessionExpired),
        ("leave", ConnectionLost),
    ],
)
async def test_a_bad_answer_fails_its_call_alone(tool, kind):
    async with SseServer() as server:
        limits = UpstreamLimits(max_line_bytes=100_000)
        async with UpstreamPool([old(server)], limits=limits) as pool:
            assert text(await call_tool(pool, "s", "good", {})) == "hi"
            with pytest.raises(kind):
                await call_tool(
                    pool, "s", tool, {}, timeout_s=0.3 if tool == "hang" else PATIENCE_S
                )
            assert text(await call_tool(pool, "s", "good", {})) == "hi"
            ended = {"lost": 2, "leave": 1}.get(tool, 0)  # what is lost is sent once more
            assert server.methods().count("initialize") == 1 + ended


@pytest.mark.parametrize("endpoint", ["https://127.0.0.1/x", "http://10.0.0.1/x", "//evil/x"])
async def test_messages_go_to_no_other_origin(endpoint):
    async with SseServer(endpoint) as server, UpstreamPool([old(server)]) as pool:
        with pytest.raises(ForbiddenAddress, match="wants messages sent to"):
            await call_tool(pool, "s", "good", {})
        assert server.methods() == ["GET"]


@pytest.mark.parametrize(
    ("status", "kind", "error"),
    [(405, "text/plain", HttpRefused), (200, "text/html", ProtocolViolation)],
)
async def test_what_is_no_stream_is_said_so(status, kind, error):
    async def handle(asked, reply):
        await reply.whole(status, b"x", content_type=kind)

    async with (
        RawServer(handle) as server,
        UpstreamPool([remote(server.url, transport="sse")]) as pool,
    ):
        with pytest.raises(error, match="check"):
            await call_tool(pool, "s", "good", {})
        assert server.methods()[0] == "GET"
        assert "initialize" in server.methods()


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_a_server_of_the_other_transport_is_found_and_then_asked_at_once(transport):
    server = LegacyServer() if transport == "sse" else SseServer()
    if transport == "http":
        server.taken = lambda asked: (405, b"") if asked.path == "/sse" else (202, b"ok")
    async with server:
        url = server.url if transport == "sse" else server.sse_url
        async with UpstreamPool([remote(url, transport=transport)]) as pool:
            assert (await pool.list_tools("s")).tools is not None
            before = server.methods()
            await restart(pool, "s")
        after = server.methods()[len(before) :]
        assert before[0] == ("GET" if transport == "sse" else "server/discover")
        expected = "initialize" if transport == "sse" else "GET"
        assert next(each for each in after if each != "DELETE") == expected


async def test_a_stream_that_names_no_address_for_messages_is_of_the_other_transport(monkeypatch):
    monkeypatch.setattr(sse, "TARGET_TIMEOUT_S", 0.05)

    async def listening(asked, reply):
        await reply.stream()
        await reply.gone()

    class Open(LegacyServer):
        async def _answer(self, asked, reply):
            if asked.method == "GET":
                await listening(asked, reply)
            else:
                await super()._answer(asked, reply)

    async with Open() as server, UpstreamPool([remote(server.url, transport="sse")]) as pool:
        assert (await pool.list_tools("s")).tools


async def test_silence_ends_with_the_connect_timeout():
    async def handle(asked, reply):
        await reply.stream()
        await reply.gone()

    async with RawServer(handle) as server:
        spec = remote(server.url, transport="sse", connect_timeout_s=0.2)
        async with UpstreamPool([spec]) as pool:
            with pytest.raises(UpstreamError) as caught:
                await call_tool(pool, "s", "good", {})
            assert caught.value.code == "connect_timed_out"


class SignedIn:
    """Has a token for one address."""

    def __init__(self, url: str) -> None:
        self.url = url

    async def build_headers(self, url: str, caller: Caller) -> dict[str, str]:
        assert url == self.url
        return {"Authorization": "Bearer good"}

    async def handle_refusal(self, *, status: int, www_authenticate: str, caller: Caller) -> bool:
        return False


async def test_a_sign_in_counts_for_the_path_that_messages_go_to():
    async with SseServer() as server:
        made = RemoteTransports(authorize=lambda _: SignedIn(server.sse_url))
        async with UpstreamPool([old(server, authorization="oauth")], remote=made) as pool:
            assert text(await call_tool(pool, "s", "echo", {"text": "hi"})) == "hi"
        posts = [asked for asked in server.asked if asked.method == "POST"]
        assert {asked.headers.get("authorization") for asked in posts} == {"Bearer good"}
