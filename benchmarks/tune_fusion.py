"""Reproduce the default fusion weights by cross-validation over public data sets.

    FOREGATE_DATA=FOLDER python -m benchmarks.tune_fusion [--limit N] [--ratio R]

FOLDER contains the data sets, one folder each. Candidates come from the real search, in a scratch
schema. Paraphrases of one gold stay on one side of every split; in addition, every set is
evaluated with a fit on the others.

Two things are fitted: the weight of BM25 against the cosine, by nDCG@10, and the probability that
a tool is right, by logistic regression on the ten best of each query. So that an unanswerable
query scores low, each query counts again, with weight 0.25, with its gold removed from the
catalogue.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.judged import FOLDS, Floats, JudgedQuery, judge_all_sets

RATIOS = (0.0, 0.005, 0.01, 0.0125, 0.015, 0.02, 0.025, 0.03, 0.04, 0.06, 0.1)
DEPTH = 10
BINS = 10
UNANSWERABLE = 0.25
"""Weight of a query without its gold."""
NEWTON_STEPS = 30
RIDGE = 1e-4
COLUMNS = {"sum": [0], "sum, gap, spread": [0, 1, 2]}

Sets = Mapping[str, list[JudgedQuery]]


@dataclass(frozen=True, kw_only=True)
class Fit:
    """A logistic regression: log-odds = weights · features + bias."""

    weights: Floats
    bias: float

    def __call__(self, features: Floats) -> Floats:
        """Return the probability of each row."""
        odds: Floats = features @ self.weights + self.bias
        return 1 / (1 + np.exp(-odds))


def main() -> None:
    """Load the sets, cross-validate and print the results."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--limit", type=int, default=1_100, help="queries of each set, about")
    parser.add_argument(
        "--ratio", type=float, help="weight of BM25 that the scores are fitted for"
    )
    arguments = parser.parse_args()
    sets = judge_all_sets(limit=arguments.limit)
    best = report_order(sets)
    report_scores(sets, best if arguments.ratio is None else arguments.ratio)


def worth(query: JudgedQuery, ratio: float) -> Floats:
    """Return the score of each candidate, in units of the cosine."""
    return query.dense + ratio * query.lexical


def best_ratio(sets: Iterable[list[JudgedQuery]]) -> float:
    """Return the ratio with the highest nDCG@10; each set has the same weight."""
    known = [rows for rows in sets if rows]
    means = [
        np.mean([np.mean([q.ndcg(worth(q, ratio)) for q in rows]) for rows in known])
        for ratio in RATIOS
    ]
    return RATIOS[int(np.argmax(means))]


def report_order(sets: Sets) -> float:
    """Print held-out nDCG@10, and return the ratio fitted on everything."""
    held_out: dict[str, list[float]] = {name: [] for name in sets}
    for fold in range(FOLDS):
        ratio = best_ratio([q for q in rows if q.fold != fold] for rows in sets.values())
        print(f"without fold {fold}: ratio {ratio}")
        for name, rows in sets.items():
            held_out[name] += [q.ndcg(worth(q, ratio)) for q in rows if q.fold == fold]
    chosen = best_ratio(sets.values())
    print("nDCG@10            dense  BM25 | in sample | held out: fold, set")
    for name, rows in sets.items():
        others = best_ratio(other for key, other in sets.items() if key != name)
        figures = [
            np.mean([q.ndcg(q.dense) for q in rows]),
            np.mean([q.ndcg(np.where(q.lexical > 0, q.lexical, -np.inf)) for q in rows]),
            np.mean([q.ndcg(worth(q, chosen)) for q in rows]),
            np.mean(held_out[name]),
            np.mean([q.ndcg(worth(q, others)) for q in rows]),
        ]
        print(f"{name:16s} " + " ".join(f"{100 * figure:6.1f}" for figure in figures))
    return chosen


