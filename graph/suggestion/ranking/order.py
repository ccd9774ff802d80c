"""Order the tools of a set: model which of two comes first, find the likeliest order of all.

A logistic model of pairs; its features are antisymmetric, so that evidence for one tool coming
first counts equally against the other.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

from graph.suggestion.ranking.logistic import fit_logistic
from graph.suggestion.ranking.set_history import ABSENT, Floats, Positions, SetHistory

if TYPE_CHECKING:
    from graph.suggestion.ranking.candidates import Candidates
    from graph.suggestion.ranking.prior import LinearPrior

ORDER_FEATURES: Final = (
    "all_runs",  # log-odds that runs called one before the other
    "same_set_runs",  # the same of the runs of exactly this set
    "similar_runs",  # the same of the most similar runs
    "clause_position",  # how much later in the intent the clause of the other is
)

PRIOR_PRECISION: Final = 10.0
MAX_FITTED_RUNS: Final = 1_500
NEAR_RUNS: Final = 40
NEAR_SIMILARITY, NEAR_WIDTH = 0.8, 0.1
"""Weight of a similar run: exp((cosine - 0.8) / 0.1)."""

SMOOTHING: Final = (0.4, 0.4, 0.3)
CLAUSE_WIDTH: Final = 0.05
VOTE_WIDTH: Final = 0.1
"""A run's weight falls by a factor of e per this much cosine below the nearest run."""

MAJORITY: Final = 0.5
"""Share of the weighted runs of a set above which their repetitions are followed."""

MAX_EXHAUSTIVE_TOOLS: Final = 6
"""Up to this many tools every order is tried: 720."""


@dataclass(frozen=True, kw_only=True, eq=False)
class OrderModel:
    """A fitted model.

    Attributes:
        scales: Divisor of each of `ORDER_FEATURES`, shape (f,).
        coefficients: Per scaled feature, shape (f,).
    """

    scales: Floats
    coefficients: Floats

    def find_likeliest_order(self, features: Floats) -> list[int]:
        """Return the likeliest order of m tools.

        Args:
            features: Evidence for the first axis before the second, shape (m, m, f).

        Complexity: O(m! · m²) up to six tools; beyond, O(m²) by each tool's summed log-odds.
        """
        count = len(features)
        if count < 2:
            return list(range(count))
        odds = (features / self.scales) @ self.coefficients
        log_probabilities = -np.logaddexp(0, -odds)
        if count > MAX_EXHAUSTIVE_TOOLS:
            np.fill_diagonal(log_probabilities, 0)
            return [int(at) for at in np.argsort(-log_probabilities.sum(axis=1), kind="stable")]
        orders, first, second = _enumerate_orders(count)
        scores = log_probabilities[orders[:, first], orders[:, second]].sum(axis=1)
        return [int(at) for at in orders[int(scores.argmax())]]


@cache
def _enumerate_orders(count: int) -> tuple[Positions, Positions, Positions]:
    """Return all orders of `count` tools, and the positions of all pairs in an order."""
    orders = np.array(list(itertools.permutations(range(count))), dtype=np.intp)
    first, second = np.triu_indices(count, 1)
    return orders, first, second


