"""What counts as dangerous: patterns with a preview of what they match, and exceptions."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any, Final

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render

from gateway_project.access.roles import CURATE, READ, require_scope
from gateway_project.api import runtime
from gateway_project.console.rooms.addresses import tool_address
from gateway_project.console.rooms.catalogue import load_catalogue, wait_for_catalogue
from gateway_project.console.rooms.page import RoomRequest, render_room, room
from gateway_project.readiness import NotReady
from gateway_project.runs import approval_text
from gateway_project.use_cases import curate_catalogue, curate_danger
from gateway_project.use_cases.curate_danger import PatternPreview
from gateway_project.use_cases.refusals import InvalidEntry
from tools.catalogue import Catalogue
from tools.danger import SEVERITY, Danger, DangerMatcher, DangerPattern
from tools.store import configuration, danger
from tools.store.danger import StoredOperation, UnknownOperation

LEVELS: Final = tuple(level.value for level in Danger if level is not Danger.READ)
MAX_PATTERN_CHARS: Final = 100
MAX_PREVIEWED: Final = 40
MAX_OFFERED: Final = 200
MEANINGS: Final[Mapping[str, str]] = {
    "write": "changes something; never called ahead without an admin's grant",
    "destructive": "may lose something; never called ahead of requests",
    "dangerous": "a person has to approve each call; never called ahead of requests",
}


@room("danger/", "danger", READ, "GET", "POST")
def show_patterns(request: RoomRequest) -> HttpResponseBase:
    """Show the dangerous operations and the exceptions; a POST adds, changes or deletes."""
    if request.method == "POST":
        require_scope(request.caller, CURATE)
        return _change(request)
    return _render_page(request)


@room("danger/preview/", "danger-preview", CURATE, "POST")
def preview(request: RoomRequest) -> HttpResponseBase:
    """Return what a pattern would match, as a part of the page; stores nothing."""
    pattern, level = _read_pattern(request)
    found = _preview(request, pattern, level) if pattern else None
    context = {"preview": describe_preview(found, level) if found else None, "pattern": pattern}
    return render(request, "console/danger/_preview.html", context)


def describe_preview(found: PatternPreview, level: str) -> dict[str, Any]:
    """Return a preview as templates show it."""
    return {
        "count": found.count,
        "level": level,
        "raised_count": len(found.raised),
        "rows": [
            {
                "id": approval_text.single_line(tool),
                "url": tool_address(tool),
                "is_raised": tool in found.raised,
            }
            for tool in found.matched[:MAX_PREVIEWED]
        ],
        "more": max(0, found.count - MAX_PREVIEWED),
    }


def _render_page(
    request: RoomRequest,
    *,
    problem: str = "",
    given: Mapping[str, str] | None = None,
) -> HttpResponseBase:
    catalogue = load_catalogue(request)
    operations = danger.load_operations()
    editing: StoredOperation | None = None
    if request.GET.get("edit", "").isdigit():
        editing = next((o for o in operations if str(o.pk) == request.GET["edit"]), None)
    counts = _count_matches(operations, catalogue, request)
    rows = [asdict(one) | {"count": counts[one.pk]} for one in operations]
    may_curate = request.caller.has_scope(CURATE)
    changeable = _list_changeable(catalogue, request) if may_curate else []
    form = dict(given or {})
    if editing is not None and given is None:
        form = {"pattern": editing.pattern, "danger": editing.danger, "reason": editing.reason}
    shown = None
    if may_curate and form.get("pattern"):
        level = form.get("danger", LEVELS[-1])
        shown = describe_preview(_preview(request, form["pattern"], level), level)
    return render_room(
        request,
        "console/danger/list.html",
        title="Dangerous operations",
        status=400 if problem else 200,
        curated=[row for row in rows if row["source"] == "curated"],
        seeded=_group_by_level([row for row in rows if row["source"] != "curated"]),
        exceptions=_list_exceptions(catalogue, request),
        levels=[(level, MEANINGS[level]) for level in LEVELS],
        dangers=[level.value for level in Danger],
        changeable=changeable,
        editing=editing,
        form=form,
        problem=problem,
        preview=shown,
        may_curate=may_curate,
    )


def _group_by_level(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return patterns by class, the worst first; those that match tools first in each."""
    groups = []
    for level in reversed(LEVELS):
        chosen = sorted(
            (row for row in rows if row["danger"] == level),
            key=lambda row: (-row["count"], row["pattern"]),
        )
        if chosen:
            matching = sum(row["count"] > 0 for row in chosen)
            groups.append({"level": level, "rows": chosen, "matching": matching})
    return groups


