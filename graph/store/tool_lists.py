"""Load the tools that may have relations, by id."""

from __future__ import annotations

from typing import NamedTuple

from tools import ids
from tools.models import Tool


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
