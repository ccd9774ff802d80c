"""Serves lists of tools, resources, templates and prompts, in pages with cache lifetimes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from mcp_types import (
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
)

from gateway_project import pass_through
from gateway_project.effects import Effects
from gateway_project.foundation.caller import Caller
from gateway_project.mcp import client_state, exposure, meta_tools, paging, results
from gateway_project.mcp.client_request import ClientRequest
from gateway_project.pass_through import ItemPage, ReadNotPermitted
from tools.upstream.downstream import Downstream

TTL_MS: Final = 300_000
"""Cache lifetime for clients that do not listen for changes."""
INCOMPLETE_TTL_MS: Final = 2_000


async def list_tools(request: ClientRequest, params: PaginatedRequestParams) -> ListToolsResult:
    """Serve `tools/list` where tools of servers are listed too."""
    effects = request.effects
    shown = exposure.list_exposed(effects.catalogue(), request.caller, effects.exposure)
    modern = client_state.is_modern(request.ctx)
    items = [*meta_tools.DEFINITIONS, *(shown.items if modern else shown.handshake_items)]
    _carry_page("tools", items, params, key="name", ttl_ms=TTL_MS)
    return ListToolsResult(tools=[])


async def list_resources(
    request: ClientRequest, params: PaginatedRequestParams
) -> ListResourcesResult:
    """Serve `resources/list`."""
    await _serve_items(request, params, "resources", key="uri", fetch=pass_through.list_resources)
    return ListResourcesResult(resources=[])


async def list_templates(
    request: ClientRequest, params: PaginatedRequestParams
) -> ListResourceTemplatesResult:
    """Serve `resources/templates/list`."""
    fetch = pass_through.list_templates
    await _serve_items(request, params, "resourceTemplates", key="uriTemplate", fetch=fetch)
    return ListResourceTemplatesResult(resource_templates=[])


async def list_prompts(
    request: ClientRequest, params: PaginatedRequestParams
) -> ListPromptsResult:
    """Serve `prompts/list`."""
    await _serve_items(request, params, "prompts", key="name", fetch=pass_through.list_prompts)
    return ListPromptsResult(prompts=[])


async def _serve_items(
    request: ClientRequest,
    params: PaginatedRequestParams,
    field: str,
    *,
    key: str,
    fetch: Callable[[Effects, Caller, Downstream], Awaitable[ItemPage]],
) -> None:
    try:
        listed = await fetch(request.effects, request.caller, request.build_downstream())
    except ReadNotPermitted:  # a list holds only what its caller may see
        listed = ItemPage(items=(), missing=())
    ttl_ms = INCOMPLETE_TTL_MS if listed.missing else TTL_MS
    _carry_page(field, listed.items, params, key=key, ttl_ms=ttl_ms)


def _carry_page(
    field: str,
    items: Sequence[dict[str, Any]],
    params: PaginatedRequestParams,
    *,
    key: str,
    ttl_ms: int,
) -> None:
    """Carry a page to the client unparsed: the SDK's models would take most of the time."""
    page, cursor = paging.take_page(items, params.cursor, key=key)
    raw: dict[str, Any] = {field: list(page), "ttlMs": ttl_ms, "cacheScope": "private"}
    if cursor is not None:
        raw["nextCursor"] = cursor
    results.carry_result(raw)
