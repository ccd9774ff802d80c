"""What admin pages of rows about tools share."""

from __future__ import annotations

from typing import Any

from django.contrib import admin

from graph.admin.breakable import breakable_html
from tools.admin_bases import ReadOnlyAdmin

TEAM_FILTER = ("team", admin.RelatedOnlyFieldListFilter)
TOOL_SEARCH_FIELDS = ("tool__name", "tool__server__name")


class ToolRowAdmin(ReadOnlyAdmin):
    """Rows of one tool each."""

    search_fields = TOOL_SEARCH_FIELDS

    @admin.display(description="tool", ordering="tool__name")
    def tool_label(self, row: Any) -> str:
        """Name the tool."""
        return breakable_html(row.tool)
