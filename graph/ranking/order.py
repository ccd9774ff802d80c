"""In which order the tools of a set run: which of two comes first, and the likeliest order of all.

A logistic model of pairs, antisymmetric by its features: what speaks for one tool being first
speaks as much against the other.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

from graph.ranking.logistic import fit_logistic
from graph.ranking.set_history import ABSENT, Floats, Positions, SetHistory

if TYPE_CHECKING:
    from graph.ranking.prior import LinearPrior
    from graph.ranking.scored import Scored

FEATURES: Final = ("prec", "precset", "prek", "clpos", "clposx")
"""Log-odds that runs called one before the other: all runs, those of exactly this set, the most
similar ones. How much later in the intent the other's clause stands: by the tool's text, and by
like clauses of past intents that spoke of the tool."""

PRECISION: Final = 10.0
LEARNED_RUNS: Final = 1_500
NEAR_RUNS: Final = 40
NEAR_AT, NEAR_WIDTH = 0.8, 0.1
"""A similar run counts exp((cosine - 0.8) / 0.1)."""

SMOOTHING: Final = (0.4, 0.4, 0.3)
CLAUSE_WIDTH: Final = 0.05
VOTE_WIDTH: Final = 0.1
ALL_ORDERS: Final = 6
"""Up to so many tools every order is tried: 720."""


@dataclass(frozen=True, kw_only=True, eq=False)
class OrderModel:
    """A fitted model.

    Attributes:
        scales: What each of `FEATURES` is divided by, shape (f,).
        coefficients: Per scaled feature, shape (f,).
    """

    scales: Floats
    coefficients: Floats

    def without(self, features: AbstractSet[str]) -> OrderModel:
        """Return the same model to which some features say nothing; it is not fitted anew."""
        kept = np.array([name not in features for name in FEATURES])
        return OrderModel(scales=self.scales, coefficients=self.coefficients * kept)

    def order(self, features: Floats) -> list[int]:
        """Return the likeliest order of m tools.

        Args:
            features: Shape (m, m, f): what speaks for the first axis before the second.

        Complexity: O(m! · m²) up to six tools, O(m²) beyond, by how surely each precedes.
        """
        count = len(features)
        if count < 2:
            return list(range(count))
        odds = (features / self.scales) @ self.coefficients
        likely = -np.logaddexp(0, -odds)
        if count > ALL_ORDERS:
            np.fill_diagonal(likely, 0)
            return [int(at) for at in np.argsort(-likely.sum(axis=1), kind="stable")]
        orders, first, then = _orders(count)
        worth = likely[orders[:, first], orders[:, then]].sum(axis=1)
        return [int(at) for at in orders[int(worth.argmax())]]


@cache
def _orders(count: int) -> tuple[Positions, Positions, Positions]:
    """Return all orders of so many tools, and the places of every pair in one."""
    orders = np.array(list(itertools.permutations(range(count))), dtype=np.intp)
    first, then = np.triu_indices(count, 1)
    return orders, first, then


class OrderEvidence:
    """What speaks for any order of an intent's tools; make one for each intent.

    Args:
        scored: The intent.
        history: None without past runs.
    """

    def __init__(self, scored: Scored, history: SetHistory | None) -> None:
        self._scored = scored
        self._history = history
        if history is not None:
            self._counts = history.sequence_counts.copy()
            if scored.own is not None:
                self._counts[history.sequence_of[scored.own]] -= 1
            self._near = _near_sequences(scored, history)

    def features(self, columns: Positions) -> Floats:
        """Return what speaks for one tool before another, shape (m, m, f).

        Args:
            columns: Positions of m tools among those scored.
        """
        found = np.zeros((len(columns), len(columns), len(FEATURES)))
        if self._history is not None:
            before = self._before(columns, self._history)
            smooth = before + np.array(SMOOTHING)
            found[:, :, :3] = np.log(smooth / smooth.transpose(1, 0, 2))
        for at, places in enumerate(self._places(columns), start=3):
            found[:, :, at] = places[None, :] - places[:, None]
        return found

    def _before(self, columns: Positions, history: SetHistory) -> Floats:
        """Return how many runs called one before the other, by kind of run, shape (m, m, 3)."""
        positions = history.positions[history.rows(self._scored.tools[columns])]
        is_called = positions != ABSENT
        held = is_called.sum(axis=0)
        several = np.flatnonzero(held >= 2)
        positions = positions[:, several]
        sizes = history.sizes[history.set_of_sequence[several]]
        is_same = (held[several] == len(columns)) & (sizes == len(columns))
        counts = self._counts[several]
        weights = np.stack([counts, counts * is_same, self._near[several]], axis=1)
        is_before = (positions[:, None] < positions[None]) & is_called[None][:, :, several]
        return np.asarray(is_before @ weights)

    def _places(self, columns: Positions) -> tuple[Floats, Floats]:
        """Return where in the intent each tool is spoken of, from 0 to 1, by text and history."""
        cosines = self._scored.clause_cosines[columns].astype(np.float64)
        apart = cosines - cosines.mean(axis=0) / 2
        votes = self._scored.votes[columns] + apart / 2
        return _place(apart / CLAUSE_WIDTH), _place(votes / VOTE_WIDTH)


def _near_sequences(scored: Scored, history: SetHistory) -> Floats:
    """Return how much the most similar runs count for each sequence, shape (s,)."""
    similarity = scored.similarity
    count = min(NEAR_RUNS, len(similarity))
    near = np.argpartition(-similarity, count - 1)[:count]
    near = near[near != (-1 if scored.own is None else scored.own)]
    weights = np.exp((similarity[near].astype(np.float64) - NEAR_AT) / NEAR_WIDTH)
    return np.asarray(
        np.bincount(history.sequence_of[near], weights, len(history.sequences)), dtype=np.float64
    )


def _place(fits: Floats) -> Floats:
    """Return the mean place of the clauses, weighted by softmax of how well each fits."""
    clauses = fits.shape[1]
    weights = np.exp(fits - fits.max(axis=1, keepdims=True))
    places = np.arange(clauses) / max(clauses - 1, 1)
    return np.asarray((weights @ places) / weights.sum(axis=1))


def fit_order_model(
    scored: Sequence[Scored],
    history: SetHistory | None,
    *,
    prior: LinearPrior,
    without: AbstractSet[str] = frozenset(),
) -> OrderModel:
    """Fit the model on the newest past runs.

    Args:
        scored: Past runs (each with `own`), oldest first.
        history: Of all past runs.
        prior: Where the coefficients lie before any run.
        without: Features left out.
    """
    known = prior.of(FEATURES)
    kept = np.array([name not in without for name in FEATURES])
    runs = 0 if history is None else history.runs
    pairs = [np.zeros((0, len(FEATURES)))]
    if history is not None:
        newest = range(max(0, len(scored) - LEARNED_RUNS), len(scored))
        pairs += [order_pairs(scored[at], history) for at in newest]
    rows = np.concatenate(pairs) * kept / known.scales
    found = fit_logistic(rows, np.ones(len(rows)), prior=known.at(runs), l2=PRECISION)
    return OrderModel(scales=known.scales, coefficients=found * kept)


def order_pairs(scored: Scored, history: SetHistory) -> Floats:
    """Return the features of each pair of a past run, the tool called first first, (pairs, f)."""
    if scored.own is None:
        raise ValueError("pairs are made of past runs")
    called = history.sequences[int(history.sequence_of[scored.own])]
    place = {int(pk): at for at, pk in enumerate(scored.tools)}
    columns = np.array(
        [place[tool] for tool in dict.fromkeys(called) if tool in place], dtype=np.intp
    )
    if len(columns) < 2:
        return np.zeros((0, len(FEATURES)))
    first, then = np.triu_indices(len(columns), 1)
    return OrderEvidence(scored, history).features(columns)[first, then]
