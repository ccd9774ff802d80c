"""Relations on the admin page of a tool."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join

from graph.models import ToolDependency
from graph.relations import RelationKind
from tools import generic_django, ids  # noqa: F401 - generic_django for the subscripts below
from tools.models import Tool

RELATED_TO_SELECT = ("server", "category", "definition")


class ToolRelationsMixin(admin.ModelAdmin[Any]):
    """Adds replacements and a link to the relations to the pages of tools."""

    ordering = ("server__name", "name")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Load the server too, since tools are shown by id, also in selection lists."""
        return super().get_queryset(request).select_related(*RELATED_TO_SELECT)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Search for both halves of a tool's id."""
        words = search_term.replace(ids.SEPARATOR, " ")
        return super().get_search_results(request, queryset, words)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Add a section of relations before the tool's record."""
        *parts, record = super().get_fieldsets(request, obj)
        return (*parts, ("Relations", {"fields": ("replaced_by", "relations")}), record)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Make these fields read-only."""
        return (*super().get_readonly_fields(request, obj), "replaced_by", "relations")

    @admin.display(description="deprecated")
    def replaced_by(self, tool: Tool) -> str:
        """Tools that replace this one, which is therefore deprecated; no third team's."""
        rows = ToolDependency.objects.filter(
            target=tool, kind=RelationKind.REPLACES.value, rejected=False, evidence__team=None,
            evidence__isnull=False,
        ).distinct()  # fmt: skip
        teams = Q(source__server__team=None) | Q(source__server__team=tool.server.team_id)
        visible = rows.filter(teams)
        links = [
            (
                _tool_admin_url(row.source),
                row.source,
                f" since {row.version}" if row.version else "",
            )
            for row in visible.select_related("source__server")
        ]
        return format_html_join("", 'replaced by <a href="{}">{}</a>{}<br>', links) or "no"

    @admin.display(description="relations")
    def relations(self, tool: Tool) -> str:
        """Link to the relations from and to the tool."""
        every = reverse("admin:graph_tooldependency_changelist")
        return format_html(
            '<a href="{}?tool={}">Look at its relations</a> or <a href="{}?source={}">add one</a>',
            every,
            tool.pk,
            reverse("admin:graph_tooldependency_add"),
            tool.pk,
        )


def _tool_admin_url(tool: Tool) -> str:
    return reverse("admin:tools_tool_change", args=[tool.pk])
