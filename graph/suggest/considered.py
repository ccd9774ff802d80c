"""Tools to consider because the graph relates them to the likeliest ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, pairwise
from math import prod
from typing import TYPE_CHECKING, Final

from graph.algorithms.expand import reached
from graph.relations import PATH_KINDS, is_guess
from graph.topology import Topology, always

if TYPE_CHECKING:
    from graph.ranking.rank import Ranking

LEAST: Final = 0.5
"""Confidence that a way to a tool must reach."""
MAX_CONSIDERED: Final = 5
MAX_LOOKED_AT: Final = 200
"""Ways that are looked at, the surest first."""


def considered(
    ranking: Ranking, topology: Topology, *, usable: Callable[[int], bool] = always
) -> tuple[int, ...]:
    """Return tools that were not ranked but that the graph relates to those of the best set.

    These are what the tools require, what precedes, follows or provides for them, and what is
    used with them, over at most two relations. Only what people, files or runs say counts: what
    servers alone tell of themselves brings nothing in. What depends on a tool is not related to
    it for that.

    Args:
        ranking: Sets of tools, and all that were considered.
        topology: The relations as the caller sees them.
        usable: Whether the caller may call a tool.

    Returns:
        Primary keys, the surest first; at most `MAX_CONSIDERED`.
    """
    if ranking.best is None:
        return ()
    seeds = tuple(dict.fromkeys(ranking.best.tools))
    near = reached(topology, seeds, least=LEAST, usable=usable, dependents=False)
    told = (
        one.tool
        for one in islice(near, MAX_LOOKED_AT)
        if one.tool not in ranking.tool_probabilities and _sureness(topology, one.path) >= LEAST
    )
    return tuple(islice(told, MAX_CONSIDERED))


def _sureness(topology: Topology, path: Sequence[int]) -> float:
    """Return the confidence of a path by what is more than a guess of servers."""
    return prod(max(_told(topology, *pair), default=0.0) for pair in pairwise(path))


def _told(topology: Topology, one: int, other: int) -> Iterator[float]:
    for relation in topology.between(one, other):
        if relation.kind in PATH_KINDS and not is_guess(relation):
            yield relation.confidence
