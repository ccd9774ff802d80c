"""Tools related to those at hand, over one relation or two."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from operator import itemgetter
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
Way = tuple[float, int, int]
"""Rank of a way, negative likewise, over how many relations, and the tool it leads to."""


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


def reached(  # noqa: PLR0913 - each is a rule of its own
    topology: Topology,
    seeds: Iterable[int],
    *,
    kinds: Collection[Kind] = PATH_KINDS,
    least: float = LEAST,
    allowed: Callable[[int], bool] = always,
    usable: Callable[[int], bool] = always,
    dependents: bool = True,
) -> Iterator[Reached]:
    """Find what is related to some tools, over at most two relations in either direction.

    Relations are followed most confident first and given up where no path can reach `least` any
    more, and over a second relation only once all that is left ranks no higher than that can.
    Work grows with what is taken, not with the topology.

    Args:
        topology: Where to look.
        seeds: Keys of the tools at hand; none of them is yielded.
        kinds: Of the relations followed.
        least: Confidence that a path must reach, in (0, 1].
        allowed: Says whether a tool may be yielded.
        usable: Says whether a path may touch a tool at all, be it on its way.
        dependents: Whether `depends_on` is followed to what depends on a tool, too.

    Yields:
        The best path to each tool by rank; highest rank first, then fewer hops, then by key.
    """
    around = _followed(topology, kinds, dependents=dependents)
    origins = dict.fromkeys(seeds)
    near = _near(around, origins, least)
    direct = sorted((minus, DIRECT, tool) for tool, (minus, _) in near.items())
    done = set(origins)

    def wanted(ways: Iterable[Way]) -> Iterator[Way]:
        for way in ways:
            if way[2] not in done and usable(way[2]) and allowed(way[2]):
                done.add(way[2])
                yield way

    # Two relations rank no higher than that, so they are looked for once those have been taken.
    first = bisect_right(direct, -SECOND_HOP, key=itemgetter(0))
    for minus, _, tool in wanted(direct[:first]):
        yield Reached(tool, -minus, -minus, (near[tool][1], tool))
    far = _far(around, origins, least, usable)
    ways = [(SECOND_HOP * minus, INDIRECT, tool) for tool, (minus, _, _) in far.items()]
    for minus, hops, tool in wanted(sorted([*direct[first:], *ways])):
        confidence, *path = near[tool] if hops == DIRECT else far[tool]
        yield Reached(tool, -minus, -confidence, (*path, tool))


def _near(
    around: Callable[[int], Mapping[int, float]], seeds: Iterable[int], least: float
) -> dict[int, Direct]:
    """Return the best way to each tool over one relation; of equal ones by keys."""
    near: dict[int, Direct] = {}
    for seed in seeds:
        for tool, confidence in around(seed).items():
            if confidence < least:
                break
            near[tool] = min(near.get(tool, (0.0, 0)), (-confidence, seed))
    return near


def _far(
    around: Callable[[int], Mapping[int, float]],
    seeds: Iterable[int],
    least: float,
    usable: Callable[[int], bool],
) -> dict[int, Indirect]:
    """Return the best way to each tool over two relations; of equal ones by keys."""
    far: dict[int, Indirect] = {}
    for seed in seeds:
        for middle, first in around(seed).items():
            if first < least:
                break
            if usable(middle):
                _go_on(far, (first, seed, middle), around(middle), least)
    return far


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


def _followed(
    topology: Topology, kinds: Collection[Kind], *, dependents: bool
) -> Callable[[int], Mapping[int, float]]:
    """Return what yields the neighbours of a tool, most confident first."""
    wanted = tuple(kinds)
    if frozenset(wanted) == PATH_KINDS:
        return (
            topology.neighbours if dependents else partial(topology.neighbours, dependents=False)
        )

    def around(tool: int) -> Mapping[int, float]:
        found: dict[int, float] = {}
        for relation in topology.of(tool):
            other = relation.target if relation.source == tool else relation.source
            if relation.kind is Kind.DEPENDS_ON and other == relation.source and not dependents:
                continue
            if relation.kind in wanted and relation.confidence > found.get(other, 0.0):
                found[other] = relation.confidence
        return dict(sorted(found.items(), key=lambda arc: (-arc[1], arc[0])))

    return around
