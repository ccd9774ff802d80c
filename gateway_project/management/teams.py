"""Look up the teams that command options name."""

from __future__ import annotations

from django.core.management.base import CommandError

from gateway_project.access import callers
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from graph.store import names
from tools.store import teams


def find_named_team(name: str | None) -> int | None:
    """Return the primary key of the named team; None without a name.

    Raises:
        CommandError: If there is no such team.
    """
    if name is None:
        return None
    team = names.find_team(name)
    if team is None:
        known = ", ".join(sorted(names.load_team_names().values())) or "none"
        raise CommandError(f"no team {name!r}; there are: {known}")
    return team


def find_owner(name: str | None) -> int | None:
    """Return what owns the observations to show: the named team, else the local admin alone.

    Raises:
        CommandError: If there is no such team.
    """
    team = find_named_team(name)
    return teams.find_private_team(callers.LOCAL_ADMIN) if team is None else team


def make_caller(name: str | None) -> Caller:
    """Return the local admin, acting for the named team.

    Raises:
        CommandError: If there is no such team.
    """
    return Caller(
        user=callers.LOCAL_ADMIN,
        team=find_named_team(name),
        person=teams.find_private_team(callers.LOCAL_ADMIN),
        scopes=frozenset({SCOPE_ALL}),
        kind="command",
    )
