"""Looks up the tools that runs of a team called."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from typing import NamedTuple

from django.db.models import Q

from tools import ids
from tools.models import Tool


class VisibleTool(NamedTuple):
    """A tool visible to a team.

    Attributes:
        pk: Primary key.
        definition_hash: Of its pinned definition; empty: none.
    """

    pk: int
    definition_hash: str


def find_visible_tools(tools: Collection[str], *, team: int | None) -> dict[str, VisibleTool]:
    """Return existing tools visible to a team, by canonical id; one query.

    These are shared tools and the team's own, including removed ones. Renamed tools, and those on
    other teams' servers, are omitted.
    """
    wanted = Q()
    for tool in tools:
        with suppress(ids.MalformedToolId):
            server, name = ids.split_id(tool)
            wanted |= Q(server__name=server, name=name)
    if not wanted:
        return {}
    rows = Tool.objects.filter(wanted, Q(server__team=None) | Q(server__team=team)).values_list(
        "pk", "server__name", "name", "definition__hash"
    )
    return {
        ids.join_id(server, name): VisibleTool(pk, known or "") for pk, server, name, known in rows
    }
