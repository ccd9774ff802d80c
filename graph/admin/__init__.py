"""Admin pages of the tool graph.

Pages on which people change rows are registered by the composition root, which audits them.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.db.models.functions import Length
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat

from graph.admin import history  # noqa: F401 - registers its pages
from graph.admin.bases import TEAM_FILTER, ToolRowAdmin
from graph.admin.breakable import breakable_html
from graph.models import (
    GraphSnapshot,
    GraphState,
    OutputShape,
    RelationEvidence,
    ToolMetric,
    ToolUsage,
)
from graph.relations import EvidenceSource
from tools.admin_bases import ReadOnlyAdmin

MAX_FIELDS = 8
"""Fields of a result shown in a list."""


@admin.register(RelationEvidence)
class RelationEvidenceAdmin(ReadOnlyAdmin):
    """Evidence for relations from schemas, people, files and runs."""

    list_display = (
        "relation_name", "source", "source_name", "team", "confidence_text", "observed_counts",
        "last_seen_at"
    )  # fmt: skip
    list_filter = ("source", "relation__kind", TEAM_FILTER)
    list_select_related = ("relation__source__server", "relation__target__server", "team")
    search_fields = ("relation__source__name", "relation__target__name", "origin")
    show_full_result_count = False

    @admin.display(description="relation")
    def relation_name(self, row: RelationEvidence) -> str:
        """Name the relation."""
        return breakable_html(row.relation)

    @admin.display(description="evidence from")
    def source_name(self, row: RelationEvidence) -> str:
        """Name the origin of the evidence."""
        return breakable_html(row.origin)

    @admin.display(description="confidence", ordering="confidence")
    def confidence_text(self, row: RelationEvidence) -> str:
        """Return the confidence that the source states, if it has no counts."""
        return "" if row.confidence is None else f"{row.confidence:.2f}"

    @admin.display(description="counted")
    def observed_counts(self, row: RelationEvidence) -> str:
        """Return successes of all observations, if it has counts."""
        return (
            f"{row.successes:.3g} held, {row.failures:.3g} not"
            if row.source == EvidenceSource.OBSERVED
            else ""
        )


@admin.register(ToolMetric)
class ToolMetricAdmin(ToolRowAdmin):
    """Latest metrics of each tool in the shared graph."""

    list_display = (
        "tool_label",
        "pagerank_share",
        "community",
        "betweenness_share",
        "closeness_value",
    )
    list_filter = ("tool__server",)
    list_select_related = ("tool__server",)
    ordering = ("-pagerank",)
    show_full_result_count = False

    @admin.display(description="PageRank", ordering="pagerank")
    def pagerank_share(self, row: ToolMetric) -> str:
        """PageRank."""
        return f"{row.pagerank:.3g}"

    @admin.display(description="betweenness", ordering="betweenness")
    def betweenness_share(self, row: ToolMetric) -> str:
        """Share of shortest paths."""
        return f"{row.betweenness:.3g}"

    @admin.display(description="closeness", ordering="closeness")
    def closeness_value(self, row: ToolMetric) -> str:
        """Closeness to other tools."""
        return f"{row.closeness:.3g}"


@admin.register(ToolUsage)
class ToolUsageAdmin(ToolRowAdmin):
    """How often teams have called tools."""

    list_display = ("tool_label", "team", "calls", "failures", "last_called_at")
    list_filter = (TEAM_FILTER, "tool__server")
    list_select_related = ("tool__server", "team")
    ordering = ("-calls",)


@admin.register(OutputShape)
class OutputShapeAdmin(ToolRowAdmin):
    """Fields seen in the results of tools."""

    list_display = ("tool_label", "team", "samples", "top_fields", "last_seen_at")
    list_filter = (TEAM_FILTER, "tool__server")
    list_select_related = ("tool__server", "team")

    @admin.display(description="top-level fields")
    def top_fields(self, row: OutputShape) -> str:
        """Name the first fields."""
        fields = list(row.schema.get("properties", {}) if isinstance(row.schema, dict) else {})
        return ", ".join(fields[:MAX_FIELDS]) + (", …" if len(fields) > MAX_FIELDS else "")


@admin.register(GraphState)
class GraphStateAdmin(ReadOnlyAdmin):
    """Inputs of the stored relations and metrics."""

    list_display = ("__str__", "derived_at", "computed_at")


@admin.register(GraphSnapshot)
class GraphSnapshotAdmin(ReadOnlyAdmin):
    """The shared graph at earlier times; `graph_stats --since` compares with them."""

    list_display = ("taken_at", "id", "reason", "tools", "relations", "size")
    list_filter = ("reason",)
    date_hierarchy = "taken_at"
    ordering = ("-taken_at",)
    fields = ("taken_at", "reason", "tools", "relations", "digest", "size", "statistics")
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Do not load the content, which may be megabytes."""
        rows: QuerySet[Any] = super().get_queryset(request).defer("content")
        sized: QuerySet[Any] = rows.annotate(content_bytes=Length("content"))
        return sized

    @admin.display(description="stored")
    def size(self, row: Any) -> str:
        """Size of the compressed content."""
        return filesizeformat(row.content_bytes)
