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

from execution import call
from execution.view import ApprovalView
from gateway_project import flow, tool_card
from gateway_project.direct_call import Person
from gateway_project.flow import Description, Found
from gateway_project.foundation import telemetry
from gateway_project.mcp import (
    arguments,
    client_state,
    consent,
    errors,
    exposure,
    large_results,
    listings,
    meta_tools,
    questions,
    reads,
    results,
    run_calls,
    subscriptions,
    who,
)
from gateway_project.mcp.arguments import UnknownMetaTool
from gateway_project.mcp.asked import Asked
from gateway_project.mcp.interaction import Reply, Turn
from gateway_project.mcp.run_progress import watcher
from gateway_project.readiness import NotReady, Readiness
from tools.catalogue import UnknownTool

META_KEY: Final = "foregate/call"
NAME_CUTOFF: Final = 0.5
CALL_TOOL: Final = "tools/call"
_LISTS: Final = frozenset(
    {"tools/list", "prompts/list", "resources/list", "resources/templates/list"}
)

Context = ServerRequestContext[Any]


async def handle(readiness: Readiness, ctx: Context, params: Any) -> Any:
    """Serve a request of a client.

    Whatever goes wrong with a call of a tool is told in its result, where the model reads it. For
    all else the protocol has errors.

    Raises:
        NotReady: If a list is asked for and nothing stands behind the gateway.
        MCPError: If there is no result.
    """
    with telemetry.request(telemetry.current_request_id()):
        try:
            return await _serve(readiness, ctx, params)
        except MCPError:
            raise
        except Exception as error:
            if isinstance(error, NotReady) and ctx.method in _LISTS:
                raise
            modern = client_state.modern(ctx)
            if ctx.method != CALL_TOOL or errors.of_the_protocol(error, modern=modern):
                raise errors.as_protocol_error(error, modern=modern) from error
            return errors.result(error)


async def _serve(readiness: Readiness, ctx: Context, params: Any) -> Any:
    given: Mapping[str, Any] = {}
    own = ctx.method == CALL_TOOL and params.name in _OWN
    if own:
        given = arguments.check(params.name, params.arguments)
    gateway = await readiness.gateway()
    asked = Asked(
        ctx=ctx,
        effects=gateway.effects,
        caller=who.caller(ctx, gateway),
        readiness=readiness,
    )
    if own:
        return await _OWN[params.name](asked, given)
    return await _METHODS[ctx.method](asked, params)


async def _search(asked: Asked, given: Mapping[str, Any]) -> CallToolResult:
    with telemetry.search_seconds.time():
        found = await flow.find_tools(asked.effects, asked.caller, arguments.find_request(given))
    telemetry.searches.labels("ok" if found.tools else "nothing").inc()
    return _structured(_found(found))


async def _intent(asked: Asked, given: Mapping[str, Any]) -> CallToolResult:
    with telemetry.intent_seconds.time():
        answer = await flow.handle_intent(
            asked.effects, asked.caller, arguments.intent_request(given)
        )
    telemetry.intents.labels(answer.mode.value).inc()
    return _structured(answer.as_json())


async def _describe(asked: Asked, given: Mapping[str, Any]) -> CallToolResult:
    described = await flow.describe_tool(asked.effects, asked.caller, given["tool"])
    name = asked.effects.catalogue().exposed_name(described.tool.tool)
    return _structured(_described(described, name))


async def _call(asked: Asked, given: Mapping[str, Any]) -> CallToolResult:
    return await _call_tool(asked, given["tool"], given.get("arguments", {}), linkable=True)


async def _call_exposed(asked: Asked, params: CallToolRequestParams) -> CallToolResult:
    """Serve a call of a tool that is listed under a name of its own."""
    effects = asked.effects
    tool = exposure.find(effects.catalogue(), asked.caller, effects.exposure, params.name)
    if tool is None:
        raise _unknown(params.name, asked)
    # Clients check structured content where the listed definition announces it.
    linkable = tool.output_schema is None
    return await _call_tool(asked, tool.tool, params.arguments or {}, linkable=linkable)


