"""The training data of ranking: past intents, each described without its own run's evidence."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, overload

import numpy as np
from numpy.typing import NDArray

from graph.suggestion.ranking.candidate_features import FEATURES, describe_candidates
from graph.suggestion.ranking.scored_candidates import ScoredCandidates

if TYPE_CHECKING:
    from graph.suggestion.ranking.history_features import HistoryEvidence
    from graph.suggestion.ranking.past_intents import PastIntents
    from graph.suggestion.ranking.tool_view import ToolView

BLOCK_INTENTS: Final = 64
"""Intents compared with all past ones per block."""

Doubles = NDArray[np.float64]
Floats = NDArray[np.float32]
Positions = NDArray[np.intp]
JudgeCandidates = Callable[[Floats, Doubles], tuple[Doubles, float]]


@dataclass(frozen=True, kw_only=True, eq=False)
class IntentRow:
    """The candidates and targets of one intent.

    Attributes:
        candidates: Without vectors and similarities, which are computed on access.
        positions: Positions of its k candidates in the view.
        features: `FEATURES` of each, shape (k, f).
        targets: 1 for candidates that the run called, else 0, shape (k,).
    """

    candidates: ScoredCandidates
    positions: Positions
    features: Floats
    targets: Doubles


class FittedIntents(Sequence[ScoredCandidates]):
    """The r intents of `PastIntents.fitted`, scored.

    Similarities and vectors are computed on access: all at once would take hundreds of megabytes.
    Sequential access is fast.
    """

    def __init__(self, past: PastIntents, view: ToolView, rows: Sequence[IntentRow]) -> None:
        """Keep the data that intents are assembled from."""
        self._past, self._view, self._rows = past, view, rows
        self._begin, self._similarities = 0, np.zeros((0, 0), dtype=np.float32)

    def __len__(self) -> int:
        """Number of intents, r."""
        return len(self._rows)

    @overload
    def __getitem__(self, row: int) -> ScoredCandidates: ...

    @overload
    def __getitem__(self, row: slice) -> list[ScoredCandidates]: ...

    def __getitem__(self, row: int | slice) -> ScoredCandidates | list[ScoredCandidates]:
        """Return one intent, or a slice as a list."""
        if isinstance(row, slice):
            return [self[index] for index in range(*row.indices(len(self)))]
        index = range(len(self))[row]
        return dataclasses.replace(
            self._rows[index].candidates,
            vectors=self._view.vectors_at(self._rows[index].positions),
            similarity=self.similarity_of(index),
        )

    def similarity_of(self, row: int) -> Floats:
        """Return an intent's similarity to all past ones, -1 to itself, shape (n,)."""
        offset = row - self._begin
        if not 0 <= offset < len(self._similarities):
            self._begin = row - row % BLOCK_INTENTS
            rows = np.arange(self._begin, min(self._begin + BLOCK_INTENTS, len(self)))
            self._similarities = self._past.compare_fitted(rows)
            offset = row - self._begin
        return np.asarray(self._similarities[offset])

    @property
    def candidate_counts(self) -> list[int]:
        """Number of candidates of each intent."""
        return [len(row.positions) for row in self._rows]

    def stack_candidates(self) -> tuple[Floats, Doubles]:
        """Return the features and targets of all candidates of all intents, in order."""
        none = np.zeros((0, len(FEATURES)), dtype=np.float32)
        features = np.concatenate([none, *(row.features for row in self._rows)])
        return features, np.concatenate([np.zeros(0), *(row.targets for row in self._rows)])

    def with_logits(self, judge: JudgeCandidates, logits: Doubles) -> FittedIntents:
        """Return a copy with logits.

        Args:
            judge: Computes final logits and the familiarity of one intent from its features and
                its part of `logits`.
            logits: Logits of all candidates in the order of `stack_candidates`.
        """
        parts = np.split(logits, np.cumsum(self.candidate_counts)[:-1])
        rows = []
        for row, part in zip(self._rows, parts, strict=True):
            found, familiarity = judge(row.features, part)
            scored = dataclasses.replace(row.candidates, logits=found, familiarity=familiarity)
            rows.append(dataclasses.replace(row, candidates=scored))
        return FittedIntents(self._past, self._view, rows)


def describe_past_intents(past: PastIntents, view: ToolView) -> FittedIntents:
    """Describe each fitted intent by the evidence of the others; logits are 0.

    Raises:
        ValueError: If `past` was read from bytes.
    """
    rows: list[IntentRow] = []
    for start in range(0, len(past.fitted), BLOCK_INTENTS):
        block = np.arange(start, min(start + BLOCK_INTENTS, len(past.fitted)))
        evidence = past.iterate_left_out_evidence(block)
        rows += [
            _describe_row(past, view, int(row), row_evidence)
            for row, row_evidence in zip(block, evidence, strict=True)
        ]
    return FittedIntents(past, view, rows)


def _describe_row(
    past: PastIntents, view: ToolView, row: int, evidence: HistoryEvidence
) -> IntentRow:
    described = describe_candidates(past.required_training.encoded[row], view, past, evidence)
    scored = described.to_scored(np.zeros(len(described.positions)))
    nothing = np.zeros(0, dtype=np.float32)
    return IntentRow(
        candidates=dataclasses.replace(scored, vectors=nothing, similarity=nothing),
        positions=described.positions,
        features=described.rows,
        targets=np.isin(scored.tools, past.runs[int(past.fitted[row])]).astype(np.float64),
    )
