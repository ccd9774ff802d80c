"""Builds the caller of a user and refreshes its rights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.contrib.auth import get_user_model

from gateway_project.access import one_time_password, roles
from gateway_project.access.roles import SCOPES
from gateway_project.foundation.caller import LOCAL_KINDS, SCOPE_ALL, Caller, CallerKind
from gateway_project.foundation.home import find_client_folder
from tools.store import overview, tool_groups
from tools.store.overview import UserTeams
from tools.store.tool_groups import UnknownToolGroup

LOCAL_ADMIN = "admin"
TEAM_KEY = "team"
"""Key of a console session under which the chosen team is kept."""


class UnknownUser(LookupError):
    """There is no active user of that name."""


def caller_for_user(name: str, *, kind: CallerKind, group: str | None = None) -> Caller:
    """Return the caller of a user; a member of exactly one team acts for that team.

    Args:
        name: The user's name.
        kind: How they are connected.
        group: Name of the tool group that they are limited to; None: to none.

    Raises:
        UnknownUser: If there is no active user of that name.
        UnknownToolGroup: If there is no such group, or it is another team's.
    """
    user = get_user_model().objects.filter(username=name, is_active=True).first()
    if user is None:
        raise UnknownUser(
            f"no active user {name!r}; `manage.py createsuperuser --username {name}` makes one"
        )
    caller = make_caller(user, overview.load_teams(name), kind=kind)
    if group is None:
        return caller
    if tool_groups.find_group(group, team=caller.team) is None:
        raise UnknownToolGroup(group)
    return caller.limit_to_group(group)


def make_caller(user: Any, teams: UserTeams, *, kind: CallerKind, chosen: object = None) -> Caller:
    """Return the caller of a loaded, active user, for their only team or the one they chose.

    Args:
        user: Loaded, active.
        teams: Theirs.
        kind: How they are connected.
        chosen: The team that the session of the console has; ignored if it is none of theirs.
    """
    return Caller(
        user=user.get_username(),
        team=teams.choose(chosen),
        person=teams.person,
        scopes=roles.compute_scopes(user),
        kind=kind,
        are_teams_used=teams.are_used,
        folder=find_client_folder() if kind in LOCAL_KINDS else "",
    )


def refresh_rights(caller: Caller) -> Caller:
    """Return a caller with only the rights that they still have.

    Args:
        caller: As recorded when a long operation began.

    Raises:
        UnknownUser: If the user is no longer active or no longer in that team.
    """
    user = get_user_model().objects.filter(username=caller.user, is_active=True).first()
    if user is None:
        raise UnknownUser(f"there is no longer an active user {caller.user!r}")
    if user.is_superuser:
        return caller
    if caller.team is not None and not overview.is_member(caller.user, caller.team):
        raise UnknownUser(f"{caller.user!r} is no longer in the team it was for")
    had = frozenset(SCOPES) if SCOPE_ALL in caller.scopes else caller.scopes
    return replace(caller, scopes=had & roles.compute_scopes(user))


def ensure_local_admin() -> None:
    """Make the local admin where there is none; it has no password until one is issued."""
    users = get_user_model().objects
    if users.filter(username=LOCAL_ADMIN).exists():
        return
    user, created = users.get_or_create(
        username=LOCAL_ADMIN, defaults={"is_staff": True, "is_superuser": True}
    )
    if created:
        user.set_unusable_password()
        user.save(update_fields=["password"])


def describe_sign_in() -> str:
    """Say how the local admin signs in; without a lasting password, issue a one-time one."""
    admin = get_user_model().objects.get(username=LOCAL_ADMIN)
    if admin.has_usable_password():
        return f"Sign in as {LOCAL_ADMIN} with the password you set."
    password = one_time_password.issue_password(admin)
    return (
        f"Sign in as {LOCAL_ADMIN} with the one-time password {password} (valid once, for "
        f"{one_time_password.PASSWORD_LIFETIME.total_seconds() / 3600:g} hours; "
        f"`manage.py changepassword {LOCAL_ADMIN}` sets a lasting one)"
    )
