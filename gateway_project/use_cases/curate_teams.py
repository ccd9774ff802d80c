"""Curate teams and who belongs to them, with permission checks and audit entries.

Superusers may do all of it. An admin of a team, who has the scope `administer` too, decides the
roles of its members and takes them out; only superusers add people who exist already, since that
changes for which team they act.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from gateway_project.access import audit, people
from gateway_project.access.roles import ADMINISTER, require_scope
from gateway_project.foundation.access_rules import MEMBER, TEAM_ADMIN
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.use_cases.curate_people import UnknownPerson
from gateway_project.use_cases.refusals import InvalidEntry, change_or_refuse
from tools.store import configuration, teams
from tools.store.configuration import TeamInUse
from tools.store.teams import UnknownTeam


def select_teams(caller: Caller) -> QuerySet[Any]:
    """Return the teams that a caller may change: all, or the one that they administer.

    Raises:
        NotPermitted: If the caller lacks the scope.
    """
    require_scope(caller, ADMINISTER)
    rows = teams.select_teams()
    if caller.has_scope(SCOPE_ALL):
        return rows
    team = people.find_administered_team(caller)
    return rows.none() if team is None else rows.filter(pk=team)


def find_team(caller: Caller, name: str) -> Any:
    """Return a team.

    Raises:
        NotPermitted: If the caller lacks the scope.
        UnknownTeam: If there is none for the caller.
    """
    row = select_teams(caller).filter(name=name).first()
    if row is None:
        raise UnknownTeam(name)
    return row


def create_team(
    caller: Caller, name: str, *, approve_from: str, requires_second_person: bool = False
) -> Any:
    """Add a team without members; return it.

    Raises:
        NotPermitted: If the caller is not a superuser.
        InvalidEntry: If a value is invalid or the name is taken.
    """
    require_scope(caller, SCOPE_ALL)
    if name in configuration.load_teams():
        raise InvalidEntry(f"the name {name!r} is taken; choose another")
    values = {"approve_from": approve_from, "requires_second_person": requires_second_person}
    save_team(caller, name, values, is_new=True)
    return find_team(caller, name)


def save_team(caller: Caller, name: str, values: Mapping[str, Any], *, is_new: bool) -> None:
    """Add a team without members, or change how its calls are approved.

    Args:
        caller: The actor.
        name: Of the team.
        values: New values by the names of `tools.store.configuration.TEAM_COLUMNS`.
        is_new: Whether it is added.

    Raises:
        NotPermitted: If the caller is not a superuser.
        InvalidEntry: If a value is invalid.
    """
    require_scope(caller, SCOPE_ALL)
    with change_or_refuse():
        configuration.save_team(name, values)
        action = f"team.{'registered' if is_new else 'changed'}"
        audit.record_audit(caller, action, name, detail={"changed": sorted(values)})


def change_team(
    caller: Caller,
    name: str,
    *,
    new_name: str | None = None,
    approve_from: str | None = None,
    requires_second_person: bool | None = None,
) -> Any:
    """Rename a team, or change how its calls are approved; return it.

    Args:
        caller: The actor.
        name: Of the team.
        new_name: Its new name; None: it stays.
        approve_from: Lowest danger class of calls that a person approves; None: it stays.
        requires_second_person: Whether that is somebody else than who makes the call; None: it
            stays.

    Raises:
        NotPermitted: If the caller is not a superuser.
        UnknownTeam: If there is none.
        InvalidEntry: If a value is invalid; nothing is changed then.
    """
    require_scope(caller, SCOPE_ALL)
    row = find_team(caller, name)
    with change_or_refuse():
        wanted = {"approve_from": approve_from, "requires_second_person": requires_second_person}
        changed = {
            column: value
            for column, value in wanted.items()
            if value not in (None, getattr(row, column))
        }
        if changed:
            save_team(caller, name, changed, is_new=False)
        if new_name is not None and new_name != name:
            teams.rename_team(row.pk, new_name)
            audit.record_audit(caller, "team.renamed", name, detail={"name": new_name})
    return find_team(caller, new_name or name)


def delete_team(caller: Caller, name: str) -> None:
    """Delete a team that has no members, servers, tokens, groups and webhooks.

    Raises:
        NotPermitted: If the caller is not a superuser.
        UnknownTeam: If there is none.
        InvalidEntry: If it has some.
    """
    find_team(caller, name)
    try:
        remove_team(caller, name)
    except TeamInUse as error:
        raise InvalidEntry(f"it still has {error}; move or delete them first") from None


def remove_team(caller: Caller, name: str) -> None:
    """Delete a team that owns nothing.

    Raises:
        NotPermitted: If the caller is not a superuser.
        TeamInUse: If it has members, servers, tokens or the like.
    """
    require_scope(caller, SCOPE_ALL)
    with transaction.atomic():
        configuration.delete_team(name)
        audit.record_audit(caller, "team.deleted", name)


def set_member(caller: Caller, name: str, person: str, *, role: str) -> None:
    """Add somebody to a team, or change their role in it.

    Raises:
        NotPermitted: If the caller lacks the scope.
        UnknownTeam: If there is no such team for the caller.
        UnknownPerson: If there is no such person; for admins of a team: among its members.
        InvalidEntry: If there is no such role, or it is the caller's own.
    """
    row = find_team(caller, name)
    if role not in (MEMBER, TEAM_ADMIN):
        raise InvalidEntry(f"there is no role {role!r} in a team; there are member and admin")
    _require_changeable(caller, person)
    with transaction.atomic():
        if teams.set_member(person, row.pk, role=role):
            detail = {"person": person, "role": role}
            audit.record_audit(caller, "team.member_set", name, detail=detail)


def remove_member(caller: Caller, name: str, person: str) -> None:
    """Take somebody out of a team; their tokens for it stop working.

    Raises:
        NotPermitted: If the caller lacks the scope.
        UnknownTeam: If there is no such team for the caller.
        UnknownPerson: If they are not in it.
        InvalidEntry: If it is the caller.
    """
    row = find_team(caller, name)
    _require_changeable(caller, person)
    with transaction.atomic():
        if not teams.remove_member(person, row.pk):
            raise UnknownPerson(person)
        audit.record_audit(caller, "team.member_removed", name, detail={"person": person})


def _require_changeable(caller: Caller, person: str) -> None:
    """Check that a caller may change a membership; those of oneself only as a superuser."""
    if not people.select_people(caller).filter(username=person).exists():
        raise UnknownPerson(person)
    if person == caller.user and not caller.has_scope(SCOPE_ALL):
        raise InvalidEntry("nobody changes their own membership; ask another admin")
