"""The MCP server of the gateway, for both protocol eras."""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import mcp_types
from mcp.server import NotificationOptions, Server, ServerRequestContext
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult
from mcp.server.models import InitializationOptions
from mcp.shared.exceptions import MCPError
from mcp_types import (
    ListToolsResult,
    NotificationParams,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    RequestParams,
    SetLevelRequestParams,
    SubscriptionsListenRequestParams,
    methods,
)
from pydantic import BaseModel

from gateway_project import VERSION, server_instructions
from gateway_project.foundation import exposure_setting
from gateway_project.mcp import callers, changes, client_state, meta_tools, results
from gateway_project.mcp.changes import ChangeHub
from gateway_project.mcp.client_state import ClientState
from gateway_project.mcp.parking import ParkedCalls, open_parking
from gateway_project.mcp.results import CONVERTED_KEY, ERROR_KEY, ServerReply, report_failure
from gateway_project.mcp.runtime import Runtime
from gateway_project.readiness import ChangedList, NotReady
from tools import mcp_tasks, skills, ui_pages
from tools.upstream.request import CALL_METHOD

if TYPE_CHECKING:
    from gateway_project.foundation.caller import SessionKey
    from gateway_project.foundation.exposure_setting import Exposure

NAME: Final = "foregate"
LIST_TTL_MS: Final = 3_600_000
"""How long clients may cache answers that never change while the process lives."""
EXPOSURE_VARIABLE: Final = "FOREGATE_EXPOSURE"
STATIC_EXPOSURE: Final = "meta"
"""Where all clients are shown the meta-tools alone, their list never changes."""
_EXTENSIONS: Final[dict[str, dict[str, Any]]] = {
    ui_pages.EXTENSION: {},
    skills.EXTENSION: dict(skills.SETTINGS),
}
"""Declared to every client; others pass as clients declare them."""
_MODERN_EXTENSIONS: Final = {**_EXTENSIONS, mcp_tasks.EXTENSION: {}}
"""Declared to those of the stateless era: only their results say whether they are a task."""
_SKILL_METHODS: Final[Mapping[str, type[RequestParams]]] = {
    skills.LIST_METHOD: PaginatedRequestParams,
    skills.GET_METHOD: ReadResourceRequestParams,
    skills.DIRECTORY_METHOD: ReadResourceRequestParams,
}
LISTEN_METHOD: Final = "subscriptions/listen"
"""A request that stays open until its client leaves."""
_PLAIN_CALL: Final = {"name", "arguments"}
_LISTS: Final = {
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}
"""Methods that list what servers have, with the field of their items."""
_KINDS: Final[Mapping[str, Sequence[ChangedList]]] = {
    "tools/list": ("tools",),
    "prompts/list": ("prompts",),
    "resources/list": ("resources",),
    "resources/templates/list": ("resources",),
}
TOOLS_WAIT_S: Final = 3.0
"""How long a client waits for tools of servers while the gateway starts, before it is shown the
meta-tools and told of the others later."""
_CACHE_HINTS: Final[Mapping[Any, CacheHint]] = {
    "server/discover": CacheHint(ttl_ms=LIST_TTL_MS, scope="public"),
    "tools/list": CacheHint(ttl_ms=LIST_TTL_MS, scope="public"),
    "prompts/list": CacheHint(),
    "resources/list": CacheHint(),
    "resources/templates/list": CacheHint(),
    "resources/read": CacheHint(),
}

Context = ServerRequestContext[Any]


class _TaskParams(RequestParams):
    """Parameters of the methods of MCP tasks; handlers read them as they were sent."""

    task_id: str


