"""Tools for tests of data flow, in few words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graph.data_flow.derive import DataFlow, FlowTool, derive_flows


def schema(*required: str, **optional: Any) -> dict[str, Any]:
    """Return a schema of string fields; the optional ones with what their schema says."""
    fields = {name: {"type": "string"} for name in required} | optional
    return {"type": "object", "properties": fields, "required": list(required)}


def listing(**fields: Any) -> dict[str, Any]:
    """Return the schema of a result that lists items with these fields, all of them there."""
    item = {"type": "object", "properties": fields, "required": sorted(fields)}
    items = {"type": "array", "items": item}
    return {"type": "object", "properties": {"items": items}, "required": ["items"]}


class Catalogue:
    """Tools by name, and what is derived from them."""

    def __init__(self) -> None:
        self.tools: list[FlowTool] = []

    def add(
        self,
        name: str,
        inputs: Mapping[str, Any] | None = None,
        *,
        gives: Mapping[str, Any] | None = None,
        seen: Mapping[str, Any] | None = None,
        server: str = "server",
        team: int | None = None,
    ) -> int:
        """Add a tool and return its primary key."""
        self.tools.append(
            FlowTool(
                pk=len(self.tools) + 1,
                name=name,
                input_schema=schema() if inputs is None else inputs,
                output_schema=gives,
                observed=seen,
                server=server,
                team=team,
            )
        )
        return len(self.tools)

    def flows(self) -> dict[tuple[str, str], DataFlow]:
        """Return what is derived, by the names of both tools."""
        names = {tool.pk: tool.name for tool in self.tools}
        return {(names[f.source], names[f.target]): f for f in derive_flows(self.tools)}
