"""Combines the results of all jobs of one history size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.evaluation import binding_figures, calibration_figures
from benchmarks.evaluation.binding_figures import BindingCounts
from benchmarks.evaluation.metrics import BootstrapInterval
from benchmarks.suggestion.plan import Job
from benchmarks.suggestion.resample import compute_mean_intervals, compute_share_intervals

FIGURES = ("node_f1", "edge_f1", "exact_set", "exact_dag")
NODE, EDGE, EXACT = 0, 1, 2
FORECASTS = 200
"""Simulated outcomes by which a perfect forecaster is measured."""
SEED = 0

Floats = NDArray[np.float64]
Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True, eq=False)
class SizeResults:
    """All folds of one data set at one history size.

    Attributes:
        data: Name of the set.
        runs: Past runs; None: all of the other folds.
        folds: Rows of each fold.
        history: Number of past runs of the first fold.
        fit_s: Seconds of each fit.
        prior: Name of the prior.
    """

    data: str
    runs: int | None
    folds: Sequence[Sequence[Row]]
    history: int
    fit_s: Sequence[float]
    prior: str

    @cached_property
    def rows(self) -> list[Row]:
        """The rows of all folds."""
        return [row for fold in self.folds for row in fold]

    def has(self, way: str) -> bool:
        """Whether a way of suggesting was evaluated."""
        return way in self.rows[0]

    def figures(self, way: str) -> Floats:
        """Return the figures of a way, a row for each query; NaN if there is no gold."""
        return np.array([row[way] for row in self.rows], dtype=np.float64)

    def means(self, way: str) -> list[BootstrapInterval]:
        """Return the means of the figures with their intervals."""
        return compute_mean_intervals(self.figures(way))

    def ahead(self, way: str) -> list[BootstrapInterval]:
        """Return the difference of ours to another way, paired by query."""
        return compute_mean_intervals(self.figures("ours") - self.figures(way))

    @cached_property
    def right(self) -> Floats:
        """1 if the suggested set of tools is right, for each query."""
        return self.figures("ours")[:, EXACT]

    @cached_property
    def said(self) -> Floats:
        """The confidences."""
        return np.array([row["confidence"] for row in self.rows])

    @cached_property
    def constant(self) -> Floats:
        """Confidences of a constant predictor: the share of right sets in the other folds."""
        rights = [np.array([row["ours"][EXACT] for row in fold]) for fold in self.folds]
        said = []
        for place, fold in enumerate(rights):
            others = [one for at, one in enumerate(rights) if at != place] or [fold]
            said.append(np.full(len(fold), np.concatenate(others).mean()))
        return np.concatenate(said)

    def calibration(self, said: Floats) -> dict[str, float | None]:
        """Return the figures of a forecast of which sets are right."""
        return calibration_figures.measure_calibration(said.tolist(), (self.right == 1).tolist())

    @cached_property
    def perfect_ece(self) -> float:
        """Median calibration error of a perfect forecaster with as many queries."""
        random = np.random.default_rng(SEED)
        drawn = (random.random((FORECASTS, len(self.said))) < self.said).astype(np.float64)
        return float(
            np.median([calibration_figures.calibration_error(self.said, one) for one in drawn])
        )

    def part(self, chosen: NDArray[np.bool_]) -> SizeResults:
        """Return the results of some of the queries, in one fold."""
        rows = [row for row, is_chosen in zip(self.rows, chosen, strict=True) if is_chosen]
        return SizeResults(
            data=self.data,
            runs=self.runs,
            folds=[rows],
            history=self.history,
            fit_s=self.fit_s,
            prior=self.prior,
        )

    @property
    def seen(self) -> NDArray[np.bool_]:
        """Whether each query needs a set of tools that past runs used."""
        return np.array([row["seen"] for row in self.rows], dtype=np.bool_)

    @property
    def similarity(self) -> Floats:
        """Similarity of the nearest past intent; NaN without history."""
        return np.array([row["similarity"] for row in self.rows], dtype=np.float64)

    @property
    def milliseconds(self) -> Floats:
        """Milliseconds of each suggestion after embedding."""
        return np.array([row["ms"] for row in self.rows])

    def counts(self, kind: str) -> list[BindingCounts]:
        """Return binding counts by query: of suggestions (`binding`) or gold calls (`given`)."""
        return [BindingCounts(**row[kind]) for row in self.rows if row[kind] is not None]


@dataclass(frozen=True, kw_only=True)
class BindingSummary:
    """Quality of bindings.

    Attributes:
        means: Mean over the queries, by figure.
        pooled: Over all arguments, with intervals: precision, recall, unresolved required.
        by_source: Numbers of right and of bound arguments, by source.
    """

    means: dict[str, float | None]
    pooled: list[BootstrapInterval]
    by_source: dict[str, tuple[int, int]]


def bound(counts: Sequence[BindingCounts]) -> BindingSummary:
    """Combine the binding counts of several queries."""
    parts = [[one.correct, one.correct, one.unresolved] for one in counts]
    wholes = [[one.bound, one.gold, one.required] for one in counts]
    total = binding_figures.pool_counts(counts)
    return BindingSummary(
        means=binding_figures.mean_figures(counts),
        pooled=compute_share_intervals(
            np.array(parts, dtype=float), np.array(wholes, dtype=float)
        ),
        by_source={key: (right, of) for key, (right, of) in sorted(total.by_source.items())},
    )


def sized(
    results: Iterable[tuple[Job, Row]], *, kind: str = "fold"
) -> dict[tuple[str, int | None], SizeResults]:
    """Combine folds, by data set and history size."""
    found: dict[tuple[str, int | None], list[tuple[Job, Row]]] = {}
    for job, result in results:
        if job.kind == kind:
            found.setdefault((job.data, job.runs), []).append((job, result))
    return {key: _sized(sorted(rows, key=lambda one: one[0].part)) for key, rows in found.items()}


def _sized(results: Sequence[tuple[Job, Row]]) -> SizeResults:
    job, first = results[0]
    return SizeResults(
        data=job.data,
        runs=job.runs,
        folds=[result["rows"] for _, result in results],
        history=first["history"],
        fit_s=[result["fit_s"] for _, result in results],
        prior=first["prior"],
    )


def singles(results: Iterable[tuple[Job, Row]]) -> dict[int, list[float]]:
    """Return the calibration error of each single history, by its size."""
    found: dict[int, list[float]] = {}
    for job, result in results:
        if job.kind == "single" and job.runs is not None:
            said = np.array([row["confidence"] for row in result["rows"]])
            right = np.array([row["ours"][EXACT] for row in result["rows"]])
            found.setdefault(job.runs, []).append(
                calibration_figures.calibration_error(said, right)
            )
    return found
