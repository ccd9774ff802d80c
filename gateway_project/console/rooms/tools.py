"""Tools: finding them as a client does, listing and changing them in bulk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse

from gateway_project import flow
from gateway_project.access.roles import CURATE, SEARCH
from gateway_project.api import runtime
from gateway_project.api.pages import Page, encode_cursor, paginate_sorted
from gateway_project.api.problems import describe_problem
from gateway_project.api.tools import FILTERS, has_values
from gateway_project.console.rooms.addresses import tool_address
from gateway_project.console.rooms.catalogue import (
    describe_tool,
    list_visible_tools,
    load_catalogue,
    wait_for_catalogue,
)
from gateway_project.console.rooms.page import RoomRequest, render_room, room
from gateway_project.find.answers import SearchResult
from gateway_project.foundation.text import strip_invisible
from gateway_project.foundation.user_error import UserError
from gateway_project.mcp import arguments
from gateway_project.mcp.meta_tools.find import SEARCH_TOOLS, read_find_request
from gateway_project.runs import approval_text
from gateway_project.use_cases import curate_catalogue
from tools.catalogue import Catalogue, CatalogueTool
from tools.danger import Danger
from tools.store import configuration

SEARCH_LIMIT: Final = 10
MAX_BULK: Final = 500
STATES: Final = ("active", "disabled", "pending", "quarantined", "removed")
BULK_CHANGES: Final[Mapping[str, tuple[str, dict[str, Any]]]] = {
    "enable": ("Enable", {"enabled": True}),
    "disable": ("Disable", {"enabled": False}),
    "pin": ("Pin", {"pinned": True}),
    "unpin": ("Unpin", {"pinned": False}),
    "danger-": ("Let the rules decide the danger class of", {"danger": ""}),
    **{
        f"danger-{level.value}": (
            f"Set the danger class {level.value} for",
            {"danger": level.value},
        )
        for level in Danger
    },
    "category-": ("Take out of its category", {"category": None}),
}
"""What can be done to several tools: its words, and the values of `change_tool`."""
EFFECTS: Final[Mapping[str, str]] = {
    "enabled": "Disabled tools are neither found nor called.",
    "pinned": "Pinned tools are always listed to clients with exposure “hybrid”.",
    "danger": "The danger class decides whether a person has to approve calls, and whether they "
    "may be made ahead of requests. Setting a lower class than the rules do removes that care.",
    "category": "Clients can restrict a search to a category.",
}


@room("tools/", "tools", SEARCH)
def list_tools(request: RoomRequest) -> HttpResponseBase:
    """Search tools as a client does, or list them by id with filters."""
    query = request.GET.get("q", "").strip()
    wanted = {name: request.GET[name] for name in FILTERS if request.GET.get(name)}
    catalogue = load_catalogue(request)
    visible = list_visible_tools(catalogue, request.caller)
    found, problem = _search(request, query, wanted) if query else (None, "")
    page = _list_page(request, visible, wanted) if not query else None
    return render_room(
        request,
        "console/tools/list.html",
        title="Tools",
        query=query,
        wanted=wanted,
        problem=problem,
        found=describe_found(found, catalogue) if found else None,
        page=page,
        rows=[_describe_row(request, one) for one in page.items] if page else [],
        next_url=_build_next_url(request, page),
        total=len(visible),
        servers=sorted({one.server for one in visible}),
        categories=sorted({one.category for one in visible if one.category}),
        all_categories=list(configuration.load_categories()),
        dangers=[level.value for level in Danger],
        states=STATES,
        may_curate=request.caller.has_scope(CURATE),
    )


def _describe_row(request: RoomRequest, tool: CatalogueTool) -> dict[str, Any]:
    may_change = request.caller.can_decide_for_team(tool.team)
    return describe_tool(tool) | {"may_change": may_change}


@room("tools/bulk/", "tools-change", CURATE, "POST")
def change_many(request: RoomRequest) -> HttpResponseBase:
    """Ask once, in words, what a change of several tools will do; then make it."""
    effects = runtime.load_effects(request)
    chosen = _find_chosen(request, effects.catalogue())
    change = request.POST.get("change", "")
    verb, values = _read_change(change)
    if not chosen or not values:
        messages.error(request, "Nothing was changed: choose tools, and what to do with them.")
        return redirect("tools")
    if "confirmed" not in request.POST:
        return render_room(
            request,
            "console/tools/confirm.html",
            title="Change several tools?",
            verb=verb,
            change=change,
            tools=[approval_text.single_line(one.tool) for one in chosen],
            raw_tools=[one.tool for one in chosen],
            effect=EFFECTS[next(iter(values))],
        )
    try:
        pks = {one.tool: one.pk for one in chosen}
        curate_catalogue.change_tools(request.caller, pks, values)
    except (ValidationError, configuration.UnknownToolRow) as error:
        messages.error(request, f"Nothing was changed: {error}")
    else:
        wait_for_catalogue(effects, lambda now: _shows_change(now, chosen, values))
        messages.success(request, f"{len(chosen)} tools were changed.")
    return redirect("tools")


def describe_found(found: SearchResult, catalogue: Catalogue) -> dict[str, Any]:
    """Return what a search found as templates show it."""
    rows = []
    for card in found.tools:
        known = catalogue.tools.get(card.tool)
        rows.append(
            {
                "id": approval_text.single_line(card.tool),
                "url": tool_address(card.tool),
                "score": round(card.score, 2),
                "percent": round(100 * card.score),
                "role": card.role,
                "reasons": card.reasons,
                "warnings": card.warnings,
                "description": strip_invisible(card.description or ""),
                "signature": approval_text.single_line(card.arguments or ""),
                "danger": known.danger.value if known else "",
            }
        )
    return {
        "tools": rows,
        "warnings": found.warnings,
        "tokens": found.tokens_used,
        "tokens_all": found.tokens_listing_all,
        "saved": round(100 * (1 - found.tokens_used / found.tokens_listing_all))
        if found.tokens_listing_all > found.tokens_used
        else 0,
        "omitted": found.omitted_count,
        "run_order": [approval_text.single_line(one) for one in found.run_order],
    }


def _search(
    request: RoomRequest, query: str, wanted: Mapping[str, str]
) -> tuple[SearchResult | None, str]:
    """Return what a client would find, or why nothing could be searched."""
    given = {"query": query, "limit": SEARCH_LIMIT, "detail": "summary"}
    given |= {name: wanted[name] for name in ("server", "category") if name in wanted}
    try:
        checked = arguments.check_arguments(SEARCH_TOOLS, given)
        wish = read_find_request(checked)
        effects = runtime.load_effects(request)
        return runtime.run_coroutine(flow.find_tools, effects, request.caller, wish), ""
    except UserError as error:
        return None, describe_problem(error).detail


def _list_page(
    request: RoomRequest, visible: Sequence[CatalogueTool], wanted: Mapping[str, str]
) -> Page[CatalogueTool]:
    matching = (one for one in visible if has_values(one, wanted))
    return paginate_sorted(request, matching, key=lambda one: (one.tool,))


def _build_next_url(request: RoomRequest, page: Page[CatalogueTool] | None) -> str:
    if page is None or page.next_key is None:
        return ""
    query = request.GET.copy()
    query["cursor"] = encode_cursor(page.next_key)
    return f"{reverse('tools')}?{query.urlencode()}"


def _find_chosen(request: RoomRequest, catalogue: Catalogue) -> list[CatalogueTool]:
    given = dict.fromkeys(request.POST.getlist("tool"))
    found = (catalogue.tools.get(one) for one in given)
    return [one for one in found if one is not None and request.caller.can_see_team(one.team)][
        :MAX_BULK
    ]


def _read_change(change: str) -> tuple[str, dict[str, Any]]:
    if change in BULK_CHANGES:
        return BULK_CHANGES[change]
    kind, _, name = change.partition("-")
    if kind == "category" and name in configuration.load_categories():
        return f"Put into the category {name}", {"category": name}
    return "", {}


def _shows_change(
    now: Catalogue, chosen: Sequence[CatalogueTool], values: Mapping[str, Any]
) -> bool:
    """Whether a catalogue shows a change; of a danger class only an override can be told."""
    last = now.tools.get(chosen[-1].tool)
    if last is None:
        return True
    shown = {
        "enabled": last.enabled,
        "pinned": last.pinned,
        "category": last.category or None,
        "danger": last.danger.value if values.get("danger") else "",
    }
    return all(shown[name] == value for name, value in values.items())
