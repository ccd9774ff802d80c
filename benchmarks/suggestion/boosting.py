"""The baseline of gradient boosting: each tool by itself, by what search and past runs say of it.

scikit-learn's histogram boosting learns, from the past runs of one history, whether a tool is in
an intent's workflow. It sees, of each candidate: the cosine with the intent, plain and masked, and
with its best clause; BM25, and its share of the best; the softmax of the cosines over all tools;
votes of the nearest past intents, narrow and wide; the nearest past intent that used the tool; how
often it was used; and how often together with what the votes say. In the rows it learns from, the
run itself is left out of all of that.

Suggested are the tools at or above the threshold that served best, by F1, on folds of the past
runs that were left out of fitting, never fewer than the shortest past workflow had. They stand in
the order in which past runs most often had them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graph.intent.encoded import Encoded

Floats = NDArray[np.float64]

LEAST_RUNS = 20
"""With fewer past runs there is nothing to boost."""
CANDIDATES = 25
"""Best tools of each kind of evidence that are looked at."""
NARROW, WIDE = 0.05, 0.1
"""Widths of the votes of past intents, as differences of the cosine."""
SOFTMAX = 0.05
THRESHOLDS = np.arange(0.2, 0.75, 0.05)
FEW_RUNS = 250
"""Up to so many past runs, half the parts are left out in turn to find the threshold; else one."""
PARTS = 10
SEED = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class Catalogue:
    """The tools, as the baseline sees them.

    Attributes:
        vectors: Shape (t, d), of norm 1.
        bm25: Returns the BM25 of all tools for an intent, shape (t,).
    """

    vectors: NDArray[np.float32]
    bm25: Callable[[Encoded], NDArray[np.floating]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Rows:
    """Candidates of one intent.

    Attributes:
        tools: Their places in the catalogue, shape (k,).
        features: Shape (k, f).
    """

    tools: NDArray[np.intp]
    features: Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """What speaks for a tool.

    Attributes:
        catalogue: The tools.
        views: Of the past intents, shape (n, 2d).
        used: Which tools each of their runs used, shape (n, t).
    """

    catalogue: Catalogue
    views: Floats
    used: Floats

    @classmethod
    def of(
        cls, catalogue: Catalogue, past: Sequence[Encoded], chains: Sequence[Sequence[int]]
    ) -> Evidence:
        """Gather past runs."""
        used = np.zeros((len(past), len(catalogue.vectors)))
        for row, chain in enumerate(chains):
            used[row, list(chain)] = 1
        return cls(catalogue=catalogue, views=np.stack([_view(one) for one in past]), used=used)

    def without(self, left_out: NDArray[np.bool_]) -> Evidence:
        """Return the same without some of the past runs."""
        return Evidence(
            catalogue=self.catalogue, views=self.views[~left_out], used=self.used[~left_out]
        )

    @cached_property
    def _together(self) -> Floats:
        return self.used.T @ self.used

    def rows(self, intent: Encoded) -> Rows:
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
        """Say how often each tool stood with those that have votes."""
        voted = np.flatnonzero(votes > 0)
        together = self._together[voted].copy()
        alone = together[np.arange(len(voted)), voted]
        together[np.arange(len(voted)), voted] = 0
        shares = together / (alone[:, None] + 3.0)
        return np.asarray(votes[voted] @ shares / (votes.sum() + 0.3))


class Boosting:
    """The baseline, fitted to one history.

    Args:
        catalogue: The tools.
        past: Past intents; at least `LEAST_RUNS`.
        chains: What each of them used, as places in the catalogue, in order.
    """

    def __init__(
        self, catalogue: Catalogue, past: Sequence[Encoded], chains: Sequence[Sequence[int]]
    ) -> None:
        self._evidence = Evidence.of(catalogue, past, chains)
        self._before = _precedence(chains, len(catalogue.vectors))
        self._least = min(len(chain) for chain in chains)
        parts = np.random.default_rng(SEED).permutation(len(past)) % PARTS
        without = [self._evidence.without(parts == part) for part in range(PARTS)]
        rows = [without[part].rows(one) for one, part in zip(past, parts, strict=True)]
        used = self._evidence.used
        right = [used[place, one.tools] for place, one in enumerate(rows)]
        self._threshold = self._best_threshold(rows, right, parts)
        self._model = _fitted(rows, right)

    def suggest(self, intent: Encoded) -> tuple[list[int], float]:
        """Return the tools, as places in the catalogue in order, and the chance of all of them."""
        rows = self._evidence.rows(intent)
        chances = self._model.predict_proba(rows.features)[:, 1]
        chosen = _chosen(chances, self._threshold, self._least)
        tools = rows.tools[chosen]
        return self._ordered(tools), float(np.prod(chances[chosen]))

    def _best_threshold(
        self, rows: Sequence[Rows], right: Sequence[Floats], parts: NDArray[np.int64]
    ) -> float:
        """Find the threshold that serves best on runs that were left out of fitting."""
        scores = np.zeros(len(THRESHOLDS))
        for part in range(PARTS // 2 if len(rows) <= FEW_RUNS else 1):
            inside, outside = _places(parts != part), _places(parts == part)
            model = _fitted([rows[at] for at in inside], [right[at] for at in inside])
            for at in outside:
                chances = model.predict_proba(rows[at].features)[:, 1]
                gold = self._evidence.used[at].sum()
                for number, threshold in enumerate(THRESHOLDS):
                    chosen = _chosen(chances, threshold, self._least)
                    scores[number] += 2 * right[at][chosen].sum() / (len(chosen) + gold)
        return float(THRESHOLDS[int(np.argmax(scores))])

    def _ordered(self, tools: NDArray[np.intp]) -> list[int]:
        ahead = self._before[np.ix_(tools, tools)]
        share = (ahead + 0.5) / (ahead + ahead.T + 1)
        return [int(tool) for tool in tools[np.argsort(-share.sum(axis=1), kind="stable")]]


def _places(chosen: NDArray[np.bool_]) -> list[int]:
    return [int(at) for at in np.flatnonzero(chosen)]


def _view(intent: Encoded) -> Floats:
    """Return an intent as past ones are compared with it: whole and masked, of norm 1."""
    both = np.concatenate([intent.whole, intent.masked]).astype(np.float64)
    return np.asarray(both / np.sqrt(2))


def _votes(near: Floats, used: Floats, width: float) -> Floats:
    weights = np.exp((near - near.max()) / width)
    return np.asarray(weights @ used / weights.sum())


def _precedence(chains: Sequence[Sequence[int]], count: int) -> Floats:
    before = np.zeros((count, count))
    for chain in chains:
        steps = list(dict.fromkeys(chain))
        for at, one in enumerate(steps):
            before[one, steps[at + 1 :]] += 1
    return before


def _chosen(chances: Floats, threshold: float, least: int) -> NDArray[np.intp]:
    best = np.argsort(-chances, kind="stable")
    count = max(least, int((chances >= threshold).sum()))
    return best[:count]


def _fitted(rows: Sequence[Rows], right: Sequence[Floats]) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(
        max_iter=200,
        learning_rate=0.06,
        max_leaf_nodes=15,
        l2_regularization=5.0,
        min_samples_leaf=min(20, max(2, len(rows) // 4)),
        random_state=SEED,
    )
    return model.fit(np.concatenate([one.features for one in rows]), np.concatenate(right))
