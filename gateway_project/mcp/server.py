"""The MCP server of the gateway, for both protocol eras."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
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

from gateway_project import VERSION, server_instructions
from gateway_project.mcp import callers, changes, client_state, meta_tools, results
from gateway_project.mcp.changes import ChangeHub
from gateway_project.mcp.failure import META_KEY, report_failure
from gateway_project.mcp.parking import ParkedCalls, open_parking
from gateway_project.mcp.runtime import Runtime
from gateway_project.readiness import NotReady

NAME: Final = "foregate"
LIST_TTL_MS: Final = 3_600_000
"""How long clients may cache answers that never change while the process lives."""
EXPOSURE_VARIABLE: Final = "FOREGATE_EXPOSURE"
STATIC_EXPOSURE: Final = "meta"
LISTEN_METHOD: Final = "subscriptions/listen"
"""A request that stays open until its client leaves."""
_CACHE_HINTS: Final[Mapping[Any, CacheHint]] = {
    "server/discover": CacheHint(ttl_ms=LIST_TTL_MS, scope="public"),
    "tools/list": CacheHint(ttl_ms=LIST_TTL_MS, scope="public"),
    "prompts/list": CacheHint(),
    "resources/list": CacheHint(),
    "resources/templates/list": CacheHint(),
    "resources/read": CacheHint(),
}

Context = ServerRequestContext[Any]


@dataclass(frozen=True, kw_only=True)
class ServerLifespan:
    """State that outlives a request: it lasts as long as its transport or connection.

    Attributes:
        parking: Calls that wait for a client's answers.
        changes: Delivers change notifications to clients.
    """

    parking: ParkedCalls
    changes: ChangeHub


def build_server(
    runtime: Runtime, *, in_flight: InFlightCounter | None = None, exposure: str | None = None
) -> Server[Any]:
    """Return the SDK's server with all handlers registered.

    Args:
        runtime: Serves calls; only requests that need it wait until it has loaded.
        in_flight: Counts the requests being handled.
        exposure: Which tools clients are shown; None reads it from the environment.
    """
    static = (
        exposure or os.environ.get(EXPOSURE_VARIABLE) or STATIC_EXPOSURE
    ).lower() == STATIC_EXPOSURE
    change_hub = ChangeHub(muted_lists={"tools"} if static else frozenset())
    runtime.readiness.add_publisher(change_hub)

    @asynccontextmanager
    async def lifespan(_: Server[Any]) -> AsyncIterator[ServerLifespan]:
        async with open_parking() as parked_calls:
            yield ServerLifespan(parking=parked_calls, changes=change_hub)

    handlers = _ServedHandlers(runtime)
    server: Server[Any] = Server(
        NAME,
        title="Foregate",
        version=VERSION,
        instructions=meta_tools.INSTRUCTIONS if static else meta_tools.INSTRUCTIONS_LISTED,
        cache_hints=_CACHE_HINTS,
        lifespan=lifespan,
        get_tool_input_schema=handlers.find_input_schema,
        on_list_tools=handlers.list_static_tools if static else handlers.list_tools,
        on_call_tool=handlers.serve_call,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.serve_request,
        on_subscribe_resource=handlers.serve_request,
        on_unsubscribe_resource=handlers.serve_request,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.serve_request,
        on_completion=handlers.serve_request,
        on_subscriptions_listen=handlers.serve_listen,
    )
    # Passed to the constructor, these two would raise a deprecation warning.
    server.add_request_handler("logging/setLevel", SetLevelRequestParams, handlers.serve_request)
    server.add_notification_handler(
        "notifications/initialized", NotificationParams, _follow_changes
    )
    # The SDK's own middleware opens a tracing span for every message, which nothing exports.
    server.middleware[:] = [
        handlers.mark_in_use,
        handlers.add_server_instructions,
        _read_argument_text,
        results.apply_carried_result,
    ]
    if in_flight is not None:
        server.middleware.insert(0, in_flight.count_request)
    return server


def make_initialization_options(server: Server[Any]) -> InitializationOptions:
    """Return what the handshake announces, including notifications of changed lists."""
    return server.create_initialization_options(
        NotificationOptions(tools_changed=True, prompts_changed=True, resources_changed=True)
    )


class _ServedHandlers:
    """Handlers of the SDK's server; each waits only for the parts that it needs."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def mark_in_use(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Start to load what requests need with a client's first message, the handshake."""
        self._runtime.readiness.in_use.set()
        return await call_next(ctx)

    async def add_server_instructions(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Add what servers say about their use to the handshake's instructions.

        `server/discover` stays the same for all: clients may cache it, and share it.
        """
        envelope = await call_next(ctx)
        if ctx.method != "initialize" or not isinstance(envelope, dict):
            return envelope
        gateway = self._runtime.readiness.current
        try:
            if gateway is None:
                texts = self._runtime.load_instructions()
            else:
                texts = server_instructions.collect_instructions(
                    gateway.effects.catalogue(), callers.caller_of(ctx, gateway)
                )
        except NotReady:
            return envelope
        own = envelope.get("instructions") or ""
        return envelope | {"instructions": server_instructions.add_to_instructions(own, texts)}

    async def serve_request(self, ctx: Context, params: Any) -> Any:
        """Serve a request from the runtime; failures are JSON-RPC errors."""
        try:
            handle = await self._runtime.get_handler()
        except NotReady as error:
            raise MCPError(
                mcp_types.INTERNAL_ERROR,
                f"{error.code}: {error}",
                {META_KEY: {"code": error.code}},
            ) from None
        return await handle(self._runtime.readiness, ctx, params)

    async def serve_call(self, ctx: Context, params: CallToolRequestParams) -> Any:
        """Serve `tools/call`; failures are reported in the result."""
        try:
            handle = await self._runtime.get_handler()
        except NotReady as error:
            return report_failure(error.code, str(error))
        return await handle(self._runtime.readiness, ctx, params)

    async def serve_listen(self, ctx: Context, params: SubscriptionsListenRequestParams) -> Any:
        """Serve `subscriptions/listen`; only resource subscriptions need the runtime."""
        if params.notifications.resource_subscriptions:
            return await self.serve_request(ctx, params)
        return await changes.serve_listen(
            ctx.lifespan_context.changes, ctx, params, {}, client=None
        )

    async def list_static_tools(
        self, _: Context, __: PaginatedRequestParams | None
    ) -> ListToolsResult:
        """Serve `tools/list` where only the meta-tools are listed."""
        return ListToolsResult(tools=list(meta_tools.TOOLS))

    async def list_tools(self, ctx: Context, params: PaginatedRequestParams | None) -> Any:
        """Serve `tools/list` where tools of servers are listed too."""
        own = ListToolsResult(tools=list(meta_tools.TOOLS), ttl_ms=0, cache_scope="private")
        return await self._serve_list(ctx, params, own)

    async def list_resources(self, ctx: Context, params: PaginatedRequestParams | None) -> Any:
        """Serve `resources/list`."""
        return await self._serve_list(ctx, params, ListResourcesResult(resources=[]))

    async def list_templates(self, ctx: Context, params: PaginatedRequestParams | None) -> Any:
        """Serve `resources/templates/list`."""
        return await self._serve_list(
            ctx, params, ListResourceTemplatesResult(resource_templates=[])
        )

    async def list_prompts(self, ctx: Context, params: PaginatedRequestParams | None) -> Any:
        """Serve `prompts/list`."""
        return await self._serve_list(ctx, params, ListPromptsResult(prompts=[]))

    async def _serve_list(self, ctx: Context, params: Any, fallback: Any) -> Any:
        """Serve a list; return the fallback while the gateway is not ready."""
        try:
            handle = await self._runtime.get_handler()
            return await handle(self._runtime.readiness, ctx, params)
        except NotReady:
            return fallback

    def find_input_schema(self, name: str) -> Mapping[str, Any] | None:
        """Return the schema that the headers of a call are checked against; None checks none."""
        gateway = self._runtime.readiness.current
        if gateway is None or name in meta_tools.BY_NAME:
            return None
        from gateway_project.mcp import exposure  # noqa: PLC0415 - loaded by now, not at start

        effects, caller = gateway.effects, callers.caller_of_http_request(gateway)
        return exposure.find_input_schema(effects.catalogue(), caller, effects.exposure, name)


