"""Approval of tools that ignores future changes in the places that keep changing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from gateway_project.console.audited_admin import caller_of
from gateway_project.foundation import canonical
from gateway_project.runs import approval_text
from gateway_project.use_cases.approve_tools import approve_tools
from tools.store import approvals
from tools.store.approvals import UnapprovedTool

if TYPE_CHECKING:
    from tools.models import Tool

ACTION_NAME: Final = "approve_unstable_tools"
ACTION_LABEL: Final = "Approve, and ignore future changes in the unstable places"
SHOWN_FIELD: Final = "shown"
"""Form field with the fingerprint of each tool that the page showed."""
CONFIRMED_FIELD: Final = "confirmed"


def decide_unstable_tools(request: HttpRequest, tools: Sequence[Tool]) -> HttpResponse:
    """Show the places that would be ignored; approve the shown tools on confirmation."""
    unstable = approvals.load_unstable(tools)
    if CONFIRMED_FIELD in request.POST:
        _approve_shown(request, unstable)
        return redirect("admin:tools_tool_changelist")
    if len(unstable) < len(tools):
        messages.warning(
            request,
            f"{len(tools) - len(unstable)} of the tools selected differ elsewhere too, or do not "
            "wait for approval; they are left out.",
        )
    if not unstable:
        return redirect("admin:tools_tool_changelist")
    return render(
        request,
        "console/unstable_tools.html",
        {
            **admin.site.each_context(request),
            "title": "Ignore future changes?",
            "tools": [_tool_row(item) for item in unstable],
            "action": ACTION_NAME,
            "label": ACTION_LABEL,
            "shown": SHOWN_FIELD,
            "confirmed": CONFIRMED_FIELD,
        },
    )


def _approve_shown(request: HttpRequest, unstable: Iterable[UnapprovedTool]) -> None:
    shown = frozenset(request.POST.getlist(SHOWN_FIELD))
    confirmed = [item for item in unstable if _compute_fingerprint(item) in shown]
    approved = approve_tools(
        caller_of(request),
        approvals.unapproved_rows(confirmed),
        user=request.user,
        shown={item.pk: item.listed_hash for item in confirmed},
        ignore={item.pk: item.unstable_places for item in confirmed},
    )
    messages.success(request, f"{len(approved)} of {len(shown)} tools approved.")
    if len(approved) < len(shown):
        messages.error(
            request,
            f"{len(shown) - len(approved)} changed since the page was shown and still wait: "
            "choose the action again to see them as they are listed now.",
        )


def _compute_fingerprint(item: UnapprovedTool) -> str:
    """Return a digest of the decision: the tool, its definition and the places to ignore."""
    return canonical.hash_json([item.pk, item.listed_hash, *item.unstable_places])


def _tool_row(item: UnapprovedTool) -> dict[str, object]:
    """Return the template row of a tool; foreign texts with invisible characters escaped."""
    changes = {change.pointer: change for change in item.changes}
    places = [
        {
            "pointer": approval_text.single_line(pointer),
            "before": changes[pointer].before if pointer in changes else "",
            "after": changes[pointer].after if pointer in changes else "",
        }
        for pointer in item.unstable_places
    ]
    return {
        "tool": approval_text.single_line(item.tool),
        "hash": item.listed_hash,
        "versions": item.versions,
        "places": places,
        "fingerprint": _compute_fingerprint(item),
        "pk": item.pk,
    }
