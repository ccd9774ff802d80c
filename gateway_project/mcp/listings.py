"""Lists: tools, resources, templates and prompts, in pages and with how long they may be kept."""

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
from gateway_project.mcp import client_state, exposure, meta_tools, paging, results
from gateway_project.mcp.asked import Asked
from gateway_project.pass_through import AnyEffects, Items, ReadNotPermitted, Who

TTL_MS: Final = 300_000
"""Clients are told of changes; this is for those that do not listen."""
INCOMPLETE_TTL_MS: Final = 2_000


async def tools(asked: Asked, params: PaginatedRequestParams) -> ListToolsResult:
    """Serve `tools/list` where tools of servers are listed too."""
    asked.readiness.listed.set()
    effects = asked.effects
    shown = exposure.shown(effects.catalogue(), asked.caller, effects.exposure)
    modern = client_state.modern(asked.ctx)
    items = [*meta_tools.DEFINITIONS, *(shown.items if modern else shown.handshake_items)]
    _carry("tools", items, params, key="name", ttl_ms=TTL_MS)
    return ListToolsResult(tools=[])


async def resources(asked: Asked, params: PaginatedRequestParams) -> ListResourcesResult:
    """Serve `resources/list`."""
    await _items(asked, params, "resources", key="uri", fetch=pass_through.list_resources)
    return ListResourcesResult(resources=[])


async def templates(asked: Asked, params: PaginatedRequestParams) -> ListResourceTemplatesResult:
    """Serve `resources/templates/list`."""
    fetch = pass_through.list_templates
    await _items(asked, params, "resourceTemplates", key="uriTemplate", fetch=fetch)
    return ListResourceTemplatesResult(resource_templates=[])


async def prompts(asked: Asked, params: PaginatedRequestParams) -> ListPromptsResult:
    """Serve `prompts/list`."""
    await _items(asked, params, "prompts", key="name", fetch=pass_through.list_prompts)
    return ListPromptsResult(prompts=[])


async def _items(
    asked: Asked,
    params: PaginatedRequestParams,
    field: str,
    *,
    key: str,
    fetch: Callable[[AnyEffects, Who], Awaitable[Items]],
) -> None:
    try:
        listed = await fetch(asked.effects, asked.who())
    except ReadNotPermitted:  # a list holds what its caller may see
        listed = Items(items=(), missing=())
    ttl_ms = INCOMPLETE_TTL_MS if listed.missing else TTL_MS
    _carry(field, listed.items, params, key=key, ttl_ms=ttl_ms)


def _carry(
    field: str,
    items: Sequence[dict[str, Any]],
    params: PaginatedRequestParams,
    *,
    key: str,
    ttl_ms: int,
) -> None:
    """Have a page sent as it is: going through the SDK's models would cost most of the time."""
    page, cursor = paging.page(items, params.cursor, key=key)
    raw: dict[str, Any] = {field: list(page), "ttlMs": ttl_ms, "cacheScope": "private"}
    if cursor is not None:
        raw["nextCursor"] = cursor
    results.carry(raw)
