"""The tools that runs called, as far as where their arguments came from depends on them."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from graph.binding.steps import BindTool
from tools import ids
from tools.models import Tool


class Owner(NamedTuple):
    """A team: its primary key and its name."""

    team: int
    name: str


def tools(pks: Collection[int]) -> dict[int, BindTool]:
    """Return tools by primary key, also such as their servers list no more; one query."""
    rows = Tool.objects.filter(pk__in=list(pks)).select_related("server", "definition")
    return {row.pk: _tool(row) for row in rows}


def private(pks: Collection[int]) -> dict[int, Owner]:
    """Return whose those of some tools are that only one team sees; one query."""
    rows = Tool.objects.filter(pk__in=list(pks), server__team__isnull=False)
    found = rows.values_list("pk", "server__team_id", "server__team__name")
    return {pk: Owner(team, name) for pk, team, name in found}


def _tool(row: Tool) -> BindTool:
    said = row.definition
    return BindTool(
        pk=row.pk,
        tool=ids.join(row.server.name, row.name),
        name=row.name,
        description="" if said is None else said.description,
        input_schema={} if said is None else said.input_schema,
        definition_hash="" if said is None else said.hash,
    )
