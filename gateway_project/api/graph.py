"""The graph of tools as the caller's team sees it: figures, paths and parts of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from gateway_project.access.roles import CURATE, SEARCH
from gateway_project.api.operations import Operation
from gateway_project.api.pages import read_choice, read_number
from gateway_project.api.problems import InvalidInput, NotFound
from gateway_project.api.views import ApiView
from gateway_project.find.lookup import limit_to_group
from gateway_project.find.relation_rows import phrase_relation
from gateway_project.foundation.schema_parts import TEXT, describe_object
from gateway_project.use_cases import curate_relations
from graph.algorithms.shortest_path import (
    find_shortest_path,
    find_strongest_path,
    path_confidence,
)
from graph.record import RelationClaim
from graph.relations import Relation, RelationKind
from graph.store import relations
from graph.topology import Topology
from tools.catalogue import CatalogueTool
from tools.visibility import Visibility

MAX_HOPS: Final = 3
MAX_NODES: Final = 500
DEFAULT_NODES: Final = 100
MAX_TOOLS: Final = 20
WAYS: Final = ("strongest", "shortest")
_DIGITS: Final = 3
_RELATION: Final = describe_object(
    {
        "source": TEXT,
        "target": TEXT,
        "kind": {"enum": [kind.value for kind in RelationKind]},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        "sources": {"type": "array", "items": TEXT},
        "says": {"type": "string", "description": "The relation in words"},
    }
)


class RelationDecisionSerializer(serializers.Serializer[Any]):
    """A person's word on how two tools are related."""

    source = serializers.CharField(  # type: ignore[assignment]  # a field of that name
        max_length=1_000, help_text="Id: server:tool"
    )
    kind = serializers.ChoiceField([kind.value for kind in RelationKind])
    target = serializers.CharField(max_length=1_000, help_text="Id: server:tool")
    decision = serializers.ChoiceField(
        ("add", "reject", "restore"),
        help_text="add; reject: it is not derived again; restore: no longer rejected",
    )
    reason = serializers.CharField(max_length=500, allow_blank=True, default="")


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
        among_visible = Topology(topology.relations_among(_list_visible(visibility)))
        path = find(among_visible, source, target) or ()
    return path, path_confidence(topology, path) if path else 0.0


@Operation(
    "GET graph/",
    SEARCH,
    in_groups=True,
    answers=describe_object(
        {
            "tools": {"type": "integer"},
            "related_tools": {"type": "integer", "description": "With any relation"},
            "relations": {"type": "integer"},
            "kinds": {"type": "object", "additionalProperties": {"type": "integer"}},
        }
    ),
)
def get_graph(call: ApiView) -> Any:
    """Count the tools that the caller may know of, and their relations."""
    visible = set(_list_visible(call.visibility))
    among = list(_load_topology(call).relations_among(visible))
    kinds = Counter(relation.kind.value for relation in among)
    related = {pk for relation in among for pk in (relation.source, relation.target)}
    return {
        "tools": len(visible),
        "related_tools": len(related),
        "relations": len(among),
        "kinds": dict(sorted(kinds.items())),
    }


@Operation(
    "GET graph/path/",
    SEARCH,
    in_groups=True,
    parameters=[
        OpenApiParameter("source", OpenApiTypes.STR, required=True),
        OpenApiParameter("target", OpenApiTypes.STR, required=True),
        OpenApiParameter("by", OpenApiTypes.STR, enum=WAYS, default=WAYS[0]),
    ],
    answers=describe_object(
        {
            "path": {
                "type": "array",
                "items": TEXT,
                "description": "Ids of tools; empty: there is no path",
            },
            "confidence": {"type": "number", "minimum": 0, "maximum": 1},
            "relations": {"type": "array", "items": _RELATION},
        }
    ),
)
def find_path(call: ApiView) -> Any:
    """Return the most reliable, or the shortest, way along the relations of tools."""
    topology, visibility = _load_topology(call), call.visibility
    source, target = _find_tool(call, "source"), _find_tool(call, "target")
    way = read_choice(call.request.query_params, "by", WAYS, default=WAYS[0])
    tools, confidence = trace_path(topology, visibility, source.pk, target.pk, way=way)
    return {
        "path": [visibility.get_tool_id(pk) for pk in tools],
        "confidence": round(confidence, _DIGITS),
        "relations": [
            _to_json(relation, visibility)
            for step in pairwise(tools)
            for relation in topology.relations_between(*step)
        ],
    }