class OrderEvidence:
    """Evidence for the order of an intent's tools; one instance per intent.

    Args:
        scored: The scored intent.
        history: None without past runs.
    """

    def __init__(self, scored: Candidates, history: SetHistory | None) -> None:
        self._scored = scored
        self._history = history
        if history is not None:
            self._counts = history.sequence_counts.copy()
            if scored.own_run is not None:
                self._counts[history.sequence_of[scored.own_run]] -= 1
            self._near = _weigh_sequences(scored, history)

    def compute_features(self, columns: Positions) -> Floats:
        """Return the evidence for one tool before another, shape (m, m, f).

        Args:
            columns: Positions of m tools among the candidates.
        """
        features = np.zeros((len(columns), len(columns), len(ORDER_FEATURES)))
        if self._history is not None:
            before = self._count_before(columns, self._history)
            smooth = before + np.array(SMOOTHING)
            features[:, :, :3] = np.log(smooth / smooth.transpose(1, 0, 2))
        places = self._compute_positions(columns)
        features[:, :, 3] = places[None, :] - places[:, None]
        return features

    def _count_before(self, columns: Positions, history: SetHistory) -> Floats:
        """Count the runs that called one before the other, by kind of run, shape (m, m, 3)."""
        positions = history.positions[history.find_rows(self._scored.tools[columns])]
        is_called = positions != ABSENT
        call_counts = is_called.sum(axis=0)
        multiple = np.flatnonzero(call_counts >= 2)
        positions = positions[:, multiple]
        sizes = history.sizes[history.set_of_sequence[multiple]]
        is_same = (call_counts[multiple] == len(columns)) & (sizes == len(columns))
        counts = self._counts[multiple]
        weights = np.stack([counts, counts * is_same, self._near[multiple]], axis=1)
        is_before = (positions[:, None] < positions[None]) & is_called[None][:, :, multiple]
        return np.asarray(is_before @ weights)

    def _compute_positions(self, columns: Positions) -> Floats:
        """Return each tool's mean position in the intent, in [0, 1], by its fit to the clauses."""
        cosines = self._scored.clause_cosines[columns].astype(np.float64)
        fits = (cosines - cosines.mean(axis=0) / 2) / CLAUSE_WIDTH
        weights = np.exp(fits - fits.max(axis=1, keepdims=True))
        clauses = fits.shape[1]
        places = np.arange(clauses) / max(clauses - 1, 1)
        return np.asarray((weights @ places) / weights.sum(axis=1))


def _weigh_sequences(scored: Candidates, history: SetHistory) -> Floats:
    """Return the weight of the most similar runs for each sequence, shape (s,)."""
    near = scored.nearest_past[:NEAR_RUNS]
    near = near[near != (-1 if scored.own_run is None else scored.own_run)]
    weights = np.exp((scored.similarity[near].astype(np.float64) - NEAR_SIMILARITY) / NEAR_WIDTH)
    return np.asarray(
        np.bincount(history.sequence_of[near], weights, len(history.sequences)), dtype=np.float64
    )


def fit_order_model(
    scored: Sequence[Candidates],
    history: SetHistory | None,
    *,
    prior: LinearPrior,
) -> OrderModel:
    """Fit the model on the newest past runs.

    Args:
        scored: Past runs (each with `own_run`), oldest first.
        history: Counts of all past runs.
        prior: Mean of the coefficients without any run.
    """
    selected = prior.select_features(ORDER_FEATURES)
    runs = 0 if history is None else history.run_count
    pairs = [np.zeros((0, len(ORDER_FEATURES)))]
    if history is not None:
        newest = range(max(0, len(scored) - MAX_FITTED_RUNS), len(scored))
        pairs += [make_order_pairs(scored[at], history) for at in newest]
    rows = np.concatenate(pairs) / selected.scales
    coefficients = fit_logistic(
        rows, np.ones(len(rows)), prior=selected.coefficients_at(runs), l2=PRIOR_PRECISION
    )
    return OrderModel(scales=selected.scales, coefficients=coefficients)


def make_order_pairs(scored: Candidates, history: SetHistory) -> Floats:
    """Return the features of each pair of a past run in call order, shape (pairs, f)."""
    if scored.own_run is None:
        raise ValueError("pairs are made of past runs")
    called = history.sequences[int(history.sequence_of[scored.own_run])]
    place = {int(pk): at for at, pk in enumerate(scored.tools)}
    columns = np.array(
        [place[tool] for tool in dict.fromkeys(called) if tool in place], dtype=np.intp
    )
    if len(columns) < 2:
        return np.zeros((0, len(ORDER_FEATURES)))
    first, second = np.triu_indices(len(columns), 1)
    return OrderEvidence(scored, history).compute_features(columns)[first, second]


def repeat_tools_as_called(
    ordered: tuple[int, ...], scored: Candidates, history: SetHistory | None
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
