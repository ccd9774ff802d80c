"""Pages on which people view learned workflow patterns and delete them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.actions import delete_selected
from django.db.models import QuerySet
from django.http import HttpRequest

from gateway_project.console.audited_admin import caller_of
from gateway_project.use_cases.forget_patterns import forget_patterns
from graph.admin.history import WorkflowPatternAdmin
from graph.store import patterns

MAX_SELECTED = 1_000
MAX_NAMED = 100
"""Patterns named in the confirmation; the others are counted."""
TOO_MANY_SELECTED = "Choose at most {:,} patterns at a time; nothing was forgotten."


class ForgettablePatternAdmin(WorkflowPatternAdmin):
    """Workflow patterns with a delete action that also deletes what was learned from them."""

    actions = ("delete_selected",)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Return whether the user may delete the patterns that they see."""
        return request.user.has_perm("graph.delete_workflowpattern")

    @admin.action(description="Forget selected patterns", permissions=["delete"])
    def delete_selected(self, request: HttpRequest, queryset: QuerySet[Any]) -> Any:
        """Forget the selected patterns after a confirmation that lists the consequences."""
        if queryset.count() > MAX_SELECTED:
            self.message_user(request, TOO_MANY_SELECTED.format(MAX_SELECTED), messages.ERROR)
            return None
        return delete_selected(self, request, queryset)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Name the patterns and count everything that is deleted with them."""
        rows = list(objs)
        names = [str(row) for row in rows[:MAX_NAMED]]
        if len(rows) > MAX_NAMED:
            names.append(f"and {len(rows) - MAX_NAMED:,} more")
        missing_permissions = (
            set() if self.has_delete_permission(request) else {"workflow pattern"}
        )
        forgotten = patterns.count_forgotten([row.pk for row in rows])
        counts = {
            "workflow patterns": len(rows),
            "recorded runs": forgotten.runs,
            "learned bindings of their tools": forgotten.bindings,
            "fitted models, until the next fit": forgotten.models,
        }
        return names, counts, missing_permissions, []

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """Forget one pattern."""
        forget_patterns(caller_of(request), [obj.pk])

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Forget several patterns, all or none."""
        forget_patterns(caller_of(request), list(queryset.values_list("pk", flat=True)))
