"""Base classes of admin pages: who may view and change what."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import MAXYEAR, MINYEAR
from typing import Any, Final

from django.contrib import admin
from django.contrib.admin.utils import get_fields_from_path
from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.db import models
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest

from tools import generic_django  # noqa: F401 - for the subscripts below
from tools.admin_teams import OwnRowsFilter, filter_own_rows

NOTED_TEMPLATE: Final = "console/noted_change_list.html"
"""List with the page's own `change_list_note` above it."""

_EQUALITY_LOOKUPS: Final = frozenset({"", "exact", "in", "isnull"})
_TEXT_LOOKUPS: Final = frozenset({"iexact", "contains", "icontains", "startswith", "istartswith"})
_ORDER_LOOKUPS: Final = frozenset({"gt", "gte", "lt", "lte"})
_DATE_LOOKUPS: Final = frozenset({"year", "month", "day"})
_LOOKUPS_BY_FIELD: Final[Sequence[tuple[type[models.Field[Any, Any]], frozenset[str]]]] = (
    (models.DateField, _EQUALITY_LOOKUPS | _ORDER_LOOKUPS | _DATE_LOOKUPS),
    (models.IntegerField, _EQUALITY_LOOKUPS | _ORDER_LOOKUPS),
    (models.FloatField, _EQUALITY_LOOKUPS | _ORDER_LOOKUPS),
    (models.CharField, _EQUALITY_LOOKUPS | _TEXT_LOOKUPS),
    (models.TextField, _EQUALITY_LOOKUPS | _TEXT_LOOKUPS),
    (models.BooleanField, _EQUALITY_LOOKUPS),
    (models.UUIDField, _EQUALITY_LOOKUPS),
)
"""Allowed filters in a URL by kind of field; all other fields only allow `isnull`."""
_OTHER_LOOKUPS: Final = frozenset({"isnull"})


class ConsoleAdmin(admin.ModelAdmin[Any]):
    """Base of all pages: to a user, only shared rows and those of their teams exist.

    Lists, their filters and actions, single rows, and the choices of forms are limited alike.
    Invalid filters and values in hand-written URLs are rejected.

    Attributes:
        is_shared: Whether rows without a team are shared; if not, only superusers see them.
    """

    is_shared = True

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Exclude rows of teams that the user is not in."""
        return filter_own_rows(request, super().get_queryset(request), is_shared=self.is_shared)

    def get_field_queryset(self, db: Any, db_field: Any, request: HttpRequest) -> QuerySet[Any]:
        """Offer only visible rows as the value of a field."""
        ordered = super().get_field_queryset(db, db_field, request)
        rows = db_field.remote_field.model._default_manager.all() if ordered is None else ordered
        return filter_own_rows(request, rows)

    def get_list_filter(self, request: HttpRequest) -> Any:
        """Offer only visible rows in filters by a related row."""
        return [self._limit_filter(item) for item in super().get_list_filter(request)]

    def _limit_filter(self, item: Any) -> Any:
        if not isinstance(item, str):
            return item
        field = get_fields_from_path(self.model, item)[-1]
        return (item, OwnRowsFilter) if field.is_relation else item

    def get_ordering(self, request: HttpRequest) -> Any:
        """Return the order of rows, so that pages of a list never overlap."""
        return super().get_ordering(request) or ("-pk",)

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """Refuse filters that a field does not support."""
        field, rest = _resolve_lookup(self.model, lookup)
        if field is not None and "__".join(rest) not in _allowed_lookups(field):
            return False
        if rest[:1] == ["year"] and not _is_year(value):
            return False
        return bool(super().lookup_allowed(lookup, value, request))

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Any:
        """Return a row by its key, also if the URL names an empty `_to_field`.

        Raises:
            Http404: If there is none that the user may know of.
        """
        row = super().get_object(request, object_id, from_field or None)
        if row is None:
            raise Http404(f"there is no such {self.opts.verbose_name}")
        return row

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Return the valid initial values from the URL."""
        initial: dict[str, Any] = super().get_changeform_initial_data(request)
        return {name: value for name, value in initial.items() if self._can_hold(name, value)}

    def _can_hold(self, name: str, value: Any) -> bool:
        field, rest = _resolve_lookup(self.model, name)
        if not isinstance(field, models.Field) or rest:
            return False
        kind = field.target_field if isinstance(field, models.ForeignKey) else field
        try:
            for item in value if isinstance(value, list) else [value]:
                kind.to_python(item)
        except (ValidationError, ValueError, TypeError, OverflowError):
            return False
        return True


def _resolve_lookup(
    model: type[Model], lookup: str
) -> tuple[models.Field[Any, Any] | None, list[str]]:
    """Return the field of a lookup, None if there is none, and the remaining parts."""
    found: Any = None
    parts, at = lookup.split("__"), model
    for number, part in enumerate(parts):
        try:
            found = at._meta.pk if part == "pk" else at._meta.get_field(part)
        except FieldDoesNotExist:
            return found, parts[number:]
        if found.related_model is None:
            return found, parts[number + 1 :]
        at = found.related_model
    return found, []


def _allowed_lookups(field: models.Field[Any, Any]) -> frozenset[str]:
    if field.is_relation:
        return _EQUALITY_LOOKUPS
    return next(
        (allowed for kind, allowed in _LOOKUPS_BY_FIELD if isinstance(field, kind)), _OTHER_LOOKUPS
    )


def _is_year(value: Any) -> bool:
    """Whether a value is a year with a next one, so that both bounds can be computed."""
    try:
        return MINYEAR <= int(value) < MAXYEAR
    except (TypeError, ValueError):
        return False


class SuperuserWriteAdmin(ConsoleAdmin):
    """Users with permission may view; only superusers may change."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Only superusers add, since a server is a command to run."""
        return bool(request.user.is_superuser)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Only superusers change."""
        return bool(request.user.is_superuser)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Only superusers delete."""
        return bool(request.user.is_superuser)


class CascadeOnlyAdmin(ConsoleAdmin):
    """Rows that are deleted only together with their owner."""

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Refuse on the rows' own pages; a superuser may delete their owners."""
        page, own = request.resolver_match, f"{self.opts.app_label}_{self.opts.model_name}_"
        is_other_page = page is not None and not (page.url_name or "").startswith(own)
        return is_other_page and bool(request.user.is_superuser)


class ReadOnlyAdmin(CascadeOnlyAdmin):
    """Rows that people can only view."""

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002
        """Nobody adds by hand."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Nobody changes by hand."""
        return False


class CascadeCountingAdmin(ConsoleAdmin):
    """Confirms deletions with counts instead of lists: a server may cascade to 100,000 rows.

    Attributes:
        cascaded_models: Models whose cascaded rows are counted, with the lookup of their owner.
    """

    cascaded_models: tuple[tuple[type[Model], str], ...] = ()

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Return the selected rows with counts of the cascaded ones."""
        if not request.user.is_superuser:
            return super().get_deleted_objects(objs, request)
        chosen = list(objs)
        counts = {str(self.opts.verbose_name_plural): len(chosen)}
        for model, owner in self.cascaded_models:
            rows = model._default_manager.filter(**{f"{owner}__in": chosen})
            counts[str(model._meta.verbose_name_plural)] = rows.count()
        return [str(row) for row in chosen], counts, set(), []
