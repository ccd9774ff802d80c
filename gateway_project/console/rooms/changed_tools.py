"""Definitions that wait for a person: what changed, word by word, and what was found in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.contrib import messages
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse

from gateway_project.access.roles import CURATE
from gateway_project.api import runtime
from gateway_project.console.rooms import schema_form, word_diff
from gateway_project.console.rooms.addresses import tool_address
from gateway_project.console.rooms.catalogue import wait_for_catalogue
from gateway_project.console.rooms.page import RoomRequest, render_room, room
from gateway_project.foundation.text import strip_invisible
from gateway_project.readiness import NotReady
from gateway_project.runs import approval_text
from gateway_project.use_cases import curate_catalogue
from gateway_project.use_cases.approve_tools import (
    approve_pages,
    approve_tools,
    compare_page,
    load_waiting,
    load_waiting_pages,
)
from tools import hidden_text, scan, skills
from tools.catalogue import Catalogue
from tools.store import approvals, overview
from tools.store import pages as stored_pages
from tools.store.approvals import UnapprovedTool
from tools.store.pages import WaitingPage

MAX_SHOWN: Final = 50
"""Definitions shown at once, of one server."""
MAX_CHANGES: Final = 30
PLACES: Final[Mapping[str, str]] = {
    "/description": "description",
    "/title": "title",
    "/input_schema": "arguments",
    "/output_schema": "result",
    "/annotations": "what it says of itself",
    "/extras": "metadata and icons",
    "/name": "name",
}


@room("tools/changed/", "tools-changed", CURATE)
def list_changed(request: RoomRequest) -> HttpResponseBase:
    """Show what waits for approval, one server at a time."""
    summaries = overview.load_visible_summaries(request.caller)
    visible = {one.name for one in summaries}
    pages = [one for one in stored_pages.load_waiting() if one.server in visible]
    counts = Counter(one.server for one in pages)
    counts.update({one.name: one.pending + one.quarantined for one in summaries})
    waiting = [one for one in summaries if counts[one.name]]
    names = [one.name for one in waiting]
    wanted = request.GET.get("server", "")
    server = wanted if wanted in names else next(iter(names), "")
    team = next((one.team_pk for one in waiting if one.name == server), None)
    items = load_waiting(request.caller, server=server) if server else []
    disabled = _list_disabled(request)
    shown = [one for one in items if one.tool not in disabled]
    left_out = [one for one in items if one.tool in disabled]
    return render_room(
        request,
        "console/tools/changed.html",
        title="Changed tools",
        servers=[
            {
                "name": approval_text.single_line(one.name),
                "raw_name": one.name,
                "count": counts[one.name],
                "url": reverse("tools-changed", query={"server": one.name}),
            }
            for one in waiting
        ],
        server=server,
        total=sum(counts[one.name] for one in waiting),
        items=[describe_waiting(one) for one in shown[:MAX_SHOWN]],
        more=max(0, len(shown) - MAX_SHOWN),
        pages=[describe_page(one) for one in pages if one.server == server][:MAX_SHOWN],
        may_leave_out=request.caller.can_decide_for_team(team),
        left_out=[
            {"id": approval_text.single_line(one.tool), "url": tool_address(one.tool)}
            for one in left_out[:MAX_SHOWN]
        ],
    )


@room("tools/changed/decide/", "tools-changed-decide", CURATE, "POST")
def decide(request: RoomRequest) -> HttpResponseBase:
    """Approve the definitions that the person saw, or leave tools out."""
    if request.POST.get("decision") == "pages":
        return _decide_pages(request)
    shown = _read_shown(request.POST.getlist("tool"))
    items = load_waiting(request.caller, tools=list(shown)) if shown else []
    if not items:
        messages.error(request, "Nothing was decided: choose tools that still wait.")
    elif request.POST.get("decision") == "leave":
        tools = {one.tool: one.pk for one in items}
        curate_catalogue.change_tools(request.caller, tools, {"enabled": False})
        messages.success(
            request, f"{len(items)} left out: disabled, whatever their servers list from now on."
        )
        _wait_until(request, lambda now: _are_disabled(now, items))
    else:
        _approve(request, items, shown)
    return redirect(reverse("tools-changed", query={"server": request.POST.get("server", "")}))


def describe_waiting(item: UnapprovedTool) -> dict[str, Any]:
    """Return a definition that waits as templates show it, with hidden characters spelt out."""
    listed = item.listed
    return {
        "pk": item.pk,
        "id": approval_text.single_line(item.tool),
        "url": tool_address(item.tool),
        "state": item.state,
        "is_new": item.approved is None,
        "hash": item.listed_hash,
        "description": strip_invisible(listed.description),
        "tree": schema_form.list_tree(listed.input_schema),
        "findings": [scan.describe_finding(finding) for finding in item.findings],
        "is_severe": scan.is_severe(item.findings),
        "unstable": [approval_text.single_line(place) for place in item.unstable_places],
        "changes": [
            {
                "place": approval_text.single_line(change.pointer),
                "part": _name_place(change.pointer),
                "parts": word_diff.diff_place(item.approved, listed, change.pointer),
            }
            for change in item.changes[:MAX_CHANGES]
            if item.approved is not None
        ],
        "more": max(0, len(item.changes) - MAX_CHANGES),
    }


def describe_page(page: WaitingPage) -> dict[str, Any]:
    """Return a page or a skill that waits as templates show it."""
    return {
        "uri": page.listed.name,
        "hash": page.listed_hash,
        "kind": "page" if skills.entry_of(page.listed) is None else "skill",
        "is_new": page.approved is None,
        "findings": [scan.describe_finding(finding) for finding in page.findings],
        "is_severe": scan.is_severe(page.findings),
        "lines": [hidden_text.reveal_hidden(line) for line in compare_page(page)],
    }


def _decide_pages(request: RoomRequest) -> HttpResponseBase:
    """Approve the pages and skills that the person saw, as they were seen."""
    server = request.POST.get("server", "")
    shown = set(request.POST.getlist("page"))
    chosen = [
        one
        for one in load_waiting_pages(request.caller, server=server)
        if f"{one.listed_hash}:{one.listed.name}" in shown
    ]
    approved = approve_pages(request.caller, chosen, user=request.user) if chosen else 0
    if approved:
        messages.success(request, f"{approved} approved; clients get them from now on.")
    if approved < len(shown) or not shown:
        messages.warning(
            request, "Not all were approved: choose what still waits, and look again at changes."
        )
    return redirect(reverse("tools-changed", query={"server": server}))


def _name_place(pointer: str) -> str:
    """Return which part of a definition a pointer leads into, in words."""
    return next((words for start, words in PLACES.items() if pointer.startswith(start)), pointer)


def _approve(
    request: RoomRequest, items: Sequence[UnapprovedTool], shown: Mapping[int, str]
) -> None:
    ignore = {}
    if request.POST.get("decision") == "ignore":
        ignore = {one.pk: one.unstable_places for one in items if one.unstable_places}
    approved = approve_tools(
        request.caller,
        approvals.unapproved_rows(items),
        user=request.user,
        shown={one.pk: shown[one.pk] for one in items},
        ignore=ignore,
    )
    if approved:
        messages.success(request, f"{len(approved)} approved; clients find them within a second.")
        _wait_until(request, lambda now: _is_active(now, approved[-1]))
    if len(approved) < len(shown):
        messages.warning(
            request,
            f"{len(shown) - len(approved)} changed since you saw them: look again.",
        )


def _read_shown(values: Sequence[str]) -> dict[int, str]:
    """Return the hashes that the person saw, by primary key of the tool."""
    shown: dict[int, str] = {}
    for value in values:
        pk, _, definition = value.partition(":")
        if pk.isascii() and pk.isdigit() and len(pk) < 19:
            shown[int(pk)] = definition
    return shown


def _list_disabled(request: RoomRequest) -> frozenset[str]:
    try:
        catalogue = runtime.load_effects(request).catalogue()
    except NotReady:
        return frozenset()
    return frozenset(one.tool for one in catalogue.tools.values() if not one.enabled)


def _wait_until(request: RoomRequest, is_applied: Any) -> None:
    try:
        wait_for_catalogue(runtime.load_effects(request), is_applied)
    except NotReady:  # it is stored, and a gateway that starts reads it
        return


def _are_disabled(now: Catalogue, items: Sequence[UnapprovedTool]) -> bool:
    known = (now.tools.get(one.tool) for one in items)
    return not any(one.enabled for one in known if one is not None)


def _is_active(now: Catalogue, tool: str) -> bool:
    known = now.tools.get(tool)
    return known is not None and known.state == "active"
