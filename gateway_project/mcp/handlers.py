"""Requests of clients: translate, call the flow once, translate back."""

from __future__ import annotations

import difflib
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final
from uuid import UUID

from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolRequestParams, CallToolResult, TextContent

from execution.view import ApprovalView
from gateway_project import flow
from gateway_project.find.answers import ToolDescription
from gateway_project.foundation import telemetry
from gateway_project.foundation.computing import run_in_worker_thread
from gateway_project.mcp import (
    arguments,
    callers,
    client_state,
    consent,
    errors,
    exposure,
    large_results,
    listings,
    meta_tools,
    questions,
    resource_requests,
    results,
    run_calls,
    served,
    subscriptions,
)
from gateway_project.mcp.arguments import UnknownMetaTool
from gateway_project.mcp.client_request import ClientRequest
from gateway_project.mcp.interaction import ServerReply, UpstreamTurn
from gateway_project.mcp.run_progress import make_watcher
from gateway_project.readiness import NotReady, Readiness
from gateway_project.runs.direct_call import UserChannel
from gateway_project.runs.task_results import early_run_to_json
from tools import ids
from tools.catalogue import UnknownTool
from tools.upstream.request import CALL_METHOD

META_KEY: Final = "foregate/call"
NAME_CUTOFF: Final = 0.5
_LIST_METHODS: Final = frozenset(
    {"tools/list", "prompts/list", "resources/list", "resources/templates/list"}
)

Context = ServerRequestContext[Any]


async def handle_request(readiness: Readiness, ctx: Context, params: Any) -> Any:
    """Serve a client's request.

    Failures of a tool call are reported in its result, where the model reads them; failures of
    any other request are protocol errors.

    Raises:
        NotReady: If a list is requested before the gateway is ready.
        MCPError: If the request fails in a way that only the protocol can report.
    """
    with telemetry.bind_request_id(telemetry.current_request_id()):
        try:
            return await _serve_request(readiness, ctx, params)
        except MCPError:
            raise
        except Exception as error:
            if isinstance(error, NotReady) and ctx.method in _LIST_METHODS:
                raise
            modern = client_state.is_modern(ctx)
            if ctx.method != CALL_METHOD or errors.is_protocol_error(error, modern=modern):
                raise errors.to_protocol_error(error, modern=modern) from error
            return errors.build_error_result(error)


async def _serve_request(readiness: Readiness, ctx: Context, params: Any) -> Any:
    args: Mapping[str, Any] = {}
    is_meta_tool = ctx.method == CALL_METHOD and params.name in _META_TOOL_HANDLERS
    converted: list[Any] = []
    if is_meta_tool:
        args, converted = arguments.read_arguments(params.name, params.arguments)
    gateway = await readiness.wait_for_gateway()
    request = ClientRequest(
        ctx=ctx,
        effects=gateway.effects,
        caller=callers.caller_of(ctx, gateway),
        readiness=readiness,
    )
    _record_end(request)
    if is_meta_tool:
        result = await _META_TOOL_HANDLERS[params.name](request, args)
        if converted:
            said, key = {**(result.meta or {})}, arguments.CONVERTED_KEY
            said[key] = [*converted, *said.get(key, ())]
            result = result.model_copy(update={"meta": said})
        return result
    return await _METHOD_HANDLERS[ctx.method](request, params)


def _record_end(request: ClientRequest) -> None:
    """Have the end of a connection recorded as the end of its session.

    A stateless request has no connection: its session ends with silence.
    """
    state = client_state.state_of(request.ctx)
    if client_state.is_modern(request.ctx) or state.ends_session:
        return
    state.ends_session = True
    memory, caller = request.effects.memory, request.caller

    async def record() -> None:
        memory.record_session_end(caller)

    client_state.run_at_end(request.ctx, record)


async def _serve_search(request: ClientRequest, args: Mapping[str, Any]) -> CallToolResult:
    with telemetry.search_seconds.time():
        result = await flow.find_tools(
            request.effects, request.caller, arguments.read_find_request(args)
        )
    telemetry.searches.labels("ok" if result.tools else "nothing").inc()
    return _build_structured_result(result.as_json())


async def _serve_intent(request: ClientRequest, args: Mapping[str, Any]) -> CallToolResult:
    with telemetry.intent_seconds.time():
        answer = await flow.handle_intent(
            request.effects, request.caller, arguments.read_intent_request(args)
        )
    telemetry.intents.labels(answer.mode.value).inc()
    told, blocks = await large_results.lift_media(
        request, answer.as_json() | early_run_to_json(answer.ahead.results)
    )
    result = _build_structured_result(told)
    return result.model_copy(update={"content": [*result.content, *blocks]})


async def _serve_feedback(request: ClientRequest, args: Mapping[str, Any]) -> CallToolResult:
    feedback = await flow.give_feedback(
        request.effects, request.caller, arguments.read_feedback_request(args)
    )
    return _build_structured_result(feedback.as_json())


