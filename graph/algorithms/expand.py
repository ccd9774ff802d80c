"""Find the tools related to some seeds, over one or two relations."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from operator import itemgetter
from typing import Final, NamedTuple

from graph.topology import Topology, accept_every_tool

MIN_CONFIDENCE: Final = 0.5
"""Confidence that a path must reach."""
SECOND_HOP_FACTOR: Final = 0.5
"""Factor on the rank of a path of two relations."""
DIRECT_HOPS: Final = 1
INDIRECT_HOPS: Final = 2

DirectPath = tuple[float, int]
"""Negated confidence of a path, so that the best sorts first, and its seed."""
IndirectPath = tuple[float, int, int]
"""The same, and the tool in between."""
CandidatePath = tuple[float, int, int]
"""Negated rank of a path, its number of relations, and the tool at its end."""


class ReachedTool(NamedTuple):
    """A tool related to a seed.

    Attributes:
        rank: In (0, 1]: the confidence, or half of it over two relations.
        confidence: Product of the path's confidences, in (0, 1].
        path: From the seed to this tool: two or three tools.
    """

    tool: int
    rank: float
    confidence: float
    path: tuple[int, ...]


def iterate_reached(
    topology: Topology,
    seeds: Iterable[int],
    *,
    usable: Callable[[int], bool] = accept_every_tool,
    dependents: bool = True,
) -> Iterator[ReachedTool]:
    """Yield the tools related to some seeds, over at most two relations in either direction.

    Relations are followed by falling confidence, down to `MIN_CONFIDENCE`; second relations only
    once no remaining direct path can rank higher. The work grows with the results consumed, not
    with the size of the topology.

    Args:
        topology: Relations as the caller sees them.
        seeds: Primary keys of the tools to start from; they are not yielded.
        usable: Tells whether a tool may be on a path at all.
        dependents: Whether `depends_on` is also followed from a tool to its dependents.

    Yields:
        The best path to each tool by rank; highest rank first, then fewer hops, then by key.
    """
    around = partial(topology.neighbours, dependents=dependents)
    origins = dict.fromkeys(seeds)
    direct_paths = _find_direct_paths(around, origins)
    direct = sorted(
        (negated_rank, DIRECT_HOPS, tool) for tool, (negated_rank, _) in direct_paths.items()
    )
    yielded = set(origins)

    def select_new(paths: Iterable[CandidatePath]) -> Iterator[CandidatePath]:
        for path in paths:
            if path[2] not in yielded and usable(path[2]):
                yielded.add(path[2])
                yield path

    # Indirect paths rank no higher than that, so better direct ones are yielded before the search.
    first = bisect_right(direct, -SECOND_HOP_FACTOR, key=itemgetter(0))
    for negated_rank, _, tool in select_new(direct[:first]):
        yield ReachedTool(tool, -negated_rank, -negated_rank, (direct_paths[tool][1], tool))
    indirect_paths = _find_indirect_paths(around, origins, usable)
    indirect = [
        (SECOND_HOP_FACTOR * negated_rank, INDIRECT_HOPS, tool)
        for tool, (negated_rank, _, _) in indirect_paths.items()
    ]
    for negated_rank, hops, tool in select_new(sorted([*direct[first:], *indirect])):
        confidence, *start = direct_paths[tool] if hops == DIRECT_HOPS else indirect_paths[tool]
        yield ReachedTool(tool, -negated_rank, -confidence, (*start, tool))


def _find_direct_paths(
    around: Callable[[int], Mapping[int, float]], seeds: Iterable[int]
) -> dict[int, DirectPath]:
    """Return the best path to each tool over one relation; ties are broken by keys."""
    best: dict[int, DirectPath] = {}
    for seed in seeds:
        for tool, confidence in around(seed).items():
            if confidence < MIN_CONFIDENCE:
                break
            best[tool] = min(best.get(tool, (0.0, 0)), (-confidence, seed))
    return best


def _find_indirect_paths(
    around: Callable[[int], Mapping[int, float]],
    seeds: Iterable[int],
    usable: Callable[[int], bool],
) -> dict[int, IndirectPath]:
    """Return the best path to each tool over two relations; ties are broken by keys."""
    best: dict[int, IndirectPath] = {}
    for seed in seeds:
        for middle, first in around(seed).items():
            if first < MIN_CONFIDENCE:
                break
            if usable(middle):
                _extend_path(best, (first, seed, middle), around(middle))
    return best


def _extend_path(
    best: dict[int, IndirectPath],
    path: IndirectPath,
    ahead: Mapping[int, float],
) -> None:
    """Extend a path by a second relation; keep the best path to each end."""
    first, seed, middle = path
    for end, second in ahead.items():
        confidence = first * second
        if confidence < MIN_CONFIDENCE:
            break
        known = best.get(end)
        if known is None or (-confidence, seed, middle) < known:
            best[end] = (-confidence, seed, middle)
