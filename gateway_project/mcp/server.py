"""The MCP server: both protocol eras, one face for all that stands behind the gateway."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import mcp_types
from mcp.server import NotificationOptions, Server, ServerRequestContext
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult
from mcp.server.models import InitializationOptions
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolRequestParams,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    NotificationParams,
    PaginatedRequestParams,
    SetLevelRequestParams,
    SubscriptionsListenRequestParams,
)

from gateway_project.mcp import changes, client_state, meta_tools, results, who
from gateway_project.mcp.changes import Changes
from gateway_project.mcp.failure import META_KEY, failure
from gateway_project.mcp.parking import Parking, parking
from gateway_project.mcp.runtime import Runtime
from gateway_project.readiness import NotReady

NAME: Final = "foregate"
VERSION: Final = "0.1.0"
LIST_TTL_MS: Final = 3_600_000
"""What never changes while the process lives may be kept this long."""
EXPOSURE_VARIABLE: Final = "FOREGATE_EXPOSURE"
STATIC: Final = "meta"
LISTEN: Final = "subscriptions/listen"
"""A request that ends with its client."""
_HINTS: Final[Mapping[Any, CacheHint]] = {
    "server/discover": CacheHint(ttl_ms=LIST_TTL_MS, scope="public"),
    "tools/list": CacheHint(ttl_ms=LIST_TTL_MS, scope="public"),
    "prompts/list": CacheHint(),
    "resources/list": CacheHint(),
    "resources/templates/list": CacheHint(),
    "resources/read": CacheHint(),
}

Context = ServerRequestContext[Any]


@dataclass(frozen=True, kw_only=True)
class Lifespan:
    """What lasts longer than a request: as long as its transport, or connection.

    Attributes:
        parking: Calls that wait for a client's answers.
        changes: What clients are told of.
    """

    parking: Parking
    changes: Changes


def build(
    runtime: Runtime, *, in_flight: InFlight | None = None, exposure: str | None = None
) -> Server[Any]:
    """Return the SDK's server, answering from what is static and from the runtime.

    Args:
        runtime: Serves calls; nothing else waits for it.
        in_flight: Counts requests, for who waits for their end.
        exposure: What clients are shown; None: as the environment says.
    """
    static = (exposure or os.environ.get(EXPOSURE_VARIABLE) or STATIC).lower() == STATIC
    listening = Changes(silent={"tools"} if static else frozenset())
    runtime.readiness.publish_to(listening)

    @asynccontextmanager
    async def lifespan(_: Server[Any]) -> AsyncIterator[Lifespan]:
        async with parking() as lot:
            yield Lifespan(parking=lot, changes=listening)

    served = _Served(runtime)
    server: Server[Any] = Server(
        NAME,
        title="Foregate",
        version=VERSION,
        instructions=meta_tools.INSTRUCTIONS if static else meta_tools.INSTRUCTIONS_LISTED,
        cache_hints=_HINTS,
        lifespan=lifespan,
        get_tool_input_schema=served.input_schema,
        on_list_tools=served.static_tools if static else served.tools,
        on_call_tool=served.call,
        on_list_resources=served.resources,
        on_list_resource_templates=served.templates,
        on_read_resource=served.request,
        on_subscribe_resource=served.request,
        on_unsubscribe_resource=served.request,
        on_list_prompts=served.prompts,
        on_get_prompt=served.request,
        on_completion=served.request,
        on_subscriptions_listen=served.listen,
    )
    # As arguments of the constructor these two are met with a warning of deprecation.
    server.add_request_handler("logging/setLevel", SetLevelRequestParams, served.request)
    server.add_notification_handler("notifications/initialized", NotificationParams, _follow)
    # The SDK's own middleware opens a tracing span for every message; nothing here exports any.
    server.middleware[:] = [results.carrier]
    if in_flight is not None:
        server.middleware.insert(0, in_flight.count)
    return server


def initialization_options(server: Server[Any]) -> InitializationOptions:
    """Return what the handshake announces; clients keep listening for changed lists."""
    return server.create_initialization_options(
        NotificationOptions(tools_changed=True, prompts_changed=True, resources_changed=True)
    )


class _Served:
    """Handlers of the SDK's server, waiting for what they need and no longer."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def request(self, ctx: Context, params: Any) -> Any:
        """Serve a request with what stands behind the gateway; errors are the protocol's."""
        try:
            handle = await self._runtime.handler()
        except NotReady as trouble:
            raise MCPError(
                mcp_types.INTERNAL_ERROR,
                f"{trouble.code}: {trouble}",
                {META_KEY: {"code": trouble.code}},
            ) from None
        return await handle(self._runtime.readiness, ctx, params)

    async def call(self, ctx: Context, params: CallToolRequestParams) -> Any:
        """Serve `tools/call`; errors are told in the result.

        A client that calls is there to stay too: one taken over from another gateway has its
        list, and never asks for it again.
        """
        self._runtime.readiness.listed.set()
        try:
            handle = await self._runtime.handler()
        except NotReady as trouble:
            return failure(trouble.code, str(trouble))
        return await handle(self._runtime.readiness, ctx, params)

    async def listen(self, ctx: Context, params: SubscriptionsListenRequestParams) -> Any:
        """Serve `subscriptions/listen`; only resources have to be looked up."""
        if params.notifications.resource_subscriptions:
            return await self.request(ctx, params)
        return await changes.listen(ctx.lifespan_context.changes, ctx, params, {})

    async def static_tools(self, _: Context, __: PaginatedRequestParams | None) -> ListToolsResult:
        """Serve `tools/list` where only the gateway's own are listed."""
        self._runtime.readiness.listed.set()
        return ListToolsResult(tools=list(meta_tools.TOOLS))

    async def tools(self, ctx: Context, params: PaginatedRequestParams | None) -> Any:
        """Serve `tools/list` where those of servers are listed too."""
        own = ListToolsResult(tools=list(meta_tools.TOOLS), ttl_ms=0, cache_scope="private")
        return await self._list(ctx, params, own)

    async def resources(self, ctx: Context, params: PaginatedRequestParams | None) -> Any:
        """Serve `resources/list`."""
        return await self._list(ctx, params, ListResourcesResult(resources=[]))

    async def templates(self, ctx: Context, params: PaginatedRequestParams | None) -> Any:
        """Serve `resources/templates/list`."""
        return await self._list(ctx, params, ListResourceTemplatesResult(resource_templates=[]))

    async def prompts(self, ctx: Context, params: PaginatedRequestParams | None) -> Any:
        """Serve `prompts/list`."""
        return await self._list(ctx, params, ListPromptsResult(prompts=[]))

    async def _list(self, ctx: Context, params: Any, without: Any) -> Any:
        """Serve a list; while there is nothing behind, it is the list of what is known without."""
        try:
            handle = await self._runtime.handler()
            return await handle(self._runtime.readiness, ctx, params)
        except NotReady:
            return without

    def input_schema(self, name: str) -> Mapping[str, Any] | None:
        """Return the schema by which headers of a call are judged; None: by none."""
        gateway = self._runtime.readiness.current
        if gateway is None or name in meta_tools.BY_NAME:
            return None
        from gateway_project.mcp import exposure  # noqa: PLC0415 - loaded by now, but not before

        effects, caller = gateway.effects, who.of_request(gateway)
        return exposure.input_schema(effects.catalogue(), caller, effects.exposure, name)


async def _follow(ctx: Context, _: NotificationParams) -> None:
    """Tell a client of the handshake era of changes until its connection ends."""
    state = client_state.of(ctx)
    if not state.followed and not client_state.modern(ctx):
        state.followed = True
        await changes.tell(
            ctx.lifespan_context.changes, ctx, state.watched, session=lambda: state.session
        )


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
        if ctx.request_id is None or ctx.method == LISTEN:
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
