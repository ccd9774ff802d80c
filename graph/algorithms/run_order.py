"""An order in which tools can run: dependencies first, then as data and habit suggest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from graph.algorithms.cycles import Acyclic, acyclic, strongest_first, topological_order
from graph.relations import Kind, Relation, is_guess
from graph.topology import Topology

SOFT: Final = (Kind.PROVIDES, Kind.PRECEDES, Kind.VALIDATES)
"""Kinds that order where they contradict nothing; of equally sure ones, in this order."""
_TARGET_FIRST: Final = (Kind.DEPENDS_ON, Kind.VALIDATES)


@dataclass(frozen=True, kw_only=True, slots=True)
class RunOrder:
    """Tools in an order in which they can run.

    Attributes:
        tools: Those that were given, each once.
        cut: Dependencies that the order goes against: each is the weakest of a cycle.
        is_constrained: Whether any relation had a say, or all are as they were given.
    """

    tools: tuple[int, ...]
    cut: tuple[Relation, ...]
    is_constrained: bool


def run_order(topology: Topology, tools: Sequence[int]) -> RunOrder:
    """Order tools so that each comes after those of them that it depends on.

    Dependencies, required or not, come first; the weakest of each cycle is dropped. Then what
    provides for another, precedes it, or is checked by it goes before it, as far as that closes
    no cycle: first what a person, a file or runs say, the surest first, then likewise what
    servers alone say. What is left free stays as it was given.

    Args:
        topology: Where the relations between the tools are.
        tools: Keys; repeated ones count once.
    """
    given = tuple(dict.fromkeys(tools))
    order = acyclic(given)
    related = list(topology.among(given))
    hard = strongest_first(r for r in related if r.kind is Kind.DEPENDS_ON)
    cut = tuple(relation for relation in hard if not _add(order, relation))
    for relation in sorted((r for r in related if r.kind in SOFT), key=_softness):
        _add(order, relation)
    return RunOrder(
        tools=tuple(topological_order(given, order.arcs)),
        cut=cut,
        is_constrained=bool(order.arcs),
    )


def _softness(relation: Relation) -> tuple[bool, float, int, int, int]:
    kind = SOFT.index(relation.kind)
    return (is_guess(relation), -relation.confidence, kind, relation.source, relation.target)


def _add(order: Acyclic, relation: Relation) -> bool:
    if relation.kind in _TARGET_FIRST:
        return order.add(relation.target, relation.source)
    return order.add(relation.source, relation.target)
