"""Admin pages of what runs have shown of tools."""

from __future__ import annotations

from django.contrib import admin

from graph.admin.bases import OF_TEAM, OfTeams, OfTool
from learning.latency import quantile
from learning.models import ToolExperience

MEDIAN, HIGH = 0.5, 0.95


@admin.register(ToolExperience)
class ToolExperienceAdmin(OfTeams, OfTool):
    """In how many runs teams used tools, and how long their calls took."""

    list_display = ("called", "team", "workflows", "calls", "median", "high", "runs_at")
    list_filter = (OF_TEAM, "tool__server")
    list_select_related = ("tool__server", "team")
    ordering = ("-calls",)
    fields = ("tool", "team", "workflows", "calls", "median", "high", "runs_at")
    readonly_fields = fields

    @admin.display(description="workflows, older ones less", ordering="runs")
    def workflows(self, row: ToolExperience) -> str:
        """Say in how many workflows it succeeded."""
        return f"{row.runs:.3g}"

    @admin.display(description="half within")
    def median(self, row: ToolExperience) -> str:
        """Say how long half of its calls took at most."""
        return _shown(row, MEDIAN)

    @admin.display(description="95 % within")
    def high(self, row: ToolExperience) -> str:
        """Say how long nearly all of its calls took at most."""
        return _shown(row, HIGH)


def _shown(row: ToolExperience, share: float) -> str:
    found = quantile(row.latencies, share)
    return "" if found is None else f"{found:,.0f} ms"
