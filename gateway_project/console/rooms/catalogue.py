"""The catalogue and its tools as pages show them, also in a console without a gateway."""

from __future__ import annotations

from typing import Any, Final

from gateway_project.api import runtime
from gateway_project.api.tools import find_state
from gateway_project.console.rooms.addresses import tool_address
from gateway_project.console.rooms.page import RoomRequest
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.text import strip_invisible
from gateway_project.readiness import NotReady
from gateway_project.runs import approval_text
from tools.catalogue import Catalogue, CatalogueTool
from tools.store import catalogue as catalogue_store
from tools.visibility import Visibility

MAX_DESCRIPTION_CHARS: Final = 300


def load_catalogue(request: RoomRequest) -> Catalogue:
    """Return the catalogue; from memory if the gateway of this process serves."""
    try:
        return runtime.load_effects(request).catalogue()
    except NotReady:
        return catalogue_store.load_catalogue()


def load_visibility(request: RoomRequest) -> Visibility:
    """Return what the caller may know of; from memory if the gateway of this process serves."""
    return Visibility(catalogue=load_catalogue(request), caller=request.caller)


def list_visible_tools(catalogue: Catalogue, caller: Caller) -> list[CatalogueTool]:
    """Return the tools that a caller may know of, usable or not, by id."""
    key = "tools_by_id"
    if key not in catalogue.derived_cache:
        catalogue.derived_cache[key] = [tool for _, tool in sorted(catalogue.tools.items())]
    ordered: list[CatalogueTool] = catalogue.derived_cache[key]
    return [tool for tool in ordered if caller.can_see_team(tool.team)]


def describe_tool(tool: CatalogueTool) -> dict[str, Any]:
    """Return a tool as a row; texts of its server with invisible characters escaped."""
    return {
        "id": approval_text.single_line(tool.tool),
        "raw_id": tool.tool,
        "name": approval_text.single_line(tool.name),
        "server": approval_text.single_line(tool.server),
        "url": tool_address(tool.tool),
        "description": strip_invisible(tool.description[:MAX_DESCRIPTION_CHARS]),
        "danger": tool.danger.value,
        "state": find_state(tool),
        "pinned": tool.pinned,
        "category": tool.category,
        "tokens": tool.token_count,
        "findings": len(tool.findings),
    }
