"""The page of `/admin/` that fits any model: its rows, read-only, as far as a person sees them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any, ClassVar, Final
from uuid import UUID

from django.contrib import admin
from django.contrib.admin import RelatedFieldListFilter
from django.contrib.postgres.fields import ArrayField
from django.core.paginator import Paginator
from django.db import models
from django.db.models import Exists, ForeignKey, Model, OuterRef, Q, QuerySet
from django.http import Http404, HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from pgvector.django import VectorField

from gateway_project.foundation.sealed_columns import SealedTextField
from gateway_project.models import AuditEntry, Webhook
from graph.models import RelationEvidence, ToolDependency
from tools import generic_django, hidden_text, ids  # noqa: F401 - generic_django for subscripts
from tools.models import Category, Server, Team, Tool

MAX_COUNTED: Final = 10_000
"""Rows that a list counts and pages through; a million would be read for the number alone."""
MAX_COLUMNS: Final = 12
MAX_CELL_CHARS: Final = 80
PAGE_ROWS: Final = 50
_SECRET_NAME: Final = re.compile("secret|password|digest|sealed")
_SECRET_TYPES: Final = (models.BinaryField, SealedTextField, VectorField)
_DATA_TYPES: Final = (models.JSONField, ArrayField)
_TEXT_TYPES: Final = (models.CharField, models.TextField)
_UNLISTED_NAME: Final = re.compile("hash$|_check$")
"""Columns that tell rows apart to the product, and to no reader of a list."""
_COMPARED_TYPES: Final = (
    models.BooleanField, models.CharField, models.IntegerField, models.UUIDField,
)  # fmt: skip
"""Fields that an address may filter by."""
_FILTER_TARGETS: Final = (Team, Server, Category)
"""Models with few rows, by which lists can be filtered."""
_OF_ALL_TEAMS: Final = (AuditEntry, Webhook)
"""Models whose rows without a team concern every team: only superusers see them."""
_LAUNCH_FIELDS: Final = frozenset(
    {"command", "args", "cwd", "url", "source", "extra", "last_error", "last_error_at",
     "last_output"}
)  # fmt: skip
"""Fields of a server that say how it is started and why it fails: only superusers see them."""

Column = str | Callable[[Any], Any]
Path = tuple[str, type[Model]]
"""Lookup of the team that a row belongs to, with the model that has it as a column."""


def filter_visible(request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
    """Leave out the rows that the user may not know of; superusers see all.

    A row belongs to each team that it, or a row that it refers to, names. Rows without a team
    are shared, if they are no person's and do not concern all teams.
    """
    condition = make_visibility(request, rows.model)
    if rows.model is ToolDependency and not request.user.is_superuser:
        rows = rows.filter(_make_evidence_condition(request))
    return rows.filter(condition) if condition else rows


def make_visibility(request: HttpRequest, model: type[Model]) -> Q:
    """Return the condition on the rows of a model that the user may know of."""
    condition = Q()
    if request.user.is_superuser:
        return condition
    own = Team.objects.filter(memberships__user=request.user.pk)
    if model is Team:
        return Q(pk__in=own)
    for path, owner in _iterate_team_paths(model, frozenset({model})):
        condition &= Q(**{f"{path}__in": own}) | _make_shared_condition(request, path, owner)
    return condition


def _make_shared_condition(request: HttpRequest, path: str, owner: type[Model]) -> Q:
    if owner in _OF_ALL_TEAMS:
        return Q(pk__in=())
    shared = Q(**{f"{path}__isnull": True})
    user = next((one for one in owner._meta.concrete_fields if one.name == "user"), None)
    if user is None:
        return shared
    name = request.user.pk if user.is_relation else request.user.get_username()
    return shared & Q(**{f"{path.removesuffix('team')}user": name})


def _make_evidence_condition(request: HttpRequest) -> Q:
    """Return the condition on relations that not only other teams have observed."""
    evidence = RelationEvidence.objects.filter(relation=OuterRef("pk"))
    seen = evidence.filter(make_visibility(request, RelationEvidence))
    return Q(Exists(seen)) | ~Q(Exists(evidence))


def _iterate_team_paths(model: type[Model], visited: frozenset[type[Model]]) -> Iterator[Path]:
    for field, target in _iterate_relations(model):
        if target is Team:
            yield field.name, model
        elif target not in visited:
            for path, owner in _iterate_team_paths(target, visited | {target}):
                yield f"{field.name}__{path}", owner


def _iterate_relations(model: type[Model]) -> Iterator[tuple[Any, type[Model]]]:
    for field in model._meta.concrete_fields:
        if isinstance(field, ForeignKey) and isinstance(field.related_model, type):
            yield field, field.related_model


def _iterate_joins(model: type[Model], visited: frozenset[type[Model]]) -> Iterator[str]:
    """Return what names of related rows are made of: relations, and those that these require."""
    for field, target in _iterate_relations(model):
        if len(visited) == 1 or not field.null:
            yield field.name
            if target not in visited:
                for path in _iterate_joins(target, visited | {target}):
                    yield f"{field.name}__{path}"


class VisibleRowsFilter(RelatedFieldListFilter):
    """Filters a list by a related row; offers the visible ones."""

    def field_choices(
        self, field: Any, request: HttpRequest, model_admin: admin.ModelAdmin[Any]
    ) -> list[tuple[str, Any]]:
        """Return the visible rows with their names."""
        visible = make_visibility(request, field.related_model)
        found: list[tuple[str, Any]] = field.get_choices(
            include_blank=False,
            ordering=self.field_admin_ordering(field, request, model_admin),
            limit_choices_to=visible,
        )
        return found


class _NewestRowsPaginator(Paginator[Any]):
    @cached_property
    def count(self) -> int:
        """Number of rows, at most `MAX_COUNTED`."""
        rows: Any = self.object_list
        return int(rows[:MAX_COUNTED].count())


class RecordAdmin(admin.ModelAdmin[Any]):
    """Rows of a model, made from its fields; people look them up and change nothing.

    Attributes:
        editable: Fields that a person may change.
        may: What may be done with rows, by whoever may curate them: add, change, delete.
    """

    editable: ClassVar[tuple[str, ...]] = ()
    may: ClassVar[frozenset[str]] = frozenset()
    paginator = _NewestRowsPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER  # each would count all rows
    list_per_page = PAGE_ROWS

    def __init__(self, model: type[Model], site: admin.AdminSite) -> None:
        super().__init__(model, site)
        fields = model._meta.concrete_fields
        self._secret = [one.name for one in fields if _is_secret(one)]
        self._fields = [one for one in fields if one.name not in self._secret]
        self._joins = tuple(_iterate_joins(model, frozenset({model})))
        self._filters = tuple(_iterate_filters(self._fields))
        self._columns = {one.name: _make_column(one) for one in self._fields}
        listed = sorted((one for one in self._fields if _is_listed(one)), key=_is_number)
        self._cells = {one.name: _make_column(one, max_chars=MAX_CELL_CHARS) for one in listed}

    def may_curate(self, request: HttpRequest) -> bool:
        """Return whether the user may do what `may` says."""
        return bool(request.user.is_superuser)

    def has_curate_permission(self, request: HttpRequest) -> bool:
        """Return whether the user may take the actions that need it."""
        return self.may_curate(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Return whether rows are added here, and the user may."""
        return "add" in self.may and self.may_curate(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Return whether rows are changed here, and the user may."""
        return "change" in self.may and self.may_curate(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Return whether rows are deleted here, and the user may."""
        return "delete" in self.may and self.may_curate(request)

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Return whether the user may see the list of rows."""
        return self.has_view_permission(request)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the visible rows, without what no page shows."""
        return filter_visible(request, super().get_queryset(request)).defer(*self._secret)

    def get_list_select_related(self, request: HttpRequest) -> tuple[str, ...]:  # noqa: ARG002
        """Return what the names of related rows are read with."""
        return self._joins

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:  # noqa: ARG002
        """Return the order: newest first, as far as keys or times say so."""
        is_random = isinstance(self.opts.pk, models.UUIDField)
        dates = [one.name for one in self._fields if isinstance(one, models.DateTimeField)]
        is_dated = is_random and "created_at" in dates
        return ("-created_at", "-pk") if is_dated else ("-pk",)

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Any:
        """Return a row by its key.

        Raises:
            Http404: If there is none that the user may know of.
        """
        row = super().get_object(request, object_id, from_field or None)
        if row is None:
            raise Http404(f"there is no such {self.opts.verbose_name}")
        return row

    def get_list_display(self, request: HttpRequest) -> Any:
        """Return the first columns that fit into a line."""
        shown = {one.name for one in self._list_shown(request)}
        cells = [cell for name, cell in self._cells.items() if name in shown]
        return ("row_name", *cells[:MAX_COLUMNS])

    def get_list_filter(self, request: HttpRequest) -> Any:  # noqa: ARG002
        """Return filters by choices, yes and no, and rows of which there are few."""
        return self._filters

    def get_search_fields(self, request: HttpRequest) -> tuple[str, ...]:
        """Return the texts that the user sees: a search says what is in one."""
        return tuple(_iterate_searched(self._list_shown(request)))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Search for a whole id of a row or run, else for parts of texts, such as a tool's id."""
        found = _find_by_id(self._fields, search_term.strip())
        if found:
            return queryset.filter(found), False
        words = search_term.replace(ids.SEPARATOR, " ")
        return super().get_search_results(request, queryset, words)

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:  # noqa: ARG002
        """Return whether an address may filter by a lookup: equality with what the user sees."""
        shown = self._list_shown(request)
        names = {one.name for one in shown if one.is_relation or isinstance(one, _COMPARED_TYPES)}
        names |= {one[0] for one in self._filters if isinstance(one, tuple)}
        return re.sub("(__id)?(__exact|__isnull)?$", "", lookup) in names

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return what may be changed, then the record."""
        editable = self._list_editable(request, obj)
        if obj is None:
            return editable
        return (*editable, *self.get_readonly_fields(request, obj))

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the columns of the record that nobody changes here."""
        editable = self._list_editable(request, obj)
        shown = [one.name for one in self._list_shown(request)]
        return tuple(self._columns[name] for name in shown if name not in editable)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:  # noqa: ARG002
        """Return nothing: no address fills a form."""
        return {}

    @admin.display(description="record", ordering="pk")
    def row_name(self, row: Any) -> str:
        """Return the name of a row, with hidden characters written out."""
        return hidden_text.reveal_hidden(str(row)) or "-"

    def _list_editable(self, request: HttpRequest, obj: Any) -> tuple[str, ...]:
        is_permitted = (
            self.has_add_permission(request)
            if obj is None
            else self.has_change_permission(request, obj)
        )
        return self.editable if is_permitted else ()

    def _list_shown(self, request: HttpRequest) -> list[Any]:
        if self.model is not Server or request.user.is_superuser:
            return self._fields
        return [one for one in self._fields if one.name not in _LAUNCH_FIELDS]


def _is_secret(field: Any) -> bool:
    return isinstance(field, _SECRET_TYPES) or bool(_SECRET_NAME.search(field.name))


def _is_listed(field: Any) -> bool:
    is_key = field.primary_key or (isinstance(field, models.UUIDField) and not field.is_relation)
    return not (is_key or isinstance(field, _DATA_TYPES) or _UNLISTED_NAME.search(field.name))


def _is_number(field: Any) -> bool:
    kinds = (models.IntegerField, models.FloatField, models.DecimalField)
    return isinstance(field, kinds) and not field.choices


def _iterate_filters(fields: Iterable[Any]) -> Iterator[Any]:
    for field in fields:
        if field.choices or isinstance(field, models.BooleanField):
            yield field.name
        elif field.related_model in _FILTER_TARGETS:
            yield (field.name, VisibleRowsFilter)
        elif field.related_model is Tool and field.name == "tool":
            yield ("tool__server", VisibleRowsFilter)


def _iterate_searched(fields: Iterable[Any]) -> Iterator[str]:
    for field in fields:
        if field.related_model is Tool:
            yield from (f"{field.name}__name", f"{field.name}__server__name")
        elif field.related_model in _FILTER_TARGETS:
            yield f"{field.name}__name"
        elif isinstance(field, _TEXT_TYPES) and not field.choices:
            yield field.name


def _find_by_id(fields: Iterable[Any], text: str) -> Q:
    """Return the condition on columns that hold ids like a text; empty: it is none, or no such."""
    found = Q()
    try:
        key = UUID(text)
    except ValueError:
        return found
    for field in fields:
        target = field.target_field if field.is_relation else field
        if isinstance(target, models.UUIDField):
            found |= Q(**{field.name: key})
    return found


def _make_column(field: Any, *, max_chars: int | None = None) -> Column:
    """Return how a field is shown: its name, or a function that renders its value.

    Args:
        field: Of a model.
        max_chars: Characters after which a text is cut; None: it is shown whole.
    """
    is_rendered = field.is_relation or isinstance(field, (*_DATA_TYPES, *_TEXT_TYPES))
    if field.choices or not is_rendered:
        return str(field.name)

    def show(row: Any) -> str:
        value = getattr(row, field.name)
        if value is None or value == "":
            return "-"
        if field.is_relation:
            return _link_row(value)
        if not isinstance(value, str):
            value = json.dumps(value, ensure_ascii=False, indent=2, default=str)
        text = hidden_text.reveal_hidden(value)
        if max_chars is not None:
            return text if len(text) <= max_chars else f"{text[:max_chars]}…"
        return format_html('<pre class="exact">{}</pre>', text) if "\n" in text else text

    show.__name__ = field.name
    show.short_description = field.verbose_name  # type: ignore[attr-defined]
    show.admin_order_field = field.name  # type: ignore[attr-defined]
    return show


def _link_row(row: Model) -> SafeString:
    name, opts = hidden_text.reveal_hidden(str(row)), row._meta
    if not admin.site.is_registered(type(row)):
        return format_html("{}", name)
    address = reverse(f"admin:{opts.app_label}_{opts.model_name}_change", args=[row.pk])
    return format_html('<a href="{}">{}</a>', address, name)
