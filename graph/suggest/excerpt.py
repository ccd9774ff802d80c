"""The part of the graph that matters for a few tools, as a graph of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import permutations
from typing import Final

from graph.relations import Kind
from graph.topology import Topology

MAX_TOOLS: Final = 200
"""Tools that are followed to what they require; more says nothing about one workflow."""
MAX_PAIRED: Final = 24
"""Ranked tools between which ways are looked for: their number is squared."""


def around(topology: Topology, tools: Sequence[int]) -> Topology:
    """Copy the relations that a workflow of some tools can be concerned with.

    These are all among the tools, what they require directly or by others, and what connects two
    of them in two steps; what replaces any of these; and all relations among all of them. The copy
    may be read on another thread.

    O(tools² · relations of a tool) for two-step ways, of the first `MAX_PAIRED` tools.

    Args:
        topology: Where to look.
        tools: Primary keys, the likeliest first.

    Example:
        >>> from graph.relations import Relation
        >>> whole = Topology([Relation(1, 2, Kind.DEPENDS_ON, 1.0),
        ...                   Relation(2, 3, Kind.DEPENDS_ON, 1.0),
        ...                   Relation(8, 9, Kind.DEPENDS_ON, 1.0)])
        >>> sorted(around(whole, [1]).tools())
        [1, 2, 3]
    """
    wanted = _with_required(topology, dict.fromkeys(tools))
    wanted |= dict.fromkeys(_between(topology, list(dict.fromkeys(tools))[:MAX_PAIRED]))
    replaced = [relation for tool in wanted for relation in topology.incoming(tool, Kind.REPLACES)]
    wanted |= dict.fromkeys(relation.source for relation in replaced)
    return Topology(topology.among(wanted))


def _with_required(topology: Topology, tools: dict[int, None]) -> dict[int, None]:
    found, waiting = dict(tools), list(tools)
    while waiting and len(found) < MAX_TOOLS:
        for relation in topology.requires(waiting.pop()):
            if relation.target not in found:
                found[relation.target] = None
                waiting.append(relation.target)
    return found


def _between(topology: Topology, tools: Iterable[int]) -> Iterable[int]:
    """Yield, for each two tools, the one over which the best way of two steps leads."""
    for start, end in permutations(tools, 2):
        ahead, behind = topology.successors(start), topology.predecessors(end)
        if shared := ahead.keys() & behind.keys():
            yield min(shared, key=lambda tool: (-ahead[tool] * behind[tool], tool))
