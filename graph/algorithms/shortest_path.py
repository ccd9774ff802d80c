"""Paths from one tool to another: the shortest one, and the most confident one."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterable, Mapping

from graph.topology import Topology

Arcs = Callable[[int], Mapping[int, float]]
Step = tuple[float, int]
"""Product of the confidences from a tool to the end of its way, and the next tool on it."""


def shortest_path(topology: Topology, start: int, end: int) -> tuple[int, ...] | None:
    """Return a path of the fewest hops; of several, the one of the greatest product.

    Searched from both ends, a whole level of the smaller side at a time; what is on no shortest
    path is then left out before confidence is compared. Equal paths are told apart by their keys,
    so the answer depends on the topology alone.

    Args:
        topology: Where to look; paths follow `successors`.
        start: Key of the first tool.
        end: Key of the last one.

    Returns:
        The tools from `start` to `end`; None if there is no way.

    References:
        Pohl, Bi-directional search, Machine Intelligence 6 (1971).
    """
    if start == end:
        return (start,)
    if start not in topology or end not in topology:
        return None
    ahead, behind = [{start}], [{end}]
    seen_ahead, seen_behind = {start}, {end}
    while ahead[-1] and behind[-1]:
        if len(ahead[-1]) <= len(behind[-1]):
            if meeting := _touching(ahead[-1], behind[-1], topology.successors):
                return _most_confident(topology, ahead[:-1], meeting, behind)
            _advance(ahead, seen_ahead, topology.successors)
        else:
            if meeting := _touching(behind[-1], ahead[-1], topology.predecessors):
                return _most_confident(topology, ahead, meeting, behind[:-1])
            _advance(behind, seen_behind, topology.predecessors)
    return None


def strongest_path(topology: Topology, start: int, end: int) -> tuple[int, ...] | None:
    """Return the path of the greatest product of confidences; of equal ones, of fewer hops.

    O(arcs log arcs) of those more confident than the path.

    References:
        Dijkstra, A note on two problems in connexion with graphs, Numer. Math. 1 (1959).
    """
    if start != end and (start not in topology or end not in topology):
        return None
    came_from: dict[int, int] = {}
    waiting = [(-1.0, 0, start, start)]
    while waiting:
        product, hops, tool, parent = heapq.heappop(waiting)
        if tool in came_from:
            continue
        came_from[tool] = parent
        if tool == end:
            return _back(came_from, start, end)
        for other, confidence in topology.successors(tool).items():
            if other not in came_from:
                heapq.heappush(waiting, (product * confidence, hops + 1, other, tool))
    return None


def confidence_of(topology: Topology, path: Iterable[int]) -> float:
    """Return the product of the confidences along a path, in [0, 1].

    Raises:
        KeyError: If the topology has no such path.
    """
    product = 1.0
    for tool, other in itertools.pairwise(path):
        product *= topology.successors(tool)[other]
    return product


def _touching(side: set[int], other: set[int], onward: Arcs) -> set[int]:
    """Return those of one side that lead straight to the other."""
    return {tool for tool in side if not onward(tool).keys().isdisjoint(other)}


def _advance(levels: list[set[int]], seen: set[int], onward: Arcs) -> None:
    """Add the tools one hop further that no level holds yet."""
    found: set[int] = set()
    found = found.union(*map(onward, levels[-1])) - seen
    seen |= found
    levels.append(found)


def _most_confident(
    topology: Topology, ahead: list[set[int]], meeting: set[int], behind: list[set[int]]
) -> tuple[int, ...]:
    """Return the path of the greatest product through a tool of each level, in their order."""
    onward = _ways(topology.successors, topology.predecessors, meeting, behind)
    back = _ways(topology.predecessors, topology.successors, meeting, ahead)
    best = {tool: product * back[-1][tool][0] for tool, (product, _) in onward[-1].items()}
    tool = min(best, key=lambda tool: (-best[tool], tool))
    return (*reversed(_followed(back, tool)), tool, *_followed(onward, tool))


def _ways(
    onward: Arcs, back: Arcs, tools: set[int], levels: list[set[int]]
) -> list[dict[int, Step]]:
    """Find the ways of the greatest product from tools through levels, the last one first.

    Returns:
        For each level, and for the tools last, the step from each of theirs that is on a way.
    """
    passed = [tools]
    for level in levels[:0:-1]:
        reached: set[int] = set()
        passed.append(reached.union(*[onward(tool).keys() & level for tool in passed[-1]]))
    steps: list[dict[int, Step]] = [{end: (1.0, end) for end in levels[0]}] if levels else []
    for level in reversed(passed):
        if steps:
            steps.append(_steps(back, level, steps[-1]))
        else:
            steps.append({tool: (1.0, tool) for tool in level})
    return steps


def _steps(back: Arcs, level: set[int], further: Mapping[int, Step]) -> dict[int, Step]:
    """Return the best step from each tool of a level; of equal ones, to the smaller key."""
    best: dict[int, Step] = {}
    for other, (product, _) in further.items():
        arcs = back(other)
        for tool in arcs.keys() & level:
            found = product * arcs[tool]
            known = best.get(tool)
            if known is None or found > known[0] or (found == known[0] and other < known[1]):
                best[tool] = (found, other)
    return best


def _followed(steps: list[dict[int, Step]], tool: int) -> list[int]:
    path = []
    for step in steps[:0:-1]:
        tool = step[tool][1]
        path.append(tool)
    return path


def _back(came_from: Mapping[int, int], start: int, end: int) -> tuple[int, ...]:
    path = [end]
    while path[-1] != start:
        path.append(came_from[path[-1]])
    return tuple(reversed(path))
