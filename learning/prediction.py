"""Resolved predictions: what thresholds, calibration and metrics learn from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from execution.speculation import outcome as prediction_outcome
from learning.memory.context import ContextKey

IMPLICIT_WEIGHT: Final = prediction_outcome.IMPLICIT_WEIGHT
"""Of an outcome that nobody stated: delivered, without error, and not contradicted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ResolvedPrediction:
    """A prediction with its outcome.

    Attributes:
        confidence: Calibrated probability that it is right, in [0, 1], as it was when made.
        succeeded: Whether it was right.
        weight: 1.0 for explicit outcomes, `IMPLICIT_WEIGHT` for implicit ones.
        at: When it was resolved, Unix time in seconds.
        context: Context of the intent.
        team: Primary key of the team; None: callers without one.
        saves_ms: Milliseconds that it saved, or would have saved; 0 if it was wrong.
        context_sealed: The parts of its context, sealed; empty: not kept.
    """

    confidence: float
    succeeded: bool
    weight: float
    at: float
    context: ContextKey
    team: int | None
    saves_ms: float = 0.0
    context_sealed: str = ""
