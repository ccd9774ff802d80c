"""Predictions of a session that wait for their outcome."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeVar

from gateway_project.foundation.canonical import hash_json

EXPIRES_AFTER_S = 60.0
"""DESIGN: a speculated result expires after a minute by default."""
MAX_PENDING = 256
"""Predictions of one session that wait at once; beyond it the oldest expires."""

CallKey = str
Predicted = TypeVar("Predicted")


class PredictionOutcome(StrEnum):
    """What became of a prediction."""

    HIT = "hit"
    MISS = "miss"
    """Something invalidated it before the call came."""
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class ResolvedCall(Generic[Predicted]):
    """A prediction with its outcome.

    Attributes:
        prediction: What was added.
        outcome: What became of it.
        waited_s: Time from the prediction to the outcome.
    """

    prediction: Predicted
    outcome: PredictionOutcome
    waited_s: float


def make_call_key(tool: int, arguments: Mapping[str, Any]) -> CallKey:
    """Return the key of a call: equal for equal tools and arguments."""
    return hash_json([tool, dict(arguments)])


class PendingPredictions(Generic[Predicted]):
    """The predictions of one session that wait for their outcome; for one thread at a time.

    A prediction is resolved once: by the call that it predicted, by a call that is not known to
    be read-only (it may have changed anything), or by time.
    """

    def __init__(self, *, expires_after_s: float = EXPIRES_AFTER_S) -> None:
        self._expires_after_s = expires_after_s
        self._pending: dict[CallKey, tuple[Predicted, float]] = {}

    def __len__(self) -> int:
        return len(self._pending)

    def __contains__(self, key: CallKey) -> bool:
        return key in self._pending

    def add(
        self, key: CallKey, prediction: Predicted, *, at: float
    ) -> list[ResolvedCall[Predicted]]:
        """Add a prediction unless the same call is pending; return what had to give way."""
        if key in self._pending:
            return []
        self._pending[key] = (prediction, at)
        if len(self._pending) <= MAX_PENDING:
            return []
        oldest = next(iter(self._pending))
        return [self._resolve(oldest, PredictionOutcome.EXPIRED, at)]

    def discard(self, key: CallKey) -> None:
        """Forget a prediction without an outcome: the call is made ahead after all."""
        self._pending.pop(key, None)

    def resolve_call(
        self, key: CallKey, *, is_read_only: bool, at: float
    ) -> list[ResolvedCall[Predicted]]:
        """Resolve what a call decides: a hit, and misses if the call may change anything."""
        resolved = self.expire(at)
        if key in self._pending:
            resolved.append(self._resolve(key, PredictionOutcome.HIT, at))
        if not is_read_only:
            resolved.extend(
                self._resolve(other, PredictionOutcome.MISS, at) for other in list(self._pending)
            )
        return resolved

    def expire(self, at: float) -> list[ResolvedCall[Predicted]]:
        """Resolve what has waited too long."""
        expired = [
            key for key, (_, since) in self._pending.items() if at - since >= self._expires_after_s
        ]
        return [self._resolve(key, PredictionOutcome.EXPIRED, at) for key in expired]

    def close(self, at: float) -> list[ResolvedCall[Predicted]]:
        """Resolve all that is left as expired: the session has ended."""
        return [self._resolve(key, PredictionOutcome.EXPIRED, at) for key in list(self._pending)]

    def _resolve(
        self, key: CallKey, outcome: PredictionOutcome, at: float
    ) -> ResolvedCall[Predicted]:
        prediction, since = self._pending.pop(key)
        return ResolvedCall(prediction, outcome, at - since)