async def _serve_describe(request: ClientRequest, args: Mapping[str, Any]) -> CallToolResult:
    description = await flow.describe_tool(request.effects, request.caller, args["tool"])
    name = request.effects.catalogue().exposed_name(description.tool.tool)
    return await run_in_worker_thread(_build_description_result, description, name)


async def _serve_call(request: ClientRequest, args: Mapping[str, Any]) -> CallToolResult:
    return await _execute_call(
        request,
        args["tool"],
        args.get("arguments", {}),
        linkable=True,
        is_fresh=args.get("fresh", False),
    )


async def _serve_exposed_call(
    request: ClientRequest, params: CallToolRequestParams
) -> CallToolResult:
    """Serve a call of a server's tool by its exposed name."""
    effects = request.effects
    tool = exposure.find_exposed(
        effects.catalogue(), request.caller, effects.exposure, params.name
    )
    if tool is None:
        raise _build_unknown_error(params.name, request)
    # Clients validate structured content against a listed output schema: a link would fail.
    linkable = tool.output_schema is None
    return await _execute_call(request, tool.tool, params.arguments or {}, linkable=linkable)


async def _execute_call(
    request: ClientRequest,
    tool: str,
    args: Mapping[str, Any],
    *,
    linkable: bool,
    is_fresh: bool = False,
) -> CallToolResult:
    effects, caller = request.effects, request.caller

    async def operation(turn: UpstreamTurn) -> ServerReply:
        outcome = await flow.call_tool(
            effects,
            caller,
            request.build_upstream_request(turn, {"name": tool, "arguments": args}),
            user_channel=_make_user_channel(request, turn),
            is_fresh=is_fresh or served.wants_fresh(request.ctx.params),
        )
        server, _ = ids.split_id(outcome.tool)
        effects.item_lists.note_links(server, outcome.result.raw, caller=caller)
        call_meta = {"tool": outcome.tool, "duration_ms": round(outcome.duration_s * 1000, 1)}
        meta = {META_KEY: call_meta, **served.describe_served(outcome.served)}
        if outcome.converted:
            meta[arguments.CONVERTED_KEY] = list(outcome.converted)
        return ServerReply(raw=outcome.result.raw, meta=meta)

    reply = await request.conclude_request(
        lambda: effects.catalogue().find_tool(tool, caller).tool, operation
    )
    if not questions.is_input_required(reply.raw):
        reply = await large_results.link_large_result(request, reply, is_text_linkable=linkable)
    results.carry_result(reply.raw)
    return CallToolResult(content=[], _meta=dict(reply.meta) or None)


def _make_user_channel(request: ClientRequest, turn: UpstreamTurn) -> UserChannel:
    """Return the channel that asks the user to approve a call; cheap to build."""

    async def consult(pending: Sequence[ApprovalView]) -> bool:
        return await consent.ask_user(
            turn, request.caller, pending, open_console=request.effects.open_console
        )

    def watch(run: UUID) -> AbstractAsyncContextManager[None]:
        return make_watcher(request.effects.runs, request.caller, turn.progress)(run)

    return UserChannel(consult=consult, watch=watch)


_META_TOOL_HANDLERS: Final[
    Mapping[str, Callable[[ClientRequest, Mapping[str, Any]], Awaitable[CallToolResult]]]
] = {
    meta_tools.SEARCH: _serve_search,
    meta_tools.DESCRIBE: _serve_describe,
    meta_tools.CALL: _serve_call,
    meta_tools.INTENT: _serve_intent,
    meta_tools.RUN: run_calls.run_workflow,
    meta_tools.GET_RUN: run_calls.get_run,
    meta_tools.CONTROL_RUN: run_calls.control_run,
    meta_tools.FEEDBACK: _serve_feedback,
}
"""Handlers of the meta-tools, by name."""
_METHOD_HANDLERS: Final[Mapping[str, Callable[[ClientRequest, Any], Awaitable[Any]]]] = {
    CALL_METHOD: _serve_exposed_call,
    "tools/list": listings.list_tools,
    "resources/list": listings.list_resources,
    "resources/templates/list": listings.list_templates,
    "prompts/list": listings.list_prompts,
    "resources/read": resource_requests.read_resource,
    "prompts/get": resource_requests.get_prompt,
    "completion/complete": resource_requests.complete_argument,
    "logging/setLevel": resource_requests.set_level,
    "resources/subscribe": subscriptions.subscribe,
    "resources/unsubscribe": subscriptions.unsubscribe,
    "subscriptions/listen": subscriptions.listen,
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
            name, f"it belongs to a server; use {meta_tools.CALL} with {example}"
        )
    close = difflib.get_close_matches(name, meta_tools.NAMES, n=1, cutoff=NAME_CUTOFF)
    hint = f"did you mean {close[0]}?" if close else f"it has {', '.join(meta_tools.NAMES)}"
    return UnknownMetaTool(name, hint)


def _build_structured_result(value: dict[str, Any]) -> CallToolResult:
    """Return a value both as structured content and as text, for clients that read one only."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=value)


def _build_description_result(description: ToolDescription, name: str) -> CallToolResult:
    return _build_structured_result(description.as_json(name))
