"""Kinds of admin pages that show what a user may see of teams' rows."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from graph.admin.breakable import breakable
from graph.admin.filters import of_own_teams
from tools.admin_bases import ReadOnlyAdmin

OF_TEAM = ("team", admin.RelatedOnlyFieldListFilter)
BY_TOOL = ("tool__name", "tool__server__name")


class OfTeams(ReadOnlyAdmin):
    """Rows of which a user sees everybody's and those of their own teams."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Leave out other teams'."""
        return of_own_teams(request, super().get_queryset(request))


class OfTool(ReadOnlyAdmin):
    """Rows of one tool each."""

    search_fields = BY_TOOL

    @admin.display(description="tool", ordering="tool__name")
    def called(self, row: Any) -> str:
        """Name the tool."""
        return breakable(row.tool)
