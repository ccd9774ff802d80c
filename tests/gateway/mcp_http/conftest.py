"""A gateway over HTTP in the test's own loop, with a handler and tokens that the test controls."""

from __future__ import annotations

import asyncio
import functools
import hashlib
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest
import uvicorn
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import CallToolResult, EmptyResult, PingRequest, RequestParams, TextContent
from starlette.types import ASGIApp

from gateway_project.access.active_token import ActiveToken, TokensUnavailable
from gateway_project.foundation import telemetry
from gateway_project.foundation.caller import Caller
from gateway_project.mcp import callers
from gateway_project.mcp.http import address, exchange, messages, serve
from gateway_project.mcp.http.gate import AccessLog
from gateway_project.mcp.http.request import load_allowed_names
from gateway_project.mcp.http.service import Application, HttpService
from gateway_project.mcp.runtime import PreparedRuntime, RequestHandler
from gateway_project.readiness import Gateway, Readiness
from tests.patience import PATIENCE_S
from tools.catalogue import Catalogue

MODERN, LEGACY = "2026-07-28", "2025-11-25"
META = "io.modelcontextprotocol/"
ACCEPT = {"Accept": "application/json, text/event-stream"}
UNWRITABLE = {
    "half": {"text": "a\ud83d"},
    "deep": {"text": functools.reduce(lambda inner, _: [inner], range(220), 1)},
}
LOCAL = Caller(user="local", team=None, person=None, scopes=frozenset({"*"}), kind="http")


def caller(user: str, *, team: int | None = None, scopes: tuple[str, ...] = ("call", "search")):
    return Caller(user=user, team=team, person=None, scopes=frozenset(scopes), kind="http")


def digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


@dataclass(kw_only=True)
class Tokens:
    """What the database would say of tokens."""

    good: dict[str, ActiveToken] = field(default_factory=dict)
    away: bool = False
    asked: int = 0

    def give(self, token: str, holder: Caller, *, expires_at: float | None = None) -> str:
        self.good[digest(token)] = ActiveToken(caller=holder, expires_at=expires_at)
        return token

    def revoke(self, token: str) -> None:
        del self.good[digest(token)]

    def expire(self, token: str) -> None:
        self.good[digest(token)] = replace(self.good[digest(token)], expires_at=1.0)

    async def look_up(self, digests: Any) -> dict[str, ActiveToken]:
        self.asked += 1
        if self.away:
            raise TokensUnavailable("gone")
        return {key: self.good[key] for key in digests if key in self.good}


