"""Positions of tools in a plane: each group together, related groups near each other."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final

import networkx as nx
import numpy as np

from graph.topology import Topology

Position = tuple[float, float]

SPACING: Final = 1.0
"""Distance between neighbours within a group, about."""
GAP: Final = 1.6
"""Distance between groups."""
MAX_SPRUNG: Final = 150
"""Tools of a group that is laid out by forces; the cost grows with their square."""
ITERATIONS: Final = 40
SEED: Final = 1
GOLDEN_ANGLE: Final = math.pi * (3 - math.sqrt(5))
"""Angle between neighbours of a sunflower, which fills a disc evenly."""
MAX_STEPS: Final = 20_000
"""Places that are tried for a group."""
CHUNK: Final = 256
"""Places that are tried at a time."""


def place_tools(
    topology: Topology, groups: Mapping[int, Hashable], *, ranks: Mapping[int, float]
) -> dict[int, Position]:
    """Return a position for each tool, rounded to two digits.

    Groups are packed as discs, the largest first, each as near to the groups that it is related
    to as there is room. Within a group, forces order up to `MAX_SPRUNG` tools; larger ones are
    filled from the centre outwards by rank. Deterministic.

    Complexity: O(relations + tools · `MAX_SPRUNG` · `ITERATIONS` + groups²).

    Example:
        >>> place_tools(Topology(), {1: "a"}, ranks={})
        {1: (0.0, 0.0)}

    References:
        Fruchterman and Reingold, Graph drawing by force-directed placement, Softw. Pract. Exper.
        21 (1991); Vogel, A better way to construct the sunflower head, Math. Biosci. 44 (1979).
    """
    members: dict[Hashable, list[int]] = defaultdict(list)
    for tool in sorted(groups, key=lambda tool: (-ranks.get(tool, 0.0), tool)):
        members[groups[tool]].append(tool)
    ordered = sorted(members, key=lambda group: (-len(members[group]), members[group][0]))
    centres = _pack_groups(ordered, members, _count_links(topology, groups))
    placed: dict[int, Position] = {}
    for group in ordered:
        x, y = centres[group]
        for tool, (dx, dy) in _place_group(topology, members[group]).items():
            placed[tool] = (round(x + dx, 2), round(y + dy, 2))
    return placed


def _count_links(
    topology: Topology, groups: Mapping[int, Hashable]
) -> dict[Hashable, Counter[Hashable]]:
    links: dict[Hashable, Counter[Hashable]] = defaultdict(Counter)
    for relation in topology.relations_among(groups):
        one, other = groups[relation.source], groups[relation.target]
        if one != other:
            links[one][other] += 1
            links[other][one] += 1
    return links


def _pack_groups(
    ordered: Sequence[Hashable],
    members: Mapping[Hashable, Sequence[int]],
    links: Mapping[Hashable, Counter[Hashable]],
) -> dict[Hashable, Position]:
    centres: dict[Hashable, Position] = {}
    placed = np.empty((len(ordered), 3))
    for count, group in enumerate(ordered):
        radius = _compute_radius(len(members[group]))
        near = _find_centroid(links.get(group, Counter()), centres)
        x, y = _find_free_place(placed[:count], near, radius)
        placed[count] = (x, y, radius)
        centres[group] = (x, y)
    return centres


def _find_centroid(linked: Counter[Hashable], centres: Mapping[Hashable, Position]) -> Position:
    known = [(centres[group], weight) for group, weight in linked.items() if group in centres]
    total = sum(weight for _, weight in known)
    if not total:
        return (0.0, 0.0)
    return (
        sum(x * weight for (x, _), weight in known) / total,
        sum(y * weight for (_, y), weight in known) / total,
    )


def _find_free_place(placed: Any, near: Position, radius: float) -> Position:
    """Return the first place on a spiral at which a disc touches no other."""
    spiral = _SPIRAL * radius + np.array(near)
    for start in range(0, len(spiral), CHUNK):
        places = spiral[start : start + CHUNK]
        distances = np.linalg.norm(places[:, None, :] - placed[None, :, :2], axis=2)
        free = np.all(distances >= placed[:, 2] + radius + GAP, axis=1)
        if free.any():
            x, y = places[int(free.argmax())]
            return (float(x), float(y))
    return (float(placed[:, 0].max() + placed[:, 2].max() + radius + GAP), near[1])


def _make_spiral() -> Any:
    """Return points of a spiral from the origin outwards, a third apart."""
    turns = np.sqrt(np.arange(MAX_STEPS))
    return np.stack([turns * np.cos(2.2 * turns), turns * np.sin(2.2 * turns)], axis=1) / 3


_SPIRAL: Final = _make_spiral()


def _place_group(topology: Topology, tools: Sequence[int]) -> dict[int, Position]:
    if len(tools) <= 2 or len(tools) > MAX_SPRUNG:
        return _fill_disc(tools)
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(tools)
    graph.add_weighted_edges_from(
        (relation.source, relation.target, relation.confidence)
        for relation in topology.relations_among(tools)
    )
    if not graph.number_of_edges():
        return _fill_disc(tools)
    initial = _fill_disc(tools)
    sprung = nx.spring_layout(graph, pos=initial, seed=SEED, iterations=ITERATIONS, k=None)
    scale = _compute_radius(len(tools))
    return {tool: (float(x) * scale, float(y) * scale) for tool, (x, y) in sprung.items()}


def _fill_disc(tools: Sequence[int]) -> dict[int, Position]:
    placed: dict[int, Position] = {}
    for place, tool in enumerate(tools):
        distance, angle = SPACING * 0.6 * math.sqrt(place), place * GOLDEN_ANGLE
        placed[tool] = (distance * math.cos(angle), distance * math.sin(angle))
    return placed


def _compute_radius(count: int) -> float:
    return SPACING * 0.6 * math.sqrt(count)
