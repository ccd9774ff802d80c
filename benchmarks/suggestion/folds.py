"""Splits queries into past runs and test queries: by group, with fixed seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.evaluation.dataset import DatasetQuery

FOLDS = 5
FOLD_SEED = 7
HISTORY_SEED = 100
SINGLE_SEED = 5_000
ASKED_LATER = 4
"""The last 1 / `ASKED_LATER` of a file is asked after a history from the rest."""
SINGLE_ASKED = 500
"""Queries by which a single small history is evaluated."""


@dataclass(frozen=True, kw_only=True)
class Split:
    """Past runs and test queries.

    Attributes:
        history: Past runs, oldest first.
        asked: Test queries; no paraphrase of any of them is among the past runs.
    """

    history: tuple[DatasetQuery, ...]
    asked: tuple[DatasetQuery, ...]

    def check(self) -> None:
        """Check that no test query is in the history.

        Raises:
            AssertionError: If a query or a paraphrase of it is among the past runs.
        """
        known = {query.group for query in self.history}
        leaked = [query.id for query in self.asked if query.group in known]
        assert not leaked, f"paraphrases on both sides: {leaked[:5]}"
        ids = {query.id for query in self.history}
        assert not ids & {query.id for query in self.asked}, "a query's own gold is in its history"


def assign_folds(queries: Sequence[DatasetQuery]) -> list[int]:
    """Return the fold of each query; queries of one group share a fold."""
    groups = sorted({query.group for query in queries})
    drawn = np.random.default_rng(FOLD_SEED).permutation(len(groups))
    fold = {group: int(drawn[at]) % FOLDS for at, group in enumerate(groups)}
    return [fold[query.group] for query in queries]


def split(queries: Sequence[DatasetQuery], *, fold: int, runs: int | None) -> Split:
    """Ask one fold, with a history of `runs` runs from the others.

    Args:
        queries: Queries of a data set.
        fold: The fold that is asked, from 0.
        runs: Number of past runs; None: all of the other folds.
    """
    folds = assign_folds(queries)
    others = [at for at, one in enumerate(folds) if one != fold]
    drawn = np.random.default_rng(HISTORY_SEED + fold).permutation(others)
    found = Split(
        history=tuple(queries[at] for at in drawn[:runs]),
        asked=tuple(query for query, one in zip(queries, folds, strict=True) if one == fold),
    )
    found.check()
    return found


def single(queries: Sequence[DatasetQuery], *, draw: int, runs: int) -> Split:
    """Draw one history of `runs` runs, and other queries to ask.

    Args:
        queries: Queries of a data set.
        draw: Number of the history, from 0.
        runs: Number of past runs.
    """
    drawn = np.random.default_rng(SINGLE_SEED + draw).permutation(len(queries))
    history = tuple(queries[at] for at in drawn[:runs])
    known = {query.group for query in history}
    rest = [query for at in drawn[runs:] if (query := queries[at]).group not in known]
    found = Split(history=history, asked=tuple(rest[:SINGLE_ASKED]))
    found.check()
    return found


def shifted(queries: Sequence[DatasetQuery], *, runs: int) -> Split:
    """Take the first queries of a set as past runs and ask the last ones, possibly other work.

    Args:
        queries: Queries of a data set whose file is ordered by topic.
        runs: Number of past runs.
    """
    asked = tuple(queries[-(len(queries) // ASKED_LATER) :])
    known = {query.group for query in asked}
    history = tuple(query for query in queries if query.group not in known)
    found = Split(history=history[:runs], asked=asked)
    found.check()
    return found
