"""Find further candidates to rank: tools that the graph relates to the likeliest ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, pairwise
from math import prod
from typing import TYPE_CHECKING, Final

from graph.algorithms.expand import iterate_reached
from graph.relations import PATH_KINDS, is_server_guess
from graph.topology import Topology, accept_every_tool

if TYPE_CHECKING:
    from graph.suggestion.ranking.rank import Ranking

MIN_CONFIDENCE: Final = 0.5
"""Minimum confidence of the path to a tool."""
MAX_CONSIDERED: Final = 5
MAX_EXAMINED: Final = 200
"""Limit of paths examined, the most confident first."""


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
