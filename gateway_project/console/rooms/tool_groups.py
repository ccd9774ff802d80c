"""Tool groups: what each holds, how to connect to it, and what stops working without it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render

from gateway_project.access import tokens
from gateway_project.access.grant import TokenNotGrantable
from gateway_project.access.roles import ADMINISTER
from gateway_project.api import runtime
from gateway_project.console.rooms import access, connect
from gateway_project.console.rooms.page import RoomRequest, render_room, room
from gateway_project.foundation.caller import CLIENT_SCOPES
from gateway_project.runs import approval_text
from gateway_project.use_cases import curate_tool_groups
from gateway_project.use_cases.refusals import InvalidEntry
from tools.catalogue import Catalogue, CatalogueTool
from tools.store import configuration
from tools.tool_groups import GroupMembers, index_groups

MAX_FOUND: Final = 30
MAX_NAMED: Final = 500
"""Single tools of a group that the form can hold; REST takes more."""


class GroupTokenForm(forms.Form):
    """A token that is limited to a group; its scopes are those of a client."""

    token_name = forms.CharField(max_length=100, required=False, label="What uses it")
    days = access.make_days_field()


@room("tools/groups/", "tool-groups", ADMINISTER, "GET", "POST")
def show_groups(request: RoomRequest) -> HttpResponse:
    """List the groups; a POST adds one without tools and leads to it."""
    problem = ""
    if request.method == "POST":
        name = request.POST.get("name", "").strip()
        values = {"description": request.POST.get("description", "").strip()}
        try:
            curate_tool_groups.save_group(request.caller, name, values, adds=True)
            return redirect("tool-group", name)
        except InvalidEntry as error:
            problem = str(error)
    counts = tokens.count_by_group(request.caller)
    catalogue = runtime.load_effects(request).catalogue()
    return render_room(
        request,
        "console/groups/list.html",
        title="Tool groups",
        status=400 if problem else 200,
        problem=problem,
        given=request.POST,
        groups=[
            {
                "row": row,
                "path": connect.build_group_url(request, row.name),
                "tools": len(_list_held(request, row, catalogue)),
                "tokens": counts.get(row.pk, 0),
            }
            for row in curate_tool_groups.list_groups(request.caller)
        ],
    )


@room("tools/groups/<slug:name>/", "tool-group", ADMINISTER, "GET", "POST")
def show_group(request: RoomRequest, name: str) -> HttpResponse:
    """Show a group; a POST saves what it holds, deletes it, or creates a token for it."""
    row = curate_tool_groups.find_group(request.caller, name)
    problem = ""
    action = request.POST.get("action", "")
    token_form = GroupTokenForm(request.POST if action == "token" else None)
    try:
        if request.method == "POST" and action == "delete":
            curate_tool_groups.delete_group(request.caller, name)
            messages.success(request, f"The group {name} and its tokens are deleted.")
            return redirect("tool-groups")
        if token_form.is_bound and token_form.is_valid():
            return _create_token(request, name, token_form.cleaned_data)
        if request.method == "POST" and action not in ("preview", "token"):
            curate_tool_groups.save_group(request.caller, name, _read(request, row), adds=False)
            messages.success(request, "Saved; clients see these tools within a second.")
            return redirect("tool-group", name)
    except (InvalidEntry, TokenNotGrantable) as error:
        problem = str(error)
    return render_room(
        request,
        "console/groups/group.html",
        title=name,
        status=400 if problem or token_form.errors else 200,
        problem=problem,
        group=row,
        token_form=token_form,
        address=connect.build_group_url(request, name),
        tokens=list(tokens.select_of_group(row, caller=request.caller)),
        may_change=request.caller.can_decide_for_team(row.team_id),
        **_describe_choice(request, row),
    )


@room("tools/groups/<slug:name>/preview/", "tool-group-preview", ADMINISTER, "POST")
def preview(request: RoomRequest, name: str) -> HttpResponseBase:
    """Return what a group would hold, and tools that were searched for, as a part of the page."""
    row = curate_tool_groups.find_group(request.caller, name)
    return render(request, "console/groups/_choice.html", _describe_choice(request, row))


def _create_token(request: RoomRequest, name: str, given: Mapping[str, Any]) -> HttpResponse:
    values = {
        "name": given["token_name"] or name,
        "scopes": CLIENT_SCOPES,
        "days": given["days"],
    }
    return access.create_token(request, values, group=name)


def _read(request: RoomRequest, row: Any) -> dict[str, Any]:
    """Return what the form says of a group; too many single tools stay as they are."""
    values: dict[str, Any] = {"description": request.POST.get("description", "").strip()}
    values |= {one: request.POST.getlist(one) for one in ("servers", "categories")}
    if len(row.tools) <= MAX_NAMED:
        values["tools"] = request.POST.getlist("tools")
    return values


def _list_held(
    request: RoomRequest, row: Any, catalogue: Catalogue, **chosen: Any
) -> list[CatalogueTool]:
    """Return the tools that clients of a group see, by id; those not there yet are not."""
    values = {one: getattr(row, one) for one in ("servers", "categories", "tools")} | chosen
    sets = {one: frozenset(values[one]) for one in ("servers", "categories", "tools")}
    index = index_groups([GroupMembers(name=row.name, **sets)])
    team = row.team_id if row.team_id is not None else request.caller.team
    return [
        tool
        for tool_id, tool in sorted(catalogue.tools.items())
        if tool.team in (None, team)
        and index.find_groups(tool_id, server=tool.server, category=tool.category)
    ]


def _describe_choice(request: RoomRequest, row: Any) -> dict[str, Any]:
    """Return what is chosen, by the form if it was sent, and what could be."""
    chosen = {one: list(getattr(row, one)) for one in ("servers", "categories", "tools")}
    if request.method == "POST" and request.POST.get("action") != "token":
        chosen |= {key: value for key, value in _read(request, row).items() if key in chosen}
    team = row.team_id if row.team_id is not None else request.caller.team
    catalogue = runtime.load_effects(request).catalogue()
    visible = [tool for tool in catalogue.tools.values() if tool.team in (None, team)]
    servers = sorted({tool.server for tool in visible} | set(chosen["servers"]))
    categories = sorted({*configuration.load_categories(), *chosen["categories"]})
    words = request.POST.get("q", "").strip().casefold()
    found = [
        tool.tool
        for tool in sorted(visible, key=lambda one: one.tool)
        if words and words in f"{tool.tool} {tool.title}".casefold()
    ]
    return {
        "held": len(_list_held(request, row, catalogue, **chosen)),
        "query": request.POST.get("q", ""),
        "servers": [
            (one, approval_text.single_line(one), one in chosen["servers"]) for one in servers
        ],
        "categories": [(one, one, one in chosen["categories"]) for one in categories],
        "named": [
            (one, approval_text.single_line(one), True) for one in chosen["tools"][:MAX_NAMED]
        ],
        "is_too_long": len(row.tools) > MAX_NAMED,
        "found": [
            (one, approval_text.single_line(one), False)
            for one in found
            if one not in chosen["tools"]
        ][:MAX_FOUND],
    }
