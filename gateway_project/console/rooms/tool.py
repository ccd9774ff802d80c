"""One tool: what it takes, what it may do, how it is used, and trying it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone

from execution import approval
from execution.call_errors import ApprovalRequired
from execution.call_outcome import CallOutcome
from execution.speculation.rules import is_closed_world, list_definition_reasons
from gateway_project import flow
from gateway_project.access.roles import CALL, CURATE, SEARCH, require_scope
from gateway_project.api import runtime
from gateway_project.api.problems import describe_problem
from gateway_project.console.rooms import drawing, result_text, schema_form, word_diff
from gateway_project.console.rooms.addresses import read_name, server_address, tool_address
from gateway_project.console.rooms.catalogue import (
    describe_tool,
    load_topology,
    wait_for_catalogue,
)
from gateway_project.console.rooms.page import RoomRequest, render_room, room
from gateway_project.console.rooms.schema_form import FormField
from gateway_project.effects import Effects
from gateway_project.find.answers import ToolDescription, describe_extras
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.text import strip_invisible
from gateway_project.foundation.user_error import UserError
from gateway_project.runs import approval_text
from gateway_project.use_cases import curate_catalogue
from learning.store.call_counts import load_recent_calls
from tools import scan
from tools.catalogue import CatalogueTool, UnknownTool
from tools.danger import Danger
from tools.definition_changes import find_changes
from tools.store import configuration, definitions
from tools.store.definitions import StoredVersion
from tools.upstream.request import UpstreamRequest

DAY: Final = timedelta(days=1)
MAX_DRAWN: Final = 7
"""Relations drawn on each side; the list has all that are reported."""
MAX_VERSIONS: Final = 6
MAX_CHANGES: Final = 20
YES_NO_RULES: Final[Mapping[str, bool | None]] = {"": None, "yes": True, "no": False}


@room("tools/<path:name>/", "tool-page", SEARCH, "GET", "POST")
def show_tool(request: RoomRequest, name: str) -> HttpResponseBase:
    """Show a tool; a POST does what its `action` names."""
    tool_id = read_name(name, request.GET.get("name"))
    effects = runtime.load_effects(request)
    tool = effects.catalogue().tools.get(tool_id)
    if tool is None or not request.caller.can_see_team(tool.team):
        raise UnknownTool(approval_text.single_line(tool_id), ())
    if request.method == "POST":
        action = ACTIONS.get(request.POST.get("action", ""))
        if action is None:
            messages.error(request, "Nothing was done: this page does not know that action.")
            return redirect(tool_address(tool_id))
        return action(request, effects, tool)
    return _render_tool(request, effects, tool)


def _render_tool(
    request: RoomRequest, effects: Effects, tool: CatalogueTool, **more: Any
) -> HttpResponseBase:
    caller = request.caller
    load_topology(effects, caller.owner)
    described = runtime.run_coroutine(flow.describe_tool, effects, caller, tool.tool)
    fields = schema_form.build_fields(tool.input_schema)
    is_all = caller.has_scope(SCOPE_ALL)
    calls = load_recent_calls(caller.owner, since=timezone.now() - DAY, is_all=is_all)
    may_curate = caller.has_scope(CURATE)
    may_change = may_curate and caller.can_decide_for_team(tool.team)
    context = {
        "tool": describe_tool(tool),
        "title_text": strip_invisible(tool.title),
        "description": strip_invisible(tool.description),
        "exposed_name": effects.catalogue().exposed_name(tool.tool),
        "server_url": server_address(tool.server),
        "trouble": described.trouble,
        "warnings": described.warnings,
        "findings": [strip_invisible(finding) for finding in tool.findings],
        "alternatives": [(one, tool_address(one)) for one in described.alternatives],
        "danger_reasons": tool.danger_reasons,
        "approval_reason": _explain_approval(tool, caller, effects),
        "speculation": describe_speculation(tool, caller, effects),
        "picture": draw_relations(described),
        "relations": [_describe_relation(tool, row) for row in described.relations],
        "fields": _describe_fields(fields, more.get("texts"), more.get("field_problems")),
        "tree": schema_form.list_tree(tool.input_schema),
        "schema_text": result_text.write_json(tool.input_schema),
        "output_tree": schema_form.list_tree(tool.output_schema) if tool.output_schema else (),
        "annotations": result_text.write_json(tool.annotations) if tool.annotations else "",
        "extras": result_text.write_json(describe_extras(tool.extras)) if tool.extras else "",
        "used": effects.usage(caller.owner).get(tool.pk, 0),
        "expected_ms": effects.estimate_p95_ms(caller.owner, tool.pk),
        "recent": calls.by_tool.get(tool.pk),
        "may_curate": may_curate,
        "may_change": may_change,
        "may_call": caller.has_scope(CALL),
        "versions": _describe_versions(tool) if may_curate else [],
        "settings": _load_settings(tool) if may_change else {},
        "categories": list(configuration.load_categories()) if may_change else [],
        "dangers": [level.value for level in Danger],
        "graph_url": reverse("graph", query={"source": tool.tool}),
    }
    return render_room(
        request,
        "console/tools/detail.html",
        title=approval_text.single_line(tool.name),
        **{**context, **more},
    )


def describe_speculation(tool: CatalogueTool, caller: Caller, effects: Effects) -> dict[str, Any]:
    """Return whether a tool may be called ahead of a request, with every reason against it."""
    rules = effects.rules()
    if tool.server not in rules.catalogue.servers:
        return {"is_admissible": False, "reasons": [], "is_closed": False}
    reasons = list_definition_reasons(tool, rules, team=caller.team)
    texts = [{"code": reason.code.value, "message": reason.message} for reason in reasons]
    if why := _explain_approval(tool, caller, effects):
        texts.append(
            {"code": "approval_required", "message": f"A person has to approve it: {why}."}
        )
    return {
        "is_admissible": not texts,
        "reasons": texts,
        "is_closed": is_closed_world(tool, rules, team=caller.team),
    }


def draw_relations(described: ToolDescription) -> drawing.Picture | None:
    """Return the picture of a tool's strongest relations; None if it has none."""
    own = described.tool.tool
    left: list[str] = []
    right: list[str] = []
    for row in described.relations:
        is_source = row["source"] == own
        side, other = (right, row["target"]) if is_source else (left, row["source"])
        if other not in (*left, *right) and len(side) < MAX_DRAWN:
            side.append(other)
    return drawing.draw_star(own, left, right) if left or right else None


