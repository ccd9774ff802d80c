"""Admin pages of what runs have shown of tools."""

from __future__ import annotations

from django.contrib import admin

from graph.admin.bases import (
    TEAM_FILTER,
    TOOL_SEARCH_FIELDS,
    ToolRowAdmin,
)
from graph.admin.breakable import breakable_html
from learning.latency import estimate_quantile_ms
from learning.models import Contribution, PredictionTotal, ToolExperience
from tools.admin_bases import NOTED_TEMPLATE, ReadOnlyAdmin

MEDIAN, P95 = 0.5, 0.95
MS_PER_S = 1_000.0


@admin.register(PredictionTotal)
class PredictionTotalAdmin(ReadOnlyAdmin):
    """How predictions turned out, by day, tool and decile of chance."""

    change_list_template = NOTED_TEMPLATE
    change_list_note = (
        "Shadow predictions were not called ahead: their times are what that would have come to."
    )

    list_display = (
        "day", "form", "mode", "tool_label", "team", "decile", "predictions", "hits", "wasted",
        "saved", "wasted_time", "cost", "unpriced",
    )  # fmt: skip
    list_filter = ("form", "shadow", "decile", TEAM_FILTER, "tool__server")
    list_select_related = ("tool__server", "team")
    search_fields = TOOL_SEARCH_FIELDS
    ordering = ("-day", "form", "-predictions")
    fields = (
        "day", "form", "mode", "tool_label", "team", "decile", "predictions", "hits", "wasted",
        "chance", "saved", "wasted_time", "cost", "unpriced",
    )  # fmt: skip
    readonly_fields = fields

    @admin.display(description="tool", ordering="tool__name")
    def tool_label(self, row: PredictionTotal) -> str:
        """Name the tool; empty for whole workflows."""
        return "" if row.tool is None else breakable_html(row.tool)

    @admin.display(description="mode", ordering="shadow")
    def mode(self, row: PredictionTotal) -> str:
        """Whether they were run ahead."""
        return "shadow" if row.shadow else "run ahead"

    @admin.display(description="saved", ordering="saved_ms")
    def saved(self, row: PredictionTotal) -> str:
        """Time that the hits save."""
        return f"{row.saved_ms / MS_PER_S:,.1f} s"

    @admin.display(description="wasted time", ordering="wasted_ms")
    def wasted_time(self, row: PredictionTotal) -> str:
        """Time that the others take."""
        return f"{row.wasted_ms / MS_PER_S:,.1f} s"


@admin.register(ToolExperience)
class ToolExperienceAdmin(ToolRowAdmin):
    """In how many runs teams used tools, and how long their calls took."""

    list_display = (
        "tool_label", "team", "workflow_count", "calls", "median", "p95", "cost", "runs_at",
    )  # fmt: skip
    list_filter = (TEAM_FILTER, "tool__server")
    list_select_related = ("tool__server", "team")
    ordering = ("-calls",)
    fields = ("tool", "team", "workflow_count", "calls", "median", "p95", "cost", "runs_at")
    readonly_fields = fields

    @admin.display(description="workflows (older count less)", ordering="runs")
    def workflow_count(self, row: ToolExperience) -> str:
        """Say in how many workflows it succeeded."""
        return f"{row.runs:.3g}"

    @admin.display(description="p50 latency")
    def median(self, row: ToolExperience) -> str:
        """Say how long half of its calls took at most."""
        return _format_quantile(row, MEDIAN)

    @admin.display(description="p95 latency")
    def p95(self, row: ToolExperience) -> str:
        """Say how long nearly all of its calls took at most."""
        return _format_quantile(row, P95)

    @admin.display(description="cost at today's price")
    def cost(self, row: ToolExperience) -> str:
        """Say what its calls cost, by the server's price per call."""
        price = row.tool.server.price_per_call
        return "unknown" if price is None else f"${price * row.calls:,.2f}"


def _format_quantile(row: ToolExperience, share: float) -> str:
    found = estimate_quantile_ms(row.latencies, share)
    return "" if found is None else f"{found:,.0f} ms"


@admin.register(Contribution)
class ContributionAdmin(ReadOnlyAdmin):
    """How much of what a team learned of a set of tools one person taught."""

    list_display = ("team", "person", "tools", "day", "today", "since", "in_all")
    list_filter = (TEAM_FILTER,)
    list_select_related = ("team",)
    ordering = ("-day", "-id")
    sortable_by = ()
    fields = list_display
    readonly_fields = fields
