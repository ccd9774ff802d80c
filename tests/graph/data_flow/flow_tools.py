"""Tools for tests of data flow, in few words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graph.data_flow.derive import derive_flows
from graph.data_flow.endpoints import ToolEndpoints, read_endpoints
from graph.record import RelationClaim
from tests.gateway.catalogues import tool


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
        self.tools: list[ToolEndpoints] = []

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
        added = tool(
            f"{server}:{name}",
            pk=len(self.tools) + 1,
            input_schema=schema() if inputs is None else inputs,
            output_schema=gives,
            team=team,
        )
        self.tools.append(read_endpoints(added, [seen] if seen else []))
        return len(self.tools)

    def flows(self) -> dict[tuple[str, str], RelationClaim]:
        """Return what is derived, by the names of both tools."""
        names = {one.tool.pk: one.tool.name for one in self.tools}
        return {(names[f.source], names[f.target]): f for f in derive_flows(self.tools)}