def describe_result(outcome: CallOutcome, *, took_s: float) -> dict[str, Any]:
    """Return the answer of a server as templates show it: quoted, never as markup."""
    raw = outcome.result.raw
    return {
        "is_error": outcome.result.is_error,
        "reads_like_error": result_text.reads_like_error(raw),
        "needs_input": outcome.result.is_interim,
        "took_s": took_s,
        "served": outcome.served is not None,
        "blocks": result_text.describe_blocks(raw),
        "structured": result_text.describe_structured(raw),
    }


def _explain_approval(tool: CatalogueTool, caller: Caller, effects: Effects) -> str:
    return approval.explain_approval(tool, caller=caller, catalogue=effects.catalogue())


def _describe_relation(tool: CatalogueTool, row: Mapping[str, Any]) -> dict[str, Any]:
    other = row["target"] if row["source"] == tool.tool else row["source"]
    return {
        "says": strip_invisible(row["says"]),
        "other": approval_text.single_line(other),
        "url": tool_address(other),
        "kind": row["kind"].replace("_", " "),
        "confidence": row["confidence"],
        "percent": round(100 * row["confidence"]),
        "sources": ", ".join(row["sources"]),
        "reason": strip_invisible(str(row.get("reason", ""))),
        "unusable": strip_invisible(str(row.get("unusable", ""))),
    }


def _describe_fields(
    fields: Sequence[FormField], texts: Sequence[str] | None, problems: Mapping[int, str] | None
) -> list[dict[str, Any]]:
    return [
        {
            "place": place,
            "field": field,
            "label": approval_text.single_line(field.label),
            "description": strip_invisible(field.description),
            "text": field.text if texts is None else texts[place],
            "choices": [(choice, choice.strip('"')) for choice in field.choices],
            "problem": (problems or {}).get(place, ""),
        }
        for place, field in enumerate(fields)
    ]


