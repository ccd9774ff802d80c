"""The tools that runs called, as far as where their arguments came from depends on them."""

from __future__ import annotations

from collections.abc import Collection

from graph.binding.steps import BindTool
from tools import ids
from tools.models import Tool


def tools(pks: Collection[int]) -> dict[int, BindTool]:
    """Return tools by primary key, also such as their servers list no more; one query."""
    rows = Tool.objects.filter(pk__in=list(pks)).select_related("server", "definition")
    return {row.pk: _tool(row) for row in rows}


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
