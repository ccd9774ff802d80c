"""Requests of clients: translate, call the flow once, translate back."""

from __future__ import annotations

import difflib
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final
from uuid import UUID

from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from execution.availability import require_for_models, require_read
from execution.call_errors import ApprovalRequired
from execution.run_dependencies import RunsUnavailable
from execution.view import ApprovalView
from gateway_project import flow
from gateway_project.find.answers import ToolDescription
from gateway_project.foundation import telemetry
from gateway_project.foundation.computing import run_in_worker_thread
from gateway_project.mcp import (
    arguments,
    call_results,
    callers,
    client_state,
    consent,
    errors,
    exposure,
    large_results,
    listings,
    meta_tools,
    resource_requests,
    run_calls,
    run_tasks,
    server_tasks,
    task_requests,
)
from gateway_project.mcp.arguments import UnknownMetaTool
from gateway_project.mcp.client_request import ClientRequest
from gateway_project.mcp.interaction import UpstreamTurn
from gateway_project.mcp.large_results import WantedSize
from gateway_project.mcp.results import CONVERTED_KEY, ServerReply
from gateway_project.mcp.run_progress import make_watcher
from gateway_project.readiness import NotReady, Readiness
from gateway_project.runs import task_results
from gateway_project.runs.continued_call import CallContinues
from gateway_project.runs.direct_call import CallInProgress, UserChannel
from tools import mcp_tasks, skills
from tools.catalogue import CatalogueTool, UnknownTool
from tools.upstream.request import CALL_METHOD
from tools.visibility import Visibility

NAME_CUTOFF: Final = 0.5
_GOING_ON: Final = (ApprovalRequired, CallContinues, CallInProgress)
"""Errors that say which run a call goes on as; clients that follow tasks get its task instead."""
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
    serve_meta_tool = (
        _META_TOOL_HANDLERS.get(params["name"]) if ctx.method == CALL_METHOD else None
    )
    # Over HTTP, the gate has bound an id.
    with telemetry.bind_request_id(telemetry.current_request_id()):
        try:
            if serve_meta_tool is not None:
                args, converted = arguments.read_arguments(params["name"], params.get("arguments"))
            gateway = await readiness.wait_for_gateway()
            caller = callers.caller_of(ctx, gateway)
            request = ClientRequest(
                ctx=ctx, effects=gateway.effects, caller=caller, arrived_at=arrived_at
            )
            _record_end(request)
            if serve_meta_tool is None:
                return await _METHOD_HANDLERS[ctx.method](request, params)
            reply = await serve_meta_tool(request, args)
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


async def _serve_search(request: ClientRequest, args: Mapping[str, Any]) -> ServerReply:
    with telemetry.search_seconds.time():
        result = await flow.find_tools(
            request.effects, request.caller, arguments.read_find_request(args)
        )
    telemetry.searches.labels("ok" if result.tools else "nothing").inc()
    found = result.as_json()
    for card in found["tools"]:
        card["name"] = _find_listed_name(request, card["tool"]) or card["name"]
    return _build_structured_result(found)


async def _serve_intent(request: ClientRequest, args: Mapping[str, Any]) -> ServerReply:
    with telemetry.intent_seconds.time():
        answer = await flow.handle_intent(
            request.effects, request.caller, arguments.read_intent_request(args)
        )
    telemetry.intents.labels(answer.mode.value).inc()
    told, blocks = await large_results.lift_media(
        request, answer.as_json() | task_results.speculative_run_to_json(answer.ahead)
    )
    raw = _build_structured_result(told).raw
    meta = task_results.describe_meta(task_results.collect_speculative(answer.ahead))
    return ServerReply(raw={**raw, "content": [*raw["content"], *blocks]}, meta=meta)


async def _serve_feedback(request: ClientRequest, args: Mapping[str, Any]) -> ServerReply:
    feedback = await flow.give_feedback(
        request.effects, request.caller, arguments.read_feedback_request(args)
    )
    return _build_structured_result(feedback.as_json())


async def _serve_describe(request: ClientRequest, args: Mapping[str, Any]) -> ServerReply:
    await _await_listing(request, args["tool"])
    _require_for_models(request, args["tool"])
    description = await flow.describe_tool(request.effects, request.caller, args["tool"])
    name = _find_listed_name(request, description.tool.tool)
    return await run_in_worker_thread(_build_description_result, description, name)


def _find_listed_name(request: ClientRequest, tool: str) -> str:
    """Return the name under which the client would list a tool; empty if it is just gone."""
    try:
        limit = request.view.form.name_limit
        return request.effects.catalogue().exposed_name(tool, limit=limit)
    except KeyError:
        return ""


async def _await_listing(request: ClientRequest, tool: str) -> None:
    """Wait for a tool that is not known, but may be one that its server has just announced."""
    try:
        request.effects.catalogue().find_tool(tool, request.caller)
    except UnknownTool:
        await request.effects.await_listing(tool)


