"""Visibility of relations, and the filters of their list."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest

from graph.models import RelationEvidence
from graph.relations import SHIPPED, EvidenceSource
from tools import generic_django, ids  # noqa: F401 - generic_django for the subscripts below
from tools.admin_teams import OWN_TEAM, filter_own_rows
from tools.models import Server, Team, Tool

FilterLookups = Iterable[tuple[str, str]]
IS_SHIPPED = Q(origin=SHIPPED)
EVIDENCE_FILTERS = {
    "curated": ("curated by a person", Q(source=EvidenceSource.CURATED.value) & ~IS_SHIPPED),
    "shipped": ("shipped with Foregate", IS_SHIPPED),
    "schema": ("derived from schemas", Q(source=EvidenceSource.SCHEMA.value)),
    "observed": ("observed in runs", Q(source=EvidenceSource.OBSERVED.value)),
    "imported": ("imported from a file", Q(source=EvidenceSource.IMPORTED.value) & ~IS_SHIPPED),
}
"""Kinds of evidence: label and condition by value of the filter."""


def filter_visible_evidence(request: HttpRequest) -> QuerySet[RelationEvidence]:
    """Return the evidence visible to a user: shared, and of their teams."""
    rows = RelationEvidence.objects.select_related("team")
    return filter_own_rows(request, rows, paths=OWN_TEAM)


def find_hidden_relations(request: HttpRequest) -> QuerySet[Any]:
    """Return the keys of relations that only other teams have observed."""
    if request.user.is_superuser:
        return RelationEvidence.objects.none().values("relation")
    own = Team.objects.filter(memberships__user=request.user.pk)
    foreign = RelationEvidence.objects.filter(team__isnull=False).exclude(team__in=own)
    seen = filter_visible_evidence(request).filter(relation=OuterRef("relation"))
    return foreign.filter(~Exists(seen)).values("relation")


def find_named_tools(word: str) -> QuerySet[Tool]:
    """Return the tools matching a word: part of a tool's or server's name, or of an id."""
    server, separator, name = word.partition(ids.SEPARATOR)
    if separator:
        return Tool.objects.filter(server__name__icontains=server, name__icontains=name)
    return Tool.objects.filter(Q(name__icontains=word) | Q(server__name__icontains=word))


class EvidenceFilter(admin.SimpleListFilter):
    """By the evidence for a relation that is visible to the user."""

    title = "evidence source"
    parameter_name = "evidence"

    def lookups(self, request: HttpRequest, model_admin: Any) -> FilterLookups:  # noqa: ARG002
        """Offer every kind of evidence."""
        return [(value, name) for value, (name, _) in EVIDENCE_FILTERS.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Keep relations with evidence of the kind."""
        if self.value() not in EVIDENCE_FILTERS:
            return queryset
        _, condition = EVIDENCE_FILTERS[str(self.value())]
        rows = filter_visible_evidence(request).filter(condition, relation=OuterRef("pk"))
        return queryset.filter(Exists(rows))


class ServerFilter(admin.SimpleListFilter):
    """By the server of either tool."""

    title = "server of either tool"
    parameter_name = "server"

    def lookups(self, request: HttpRequest, model_admin: Any) -> FilterLookups:  # noqa: ARG002
        """Offer the servers that the user may know of."""
        rows = filter_own_rows(request, Server.objects.order_by("name"))
        return [(str(pk), name) for pk, name in rows.values_list("pk", "name")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:  # noqa: ARG002
        """Keep relations from or to a tool of the server."""
        server = str(self.value() or "")
        if not server.isdecimal():
            return queryset
        tools = Tool.objects.filter(server=int(server))
        return queryset.filter(Q(source__in=tools) | Q(target__in=tools))


class ToolFilter(admin.SimpleListFilter):
    """By one tool, given in the query string; the page of a tool links to it."""

    title = "tool"
    parameter_name = "tool"

    def lookups(self, request: HttpRequest, model_admin: Any) -> FilterLookups:  # noqa: ARG002
        """Offer only the requested tool, since there may be thousands."""
        asked = str(request.GET.get(self.parameter_name, ""))
        rows = Tool.objects.filter(pk=asked) if asked.isdecimal() else Tool.objects.none()
        visible = filter_own_rows(request, rows.select_related("server"))
        return [(str(row.pk), str(row)) for row in visible]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:  # noqa: ARG002
        """Keep relations from or to the tool."""
        tool = str(self.value() or "")
        return queryset.filter(Q(source=tool) | Q(target=tool)) if tool.isdecimal() else queryset