def _count_matches(
    operations: list[StoredOperation], catalogue: Catalogue, request: RoomRequest
) -> dict[int, int]:
    """Return how many visible tools each operation matches; O(words of all names)."""
    by_pattern = {one.pattern: one.pk for one in operations}
    matcher = DangerMatcher(
        DangerPattern(pattern=one.pattern, danger=Danger(one.danger)) for one in operations
    )
    counts = dict.fromkeys((one.pk for one in operations), 0)
    for tool in catalogue.tools.values():
        if request.caller.can_see_team(tool.team):
            for found in matcher.find_matches(tool.name, tool.title, tool.server):
                counts[by_pattern[found.pattern]] += 1
    return counts


def _list_exceptions(catalogue: Catalogue, request: RoomRequest) -> list[dict[str, Any]]:
    """Return the visible tools whose class a person set, and the class that they have by it."""
    rows = []
    for tool_id, stored in configuration.load_tool_settings().items():
        tool = catalogue.tools.get(tool_id)
        if stored["danger"] and tool is not None and request.caller.can_see_team(tool.team):
            rows.append(
                {
                    "id": approval_text.single_line(tool_id),
                    "raw_id": tool_id,
                    "url": tool_address(tool_id),
                    "danger": stored["danger"],
                    "reasons": [one for one in tool.danger_reasons if "admin" not in one],
                    "approval": stored["approval"],
                    "may_change": request.caller.can_decide_for_team(tool.team),
                }
            )
    return sorted(rows, key=lambda row: (-SEVERITY[Danger(row["danger"])], row["id"]))


def _list_changeable(catalogue: Catalogue, request: RoomRequest) -> list[str]:
    """Return tools whose class the caller may set, the first by name."""
    names = (
        tool_id
        for tool_id, tool in catalogue.tools.items()
        if request.caller.can_see_team(tool.team) and request.caller.can_decide_for_team(tool.team)
    )
    return heapq.nsmallest(MAX_OFFERED, names)


def _read_pattern(request: RoomRequest) -> tuple[str, str]:
    level = request.POST.get("danger", "")
    pattern = request.POST.get("pattern", "").strip()[:MAX_PATTERN_CHARS]
    return pattern, level if level in LEVELS else LEVELS[-1]


def _preview(request: RoomRequest, pattern: str, level: str) -> PatternPreview:
    catalogue = load_catalogue(request)
    return curate_danger.preview_pattern(request.caller, catalogue, pattern, Danger(level))


def _change(request: RoomRequest) -> HttpResponseBase:
    action, _, named = request.POST.get("action", "save").partition("-")
    pk = _read_key(named or request.POST.get("pk", ""))
    before = load_catalogue(request)
    try:
        if action == "preview":
            return _render_page(request, given=request.POST.dict())
        if action == "exception":
            _save_exception(request, before)
        elif action == "delete" and pk is not None:
            curate_danger.delete_operation(request.caller, pk)
            messages.success(request, "Deleted; the tools that it matched are judged without it.")
        elif action in ("enable", "disable") and pk is not None:
            values: dict[str, Any] = {"enabled": action == "enable"}
            curate_danger.save_operation(request.caller, values, pk=pk)
            messages.success(request, f"The pattern is {action}d.")
        else:
            pattern, level = _read_pattern(request)
            values = {"pattern": pattern, "danger": level}
            values["reason"] = request.POST.get("reason", "").strip()[:1_000]
            stored = curate_danger.save_operation(request.caller, values, pk=pk)
            messages.success(request, f"Saved: “{stored.pattern}” is {stored.danger}.")
    except (InvalidEntry, ValidationError) as error:
        problem = " ".join(getattr(error, "messages", [str(error)]))
        return _render_page(request, problem=problem, given=request.POST.dict())
    except (UnknownOperation, configuration.UnknownToolRow):
        messages.error(request, "Nothing was changed: somebody else deleted it.")
    with suppress(NotReady):  # it is stored, and a gateway that starts reads it
        wait_for_catalogue(runtime.load_effects(request), lambda now: now is not before)
    return redirect("danger")


def _save_exception(request: RoomRequest, catalogue: Catalogue) -> None:
    tool_id, level = request.POST.get("tool", "").strip(), request.POST.get("danger", "")
    tool = catalogue.tools.get(tool_id)
    if tool is None or not request.caller.can_see_team(tool.team):
        raise InvalidEntry(f"there is no tool {approval_text.single_line(tool_id)!r}")
    if level and level not in list(Danger):
        raise InvalidEntry("choose a class")
    curate_catalogue.change_tool(request.caller, tool_id, {"danger": level}, pk=tool.pk)
    verb = f"is {level}, whatever the patterns say" if level else "is judged by the patterns again"
    messages.success(request, f"{approval_text.single_line(tool_id)} {verb}.")


def _read_key(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
