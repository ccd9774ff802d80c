"""Put the results of all jobs of one history size together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.suggestion.plan import Job
from benchmarks.suggestion.resample import mean_intervals, share_intervals
from gateway_project.evaluation import binding_figures, calibration_figures
from gateway_project.evaluation.binding_figures import Count
from gateway_project.evaluation.metrics import Interval

FIGURES = ("node_f1", "edge_f1", "exact_set", "exact_dag")
NODE, EDGE, EXACT = 0, 1, 2
FORECASTS = 200
"""Draws that a perfect forecaster is judged by."""
SEED = 0

Floats = NDArray[np.float64]
Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True, eq=False)
class Sized:
    """All folds of one data set at one history size.

    Attributes:
        data: Name of the set.
        runs: Past runs; None: all of the other folds.
        folds: Rows of each fold.
        history: Past runs of the first fold, in numbers.
        fit_s: Time the fits took, each.
        prior: What the fits began from.
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
        """Whether a way of suggesting was judged."""
        return way in self.rows[0]

    def figures(self, way: str) -> Floats:
        """Return the figures of a way, a row for each query; nan where there is no gold."""
        return np.array([row[way] for row in self.rows], dtype=np.float64)

    def means(self, way: str) -> list[Interval]:
        """Return means with their intervals."""
        return mean_intervals(self.figures(way))

    def ahead(self, way: str) -> list[Interval]:
        """Return how far ours is ahead of another way, paired by query."""
        return mean_intervals(self.figures("ours") - self.figures(way))

    @cached_property
    def right(self) -> Floats:
        """1 where the suggested set of tools is right."""
        return self.figures("ours")[:, EXACT]

    @cached_property
    def said(self) -> Floats:
        """The confidences."""
        return np.array([row["confidence"] for row in self.rows])

    @cached_property
    def constant(self) -> Floats:
        """What a constant predictor says: the share right in the other folds."""
        rights = [np.array([row["ours"][EXACT] for row in fold]) for fold in self.folds]
        said = []
        for place, fold in enumerate(rights):
            others = [one for at, one in enumerate(rights) if at != place] or [fold]
            said.append(np.full(len(fold), np.concatenate(others).mean()))
        return np.concatenate(said)

    def calibration(self, said: Floats) -> dict[str, float | None]:
        """Return the figures of a forecast of which sets are right."""
        return calibration_figures.calibration_figures(said.tolist(), (self.right == 1).tolist())

    @cached_property
    def perfect_ece(self) -> float:
        """The calibration error that a perfect forecaster has with so many queries, the median."""
        random = np.random.default_rng(SEED)
        drawn = (random.random((FORECASTS, len(self.said))) < self.said).astype(np.float64)
        return float(np.median([calibration_figures.ece(self.said, one) for one in drawn]))

    def part(self, chosen: NDArray[np.bool_]) -> Sized:
        """Return the same of some of the queries, in one fold."""
        rows = [row for row, is_chosen in zip(self.rows, chosen, strict=True) if is_chosen]
        return Sized(
            data=self.data,
            runs=self.runs,
            folds=[rows],
            history=self.history,
            fit_s=self.fit_s,
            prior=self.prior,
        )

    @property
    def seen(self) -> NDArray[np.bool_]:
        """Which queries need a set of tools that past runs used."""
        return np.array([row["seen"] for row in self.rows], dtype=np.bool_)

    @property
    def similarity(self) -> Floats:
        """Of the nearest past intent; nan without history."""
        return np.array([row["similarity"] for row in self.rows], dtype=np.float64)

    @property
    def milliseconds(self) -> Floats:
        """What each suggestion took after embedding."""
        return np.array([row["ms"] for row in self.rows])

    def counts(self, kind: str) -> list[Count]:
        """Return what was bound in each query: `binding` end to end, `given` the gold calls."""
        return [Count(**row[kind]) for row in self.rows if row[kind] is not None]


@dataclass(frozen=True, kw_only=True)
class Bound:
    """How right bindings are.

    Attributes:
        means: Mean of the queries, by figure.
        pooled: Over all arguments, with intervals: precision, recall, unresolved required.
        by_source: Right and bound, by source.
    """

    means: dict[str, float | None]
    pooled: list[Interval]
    by_source: dict[str, tuple[int, int]]


def bound(counts: Sequence[Count]) -> Bound:
    """Put together what was bound in several queries."""
    parts = [[one.right, one.right, one.unresolved] for one in counts]
    wholes = [[one.bound, one.gold, one.required] for one in counts]
    total = binding_figures.pooled(counts)
    return Bound(
        means=binding_figures.means(counts),
        pooled=share_intervals(np.array(parts, dtype=float), np.array(wholes, dtype=float)),
        by_source={key: (right, of) for key, (right, of) in sorted(total.by_source.items())},
    )


def sized(
    results: Iterable[tuple[Job, Row]], *, kind: str = "fold"
) -> dict[tuple[str, int | None], Sized]:
    """Put folds together, by data set and history size."""
    found: dict[tuple[str, int | None], list[tuple[Job, Row]]] = {}
    for job, result in results:
        if job.kind == kind:
            found.setdefault((job.data, job.runs), []).append((job, result))
    return {key: _sized(sorted(rows, key=lambda one: one[0].part)) for key, rows in found.items()}


def _sized(results: Sequence[tuple[Job, Row]]) -> Sized:
    job, first = results[0]
    return Sized(
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
            found.setdefault(job.runs, []).append(calibration_figures.ece(said, right))
    return found


def ablations(results: Iterable[tuple[Job, Row]]) -> dict[int | None, list[Row]]:
    """Return the rows of all ablations, by history size."""
    found: dict[int | None, list[Row]] = {}
    for job, result in results:
        if job.kind == "ablation":
            found.setdefault(job.runs, []).extend(result["rows"])
    return found


def lost(rows: Sequence[Row], family: str) -> list[Interval]:
    """Return what is won without a family of features (a loss is negative), paired by query."""
    without = np.array([row[family] for row in rows], dtype=np.float64)
    whole = np.array([row["nothing"] for row in rows], dtype=np.float64)
    return mean_intervals(without - whole)
