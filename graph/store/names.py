"""What tools and teams are called, by primary key."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from graph.record import Record
from tools import ids
from tools.models import Team, Tool


def tools(pks: Collection[int]) -> dict[int, str]:
    """Return canonical ids, removed tools' too; such as are gone are left out."""
    rows = Tool.objects.filter(pk__in=list(pks)).values_list("pk", "server__name", "name")
    return {pk: ids.join(server, name) for pk, server, name in rows}


def of(records: Iterable[Record]) -> dict[int, str]:
    """Return the canonical ids of the tools that relations are between."""
    return tools({pk for record in records for pk in (record.source, record.target)})


def teams() -> dict[int, str]:
    """Return the names of all teams."""
    return dict(Team.objects.values_list("pk", "name"))


def team(name: str) -> int | None:
    """Return the primary key of a team; None if there is none of that name."""
    return Team.objects.filter(name=name).values_list("pk", flat=True).first()
