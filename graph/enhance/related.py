"""Choose a few tools related to the matches, by the confidence of the path to them."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, islice, pairwise
from typing import Final

from graph.algorithms import expand
from graph.algorithms.expand import MIN_CONFIDENCE, ReachedTool
from graph.enhance.answer import AnswerEntry, SearchMatch
from graph.enhance.rules import EnhancementRules
from graph.relations import (
    PATH_KINDS,
    EvidenceSource,
    Relation,
    RelationKind,
    is_server_guess,
    select_kinds,
)
from graph.topology import Topology, accept_every_tool

MAX_RELATED: Final = 3
"""Related tools in a whole answer; more would hide the matches."""
MIN_GUESS_RANK: Final = 0.8
"""Rank from which a relation that schemas alone suggest is used."""
DIRECT_PATH_LENGTH: Final = 2
"""Number of tools on a path of one relation."""
RANK_DIGITS: Final = 6
"""Digits of PageRank that are compared; its numerical error stays below the last one."""
_OBSERVED_ONLY: Final = (EvidenceSource.OBSERVED,)
_CHECKING_KINDS: Final = select_kinds("check")

TieBreak = tuple[bool, int, float, int]


def choose_related(
    topology: Topology,
    matches: Sequence[SearchMatch],
    *,
    rules: EnhancementRules,
    fits: Callable[[int], bool] = accept_every_tool,
) -> tuple[AnswerEntry, ...]:
    """Choose the tools most closely related to some matches.

    A tool one relation away ranks by its confidence; two relations away, by half of the product,
    which must reach one half. Being a dependent of a match does not make a tool related. A
    validator of a match ranks as if one relation away. What only runs relate to a match is none if
    it may destroy something. Ties: tools that optimize a match first,
    then by usage, then by PageRank, then by primary key.

    Args:
        topology: Relations as the caller sees them.
        matches: Best first.
        rules: Which tools may be offered (checked lazily), which may lie on a path, and the data
            that breaks ties.
        fits: Tells whether a tool fits the rest of the answer; called last.
    """
    scores = {match.tool: match.score for match in matches}

    def tie_break(reached: ReachedTool) -> TieBreak:
        tool = reached.tool
        rank = round(rules.pagerank_of(tool), RANK_DIGITS)
        return (
            not _is_optimizer(topology, tool, scores),
            -rules.usage_counts.get(tool, 0),
            -rank,
            tool,
        )

    def entries() -> Iterator[AnswerEntry]:
        nearby = expand.iterate_reached(topology, scores, usable=rules.is_usable, dependents=False)
        for reached in _iterate_by_rank(
            nearby, _find_validators(topology, scores, rules.is_usable), tie_break
        ):
            if reached.tool in scores or not rules.is_wanted(reached.tool):
                continue
            guessed_steps = _find_guessed_steps(topology, reached.path)
            is_evidenced = not guessed_steps
            is_sure = reached.rank >= MIN_GUESS_RANK and all(
                rules.is_trusted_pair(*pair) for pair in guessed_steps
            )
            if rules.may_destroy(reached.tool) and _has_observed_step(topology, reached.path):
                continue
            if (is_evidenced or is_sure) and fits(reached.tool):
                score = scores[reached.path[0]] * reached.rank
                yield _make_entry(
                    reached,
                    score,
                    is_close=is_evidenced and len(reached.path) == DIRECT_PATH_LENGTH,
                )

    return tuple(islice(entries(), MAX_RELATED))


def _make_entry(reached: ReachedTool, score: float, *, is_close: bool) -> AnswerEntry:
    return AnswerEntry(
        tool=reached.tool,
        role="related",
        score=score,
        match_tool=reached.path[0],
        path=reached.path,
        confidence=reached.confidence,
        is_close=is_close,
    )


def _iterate_by_rank(
    nearby: Iterable[ReachedTool],
    validators: Iterable[ReachedTool],
    tie_break: Callable[[ReachedTool], TieBreak],
) -> Iterator[ReachedTool]:
    """Yield each tool once, by rank; ties are broken lazily."""
    seen = set()
    for _, tied in groupby(heapq.merge(nearby, validators, key=_rank_key), key=_rank_key):
        for reached in sorted(tied, key=tie_break):
            if reached.tool not in seen:
                seen.add(reached.tool)
                yield reached


def _rank_key(reached: ReachedTool) -> float:
    return -round(reached.rank, 9)  # products of equal confidences may differ in their last digit


def _find_validators(
    topology: Topology, matches: Iterable[int], usable: Callable[[int], bool]
) -> list[ReachedTool]:
    found = [
        ReachedTool(
            relation.source, relation.confidence, relation.confidence, (match, relation.source)
        )
        for match in matches
        for relation in topology.incoming_relations(match, *_CHECKING_KINDS)
        if relation.confidence >= MIN_CONFIDENCE and usable(relation.source)
    ]
    return sorted(found, key=_rank_key)


def _is_optimizer(topology: Topology, tool: int, matches: Iterable[int]) -> bool:
    return any(
        relation.source == tool and relation.kind.traits.effect == "preference"
        for match in matches
        for relation in topology.relations_between(tool, match)
    )


def _find_guessed_steps(topology: Topology, path: Sequence[int]) -> list[tuple[int, int]]:
    """Return the steps of a path that only servers vouch for."""
    return [
        (start, end)
        for start, end in pairwise(path)
        if all(map(is_server_guess, find_leading_relations(topology, start, end)))
    ]


def _has_observed_step(topology: Topology, path: Sequence[int]) -> bool:
    """Whether only runs speak for a step of a path."""
    return any(
        all(one.sources == _OBSERVED_ONLY for one in find_leading_relations(topology, *step))
        for step in pairwise(path)
    )


def find_leading_relations(topology: Topology, start: int, end: int) -> list[Relation]:
    """Return the relations that a path to related tools may follow from one tool to another."""
    return [
        relation
        for relation in topology.relations_between(start, end)
        if _is_leading(relation, end)
    ]


def _is_leading(relation: Relation, tool: int) -> bool:
    if relation.kind is RelationKind.DEPENDS_ON:
        return relation.target == tool
    if relation.kind in _CHECKING_KINDS:
        return relation.source == tool
    return relation.kind in PATH_KINDS
