"""Pages of tools: what of their definitions is approved, and how they are used."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from gateway_project.access.roles import NotPermitted
from gateway_project.console.audited_admin import AuditedAdmin, caller_of
from gateway_project.use_cases.approve_tools import approve_tools as approve
from gateway_project.use_cases.approve_tools import compare_tools_in_full
from gateway_project.use_cases.pin_tools import set_pinned
from graph.admin.tools import ToolRelationsMixin
from tools.admin import ToolAdmin


@admin.action(description="Approve the newest definition", permissions=["change"])
def approve_tools(_: Any, request: HttpRequest, queryset: QuerySet[Any]) -> None:
    """Approve the definitions that the servers list now for the selected tools."""
    tools = list(queryset.select_related("server"))
    approved = approve(caller_of(request), tools, user=request.user)
    messages.success(request, f"{len(approved)} of {len(tools)} tools approved.")


@admin.action(description="Compare the whole definition again", permissions=["change"])
def compare_in_full(_: Any, request: HttpRequest, queryset: QuerySet[Any]) -> None:
    """Compare the selected tools in full again, without ignored places."""
    changed = compare_tools_in_full(caller_of(request), queryset)
    messages.success(request, f"{len(changed)} tools are compared in full again.")


@admin.action(description="Pin: show in exposure hybrid", permissions=["change"])
def pin_tools(_: Any, request: HttpRequest, queryset: QuerySet[Any]) -> None:
    """List the selected tools under exposure `hybrid`."""
    _set_pinned(request, queryset, pinned=True)


@admin.action(description="Unpin", permissions=["change"])
def unpin_tools(_: Any, request: HttpRequest, queryset: QuerySet[Any]) -> None:
    """Stop listing the selected tools under exposure `hybrid`."""
    _set_pinned(request, queryset, pinned=False)


def _set_pinned(request: HttpRequest, queryset: QuerySet[Any], *, pinned: bool) -> None:
    tools = list(queryset.select_related("server"))
    try:
        changed = set_pinned(caller_of(request), tools, pinned=pinned)
    except NotPermitted as error:
        hint = "; for tools of a team of yours, choose the team in the console first"
        messages.error(request, f"Nothing was changed: {error}{hint}.")
    else:
        verb = "pinned" if pinned else "unpinned"
        messages.success(request, f"{len(changed)} tools {verb}.")


class AuditedToolAdmin(AuditedAdmin, ToolRelationsMixin, ToolAdmin):
    """Tools with their approval, with audited changes; of shared servers, only superusers'."""

    actions = (approve_tools, compare_in_full, pin_tools, unpin_tools)
    change_form_template = "console/tool_change.html"

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether the user may change tools, or those of the server of one."""
        is_permitted = super().has_change_permission(request, obj)
        if obj is None or not is_permitted:
            return is_permitted
        return caller_of(request).can_decide_for_team(obj.server.team_id)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Say why the page is read-only to somebody who may change other tools."""
        tool = context["original"]
        if self.has_change_permission(request) and not self.has_change_permission(request, tool):
            context["read_only_hint"] = _explain_read_only(tool)
        return super().render_change_form(request, context, *args, **kwargs)

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Let only who decides about shared tools edit in the list, which has all in one form."""
        found: Any = super().get_changelist_instance(request)
        if not caller_of(request).can_decide_for_team(None):
            found.list_editable = ()
        return found


def _explain_read_only(tool: Any) -> str:
    """Return what lets the viewer change a tool, which is shared or of a team of theirs."""
    if tool.server.team is None:
        return "All teams share its server, so only a superuser changes how it is used."
    return (
        f"It belongs to the team {tool.server.team.name}. To change how it is used, choose the "
        "team in the console first: you act for another team, or for none."
    )
