"""Names of tools and teams by primary key, and the tools that are listed by name."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from graph.record import RelationRecord
from tools import ids
from tools.models import Team, Tool


def load_ids(pks: Collection[int]) -> dict[int, str]:
    """Return canonical ids of tools, including removed ones; deleted ones are left out."""
    rows = Tool.objects.filter(pk__in=list(pks)).values_list("pk", "server__name", "name")
    return {pk: ids.join_id(server, name) for pk, server, name in rows}


def load_relation_ids(records: Iterable[RelationRecord]) -> dict[int, str]:
    """Return the canonical ids of the tools that relations join."""
    return load_ids({pk for record in records for pk in (record.source, record.target)})


def load_team_names() -> dict[int, str]:
    """Return the names of all teams."""
    return dict(Team.objects.values_list("pk", "name"))


def find_team(name: str) -> int | None:
    """Return the primary key of a team; None if no team has that name."""
    return Team.objects.filter(name=name).values_list("pk", flat=True).first()


class ListedTool(NamedTuple):
    """A tool that a server lists or listed recently.

    Attributes:
        team: Primary key of the team its server belongs to; None: shared.
        category: Name of its category; empty if it has none.
    """

    pk: int
    team: int | None
    category: str


def load_listed_tools() -> dict[str, ListedTool]:
    """Return all tools except removed ones by canonical id, sorted by id."""
    rows = Tool.objects.exclude(state=Tool.State.REMOVED).values_list(
        "pk", "server__name", "name", "server__team_id", "category__name"
    )
    found = {
        ids.join_id(server, name): ListedTool(pk, team, category or "")
        for pk, server, name, team, category in rows
    }
    return dict(sorted(found.items()))
