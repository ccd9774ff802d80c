"""The pages on which people look at what runs have shown, and have it forgotten."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.actions import delete_selected
from django.db.models import QuerySet
from django.http import HttpRequest

from gateway_project.console.audited import caller_of
from gateway_project.use_cases.forget_patterns import forget_patterns
from graph.admin.history import WorkflowPatternAdmin
from graph.store import patterns

MAX_AT_ONCE = 1_000
MAX_NAMED = 100
"""Patterns that are named before they are forgotten; the rest is counted."""
TOO_MANY = "Choose at most {:,} patterns at a time; nothing was forgotten."


class ForgettablePatterns(WorkflowPatternAdmin):
    """Workflow patterns, which those who may delete them can have forgotten."""

    actions = ("delete_selected",)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Who may delete patterns may, of those that they see."""
        return request.user.has_perm("graph.delete_workflowpattern")

    @admin.action(description="Forget selected patterns", permissions=["delete"])
    def delete_selected(self, request: HttpRequest, queryset: QuerySet[Any]) -> Any:
        """Ask, saying what goes along, and forget the patterns selected."""
        if queryset.count() > MAX_AT_ONCE:
            self.message_user(request, TOO_MANY.format(MAX_AT_ONCE), messages.ERROR)
            return None
        return delete_selected(self, request, queryset)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Name the patterns, and count what goes along, whoever may delete that."""
        chosen = list(objs)
        named = [str(row) for row in chosen[:MAX_NAMED]]
        if len(chosen) > MAX_NAMED:
            named.append(f"and {len(chosen) - MAX_NAMED:,} more")
        lacking = set() if self.has_delete_permission(request) else {"workflow pattern"}
        going = patterns.forgotten_with([row.pk for row in chosen])
        counts = {
            "workflow patterns": len(chosen),
            "recorded runs": going.runs,
            "learned bindings of their tools": going.bindings,
            "fitted models, until the next fit": going.models,
        }
        return named, counts, lacking, []

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """Forget one."""
        forget_patterns(caller_of(request), [obj.pk])

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Forget several: all or none."""
        forget_patterns(caller_of(request), list(queryset.values_list("pk", flat=True)))