def _describe_versions(tool: CatalogueTool) -> list[dict[str, Any]]:
    """Return the versions of a definition, newest first, each compared with the one before."""
    versions = definitions.load_history(tool.pk)[:MAX_VERSIONS]
    return [
        _describe_version(version, versions[place + 1] if place + 1 < len(versions) else None)
        for place, version in enumerate(versions)
    ]


def _describe_version(version: StoredVersion, before: StoredVersion | None) -> dict[str, Any]:
    changes = find_changes(before.definition, version.definition) if before else ()
    return {
        "version": version,
        "changes": [
            {
                "place": approval_text.single_line(change.pointer),
                "parts": word_diff.diff_place(
                    before.definition, version.definition, change.pointer
                ),
            }
            for change in changes[:MAX_CHANGES]
            if before is not None
        ],
        "more": max(0, len(changes) - MAX_CHANGES),
        "is_first": before is None,
        "findings": [scan.describe_finding(finding) for finding in version.findings],
    }


def _load_settings(tool: CatalogueTool) -> Mapping[str, Any]:
    return configuration.load_one_tool(tool.pk)


def _call(request: RoomRequest, effects: Effects, tool: CatalogueTool) -> HttpResponseBase:
    """Call the tool as a client would, with what was entered."""
    require_scope(request.caller, CALL)
    fields = schema_form.build_fields(tool.input_schema)
    texts = [request.POST.get(f"arg-{place}", "") for place in range(len(fields))]
    raw = request.POST.get("raw", "").strip()
    given, problems = _read_raw(raw) if raw else schema_form.read_arguments(fields, texts)
    shown: dict[str, Any] = {"texts": texts, "raw": raw, "field_problems": problems}
    if problems:
        message = problems.get(
            -1, "Some arguments cannot be sent as they are; nothing was called."
        )
        return _render_tool(request, effects, tool, **shown, call_problem=message)
    began = time.monotonic()
    try:
        outcome = runtime.run_coroutine(
            flow.call_tool, effects, request.caller, UpstreamRequest.to_call(tool.tool, given)
        )
    except ApprovalRequired as error:
        shown["approval_url"] = (
            reverse("approval", args=[error.approval]) if error.approval else ""
        )
        shown["call_problem"] = f"It needs a person's approval: {error.approval_reason}."
    except UserError as error:
        shown["call_problem"] = describe_problem(error).detail
    else:
        shown["result"] = describe_result(outcome, took_s=time.monotonic() - began)
    return _render_tool(request, effects, tool, **shown, sent=result_text.write_json(given))


def _read_raw(text: str) -> tuple[dict[str, Any], dict[int, str]]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        return {}, {-1: f"The JSON cannot be read: {error}"}
    return (value, {}) if isinstance(value, dict) else ({}, {-1: "Enter a JSON object."})


def _change(request: RoomRequest, effects: Effects, tool: CatalogueTool) -> HttpResponseBase:
    """Change the tool's settings to what was chosen."""
    require_scope(request.caller, CURATE)
    given = request.POST
    values: dict[str, Any] = {
        "enabled": "enabled" in given,
        "pinned": "pinned" in given,
        "danger": given.get("danger", ""),
        "approval": given.get("approval", ""),
        "repeatable": YES_NO_RULES.get(given.get("repeatable", "")),
        "category": given.get("category") or None,
    }
    before = _load_settings(tool)
    changed = {name: value for name, value in values.items() if before.get(name) != value}
    try:
        if changed:
            curate_catalogue.change_tool(request.caller, tool.tool, changed, pk=tool.pk)
    except (ValidationError, configuration.UnknownToolRow, LookupError) as error:
        messages.error(request, f"Nothing was changed: {error}")
    else:
        wait_for_catalogue(
            effects, lambda now: now.tools.get(tool.tool) is not tool or not changed
        )
        messages.success(request, "Saved." if changed else "Nothing was different.")
    return redirect(tool_address(tool.tool))


Action = Callable[[RoomRequest, Effects, CatalogueTool], HttpResponseBase]
ACTIONS: Final[Mapping[str, Action]] = {"call": _call, "change": _change}
"""What a POST to a tool's page may do."""
