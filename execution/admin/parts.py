"""Admin pages of tasks, events, commands, approvals and payload sizes of runs."""

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
    """Tasks of runs, and the items of for-each tasks."""

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
        """Size of the server's result."""
        return "none" if row.result_bytes is None else filesizeformat(row.result_bytes)


@admin.register(ExecutionEvent)
class ExecutionEventAdmin(RunChildAdmin):
    """Events of runs, newest first."""

    list_display = ("timestamp", "kind", "task", "item_label", "run_link", "seq", "data")
    list_filter = ("kind",)
    ordering = ("-id",)
    fields = ("run_link", "seq", "timestamp", "kind", "task", "item_label", "data")
    readonly_fields = fields

    @admin.display(description="at", ordering="at")
    def timestamp(self, row: ExecutionEvent) -> str:
        """Time with milliseconds, since most events of a run are within a second."""
        return localtime(row.at).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


@admin.register(RunCommand)
class RunCommandAdmin(RunChildAdmin):
    """Commands to runs and their outcomes."""

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
    """Approvals; they are decided on a page of their own."""

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
        """Time of the request."""
        return _format_minute(row.created_at)

    @admin.display(description="until", ordering="expires_at")
    def expiry_time(self, row: Approval) -> str:
        """Time from which it can no longer be decided."""
        return _format_minute(row.expires_at)

    @admin.display(description="task", ordering="task")
    def call_label(self, row: Approval) -> str:
        """Task, with the item of a for-each task."""
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
    """Return a time in a short form, for lists with many columns."""
    return localtime(moment).strftime("%Y-%m-%d %H:%M")


@admin.register(Payload)
class PayloadAdmin(RunChildAdmin):
    """Sizes of stored payloads; their content stays sealed."""

    list_display = ("run_link", "kind", "task", "item_label", "size_label")
    list_filter = ("kind",)
    ordering = ("-id",)
    fields = ("run_link", "kind", "task", "item_label", "size_label")
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Do not load the content, which may be megabytes."""
        rows: QuerySet[Any] = super().get_queryset(request).defer("content")
        return rows

    @admin.display(description="size", ordering="size")
    def size_label(self, row: Payload) -> str:
        """Size before sealing."""
        return filesizeformat(row.size)
