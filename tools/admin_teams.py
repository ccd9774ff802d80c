"""Which rows of the admin a staff member may know of: shared ones, and those of their teams."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cache
from typing import Any, Final

from django.contrib.admin import ModelAdmin, RelatedFieldListFilter
from django.db.models import ForeignKey, Model, Q, QuerySet
from django.http import HttpRequest

from tools.models import Team

OWN_TEAM: Final = ("team",)
"""Path of rows whose own team alone decides."""


@cache
def find_team_paths(model: type[Model]) -> tuple[str, ...]:
    """Return the paths from the rows of a model to the teams that own them.

    A row belongs to a team directly or through the rows that it refers to; a relation between
    two tools has two paths. Models without any are shared by all.
    """
    return ("pk",) if model is Team else tuple(_iterate_paths(model, frozenset({model})))


def filter_own_rows(
    request: HttpRequest,
    rows: QuerySet[Any],
    *,
    paths: Collection[str] | None = None,
    is_shared: bool = True,
) -> QuerySet[Any]:
    """Exclude rows of teams that the user is not in; superusers see all.

    Args:
        request: The request of a staff member.
        rows: Of any model.
        paths: Paths to the teams; None: all that the model has.
        is_shared: Whether rows without a team are shared; if not, only superusers see them.
    """
    model: Any = rows.model
    paths = find_team_paths(model) if paths is None else paths
    condition = _make_condition(request, paths, is_shared=is_shared)
    return rows.filter(condition) if condition else rows


class OwnRowsFilter(RelatedFieldListFilter):
    """Filters a list by a related row, of which only the visible ones are offered."""

    def field_choices(
        self, field: Any, request: HttpRequest, model_admin: ModelAdmin[Any]
    ) -> list[tuple[str, Any]]:
        """Return the visible rows with their names."""
        shown_by = model_admin.admin_site._registry.get(field.related_model)
        condition = _make_condition(
            request,
            find_team_paths(field.related_model),
            is_shared=getattr(shown_by, "is_shared", True),
        )
        choices: list[tuple[str, Any]] = field.get_choices(
            include_blank=False,
            ordering=self.field_admin_ordering(field, request, model_admin),
            limit_choices_to=condition,
        )
        return choices


def _make_condition(request: HttpRequest, paths: Collection[str], *, is_shared: bool) -> Q:
    condition = Q()
    if request.user.is_superuser:
        return condition
    own = Team.objects.filter(memberships__user=request.user.pk)
    for path in paths:
        without = Q(**{f"{path}__isnull": True}) if is_shared else Q()
        condition &= Q(**{f"{path}__in": own}) | without
    return condition


def _iterate_paths(model: type[Model], visited: frozenset[type[Model]]) -> Iterator[str]:
    for field in model._meta.concrete_fields:
        target = field.related_model
        if not isinstance(field, ForeignKey) or not isinstance(target, type):
            continue
        if target is Team:
            yield field.name
        elif target not in visited:
            for path in _iterate_paths(target, visited | {target}):
                yield f"{field.name}__{path}"
