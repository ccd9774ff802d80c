"""Rank tool sets for an intent: the set, its order, the confidence and the evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from graph.suggestion.ranking.calibrate import UNFITTED_CALIBRATOR, Calibrator
from graph.suggestion.ranking.candidates import Candidates, describe_candidates
from graph.suggestion.ranking.history_features import measure_repetition
from graph.suggestion.ranking.logistic import compute_sigmoid
from graph.suggestion.ranking.order import OrderEvidence, repeat_tools_as_called
from graph.suggestion.ranking.request_scores import score_requests
from graph.suggestion.ranking.static_features import compare_intent

if TYPE_CHECKING:
    from graph.suggestion.intent.encoded import EncodedIntent
    from graph.suggestion.ranking.history_features import HistoryEvidence
    from graph.suggestion.ranking.ranker import Ranker
    from graph.suggestion.ranking.request_scores import RequestCandidate
    from graph.suggestion.ranking.static_features import IntentComparison
    from graph.suggestion.ranking.tool_view import ToolView

MAX_ALTERNATIVES = 3
MAX_NEIGHBOURS = 8
SAME_WORDS = 0.9995
"""Similarity from which two intents have the same words; stored vectors have half precision."""
MIN_ROUTINE_RUNS = 5
"""Runs for the same words below which they are no routine."""


@dataclass(frozen=True, kw_only=True)
class RankedSet:
    """A set of tools that may be what the intent asks for.

    Attributes:
        tools: Primary keys in run order. A tool repeats if most similar runs of the same set
            repeated it.
        confidence: Calibrated probability that the set is exactly right, in [0, 1]; reduced by
            failed runs of it for the same intent, and at least what a routine deserves.
        probability: Its share among the sets considered, in [0, 1], not calibrated.
    """

    tools: tuple[int, ...]
    confidence: float
    probability: float


@dataclass(frozen=True, kw_only=True)
class Neighbour:
    """A past intent near this one.

    Attributes:
        pattern: Primary key of its workflow pattern.
        similarity: Cosine of the two intents, in [-1, 1].
        tools: Tools that its run called, in order.
        successes: Runs that succeeded.
        failures: Runs that failed.
    """

    pattern: int
    similarity: float
    tools: tuple[int, ...]
    successes: int
    failures: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Ranking:
    """The ranking for one intent.

    Attributes:
        best: The set to suggest; None if the caller sees no tool that can be compared.
        alternatives: The next likely sets, at most three, best first.
        neighbours: The nearest past intents, at most eight, nearest first.
        tool_probabilities: Probability that each candidate is in the workflow, in [0, 1].
        clause_shares: For each tool of `best` and of the alternatives, its fit to each clause of
            the intent relative to the best-fitting tool, in (0, 1], shape (c,).
        past_intent_count: Past intents that the models were fitted on.
        counted_runs: Their successful runs, at most `past_intents.MAX_COUNTED_RUNS` of each.
        requests: For each request of the intent, the best tools and those of the sets, best first;
            empty if the intent was encoded without requests.
        familiarity: Weight of past runs in the ranking, in [0, 1]; 0 without any.
        calibrator: Maps log-odds to confidences.
    """

    best: RankedSet | None
    alternatives: tuple[RankedSet, ...]
    neighbours: tuple[Neighbour, ...]
    tool_probabilities: Mapping[int, float]
    clause_shares: Mapping[int, NDArray[np.float32]]
    past_intent_count: int
    counted_runs: int
    requests: tuple[tuple[RequestCandidate, ...], ...] = ()
    familiarity: float = 0.0
    calibrator: Calibrator = UNFITTED_CALIBRATOR

    @property
    def sets(self) -> tuple[RankedSet, ...]:
        """The set to suggest and the alternatives, best first."""
        return () if self.best is None else (self.best, *self.alternatives)


@dataclass(frozen=True, kw_only=True, eq=False)
class IntentEvidence:
    """The evidence for an intent, whichever tools are considered.

    Attributes:
        compared: The intent and its requests compared with all tools.
        history: Evidence of past intents; None without history.
    """

    compared: IntentComparison
    history: HistoryEvidence | None


def gather_evidence(encoded: EncodedIntent, view: ToolView, ranker: Ranker) -> IntentEvidence:
    """Compare an intent with the tools that the caller sees and with past intents."""
    return IntentEvidence(
        compared=compare_intent(encoded, view, with_requests=True),
        history=None if ranker.past is None else ranker.past.gather_evidence(encoded),
    )


def rank_tool_sets(
    encoded: EncodedIntent,
    view: ToolView,
    ranker: Ranker,
    *,
    considered: Sequence[int] = (),
) -> Ranking:
    """Rank the tool sets that an intent may ask for.

    Args:
        encoded: The intent, embedded by the same model as the index and the ranker.
        view: The tools visible to the caller.
        ranker: Fitted on past runs, or the prior alone.
        considered: Tools to score in any case, e.g. search results.
    """
    evidence = gather_evidence(encoded, view, ranker)
    return rank_by_evidence(evidence, ranker, considered=considered)


def rank_by_evidence(
    evidence: IntentEvidence,
    ranker: Ranker,
    *,
    considered: Sequence[int] = (),
) -> Ranking:
    """Rank the tool sets that an intent may ask for, as `rank_tool_sets` does.

    Args:
        evidence: Gathered from the same ranker.
        ranker: As in `rank_tool_sets`.
        considered: Likewise.
    """
    described = describe_candidates(
        evidence.compared, ranker.past, evidence.history, considered=considered
    )
    scored = ranker.tool_model.score(described)
    neighbours = _nearest_neighbours(scored, ranker)
    if not len(scored.tools):
        return Ranking(
            best=None,
            alternatives=(),
            neighbours=neighbours,
            tool_probabilities={},
            clause_shares={},
            past_intent_count=ranker.past_intent_count,
            counted_runs=ranker.counted_runs,
        )
    sets = _rank_sets(scored, ranker)
    probabilities = compute_sigmoid(scored.logits)
    listed = {tool for ranked in sets for tool in ranked.tools}
    return Ranking(
        best=sets[0],
        alternatives=tuple(sets[1:]),
        neighbours=neighbours,
        tool_probabilities=dict(zip(scored.tools.tolist(), probabilities.tolist(), strict=True)),
        clause_shares={
            int(tool): shares
            for tool, shares in zip(scored.tools, scored.clause_shares, strict=True)
            if int(tool) in listed
        },
        past_intent_count=ranker.past_intent_count,
        counted_runs=ranker.counted_runs,
        requests=score_requests(evidence.compared, tools=sorted(listed)),
        familiarity=0.0 if ranker.past is None else scored.familiarity,
        calibrator=ranker.calibrator,
    )


def _rank_sets(scored: Candidates, ranker: Ranker) -> list[RankedSet]:
    """Return the set to suggest and its alternatives, each in run order."""
    history = ranker.set_history
    choices = ranker.set_model.list_choices(scored, history)
    evidence = OrderEvidence(scored, history)
    sets = []
    for which in choices.select_best_first(1 + MAX_ALTERNATIVES):
        members = choices.candidates.members[which] > 0
        columns = choices.candidates.columns[members]
        ordered = columns[
            ranker.order_model.find_likeliest_order(evidence.compute_features(columns))
        ]
        tools = tuple(scored.tools[ordered].tolist())
        probability = float(choices.probabilities[which])
        sets.append(
            RankedSet(
                tools=repeat_tools_as_called(tools, scored, history),
                confidence=max(
                    ranker.calibrator.predict_confidence(
                        probability,
                        similarity=float(choices.similarities[which]),
                        familiarity=scored.familiarity,
                    )
                    * _success_share(tools, scored, ranker),
                    _measure_routine(tools, scored, ranker),
                ),
                probability=probability,
            )
        )
    return sets


def _success_share(tools: Sequence[int], scored: Candidates, ranker: Ranker) -> float:
    """Return the success rate of runs of exactly these tools for the same intent.

    One success is added, so the rate is 1 without failures or without runs.
    """
    past, history = ranker.past, ranker.set_history
    if past is None or history is None:
        return 1.0
    runs = history.find_runs(tools)
    repetition = measure_repetition(scored.similarity[runs].astype(np.float64))
    succeeded = 1 + float(repetition @ past.successes[runs])
    return succeeded / (succeeded + float(repetition @ past.failures[runs]))


def _measure_routine(tools: Sequence[int], scored: Candidates, ranker: Ranker) -> float:
    """Return the probability that runs for these very words will go on as they did.

    By the rule of succession, (s + 1) / (n + 2) after s of n runs succeeded with exactly these
    tools; 0 if there were fewer than `MIN_ROUTINE_RUNS`.

    References:
        Laplace, Essai philosophique sur les probabilités (1814).
    """
    past, history = ranker.past, ranker.set_history
    if past is None or history is None:
        return 0.0
    is_same = scored.similarity >= SAME_WORDS
    runs = int((past.successes + past.failures)[is_same].sum())
    if runs < MIN_ROUTINE_RUNS:
        return 0.0
    own = history.find_runs(tools)
    succeeded = int(past.successes[own][is_same[own]].sum())
    return (succeeded + 1) / (runs + 2)


def _nearest_neighbours(scored: Candidates, ranker: Ranker) -> tuple[Neighbour, ...]:
    """Return the past intents nearest to this one, nearest first."""
    past = ranker.past
    if past is None:
        return ()
    return tuple(
        Neighbour(
            pattern=int(past.patterns[at]),
            similarity=float(scored.similarity[at]),
            tools=past.runs[at],
            successes=int(past.successes[at]),
            failures=int(past.failures[at]),
        )
        for at in scored.nearest_past[:MAX_NEIGHBOURS].tolist()
    )
