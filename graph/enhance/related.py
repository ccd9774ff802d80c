"""What goes with the matches of an answer: a few tools, by how sure the way to them is."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice, pairwise
from typing import Final

from graph.algorithms import expand
from graph.algorithms.expand import LEAST, Reached
from graph.enhance.found import Entry, Match
from graph.enhance.required import GUESSED
from graph.relations import PATH_KINDS, Kind
from graph.topology import Topology, always

MAX_RELATED: Final = 3
"""In a whole answer: more would hide the matches."""
SURE: Final = 0.8
"""Rank from which what schemas alone suggest is offered."""
DIRECT: Final = 2
"""Tools on a path of one relation."""


def related(
    topology: Topology,
    matches: Sequence[Match],
    *,
    offered: Callable[[int], bool],
    fits: Callable[[int], bool] = always,
    usable: Callable[[int], bool] = always,
    usage: Mapping[int, int],
) -> tuple[Entry, ...]:
    """Choose the tools that go with some matches.

    Over one relation a tool ranks by its confidence; over two, by half of the product, which must
    reach one half. What checks a match's work ranks as one relation does. Of equals, what
    optimizes a match comes first, then what is used more, then by primary key.

    Args:
        topology: Where to look.
        matches: Best first.
        offered: Whether a tool may be offered at all; asked of the best only.
        fits: Whether it goes with the rest of the answer; asked last.
        usable: Whether a tool may be used at all, be it on the way to another.
        usage: How often each was called, by primary key.
    """
    scores = {match.tool: match.score for match in matches}

    def tie(reached: Reached) -> tuple[bool, int, int]:
        tool = reached.tool
        return (not _optimizes(topology, tool, scores), -usage.get(tool, 0), tool)

    def entries() -> Iterator[Entry]:
        near = expand.expand(topology, scores, usable=usable)
        for reached in _in_order(near, _validators(topology, scores, usable), tie):
            if reached.tool in scores or not offered(reached.tool):
                continue
            is_told = _is_told(topology, reached.path)
            if (is_told or reached.rank >= SURE) and fits(reached.tool):
                score = scores[reached.path[0]] * reached.rank
                yield _entry(reached, score, is_close=is_told and len(reached.path) == DIRECT)

    return tuple(islice(entries(), MAX_RELATED))


def _entry(reached: Reached, score: float, *, is_close: bool) -> Entry:
    return Entry(
        tool=reached.tool,
        role="related",
        score=score,
        match=reached.path[0],
        path=reached.path,
        confidence=reached.confidence,
        is_close=is_close,
    )


def _in_order(
    near: Iterable[Reached],
    checks: Iterable[Reached],
    tie: Callable[[Reached], tuple[bool, int, int]],
) -> Iterator[Reached]:
    """Yield each tool once, by rank; ties are only looked into as far as anybody asks."""
    taken = set()
    for _, equals in groupby(heapq.merge(near, checks, key=_rank), key=_rank):
        for reached in sorted(equals, key=tie):
            if reached.tool not in taken:
                taken.add(reached.tool)
                yield reached


def _rank(reached: Reached) -> float:
    return -round(reached.rank, 9)  # products of equal relations may differ in their last digit


def _validators(
    topology: Topology, matches: Iterable[int], usable: Callable[[int], bool]
) -> list[Reached]:
    found = [
        Reached(
            relation.source, relation.confidence, relation.confidence, (match, relation.source)
        )
        for match in matches
        for relation in topology.incoming(match, Kind.VALIDATES)
        if relation.confidence >= LEAST and usable(relation.source)
    ]
    return sorted(found, key=_rank)


def _optimizes(topology: Topology, tool: int, matches: Iterable[int]) -> bool:
    return any(topology.get(tool, match, Kind.OPTIMIZES) is not None for match in matches)


def _is_told(topology: Topology, path: Sequence[int]) -> bool:
    """Whether each step of a path rests on more than schemas."""
    return all(
        any(
            relation.kind in _LEADING and relation.sources != GUESSED
            for relation in topology.between(one, other)
        )
        for one, other in pairwise(path)
    )


_LEADING: Final = PATH_KINDS | {Kind.VALIDATES}
