"""Requests of clients: translate, call the flow once, translate back."""

from __future__ import annotations

import difflib
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from execution.availability import require_for_models
from gateway_project.foundation import telemetry
from gateway_project.mcp import (
    arguments,
    callers,
    client_state,
    errors,
    exposure,
    listings,
    meta_tools,
    resource_requests,
    task_requests,
    tool_calls,
)
from gateway_project.mcp.arguments import UnknownMetaTool
from gateway_project.mcp.client_request import ClientRequest
from gateway_project.mcp.meta_tools.call import CALL_TOOL
from gateway_project.mcp.results import CONVERTED_KEY, ServerReply
from gateway_project.readiness import NotReady, Readiness
from tools import mcp_tasks, skills
from tools.catalogue import CatalogueTool, UnknownTool
from tools.upstream.request import CALL_METHOD
from tools.visibility import Visibility

NAME_CUTOFF: Final = 0.5
_LIST_METHODS: Final = frozenset(
    {"tools/list", "prompts/list", "resources/list", "resources/templates/list"}
)

Context = ServerRequestContext[Any]


async def handle_request(readiness: Readiness, ctx: Context) -> ServerReply | BaseModel:
    """Serve a client's request.

    Failures of a tool call are reported in its result, where the model reads them; failures of
    any other request are protocol errors.

    Raises:
        NotReady: If a list is requested before the gateway is ready.
        MCPError: If the request fails in a way that only the protocol can report.
    """
    params: Mapping[str, Any] = ctx.params or {}
    args: Mapping[str, Any] = {}
    arrived_at = time.monotonic()
    converted: list[Any] = []
    tool = meta_tools.TOOLS.get(params["name"]) if ctx.method == CALL_METHOD else None
    # Over HTTP, the gate has bound an id.
    with telemetry.bind_request_id(telemetry.current_request_id()):
        try:
            if tool is not None:
                args, converted = arguments.read_arguments(tool, params.get("arguments"))
            gateway = await readiness.wait_for_gateway()
            caller = callers.caller_of(ctx, gateway)
            request = ClientRequest(
                ctx=ctx, effects=gateway.effects, caller=caller, arrived_at=arrived_at
            )
            _record_end(request)
            if tool is None:
                return await _METHOD_HANDLERS[ctx.method](request, params)
            reply = await tool.serve(request, args)
        except MCPError:
            raise
        except Exception as error:  # noqa: BLE001 - the edge; an unexpected one is logged
            return _answer_error(ctx, error)
    if not converted:
        return reply
    notes = [*converted, *reply.meta.get(CONVERTED_KEY, ())]
    return replace(reply, meta={**reply.meta, CONVERTED_KEY: notes})


def _answer_error(ctx: Context, error: Exception) -> ServerReply:
    """Return the result that reports an error.

    Raises:
        NotReady: If a list is requested before the gateway is ready.
        MCPError: If the request fails in a way that only the protocol can report.
    """
    if isinstance(error, NotReady) and ctx.method in _LIST_METHODS:
        raise error
    modern = client_state.is_modern(ctx)
    if ctx.method != CALL_METHOD or errors.is_protocol_error(error, modern=modern):
        raise errors.to_protocol_error(error, modern=modern) from error
    return errors.build_error_result(error)


def _record_end(request: ClientRequest) -> None:
    """Have the end of a connection recorded as the end of its session.

    A stateless request has no connection: its session ends with silence.
    """
    if client_state.is_modern(request.ctx):
        return
    state = client_state.state_of(request.ctx)
    if state.ends_session:
        return
    state.ends_session = True
    memory, caller = request.effects.memory, request.caller

    async def record() -> None:
        memory.record_session_end(caller)

    state.at_end.push_async_callback(record)


async def _serve_exposed_call(request: ClientRequest, params: Mapping[str, Any]) -> ServerReply:
    """Serve a call of a server's tool by its exposed name."""
    effects = request.effects
    name = params["name"]
    find = partial(
        exposure.find_exposed,
        caller=request.caller,
        exposure=request.view.exposure,
        name=name,
        name_limit=request.view.form.name_limit,
    )
    tool = find(effects.catalogue())
    if tool is None:
        await request.await_listing(name)
        tool = find(effects.catalogue())
    if client_state.shows_pages(request.ctx):
        tool = tool or _find_for_page(request, name)
    elif tool is not None:
        require_for_models(tool)
    if tool is None:
        raise _build_unknown_error(name, request)
    # Clients validate structured content against a listed output schema: a link would fail.
    linkable = tool.output_schema is None
    called = {"name": tool.tool, "arguments": params.get("arguments") or {}}
    return await tool_calls.make_call(request, called, linkable=linkable)


def _find_for_page(request: ClientRequest, name: str) -> CatalogueTool | None:
    """Return the tool that a page means by its name at the server; None: there is none.

    Raises:
        UnknownMetaTool: If several servers with pages have one.
    """
    visibility = Visibility(catalogue=request.effects.catalogue(), caller=request.caller)
    found = visibility.find_for_pages(name)
    if len(found) > 1:
        servers = ", ".join(sorted(tool.server for tool in found))
        raise UnknownMetaTool(name, f"several servers with pages have one: {servers}")
    return found[0] if found else None


_METHOD_HANDLERS: Final[
    Mapping[str, Callable[[ClientRequest, Mapping[str, Any]], Awaitable[ServerReply | BaseModel]]]
] = {
    CALL_METHOD: _serve_exposed_call,
    "tools/list": listings.list_tools,
    "resources/list": partial(listings.list_items, kind="resources"),
    "resources/templates/list": partial(listings.list_items, kind="templates"),
    "prompts/list": partial(listings.list_items, kind="prompts"),
    "resources/read": resource_requests.read_resource,
    "prompts/get": resource_requests.get_prompt,
    "completion/complete": resource_requests.complete_argument,
    "logging/setLevel": resource_requests.set_level,
    "resources/subscribe": resource_requests.subscribe,
    "resources/unsubscribe": resource_requests.unsubscribe,
    skills.LIST_METHOD: resource_requests.list_skills,
    skills.GET_METHOD: resource_requests.get_skill,
    skills.DIRECTORY_METHOD: resource_requests.read_directory,
    "subscriptions/listen": resource_requests.listen,
    mcp_tasks.GET_METHOD: task_requests.get_task,
    mcp_tasks.UPDATE_METHOD: task_requests.update_task,
    mcp_tasks.CANCEL_METHOD: task_requests.cancel_task,
}


def _build_unknown_error(name: str, request: ClientRequest) -> UnknownMetaTool:
    """Return the error for an unlisted name, with a hint on what to call instead."""
    try:
        tool = request.effects.catalogue().find_tool(name, request.caller)
    except UnknownTool:
        pass
    else:
        example = json.dumps({"tool": tool.tool, "arguments": {}}, ensure_ascii=False)
        return UnknownMetaTool(
            name, f"it belongs to a server; use {CALL_TOOL.name} with {example}"
        )
    close = difflib.get_close_matches(name, meta_tools.TOOLS, n=1, cutoff=NAME_CUTOFF)
    hint = f"did you mean {close[0]}?" if close else f"it has {', '.join(meta_tools.TOOLS)}"
    return UnknownMetaTool(name, hint)
