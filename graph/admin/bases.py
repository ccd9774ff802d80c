"""Base classes of admin pages that show only rows visible to the user."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from graph.admin.breakable import breakable_html
from graph.admin.filters import filter_own_teams
from tools.admin_bases import ReadOnlyAdmin

TEAM_FILTER = ("team", admin.RelatedOnlyFieldListFilter)
TOOL_SEARCH_FIELDS = ("tool__name", "tool__server__name")


class TeamScopedAdmin(ReadOnlyAdmin):
    """Rows that are shared or belong to a team; a user sees shared ones and those of own teams."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Exclude rows of other teams."""
        return filter_own_teams(request, super().get_queryset(request))


class ToolRowAdmin(ReadOnlyAdmin):
    """Rows of one tool each."""

    search_fields = TOOL_SEARCH_FIELDS

    @admin.display(description="tool", ordering="tool__name")
    def tool_label(self, row: Any) -> str:
        """Name the tool."""
        return breakable_html(row.tool)
