"""The catalogue and its tools as pages show them, once memory shows what is stored."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final
from weakref import WeakSet

from gateway_project.api import runtime
from gateway_project.api.tools import find_state
from gateway_project.console.rooms.addresses import tool_address
from gateway_project.console.rooms.page import RoomRequest
from gateway_project.effects import Effects
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.text import strip_invisible
from gateway_project.readiness import NotReady
from gateway_project.runs import approval_text
from graph.store import relations
from graph.topology import Topology
from tools.catalogue import Catalogue, CatalogueTool
from tools.store import catalogue as catalogue_store
from tools.visibility import Visibility

MAX_DESCRIPTION_CHARS: Final = 300
TIMEOUT_S: Final = 2.0
"""Longest wait; a change usually takes 0.2 s."""
POLL_S: Final = 0.02
_STAYED_EMPTY: Final[WeakSet[Topology]] = WeakSet()
"""Relations that were waited for in vain: all there are may be rejected, or of other teams."""


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


def wait_for_catalogue(effects: Effects, is_applied: Callable[[Catalogue], bool]) -> bool:
    """Wait until the catalogue in memory shows a change; False if it takes too long.

    Args:
        effects: Of the gateway in this process.
        is_applied: Whether a catalogue shows the change.
    """
    return _wait_until(lambda: is_applied(effects.catalogue()))


def load_topology(effects: Effects, team: int | None) -> Topology:
    """Return the relations that a team sees, once they are in memory: the first look loads them.

    Args:
        effects: Of the gateway in this process.
        team: Primary key; None: callers without a team.
    """
    found = effects.topology(team)
    if not len(found) and found not in _STAYED_EMPTY and relations.has_relations():
        _wait_until(lambda: bool(len(effects.topology(team))))
        found = effects.topology(team)
        if not len(found):
            _STAYED_EMPTY.add(found)
    return found


def wait_for_relations(effects: Effects, team: int | None, before: Topology) -> bool:
    """Wait until the relations in memory are other ones; False if it takes too long.

    Args:
        effects: Of the gateway in this process.
        team: Primary key; None: callers without a team.
        before: The relations before the change.
    """
    return _wait_until(lambda: effects.topology(team) is not before)


def _wait_until(is_reached: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + TIMEOUT_S
    while not is_reached():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True
