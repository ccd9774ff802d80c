"""Search from everywhere: servers, tools, runs and pages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from django.http import HttpResponse, JsonResponse

from execution.store import views
from gateway_project.access.roles import READ, SEARCH
from gateway_project.console.rooms import menu
from gateway_project.console.rooms.addresses import server_address, tool_address
from gateway_project.console.rooms.page import RoomRequest, render_room, room
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.text import strip_invisible
from gateway_project.use_cases.decide_approval import load_approver
from tools.store import overview

MAX_QUERY_CHARS: Final = 200
MAX_SUGGESTED: Final = 6
"""Results of each kind while typing."""
MAX_LISTED: Final = 50
"""Results of each kind on the page."""
MIN_RUN_DIGITS: Final = 4
"""Shorter beginnings of ids would list arbitrary runs."""


@room("search/", "console-search", SEARCH)
def show_results(request: RoomRequest) -> HttpResponse:
    """Show all that was found, for a link and without JavaScript."""
    query = _read_query(request)
    groups = find_everywhere(request.caller, query, most=MAX_LISTED)
    return render_room(request, "console/search.html", title="Search", query=query, groups=groups)


@room("search/suggest", "console-search-suggest", SEARCH)
def suggest(request: RoomRequest) -> JsonResponse:
    """Return the first results as JSON, while somebody types."""
    query = _read_query(request)
    groups = find_everywhere(request.caller, query, most=MAX_SUGGESTED)
    return JsonResponse({"groups": groups}, headers={"Cache-Control": "no-store"})


def find_everywhere(caller: Caller, query: str, *, most: int) -> list[dict[str, Any]]:
    """Return what a caller may see whose name contains a text, by kind, without empty kinds.

    Args:
        caller: Who asks.
        query: Part of a name, or the beginning of a run's id.
        most: Maximum count of each kind.
    """
    if not query:
        return []
    groups = [{"label": "Pages", "items": list(_find_rooms(caller, query))[:most]}]
    if caller.has_scope(READ):
        servers = overview.find_server_names(
            query, team=caller.team, is_all=caller.has_scope(SCOPE_ALL), most=most
        )
        groups.append({"label": "Servers", "items": [_server_item(name) for name in servers]})
    # Pages of tools are for the team that is acted for, also to superusers.
    tools = overview.find_tool_ids(query, team=caller.team, most=most)
    groups.append({"label": "Tools", "items": [_tool_item(tool) for tool in tools]})
    if caller.has_scope(READ) and len(query) >= MIN_RUN_DIGITS:
        groups.append({"label": "Runs", "items": _find_runs(caller, query, most)})
    return [group for group in groups if group["items"]]


def _find_rooms(caller: Caller, query: str) -> Iterable[dict[str, str]]:
    words = query.casefold()
    for one in menu.list_rooms(caller):
        if words in one.label.casefold() or words in one.question.casefold():
            yield {"title": one.label, "detail": one.question, "url": one.path}


def _server_item(name: str) -> dict[str, str]:
    return {"title": name, "detail": "server", "url": server_address(name)}


def _tool_item(tool: str) -> dict[str, str]:
    server, _, name = tool.partition(":")
    return {
        "title": strip_invisible(name),
        "detail": f"on {server}",
        "url": tool_address(tool),
    }


def _find_runs(caller: Caller, query: str, most: int) -> list[dict[str, str]]:
    found = views.find_runs(
        query,
        None if caller.has_scope(SCOPE_ALL) else caller,
        teams=load_approver(caller).teams,
        limit=most,
    )
    return [
        {
            "title": str(run)[:8],
            "detail": f"{status.value}, {at:%Y-%m-%d %H:%M}",
            "url": f"/runs/{run}/",
        }
        for run, status, at in found
    ]


def _read_query(request: RoomRequest) -> str:
    return request.GET.get("q", "").strip()[:MAX_QUERY_CHARS]