async def _serve_call(
    request: ClientRequest, args: Mapping[str, Any], *, only_reads: bool = False
) -> ServerReply:
    await _await_listing(request, args["tool"])
    _require_for_models(request, args["tool"])
    reply = await _execute_call(
        request,
        {"name": args["tool"], "arguments": args.get("arguments", {})},
        linkable=True,
        is_fresh=args.get("fresh", False),
        timeout_s=arguments.read_timeout_s(
            meta_tools.READ if only_reads else meta_tools.CALL,
            args,
            max_s=request.effects.max_call_s,
        ),
        only_reads=only_reads,
        wanted=arguments.read_wanted_size(
            meta_tools.READ if only_reads else meta_tools.CALL, args
        ),
    )
    return call_results.name_page(request, args["tool"], reply)


def _require_for_models(request: ClientRequest, tool: str) -> None:
    require_for_models(request.effects.catalogue().find_tool(tool, request.caller))


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
        await _await_listing(request, name)
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
    return await _execute_call(request, called, linkable=linkable)


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


async def _execute_call(  # noqa: PLR0913 - each is a choice of the client
    request: ClientRequest,
    params: Mapping[str, Any],
    *,
    linkable: bool,
    is_fresh: bool = False,
    timeout_s: float | None = None,
    only_reads: bool = False,
    wanted: WantedSize | None = None,
) -> ServerReply:
    effects, caller, tool = request.effects, request.caller, params["name"]
    await _await_listing(request, tool)
    # What is cut from a result is cut here: no task carries how.
    offers_task = client_state.speaks_tasks(request.ctx) and wanted in (None, WantedSize())

    async def operation(turn: UpstreamTurn) -> ServerReply:
        if only_reads:
            require_read(effects.catalogue().find_tool(tool, caller))
        patience = await request.find_patience(asked_s=turn.asked_s)
        turn = turn if offers_task else turn.without_tasks()
        try:
            outcome = await flow.call_tool(
                effects,
                caller,
                request.build_upstream_request(turn, params, timeout_s=timeout_s),
                user_channel=_make_user_channel(request, turn, offers_task=offers_task),
                is_fresh=is_fresh or call_results.wants_fresh(request.ctx.params),
                patience=patience,
            )
        except _GOING_ON as error:
            if error.run is not None and offers_task:
                with suppress(RunsUnavailable):  # the error too says which run it is
                    view = await flow.get_run(effects, caller, str(error.run))
                    return await run_tasks.create_task(request, view)
            raise
        if mcp_tasks.is_task(outcome.result.raw):
            return server_tasks.hand_over(request, outcome, is_linkable=linkable)
        return call_results.build_call_reply(request, outcome)

    reply = await request.conclude_request(
        lambda: effects.catalogue().find_tool(tool, caller).tool, operation
    )
    if call_results.is_interim(reply.raw):
        return reply
    if wanted is not None:
        raw, link = await large_results.reduce_result(effects, caller, reply.raw, wanted)
        meta = {**reply.meta, large_results.META_KEY: link} if link else reply.meta
        reply = replace(reply, raw=raw, meta=meta)
    return await large_results.link_large_result(request, reply, is_text_linkable=linkable)


def _make_user_channel(
    request: ClientRequest, turn: UpstreamTurn, *, offers_task: bool
) -> UserChannel:
    """Return the channel that asks the user to approve a call; cheap to build.

    A client that follows a task is asked by it.
    """
    if offers_task:
        return UserChannel(wait_s=run_tasks.SHORT_WAIT_S)

    async def consult(pending: Sequence[ApprovalView]) -> bool:
        return await consent.ask_user(
            turn, request.caller, pending, open_console=request.effects.open_console
        )

    def watch(run: UUID) -> AbstractAsyncContextManager[None]:
        return make_watcher(request.effects.runs, request.caller, turn.progress)(run)

    return UserChannel(consult=consult, watch=watch)


_META_TOOL_HANDLERS: Final[
    Mapping[str, Callable[[ClientRequest, Mapping[str, Any]], Awaitable[ServerReply]]]
] = {
    meta_tools.SEARCH: _serve_search,
    meta_tools.DESCRIBE: _serve_describe,
    meta_tools.READ: partial(_serve_call, only_reads=True),
    meta_tools.CALL: _serve_call,
    meta_tools.INTENT: _serve_intent,
    meta_tools.READ_WORKFLOW: run_calls.read_workflow,
    meta_tools.RUN: run_calls.run_workflow,
    meta_tools.GET_RUN: run_calls.get_run,
    meta_tools.CONTROL_RUN: run_calls.control_run,
    meta_tools.FEEDBACK: _serve_feedback,
}
"""Handlers of the meta-tools, by name."""
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
            name, f"it belongs to a server; use {meta_tools.CALL} with {example}"
        )
    close = difflib.get_close_matches(name, meta_tools.NAMES, n=1, cutoff=NAME_CUTOFF)
    hint = f"did you mean {close[0]}?" if close else f"it has {', '.join(meta_tools.NAMES)}"
    return UnknownMetaTool(name, hint)


def _build_structured_result(value: dict[str, Any]) -> ServerReply:
    """Return a value both as structured content and as text, for clients that read one only."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return ServerReply(
        raw={"content": [{"type": "text", "text": text}], "structuredContent": value}
    )


def _build_description_result(description: ToolDescription, name: str) -> ServerReply:
    return _build_structured_result(description.as_json(name))
