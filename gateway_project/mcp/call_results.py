"""Turns results of servers' tools into the gateway's: pages, links, and who answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from execution.call_outcome import CallOutcome
from gateway_project.mcp import client_state, questions
from gateway_project.mcp.client_request import ClientRequest
from gateway_project.mcp.results import CONVERTED_KEY, ServerReply
from tools import ids, mcp_tasks, ui_pages
from tools.catalogue import UnknownTool

if TYPE_CHECKING:
    from execution.call_outcome import ServedSpeculation

SERVED_META: Final = "foregate/served"
"""Key in the `_meta` of a result that a call made ahead answered."""
FRESH_META: Final = "foregate/fresh"
"""Key in the `_meta` of a request; true: the client wants a new answer."""
_MS_PER_S: Final = 1_000

META_KEY: Final = "foregate/call"


def describe_served(served: ServedSpeculation | None) -> dict[str, Any]:
    """Return the part of a result's `_meta` that says how a call made ahead answered it."""
    if served is None:
        return {}
    return {
        SERVED_META: {
            "served": "speculation",
            "form": served.form.value,
            "prediction": served.prediction.hex,
            "age_ms": round(_MS_PER_S * served.age_s),
            "saved_ms": round(_MS_PER_S * served.saved_s),
        }
    }


def wants_fresh(params: Mapping[str, Any] | None) -> bool:
    """Whether the `_meta` of a request asks for a new answer."""
    meta = (params or {}).get("_meta")
    return isinstance(meta, Mapping) and meta.get(FRESH_META) is True


def build_call_reply(request: ClientRequest, outcome: CallOutcome) -> ServerReply:
    """Return the answer to a call that its server has answered."""
    call_meta = {"tool": outcome.tool, "duration_ms": round(outcome.duration_s * 1000, 1)}
    meta = {META_KEY: call_meta, **describe_served(outcome.served)}
    if outcome.converted:
        meta[CONVERTED_KEY] = list(outcome.converted)
    return replace(expose_result(request, outcome.tool, outcome.result.raw), meta=meta)


def expose_result(request: ClientRequest, tool: str, raw: Mapping[str, Any]) -> ServerReply:
    """Return a tool's result with the gateway's name of its page, and note where its links lead.

    Args:
        request: The client's request.
        tool: Canonical id.
        raw: As the server sent it.
    """
    server, _ = ids.split_id(tool)
    request.effects.item_lists.note_links(server, raw, caller=request.caller)
    if ui_pages.find_page(raw):
        raw = {**raw, "_meta": ui_pages.expose_page(raw["_meta"], server)}
    return ServerReply(raw=raw)


def is_interim(raw: Mapping[str, Any]) -> bool:
    """Whether a result ends nothing yet: it asks for input, or is the handle of a task."""
    return questions.is_input_required(raw) or mcp_tasks.is_task(raw)


def name_page(request: ClientRequest, tool: str, reply: ServerReply) -> ServerReply:
    """Return a tool's result that names its page: what the client called names none."""
    raw = reply.raw
    if raw.get("isError") or not client_state.shows_pages(request.ctx):
        return reply
    if is_interim(raw) or ui_pages.find_page(raw):
        return reply
    try:
        called = request.effects.catalogue().find_tool(tool, request.caller)
    except UnknownTool:  # gone meanwhile
        return reply
    page = ui_pages.find_page(called.extras)
    if not page:
        return reply
    meta = raw.get("_meta")
    named = ui_pages.name_page(meta if isinstance(meta, Mapping) else {}, page)
    return replace(reply, raw={**raw, "_meta": ui_pages.expose_page(named, called.server)})
