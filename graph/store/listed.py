"""The tools that relations may be between, by id."""

from __future__ import annotations

from typing import NamedTuple

from tools import ids
from tools.models import Tool


class Listed(NamedTuple):
    """A tool that a server lists or listed lately.

    Attributes:
        pk: Primary key.
        team: Primary key of the team its server belongs to; None is shared.
        category: Name of its category; empty if it has none.
    """

    pk: int
    team: int | None
    category: str


def tools() -> dict[str, Listed]:
    """Return all tools but removed ones by canonical id, in order of their ids."""
    rows = Tool.objects.exclude(state=Tool.State.REMOVED).values_list(
        "pk", "server__name", "name", "server__team_id", "category__name"
    )
    found = {
        ids.join(server, name): Listed(pk, team, category or "")
        for pk, server, name, team, category in rows
    }
    return dict(sorted(found.items()))
