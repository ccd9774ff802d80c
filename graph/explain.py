"""Explain how two tools relate: direct relations, paths, and the evidence for each hop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from graph import wording
from graph.algorithms.shortest_path import find_shortest_path, find_strongest_path, path_confidence
from graph.record import GraphMetric
from graph.relations import (
    PATH_KINDS,
    Evidence,
    Relation,
    RelationKey,
)
from graph.topology import Topology

MAX_COMMON_NEIGHBOURS: Final = 5
"""Common neighbours that are returned."""
NameLookup = Callable[[int], str]


@dataclass(frozen=True, kw_only=True, slots=True)
class DisplayNames:
    """Names of tools and teams, and the evidence of relations.

    Attributes:
        evidence_of: Returns the evidence of a relation that the caller may see, by key; if empty,
            the sources named by the relation are listed instead.
    """

    name_of: NameLookup
    evidence_of: Callable[[RelationKey], Sequence[Evidence]] = lambda _: ()
    team_name: Callable[[int], str] = "team {}".format


@dataclass(frozen=True, kw_only=True, slots=True)
class RankedTool:
    """A tool with its graph metrics; None where nothing has been computed for it.

    Attributes:
        pagerank: Share of all rank, in [0, 1].
    """

    tool: int
    name: str
    pagerank: float | None
    community: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ExplainedRelation:
    """A relation in plain words.

    Attributes:
        evidence_texts: What it rests on, one text per source.
    """

    relation: Relation
    text: str
    evidence_texts: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolPath:
    """A path from one tool to another.

    Attributes:
        tools: Primary keys from start to end.
        confidence: Product of the hops' confidences, in [0, 1].
    """

    tools: tuple[int, ...]
    hops: tuple[ExplainedRelation, ...]
    confidence: float

    @property
    def is_direct(self) -> bool:
        """Whether it consists of one relation."""
        return len(self.hops) == 1


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolRoutes:
    """The paths from one tool to another, if there are any."""

    shortest: ToolPath | None = None
    strongest: ToolPath | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Explanation:
    """How two tools relate.

    Attributes:
        relations: Direct relations of any kind, in either direction, by falling confidence.
        common_neighbours: Only if there is no path: tools related to both, with the product of
            the best confidence on either side, best first.
        is_exclusive: Whether the two must not be in one workflow.
    """

    a: RankedTool
    b: RankedTool
    relations: tuple[ExplainedRelation, ...] = ()
    forward: ToolRoutes = ToolRoutes()
    backward: ToolRoutes = ToolRoutes()
    common_neighbours: tuple[tuple[int, float], ...] = ()
    is_exclusive: bool = False

    @property
    def is_same(self) -> bool:
        """Whether both are one tool."""
        return self.a.tool == self.b.tool

    @property
    def is_same_community(self) -> bool:
        """Whether both are known to be in one community."""
        return self.a.community is not None and self.a.community == self.b.community


def explain_relations(
    topology: Topology,
    a: int,
    b: int,
    *,
    names: DisplayNames,
    metrics: Mapping[int, GraphMetric],
) -> Explanation:
    """Explain how two tools relate."""
    tool_a, tool_b = (_make_ranked_tool(tool, names.name_of, metrics.get(tool)) for tool in (a, b))
    if a == b:
        return Explanation(a=tool_a, b=tool_b)
    relations = sorted(
        topology.relations_between(a, b),
        key=lambda relation: (-relation.confidence, relation.kind),
    )
    forward, backward = (find_routes(topology, *ends, names=names) for ends in ((a, b), (b, a)))
    is_unconnected = forward.shortest is None and backward.shortest is None
    return Explanation(
        a=tool_a,
        b=tool_b,
        relations=tuple(explain_relation(relation, names) for relation in relations),
        forward=forward,
        backward=backward,
        common_neighbours=find_common_neighbours(topology, a, b) if is_unconnected else (),
        is_exclusive=any(one.kind.traits.effect == "exclusion" for one in relations),
    )


def explain_relation(
    relation: Relation, names: DisplayNames, *, start: int | None = None
) -> ExplainedRelation:
    """Describe a relation in words."""
    evidence = names.evidence_of(relation.key)
    described = relation
    if relation.kind.traits.is_symmetric and start == relation.target:
        described = relation._replace(source=relation.target, target=relation.source)
    return ExplainedRelation(
        relation=relation,
        text=wording.write_sentence(described, names.name_of),
        evidence_texts=wording.write_grounds(relation, evidence, teams=names.team_name),
    )


def find_routes(topology: Topology, start: int, end: int, *, names: DisplayNames) -> ToolRoutes:
    """Find the shortest and the strongest path between two tools, each hop in words."""
    shortest = find_shortest_path(topology, start, end)
    if shortest is None:
        return ToolRoutes()
    strongest = find_strongest_path(topology, start, end) or shortest
    return ToolRoutes(
        shortest=explain_path(topology, shortest, names=names),
        strongest=explain_path(topology, strongest, names=names),
    )


def explain_path(topology: Topology, tools: Sequence[int], *, names: DisplayNames) -> ToolPath:
    """Describe a path in words.

    Args:
        topology: Has an arc between each tool and the next.
        tools: Primary keys from start to end.
        names: Names and evidence to use in texts.

    Raises:
        ValueError: If there is no arc from a tool to the next.
    """
    hops = [_find_arc_relation(topology, *pair) for pair in pairwise(tools)]
    return ToolPath(
        tools=tuple(tools),
        hops=tuple(
            explain_relation(hop, names, start=tool)
            for hop, tool in zip(hops, tools, strict=False)
        ),
        confidence=path_confidence(topology, tools),
    )


def find_common_neighbours(topology: Topology, a: int, b: int) -> tuple[tuple[int, float], ...]:
    """Return tools related to both, with the product of the best confidences, best first."""
    near_a, near_b = _neighbour_confidences(topology, a), _neighbour_confidences(topology, b)
    shared = ((tool, near_a[tool] * near_b[tool]) for tool in near_a.keys() & near_b.keys())
    return tuple(sorted(shared, key=lambda item: (-item[1], item[0]))[:MAX_COMMON_NEIGHBOURS])


def _neighbour_confidences(topology: Topology, tool: int) -> dict[int, float]:
    best: dict[int, float] = {}
    for relation in topology.relations_of(tool):
        other = relation.target if relation.source == tool else relation.source
        best[other] = max(best.get(other, 0.0), relation.confidence)
    return best


def _find_arc_relation(topology: Topology, source: int, target: int) -> Relation:
    candidates = (topology.get(source, target, kind) for kind in sorted(PATH_KINDS))
    best = max(filter(None, candidates), key=lambda relation: relation.confidence, default=None)
    if best is None:
        raise ValueError(f"no path leads from {source} to {target} directly")
    return best


def _make_ranked_tool(tool: int, name_of: NameLookup, metric: GraphMetric | None) -> RankedTool:
    return RankedTool(
        tool=tool,
        name=name_of(tool),
        pagerank=None if metric is None else metric.pagerank,
        community=None if metric is None else metric.community,
    )


def explanation_to_json(explanation: Explanation, name_of: NameLookup) -> dict[str, Any]:
    """Return an explanation as JSON values, tools by name."""
    return {
        "a": _tool_to_json(explanation.a),
        "b": _tool_to_json(explanation.b),
        "same_tool": explanation.is_same,
        "exclusive": explanation.is_exclusive,
        "same_community": explanation.is_same_community,
        "relations": [relation_to_json(item, name_of) for item in explanation.relations],
        "paths": {
            "a_to_b": _routes_to_json(explanation.forward, name_of),
            "b_to_a": _routes_to_json(explanation.backward, name_of),
        },
        "common_neighbours": [
            {"tool": name_of(tool), "confidence": round(confidence, 4)}
            for tool, confidence in explanation.common_neighbours
        ],
    }


def path_to_json(path: ToolPath, name_of: NameLookup) -> dict[str, Any]:
    """Return a path as JSON values, tools by name."""
    return {
        "tools": [name_of(tool) for tool in path.tools],
        "direct": path.is_direct,
        "confidence": round(path.confidence, 4),
        "hops": [relation_to_json(hop, name_of) for hop in path.hops],
    }


def relation_to_json(link: ExplainedRelation, name_of: NameLookup) -> dict[str, Any]:
    """Return a relation as JSON values, tools by name."""
    relation = link.relation
    return {
        "source": name_of(relation.source),
        "target": name_of(relation.target),
        "kind": relation.kind.value,
        "confidence": round(relation.confidence, 4),
        "words": link.text,
        "grounds": list(link.evidence_texts),
    }


def _tool_to_json(tool: RankedTool) -> dict[str, Any]:
    return {"tool": tool.name, "pagerank": tool.pagerank, "community": tool.community}


def _routes_to_json(routes: ToolRoutes, name_of: NameLookup) -> dict[str, Any]:
    return {
        name: None if path is None else path_to_json(path, name_of)
        for name, path in (("shortest", routes.shortest), ("strongest", routes.strongest))
    }
