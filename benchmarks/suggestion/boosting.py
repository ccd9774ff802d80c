"""The gradient boosting baseline: scores each tool by itself, from search and past runs.

scikit-learn's histogram boosting learns, from the past runs of one history, whether a tool is in
an intent's workflow. Features of a candidate: the cosine with the intent, plain and masked, and
with its best clause; BM25, absolute and relative to the best; the softmax of the cosines over all
tools; votes of the nearest past intents, with a narrow and a wide kernel; the nearest past intent
that used the tool; how often it was used; and its co-occurrence with the tools voted for. The
features of a training row leave out its own run.

It suggests the tools at or above the threshold with the best F1 on held-out folds of the past
runs, at least as many as the shortest past workflow has, in the order that past runs used most
often.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graph.suggestion.intent.encoded import EncodedIntent

Floats = NDArray[np.float64]

LEAST_RUNS = 20
"""Minimum number of past runs to fit the model."""
CANDIDATES = 25
"""Candidates by each kind of evidence."""
NARROW, WIDE = 0.05, 0.1
"""Kernel widths of the votes of past intents, as differences of the cosine."""
SOFTMAX = 0.05
THRESHOLDS = np.arange(0.2, 0.75, 0.05)
FEW_RUNS = 250
"""Up to this many past runs, half of the parts are held out in turn to choose the threshold; with
more, one part is."""
PARTS = 10
ROUNDS = 200
SEED = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class Catalogue:
    """The tools, as the baseline sees them.

    Attributes:
        vectors: Shape (t, d), of norm 1.
        bm25: Returns the BM25 scores of all tools for an intent, shape (t,).
    """

    vectors: NDArray[np.float32]
    bm25: Callable[[EncodedIntent], NDArray[np.floating]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Rows:
    """Candidates of one intent.

    Attributes:
        tools: Their indexes in the catalogue, shape (k,).
        features: Their features, shape (k, f).
    """

    tools: NDArray[np.intp]
    features: Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """Evidence of past runs.

    Attributes:
        catalogue: The tools.
        views: Vectors of the past intents, shape (n, 2d).
        used: 1 for each tool that a run used, shape (n, t).
    """

    catalogue: Catalogue
    views: Floats
    used: Floats

    @classmethod
    def of(
        cls, catalogue: Catalogue, past: Sequence[EncodedIntent], chains: Sequence[Sequence[int]]
    ) -> Evidence:
        """Gather past runs."""
        used = np.zeros((len(past), len(catalogue.vectors)))
        for row, chain in enumerate(chains):
            used[row, list(chain)] = 1
        return cls(catalogue=catalogue, views=np.stack([_view(one) for one in past]), used=used)

    def without(self, left_out: NDArray[np.bool_]) -> Evidence:
        """Return the evidence without some of the past runs."""
        return Evidence(
            catalogue=self.catalogue, views=self.views[~left_out], used=self.used[~left_out]
        )

    @cached_property
    def _co_used(self) -> Floats:
        return self.used.T @ self.used

    def rows(self, intent: EncodedIntent) -> Rows:
        """Make the rows of an intent."""
        vectors = self.catalogue.vectors
        cosine = vectors @ intent.whole
        clause = (vectors @ intent.clauses.T).max(axis=1)
        bm25 = np.asarray(self.catalogue.bm25(intent), dtype=np.float64)
        near = self.views @ _view(intent)
        narrow, wide = (_votes(near, self.used, width) for width in (NARROW, WIDE))
        softmax = np.exp((cosine - cosine.max()) / SOFTMAX)
        columns = [
            cosine,
            vectors @ intent.masked,
            clause,
            np.log1p(bm25),
            bm25 / max(bm25.max(), 1e-9),
            softmax / softmax.sum(),
            narrow,
            wide,
            np.where(self.used > 0, near[:, None], -1.0).max(axis=0),
            self.used.mean(axis=0),
            self._co_occurrence(wide),
        ]
        tools = np.unique(
            np.concatenate([np.argsort(-one)[:CANDIDATES] for one in (cosine, clause, bm25, wide)])
        )
        return Rows(tools=tools, features=np.stack(columns, axis=1)[tools])

    def _co_occurrence(self, votes: Floats) -> Floats:
        """Return how often each tool was used together with those that have votes."""
        voted = np.flatnonzero(votes > 0)
        together = self._co_used[voted].copy()
        alone = together[np.arange(len(voted)), voted]
        together[np.arange(len(voted)), voted] = 0
        shares = together / (alone[:, None] + 3.0)
        return np.asarray(votes[voted] @ shares / (votes.sum() + 0.3))


class Boosting:
    """The baseline, fitted to one history.

    Args:
        catalogue: The tools.
        past: Past intents; at least `LEAST_RUNS`.
        chains: Tools that each of them used, as indexes in the catalogue, in order.
    """

    def __init__(
        self, catalogue: Catalogue, past: Sequence[EncodedIntent], chains: Sequence[Sequence[int]]
    ) -> None:
        self._evidence = Evidence.of(catalogue, past, chains)
        self._before = _count_precedences(chains, len(catalogue.vectors))
        self._least = min(len(chain) for chain in chains)
        parts = np.random.default_rng(SEED).permutation(len(past)) % PARTS
        without = [self._evidence.without(parts == part) for part in range(PARTS)]
        rows = [without[part].rows(one) for one, part in zip(past, parts, strict=True)]
        used = self._evidence.used
        right = [used[place, one.tools] for place, one in enumerate(rows)]
        self._threshold = self._best_threshold(rows, right, parts)
        self._model = _fit_model(rows, right)

    def suggest(self, intent: EncodedIntent) -> tuple[list[int], float]:
        """Return the tools, as ordered indexes in the catalogue, and their joint probability."""
        rows = self._evidence.rows(intent)
        chances = self._model.predict_proba(rows.features)[:, 1]
        chosen = _choose_best(chances, self._threshold, self._least)
        tools = rows.tools[chosen]
        return self._order_tools(tools), float(np.prod(chances[chosen]))

    def _best_threshold(
        self, rows: Sequence[Rows], right: Sequence[Floats], parts: NDArray[np.int64]
    ) -> float:
        """Return the threshold with the best F1 on held-out runs."""
        scores = np.zeros(len(THRESHOLDS))
        for part in range(PARTS // 2 if len(rows) <= FEW_RUNS else 1):
            inside, outside = _positions(parts != part), _positions(parts == part)
            model = _fit_model([rows[at] for at in inside], [right[at] for at in inside])
            for at in outside:
                chances = model.predict_proba(rows[at].features)[:, 1]
                gold = self._evidence.used[at].sum()
                for number, threshold in enumerate(THRESHOLDS):
                    chosen = _choose_best(chances, threshold, self._least)
                    scores[number] += 2 * right[at][chosen].sum() / (len(chosen) + gold)
        return float(THRESHOLDS[int(np.argmax(scores))])

    def _order_tools(self, tools: NDArray[np.intp]) -> list[int]:
        ahead = self._before[np.ix_(tools, tools)]
        share = (ahead + 0.5) / (ahead + ahead.T + 1)
        return [int(tool) for tool in tools[np.argsort(-share.sum(axis=1), kind="stable")]]


def _positions(chosen: NDArray[np.bool_]) -> list[int]:
    return [int(at) for at in np.flatnonzero(chosen)]


def _view(intent: EncodedIntent) -> Floats:
    """Return the vector by which intents are compared: whole and masked, of norm 1."""
    both = np.concatenate([intent.whole, intent.masked]).astype(np.float64)
    return np.asarray(both / np.sqrt(2))


def _votes(near: Floats, used: Floats, width: float) -> Floats:
    weights = np.exp((near - near.max()) / width)
    return np.asarray(weights @ used / weights.sum())


def _count_precedences(chains: Sequence[Sequence[int]], count: int) -> Floats:
    before = np.zeros((count, count))
    for chain in chains:
        steps = list(dict.fromkeys(chain))
        for at, one in enumerate(steps):
            before[one, steps[at + 1 :]] += 1
    return before


def _choose_best(chances: Floats, threshold: float, least: int) -> NDArray[np.intp]:
    best = np.argsort(-chances, kind="stable")
    count = max(least, int((chances >= threshold).sum()))
    return best[:count]


def _fit_model(rows: Sequence[Rows], right: Sequence[Floats]) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(
        max_iter=ROUNDS,
        learning_rate=0.06,
        max_leaf_nodes=15,
        l2_regularization=5.0,
        min_samples_leaf=min(20, max(2, len(rows) // 4)),
        random_state=SEED,
    )
    return model.fit(np.concatenate([one.features for one in rows]), np.concatenate(right))
