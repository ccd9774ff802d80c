"""Admin pages of what belongs to runs: tasks, events, commands, approvals, sizes of payloads."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat
from django.utils.timezone import localtime

from execution.admin.bases import RunChildAdmin
from execution.changes import WHOLE_TASK
from execution.models import Approval, ExecutionEvent, Payload, RunCommand, TaskRun


@admin.register(TaskRun)
class TaskRunAdmin(RunChildAdmin):
    """Tasks of runs, and the items of those that run for each of a list."""

    list_display = (
        "task", "item_label", "tool_name", "status", "run_link", "attempts", "started_at",
        "duration_label",
        "error_code",
    )  # fmt: skip
    list_filter = ("status",)
    ordering = ("-id",)
    fields = (
        "run_link", "task", "item_label", "position", "tool_name", "status", "error_code",
        "attempts",
        "started_at", "ended_at", "duration_label", "result_size", "definition_hash",
        "arguments_digest",
    )  # fmt: skip
    readonly_fields = fields

    @admin.display(description="took", ordering="duration_ms")
    def duration_label(self, row: TaskRun) -> str:
        """Milliseconds of the call."""
        return "" if row.duration_ms is None else f"{row.duration_ms:.1f} ms"

    @admin.display(description="answer")
    def result_size(self, row: TaskRun) -> str:
        """Size of what the server gave."""
        return "none" if row.result_bytes is None else filesizeformat(row.result_bytes)


@admin.register(ExecutionEvent)
class ExecutionEventAdmin(RunChildAdmin):
    """What happened to runs, newest first."""

    list_display = ("timestamp", "kind", "task", "item_label", "run_link", "seq", "data")
    list_filter = ("kind",)
    ordering = ("-id",)
    fields = ("run_link", "seq", "timestamp", "kind", "task", "item_label", "data")
    readonly_fields = fields

    @admin.display(description="at", ordering="at")
    def timestamp(self, row: ExecutionEvent) -> str:
        """To the millisecond: most of what happens to a run happens within a second."""
        return localtime(row.at).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


@admin.register(RunCommand)
class RunCommandAdmin(RunChildAdmin):
    """What runs were told, and what came of it."""

    list_display = ("created_at", "action", "run_link", "user", "kind", "applied_at", "outcome")
    list_filter = ("action", "kind")
    search_fields = ("run__id__exact",)
    search_help_text = "id of a run"
    ordering = ("-id",)
    fields = (
        "run_link", "action", "user", "kind", "created_at", "applied_at", "outcome", "detail"
    )  # fmt: skip
    readonly_fields = fields


class ApprovalAdmin(RunChildAdmin):
    """Calls that a person was asked about; they are decided on a page of their own."""

    list_display = (
        "requested_time", "tool_name", "status", "call_label", "run_link", "requested_by",
        "expiry_time", "decider"
    )  # fmt: skip
    list_filter = ("status", "decided_via")
    ordering = ("-created_at",)
    fields = (
        "run_link", "task", "item_label", "tool_name", "reason", "requested_by", "status",
        "created_at",
        "expires_at", "decided_at", "decided_by", "decided_via", "used_at", "definition_hash",
        "arguments_digest",
    )  # fmt: skip
    readonly_fields = fields

    @admin.display(description="asked", ordering="created_at")
    def requested_time(self, row: Approval) -> str:
        """When it was asked for."""
        return _format_minute(row.created_at)

    @admin.display(description="until", ordering="expires_at")
    def expiry_time(self, row: Approval) -> str:
        """When it can no longer be decided."""
        return _format_minute(row.expires_at)

    @admin.display(description="task", ordering="task")
    def call_label(self, row: Approval) -> str:
        """Task, and item of those that run for each of a list."""
        return row.task if row.item == WHOLE_TASK else f"{row.task}[{row.item}]"

    @admin.display(description="decided by", ordering="decided_by")
    def decider(self, row: Approval) -> str:
        """Who decided, and how."""
        return f"{row.decided_by} ({row.decided_via})" if row.decided_by else ""

    @admin.display(description="for", ordering="run__user")
    def requested_by(self, row: Approval) -> str:
        """User whose call it is."""
        return str(row.run.user)


def _format_minute(moment: datetime) -> str:
    """Return a moment in as few characters as a list of many columns has room for."""
    return localtime(moment).strftime("%Y-%m-%d %H:%M")


@admin.register(Payload)
class PayloadAdmin(RunChildAdmin):
    """How much is kept of what runs were given and answered; what it is stays sealed."""

    list_display = ("run_link", "kind", "task", "item_label", "size_label")
    list_filter = ("kind",)
    ordering = ("-id",)
    fields = ("run_link", "kind", "task", "item_label", "size_label")
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Leave the content in the database: it may be megabytes."""
        rows: QuerySet[Any] = super().get_queryset(request).defer("content")
        return rows

    @admin.display(description="size", ordering="size")
    def size_label(self, row: Payload) -> str:
        """Size before it was sealed."""
        return filesizeformat(row.size)
