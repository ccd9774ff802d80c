"""The admin page of relations; the composition root adds who may change them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Prefetch, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from graph import wording
from graph.admin.breakable import breakable_html
from graph.admin.filters import (
    EvidenceFilter,
    ServerFilter,
    ToolFilter,
    filter_visible_evidence,
    find_hidden_relations,
    find_named_tools,
)
from graph.admin.form import KIND_MEANINGS, KINDS_HELP_HTML, RelationForm
from graph.models import RelationEvidence, ToolDependency
from graph.relations import SHIPPED, Evidence, EvidenceSource, RelationKind, combine_confidence
from tools import generic_django  # noqa: F401 - for the subscripts below
from tools.admin_bases import ConsoleAdmin

MAX_NAMED = 100
"""Relations listed before deletion; the rest is counted."""
SERVER_RELATIONS = ("source__server", "target__server")
CURATION_HINT = (
    "Saving vouches for the relation, whatever its other evidence: it counts as curated by you."
)
STATE_ACCEPTED = "holds"
STATE_REJECTED = "rejected: it counts nowhere and is not derived again"
KEY_FIELDS = ("source", "kind", "target")
DISPLAY_FIELDS = ("state", "confidence_text")
KIND_FIELDSETS = {
    RelationKind.DEPENDS_ON: ("Only for “depends on”", {"fields": ("required",)}),
    RelationKind.REPLACES: ("Only for “replaces”", {"fields": ("version", "deprecated_at")}),
}


class EvidenceInline(admin.TabularInline[RelationEvidence, ToolDependency]):
    """The evidence for a relation, read-only."""

    model = RelationEvidence
    extra = 0
    can_delete = False
    show_change_link = False
    fields = (
        "source", "source_name", "team", "confidence_text", "observed_counts", "data_flow",
        "last_seen_at"
    )  # fmt: skip
    readonly_fields = fields
    verbose_name_plural = "evidence for this relation"

    def get_queryset(self, request: HttpRequest) -> QuerySet[RelationEvidence]:
        """Keep evidence visible to the user."""
        return (
            filter_visible_evidence(request).select_related("relation").order_by("source", "team")
        )

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Whoever may view a relation may view its evidence."""
        permissions = ("graph.view_tooldependency", "graph.change_tooldependency")
        return any(request.user.has_perm(permission) for permission in permissions)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Evidence is never added by hand."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Evidence is never changed by hand."""
        return False

    @admin.display(description="evidence from")
    def source_name(self, row: RelationEvidence) -> str:
        """Origin of the evidence."""
        return row.origin

    @admin.display(description="confidence")
    def confidence_text(self, row: RelationEvidence) -> str:
        """Return the confidence that the source states, if it has no counts."""
        return "" if row.confidence is None else f"{row.confidence:.2f}"

    @admin.display(description="counted")
    def observed_counts(self, row: RelationEvidence) -> str:
        """Successes of all observations, if it has counts."""
        if row.source != EvidenceSource.OBSERVED.value:
            return ""
        text = wording.write_counts(RelationKind(row.relation.kind), row.successes, row.failures)
        return text if row.seconds is None else f"{text}, {row.seconds:.3g} s between them"

    @admin.display(description="data flow")
    def data_flow(self, row: RelationEvidence) -> str:
        """Which output feeds which parameter."""
        return breakable_html(wording.write_data_flow(row.fields))


