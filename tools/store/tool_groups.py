"""Stores tool groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import Q, QuerySet

from gateway_project.foundation.user_error import UserError
from tools.models import ToolGroup

COLUMNS = ("description", "servers", "categories", "tools")
"""Columns besides the name and the team."""


class UnknownToolGroup(UserError, LookupError):
    """There is no such tool group, or it is another team's."""

    code = "unknown_tool_group"

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no tool group {name!r}")


def select_groups() -> QuerySet[ToolGroup]:
    """Return all groups with their teams, by name."""
    return ToolGroup.objects.select_related("team").order_by("name")


def find_group(name: str, *, team: int | None) -> ToolGroup | None:
    """Return a group that callers acting for a team may be limited to; None: there is none."""
    usable = Q(team__isnull=True) | Q(team=team) if team is not None else Q(team__isnull=True)
    return ToolGroup.objects.filter(usable, name=name).first()


def save_group(name: str, values: Mapping[str, Any], *, team: int | None) -> bool:
    """Add a group, or change one; return whether it was added.

    Args:
        name: Its name.
        values: By column of `COLUMNS`; what is missing stays as it is.
        team: Primary key of its team; None: every team may use it.

    Raises:
        django.core.exceptions.ValidationError: If a value is invalid.
    """
    row = ToolGroup.objects.select_for_update().filter(name=name).first()
    is_new = row is None
    row = row or ToolGroup(name=name)
    row.team_id = team
    for column, value in values.items():
        setattr(row, column, sorted(set(value)) if isinstance(value, list | tuple) else value)
    row.full_clean()
    row.save()
    return is_new


def delete_group(name: str) -> int:
    """Delete a group with the tokens limited to it; return how many tokens.

    Raises:
        UnknownToolGroup: If there is none.
    """
    row = ToolGroup.objects.filter(name=name).first()
    if row is None:
        raise UnknownToolGroup(name)
    _, by_model = row.delete()
    return by_model.get("gateway_project.ApiToken", 0)
