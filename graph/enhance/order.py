"""Order the tools of an answer for running, as far as relations constrain them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from graph.algorithms.cycles import (
    make_acyclic_graph,
    sort_strongest_first,
    sort_topologically,
)
from graph.algorithms.expand import MIN_CONFIDENCE
from graph.enhance.related import MIN_GUESS_RANK
from graph.relations import (
    SOFT_KINDS,
    Relation,
    RelationKind,
    is_binding_dependency,
    is_server_guess,
    rank_soft,
    select_kinds,
)
from graph.topology import Topology

RIVAL_KINDS: Final = select_kinds("alternative", "exclusion", "replacement")
"""Kinds that make two tools rivals: one of them suffices, or only one is allowed."""

ArcMap = Mapping[int, Iterable[int]]


@dataclass(frozen=True, kw_only=True, slots=True)
class RunOrder:
    """Tools in an order in which they can run.

    Attributes:
        tools: The given tools, each once.
        dropped_relations: Dependencies that the order violates; each is the weakest of a cycle.
        is_constrained: Whether any relation constrained the order.
    """

    tools: tuple[int, ...]
    dropped_relations: tuple[Relation, ...]
    is_constrained: bool


_UNORDERED: Final = RunOrder(tools=(), dropped_relations=(), is_constrained=False)


def order_tools(topology: Topology, listed: Sequence[int]) -> RunOrder:
    """Order those tools of an answer that relations constrain.

    These are the tools that depend on another listed tool, with their dependencies, and the tools
    that come before or after the best match, directly or through others. Relations that only
    servers claim count from `MIN_GUESS_RANK` confidence on. A kind that paths do not follow pulls
    in the later tool only: a validator, but no other tools that it validates. Of rivals
    (exclusive, alternative or replacing tools) only the one listed higher is kept, with its
    requirements.

    Returns:
        At least two tools, each after its dependencies; none if nothing constrains the order.

    Example:
        >>> topology = Topology([Relation(2, 1, RelationKind.PRECEDES, 0.9),
        ...                      Relation(4, 3, RelationKind.PRECEDES, 0.9)])
        >>> order_tools(topology, [1, 2, 3, 4]).tools
        (2, 1)
    """
    relations = list(topology.relations_among(listed))
    kept = _drop_rivals(relations, listed)
    depending, before, after = _build_arcs(relations, kept)
    constrained = {*depending}
    if listed:
        connected = _collect_reachable(listed[0], before) | _collect_reachable(listed[0], after)
        constrained |= connected if len(connected) > 1 else set()
    order = order_for_running(topology, [tool for tool in listed if tool in constrained])
    return order if order.is_constrained else _UNORDERED


def _build_arcs(
    relations: Iterable[Relation], kept: Mapping[int, object]
) -> tuple[set[int], ArcMap, ArcMap]:
    """Return the tools with dependencies, and each tool's direct predecessors and successors."""
    depending: set[int] = set()
    before: dict[int, list[int]] = {}
    after: dict[int, list[int]] = {}
    for relation in relations:
        source, target = relation.source, relation.target
        if source == target or source not in kept or target not in kept:
            continue
        if relation.kind is RelationKind.DEPENDS_ON:
            depending |= {source, target}
        elif relation.confidence < (
            MIN_GUESS_RANK if is_server_guess(relation) else MIN_CONFIDENCE
        ):
            continue
        elif relation.kind in SOFT_KINDS:
            first, then = relation.run_order
            after.setdefault(first, []).append(then)
            if relation.kind.traits.is_path:
                before.setdefault(then, []).append(first)
    return depending, before, after


def _drop_rivals(relations: Sequence[Relation], listed: Sequence[int]) -> dict[int, None]:
    """Drop tools that rival one listed higher, and tools that require such a tool."""
    requirements: dict[int, list[int]] = {}
    rivals: dict[int, set[int]] = {}
    for relation in relations:
        if is_binding_dependency(relation):
            requirements.setdefault(relation.source, []).append(relation.target)
        elif relation.kind in RIVAL_KINDS:
            rivals.setdefault(relation.source, set()).add(relation.target)
            rivals.setdefault(relation.target, set()).add(relation.source)
    if not rivals:
        return dict.fromkeys(listed)
    kept: dict[int, None] = {}
    for tool in listed:
        closure = _collect_reachable(tool, requirements) if tool not in kept else set()
        if not any(rival in kept for required in closure for rival in rivals.get(required, ())):
            kept |= dict.fromkeys(closure)
    return kept


def _collect_reachable(start: int, arcs: ArcMap) -> set[int]:
    return {start, *_walk_arcs(start, arcs)}


def _walk_arcs(start: int, arcs: ArcMap) -> Iterator[int]:
    seen, queue = {start}, deque([start])
    while queue:
        for successor in arcs.get(queue.popleft(), ()):
            if successor not in seen:
                seen.add(successor)
                queue.append(successor)
                yield successor


def order_for_running(topology: Topology, tools: Sequence[int]) -> RunOrder:
    """Order tools so that each comes after its dependencies.

    Dependencies, required or not, are applied first; the weakest of each cycle is dropped. Then
    relations of `SOFT_KINDS` apply unless they close a cycle: first those from people, files or
    runs, by falling confidence, then those that only servers vouch for. Otherwise the given order
    is kept.
    """
    distinct = tuple(dict.fromkeys(tools))
    order = make_acyclic_graph(distinct)
    related = list(topology.relations_among(distinct))
    dependencies = sort_strongest_first(r for r in related if r.kind is RelationKind.DEPENDS_ON)
    dropped = tuple(one for one in dependencies if not order.add_arc(*one.run_order))
    for relation in sorted((r for r in related if r.kind in SOFT_KINDS), key=rank_soft):
        order.add_arc(*relation.run_order)
    return RunOrder(
        tools=tuple(sort_topologically(distinct, order.arcs)),
        dropped_relations=dropped,
        is_constrained=bool(order.arcs),
    )