@dataclass(frozen=True, kw_only=True)
class ServerLifespan:
    """State that outlives a request: it lasts as long as its transport or connection.

    Attributes:
        parking: Calls that wait for a client's answers.
        changes: Delivers change notifications to clients.
        client: State of the connection, where it is one.
        exposures: The exposures chosen for sessions, with the time at which each last asked.
    """

    parking: ParkedCalls
    changes: ChangeHub
    client: ClientState
    exposures: OrderedDict[SessionKey, tuple[Exposure, float]] = field(default_factory=OrderedDict)


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
        exposure or os.environ.get(EXPOSURE_VARIABLE) or exposure_setting.DEFAULT
    ).lower() == STATIC_EXPOSURE
    change_hub = ChangeHub(muted_lists={"tools"} if static else frozenset())
    runtime.readiness.add_publisher(change_hub)

    @asynccontextmanager
    async def lifespan(_: Server[Any]) -> AsyncIterator[ServerLifespan]:
        client = ClientState()
        async with open_parking() as parked_calls:
            try:
                yield ServerLifespan(parking=parked_calls, changes=change_hub, client=client)
            finally:
                await client_state.close(client)

    handlers = _ServedHandlers(runtime, in_flight or InFlightCounter(), is_static=static)
    server: Server[Any] = Server(
        NAME,
        title="Foregate",
        version=VERSION,
        instructions=meta_tools.INSTRUCTIONS if static else meta_tools.INSTRUCTIONS_LISTED,
        cache_hints=_CACHE_HINTS,
        lifespan=lifespan,
        on_list_tools=handlers.list_static_tools if static else handlers.serve_carried,
        on_call_tool=handlers.serve_carried,
        on_list_resources=handlers.serve_carried,
        on_list_resource_templates=handlers.serve_carried,
        on_read_resource=handlers.serve_carried,
        on_subscribe_resource=handlers.serve_request,
        on_unsubscribe_resource=handlers.serve_request,
        on_list_prompts=handlers.serve_carried,
        on_get_prompt=handlers.serve_carried,
        on_completion=handlers.serve_carried,
        on_subscriptions_listen=handlers.serve_listen,
    )
    handlers.info = server.server_info_stamp
    server.extensions = _MODERN_EXTENSIONS
    for method, params in _SKILL_METHODS.items():
        server.add_request_handler(method, params, handlers.serve_carried)
    for method in mcp_tasks.TASK_METHODS:
        server.add_request_handler(method, _TaskParams, handlers.serve_carried)
    # Passed to the constructor, these two would raise a deprecation warning.
    server.add_request_handler("logging/setLevel", SetLevelRequestParams, handlers.serve_request)
    server.add_notification_handler(
        "notifications/initialized", NotificationParams, _follow_changes
    )
    # The SDK's own middleware opens a tracing span for every message, which nothing exports.
    server.middleware[:] = [handlers.serve_message]
    return server


def make_initialization_options(server: Server[Any]) -> InitializationOptions:
    """Return what the handshake announces, including notifications of changed lists."""
    return server.create_initialization_options(
        NotificationOptions(tools_changed=True, prompts_changed=True, resources_changed=True)
    )


