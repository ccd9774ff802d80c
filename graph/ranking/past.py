"""Past intents and what their runs called: the evidence that history gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from graph.intent.encoded import Encoded
from graph.ranking.calls import Calls
from graph.ranking.exemplars import Exemplars
from graph.ranking.history_features import Evidence
from graph.ranking.ridge import LeftOut, Ridge, fit_ridge

if TYPE_CHECKING:
    from graph.ranking.tool_view import ToolView

MAX_FITTED: Final = 4_000
"""Newest distinct intents that models are fitted on: the regression costs their number cubed."""

COUNTED: Final = 5
"""Runs of one intent that count at most: what the fiftieth shows, the fifth has shown."""

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Positions = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, eq=False)
class PastIntent:
    """An intent that was asked for before, and the workflow that ran for it.

    Attributes:
        pattern: Primary key of the workflow pattern.
        tools: Primary keys of what the run called, in order; a tool may recur.
        encoded: The intent as numbers.
        successes: Runs that succeeded.
        failures: Runs that failed.
        last_seen: When it last ran.
    """

    pattern: int
    tools: tuple[int, ...]
    encoded: Encoded
    successes: int
    failures: int
    last_seen: datetime


@dataclass(frozen=True, kw_only=True, eq=False)
class Past:
    """The n >= 1 past intents of a scope, ready to be compared with; make it with `Past.of`.

    Neighbours, popularity and companions count all of them; the regression and the clauses are
    of the r newest distinct ones.

    Attributes:
        patterns: Primary key of each pattern, shape (n,).
        runs: Tools of each run, in order; may recur.
        successes: Shape (n,).
        failures: Shape (n,).
        fitted: Which of the n the models are fitted on, ascending, shape (r,).
        tools: Primary keys of the u distinct tools called, ascending, shape (u,).
        vectors: Of the intents, plain and masked side by side, norm 1, shape (n, 2d).
        calls: The distinct tools of each run.
        ridge: Of `fitted`.
        exemplars: Of `fitted`.
        training: What fitting needs besides; None once it was read from bytes.
    """

    patterns: Ints
    runs: tuple[tuple[int, ...], ...]
    successes: Ints
    failures: Ints
    fitted: Positions
    tools: Ints
    vectors: Floats
    calls: Calls
    ridge: Ridge
    exemplars: Exemplars
    training: Training | None = None

    @classmethod
    def of(cls, past: Sequence[PastIntent], view: ToolView) -> Past:
        """Compare and count past intents.

        Complexity: O(r³) time and 16 r² bytes, r <= `MAX_FITTED`.

        Args:
            past: At least one.
            view: Where the tools' vectors are; a tool it does not know still counts.

        Raises:
            ValueError: If there is none.
        """
        if not past:
            raise ValueError("no past intents: without any, pass None instead of a Past")
        tools = np.unique([tool for intent in past for tool in intent.tools]).astype(np.int64)
        called = [np.searchsorted(tools, sorted(set(intent.tools))) for intent in past]
        vectors = np.stack([_joined(intent.encoded) for intent in past])
        fitted = _newest_distinct(past, vectors)
        own = [called[at] for at in fitted]
        calls = Calls.of(own, width=len(tools))
        ridge, left_out = fit_ridge(
            vectors[fitted],
            [past[at].encoded.words for at in fitted],
            rows=calls.runs,
            tools=calls.tools,
            width=len(tools),
        )
        clauses = [past[at].encoded.clauses for at in fitted]
        encoded = tuple(past[at].encoded for at in fitted)
        return cls(
            patterns=np.array([intent.pattern for intent in past], dtype=np.int64),
            runs=tuple(intent.tools for intent in past),
            successes=np.array([intent.successes for intent in past], dtype=np.int64),
            failures=np.array([intent.failures for intent in past], dtype=np.int64),
            fitted=fitted,
            tools=tools,
            vectors=vectors,
            calls=Calls.of(called, width=len(tools)),
            ridge=ridge,
            exemplars=Exemplars.of(clauses, own, _vectors(tools, view)),
            training=Training(encoded=encoded, left_out=left_out),
        )

    def __len__(self) -> int:
        """Past intents, n."""
        return len(self.patterns)

    def similarity(self, encoded: Encoded) -> Floats:
        """Return the mean of the plain and the masked cosine with each intent, shape (n,)."""
        return np.asarray(self.vectors @ _joined(encoded))

    def evidence(self, encoded: Encoded) -> Evidence:
        """Say what all past runs tell of a new intent."""
        similarity = self.similarity(encoded)
        wanted, size = self.ridge.predict(similarity[self.fitted], encoded.words)
        return Evidence(
            similarity=similarity,
            wanted=wanted,
            counts=self.calls.counts,
            size=size,
            votes=self.exemplars.votes(self.exemplars.compare(encoded.clauses)),
            own=None,
        )

    def evidence_without(self, rows: Positions) -> Iterator[Evidence]:
        """Say what the other runs tell of intents that models are fitted on.

        Args:
            rows: Their places in `fitted`; those of one call are compared at once.

        Raises:
            ValueError: If these intents were read from bytes.
        """
        clauses = [self.trained.encoded[row].clauses for row in rows]
        cosines = self.exemplars.compare(np.concatenate(clauses))
        ends = np.cumsum([len(part) for part in clauses])[:-1]
        parts = np.split(cosines, ends)
        for row, similarity, part in zip(rows, self.similarities(rows), parts, strict=True):
            yield self._without(int(row), similarity, self.exemplars.votes(part, own=int(row)))

    def _without(self, row: int, similarity: Floats, votes: Floats) -> Evidence:
        own, training = int(self.fitted[row]), self.trained
        counts = self.calls.counts_without(own)
        return Evidence(
            similarity=similarity,
            # A tool that only this run called would not be known here at all.
            wanted=np.where(counts > 0, training.left_out.wanted(row), -np.inf),
            counts=counts,
            size=float(training.left_out.sizes[row]),
            votes=votes,
            own=own,
        )

    def similarities(self, rows: Positions) -> Floats:
        """Compare some of `fitted` with all n, shape (len(rows), n); -1 with itself."""
        own = self.fitted[rows]
        found = self.vectors[own] @ self.vectors.T
        found[np.arange(len(own)), own] = -1
        return found

    @property
    def counted(self) -> int:
        """Runs that succeeded, at most `COUNTED` of each intent."""
        return int(np.minimum(self.successes, COUNTED).sum())

    @property
    def trained(self) -> Training:
        """What fitting needs.

        Raises:
            ValueError: If these intents were read from bytes.
        """
        if self.training is None:
            raise ValueError("past intents read from bytes cannot be fitted on: make them anew")
        return self.training

    def columns(self, tools: Ints) -> Positions:
        """Return the place of each tool, by primary key, among `tools`, or -1."""
        if not len(self.tools):
            return np.full(len(tools), -1, dtype=np.intp)
        found = np.minimum(np.searchsorted(self.tools, tools), len(self.tools) - 1)
        return np.where(self.tools[found] == tools, found, -1)

    @cached_property
    def distinct(self) -> tuple[frozenset[int], ...]:
        """The set of tools of each run."""
        return tuple(frozenset(run) for run in self.runs)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Write it as arrays of plain types, without what only fitting needs.

        Vectors are in half precision.
        """
        ridge = {f"ridge_{name}": array for name, array in self.ridge.to_arrays().items()}
        clauses = {f"clauses_{name}": array for name, array in self.exemplars.to_arrays().items()}
        lengths = [len(run) for run in self.runs]
        return {
            **ridge,
            **clauses,
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
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Past:
        """Read what `to_arrays` wrote.

        Raises:
            KeyError: If one is missing.
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
            calls=Calls.of(called, width=len(tools)),
            ridge=Ridge.from_arrays(_part(arrays, "ridge_")),
            exemplars=Exemplars.from_arrays(_part(arrays, "clauses_")),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Training:
    """What fitting needs of the r intents it is done on, and serving does not.

    Attributes:
        encoded: The intents.
        left_out: What the regression says of each without it.
    """

    encoded: tuple[Encoded, ...]
    left_out: LeftOut


def _part(arrays: Mapping[str, NDArray[Any]], begin: str) -> dict[str, NDArray[Any]]:
    return {
        name.removeprefix(begin): array for name, array in arrays.items() if name.startswith(begin)
    }


def _joined(encoded: Encoded) -> Floats:
    return np.concatenate((encoded.whole, encoded.masked)) / np.float32(np.sqrt(2))


def _newest_distinct(past: Sequence[PastIntent], vectors: Floats) -> Positions:
    """Choose what to fit on: of the same intent with the same tools, the newest."""
    order = sorted(range(len(past)), key=lambda at: past[at].last_seen, reverse=True)
    chosen: dict[tuple[bytes, frozenset[int]], int] = {}
    for at in order:
        if len(chosen) == MAX_FITTED:
            break
        chosen.setdefault((vectors[at].tobytes(), frozenset(past[at].tools)), at)
    return np.array(sorted(chosen.values()), dtype=np.intp)


def _vectors(tools: Ints, view: ToolView) -> Floats:
    """Return the vectors of tools; zeros for those the view does not know."""
    at = view.find(tools)
    found = np.zeros((len(tools), view.dimensions), dtype=np.float32)
    found[at >= 0] = view.vectors(at[at >= 0])
    return found
