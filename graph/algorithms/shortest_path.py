"""Find the shortest and the most confident path between two tools."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterable, Mapping

from graph.topology import Topology

ArcLookup = Callable[[int], Mapping[int, float]]
BestStep = tuple[float, int]
"""Product of the confidences from a tool to the end of its path, and the next tool on it."""


def find_shortest_path(topology: Topology, start: int, end: int) -> tuple[int, ...] | None:
    """Return the path with the fewest hops; among these, the most confident one.

    Bidirectional breadth-first search, expanding the smaller side; tools on no shortest path are
    discarded before confidences are compared. Ties are broken by primary keys, so the result is
    deterministic.

    Returns:
        The tools from `start` to `end`; None if there is no path.

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
            if meeting := _find_adjacent(ahead[-1], behind[-1], topology.successors):
                return _find_most_confident(topology, ahead[:-1], meeting, behind)
            _add_next_level(ahead, seen_ahead, topology.successors)
        else:
            if meeting := _find_adjacent(behind[-1], ahead[-1], topology.predecessors):
                return _find_most_confident(topology, ahead, meeting, behind[:-1])
            _add_next_level(behind, seen_behind, topology.predecessors)
    return None


def find_strongest_path(topology: Topology, start: int, end: int) -> tuple[int, ...] | None:
    """Return the path with the greatest product of confidences; ties go to fewer hops.

    O(arcs log arcs) of the part more confident than the path.

    References:
        Dijkstra, A note on two problems in connexion with graphs, Numer. Math. 1 (1959).
    """
    if start != end and (start not in topology or end not in topology):
        return None
    came_from: dict[int, int] = {}
    queue = [(-1.0, 0, start, start)]
    while queue:
        product, hops, tool, parent = heapq.heappop(queue)
        if tool in came_from:
            continue
        came_from[tool] = parent
        if tool == end:
            return _trace_back(came_from, start, end)
        for other, confidence in topology.successors(tool).items():
            if other not in came_from:
                heapq.heappush(queue, (product * confidence, hops + 1, other, tool))
    return None


def path_confidence(topology: Topology, path: Iterable[int]) -> float:
    """Return the product of the confidences along a path, in [0, 1].

    Raises:
        KeyError: If the topology has no such path.
    """
    product = 1.0
    for tool, other in itertools.pairwise(path):
        product *= topology.successors(tool)[other]
    return product


def _find_adjacent(side: set[int], other: set[int], onward: ArcLookup) -> set[int]:
    """Return the tools of one side with an arc to the other side."""
    return {tool for tool in side if not onward(tool).keys().isdisjoint(other)}


def _add_next_level(levels: list[set[int]], seen: set[int], onward: ArcLookup) -> None:
    level: set[int] = set()
    level = level.union(*map(onward, levels[-1])) - seen
    seen |= level
    levels.append(level)


def _find_most_confident(
    topology: Topology, ahead: list[set[int]], meeting: set[int], behind: list[set[int]]
) -> tuple[int, ...]:
    """Return the path with the greatest product through one tool of each level, in order."""
    onward = _find_best_steps(topology.successors, topology.predecessors, meeting, behind)
    back = _find_best_steps(topology.predecessors, topology.successors, meeting, ahead)
    best = {tool: product * back[-1][tool][0] for tool, (product, _) in onward[-1].items()}
    tool = min(best, key=lambda tool: (-best[tool], tool))
    return (*reversed(_follow_steps(back, tool)), tool, *_follow_steps(onward, tool))


def _find_best_steps(
    onward: ArcLookup, back: ArcLookup, tools: set[int], levels: list[set[int]]
) -> list[dict[int, BestStep]]:
    """Find the paths with the greatest product from tools through levels, last level first.

    Returns:
        For each level, and for `tools` last, the best step from each tool on a path.
    """
    passed = [tools]
    for level in levels[:0:-1]:
        reached: set[int] = set()
        passed.append(reached.union(*[onward(tool).keys() & level for tool in passed[-1]]))
    steps: list[dict[int, BestStep]] = [{end: (1.0, end) for end in levels[0]}] if levels else []
    for level in reversed(passed):
        if steps:
            steps.append(_best_level_steps(back, level, steps[-1]))
        else:
            steps.append({tool: (1.0, tool) for tool in level})
    return steps


def _best_level_steps(
    back: ArcLookup, level: set[int], further: Mapping[int, BestStep]
) -> dict[int, BestStep]:
    """Return the best step from each tool of a level; ties go to the smaller key."""
    best: dict[int, BestStep] = {}
    for other, (product, _) in further.items():
        arcs = back(other)
        for tool in arcs.keys() & level:
            candidate = product * arcs[tool]
            current = best.get(tool)
            if (
                current is None
                or candidate > current[0]
                or (candidate == current[0] and other < current[1])
            ):
                best[tool] = (candidate, other)
    return best


def _follow_steps(steps: list[dict[int, BestStep]], tool: int) -> list[int]:
    path = []
    for step in steps[:0:-1]:
        tool = step[tool][1]
        path.append(tool)
    return path


def _trace_back(came_from: Mapping[int, int], start: int, end: int) -> tuple[int, ...]:
    path = [end]
    while path[-1] != start:
        path.append(came_from[path[-1]])
    return tuple(reversed(path))
