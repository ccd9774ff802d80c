"""Past intents, each described without what its own run did: what models are fitted on."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, overload

import numpy as np
from numpy.typing import NDArray

from graph.ranking.described import FEATURES, describe
from graph.ranking.scored import Scored

if TYPE_CHECKING:
    from graph.ranking.history_features import Evidence
    from graph.ranking.past import Past
    from graph.ranking.tool_view import ToolView

BLOCK: Final = 64
"""Intents compared with all past ones at once."""

Doubles = NDArray[np.float64]
Floats = NDArray[np.float32]
Positions = NDArray[np.intp]
Judge = Callable[[Floats, Doubles], tuple[Doubles, float]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Row:
    """One intent.

    Attributes:
        scored: Without vectors and similarities, which are looked up.
        at: Positions of its k candidates in the view.
        features: `FEATURES` of each, shape (k, f).
        targets: 1 where the run called the candidate, else 0, shape (k,).
    """

    scored: Scored
    at: Positions
    features: Floats
    targets: Doubles


class FittedIntents(Sequence[Scored]):
    """The r intents of `Past.fitted`, scored.

    Similarities and vectors are looked up as an intent is read: those of all at once would take
    some hundred megabytes. Reading in order is quick.
    """

    def __init__(self, past: Past, view: ToolView, rows: Sequence[Row]) -> None:
        """Keep what is read from."""
        self._past, self._view, self._rows = past, view, rows
        self._begin, self._similarities = 0, np.zeros((0, 0), dtype=np.float32)

    def __len__(self) -> int:
        """Intents, r."""
        return len(self._rows)

    @overload
    def __getitem__(self, row: int) -> Scored: ...

    @overload
    def __getitem__(self, row: slice) -> list[Scored]: ...

    def __getitem__(self, row: int | slice) -> Scored | list[Scored]:
        """Return one, or several as a list."""
        if isinstance(row, slice):
            return [self[at] for at in range(*row.indices(len(self)))]
        at = range(len(self))[row]
        return dataclasses.replace(
            self._rows[at].scored,
            vectors=self._view.vectors(self._rows[at].at),
            similarity=self.similarity(at),
        )

    def similarity(self, row: int) -> Floats:
        """Return the similarity of an intent and all past ones, -1 with itself, shape (n,)."""
        place = row - self._begin
        if not 0 <= place < len(self._similarities):
            self._begin = row - row % BLOCK
            rows = np.arange(self._begin, min(self._begin + BLOCK, len(self)))
            self._similarities = self._past.similarities(rows)
            place = row - self._begin
        return np.asarray(self._similarities[place])

    @property
    def lengths(self) -> list[int]:
        """Candidates of each intent."""
        return [len(row.at) for row in self._rows]

    def stacked(self) -> tuple[Floats, Doubles]:
        """Return features and targets of all candidates of all intents, in order."""
        none = np.zeros((0, len(FEATURES)), dtype=np.float32)
        features = np.concatenate([none, *(row.features for row in self._rows)])
        return features, np.concatenate([np.zeros(0), *(row.targets for row in self._rows)])

    def judged(self, judge: Judge, logits: Doubles) -> FittedIntents:
        """Return the same with logits.

        Args:
            judge: Makes the logits and the familiarity of one intent of its features and of what
                is given.
            logits: Given, of all candidates in the order of `stacked`.
        """
        parts = np.split(logits, np.cumsum(self.lengths)[:-1])
        rows = []
        for row, part in zip(self._rows, parts, strict=True):
            found, familiarity = judge(row.features, part)
            scored = dataclasses.replace(row.scored, logits=found, familiarity=familiarity)
            rows.append(dataclasses.replace(row, scored=scored))
        return FittedIntents(self._past, self._view, rows)


def describe_past(past: Past, view: ToolView) -> FittedIntents:
    """Describe each of the intents that models are fitted on by the others; logits are 0.

    Raises:
        ValueError: If `past` was read from bytes.
    """
    rows: list[Row] = []
    for start in range(0, len(past.fitted), BLOCK):
        block = np.arange(start, min(start + BLOCK, len(past.fitted)))
        evidence = past.evidence_without(block)
        rows += [
            _row(past, view, int(row), told) for row, told in zip(block, evidence, strict=True)
        ]
    return FittedIntents(past, view, rows)


def _row(past: Past, view: ToolView, row: int, evidence: Evidence) -> Row:
    described = describe(past.trained.encoded[row], view, past, evidence)
    scored = described.scored(np.zeros(len(described.at)))
    nothing = np.zeros(0, dtype=np.float32)
    return Row(
        scored=dataclasses.replace(scored, vectors=nothing, similarity=nothing),
        at=described.at,
        features=described.rows,
        targets=np.isin(scored.tools, past.runs[int(past.fitted[row])]).astype(np.float64),
    )
