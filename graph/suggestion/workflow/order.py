"""Order tools: the ranker's order, corrected by relations of the graph."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from graph.algorithms.cycles import (
    break_cycles,
    make_acyclic_graph,
    sort_strongest_first,
    sort_topologically,
)
from graph.relations import (
    MIN_BINDING_CONFIDENCE,
    SOFT_KINDS,
    Relation,
    RelationKind,
    is_binding_dependency,
    is_server_guess,
    rank_soft,
)
from graph.suggestion.workflow.evidence import MIN_SIMILARITY

if TYPE_CHECKING:
    from graph.algorithms.cycles import AcyclicGraph
    from graph.suggestion.binding.tasks import SuggestedTask, WorkflowTool
    from graph.suggestion.intent.reading import IntentReading
    from graph.suggestion.ranking.rank import RankedSet, Ranking

ORDERING_KINDS: Final = tuple(kind for kind in SOFT_KINDS if kind.traits.is_path)
"""Kinds that order tools unless something stronger objects."""
MIN_CONFIDENCE: Final = 0.5
"""Minimum confidence of a relation of these kinds."""
MIN_RUNS: Final = 3
"""Successful runs of the same set, for similar intents, that outweigh a soft relation."""
MIN_ORDER_SHARE: Final = 0.75
"""Share of such runs that must agree."""
OWN_CLAUSE_SHARE: Final = 0.9
"""Share from which a clause is taken to ask for a tool (see `Ranking.clause_shares`)."""
_SEQUENCE_WORD: Final = re.compile(
    r"\b(?:then|next|before|finally|lastly|afterwards?|subsequently|followed by|after that)\b"
    r"|\b(?:dann|danach|anschließend|luego|después|puis|ensuite|après\s+(?:ça|cela))\b|然后|接着|随后|再",
    re.IGNORECASE,
)
_FIRST_WORDS: Final = re.compile(r"\s*\S+(?:\s+\S+)?")


@dataclass(frozen=True, kw_only=True, eq=False)
class WorkflowDag:
    """Tools in the order to run them, then the tasks that call them.

    Attributes:
        tools: Each as often as it is to run.
        dependencies: Pairs of positions; the second must wait for the first.
        ignored_relations: Dependencies that the order violates, each the weakest of a cycle.
        reordering_relations: Relations that corrected the order of the ranker.
        tasks: Of each tool, with bound arguments.
        is_serial: Whether some tasks wait only because their tools may not be read-only.
    """

    tools: tuple[WorkflowTool, ...]
    dependencies: frozenset[tuple[int, int]]
    ignored_relations: tuple[Relation, ...] = ()
    reordering_relations: tuple[Relation, ...] = ()
    tasks: tuple[SuggestedTask, ...] = ()
    is_serial: bool = False


def order_tools(
    tools: Sequence[WorkflowTool],
    relations: Iterable[Relation],
    *,
    ranked: RankedSet,
    ranking: Ranking,
    reading: IntentReading,
) -> WorkflowDag:
    """Order tools by dependencies, then by `ORDERING_KINDS`, then as the ranker did.

    Dependencies always count. Soft relations count from `MIN_CONFIDENCE`: those from people, files
    or runs before servers' guesses, the most confident first, unless they close a cycle. Past runs
    of the same set for similar intents overrule them (see `MIN_RUNS`; any majority overrules a
    guess), and so does an intent that states the order. All else keeps the ranker's order.

    Args:
        tools: In the ranker's order; may repeat.
        relations: The relations between them.
        ranked: The ranked set they were chosen from.
        ranking: Holds the nearest past runs and the clauses that each tool fits.
        reading: The prepared intent.
    """
    relations = list(relations)
    order = make_acyclic_graph(range(len(tools)))
    dependencies = break_cycles(relation for relation in relations if _is_hard(relation))
    strongest = sort_strongest_first(dependencies.kept_relations)
    hard = [
        pair
        for relation in strongest
        for pair in _iterate_nearest_pairs(*relation.run_order, tools)
    ]
    needs = {pair for pair in hard if order.add_arc(*pair)}  # repeated tools may close a cycle
    stated_order = _StatedOrder(ranked_set=ranked, ranking=ranking, reading=reading)
    reordering = []
    for relation in sorted(filter(_is_soft, relations), key=rank_soft):
        if not stated_order.is_opposed(relation):
            added, is_moved = _add_relation(order, relation, tools)
            needs |= set() if is_server_guess(relation) else added
            reordering += [relation] if is_moved else []
    places = sort_topologically(range(len(tools)), order.arcs)
    place = {number: at for at, number in enumerate(places)}
    return WorkflowDag(
        tools=tuple(tools[number] for number in places),
        dependencies=frozenset((place[first], place[second]) for first, second in needs),
        ignored_relations=dependencies.dropped_relations,
        reordering_relations=tuple(reordering),
    )


def _is_hard(relation: Relation) -> bool:
    is_sure = is_binding_dependency(relation) or relation.confidence >= MIN_BINDING_CONFIDENCE
    return relation.kind is RelationKind.DEPENDS_ON and is_sure


def _is_soft(relation: Relation) -> bool:
    return relation.kind in ORDERING_KINDS and relation.confidence >= MIN_CONFIDENCE


def _add_relation(
    order: AcyclicGraph, relation: Relation, tools: Sequence[WorkflowTool]
) -> tuple[set[tuple[int, int]], bool]:
    """Add a relation to the order unless a stronger one forbids it.

    Returns:
        The ordered pairs of positions that must wait, i.e. not both read-only; and whether the
        relation changes the current order.
    """
    added, is_moved = set(), False
    for first, second in _iterate_nearest_pairs(*relation.run_order, tools):
        if order.add_arc(first, second):
            is_moved = is_moved or second < first
            if not (tools[first].is_read_only and tools[second].is_read_only):
                added.add((first, second))
    return added, is_moved


def _iterate_nearest_pairs(
    earlier: int, later: int, tools: Sequence[WorkflowTool]
) -> Iterator[tuple[int, int]]:
    """Pair each position of the later tool with the nearest earlier one, else with the first."""
    firsts = [place for place, tool in enumerate(tools) if tool.pk == earlier]
    for place, tool in enumerate(tools):
        if tool.pk == later and firsts:
            before = [candidate for candidate in firsts if candidate < place]
            yield (before[-1] if before else firsts[0]), place


@dataclass(frozen=True, kw_only=True)
class _StatedOrder:
    """The order of tools according to past runs and the intent."""

    ranked_set: RankedSet
    ranking: Ranking
    reading: IntentReading

    def is_opposed(self, relation: Relation) -> bool:
        """Whether past runs or the intent contradict a relation's order."""
        first, then = relation.run_order
        sequence = self.ranked_set.tools
        if first not in sequence or then not in sequence:
            return False
        if len(set(sequence)) < len(sequence):  # the sequence is that of past runs
            return True
        if sequence.index(first) < sequence.index(then):
            return False
        return self._is_opposed_by_runs(
            then, first, is_server_guess(relation)
        ) or self._is_stated_in_intent(then, first)

    def _is_opposed_by_runs(self, first: int, then: int, rival_is_guess: bool) -> bool:
        """Whether similar past runs of the same set mostly called `first` before `then`."""
        runs = agreeing = 0
        own_tools = set(self.ranked_set.tools)
        for past in self.ranking.neighbours:
            if past.similarity >= MIN_SIMILARITY and set(past.tools) == own_tools:
                runs += past.successes
                agreeing += past.successes * (past.tools.index(first) < past.tools.index(then))
        if rival_is_guess:
            return 2 * agreeing > runs
        return agreeing >= MIN_RUNS and agreeing >= MIN_ORDER_SHARE * runs

    def _is_stated_in_intent(self, first: int, then: int) -> bool:
        """Whether an earlier clause asks for `first` and a later one, in sequence, for `then`."""
        clauses = self.reading.clauses
        earlier, later = self._find_requesting_clause(first), self._find_requesting_clause(then)
        if earlier is None or later is None or earlier >= later:
            return False
        for before, clause in pairwise(clauses[earlier : later + 1]):
            words = _FIRST_WORDS.match(clause.text)
            end = clause.start + (words.end() if words else 0)
            if _SEQUENCE_WORD.search(self.reading.text, before.start + len(before.text), end):
                return True
        return False

    def _find_requesting_clause(self, tool: int) -> int | None:
        """Return the index of the clause that asks for a tool; None if none clearly does."""
        shares = self.ranking.clause_shares.get(tool)
        if shares is None or len(shares) != len(self.reading.clauses) or not len(shares):
            return None
        best = int(shares.argmax())
        return best if shares[best] >= OWN_CLAUSE_SHARE else None
