"""In which order tasks run: as the ranker says, corrected by what the graph knows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from graph.algorithms.cycles import (
    acyclic,
    break_cycles,
    strongest_first,
    topological_order,
)
from graph.relations import LEAST_BINDING, Kind, Relation, is_binding, is_guess
from graph.suggest.evidence import SIMILAR

if TYPE_CHECKING:
    from graph.algorithms.cycles import Acyclic
    from graph.intent.reading import Reading
    from graph.ranking.rank import RankedSet, Ranking
    from graph.suggest.types import SuggestTool

SOFT: Final = (Kind.PROVIDES, Kind.PRECEDES)
"""Kinds that order where they contradict nothing stronger; of equally sure ones, in this order."""
LEAST: Final = 0.5
"""Confidence from which on they do."""
MANY: Final = 3
"""Successful runs of this very set, for similar intents, that outweigh what the graph is told."""
MOSTLY: Final = 0.75
"""Share of such runs that must agree."""
OWN: Final = 0.9
"""Share in a clause from which on a tool is what that clause asks for (see `Step.shares`)."""
_THEN: Final = re.compile(
    r"\b(?:then|next|before|finally|lastly|afterwards?|subsequently|followed by|after that)\b"
    r"|然后",
    re.IGNORECASE,
)
_FIRST_WORDS: Final = re.compile(r"\s*\S+(?:\s+\S+)?")


@dataclass(frozen=True, kw_only=True)
class Ordered:
    """Tools in the order to run them.

    Attributes:
        tools: As often as each is to run.
        needs: Pairs of places, of which the second must wait for the first.
        broken: Dependencies that the order goes against, each the weakest of a cycle.
        moved: Relations that corrected the order of the ranker.
    """

    tools: tuple[SuggestTool, ...]
    needs: frozenset[tuple[int, int]]
    broken: tuple[Relation, ...]
    moved: tuple[Relation, ...]


def ordered(
    tools: Sequence[SuggestTool],
    among: Iterable[Relation],
    *,
    ranked: RankedSet,
    ranking: Ranking,
    reading: Reading,
) -> Ordered:
    """Put what is depended on first, then what provides for another or precedes it.

    Dependencies always count. What provides or precedes counts from a confidence of `LEAST` on:
    first what people, files or runs say, then what servers alone say, each the surest first, as
    far as it closes no circle. It does not count against runs of this very set for similar
    intents (see `MANY`; of what servers alone say, against most of any), nor against an intent
    that says in so many words what comes then. What is left free stays in the ranker's order.

    Args:
        tools: In the ranker's order; one may stand several times.
        among: The relations between them.
        ranked: The set they stand for.
        ranking: With the nearest past runs, and the clauses that each tool fits.
        reading: Of the intent.
    """
    related = list(among)
    order = acyclic(range(len(tools)))
    meant = break_cycles(one for one in related if _is_meant(one))
    surest = strongest_first(meant.kept)
    hard = [pair for one in surest for pair in _nearest(one.target, one.source, tools)]
    needs = {pair for pair in hard if order.add(*pair)}  # repeated tools may close a circle
    said = _Said(ranked=ranked, ranking=ranking, reading=reading)
    moved = []
    for relation in sorted((one for one in related if _is_soft(one)), key=_softness):
        if not said.against(relation):
            added, is_moved = _add(order, relation, tools)
            needs |= set() if is_guess(relation) else added
            moved += [relation] if is_moved else []
    places = topological_order(range(len(tools)), order.arcs)
    place = {number: at for at, number in enumerate(places)}
    return Ordered(
        tools=tuple(tools[number] for number in places),
        needs=frozenset((place[first], place[then]) for first, then in needs),
        broken=meant.cut,
        moved=tuple(moved),
    )


def _is_meant(relation: Relation) -> bool:
    is_sure = is_binding(relation) or relation.confidence >= LEAST_BINDING
    return relation.kind is Kind.DEPENDS_ON and is_sure


def _is_soft(relation: Relation) -> bool:
    return relation.kind in SOFT and relation.confidence >= LEAST


def _softness(relation: Relation) -> tuple[bool, float, int, int, int]:
    kind = SOFT.index(relation.kind)
    return (is_guess(relation), -relation.confidence, kind, relation.source, relation.target)


def _add(
    order: Acyclic, relation: Relation, tools: Sequence[SuggestTool]
) -> tuple[set[tuple[int, int]], bool]:
    """Let a relation order the tools, where no stronger one forbids it.

    Returns:
        The pairs of places that it orders and that must wait for each other: not those of which
        both are known to only read; and whether it goes against the order they stand in.
    """
    added, is_moved = set(), False
    for first, then in _nearest(relation.source, relation.target, tools):
        if order.add(first, then):
            is_moved = is_moved or then < first
            if not (tools[first].is_read_only and tools[then].is_read_only):
                added.add((first, then))
    return added, is_moved


def _nearest(first: int, then: int, tools: Sequence[SuggestTool]) -> Iterator[tuple[int, int]]:
    """Yield for each task of the later tool the nearest one of the earlier before it, or any."""
    firsts = [place for place, tool in enumerate(tools) if tool.pk == first]
    for place, tool in enumerate(tools):
        if tool.pk == then and firsts:
            before = [one for one in firsts if one < place]
            yield (before[-1] if before else firsts[0]), place


@dataclass(frozen=True, kw_only=True)
class _Said:
    """What past runs and the intent itself say of the order of tools."""

    ranked: RankedSet
    ranking: Ranking
    reading: Reading

    def against(self, relation: Relation) -> bool:
        """Whether either speaks against an order that the graph knows."""
        first, then = relation.source, relation.target
        sequence = self.ranked.tools
        if first not in sequence or then not in sequence:
            return False
        if len(set(sequence)) < len(sequence):  # as most past runs of this set had it
            return True
        if sequence.index(first) < sequence.index(then):
            return False
        return self._is_shown(then, first, is_guess(relation)) or self._is_told(then, first)

    def _is_shown(self, first: int, then: int, rival_is_guess: bool) -> bool:
        """Whether similar past runs of this very set mostly called one before the other."""
        runs = shown = 0
        for one in self.ranking.neighbours:
            if one.similarity >= SIMILAR and set(one.tools) == set(self.ranked.tools):
                runs += one.successes
                shown += one.successes * (one.tools.index(first) < one.tools.index(then))
        if rival_is_guess:
            return 2 * shown > runs
        return shown >= MANY and shown >= MOSTLY * runs

    def _is_told(self, first: int, then: int) -> bool:
        """Whether the intent asks for one in a clause, and then for the other in another."""
        clauses = self.reading.clauses
        earlier, later = self._asking(first), self._asking(then)
        if earlier is None or later is None or earlier >= later:
            return False
        for before, clause in pairwise(clauses[earlier : later + 1]):
            words = _FIRST_WORDS.match(clause.text)
            end = clause.start + (words.end() if words else 0)
            if _THEN.search(self.reading.text, before.start + len(before.text), end):
                return True
        return False

    def _asking(self, tool: int) -> int | None:
        """Return the clause that asks for a tool; None where that cannot be told."""
        shares = self.ranking.clause_shares.get(tool)
        if shares is None or len(shares) != len(self.reading.clauses) or not len(shares):
            return None
        best = int(shares.argmax())
        return best if shares[best] >= OWN else None
