"""The admin page of relations; who may change them is added by the composition root."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Prefetch, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from graph import record, wording
from graph.admin.breakable import breakable
from graph.admin.filters import (
    EvidenceFilter,
    ServerFilter,
    ToolFilter,
    hidden_relations,
    named,
    visible_evidence,
)
from graph.admin.form import KINDS_EXPLAINED, MEANINGS, RelationForm
from graph.models import RelationEvidence, ToolDependency
from graph.relations import Evidence, Kind, Source, confidence
from tools import generic_django  # noqa: F401 - for the subscripts below

MAX_NAMED = 100
"""Relations that are named before they are deleted; the rest is counted."""
SERVERS = ("source__server", "target__server")
YOUR_WORD = (
    "Saving makes the relation your word, whatever else speaks for it: its evidence says curated, "
    "by you."
)
HOLDS = "holds"
REJECTED = "rejected: it counts nowhere and is not derived again"
KEY = ("source", "kind", "target")
SHOWN = ("state", "sure")
OF_ONE_KIND = {
    Kind.DEPENDS_ON: ("Only of “depends on”", {"fields": ("required",)}),
    Kind.REPLACES: ("Only of “replaces”", {"fields": ("version", "deprecated_at")}),
}


class EvidenceInline(admin.TabularInline[RelationEvidence, ToolDependency]):
    """What speaks for a relation; written by those who say it, never here."""

    model = RelationEvidence
    extra = 0
    can_delete = False
    show_change_link = False
    fields = (
        "source", "said_by", "team", "sure", "counted", "data_flow", "last_seen_at"
    )  # fmt: skip
    readonly_fields = fields
    verbose_name_plural = "evidence: what this relation rests on"

    def get_queryset(self, request: HttpRequest) -> QuerySet[RelationEvidence]:
        """Show what the user may see."""
        return visible_evidence(request).select_related("relation").order_by("source", "team")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Who may look at a relation may see what it rests on."""
        permissions = ("graph.view_tooldependency", "graph.change_tooldependency")
        return any(request.user.has_perm(one) for one in permissions)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Nobody adds by hand."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Nobody changes by hand."""
        return False

    @admin.display(description="said by")
    def said_by(self, row: RelationEvidence) -> str:
        """Who or what said it."""
        return row.origin

    @admin.display(description="confidence")
    def sure(self, row: RelationEvidence) -> str:
        """Say how sure the source is, where it is not counts that speak."""
        return "" if row.confidence is None else f"{row.confidence:.2f}"

    @admin.display(description="counted")
    def counted(self, row: RelationEvidence) -> str:
        """How often it held, where it was counted."""
        if row.source != Source.OBSERVED.value:
            return ""
        text = wording.counted(Kind(row.relation.kind), row.successes, row.failures)
        return text if row.seconds is None else f"{text}, {row.seconds:.3g} s between them"

    @admin.display(description="data flow")
    def data_flow(self, row: RelationEvidence) -> str:
        """Which output feeds which parameter."""
        return breakable(wording.data_flow(row.fields))


