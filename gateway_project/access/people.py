"""Lists the people of the installation and its teams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model

from gateway_project.access.roles import ROLES


@dataclass(frozen=True, kw_only=True)
class Person:
    """A user with what they may do.

    Attributes:
        pk: Primary key.
        name: User name.
        is_active: Whether they may sign in.
        is_superuser: Whether they may do everything.
        roles: Their roles, least first; empty: what a member may do.
        teams: Names of their teams; those they administer end in "(admin)".
        last_login: When they last signed in to the console.
    """

    pk: int
    name: str
    is_active: bool
    is_superuser: bool
    roles: tuple[str, ...]
    teams: tuple[str, ...]
    last_login: datetime | None


def list_people(*, text: str = "", after: str = "", most: int) -> Sequence[Person]:
    """Return users by name; three queries.

    Args:
        text: Part of their names; empty: all.
        after: Name of the last one of the page before.
        most: Maximum count.
    """
    rows = get_user_model().objects.filter(username__gt=after, username__icontains=text)
    rows = rows.prefetch_related("groups", "memberships__team").order_by("username")
    return [_make_person(row) for row in rows[:most]]


def find_person(name: str) -> Person | None:
    """Return the user of that name; None if there is none."""
    rows = get_user_model().objects.filter(username=name)
    row = rows.prefetch_related("groups", "memberships__team").first()
    return _make_person(row) if row is not None else None


def _make_person(row: Any) -> Person:
    held = {group.name for group in row.groups.all()}
    memberships = sorted(row.memberships.all(), key=lambda one: one.team.name)
    return Person(
        pk=row.pk,
        name=row.get_username(),
        is_active=row.is_active,
        is_superuser=row.is_superuser,
        roles=tuple(role for role in ROLES if role in held),
        teams=tuple(
            f"{one.team.name} (admin)" if one.role == "admin" else one.team.name
            for one in memberships
        ),
        last_login=row.last_login,
    )
