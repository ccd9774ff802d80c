"""Turns results of servers' tools into the gateway's: names of pages and links lead through it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from execution.call_outcome import CallOutcome
from gateway_project.mcp import client_state, questions, served
from gateway_project.mcp.client_request import ClientRequest
from gateway_project.mcp.results import CONVERTED_KEY, ServerReply
from tools import ids, mcp_tasks, ui_pages
from tools.catalogue import UnknownTool

META_KEY: Final = "foregate/call"


def build_call_reply(request: ClientRequest, outcome: CallOutcome) -> ServerReply:
    """Return the answer to a call that its server has answered."""
    call_meta = {"tool": outcome.tool, "duration_ms": round(outcome.duration_s * 1000, 1)}
    meta = {META_KEY: call_meta, **served.describe_served(outcome.served)}
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
