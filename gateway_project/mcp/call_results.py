"""Turns results of servers' tools into the gateway's: names of pages and links lead through it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from execution.call_outcome import CallOutcome
from gateway_project.mcp import served
from gateway_project.mcp.client_request import ClientRequest
from gateway_project.mcp.results import CONVERTED_KEY, ServerReply
from tools import ids, ui_pages

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
