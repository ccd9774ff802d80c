"""Catalogues in memory, and an upstream pool that answers as a test says."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import mcp_types

from gateway_project.foundation.caller import Caller
from tools import ids
from tools.catalogue import Catalogue, CatalogueServer, CatalogueTool
from tools.danger import Danger
from tools.upstream.errors import UnknownServer, UpstreamError
from tools.upstream.listing import ItemListing
from tools.upstream.request import NO_CLIENT, Downstream, UpstreamRequest
from tools.upstream.result import UpstreamResult
from tools.upstream.status import ServerState, ServerStatus


def server(name: str, **values: Any) -> CatalogueServer:
    """Build a shared, enabled, untrusted server."""
    defaults: dict[str, Any] = {
        "team": None,
        "enabled": True,
        "trusted": False,
        "description": "",
        "last_error": "",
    }
    return CatalogueServer(name=name, **(defaults | values))


def tool(tool_id: str, **values: Any) -> CatalogueTool:
    """Build a shared, usable tool that takes any arguments."""
    server_name, name = ids.split_id(tool_id)
    defaults: dict[str, Any] = {
        "pk": sum(tool_id.encode()),
        "title": "",
        "description": "",
        "input_schema": {"type": "object"},
        "output_schema": None,
        "annotations": {},
        "definition_hash": "",
        "token_count": 10,
        "category": "",
        "danger": Danger.WRITE,
        "danger_reasons": ("no trusted source says that it only reads",),
        "vetoed": False,
        "state": "active",
        "enabled": True,
        "team": None,
    }
    return CatalogueTool(tool=tool_id, server=server_name, name=name, **(defaults | values))


def catalogue(*tools: CatalogueTool, servers: tuple[CatalogueServer, ...] = ()) -> Catalogue:
    """Build a catalogue; servers not given are shared and enabled."""
    known = {item.server: server(item.server, team=item.team) for item in tools}
    known |= {item.name: item for item in servers}
    return Catalogue(servers=known, tools={item.tool: item for item in tools})


@dataclass(kw_only=True)
class Called:
    """One request as the pool saw it."""

    server: str
    request: UpstreamRequest
    caller: Caller

    def __getattr__(self, name: str) -> Any:
        """Return a field of the request."""
        return getattr(self.request, name)

    @property
    def input_responses(self) -> Mapping[str, Any] | None:
        return self.request.params.get("inputResponses")

    @property
    def request_state(self) -> str | None:
        return self.request.params.get("requestState")


def text_result(text: str) -> UpstreamResult:
    """Build a result that says one text."""
    return UpstreamResult(raw={"content": [{"type": "text", "text": text}]})


async def echo(called: Called, _progress: Any) -> mcp_types.CallToolResult:
    """Answer with the name of the tool."""
    return text_result(called.tool)


@dataclass(kw_only=True)
class FakeUpstream:
    """Answers calls by a function, and remembers them.

    Attributes:
        answer: Gets the call and the callback for progress.
        calls: All calls, oldest first.
        called: Set at the first call.
        cancelled: Set when a call was cancelled while it was waiting for its answer.
    """

    answer: Callable[[Called, Any], Awaitable[mcp_types.CallToolResult]] = echo
    calls: list[Called] = field(default_factory=list)
    called: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)

    async def call_tool(
        self, server: str, request: UpstreamRequest, *, caller: Caller
    ) -> mcp_types.CallToolResult:
        """Answer as told."""
        called = Called(server=server, request=request, caller=caller)
        self.calls.append(called)
        self.called.set()
        try:
            return await self.answer(called, request.progress)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise


async def never(_called: Called, _progress: Any) -> mcp_types.CallToolResult:
    """Do not answer."""
    await asyncio.Event().wait()
    raise AssertionError


async def nothing(_called: Called) -> dict[str, Any]:
    """Answer with an empty result."""
    return {}


@dataclass(kw_only=True)
class FakeRequests:
    """Answers requests by a function, and lists what it was given.

    Attributes:
        lists: Items by server and kind; an error is raised, an event is waited for.
        able: Capabilities by server; what is missing was never connected.
        answer: Answers all other requests.
        made: All of them, oldest first.
        listed: Server and kind of each listing, oldest first.
        version: Of the protocol that all servers speak.
        idle: Servers that do not run; all others do.
    """

    lists: dict[tuple[str, str], Any] = field(default_factory=dict)
    able: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    answer: Callable[[Called], Awaitable[dict[str, Any]]] = nothing
    made: list[Called] = field(default_factory=list)
    listed: list[tuple[str, str]] = field(default_factory=list)
    version: str = "2025-11-25"
    idle: set[str] = field(default_factory=set)

    async def request(
        self, server: str, request: UpstreamRequest, *, caller: Caller
    ) -> dict[str, Any]:
        """Answer as told."""
        requested = Called(server=server, request=request, caller=caller)
        self.made.append(requested)
        return await self.answer(requested)

    async def list_items(
        self, server: str, kind: str, *, caller: Caller, downstream: Downstream = NO_CLIENT
    ) -> ItemListing:
        """List what the server was given."""
        self.listed.append((server, kind))
        items = self.lists.get((server, kind), ())
        if isinstance(items, asyncio.Event):
            await items.wait()
            items = self.lists[server, kind]
        if isinstance(items, UpstreamError):
            raise items
        return ItemListing(items=tuple(items))

    def find_connection_key(self, server: str, *, caller: Caller, downstream: Downstream) -> Any:
        """Say that no server is known yet."""
        raise UnknownServer(server)

    def get_capabilities(self, server: str) -> Mapping[str, Any] | None:
        """Say what a server can do."""
        return self.able.get(server)

    def get_status(self, server: str) -> ServerStatus:
        """Say that a server is there, or is not needed yet."""
        state: ServerState = "idle" if server in self.idle else "ready"
        return ServerStatus(name=server, state=state, protocol_version=self.version)