async def _call_tool(
    asked: Asked, tool: str, given: Mapping[str, Any], *, linkable: bool
) -> CallToolResult:
    effects, caller, meta = asked.effects, asked.caller, asked.meta

    async def operation(turn: Turn) -> Reply:
        request = call.Request(
            tool=tool,
            arguments=given,
            progress=turn.progress,
            meta=meta,
            downstream=turn.downstream,
            input_responses=turn.responses,
            request_state=turn.state,
        )
        outcome = await flow.call_tool(effects, caller, request, person=_person(asked, turn))
        ours = {"tool": outcome.tool, "duration_ms": round(outcome.duration_s * 1000, 1)}
        return Reply(raw=outcome.result.raw, meta={META_KEY: ours})

    reply = await asked.conclude(lambda: effects.catalogue().find(tool, caller).tool, operation)
    if linkable and not questions.needs_input(reply.raw):
        reply = await large_results.linked(effects, caller, reply)
    results.carry(reply.raw)
    return CallToolResult(content=[], _meta=dict(reply.meta) or None)


def _person(asked: Asked, turn: Turn) -> Person:
    """Return how the user is reached whose call may have to be approved; costs next to nothing."""

    async def consult(pending: Sequence[ApprovalView]) -> bool:
        return await consent.ask(turn, asked.caller, pending, link=asked.effects.approval_link)

    def watch(run: UUID) -> AbstractAsyncContextManager[None]:
        return watcher(asked.effects.runs, asked.caller, turn.progress)(run)

    return Person(consult=consult, watch=watch)


_OWN: Final[Mapping[str, Callable[[Asked, Mapping[str, Any]], Awaitable[CallToolResult]]]] = {
    meta_tools.SEARCH: _search,
    meta_tools.DESCRIBE: _describe,
    meta_tools.CALL: _call,
    meta_tools.INTENT: _intent,
    meta_tools.RUN: run_calls.run_workflow,
    meta_tools.GET_RUN: run_calls.get_run,
    meta_tools.CONTROL_RUN: run_calls.control_run,
}
"""The gateway's own tools, by name."""
_METHODS: Final[Mapping[str, Callable[[Asked, Any], Awaitable[Any]]]] = {
    CALL_TOOL: _call_exposed,
    "tools/list": listings.tools,
    "resources/list": listings.resources,
    "resources/templates/list": listings.templates,
    "prompts/list": listings.prompts,
    "resources/read": reads.read_resource,
    "prompts/get": reads.get_prompt,
    "completion/complete": reads.complete,
    "logging/setLevel": reads.set_level,
    "resources/subscribe": subscriptions.subscribe,
    "resources/unsubscribe": subscriptions.unsubscribe,
    "subscriptions/listen": subscriptions.listen,
}


def _unknown(name: str, asked: Asked) -> UnknownMetaTool:
    """Say how to reach what was called directly and is not listed."""
    try:
        tool = asked.effects.catalogue().find(name, asked.caller)
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


def _structured(value: dict[str, Any]) -> CallToolResult:
    """Return a value both as structured content and as text, for clients that read one only."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=value)


def _found(found: Found) -> dict[str, Any]:
    return {
        "tools": [card.as_json() for card in found.tools],
        "run_order": list(found.run_order),
        "tokens": {
            "used": found.tokens_used,
            "budget": found.tokens_budget,
            "left_out": found.left_out,
            "listing_all": found.tokens_listing_all,
        },
        "warnings": list(found.warnings),
    }


def _described(described: Description, name: str) -> dict[str, Any]:
    tool, server = described.tool, described.server
    return {
        "tool": tool.tool,
        "name": name,
        "title": tool_card.clean(tool.title),
        "description": tool_card.clean(tool.description),
        "input_schema": tool_card.clean_schema(tool.input_schema),
        "output_schema": tool_card.clean_schema(tool.output_schema),
        "annotations": tool_card.clean_schema(tool.annotations),
        "server": {
            "name": server.name,
            "description": tool_card.clean(server.description),
            "trusted": server.trusted,
            "enabled": server.enabled,
            "trouble": described.trouble,
        },
        "category": tool.category,
        "state": tool.state if tool.enabled else "disabled",
        "danger": {"level": tool.danger.value, "reasons": list(tool.danger_reasons)},
        "warnings": [*described.warnings, *tool_card.cautions(tool)],
        "relations": [dict(relation) for relation in described.relations],
        "alternatives": list(described.alternatives),
        "tokens": tool.token_count,
    }
