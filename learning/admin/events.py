"""Admin pages of the episodic memory. Sealed values are never shown."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cached_property
from typing import Any, Final
from uuid import UUID

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import OuterRef, Q, QuerySet, Subquery, TextField, Value
from django.db.models.functions import Concat
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat
from django.utils.html import format_html
from django.utils.timezone import localtime

from execution.snapshot import compute_run_session
from graph.admin.breakable import breakable_html
from graph.admin.filters import ToolFilter
from learning.memory.stored_observation import UnreadableObservation, restore_observation
from learning.models import EpisodicEvent, EventSpool, IntentVector, UnlearnedEpisode
from tools import generic_django, ids  # noqa: F401 - generic_django for the subscripts below
from tools.admin_bases import ReadOnlyAdmin
from tools.admin_teams import filter_own_rows
from tools.models import Team, Tool

MAX_COUNTED: Final = 10_000
"""Rows that a list counts and pages through; a million would be read for the number alone."""
MAX_INT64: Final = 2**63 - 1


class BoundedPaginator(Paginator[Any]):
    """Pages through the newest rows only."""

    @cached_property
    def count(self) -> int:
        """Number of rows, at most `MAX_COUNTED`."""
        rows: Any = self.object_list
        return int(rows[:MAX_COUNTED].count())


class EventTeamFilter(admin.SimpleListFilter):
    """By team; offers the user's own teams without reading all events."""

    title = "team"
    parameter_name = "of_team"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:  # noqa: ARG002
        """Offer the teams of the user; superusers all."""
        teams = filter_own_rows(request, Team.objects.order_by("name"))
        return [("none", "callers without a team"), *((str(one.pk), one.name) for one in teams)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:  # noqa: ARG002
        """Keep events of the team."""
        if self.value() == "none":
            return queryset.filter(team=None)
        team = _parse_int64(self.value())
        return queryset if team is None else queryset.filter(team=team)


class EventToolFilter(ToolFilter):
    """By one tool; a tool in the list links to it."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:  # noqa: ARG002
        """Keep events about the tool."""
        tool = _parse_int64(self.value())
        return queryset if tool is None else queryset.filter(tool=tool)


class _HashFilter(admin.SimpleListFilter):
    """By one hash; a hash in the list links to it."""

    column = ""

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:  # noqa: ARG002
        """Offer only the requested hash, since there may be thousands."""
        value = _parse_int64(request.GET.get(self.parameter_name or ""))
        return [] if value is None else [(str(value), _format_hash(value))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:  # noqa: ARG002
        """Keep events of the hash."""
        value = _parse_int64(self.value())
        return queryset if value is None else queryset.filter(**{self.column: value})


class ContextFilter(_HashFilter):
    """By one context."""

    title = parameter_name = "context"
    column = "context_hash"


class EventSessionFilter(_HashFilter):
    """By one session."""

    title = parameter_name = column = "session"


class EventRunFilter(admin.SimpleListFilter):
    """By one run, which is a session of its own."""

    title = parameter_name = "run"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:  # noqa: ARG002
        """Offer only the requested run."""
        run = request.GET.get("run")
        return [(run, run)] if run else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:  # noqa: ARG002
        """Keep events of the run's tasks."""
        try:
            run = UUID(self.value() or "")
        except ValueError:
            return queryset
        return queryset.filter(session=compute_run_session(run))


@admin.register(EpisodicEvent)
class EpisodicEventAdmin(ReadOnlyAdmin):
    """Events of the memory, newest first; those of deleted tools are left out."""

    list_display = (
        "timestamp", "kind", "tool_label", "team", "session_label", "context_label", "outcome",
        "duration_label", "weight",
    )  # fmt: skip
    list_filter = (
        "kind", "outcome", EventTeamFilter, EventToolFilter, ContextFilter, EventSessionFilter,
        EventRunFilter,
    )  # fmt: skip
    list_select_related = ("team",)
    ordering = ("-id",)
    sortable_by = ()
    paginator = BoundedPaginator
    show_full_result_count = False
    fields = (
        "timestamp", "kind", "tool_label", "team", "session_label", "context_label",
        "arguments_label", "intent_label", "prediction", "outcome", "duration_label", "weight",
        "data", "observation_label", "sealed_size",
    )  # fmt: skip
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Add the names of the tools that the user may see."""
        name = Concat("server__name", Value(ids.SEPARATOR), "name", output_field=TextField())
        visible = filter_own_rows(request, Tool.objects.all())
        tools = visible.filter(pk=OuterRef("tool")).values(label=name)
        rows: QuerySet[Any] = super().get_queryset(request).defer("observation", "sealed")
        rows = rows.annotate(tool_name=Subquery(tools))
        return rows.filter(Q(tool=None) | ~Q(tool_name=None))

    @admin.display(description="at")
    def timestamp(self, row: EpisodicEvent) -> str:
        """Time to the millisecond."""
        return localtime(row.at).isoformat(sep=" ", timespec="milliseconds")

    @admin.display(description="tool")
    def tool_label(self, row: Any) -> str:
        """Name the tool, with a link to its events."""
        if row.tool is None:
            return ""
        return format_html('<a href="?tool={}">{}</a>', row.tool, breakable_html(row.tool_name))

    @admin.display(description="session")
    def session_label(self, row: EpisodicEvent) -> str:
        """Identify the session, with a link to its events."""
        shown = _format_hash(row.session)
        return format_html('<a href="?session={}">{}</a>', row.session, shown)

    @admin.display(description="context")
    def context_label(self, row: EpisodicEvent) -> str:
        """Identify the context, with a link to its events."""
        if row.context_hash is None:
            return ""
        shown = _format_hash(row.context_hash)
        return format_html('<a href="?context={}">{}</a>', row.context_hash, shown)

    @admin.display(description="arguments")
    def arguments_label(self, row: EpisodicEvent) -> str:
        """Identify the arguments."""
        return _format_hash(row.arguments_hash)

    @admin.display(description="intent")
    def intent_label(self, row: EpisodicEvent) -> str:
        """Identify the text of the intent."""
        return _format_hash(row.intent_hash)

    @admin.display(description="took")
    def duration_label(self, row: EpisodicEvent) -> str:
        """Milliseconds."""
        return "" if row.duration_ms is None else f"{row.duration_ms:.1f} ms"

    @admin.display(description="observation")
    def observation_label(self, row: EpisodicEvent) -> str:
        """What the call teaches: structure without values."""
        if row.observation is None:
            return ""
        try:
            return json.dumps(restore_observation(bytes(row.observation)))
        except UnreadableObservation as error:
            return f"damaged ({error})"

    @admin.display(description="sealed values")
    def sealed_size(self, row: EpisodicEvent) -> str:
        """Size of the sealed values."""
        return "none" if row.sealed is None else filesizeformat(len(row.sealed))


@admin.register(IntentVector)
class IntentVectorAdmin(ReadOnlyAdmin):
    """Vectors of intents: that there are some, not what they are."""

    list_display = ("intent_label", "model", "team", "seen_at")
    list_filter = (EventTeamFilter,)
    list_select_related = ("team",)
    ordering = ("-id",)
    sortable_by = ()
    paginator = BoundedPaginator
    show_full_result_count = False
    fields = list_display
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Do not load the vectors."""
        rows: QuerySet[Any] = super().get_queryset(request).defer("sealed")
        return rows

    @admin.display(description="intent")
    def intent_label(self, row: IntentVector) -> str:
        """Identify the text of the intent."""
        return _format_hash(row.intent_hash)


@admin.register(UnlearnedEpisode)
class UnlearnedEpisodeAdmin(ReadOnlyAdmin):
    """Direct calls that wait to be learned from: that there are some, not what they are."""

    list_display = ("id", "team", "stored_at", "content_size")
    list_filter = (EventTeamFilter,)
    list_select_related = ("team",)
    ordering = ("stored_at",)
    sortable_by = ()
    paginator = BoundedPaginator
    show_full_result_count = False
    fields = list_display
    readonly_fields = fields

    @admin.display(description="sealed calls")
    def content_size(self, row: UnlearnedEpisode) -> str:
        """Size of the sealed calls."""
        return filesizeformat(len(row.content))


@admin.register(EventSpool)
class EventSpoolAdmin(ReadOnlyAdmin):
    """How far spool files have been loaded."""

    list_display = ("id", "position", "loaded_at")
    ordering = ("-loaded_at",)


def _format_hash(value: int | None) -> str:
    """Write a hash as 16 hex digits, as logs would."""
    return "" if value is None else f"{value % 2**64:016x}"


def _parse_int64(text: Any) -> int | None:
    try:
        value = int(str(text))
    except ValueError:
        return None
    return value if -MAX_INT64 - 1 <= value <= MAX_INT64 else None
