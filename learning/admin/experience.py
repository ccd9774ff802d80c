"""Admin pages of what runs have shown of tools."""

from __future__ import annotations

from django.contrib import admin

from graph.admin.bases import TEAM_FILTER, TeamScopedAdmin, ToolRowAdmin
from learning.latency import estimate_quantile_ms
from learning.models import ToolExperience

MEDIAN, P95 = 0.5, 0.95


@admin.register(ToolExperience)
class ToolExperienceAdmin(TeamScopedAdmin, ToolRowAdmin):
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
