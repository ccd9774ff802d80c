"""Give people who come from an identity provider what their groups there give."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.db import transaction

from gateway_project.access import audit, roles
from gateway_project.foundation.access_rules import GroupRules
from gateway_project.foundation.caller import Caller
from tools.store import overview


class NotAdmitted(Exception):
    """The person may not sign in; the message says why and what to do."""


def require_role(groups: Collection[str], *, rules: GroupRules, default_role: str = "") -> None:
    """Check that somebody's groups give a role.

    Raises:
        NotAdmitted: If not.
    """
    if not rules.grant(groups, default_role=default_role).roles:
        raise NotAdmitted(
            "none of your groups gives a role here; whoever manages your groups can change that"
        )


def admit_person(
    user: Any, groups: Collection[str], *, rules: GroupRules, default_role: str = ""
) -> None:
    """Give a user the roles and teams that their groups give now, with audit entries.

    Without any role they are denied everything: their tokens, and sessions elsewhere, end in
    effect. Other groups and teams that no rule names stay as they are.

    Args:
        user: The user, already stored.
        groups: As the provider says.
        rules: What groups give.
        default_role: Role if no group gives one; empty: none.

    Raises:
        NotAdmitted: If no group gives a role, or the user is a superuser or deactivated.
    """
    name = user.get_username()
    if user.is_superuser:
        raise NotAdmitted("superusers sign in with a password of this installation")
    if not user.is_active:
        raise NotAdmitted("the account is deactivated; an admin of Foregate can activate it")
    entitled = rules.grant(groups, default_role=default_role)
    caller = Caller(user=name, team=None, person=None, scopes=frozenset(), kind="console")
    with transaction.atomic():
        changes = {
            "access": roles.set_access(user, is_denied=not entitled.roles),
            "roles": roles.set_roles(user, entitled.roles),
            "teams": overview.set_memberships(name, entitled.teams, among=rules.list_teams()),
        }
        if user.is_staff != bool(entitled.roles):
            user.is_staff = bool(entitled.roles)
            user.save(update_fields=["is_staff"])
        if any(changes.values()):
            detail = {
                "changed": sorted(name for name, changed in changes.items() if changed),
                "roles": list(entitled.roles),
                "teams": dict(entitled.teams),
            }
            audit.record_audit(caller, "user.groups_followed", name, detail=detail)
    require_role(groups, rules=rules, default_role=default_role)
