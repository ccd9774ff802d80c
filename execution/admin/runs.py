"""The admin page of runs. Inputs and results are sealed and not shown."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html_join
from django.utils.safestring import mark_safe

from execution.admin.bases import SHORT_ID_CHARS, filter_visible_runs, is_run_id
from execution.models import WorkflowExecution
from tools.admin_bases import ReadOnlyAdmin

RELATED_MODELS = {
    "taskrun": "tasks",
    "executionevent": "events",
    "runcommand": "commands",
    "approval": "approvals",
    "payload": "payloads",
}
"""Models of rows that belong to a run, with their labels."""


class WorkflowExecutionAdmin(ReadOnlyAdmin):
    """Runs of workflows, newest first."""

    list_display = (
        "short_id", "status", "user", "team", "tasks_total", "created_at", "duration_label",
        "error_code"
    )  # fmt: skip
    list_filter = ("status", ("team", admin.RelatedOnlyFieldListFilter), "is_direct", "kind")
    list_select_related = ("team",)
    search_fields = ("id__exact", "user")
    search_help_text = "id of a run, or part of a user's name"
    ordering = ("-created_at",)
    date_hierarchy = "created_at"
    show_full_result_count = False
    fields = (
        "id", "status", "error_code", "user", "team", "kind", "scopes", "is_direct",
        "related_links",
        "tasks_total", "version", "options", "created_at", "started_at", "changed_at", "ended_at",
        "duration_label", "deadline_at", "delivered_at", "learned_at", "owner", "epoch",
        "lease_until",
        "last_seq",
    )  # fmt: skip
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Exclude runs that the user may not see."""
        return filter_visible_runs(request, super().get_queryset(request))

    def get_search_results(
        self,
        request: HttpRequest,  # noqa: ARG002 - Django's signature
        queryset: QuerySet[Any],
        search_term: str,
    ) -> tuple[QuerySet[Any], bool]:
        """Search for a run by its whole id, else for users by part of their names."""
        term = search_term.strip().replace("\x00", "")
        if not term:
            return queryset, False
        wanted = Q(id=term) if is_run_id(term) else Q(user__icontains=term)
        return queryset.filter(wanted), False

    @admin.display(description="run", ordering="id")
    def short_id(self, row: WorkflowExecution) -> str:
        """The beginning of its id."""
        return str(row.pk)[:SHORT_ID_CHARS]

    @admin.display(description="took")
    def duration_label(self, row: WorkflowExecution) -> str:
        """Seconds from start to end."""
        if row.started_at is None or row.ended_at is None:
            return ""
        return f"{(row.ended_at - row.started_at).total_seconds():.2f} s"

    @admin.display(description="related records")
    def related_links(self, row: WorkflowExecution) -> str:
        """Link to its tasks, events, commands and payloads."""
        links = [
            (reverse(f"admin:execution_{model}_changelist"), row.pk, name)
            for model, name in RELATED_MODELS.items()
        ]
        return format_html_join(mark_safe(", "), '<a href="{}?run__id__exact={}">{}</a>', links)
