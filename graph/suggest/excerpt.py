"""The part of the graph that matters for a few tools, as a graph of its own."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from operator import itemgetter
from typing import Final

from graph.relations import Kind
from graph.topology import Topology

MAX_TOOLS: Final = 200
"""Tools that are followed to what they require; more says nothing about one workflow."""
MAX_PAIRED: Final = 24
"""Ranked tools between which ways are looked for: their number is squared."""
MAX_NEAR: Final = 200
"""Neighbours of a tool that ways may lead over, the surest: there are tools with thousands."""

Arcs = Mapping[int, Mapping[int, float]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Ends:
    """Where paths go on from some tools and come from, by tool; copies, for another thread."""

    ahead: Arcs
    behind: Arcs


def ends(topology: Topology, tools: Iterable[int]) -> Ends:
    """Copy the arcs of the first `MAX_PAIRED` of some tools."""
    paired = list(dict.fromkeys(tools))[:MAX_PAIRED]
    return Ends(
        ahead={tool: dict(topology.successors(tool)) for tool in paired},
        behind={tool: dict(topology.predecessors(tool)) for tool in paired},
    )


def between(known: Ends) -> tuple[int, ...]:
    """Return, for each two tools, the one over which the best way of two steps leads.

    Of each tool the `MAX_NEAR` surest neighbours count. O(tools² · `MAX_NEAR`).
    """
    ahead = {tool: _surest(arcs) for tool, arcs in known.ahead.items()}
    behind = {tool: _surest(arcs) for tool, arcs in known.behind.items()}
    found: dict[int, None] = {}
    for start, end in permutations(ahead, 2):
        there, back = ahead[start], behind[end]
        if shared := there.keys() & back.keys():
            found[_best(shared, there, back)] = None
    return tuple(found)


def around(
    topology: Topology, tools: Sequence[int], *, ways: Sequence[int] | None = None
) -> Topology:
    """Copy the relations that a workflow of some tools can be concerned with.

    These are all among the tools, what they require directly or by others, and what connects two
    of them in two steps; what replaces any of these; and all relations among all of them. The copy
    may be read on another thread.

    Args:
        topology: Where to look.
        tools: Primary keys, the likeliest first.
        ways: What connects them, where `between` has found it; None: it is looked for.

    Example:
        >>> from graph.relations import Relation
        >>> whole = Topology([Relation(1, 2, Kind.DEPENDS_ON, 1.0),
        ...                   Relation(2, 3, Kind.DEPENDS_ON, 1.0),
        ...                   Relation(8, 9, Kind.DEPENDS_ON, 1.0)])
        >>> sorted(around(whole, [1]).tools())
        [1, 2, 3]
    """
    wanted = _with_required(topology, dict.fromkeys(tools))
    wanted |= dict.fromkeys(between(ends(topology, tools)) if ways is None else ways)
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


def _best(shared: Iterable[int], there: Mapping[int, float], back: Mapping[int, float]) -> int:
    return min(shared, key=lambda tool: (-there[tool] * back[tool], tool))


def _surest(arcs: Mapping[int, float]) -> Mapping[int, float]:
    if len(arcs) <= MAX_NEAR:
        return arcs
    return dict(heapq.nlargest(MAX_NEAR, arcs.items(), key=itemgetter(1)))