class RelationAdmin(admin.ModelAdmin[ToolDependency]):
    """Relations between tools, with what speaks for them."""

    form = RelationForm
    inlines = (EvidenceInline,)
    list_display = ("starts", "relation", "leads", "sure", "rests_on", "holds")
    list_filter = ("kind", EvidenceFilter, "rejected", "required", ServerFilter, ToolFilter)
    list_per_page = 50
    show_full_result_count = False
    search_fields = ("source__name", "target__name")
    search_help_text = "Names of tools and servers; ids such as git:git_log too."
    autocomplete_fields = ("source", "target")

    def get_queryset(self, request: HttpRequest) -> QuerySet[ToolDependency]:
        """Leave out what rests on nothing but other teams' observations."""
        rows: QuerySet[ToolDependency] = super().get_queryset(request).select_related(*SERVERS)
        seen = visible_evidence(request).order_by("source", "team")
        rows = rows.prefetch_related(Prefetch("evidence", queryset=seen, to_attr="seen"))
        return rows.exclude(pk__in=hidden_relations(request))

    def get_search_results(
        self,
        request: HttpRequest,  # noqa: ARG002
        queryset: QuerySet[Any],
        search_term: str,
    ) -> tuple[QuerySet[Any], bool]:
        """Keep relations of a tool that each word fits; the tools are looked up first."""
        for word in search_term.split():
            tools = named(word)
            queryset = queryset.filter(Q(source__in=tools) | Q(target__in=tools))
        return queryset, False

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Explain the kinds, and show of a relation that is there what its kind can have."""
        shown = () if obj is None else SHOWN
        kinds = set(Kind) if obj is None else {Kind(obj.kind)}
        explained = KINDS_EXPLAINED if obj is None else MEANINGS[Kind(obj.kind)]
        word = ("Your word", {"fields": ("confidence",), "description": YOUR_WORD})
        may_say = obj is None or self.has_change_permission(request, obj)
        return (
            (None, {"fields": (*KEY, *shown), "description": explained}),
            *((word,) if may_say else ()),
            *(part for kind, part in OF_ONE_KIND.items() if kind in kinds),
            ("Why", {"fields": ("reason",)}),
        )

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:  # noqa: ARG002
        """Let people choose once what identifies a relation."""
        return () if obj is None else (*KEY, *SHOWN)

    def get_inlines(self, request: HttpRequest, obj: Any) -> Any:  # noqa: ARG002
        """Show evidence only where there can be some."""
        return () if obj is None else self.inlines

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Leave rejected relations as they are until somebody takes the rejection back."""
        return super().has_change_permission(request, obj) and not (obj and obj.rejected)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Name the relations; what speaks for them goes along, whoever may delete evidence."""
        chosen = list(objs)
        named = [str(row) for row in chosen[:MAX_NAMED]]
        if len(chosen) > MAX_NAMED:
            named.append(f"and {len(chosen) - MAX_NAMED:,} more")
        evidence = RelationEvidence.objects.filter(relation__in=[row.pk for row in chosen])
        lacking = set() if self.has_delete_permission(request) else {"relation"}
        return named, {"relations": len(chosen), "evidence": evidence.count()}, lacking, []

    @admin.display(description="source", ordering="source__name")
    def starts(self, row: ToolDependency) -> str:
        """Tool it starts from."""
        return breakable(row.source)

    @admin.display(description="target", ordering="target__name")
    def leads(self, row: ToolDependency) -> str:
        """Tool it leads to."""
        return breakable(row.target)

    @admin.display(description="relation", ordering="kind")
    def relation(self, row: ToolDependency) -> str:
        """Kind, and whether a dependency is required."""
        optional = row.kind == Kind.DEPENDS_ON and not row.required
        return f"{row.get_kind_display()} (optional)" if optional else row.get_kind_display()

    @admin.display(description="confidence")
    def sure(self, row: Any) -> str:
        """Combine all evidence that the user sees; nothing where it was rejected."""
        if row.rejected or not row.seen:
            return "-"
        return f"{confidence(Kind(row.kind), map(_evidence, row.seen), now=timezone.now()):.2f}"

    @admin.display(description="rests on")
    def rests_on(self, row: Any) -> str:
        """Name the sources of the evidence, with who or what said it."""
        return breakable(", ".join(dict.fromkeys(map(_named, row.seen))) or "nothing")

    @admin.display(description="holds", boolean=True)
    def holds(self, row: ToolDependency) -> bool:
        """Whether nobody rejected it."""
        return not row.rejected

    @admin.display(description="state")
    def state(self, row: ToolDependency) -> str:
        """Whether it holds."""
        return REJECTED if row.rejected else HOLDS


def _evidence(row: RelationEvidence) -> Evidence:
    return Evidence(
        source=Source(row.source),
        confidence=row.confidence,
        successes=row.successes,
        failures=row.failures,
        last_seen=row.last_seen_at,
    )


def _named(row: RelationEvidence) -> str:
    if row.origin == record.SHIPPED:
        return "shipped"
    if row.source == Source.OBSERVED:
        return f"observed by {row.team}" if row.team else "observed"
    if row.team:
        return f"derived from results that {row.team} saw"
    if row.source == Source.SCHEMA or not row.origin:
        return row.source
    return f"{row.source} ({row.origin})"
