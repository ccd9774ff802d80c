"""Scopes, which are all permissions there are, and the roles that bundle them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group

from gateway_project.foundation.caller import CLIENT_SCOPES, SCOPE_ALL, Caller
from gateway_project.foundation.user_error import UserError

SEARCH: Final = "search"
"""Find tools, describe them and ask for workflows."""
CALL: Final = "call"
"""Call tools and run workflows."""
READ: Final = "read"
"""Read resources and prompts of servers, runs, relations and what was learned."""
CONTROL: Final = "control"
"""Control runs; never given to a client by default."""
APPROVE: Final = "approve"
"""Decide approvals as a person; never given to a client by default."""
CURATE: Final = "curate"
"""Curate relations, patterns and dangerous operations, and approve changed definitions."""
METRICS: Final = "metrics"
"""Read the metrics of the installation, all teams together."""
ADMINISTER: Final = "administer"
"""Administer speculation, thresholds, tokens, endpoints, webhooks and configuration; audit."""

SCOPES: Final = (SEARCH, CALL, READ, CONTROL, APPROVE, CURATE, METRICS, ADMINISTER)
"""All scopes except `SCOPE_ALL`, which only superusers have."""
MEMBER_SCOPES: Final = (*CLIENT_SCOPES, CONTROL, APPROVE)
"""Scopes of a user without a role."""
ROLES: Final[Mapping[str, tuple[str, ...]]] = {
    "viewer": (SEARCH, READ),
    "operator": MEMBER_SCOPES,
    "curator": (*MEMBER_SCOPES, CURATE),
    "admin": SCOPES,
}
"""Scopes by role; each role has those of the roles before it. Roles are groups of these names."""
NO_ACCESS: Final = "no access"
"""Group of users who may do nothing: their identity provider no longer assigns them a role."""


class NotPermitted(UserError):
    """The caller lacks a scope."""

    code = "not_permitted"

    def __init__(self, caller: Caller, scope: str, refusal: str = "") -> None:
        remedy = (
            "only a superuser decides what concerns all teams"
            if scope == SCOPE_ALL
            else "an admin can give a role that has it, and a token must have been created with it"
        )
        super().__init__(f"{caller.user!r} {refusal or f'lacks the scope {scope!r}; {remedy}'}")


class UnknownRole(ValueError):
    """There is no role of that name."""

    def __init__(self, names: Collection[str]) -> None:
        super().__init__(f"no role {', '.join(sorted(names))}; there are {', '.join(ROLES)}")


def require_scope(caller: Caller, scope: str, refusal: str = "") -> None:
    """Check that a caller holds a scope.

    Args:
        caller: Whom to check.
        scope: The scope.
        refusal: What is said of the caller who does not, behind their name; by default, that they
            lack it.

    Raises:
        NotPermitted: If not.
    """
    if not caller.has_scope(scope):
        raise NotPermitted(caller, scope, refusal)


def require_decision(caller: Caller, team: int | None) -> None:
    """Check that a decision about rows of a team, or None: about shared ones, is the caller's.

    Raises:
        NotPermitted: If not.
    """
    if not caller.can_decide_for_team(team):
        raise NotPermitted(caller, SCOPE_ALL)


def compute_scopes(user: Any) -> frozenset[str]:
    """Return the scopes of a user by their roles; uses prefetched groups."""
    if user.is_superuser:
        return frozenset({SCOPE_ALL})
    names = {group.name for group in user.groups.all()}
    if NO_ACCESS in names:
        return frozenset()
    roles = [ROLES[name] for name in names if name in ROLES]
    return frozenset(scope for role in roles or [MEMBER_SCOPES] for scope in role)


def limit_scopes(stored: Any, held: Collection[str]) -> frozenset[str]:
    """Return the effective scopes of a token: those it was created with and its user still holds.

    `METRICS` may be given to the token of any user, such as that of a monitoring system, by
    somebody who holds it.

    Args:
        stored: As stored; anything but a list of known scopes grants nothing.
        held: The user's scopes.
    """
    if not isinstance(stored, list):
        return frozenset()
    if SCOPE_ALL in held:
        return frozenset(scope for scope in (*SCOPES, SCOPE_ALL) if scope in stored)
    return frozenset(scope for scope in SCOPES if scope in stored and scope in {*held, METRICS})


def load_roles(username: str) -> tuple[str, ...]:
    """Return the roles of a user, least first."""
    found = set(
        Group.objects.filter(user__username=username, name__in=ROLES).values_list(
            "name", flat=True
        )
    )
    return tuple(role for role in ROLES if role in found)


def set_roles(user: Any, roles: Collection[str]) -> bool:
    """Give a user exactly these roles; other groups stay. Return whether anything changed.

    Raises:
        UnknownRole: If there is no such role.
    """
    if unknown := set(roles) - set(ROLES):
        raise UnknownRole(unknown)
    if set(load_roles(user.get_username())) == set(roles):
        return False
    user.groups.remove(*user.groups.filter(name__in=set(ROLES) - set(roles)))
    user.groups.add(*(Group.objects.get_or_create(name=role)[0] for role in roles))
    return True


def set_access(user: Any, *, is_denied: bool) -> bool:
    """Deny a user everything, or no longer; return whether that changed."""
    if user.groups.filter(name=NO_ACCESS).exists() == is_denied:
        return False
    group, _ = Group.objects.get_or_create(name=NO_ACCESS)
    if is_denied:
        user.groups.add(group)
    else:
        user.groups.remove(group)
    return True


def list_role_holders() -> dict[str, tuple[str, ...]]:
    """Return the roles of each user that has one, least first, by user name; one query."""
    held: dict[str, set[str]] = {}
    rows = get_user_model().objects.filter(groups__name__in=ROLES).order_by("username")
    for username, role in rows.values_list("username", "groups__name"):
        held.setdefault(username, set()).add(role)
    return {name: tuple(role for role in ROLES if role in held[name]) for name in held}
