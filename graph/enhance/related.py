"""What goes with the matches of an answer: a few tools, by how sure the way to them is."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, islice, pairwise
from typing import Final

from graph.algorithms import expand
from graph.algorithms.expand import LEAST, Reached
from graph.enhance.found import Entry, Match
from graph.enhance.rules import Rules
from graph.relations import PATH_KINDS, Kind, Relation, is_guess
from graph.topology import Topology, always

MAX_RELATED: Final = 3
"""In a whole answer: more would hide the matches."""
SURE: Final = 0.8
"""Rank from which what schemas alone suggest is offered."""
DIRECT: Final = 2
"""Tools on a path of one relation."""
RANK_DIGITS: Final = 6
"""Of PageRank: its errors add up to no more than the last of them."""

Tie = tuple[bool, int, float, int]


def related(
    topology: Topology,
    matches: Sequence[Match],
    *,
    rules: Rules,
    fits: Callable[[int], bool] = always,
) -> tuple[Entry, ...]:
    """Choose the tools that go with some matches.

    Over one relation a tool ranks by its confidence; over two, by half of the product, which must
    reach one half. What depends on a tool is not related to it for that. What checks a match's
    work ranks as one relation does. Of equals, what optimizes a match comes first, then what is
    used more, then what has the higher PageRank, then by primary key.

    Args:
        topology: Where to look.
        matches: Best first.
        rules: What may be offered, asked of the best only; what may be used at all, be it on the
            way to another; and what settles ties.
        fits: Whether a tool goes with the rest of the answer; asked last.
    """
    scores = {match.tool: match.score for match in matches}

    def tie(reached: Reached) -> Tie:
        tool = reached.tool
        rank = round(rules.pagerank(tool), RANK_DIGITS)
        return (not _optimizes(topology, tool, scores), -rules.usage.get(tool, 0), -rank, tool)

    def entries() -> Iterator[Entry]:
        near = expand.reached(topology, scores, usable=rules.usable, dependents=False)
        for reached in _in_order(near, _validators(topology, scores, rules.usable), tie):
            if reached.tool in scores or not rules.wanted(reached.tool):
                continue
            guessed = _guessed(topology, reached.path)
            is_told = not guessed
            is_sure = reached.rank >= SURE and all(rules.vouched(*pair) for pair in guessed)
            if (is_told or is_sure) and fits(reached.tool):
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
    tie: Callable[[Reached], Tie],
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


def _guessed(topology: Topology, path: Sequence[int]) -> list[tuple[int, int]]:
    """Return the steps of a path that rest on what servers alone say."""
    return [
        (one, other)
        for one, other in pairwise(path)
        if all(map(is_guess, leading(topology, one, other)))
    ]


def leading(topology: Topology, one: int, other: int) -> list[Relation]:
    """Return the relations by which a way to related tools may go from one tool to another."""
    return [relation for relation in topology.between(one, other) if _leads(relation, other)]


def _leads(relation: Relation, tool: int) -> bool:
    if relation.kind is Kind.DEPENDS_ON:
        return relation.target == tool
    if relation.kind is Kind.VALIDATES:
        return relation.source == tool
    return relation.kind in PATH_KINDS
