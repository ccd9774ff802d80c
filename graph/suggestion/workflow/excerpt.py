"""Find what is related to a few tools: further ones to consider, and the part of the graph."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise, permutations
from math import prod
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from graph.algorithms.expand import iterate_reached
from graph.enhance.alternatives import REPLACING_KINDS
from graph.relations import PATH_KINDS, is_server_guess
from graph.topology import Topology, accept_every_tool

if TYPE_CHECKING:
    from graph.suggestion.ranking.rank import Ranking

MAX_TOOLS: Final = 200
"""Limit of tools whose requirements are followed; more is irrelevant to one workflow."""
MAX_PAIRED_TOOLS: Final = 24
"""Limit of ranked tools between which paths are searched: the cost grows with its square."""
MAX_NEIGHBOURS: Final = 200
"""Limit of neighbours per tool, the most confident first: some tools have thousands."""
MIN_CONFIDENCE: Final = 0.5
"""Minimum confidence of the path to a tool."""
MAX_CONSIDERED: Final = 5
MAX_EXAMINED: Final = 200
"""Limit of paths examined, the most confident first."""


def find_intermediate_tools(topology: Topology, tools: Iterable[int]) -> tuple[int, ...]:
    """Return, for each pair of tools, the tool on the best path of two hops between them.

    Considers the first `MAX_PAIRED_TOOLS` distinct tools, and the `MAX_NEIGHBOURS` most confident
    neighbours of each.

    Complexity: O(tools² · `MAX_NEIGHBOURS`).
    """
    paired = list(dict.fromkeys(tools))[:MAX_PAIRED_TOOLS]
    ahead = {tool: _most_confident_arcs(topology.successors(tool)) for tool in paired}
    behind = {tool: _most_confident_arcs(topology.predecessors(tool)) for tool in paired}
    found: dict[int, None] = {}
    for start, end in permutations(ahead, 2):
        forward, backward = ahead[start], behind[end]
        if shared := forward.keys() & backward.keys():
            found[_best_intermediate(shared, forward, backward)] = None
    return tuple(found)


def copy_surroundings(topology: Topology, tools: Sequence[int]) -> Topology:
    """Copy the relations that can matter to a workflow of these tools.

    Selects the tools, their direct and transitive requirements, tools connecting two of them in
    two hops, and replacements of any of these; copies all relations among the selected.

    Args:
        topology: The whole graph.
        tools: Primary keys, the likeliest first.

    Example:
        >>> from graph.relations import Relation, RelationKind
        >>> whole = Topology([Relation(1, 2, RelationKind.DEPENDS_ON, 1.0),
        ...                   Relation(2, 3, RelationKind.DEPENDS_ON, 1.0),
        ...                   Relation(8, 9, RelationKind.DEPENDS_ON, 1.0)])
        >>> sorted(copy_surroundings(whole, [1]).collect_tools())
        [1, 2, 3]
    """
    selected = _add_required(topology, dict.fromkeys(tools))
    selected |= dict.fromkeys(find_intermediate_tools(topology, tools))
    replaced = [
        relation
        for tool in selected
        for relation in topology.incoming_relations(tool, *REPLACING_KINDS)
    ]
    selected |= dict.fromkeys(relation.source for relation in replaced)
    return Topology(topology.relations_among(selected))


def _add_required(topology: Topology, tools: dict[int, None]) -> dict[int, None]:
    found, waiting = dict(tools), list(tools)
    while waiting and len(found) < MAX_TOOLS:
        for relation in topology.required_relations(waiting.pop()):
            if relation.target not in found:
                found[relation.target] = None
                waiting.append(relation.target)
    return found


def _best_intermediate(
    shared: Iterable[int], forward: Mapping[int, float], backward: Mapping[int, float]
) -> int:
    return min(shared, key=lambda tool: (-forward[tool] * backward[tool], tool))


def _most_confident_arcs(arcs: Mapping[int, float]) -> Mapping[int, float]:
    if len(arcs) <= MAX_NEIGHBOURS:
        return arcs
    return dict(heapq.nlargest(MAX_NEIGHBOURS, arcs.items(), key=itemgetter(1)))


def find_considered(
    ranking: Ranking, topology: Topology, *, usable: Callable[[int], bool] = accept_every_tool
) -> tuple[int, ...]:
    """Return unranked tools that the graph relates to those of the best set.

    A related tool is required by one of the set, precedes, follows or provides for it, or is used
    with it, over at most two relations. Dependents do not count. Evidence must come from people,
    files or runs; servers' guesses alone are ignored.

    Args:
        ranking: The sets of tools and all candidates scored.
        topology: The relations visible to the caller.
        usable: Whether the caller may call a tool.

    Returns:
        At most `MAX_CONSIDERED` primary keys, the most confident first.
    """
    if ranking.best is None:
        return ()
    seeds = tuple(dict.fromkeys(ranking.best.tools))
    near = iterate_reached(topology, seeds, usable=usable, dependents=False)
    related = (
        hit.tool
        for hit in islice(near, MAX_EXAMINED)
        if hit.tool not in ranking.tool_probabilities
        and _path_confidence(topology, hit.path) >= MIN_CONFIDENCE
    )
    return tuple(islice(related, MAX_CONSIDERED))


def _path_confidence(topology: Topology, path: Sequence[int]) -> float:
    """Return the confidence of a path, ignoring relations that only servers claim."""
    return prod(max(_iterate_confidences(topology, *pair), default=0.0) for pair in pairwise(path))


def _iterate_confidences(topology: Topology, source: int, target: int) -> Iterator[float]:
    for relation in topology.relations_between(source, target):
        if relation.kind in PATH_KINDS and not is_server_guess(relation):
            yield relation.confidence