def features(
    query: JudgedQuery, ratio: float, *, answerable: bool
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return score, gap to the best and spread of the ten best, and which of them are right."""
    total, gold = worth(query, ratio), query.gold
    if not answerable:
        total, gold = total[~gold], gold[~gold]
    order = np.argsort(-total, kind="stable")[:DEPTH]
    best = total[order]
    return np.stack([best, best - best[0], np.full(len(best), best[0] - best[-1])], axis=1), gold[
        order
    ]


def fit(sets: Iterable[list[JudgedQuery]], ratio: float, columns: list[int]) -> Fit:
    """Fit the log-odds that a tool is right; each set has the same weight."""
    x, y, w = [], [], []
    for rows in sets:
        for query in rows:
            for answerable, share in ((True, 1.0), (False, UNANSWERABLE)):
                values, gold = features(query, ratio, answerable=answerable)
                x.append(values[:, columns])
                y.append(gold)
                w.append(np.full(len(gold), share / len(rows)))
    return _logistic(np.concatenate(x), np.concatenate(y).astype(float), np.concatenate(w))


def _logistic(x: Floats, y: Floats, weight: Floats) -> Fit:
    weight = weight / weight.sum()
    mean, scale = x.mean(axis=0), x.std(axis=0)
    design = np.c_[(x - mean) / scale, np.ones(len(x))]
    ridge = RIDGE * np.diag([*np.ones(x.shape[1]), 0.0])
    beta = np.zeros(design.shape[1])
    for _ in range(NEWTON_STEPS):
        p = 1 / (1 + np.exp(-design @ beta))
        gradient = design.T @ (weight * (y - p)) - ridge @ beta
        hessian = (design * (weight * p * (1 - p))[:, None]).T @ design + ridge
        beta = beta + np.linalg.solve(hessian, gradient)
    weights = beta[:-1] / scale
    return Fit(weights=weights, bias=float(beta[-1] - weights @ mean))


def report_scores(sets: Sets, ratio: float) -> None:
    """Print the quality of the scores on held-out queries and on held-out sets."""
    for name, columns in COLUMNS.items():
        by_fold = [
            fit(([q for q in rows if q.fold != fold] for rows in sets.values()), ratio, columns)
            for fold in range(FOLDS)
        ]
        by_set = {
            left: fit((rows for key, rows in sets.items() if key != left), ratio, columns)
            for left in sets
        }
        print(f"scores by {name}:")
        _judge(sets, ratio, columns, partial(_of_fold, by_fold))
        _judge(sets, ratio, columns, partial(_of_set, by_set))
    final = fit(sets.values(), ratio, COLUMNS["sum, gap, spread"])
    per, gap, spread = final.weights
    tenths = [features(q, ratio, answerable=True)[0][-1, 0] for r in sets.values() for q in r]
    print(
        f"Weights(dense={per:.2f}, lexical={per * ratio:.4f}, bias={final.bias:.2f}, "
        f"gap={gap / per:.1f}, spread={spread / per:.2f}, tenth={per * np.median(tenths):.2f})"
    )


def _of_fold(fits: Sequence[Fit], _name: str, query: JudgedQuery) -> Fit:
    return fits[query.fold]


def _of_set(fits: Mapping[str, Fit], name: str, _query: JudgedQuery) -> Fit:
    return fits[name]


def _judge(
    sets: Sets, ratio: float, columns: list[int], model: Callable[[str, JudgedQuery], Fit]
) -> None:
    """Print log loss and calibration error, averaged over the sets, and the best tool's score."""
    losses, errors = [], []
    first: list[float] = []
    without: list[float] = []
    for name, rows in sets.items():
        said, right = [], []
        for query in rows:
            for answerable in (True, False):
                values, gold = features(query, ratio, answerable=answerable)
                p = model(name, query)(values[:, columns])
                (first if answerable else without).append(p[0])
                if answerable:
                    said.append(p)
                    right.append(gold)
        p, y = np.concatenate(said), np.concatenate(right)
        losses.append(-np.mean(np.log(np.where(y, p, 1 - p))))
        bins = np.array_split(np.argsort(p), BINS)
        errors.append(sum(abs(p[b].mean() - y[b].mean()) * len(b) for b in bins) / len(p))
    print(
        f"  log loss {np.mean(losses):.3f}, calibration error {np.mean(errors):.3f}, "
        f"best tool {np.mean(first):.2f}, without gold {np.mean(without):.2f}"
    )


if __name__ == "__main__":
    main()