class _ServedHandlers:
    """Handlers of the SDK's server; each waits only for the parts that it needs.

    What a server may answer passes the SDK's models by: they drop unknown fields, and cost as much
    as the rest of a call.
    """

    def __init__(self, runtime: Runtime, in_flight: InFlightCounter, *, is_static: bool) -> None:
        self.info: Mapping[str, Any] = {}
        self._runtime = runtime
        self._in_flight = in_flight
        self._carried = results.CARRIED_METHODS - ({"tools/list"} if is_static else set())

    async def serve_message(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Serve a message, as middleware of the SDK's server."""
        # The first message, the handshake, starts to load what requests need.
        self._runtime.readiness.in_use.set()
        if ctx.request_id is None or ctx.method == LISTEN_METHOD:
            return await call_next(ctx)
        with self._in_flight:
            if ctx.method in self._carried and _has_shaken_hands(ctx):
                return await self._serve_checked(ctx)
            result = await call_next(ctx)
            if ctx.method != "initialize" or not isinstance(result, dict):
                return result
            return self._add_instructions(ctx, _add_extensions(result))

    async def serve_carried(self, ctx: Context, _: Any) -> Any:
        """Serve a request that a server may answer; returns the result as it is sent."""
        readiness = self._runtime.readiness
        # Whatever is chosen for a client, it is shown the meta-tools, which need nothing else.
        wait_s = TOOLS_WAIT_S if ctx.method == "tools/list" else None
        try:
            async with asyncio.timeout(wait_s):
                handle = (await self._runtime.get_prepared()).handle
                reply = await handle(readiness, ctx)
        except TimeoutError:
            if wait_s is None:
                raise
            reply = _answer_unready(ctx, NotReady("starting", "the gateway is still starting"))
            readiness.owed_lists.add("tools")
        except NotReady as error:
            reply = _answer_unready(ctx, error)
            readiness.owed_lists.update(_KINDS.get(ctx.method, ()))
        if isinstance(reply, BaseModel):
            reply = ServerReply.from_model(reply)
        modern = client_state.is_modern(ctx)
        return results.shape_result(
            reply, info=self.info if modern else None, hint=_CACHE_HINTS.get(ctx.method)
        )

    async def serve_request(self, ctx: Context, _: Any) -> Any:
        """Serve any other request from the runtime."""
        try:
            handle = (await self._runtime.get_prepared()).handle
        except NotReady as error:
            raise _make_unready_error(error) from None
        return await handle(self._runtime.readiness, ctx)

    async def serve_listen(self, ctx: Context, params: SubscriptionsListenRequestParams) -> Any:
        """Serve `subscriptions/listen`; only resources and MCP tasks need the runtime."""
        asks_for_tasks = changes.TASK_IDS in (params.notifications.model_extra or {})
        if asks_for_tasks:
            client_state.require_tasks(ctx)
        if asks_for_tasks or params.notifications.resource_subscriptions:
            return await self.serve_request(ctx, params)
        return await changes.serve_listen(
            ctx.lifespan_context.changes, ctx, params, {}, client=None
        )

    async def list_static_tools(
        self, _: Context, __: PaginatedRequestParams | None
    ) -> ListToolsResult:
        """Serve `tools/list` where only the meta-tools are listed."""
        return ListToolsResult(tools=[tool.listed for tool in meta_tools.TOOLS.values()])

    async def _serve_checked(self, ctx: Context) -> dict[str, Any]:
        """Check the parameters of a request that a server may answer, and serve it.

        Raises:
            MCPError: If the client's version has no such method.
            ValidationError: If they are invalid.
        """
        params: Mapping[str, Any] = ctx.params or {}
        notes: Sequence[Mapping[str, str]] = ()
        if ctx.method == CALL_METHOD and isinstance(params.get("arguments"), str):
            params, notes = _read_argument_text(params)
            ctx = replace(ctx, params=params)
        if ctx.method != CALL_METHOD or not _is_plain_call(params):
            try:
                methods.validate_client_request(ctx.method, ctx.protocol_version, params)
            except KeyError:
                text = "Method not found"
                raise MCPError(mcp_types.METHOD_NOT_FOUND, text, ctx.method) from None
        result: dict[str, Any] = await self.serve_carried(ctx, params)
        if notes:
            meta = result.get("_meta") or {}
            told = [{**notes[0], "pointer": ""}, *meta.get(CONVERTED_KEY, ())]
            result["_meta"] = {**meta, CONVERTED_KEY: told}
        return result

    def _add_instructions(self, ctx: Context, envelope: dict[str, Any]) -> HandlerResult:
        """Add what servers say about their use to the handshake's instructions.

        `server/discover` stays the same for all: clients may cache it, and share it.
        """
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


def _add_extensions(envelope: dict[str, Any]) -> dict[str, Any]:
    """Add the extensions to the handshake, of whose versions the SDK knows none."""
    return envelope | {"capabilities": envelope["capabilities"] | {"extensions": _EXTENSIONS}}


def _has_shaken_hands(ctx: Context) -> bool:
    """Whether a client has introduced itself; the SDK answers one that has not."""
    return client_state.is_modern(ctx) or ctx.session.client_params is not None


def _is_plain_call(params: Mapping[str, Any]) -> bool:
    """Whether the parameters of a call are valid at a glance, in every version."""
    return (
        params.keys() == _PLAIN_CALL
        and isinstance(params["name"], str)
        and isinstance(params["arguments"], dict)
    )


def _answer_unready(ctx: Context, error: NotReady) -> ServerReply | BaseModel:
    """Return the answer while the gateway is not ready: a list that says so, or a failure.

    Raises:
        MCPError: If it is neither a list nor a call.
    """
    why = {ERROR_KEY: {"code": error.code}}
    if ctx.method == "tools/list":
        tools = [tool.listed for tool in meta_tools.TOOLS.values()]
        own = ListToolsResult(tools=tools, ttl_ms=0, cache_scope="private")
        return replace(ServerReply.from_model(own), meta=why)
    if ctx.method in _LISTS:
        return ServerReply(raw={_LISTS[ctx.method]: []}, meta=why)
    if ctx.method == CALL_METHOD:
        return report_failure(error.code, str(error))
    raise _make_unready_error(error) from None


def _make_unready_error(error: NotReady) -> MCPError:
    data = {ERROR_KEY: {"code": error.code}}
    return MCPError(mcp_types.INTERNAL_ERROR, f"{error.code}: {error}", data)


def _read_argument_text(
    params: Mapping[str, Any],
) -> tuple[Mapping[str, Any], Sequence[Mapping[str, str]]]:
    """Read the arguments of a call that are sent as JSON text, which the SDK would refuse."""
    # Loaded by now, or soon: a call needs the whole gateway.
    from gateway_project.foundation import schema_conversion  # noqa: PLC0415

    return schema_conversion.read_text_at(params, "/arguments")


async def _follow_changes(ctx: Context, _: NotificationParams) -> None:
    """Notify a client of the handshake era of changes until its connection ends."""
    if client_state.is_modern(ctx):
        return
    state = client_state.state_of(ctx)
    if not state.is_following:
        state.is_following = True
        await changes.notify_legacy_client(
            ctx.lifespan_context.changes,
            ctx,
            state.watched_resources,
            client=lambda: state.client_key,
        )


class InFlightCounter:
    """Counts the requests being handled, each in a `with` block; callers can wait for the last."""

    def __init__(self) -> None:
        self._count = 0
        self._idle = asyncio.Event()
        self._idle.set()

    def __enter__(self) -> None:
        self._count += 1
        self._idle.clear()

    def __exit__(self, *_: object) -> None:
        self._count -= 1
        if not self._count:
            self._idle.set()

    async def wait_until_idle(self) -> None:
        """Return when no request is being handled."""
        await self._idle.wait()
