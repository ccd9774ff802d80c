"""Past intents and the tools their runs called, as evidence for ranking."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from graph.suggestion.intent.encoded import EncodedIntent
from graph.suggestion.ranking.history_features import HistoryEvidence
from graph.suggestion.ranking.past_calls import PastCalls
from graph.suggestion.ranking.ridge import LeaveOneOut, RidgeModel, fit_ridge
from graph.suggestion.ranking.tool_view import compare_vectors

MAX_FITTED: Final = 4_000
"""Limit of distinct intents, the newest, that models are fitted on: the cost is cubic."""

MAX_COUNTED_RUNS: Final = 5
"""Limit of counted runs per intent: further ones add no information."""

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Positions = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, eq=False)
class PastIntent:
    """A past intent and the workflow that ran for it.

    Attributes:
        pattern: Primary key of the workflow pattern.
        tools: Primary keys of the tools that the run called, in order; may repeat.
        encoded: The encoded intent.
        successes: Runs that succeeded.
        failures: Runs that failed.
        last_seen: When it last ran.
    """

    pattern: int
    tools: tuple[int, ...]
    encoded: EncodedIntent
    successes: int
    failures: int
    last_seen: datetime


@dataclass(frozen=True, kw_only=True, eq=False)
class PastIntents:
    """The n >= 1 past intents of a scope, ready for comparison; see `PastIntents.from_intents`.

    Neighbours, popularity and co-calls use all of them; the regression uses the r newest distinct
    ones.

    Attributes:
        patterns: Primary key of each pattern, shape (n,).
        runs: Tools of each run, in order; may repeat.
        successes: Successful runs of each, shape (n,).
        failures: Failed runs of each, shape (n,).
        fitted: Indices of those that models are fitted on, ascending, shape (r,).
        tools: Primary keys of the u distinct tools called, ascending, shape (u,).
        vectors: Plain and masked vectors of the intents, concatenated, norm 1, shape (n, 2d).
        calls: The distinct tools of each run.
        ridge: Regression on `fitted`.
        training: Data needed only for fitting; None if read from bytes.
    """

    patterns: Ints
    runs: tuple[tuple[int, ...], ...]
    successes: Ints
    failures: Ints
    fitted: Positions
    tools: Ints
    vectors: Floats
    calls: PastCalls
    ridge: RidgeModel
    training: TrainingData | None = None

    @classmethod
    def from_intents(cls, past: Sequence[PastIntent]) -> PastIntents:
        """Build the comparison structures of past intents.

        Complexity: O(r³) time and 16 r² bytes, r <= `MAX_FITTED`.

        Args:
            past: At least one.

        Raises:
            ValueError: If `past` is empty.
        """
        if not past:
            raise ValueError("no past intents: without any, pass None instead of a Past")
        tools = np.unique([tool for intent in past for tool in intent.tools]).astype(np.int64)
        called = [np.searchsorted(tools, sorted(set(intent.tools))) for intent in past]
        vectors = np.stack([_join_vectors(intent.encoded) for intent in past])
        fitted = _select_newest_distinct(past, vectors)
        called_by_fitted = [called[at] for at in fitted]
        calls = PastCalls.from_runs(called_by_fitted, width=len(tools))
        ridge, left_out = fit_ridge(
            vectors[fitted],
            [past[at].encoded.words for at in fitted],
            rows=calls.runs,
            tools=calls.tools,
            width=len(tools),
        )
        intents = tuple(past[at] for at in fitted)
        return cls(
            patterns=np.array([intent.pattern for intent in past], dtype=np.int64),
            runs=tuple(intent.tools for intent in past),
            successes=np.array([intent.successes for intent in past], dtype=np.int64),
            failures=np.array([intent.failures for intent in past], dtype=np.int64),
            fitted=fitted,
            tools=tools,
            vectors=vectors,
            calls=PastCalls.from_runs(called, width=len(tools)),
            ridge=ridge,
            training=TrainingData(intents=intents, left_out=left_out),
        )

    def __len__(self) -> int:
        """Number of past intents, n."""
        return len(self.patterns)

    def compute_similarity(self, encoded: EncodedIntent) -> Floats:
        """Return the mean of plain and masked cosine with each past intent, shape (n,)."""
        return np.asarray(compare_vectors(_join_vectors(encoded)[None], self.vectors)[0])

    def gather_evidence(self, encoded: EncodedIntent) -> HistoryEvidence:
        """Return the evidence of all past runs for a new intent."""
        similarity = self.compute_similarity(encoded)
        scores, size = self.ridge.predict_wanted(similarity[self.fitted], encoded.words)
        return HistoryEvidence(
            similarity=similarity,
            wanted_scores=scores,
            counts=self.calls.call_counts,
            predicted_size=size,
            own_run=None,
        )

    def iterate_left_out_evidence(self, rows: Positions) -> Iterator[HistoryEvidence]:
        """Yield, for fitted intents, the evidence of all other runs.

        Args:
            rows: Their indices in `fitted`; those of one call are compared at once.

        Raises:
            ValueError: If these intents were read from bytes.
        """
        for row, similarity in zip(rows, self.compare_fitted(rows), strict=True):
            yield self._left_out_evidence(int(row), similarity)

    def _left_out_evidence(self, row: int, similarity: Floats) -> HistoryEvidence:
        own, training = int(self.fitted[row]), self.required_training
        counts = self.calls.counts_without(own)
        return HistoryEvidence(
            similarity=similarity,
            # Without this run, a tool that only it called would be unknown.
            wanted_scores=np.where(counts > 0, training.left_out.wanted_scores(row), -np.inf),
            counts=counts,
            predicted_size=float(training.left_out.sizes[row]),
            own_run=own,
        )

    def compare_fitted(self, rows: Positions) -> Floats:
        """Return similarities of fitted intents to all n, shape (len(rows), n); -1 to itself."""
        own = self.fitted[rows]
        similarity = self.vectors[own] @ self.vectors.T
        similarity[np.arange(len(own)), own] = -1
        return similarity

    @property
    def counted_runs(self) -> int:
        """Number of successful runs, at most `MAX_COUNTED_RUNS` per intent."""
        return int(np.minimum(self.successes, MAX_COUNTED_RUNS).sum())

    @property
    def required_training(self) -> TrainingData:
        """The data needed for fitting.

        Raises:
            ValueError: If these intents were read from bytes.
        """
        if self.training is None:
            raise ValueError(
                "past intents read from bytes cannot be used for fitting: create them again"
            )
        return self.training

    def find_columns(self, tools: Ints) -> Positions:
        """Return the index of each tool, by primary key, in `tools`, or -1."""
        if not len(self.tools):
            return np.full(len(tools), -1, dtype=np.intp)
        places = np.minimum(np.searchsorted(self.tools, tools), len(self.tools) - 1)
        return np.where(self.tools[places] == tools, places, -1)

    @cached_property
    def distinct_tool_sets(self) -> tuple[frozenset[int], ...]:
        """The set of tools of each run."""
        return tuple(frozenset(run) for run in self.runs)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Serialize to arrays of plain types, vectors in half precision, without `training`."""
        ridge = {f"ridge_{name}": array for name, array in self.ridge.to_arrays().items()}
        lengths = [len(run) for run in self.runs]
        return {
            **ridge,
            "patterns": self.patterns,
            "successes": self.successes,
            "failures": self.failures,
            "fitted": self.fitted,
            "tools": self.tools,
            "vectors": self.vectors.astype(np.float16),
            "run_starts": np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
            "run_tools": np.array([tool for run in self.runs for tool in run], dtype=np.int64),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> PastIntents:
        """Read the output of `to_arrays`.

        Raises:
            KeyError: If an array is missing.
        """
        flat = arrays["run_tools"].tolist()
        spans = pairwise(arrays["run_starts"].tolist())
        runs = tuple(tuple(flat[start:end]) for start, end in spans)
        tools = arrays["tools"]
        called = [np.searchsorted(tools, sorted(set(run))) for run in runs]
        return cls(
            patterns=arrays["patterns"],
            runs=runs,
            successes=arrays["successes"],
            failures=arrays["failures"],
            fitted=arrays["fitted"],
            tools=tools,
            vectors=arrays["vectors"].astype(np.float32),
            calls=PastCalls.from_runs(called, width=len(tools)),
            ridge=RidgeModel.from_arrays(_select_prefixed(arrays, "ridge_")),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class TrainingData:
    """Data of the r fitted intents that only fitting needs.

    Attributes:
        intents: The intents.
        left_out: Leave-one-out predictions of the regression.
    """

    intents: tuple[PastIntent, ...]
    left_out: LeaveOneOut

    @property
    def encoded(self) -> tuple[EncodedIntent, ...]:
        """The encoded intents."""
        return tuple(one.encoded for one in self.intents)


def _select_prefixed(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def _join_vectors(encoded: EncodedIntent) -> Floats:
    return np.concatenate((encoded.whole, encoded.masked)) / np.float32(np.sqrt(2))


def _select_newest_distinct(past: Sequence[PastIntent], vectors: Floats) -> Positions:
    """Choose the intents to fit on: the newest of each distinct intent and tool set."""
    order = sorted(range(len(past)), key=lambda at: past[at].last_seen, reverse=True)
    chosen: dict[tuple[bytes, frozenset[int]], int] = {}
    for at in order:
        if len(chosen) == MAX_FITTED:
            break
        chosen.setdefault((vectors[at].tobytes(), frozenset(past[at].tools)), at)
    return np.array(sorted(chosen.values()), dtype=np.intp)