@pytest.fixture(autouse=True)
def _constant_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the server answer `tools/list` itself: `Handled` serves calls alone."""
    monkeypatch.setenv("FOREGATE_EXPOSURE", "meta")


@dataclass(kw_only=True)
class Handled:
    """What calls did.

    `echo` returns its text, `request_id`, `session`, `group` and `scopes` those, `hang` never
    returns, `count` reports progress, `count_and_hang` does both.
    `half` and `deep` return what cannot be written, `ask` asks it of the client.
    """

    began: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    release: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, readiness: Any, ctx: Any) -> CallToolResult:
        given = ctx.params.get("arguments") or {}
        asked = given.get("arguments", {})
        if given["tool"] == "count_and_hang":
            await ctx.session.report_progress(1, 2)
        if given["tool"] in ("hang", "count_and_hang"):
            self.began.set()
            try:
                await self.release.wait()
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
        if given["tool"] == "count":
            await ctx.session.report_progress(1, 2)
        if given["tool"] == "fail":
            raise RuntimeError("a defect")
        if given["tool"] in UNWRITABLE:
            await ctx.session.report_progress(1, 2)
            return CallToolResult(content=[], structured_content=UNWRITABLE[given["tool"]])
        if given["tool"] == "ask":
            return await question(ctx)
        holder = callers.caller_of(ctx, readiness.current)
        told = {
            "request_id": telemetry.current_request_id(),
            "session": holder.session_key[-1],
            "group": holder.group,
            "scopes": " ".join(sorted(holder.scopes)),
        }
        text = told.get(given["tool"], asked.get("text", ""))
        return CallToolResult(content=[TextContent(type="text", text=f"{holder.user}:{text}")])


async def question(ctx: Any) -> CallToolResult:
    """Ask the client what cannot be written, and return the code of the error."""
    ping = PingRequest(params=RequestParams(_meta={"text": "a\ud83d"}))
    metadata = ServerMessageMetadata(related_request_id=ctx.request_id)
    try:
        await ctx.session.send_request(ping, EmptyResult, metadata=metadata)
    except MCPError as error:
        return CallToolResult(content=[TextContent(type="text", text=str(error.error.code))])
    raise AssertionError


@dataclass(kw_only=True)
class Running:
    """A gateway that listens."""

    url: str
    service: HttpService
    tokens: Tokens
    handled: Handled
    lines: list[str]
    server: uvicorn.Server
    http: aiohttp.ClientSession

    def headers(self, bearer: str | None = "tok-ann", **more: str) -> dict[str, str]:
        sent = {"Authorization": f"Bearer {bearer}"} if bearer else {}
        return {**ACCEPT, **sent, **{k.replace("_", "-"): v for k, v in more.items()}}

    async def modern(self, method: str, params: dict[str, Any], *, bearer="tok-ann", **more: str):
        named = {"tools/call": "name", "resources/read": "uri"}.get(method)
        headers = {
            "MCP-Protocol-Version": MODERN,
            "Mcp-Method": method,
            **({"Mcp-Name": str(params[named])} if named else {}),
        }
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": enveloped(params)}
        return self.http.post(self.url, json=body, headers=self.headers(bearer) | headers | more)

    async def call(self, tool: str, *, bearer: str = "tok-ann", **arguments: Any):
        params = {"name": "call_tool", "arguments": {"tool": tool, "arguments": arguments}}
        return await self.modern("tools/call", params, bearer=bearer)

    async def text(self, tool: str, *, bearer: str = "tok-ann", **arguments: Any) -> str:
        async with await self.call(tool, bearer=bearer, **arguments) as response:
            assert response.status == 200, await response.text()
            return (await response.json())["result"]["content"][0]["text"]

    async def greeted(self, bearer: str = "tok-ann") -> dict[str, str]:
        """Begin to open a session of the handshake era; returns the headers that belong to it."""
        hello = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": CLIENT}
        async with self.legacy("initialize", hello, self.headers(bearer)) as response:
            assert response.status == 200, await response.text()
            session = response.headers["Mcp-Session-Id"]
        return self.headers(bearer, Mcp_Session_Id=session) | {"MCP-Protocol-Version": LEGACY}

    async def session(self, bearer: str = "tok-ann") -> dict[str, str]:
        """Open a session of the handshake era; returns the headers that belong to it."""
        headers = await self.greeted(bearer)
        note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        async with self.http.post(self.url, json=note, headers=headers) as response:
            assert response.status == 202
        return headers

    def legacy(
        self,
        method: str,
        params: dict[str, Any],
        headers: dict[str, str],
        *,
        id_: int = 1,
        **options,
    ):
        body = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
        return self.http.post(self.url, json=body, headers=headers, **options)


CLIENT = {"name": "test", "version": "1"}


def enveloped(params: dict[str, Any]) -> dict[str, Any]:
    meta = {
        f"{META}protocolVersion": MODERN,
        f"{META}clientInfo": CLIENT,
        f"{META}clientCapabilities": {},
    }
    return params | {"_meta": meta}


def called(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"name": "call_tool", "arguments": {"tool": tool, "arguments": arguments}}


async def code_of(response: aiohttp.ClientResponse) -> tuple[int, Any]:
    """Return the status and the stable code of an error."""
    error = (await response.json())["error"]
    data = error.get("data")
    return response.status, data["code"] if isinstance(data, dict) else error["code"]


@asynccontextmanager
async def listening(
    *,
    open_to_all: bool = False,
    hosts: str = "127.0.0.1,localhost",
    connections: serve.Connections | None = None,
    handle: RequestHandler | None = None,
    run_wiring: Callable[[Readiness], Awaitable[None]] | None = None,
    otherwise: ASGIApp | None = None,
):
    """Serve MCP on a socket; `Handled` serves its requests, unless given what else does."""
    tokens, handled, lines = Tokens(), Handled(), []
    tokens.give("tok-ann", caller("ann"))
    tokens.give("tok-bob", caller("bob"))

    async def wire(readiness: Any) -> None:
        readiness.serve(Gateway(effects=SimpleNamespace(catalogue=Catalogue), caller=LOCAL))
        await asyncio.Event().wait()

    def prepare() -> PreparedRuntime:
        return PreparedRuntime(
            handle=handle or handled,
            run_wiring=run_wiring or wire,
            look_up_tokens=tokens.look_up,
        )

    application = Application(
        lambda: HttpService(
            prepare,
            names=load_allowed_names(hosts=hosts, origins="https://app.example"),
            access_log=AccessLog(lines.append, process="test"),
            open_to_all=open_to_all,
        ),
        otherwise=otherwise,
    )
    listener = address.open_listener(address.parse_address("127.0.0.1:0"))
    configuration = uvicorn.Config(
        application,
        http=functools.partial(
            serve.BoundedProtocol,
            connections=serve.Connections() if connections is None else connections,
        ),
        lifespan="on",
        ws="none",
        log_config=None,
        # Here the client stands still whenever the server does: neither may give the other up.
        timeout_graceful_shutdown=int(PATIENCE_S),
        timeout_keep_alive=int(PATIENCE_S),
    )
    server = Prompt(configuration, application)
    url = f"http://{address.bound_address(listener)}/mcp"
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        serving = group.create_task(server.serve(sockets=[listener]))
        await until(lambda: server.started and application.service.runtime.readiness.current)
        async with aiohttp.ClientSession() as http, _stopping(server, serving):
            yield Running(
                url=url,
                service=application.service,
                tokens=tokens,
                handled=handled,
                lines=lines,
                server=server,
                http=http,
            )


class Prompt(serve.HttpServer):
    """Stops at once, without the pauses that a server can afford; `in_order`: as it would."""

    in_order = False

    async def main_loop(self) -> None:
        await until(lambda: self.should_exit)

    async def shutdown(self, sockets: Any = None) -> None:
        if self.in_order:
            await super().shutdown(sockets)
            return
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        await self.lifespan.shutdown()


async def until(condition) -> None:
    """Wait for what sets no event."""
    while not condition():  # noqa: ASYNC110 - as said
        await asyncio.sleep(0.002)


@asynccontextmanager
async def _stopping(server: uvicorn.Server, serving: asyncio.Task[None]):
    try:
        yield
    finally:
        server.should_exit = True
        await serving


@pytest.fixture(autouse=True)
def _no_watchdog(monkeypatch):
    monkeypatch.setattr(serve, "_exit_in_time", lambda: None)


@pytest.fixture(autouse=True)
def _patient(monkeypatch):
    """Have neither side wonder what became of the other, however long both stand still."""
    for module, name in (
        (serve, "HEADERS_TIMEOUT_S"),
        (messages, "CHUNK_TIMEOUT_S"),
        (exchange, "PING_INTERVAL_S"),
    ):
        monkeypatch.setattr(module, name, PATIENCE_S)