class RelationAdmin(ConsoleAdmin):
    """Relations between tools with their evidence."""

    form = RelationForm
    inlines = (EvidenceInline,)
    list_display = (
        "source_label",
        "relation",
        "target_label",
        "confidence_text",
        "evidence_sources",
        "is_accepted",
    )
    list_filter = ("kind", EvidenceFilter, "rejected", "required", ServerFilter, ToolFilter)
    list_per_page = 50
    show_full_result_count = False
    search_fields = ("source__name", "target__name")
    search_help_text = "Names of tools and servers; ids such as git:git_log too."
    autocomplete_fields = ("source", "target")

    def get_queryset(self, request: HttpRequest) -> QuerySet[ToolDependency]:
        """Exclude relations that only other teams have observed."""
        rows: QuerySet[ToolDependency] = (
            super().get_queryset(request).select_related(*SERVER_RELATIONS)
        )
        seen = filter_visible_evidence(request).order_by("source", "team")
        rows = rows.prefetch_related(Prefetch("evidence", queryset=seen, to_attr="seen"))
        return rows.exclude(pk__in=find_hidden_relations(request))

    def get_search_results(
        self,
        request: HttpRequest,  # noqa: ARG002
        queryset: QuerySet[Any],
        search_term: str,
    ) -> tuple[QuerySet[Any], bool]:
        """Keep relations of tools that match each word; the tools are looked up first."""
        for word in search_term.split():
            tools = find_named_tools(word)
            queryset = queryset.filter(Q(source__in=tools) | Q(target__in=tools))
        return queryset, False

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Explain the kinds; for an existing relation, show only the fields of its kind."""
        shown = () if obj is None else DISPLAY_FIELDS
        kinds = set(RelationKind) if obj is None else {RelationKind(obj.kind)}
        explained = KINDS_HELP_HTML if obj is None else KIND_MEANINGS[RelationKind(obj.kind)]
        word = ("Your judgement", {"fields": ("confidence",), "description": CURATION_HINT})
        may_say = obj is None or self.has_change_permission(request, obj)
        return (
            (None, {"fields": (*KEY_FIELDS, *shown), "description": explained}),
            *((word,) if may_say else ()),
            *(part for kind, part in KIND_FIELDSETS.items() if kind in kinds),
            ("Why", {"fields": ("reason",)}),
        )

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:  # noqa: ARG002
        """Make the identifying fields of an existing relation read-only."""
        return () if obj is None else (*KEY_FIELDS, *DISPLAY_FIELDS)

    def get_inlines(self, request: HttpRequest, obj: Any) -> Any:  # noqa: ARG002
        """Show evidence of existing relations only."""
        return () if obj is None else self.inlines

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Rejected relations cannot be changed until the rejection is revoked."""
        return super().has_change_permission(request, obj) and not (obj and obj.rejected)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """List the relations; deleting their evidence needs no further permission."""
        chosen = list(objs)
        named = [str(row) for row in chosen[:MAX_NAMED]]
        if len(chosen) > MAX_NAMED:
            named.append(f"and {len(chosen) - MAX_NAMED:,} more")
        evidence = RelationEvidence.objects.filter(relation__in=[row.pk for row in chosen])
        lacking = set() if self.has_delete_permission(request) else {"relation"}
        return named, {"relations": len(chosen), "evidence": evidence.count()}, lacking, []

    @admin.display(description="source", ordering="source__name")
    def source_label(self, row: ToolDependency) -> str:
        """Tool it starts from."""
        return breakable_html(row.source)

    @admin.display(description="target", ordering="target__name")
    def target_label(self, row: ToolDependency) -> str:
        """Tool it leads to."""
        return breakable_html(row.target)

    @admin.display(description="relation", ordering="kind")
    def relation(self, row: ToolDependency) -> str:
        """Kind, and whether a dependency is required."""
        optional = row.kind == RelationKind.DEPENDS_ON and not row.required
        return f"{row.get_kind_display()} (optional)" if optional else row.get_kind_display()

    @admin.display(description="confidence")
    def confidence_text(self, row: Any) -> str:
        """Return the combined confidence of all visible evidence; empty if rejected."""
        if row.rejected or not row.seen:
            return "-"
        evidence = map(_to_evidence, row.seen)
        return f"{combine_confidence(evidence, now=timezone.now()):.2f}"

    @admin.display(description="evidence")
    def evidence_sources(self, row: Any) -> str:
        """Name the sources and origins of the evidence."""
        return breakable_html(", ".join(dict.fromkeys(map(_name_source, row.seen))) or "nothing")

    @admin.display(description="holds", boolean=True)
    def is_accepted(self, row: ToolDependency) -> bool:
        """Whether it is not rejected."""
        return not row.rejected

    @admin.display(description="state")
    def state(self, row: ToolDependency) -> str:
        """Whether it holds."""
        return STATE_REJECTED if row.rejected else STATE_ACCEPTED


def _to_evidence(row: RelationEvidence) -> Evidence:
    return Evidence(
        source=EvidenceSource(row.source),
        confidence=row.confidence,
        successes=row.successes,
        failures=row.failures,
        last_seen=row.last_seen_at,
    )


def _name_source(row: RelationEvidence) -> str:
    if row.origin == SHIPPED:
        return "shipped"
    if row.source == EvidenceSource.OBSERVED:
        return f"observed by {row.team}" if row.team else "observed"
    if row.team:
        return f"derived from results that {row.team} saw"
    if row.source == EvidenceSource.SCHEMA or not row.origin:
        return row.source
    return f"{row.source} ({row.origin})"
