"""Admin pages of past runs. Sealed data and vectors are never shown."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.db.models.functions import Length
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat
from django.utils.html import format_html_join
from django.utils.safestring import mark_safe

from graph.admin.bases import TEAM_FILTER
from graph.admin.breakable import breakable_html
from graph.models import (
    FittedModel,
    LearnedBinding,
    PatternEmbedding,
    PatternRun,
    WorkflowPattern,
)
from tools import generic_django  # noqa: F401 - for the subscripts below
from tools.admin_bases import ReadOnlyAdmin

MAX_SHOWN = 6
"""Tasks of a pattern shown in a list."""


class WorkflowPatternAdmin(ReadOnlyAdmin):
    """Patterns: intents with their workflows; the console adds an action to forget them."""

    list_display = (
        "id", "tool_sequence", "team", "successes", "weight", "failures", "last_seen_at",
    )  # fmt: skip
    list_filter = (TEAM_FILTER,)
    list_select_related = ("team",)
    search_fields = ("tasks",)
    search_help_text = "part of the id of a tool"
    ordering = ("-last_seen_at",)
    date_hierarchy = "last_seen_at"
    fields = (
        "team", "workflow", "successes", "weight", "failures", "first_seen_at", "last_seen_at",
    )  # fmt: skip
    readonly_fields = fields
    show_full_result_count = False

    @admin.display(description="weight of successes", ordering="success_weight")
    def weight(self, row: WorkflowPattern) -> str:
        """Say how much the successes count: less than 1 each if calls were made one by one."""
        return f"{row.success_weight:.3g}"

    @admin.display(description="tools")
    def tool_sequence(self, row: WorkflowPattern) -> str:
        """Name the tools in the order they ran."""
        named = [str(task["tool"]) for task in row.tasks]
        more = (f"and {len(named) - MAX_SHOWN} more",) if len(named) > MAX_SHOWN else ()
        parts = (*(breakable_html(name) for name in named[:MAX_SHOWN]), *more)
        return format_html_join(" → ", "{}", ((part,) for part in parts))

    @admin.display(description="workflow")
    def workflow(self, row: WorkflowPattern) -> str:
        """Describe the dependencies and references of each task."""
        return format_html_join(
            mark_safe("<br>"), "{}", ((_format_task(task),) for task in row.tasks)
        )


def _format_task(task: dict[str, Any]) -> str:
    waits = ", ".join(task["depends_on"])
    taken = ", ".join(
        f"{reference['parameter']} from {reference['task']}{reference['pointer']}"
        for reference in task["references"]
    )
    parts = (f"after {waits}" if waits else "", f"takes {taken}" if taken else "")
    told = "; ".join(part for part in parts if part)
    return f"{task['id']}: {task['tool']}" + (f" ({told})" if told else "")


@admin.register(PatternEmbedding)
class PatternEmbeddingAdmin(ReadOnlyAdmin):
    """Embedding models of patterns' intents."""

    list_display = ("pattern", "model")
    list_filter = ("model",)
    list_select_related = ("pattern",)
    fields = ("pattern", "model")
    readonly_fields = fields
    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Do not load the vectors."""
        rows: QuerySet[Any] = super().get_queryset(request).defer("vector", "encoded")
        return rows


@admin.register(PatternRun)
class PatternRunAdmin(ReadOnlyAdmin):
    """Recorded runs."""

    list_display = ("key", "pattern", "team", "succeeded", "at")
    list_filter = ("succeeded", TEAM_FILTER)
    list_select_related = ("pattern", "team")
    search_fields = ("key",)
    ordering = ("-at",)
    date_hierarchy = "at"
    fields = ("key", "pattern", "team", "succeeded", "at")
    readonly_fields = fields
    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Do not load the training data of bindings."""
        rows: QuerySet[Any] = super().get_queryset(request).defer("samples")
        return rows


@admin.register(LearnedBinding)
class LearnedBindingAdmin(ReadOnlyAdmin):
    """Sources of the arguments of past runs."""

    list_display = (
        "tool_label", "parameter", "kind", "given_value", "team", "uses", "runs", "stated",
        "last_seen_at"
    )  # fmt: skip
    list_filter = ("kind", TEAM_FILTER)
    list_select_related = ("tool__server", "giver__server", "team")
    search_fields = ("tool__name", "tool__server__name", "parameter")
    ordering = ("-uses",)
    fields = (
        "tool", "parameter", "kind", "given_value", "team", "uses", "runs", "stated",
        "last_seen_at"
    )  # fmt: skip
    readonly_fields = fields
    show_full_result_count = False

    @admin.display(description="tool", ordering="tool__name")
    def tool_label(self, row: LearnedBinding) -> str:
        """Name the tool."""
        return breakable_html(row.tool)

    @admin.display(description="value")
    def given_value(self, row: LearnedBinding) -> str:
        """Return the value or its source, unless it is sealed."""
        if row.giver is not None:
            which = f", task {row.nth + 1} of it" if row.nth else ""
            return f"result of {row.giver}{which}, {row.pointer or 'the whole'}"
        if row.kind == "other":
            return "not distinguished"
        if row.kind == "literal":
            return "sealed" if row.sealed else "not stored"
        return "" if row.kind == "call" else str(row.value)


@admin.register(FittedModel)
class FittedModelAdmin(ReadOnlyAdmin):
    """Latest fitted models for suggestions."""

    list_display = (
        "served_team", "embedding_model", "pattern_count", "run_count", "seconds",
        "peak_memory_mb", "size",
        "fitted_at",
    )  # fmt: skip
    list_filter = ("embedding_model", TEAM_FILTER)
    list_select_related = ("team",)
    ordering = ("-fitted_at",)
    fields = (
        "served_team", "embedding_model", "figures", "seconds", "peak_memory_mb", "size",
        "fitted_at",
        "digest", "failure",
    )  # fmt: skip
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Do not load the content, which may be megabytes."""
        rows: QuerySet[Any] = super().get_queryset(request).defer("content", "bindings")
        sized: QuerySet[Any] = rows.annotate(content_bytes=Length("content"))
        return sized

    @admin.display(description="serves", ordering="team")
    def served_team(self, row: FittedModel) -> str:
        """Name the team that it serves."""
        return "all without their own runs" if row.team is None else str(row.team)

    @admin.display(description="patterns")
    def pattern_count(self, row: FittedModel) -> str:
        """Number of past intents it was fitted to."""
        return str(row.figures.get("patterns", ""))

    @admin.display(description="runs")
    def run_count(self, row: FittedModel) -> str:
        """Number of runs with these intents."""
        return str(row.figures.get("runs", ""))

    @admin.display(description="stored")
    def size(self, row: Any) -> str:
        """Size of the content."""
        return filesizeformat(row.content_bytes)
