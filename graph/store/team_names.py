"""Load the tools that runs called, and the teams that own private ones."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from graph.suggestion.binding.tasks import WorkflowTool
from tools import ids
from tools.models import Tool


class TeamName(NamedTuple):
    """A team: its primary key and its name."""

    team: int
    name: str


def load_tool_names(pks: Collection[int]) -> dict[int, WorkflowTool]:
    """Return tools by primary key, including unlisted ones; one query."""
    rows = Tool.objects.filter(pk__in=list(pks)).select_related("server", "definition")
    return {row.pk: _to_workflow_tool(row) for row in rows}


def load_private_teams(pks: Collection[int]) -> dict[int, TeamName]:
    """Return the owning teams of those tools that are private to one team; one query."""
    rows = Tool.objects.filter(pk__in=list(pks), server__team__isnull=False)
    found = rows.values_list("pk", "server__team_id", "server__team__name")
    return {pk: TeamName(team, name) for pk, team, name in found}


def _to_workflow_tool(row: Tool) -> WorkflowTool:
    definition = row.definition
    return WorkflowTool(
        pk=row.pk,
        tool=ids.join_id(row.server.name, row.name),
        name=row.name,
        description="" if definition is None else definition.description,
        input_schema={} if definition is None else definition.input_schema,
        definition_hash="" if definition is None else definition.hash,
    )
