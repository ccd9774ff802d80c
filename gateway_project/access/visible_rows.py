"""Limits rows of a table to those that a caller may know of."""

from __future__ import annotations

from typing import Any, TypeVar

from django.db.models import Model, Q, QuerySet

from gateway_project.foundation.caller import SCOPE_ALL, Caller

RowT = TypeVar("RowT", bound=Model)


def limit_to_team(
    rows: QuerySet[RowT], caller: Caller, *, field: str = "team", is_shared: bool = True
) -> QuerySet[RowT]:
    """Return the rows of the caller's team, and shared ones; a superuser sees all.

    Args:
        rows: Of any table with a team.
        caller: Who asks.
        field: Path to the team; without one, a row is shared.
        is_shared: Whether rows without a team are shared; if not, they concern every team, and
            only superusers see them.
    """
    if caller.has_scope(SCOPE_ALL):
        return rows
    own: dict[str, Any] = {field: caller.team}
    without: dict[str, Any] = {f"{field}__isnull": True}
    if caller.team is None:
        return rows.filter(**without) if is_shared else rows.none()
    return rows.filter(Q(**own) | Q(**without)) if is_shared else rows.filter(**own)
