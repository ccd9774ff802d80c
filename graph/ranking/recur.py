"""Which tools of a set run more than once: as the similar runs of that very set called them."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

import numpy as np

from graph.ranking.set_history import SetHistory

if TYPE_CHECKING:
    from graph.ranking.scored import Scored

WIDTH: Final = 0.1
"""A run counts less by e where its cosine is so much below the nearest run's."""

MAJORITY: Final = 0.5


def as_called(
    ordered: tuple[int, ...], scored: Scored, history: SetHistory | None
) -> tuple[int, ...]:
    """Let tools recur where most of the runs of exactly these tools agree how often.

    Where they do, their likeliest sequence is taken as it is; otherwise the order stays.

    Args:
        ordered: Distinct tools, by primary key, in the order to run them.
        scored: The intent.
        history: None without past runs.
    """
    if history is None:
        return ordered
    runs = history.runs_of(ordered)
    runs = runs[runs != (-1 if scored.own is None else scored.own)]
    if not len(runs):
        return ordered
    similarity = scored.similarity[runs].astype(np.float64)
    weights = np.exp((similarity - similarity.max()) / WIDTH)
    of_sequence: defaultdict[tuple[int, ...], float] = defaultdict(float)
    of_counts: defaultdict[tuple[int, ...], float] = defaultdict(float)
    for run, weight in zip(runs, weights, strict=True):
        sequence = history.sequences[int(history.sequence_of[run])]
        of_sequence[sequence] += float(weight)
        of_counts[tuple(sorted(sequence))] += float(weight)
    agreed = max(of_counts, key=lambda counts: of_counts[counts])
    if len(agreed) == len(ordered) or of_counts[agreed] <= MAJORITY * float(weights.sum()):
        return ordered
    likely = [sequence for sequence in of_sequence if tuple(sorted(sequence)) == agreed]
    return max(likely, key=lambda sequence: of_sequence[sequence])
