"""Order tools for running: dependencies first, then as other relations suggest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from graph.algorithms.cycles import (
    AcyclicGraph,
    make_acyclic_graph,
    sort_strongest_first,
    sort_topologically,
)
from graph.relations import Relation, RelationKind, is_server_guess
from graph.topology import Topology

SOFT_KINDS: Final = (RelationKind.PROVIDES, RelationKind.PRECEDES, RelationKind.VALIDATES)
"""Kinds that constrain the order unless that closes a cycle; priority at equal confidence."""
_TARGET_FIRST_KINDS: Final = (RelationKind.DEPENDS_ON, RelationKind.VALIDATES)


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


def order_for_running(topology: Topology, tools: Sequence[int]) -> RunOrder:
    """Order tools so that each comes after its dependencies.

    Dependencies, required or not, are applied first; the weakest of each cycle is dropped. Then
    `provides`, `precedes` and `validates` relations apply unless they close a cycle: first those
    from people, files or runs, by falling confidence, then those that only servers vouch for.
    Otherwise the given order is kept.
    """
    distinct = tuple(dict.fromkeys(tools))
    order = make_acyclic_graph(distinct)
    related = list(topology.relations_among(distinct))
    dependencies = sort_strongest_first(r for r in related if r.kind is RelationKind.DEPENDS_ON)
    dropped = tuple(relation for relation in dependencies if not _add_relation(order, relation))
    for relation in sorted((r for r in related if r.kind in SOFT_KINDS), key=_soft_sort_key):
        _add_relation(order, relation)
    return RunOrder(
        tools=tuple(sort_topologically(distinct, order.arcs)),
        dropped_relations=dropped,
        is_constrained=bool(order.arcs),
    )


def _soft_sort_key(relation: Relation) -> tuple[bool, float, int, int, int]:
    kind = SOFT_KINDS.index(relation.kind)
    return (
        is_server_guess(relation),
        -relation.confidence,
        kind,
        relation.source,
        relation.target,
    )


def _add_relation(order: AcyclicGraph, relation: Relation) -> bool:
    if relation.kind in _TARGET_FIRST_KINDS:
        return order.add_arc(relation.target, relation.source)
    return order.add_arc(relation.source, relation.target)
