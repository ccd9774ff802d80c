"""From a user's name to the caller that is passed down."""

from __future__ import annotations

from dataclasses import replace

from django.contrib.auth import get_user_model

from gateway_project.access import one_time_password
from gateway_project.access.tokens import CLIENT_SCOPES, SCOPES
from gateway_project.foundation.caller import SCOPE_ALL, Caller, Kind
from tools.store import overview

LOCAL_ADMIN = "admin"


class UnknownUser(LookupError):
    """No active user of that name."""


def for_user(name: str, *, kind: Kind) -> Caller:
    """Return the caller of a user; one who is in a single team acts for it.

    Raises:
        UnknownUser: If there is no active user of that name.
    """
    user = get_user_model().objects.filter(username=name, is_active=True).first()
    if user is None:
        raise UnknownUser(
            f"no active user {name!r}; `manage.py createsuperuser --username {name}` makes one"
        )
    scopes = frozenset({SCOPE_ALL} if user.is_superuser else CLIENT_SCOPES)
    return Caller(user=name, team=overview.only_team_of(name), scopes=scopes, kind=kind)


def still(caller: Caller) -> Caller:
    """Return a caller with the rights that are left to them by now.

    Args:
        caller: As they were when they asked for something that takes long.

    Raises:
        UnknownUser: If there is no such active user any more, or none in that team.
    """
    user = get_user_model().objects.filter(username=caller.user, is_active=True).first()
    if user is None:
        raise UnknownUser(f"there is no active user {caller.user!r} any more")
    if user.is_superuser:
        return caller
    if caller.team is not None and not overview.is_member(caller.user, caller.team):
        raise UnknownUser(f"{caller.user!r} is no longer in the team it was for")
    kept = SCOPES if SCOPE_ALL in caller.scopes else caller.scopes & set(SCOPES)
    return replace(caller, scopes=frozenset(kept))


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


def sign_in_line() -> str:
    """Say how the local admin signs in; without a lasting password, issue a one-time one."""
    admin = get_user_model().objects.get(username=LOCAL_ADMIN)
    if admin.has_usable_password():
        return f"Sign in as {LOCAL_ADMIN} with the password you set."
    password = one_time_password.issue(admin)
    return (
        f"Sign in as {LOCAL_ADMIN} with the one-time password {password} (valid once, for "
        f"{one_time_password.LIFETIME.total_seconds() / 3600:g} hours; "
        f"`manage.py changepassword {LOCAL_ADMIN}` sets a lasting one)"
    )
