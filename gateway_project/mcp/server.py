"""The MCP server: both protocol eras, a static list of tools, calls handed on."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from mcp.server import NotificationOptions, Server, ServerRequestContext
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult
from mcp.server.models import InitializationOptions
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
)

from gateway_project.mcp import meta_tools, results
from gateway_project.mcp.failure import failure
from gateway_project.mcp.readiness import NotReady
from gateway_project.mcp.runtime import Runtime

NAME: Final = "foregate"
VERSION: Final = "0.1.0"
LIST_TTL_MS: Final = 3_600_000
"""The list never changes while the process lives; clients may keep it this long."""


def build(runtime: Runtime, *, in_flight: InFlight | None = None) -> Server[Any]:
    """Return the SDK's server, answering from what is static and from the runtime.

    Args:
        runtime: Serves calls; nothing else waits for it.
        in_flight: Counts requests, for who waits for their end.
    """

    async def list_tools(
        _ctx: ServerRequestContext[Any], _params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        runtime.readiness.listed.set()
        return ListToolsResult(tools=list(meta_tools.TOOLS))

    async def call_tool(
        ctx: ServerRequestContext[Any], params: CallToolRequestParams
    ) -> CallToolResult:
        try:
            handle = await runtime.handler()
        except NotReady as trouble:
            return failure(trouble.code, str(trouble))
        return await handle(runtime.readiness, ctx, params)

    hint = CacheHint(ttl_ms=LIST_TTL_MS, scope="public")
    server: Server[Any] = Server(
        NAME,
        title="Foregate",
        version=VERSION,
        instructions=meta_tools.INSTRUCTIONS,
        cache_hints={"tools/list": hint, "server/discover": hint},
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    # The SDK's own middleware opens a tracing span for every message; nothing here exports any.
    server.middleware[:] = [results.carrier]
    if in_flight is not None:
        server.middleware.insert(0, in_flight.count)
    return server


def initialization_options(server: Server[Any]) -> InitializationOptions:
    """Return what the handshake announces; clients keep listening for a changed list."""
    return server.create_initialization_options(NotificationOptions(tools_changed=True))


class InFlight:
    """Counts the requests being handled, so that their end can be waited for."""

    def __init__(self) -> None:
        self._count = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def count(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Middleware of the SDK's server."""
        if ctx.request_id is None:
            return await call_next(ctx)
        self._count += 1
        self._idle.clear()
        try:
            return await call_next(ctx)
        finally:
            self._count -= 1
            if not self._count:
                self._idle.set()

    async def idle(self) -> None:
        """Return when no request is being handled."""
        await self._idle.wait()
