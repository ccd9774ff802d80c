"""Repeat tools of a set as similar runs of the same set did."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

import numpy as np

from graph.suggestion.ranking.set_history import SetHistory

if TYPE_CHECKING:
    from graph.suggestion.ranking.scored_candidates import ScoredCandidates

VOTE_WIDTH: Final = 0.1
"""A run's weight falls by a factor of e per this much cosine below the nearest run."""

MAJORITY: Final = 0.5


def repeat_tools_as_called(
    ordered: tuple[int, ...], scored: ScoredCandidates, history: SetHistory | None
) -> tuple[int, ...]:
    """Repeat tools if most runs of exactly these tools agree on the repetitions.

    If so, their likeliest sequence is returned; otherwise the order is unchanged.

    Args:
        ordered: Distinct tools, by primary key, in run order.
        scored: The scored intent.
        history: None without past runs.
    """
    if history is None:
        return ordered
    runs = history.find_runs(ordered)
    runs = runs[runs != (-1 if scored.own_run is None else scored.own_run)]
    if not len(runs):
        return ordered
    similarity = scored.similarity[runs].astype(np.float64)
    weights = np.exp((similarity - similarity.max()) / VOTE_WIDTH)
    sequence_weights: defaultdict[tuple[int, ...], float] = defaultdict(float)
    count_weights: defaultdict[tuple[int, ...], float] = defaultdict(float)
    for run, weight in zip(runs, weights, strict=True):
        sequence = history.sequences[int(history.sequence_of[run])]
        sequence_weights[sequence] += float(weight)
        count_weights[tuple(sorted(sequence))] += float(weight)
    winner = max(count_weights, key=lambda counts: count_weights[counts])
    if len(winner) == len(ordered) or count_weights[winner] <= MAJORITY * float(weights.sum()):
        return ordered
    matching = [sequence for sequence in sequence_weights if tuple(sorted(sequence)) == winner]
    return max(matching, key=lambda sequence: sequence_weights[sequence])
