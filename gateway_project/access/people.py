"""The people whom a caller may know of, and those whom they may change."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth import get_user_model
from django.db.models import Exists, OuterRef, QuerySet

from gateway_project.access import roles
from gateway_project.access.roles import ADMINISTER, NO_ACCESS, ROLES
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from tools.store import overview


@dataclass(frozen=True, kw_only=True)
class TeamMembership:
    """A team that a person belongs to.

    Attributes:
        pk: Primary key of the team.
        team: Its name.
        role: `member` or `admin`.
    """

    pk: int
    team: str
    role: str


@dataclass(frozen=True, kw_only=True)
class Person:
    """A user with what they may do.

    Attributes:
        pk: Primary key.
        name: User name.
        is_active: Whether they may sign in.
        is_superuser: Whether they may do everything.
        roles: Their roles, least first; empty: what a member may do.
        is_denied: Whether their identity provider no longer assigns them a role.
        is_from_provider: Whether they sign in at an identity provider.
        has_second_factor: Whether they have set one up.
        memberships: Their teams, by name; to others than superusers only the team acted for.
        may_change: Whether the caller may change more of them than their membership.
        last_login: When they last signed in to the console.
    """

    pk: int
    name: str
    is_active: bool
    is_superuser: bool
    roles: tuple[str, ...]
    is_denied: bool
    is_from_provider: bool
    has_second_factor: bool
    memberships: tuple[TeamMembership, ...]
    may_change: bool
    last_login: datetime | None


def find_administered_team(caller: Caller) -> int | None:
    """Return the team acted for if the caller administers it; None: they administer none."""
    if caller.team is None or not caller.has_scope(ADMINISTER):
        return None
    return caller.team if caller.team in overview.load_administered_teams(caller.user) else None


def select_people(caller: Caller) -> QuerySet[Any]:
    """Return the users whom a caller may know of, with what `make_person` reads; unordered.

    Superusers know of everybody, admins of a team of its members, others of nobody.
    """
    rows = get_user_model().objects.prefetch_related("groups", "memberships__team")
    rows = rows.annotate(
        has_second_factor=Exists(Authenticator.objects.filter(user=OuterRef("pk"))),
        is_from_provider=Exists(SocialAccount.objects.filter(user=OuterRef("pk"))),
    )
    if caller.has_scope(SCOPE_ALL):
        return rows
    team = find_administered_team(caller)
    return rows.none() if team is None else rows.filter(memberships__team=team)


def may_change_person(caller: Caller, user: Any) -> bool:
    """Whether a caller may change a person of `select_people`, and take over their account.

    An admin of a team may if the person belongs to no other team and may do nothing that the
    admin may not.
    """
    if caller.has_scope(SCOPE_ALL):
        return True
    is_own = {one.team_id for one in user.memberships.all()} == {caller.team}
    return is_own and all(map(caller.has_scope, roles.compute_scopes(user)))


def make_person(caller: Caller, row: Any) -> Person:
    """Return a row of `select_people` as its caller sees it; asks nothing more."""
    held = {group.name for group in row.groups.all()}
    sees_all = caller.has_scope(SCOPE_ALL)
    return Person(
        pk=row.pk,
        name=row.get_username(),
        is_active=row.is_active,
        is_superuser=row.is_superuser,
        roles=tuple(role for role in ROLES if role in held),
        is_denied=NO_ACCESS in held,
        is_from_provider=row.is_from_provider,
        has_second_factor=row.has_second_factor,
        memberships=tuple(
            TeamMembership(pk=one.team_id, team=one.team.name, role=one.role)
            for one in sorted(row.memberships.all(), key=lambda one: str(one.team.name))
            if sees_all or one.team_id == caller.team
        ),
        may_change=may_change_person(caller, row),
        last_login=row.last_login,
    )