async def _read_argument_text(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Read the arguments of a call that are sent as JSON text, which the SDK would refuse."""
    params = ctx.params or {}
    if ctx.method != "tools/call" or not isinstance(params.get("arguments"), str):
        return await call_next(ctx)
    # Loaded by now, or soon: a call needs the whole gateway.
    from gateway_project.foundation import schema_conversion  # noqa: PLC0415
    from gateway_project.mcp.arguments import CONVERTED_KEY  # noqa: PLC0415

    read, converted = schema_conversion.read_text_at(params, "/arguments")
    result = await call_next(replace(ctx, params=read))
    if converted and isinstance(result, dict):
        meta = dict(result.get("_meta") or {})
        notes = [{**converted[0], "pointer": ""}, *meta.get(CONVERTED_KEY, ())]
        result = {**result, "_meta": {**meta, CONVERTED_KEY: notes}}
    return result


async def _follow_changes(ctx: Context, _: NotificationParams) -> None:
    """Notify a client of the handshake era of changes until its connection ends."""
    state = client_state.state_of(ctx)
    if not state.is_following and not client_state.is_modern(ctx):
        state.is_following = True
        await changes.notify_legacy_client(
            ctx.lifespan_context.changes,
            ctx,
            state.watched_resources,
            client=lambda: state.client_key,
        )


class InFlightCounter:
    """Counts the requests being handled; callers can wait until none is left."""

    def __init__(self) -> None:
        self._count = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def count_request(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Count a request while it is handled, as middleware of the SDK's server."""
        if ctx.request_id is None or ctx.method == LISTEN_METHOD:
            return await call_next(ctx)
        self._count += 1
        self._idle.clear()
        try:
            return await call_next(ctx)
        finally:
            self._count -= 1
            if not self._count:
                self._idle.set()

    async def wait_until_idle(self) -> None:
        """Return when no request is being handled."""
        await self._idle.wait()
