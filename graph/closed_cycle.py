"""Find the cycle that a new dependency closes, and the edges that orders then drop."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from graph import record, wording
from graph.algorithms.shortest_path import find_shortest_path
from graph.contradictions import dropped_dependencies
from graph.store import names, relations
from graph.topology import Topology


@dataclass(frozen=True, kw_only=True, slots=True)
class ClosedCycle:
    """A shortest cycle through a dependency.

    Attributes:
        tools: Canonical ids, each requiring the next; the first is repeated at the end.
        dropped_edges: The dependencies of the cycle that orders drop, in words.
    """

    tools: tuple[str, ...]
    dropped_edges: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"This closes a cycle of dependencies: {' → '.join(self.tools)}. To run them at all, "
            f"the weakest is left out: “{'”, “'.join(self.dropped_edges)}”."
        )


def find_closed_cycle(source: int, target: int, *, now: datetime) -> ClosedCycle | None:
    """Return the cycle that a stored dependency closes; None if it closes none.

    Args:
        source: Primary key of the tool that requires the other.
        target: Primary key of the required tool.
        now: Time that the age of observations is measured at.
    """
    records = relations.load_reached_dependencies(source)
    views = [record.view_for_team(item, None, now=now) for item in records]
    shared = [relation for relation in views if relation is not None]
    topology = Topology(shared)
    path_back = find_shortest_path(topology, target, source)
    if path_back is None:
        return None
    cycle = (source, *path_back)
    ids = names.load_relation_ids(records)
    edges = set(pairwise(cycle))
    dropped = [
        relation
        for relation in dropped_dependencies(shared)
        if (relation.source, relation.target) in edges
    ]
    return ClosedCycle(
        tools=tuple(ids[tool] for tool in cycle),
        dropped_edges=tuple(
            wording.write_sentence(relation, ids.__getitem__) for relation in dropped
        ),
    )
