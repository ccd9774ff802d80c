"""The graph of tools as the caller's team sees it: figures, paths and parts of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar, Final

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from gateway_project.access.roles import SEARCH
from gateway_project.api.problems import InvalidInput
from gateway_project.api.views import ApiView
from gateway_project.find.lookup import limit_to_group
from gateway_project.find.relation_rows import phrase_relation
from graph.algorithms.shortest_path import (
    find_shortest_path,
    find_strongest_path,
    path_confidence,
)
from graph.relations import Relation, RelationKind
from graph.topology import Topology
from tools.catalogue import CatalogueTool
from tools.visibility import Visibility

MAX_HOPS: Final = 3
MAX_NODES: Final = 500
DEFAULT_NODES: Final = 100
MAX_TOOLS: Final = 20
WAYS: Final = ("strongest", "shortest")
_DIGITS: Final = 3
_TEXT: Final = {"type": "string"}
_RELATION: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "source": _TEXT,
        "target": _TEXT,
        "kind": {"enum": [kind.value for kind in RelationKind]},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        "sources": {"type": "array", "items": _TEXT},
        "says": {"type": "string", "description": "The relation in words"},
    },
    "required": ["source", "target", "kind", "confidence", "sources", "says"],
}


def trace_path(
    topology: Topology, visibility: Visibility, source: int, target: int, *, way: str
) -> tuple[Sequence[int], float]:
    """Return the most reliable or the shortest path along visible tools, and how sure it is.

    That is the product of the confidences along it; no tools: there is no path.

    Args:
        topology: The relations as the caller's team sees them.
        visibility: Which tools the caller may know of.
        source: Primary key of the first tool.
        target: Primary key of the last tool.
        way: One of `WAYS`.
    """
    find = find_strongest_path if way == WAYS[0] else find_shortest_path
    path = find(topology, source, target) or ()
    if not all(visibility.find_tool(pk) for pk in path):
        path = find(_restrict(topology, visibility), source, target) or ()
    return path, path_confidence(topology, path) if path else 0.0


class GraphView(ApiView):
    """Figures of the graph."""

    scopes: ClassVar = {"GET": SEARCH}
    serves_groups = True

    @extend_schema(
        operation_id="get_graph",
        responses={
            200: {
                "type": "object",
                "properties": {
                    "tools": {"type": "integer"},
                    "related_tools": {"type": "integer", "description": "With any relation"},
                    "relations": {"type": "integer"},
                    "kinds": {"type": "object", "additionalProperties": {"type": "integer"}},
                },
                "required": ["tools", "related_tools", "relations", "kinds"],
            }
        },
    )
    def get(self, _request: Request) -> Response:
        """Count the tools that the caller may know of, and their relations."""
        topology, visibility = _load(self)
        visible = {
            tool.pk
            for tool in visibility.catalogue.tools.values()
            if visibility.find_tool(tool.pk)
        }
        relations = list(topology.relations_among(visible))
        kinds = Counter(relation.kind.value for relation in relations)
        related = {pk for relation in relations for pk in (relation.source, relation.target)}
        return Response(
            {
                "tools": len(visible),
                "related_tools": len(related),
                "relations": len(relations),
                "kinds": dict(sorted(kinds.items())),
            }
        )


class PathView(ApiView):
    """A way from one tool to another."""

    scopes: ClassVar = {"GET": SEARCH}
    serves_groups = True

    @extend_schema(
        operation_id="find_path",
        parameters=[
            OpenApiParameter("source", OpenApiTypes.STR, required=True),
            OpenApiParameter("target", OpenApiTypes.STR, required=True),
            OpenApiParameter("by", OpenApiTypes.STR, enum=WAYS, default=WAYS[0]),
        ],
        responses={
            200: {
                "type": "object",
                "properties": {
                    "path": {
                        "type": "array",
                        "items": _TEXT,
                        "description": "Ids of tools; empty: there is no path",
                    },
                    "confidence": {"type": "number", "minimum": 0, "maximum": 1},
                    "relations": {"type": "array", "items": _RELATION},
                },
                "required": ["path", "confidence", "relations"],
            }
        },
    )
    def get(self, request: Request) -> Response:
        """Return the most reliable, or the shortest, way along the relations of tools."""
        topology, visibility = _load(self)
        source = _find_tool(self, visibility, request, "source")
        target = _find_tool(self, visibility, request, "target")
        way = request.query_params.get("by", WAYS[0])
        if way not in WAYS:
            raise InvalidInput(f"by: one of {', '.join(WAYS)}")
        tools, confidence = trace_path(topology, visibility, source.pk, target.pk, way=way)
        return Response(
            {
                "path": [visibility.get_tool_id(pk) for pk in tools],
                "confidence": round(confidence, _DIGITS),
                "relations": [
                    _to_json(relation, visibility)
                    for step in pairwise(tools)
                    for relation in topology.relations_between(*step)
                ],
            }
        )


class SubgraphView(ApiView):
    """The surroundings of tools."""

    scopes: ClassVar = {"GET": SEARCH}
    serves_groups = True

    @extend_schema(
        operation_id="get_subgraph",
        parameters=[
            OpenApiParameter("tool", OpenApiTypes.STR, many=True, required=True),
            OpenApiParameter("hops", OpenApiTypes.INT, description=f"1 to {MAX_HOPS}", default=1),
            OpenApiParameter(
                "nodes",
                OpenApiTypes.INT,
                description=f"Most tools of the answer, 1 to {MAX_NODES}",
                default=DEFAULT_NODES,
            ),
        ],
        responses={
            200: {
                "type": "object",
                "properties": {
                    "tools": {"type": "array", "items": _TEXT},
                    "relations": {"type": "array", "items": _RELATION},
                    "is_cut": {"type": "boolean", "description": "Whether there are more tools"},
                },
                "required": ["tools", "relations", "is_cut"],
            }
        },
    )
    def get(self, request: Request) -> Response:
        """Return the tools around some tools, strongest relations first, and how they relate."""
        topology, visibility = _load(self)
        wanted = request.query_params.getlist("tool")
        if not 1 <= len(wanted) <= MAX_TOOLS:
            raise InvalidInput(f"tool: give 1 to {MAX_TOOLS} ids of tools")
        start = [visibility.catalogue.find_tool(tool, self.caller).pk for tool in wanted]
        hops = _read_number(request, "hops", 1, MAX_HOPS)
        most = _read_number(request, "nodes", DEFAULT_NODES, MAX_NODES)
        found = _collect(topology, visibility, start, hops)
        kept = found[:most]
        relations = sorted(
            topology.relations_among(kept), key=lambda one: (-one.confidence, *one.key)
        )
        return Response(
            {
                "tools": [visibility.get_tool_id(pk) for pk in kept],
                "relations": [_to_json(relation, visibility) for relation in relations],
                "is_cut": len(found) > most,
            }
        )


def _collect(topology: Topology, visibility: Visibility, start: list[int], hops: int) -> list[int]:
    """Return the visible tools within some hops, nearest and strongest first."""
    found = dict.fromkeys(start)
    edge = list(found)
    for _ in range(hops):
        onward: dict[int, float] = {}
        for pk in edge:
            for relation in topology.relations_of(pk):
                other = relation.target if relation.source == pk else relation.source
                if other not in found and visibility.find_tool(other):
                    onward[other] = max(onward.get(other, 0.0), relation.confidence)
        edge = sorted(onward, key=lambda pk: (-onward[pk], pk))
        found |= dict.fromkeys(edge)
        if len(found) > MAX_NODES:
            break
    return list(found)


def _restrict(topology: Topology, visibility: Visibility) -> Topology:
    """Return the relations among visible tools only."""
    visible = [
        tool.pk for tool in visibility.catalogue.tools.values() if visibility.find_tool(tool.pk)
    ]
    return Topology(topology.relations_among(visible))


def _to_json(relation: Relation, visibility: Visibility) -> dict[str, Any]:
    return {
        "source": visibility.get_tool_id(relation.source),
        "target": visibility.get_tool_id(relation.target),
        "kind": relation.kind.value,
        "confidence": round(relation.confidence, _DIGITS),
        "sources": [source.value for source in relation.sources],
        "says": phrase_relation(relation, relation.source, visibility),
    }


def _load(view: ApiView) -> tuple[Topology, Visibility]:
    effects = view.effects
    visibility = Visibility(catalogue=effects.catalogue(), caller=view.caller)
    topology = effects.topology(view.caller.owner)
    return limit_to_group(topology, visibility), visibility


def _find_tool(
    view: ApiView, visibility: Visibility, request: Request, name: str
) -> CatalogueTool:
    given = request.query_params.get(name)
    if not given:
        raise InvalidInput(f"{name}: give the id of a tool")
    return visibility.catalogue.find_tool(given, view.caller)


def _read_number(request: Request, name: str, default: int, most: int) -> int:
    text = request.query_params.get(name, str(default))
    number = int(text) if text.isascii() and text.isdigit() and len(text) < len("1000000") else 0
    if not 1 <= number <= most:
        raise InvalidInput(f"{name}: a whole number from 1 to {most}")
    return number
