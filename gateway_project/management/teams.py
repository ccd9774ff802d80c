"""The teams that options of commands name."""

from __future__ import annotations

from django.core.management.base import CommandError

from graph.store import names


def named_team(name: str | None) -> int | None:
    """Return the primary key of a team that an option names; None where it names none.

    Raises:
        CommandError: If there is none of that name.
    """
    if name is None:
        return None
    team = names.team(name)
    if team is None:
        known = ", ".join(sorted(names.teams().values())) or "none"
        raise CommandError(f"no team {name!r}; there are: {known}")
    return team
