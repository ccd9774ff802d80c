"""Admin pages of what belongs to runs: tasks, events, commands, and sizes of what is sealed."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat

from execution.admin.bases import PartOfRun
from execution.models import ExecutionEvent, Payload, RunCommand, TaskRun


@admin.register(TaskRun)
class TaskRunAdmin(PartOfRun):
    """Tasks of runs, and the items of those that run for each of a list."""

    list_display = (
        "task", "item", "tool", "status", "of_run", "attempts", "started_at", "took", "error_code"
    )  # fmt: skip
    list_filter = ("status",)
    ordering = ("-id",)
    fields = (
        "of_run", "task", "item", "position", "tool", "status", "error_code", "attempts",
        "started_at", "ended_at", "took", "answered", "definition_hash", "arguments_digest",
    )  # fmt: skip
    readonly_fields = fields

    @admin.display(description="took", ordering="duration_ms")
    def took(self, row: TaskRun) -> str:
        """Milliseconds of the call."""
        return "" if row.duration_ms is None else f"{row.duration_ms:.1f} ms"

    @admin.display(description="answer")
    def answered(self, row: TaskRun) -> str:
        """Size of what the server gave."""
        return "none" if row.result_bytes is None else filesizeformat(row.result_bytes)


@admin.register(ExecutionEvent)
class ExecutionEventAdmin(PartOfRun):
    """What happened to runs, newest first."""

    list_display = ("at", "kind", "task", "item", "of_run", "seq", "data")
    list_filter = ("kind",)
    ordering = ("-id",)
    fields = ("of_run", "seq", "at", "kind", "task", "item", "data")
    readonly_fields = fields


@admin.register(RunCommand)
class RunCommandAdmin(PartOfRun):
    """What runs were told, and what came of it."""

    list_display = ("created_at", "action", "of_run", "user", "kind", "applied_at", "outcome")
    list_filter = ("action", "kind")
    search_fields = ("run__id__exact",)
    search_help_text = "id of a run"
    ordering = ("-id",)
    fields = (
        "of_run", "action", "user", "kind", "created_at", "applied_at", "outcome", "detail"
    )  # fmt: skip
    readonly_fields = fields


@admin.register(Payload)
class PayloadAdmin(PartOfRun):
    """How much is kept of what runs were given and answered; what it is stays sealed."""

    list_display = ("of_run", "kind", "task", "item", "bytes")
    list_filter = ("kind",)
    ordering = ("-id",)
    fields = ("of_run", "kind", "task", "item", "bytes")
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Leave the content in the database: it may be megabytes."""
        rows: QuerySet[Any] = super().get_queryset(request).defer("content")
        return rows

    @admin.display(description="size", ordering="size")
    def bytes(self, row: Payload) -> str:
        """Size before it was sealed."""
        return filesizeformat(row.size)