@Operation(
    "GET graph/subgraph/",
    SEARCH,
    in_groups=True,
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
    answers=describe_object(
        {
            "tools": {"type": "array", "items": TEXT},
            "relations": {"type": "array", "items": _RELATION},
            "is_cut": {"type": "boolean", "description": "Whether there are more tools"},
        }
    ),
)
def get_subgraph(call: ApiView) -> Any:
    """Return the tools around some tools, strongest relations first, and how they relate."""
    topology, visibility = _load_topology(call), call.visibility
    given = call.request.query_params
    wanted = given.getlist("tool")
    if not 1 <= len(wanted) <= MAX_TOOLS:
        raise InvalidInput(f"tool: give 1 to {MAX_TOOLS} ids of tools")
    start = [visibility.catalogue.find_tool(tool, call.caller).pk for tool in wanted]
    hops = read_number(given, "hops", default=1, most=MAX_HOPS)
    most = read_number(given, "nodes", default=DEFAULT_NODES, most=MAX_NODES)
    found = _collect(topology, visibility, start, hops)
    kept = found[:most]
    among = sorted(topology.relations_among(kept), key=lambda one: (-one.confidence, *one.key))
    return {
        "tools": [visibility.get_tool_id(pk) for pk in kept],
        "relations": [_to_json(relation, visibility) for relation in among],
        "is_cut": len(found) > most,
    }


@Operation(
    "POST relations/", CURATE, takes=RelationDecisionSerializer, answers=RelationDecisionSerializer
)
def curate_relation(call: ApiView) -> Any:
    """Add a relation, reject one, or withdraw a rejection."""
    values, now = call.given, timezone.now()
    source, target = (
        call.visibility.catalogue.find_tool(values[name], call.caller).pk
        for name in ("source", "target")
    )
    kind = RelationKind(values["kind"])
    if source == target:
        raise InvalidInput("target: a relation is between two different tools")
    if values["decision"] == "add":
        claim = RelationClaim(source=source, target=target, kind=kind, reason=values["reason"])
        curate_relations.curate_relation(call.caller, claim, at=now)
        return values
    known = relations.find_relation(source, target, kind)
    if known is None:
        raise NotFound("such relation")
    if values["decision"] == "reject":
        curate_relations.reject_relations(call.caller, [known.pk], at=now)
    else:
        curate_relations.restore_relations(call.caller, [known.pk])
    return values


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


def _list_visible(visibility: Visibility) -> list[int]:
    tools = visibility.catalogue.tools.values()
    return [tool.pk for tool in tools if visibility.find_tool(tool.pk)]


def _to_json(relation: Relation, visibility: Visibility) -> dict[str, Any]:
    return {
        "source": visibility.get_tool_id(relation.source),
        "target": visibility.get_tool_id(relation.target),
        "kind": relation.kind.value,
        "confidence": round(relation.confidence, _DIGITS),
        "sources": [source.value for source in relation.sources],
        "says": phrase_relation(relation, relation.source, visibility),
    }


def _load_topology(call: ApiView) -> Topology:
    return limit_to_group(call.effects.topology(call.caller.owner), call.visibility)


def _find_tool(call: ApiView, name: str) -> CatalogueTool:
    given = call.request.query_params.get(name)
    if not given:
        raise InvalidInput(f"{name}: give the id of a tool")
    return call.visibility.catalogue.find_tool(given, call.caller)
