"""Curate tool groups, with permission checks and audit entries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from gateway_project.access import audit, tokens
from gateway_project.access.roles import ADMINISTER, require_scope
from gateway_project.access.visible_rows import limit_to_team
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.use_cases.refusals import InvalidEntry, change_or_refuse
from tools.store import configuration, tool_groups
from tools.store.tool_groups import UnknownToolGroup


def list_groups(caller: Caller) -> list[Any]:
    """Return the groups of the caller's team and those that every team may use, by name.

    Raises:
        NotPermitted: If the caller lacks the scope.
    """
    require_scope(caller, ADMINISTER)
    return list(limit_to_team(tool_groups.select_groups(), caller))


def find_group(caller: Caller, name: str) -> Any:
    """Return a group by name.

    Raises:
        NotPermitted: If the caller lacks the scope.
        UnknownToolGroup: If there is none for the caller.
    """
    require_scope(caller, ADMINISTER)
    row = limit_to_team(tool_groups.select_groups(), caller).filter(name=name).first()
    if row is None:
        raise UnknownToolGroup(name)
    return row


def save_group(
    caller: Caller, name: str, values: Mapping[str, Any], *, adds: bool | None = None
) -> None:
    """Add a group, or change one; it applies within a second.

    Args:
        caller: The actor; unless a superuser, they save groups of the team they act for.
        name: Its name, which stays.
        values: `team` (a name, or None) and the columns of `tool_groups.COLUMNS`; what is missing
            stays as it is.
        adds: Whether to add one (True) or to change one (False); None: whichever it takes.

    Raises:
        NotPermitted: If the caller lacks the scope.
        UnknownToolGroup: If there is none to change, or it is another team's.
        InvalidEntry: If a value is invalid; nothing is stored then.
    """
    require_scope(caller, ADMINISTER)
    with change_or_refuse():
        before = tool_groups.select_groups().filter(name=name).first()
        if before is None and adds is False:
            raise UnknownToolGroup(name)
        if before is not None and adds:
            raise InvalidEntry(f"the name {name!r} is taken; choose another")
        if before is not None:
            _require_own(caller, name, before.team_id)
        team = caller.team if before is None else before.team_id
        if "team" in values:
            team = _find_team(values["team"])
        _require_own(caller, name, team)
        columns = {column: values[column] for column in values if column != "team"}
        is_new = tool_groups.save_group(name, columns, team=team)
        verb = "registered" if is_new else "changed"
        detail = {"changed": sorted(values)}
        audit.record_audit(caller, f"toolgroup.{verb}", name, detail=detail)


def delete_group(caller: Caller, name: str) -> None:
    """Delete a group, and with it the tokens limited to it.

    Raises:
        NotPermitted: If the caller lacks the scope, or a token limited to it is private to another
            user and they are no superuser.
        UnknownToolGroup: If there is none for the caller.
    """
    with transaction.atomic():
        row = find_group(caller, name)
        _require_own(caller, name, row.team_id)
        if tokens.is_group_of_others(row, caller=caller):
            require_scope(caller, SCOPE_ALL)
        count = tool_groups.delete_group(name)
        audit.record_audit(caller, "toolgroup.deleted", name, detail={"tokens": count})


def _require_own(caller: Caller, name: str, team: int | None) -> None:
    if not caller.can_decide_for_team(team):
        raise UnknownToolGroup(name)


def _find_team(name: str | None) -> int | None:
    try:
        return configuration.find_team(name)
    except LookupError:
        raise InvalidEntry(f"there is no team {name!r}") from None
