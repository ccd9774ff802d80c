"""Tools related to those at hand, over one relation or two."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from graph.relations import PATH_KINDS, Kind
from graph.topology import Topology, always

LEAST: Final = 0.5
"""Confidence that a path must reach."""
SECOND_HOP: Final = 0.5
"""What a path of two relations counts, beside one relation as confident."""
DIRECT: Final = 1
INDIRECT: Final = 2

Direct = tuple[float, int]
"""Confidence of a way, negative so that the best sorts first, and where it begins."""
Indirect = tuple[float, int, int]
"""The same, and what it leads over."""


class Reached(NamedTuple):
    """A tool related to one of those at hand.

    Attributes:
        tool: Its key.
        rank: To sort by, in (0, 1]: the confidence, or half of it over two relations.
        confidence: Of the path, in (0, 1]: the product over its relations.
        path: From the tool at hand to this one: two or three tools.
    """

    tool: int
    rank: float
    confidence: float
    path: tuple[int, ...]


def expand(
    topology: Topology,
    seeds: Iterable[int],
    *,
    kinds: Collection[Kind] = PATH_KINDS,
    least: float = LEAST,
    allowed: Callable[[int], bool] = always,
    usable: Callable[[int], bool] = always,
) -> list[Reached]:
    """Return all that `reached` yields."""
    return list(reached(topology, seeds, kinds=kinds, least=least, allowed=allowed, usable=usable))


def reached(
    topology: Topology,
    seeds: Iterable[int],
    *,
    kinds: Collection[Kind] = PATH_KINDS,
    least: float = LEAST,
    allowed: Callable[[int], bool] = always,
    usable: Callable[[int], bool] = always,
) -> Iterator[Reached]:
    """Find what is related to some tools, over at most two relations in either direction.

    Relations are followed most confident first and given up where no path can reach `least` any
    more. Work grows with what is reached, not with the topology.

    Args:
        topology: Where to look.
        seeds: Keys of the tools at hand; none of them is yielded.
        kinds: Of the relations followed.
        least: Confidence that a path must reach, in (0, 1].
        allowed: Says whether a tool may be yielded.
        usable: Says whether a path may touch a tool at all, be it on its way.

    Yields:
        The best path to each tool by rank; highest rank first, then fewer hops, then by key.
    """
    origins = dict.fromkeys(seeds)
    near, far = _ways(_followed(topology, kinds), origins, least, usable)
    ways = [(minus, DIRECT, tool) for tool, (minus, _) in near.items()]
    ways += [(SECOND_HOP * minus, INDIRECT, tool) for tool, (minus, _, _) in far.items()]
    ways.sort()
    done = set(origins)
    for minus, hops, tool in ways:
        if tool not in done and usable(tool) and allowed(tool):
            done.add(tool)
            confidence, *path = near[tool] if hops == DIRECT else far[tool]
            yield Reached(tool, -minus, -confidence, (*path, tool))


def _ways(
    around: Callable[[int], Mapping[int, float]],
    seeds: Iterable[int],
    least: float,
    usable: Callable[[int], bool],
) -> tuple[dict[int, Direct], dict[int, Indirect]]:
    """Return the best way to each tool over one relation, and over two; of equal ones by keys."""
    near: dict[int, Direct] = {}
    far: dict[int, Indirect] = {}
    for seed in seeds:
        for middle, first in around(seed).items():
            if first < least:
                break
            if usable(middle):
                near[middle] = min(near.get(middle, (0.0, 0)), (-first, seed))
                _go_on(far, (first, seed, middle), around(middle), least)
    return near, far


def _go_on(
    far: dict[int, Indirect],
    way: Indirect,
    ahead: Mapping[int, float],
    least: float,
) -> None:
    """Go on from the middle of a way; keep the best to each end."""
    first, seed, middle = way
    for end, second in ahead.items():
        confidence = first * second
        if confidence < least:
            break
        known = far.get(end)
        if known is None or (-confidence, seed, middle) < known:
            far[end] = (-confidence, seed, middle)


def _followed(topology: Topology, kinds: Collection[Kind]) -> Callable[[int], Mapping[int, float]]:
    """Return what yields the neighbours of a tool, most confident first."""
    wanted = tuple(kinds)
    if frozenset(wanted) == PATH_KINDS:
        return topology.neighbours

    def around(tool: int) -> Mapping[int, float]:
        found: dict[int, float] = {}
        for relation in topology.of(tool):
            other = relation.target if relation.source == tool else relation.source
            if relation.kind in wanted and relation.confidence > found.get(other, 0.0):
                found[other] = relation.confidence
        return dict(sorted(found.items(), key=lambda arc: (-arc[1], arc[0])))

    return around
