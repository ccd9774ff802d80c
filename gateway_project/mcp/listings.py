"""Serves lists of tools, resources, templates and prompts, in pages with cache lifetimes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from gateway_project import pass_through
from gateway_project.mcp import client_state, exposure, meta_tools, paging
from gateway_project.mcp.client_request import ClientRequest
from gateway_project.mcp.results import ServerReply
from gateway_project.pass_through import ReadNotPermitted
from tools.upstream.kinds import ITEMS, ItemKind

TTL_MS: Final = 300_000
"""Cache lifetime for clients that do not listen for changes."""
INCOMPLETE_TTL_MS: Final = 2_000


async def list_tools(request: ClientRequest, params: Mapping[str, Any]) -> ServerReply:
    """Serve `tools/list` where tools of servers are listed too."""
    effects = request.effects
    catalogue, caller = effects.catalogue(), request.caller
    chosen = request.ctx.lifespan_context.exposures
    view = exposure.choose_exposure(chosen, request.view, catalogue, caller)
    listed = exposure.list_exposed(
        catalogue,
        caller,
        view.exposure,
        name_limit=view.form.name_limit,
        shows_pages=client_state.shows_pages(request.ctx),
        is_modern=client_state.is_modern(request.ctx),
    )
    own = meta_tools.list_definitions(
        beside_others=bool(listed), found_by_words=view.form.finds_by_words
    )
    items = [*own, *listed]
    return make_page("tools", items, params, key="name", ttl_ms=TTL_MS)


async def list_items(
    request: ClientRequest, params: Mapping[str, Any], *, kind: ItemKind
) -> ServerReply:
    """Serve the list of resources, templates or prompts of servers."""
    try:
        items, missing = await pass_through.list_items(
            request.effects, request.caller, request.build_downstream(), kind
        )
    except ReadNotPermitted:  # a list holds only what its caller may see
        items, missing = [], ()
    ttl_ms = INCOMPLETE_TTL_MS if missing else TTL_MS
    return make_page(ITEMS[kind].field, items, params, key=ITEMS[kind].key, ttl_ms=ttl_ms)


def make_page(
    field: str,
    items: Sequence[dict[str, Any]],
    params: Mapping[str, Any],
    *,
    key: str,
    ttl_ms: int,
) -> ServerReply:
    """Return a page unparsed: the SDK's models would take most of the time."""
    page, cursor = paging.take_page(items, params.get("cursor"), key=key)
    raw: dict[str, Any] = {field: list(page), "ttlMs": ttl_ms, "cacheScope": "private"}
    if cursor is not None:
        raw["nextCursor"] = cursor
    return ServerReply(raw=raw)
