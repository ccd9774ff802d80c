"""Calls of the gateway's own tools: translate, call the flow once, translate back."""

from __future__ import annotations

import difflib
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from mcp.server import ServerRequestContext
from mcp_types import CallToolRequestParams, CallToolResult, TextContent

from execution import call
from gateway_project import flow, tool_card
from gateway_project.flow import Description, Found
from gateway_project.foundation import telemetry
from gateway_project.mcp import arguments, errors, meta_tools, results
from gateway_project.mcp.arguments import UnknownMetaTool
from gateway_project.mcp.readiness import Gateway, Readiness
from tools import ids
from tools.catalogue import UnknownTool

META_KEY: Final = "foregate/call"
NAME_CUTOFF: Final = 0.5
_RESERVED: Final = ("io.modelcontextprotocol/", "progressToken", "progress_token")
"""Of a request's metadata, what concerns the hop from client to gateway only."""

Context = ServerRequestContext[Any]


async def handle(
    readiness: Readiness, ctx: Context, params: CallToolRequestParams
) -> CallToolResult:
    """Serve a call of one of the gateway's tools; whatever goes wrong is told in the result."""
    with telemetry.request():
        try:
            return await _serve(readiness, ctx, params)
        except Exception as error:  # noqa: BLE001 - the top of a request: nothing may escape it
            return errors.result(error)


async def _serve(
    readiness: Readiness, ctx: Context, params: CallToolRequestParams
) -> CallToolResult:
    if params.name not in _SERVED:
        raise _unknown(params.name, readiness.current)
    given = arguments.check(params.name, params.arguments)
    gateway = await readiness.gateway()
    return await _SERVED[params.name](gateway, ctx, given)


async def _search(gateway: Gateway, _: Context, given: Mapping[str, Any]) -> CallToolResult:
    with telemetry.search_seconds.time():
        found = await flow.find_tools(
            gateway.effects, gateway.caller, arguments.find_request(given)
        )
    telemetry.searches.labels("ok" if found.tools else "nothing").inc()
    return _structured(_found(found))


async def _describe(gateway: Gateway, _: Context, given: Mapping[str, Any]) -> CallToolResult:
    described = await flow.describe_tool(gateway.effects, gateway.caller, given["tool"])
    return _structured(_described(described))


async def _call(gateway: Gateway, ctx: Context, given: Mapping[str, Any]) -> CallToolResult:
    wants_progress = bool(ctx.meta) and "progress_token" in (ctx.meta or {})
    request = call.Request(
        tool=given["tool"],
        arguments=given.get("arguments", {}),
        progress=ctx.session.report_progress if wants_progress else None,
        meta=_forwarded(ctx.meta),
    )
    outcome = await flow.call_tool(gateway.effects, gateway.caller, request)
    results.carry(outcome.result.model_dump(by_alias=True, mode="json", exclude_none=True))
    ours = {"tool": outcome.tool, "duration_ms": round(outcome.duration_s * 1000, 1)}
    return CallToolResult(content=[], _meta={META_KEY: ours})


_SERVED: Final[
    Mapping[str, Callable[[Gateway, Context, Mapping[str, Any]], Awaitable[CallToolResult]]]
] = {
    meta_tools.SEARCH: _search,
    meta_tools.DESCRIBE: _describe,
    meta_tools.CALL: _call,
}


def _forwarded(meta: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the metadata that is meant for the server, such as a trace context."""
    kept = {key: value for key, value in (meta or {}).items() if not key.startswith(_RESERVED)}
    return kept or None


def _unknown(name: str, gateway: Gateway | None) -> UnknownMetaTool:
    """Say how to reach what was called directly; a tool of a server has to go through us."""
    if gateway is not None:
        try:
            tool = gateway.effects.catalogue().find(name, gateway.caller)
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


def _described(described: Description) -> dict[str, Any]:
    tool, server = described.tool, described.server
    return {
        "tool": tool.tool,
        "name": ids.exposed_name(tool.server, tool.name),
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
        "relations": [],
        "alternatives": list(described.alternatives),
        "tokens": tool.token_count,
    }
