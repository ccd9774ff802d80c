"""Thresholds of confidence, from resolved predictions: what they are, and the fixed policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from learning.memory.context import ContextKey
from learning.prediction import ResolvedPrediction

INITIAL_THRESHOLD: Final = 0.92
"""Before anything was resolved: cautious."""
MIN_THRESHOLD: Final = 0.70
"""The lowest confidence of a suggestion (`execution.mode`)."""
MAX_THRESHOLD: Final = 0.95
TARGET_SUCCESS: Final = 0.90
"""Share of speculated predictions that is to succeed."""
RICH_WEIGHT: Final = 50.0
"""Weight of resolved predictions from which a context no longer counts as sparse."""


ANY_DOMAIN: Final = 1 << 64
ANY_CONTEXT: Final = 1 << 64
"""Hashes of no domain and no context: those are signed 64-bit."""


class EvidenceLevel(StrEnum):
    """The narrowest level with enough evidence; a threshold leans on it."""

    CONTEXT = "context"
    DOMAIN = "domain"
    TEAM = "team"
    NONE = "none"
    """No level has enough: it stays near where it started."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Preset:
    """Where the threshold of a domain starts, and the bounds in which it stays.

    Attributes:
        initial: Threshold without evidence, within the bounds.
        lowest: Lower bound, in [0, 1].
        highest: Upper bound, in [0, 1].

    Raises:
        ValueError: If they are out of order or no probabilities.
    """

    initial: float = INITIAL_THRESHOLD
    lowest: float = MIN_THRESHOLD
    highest: float = MAX_THRESHOLD

    def __post_init__(self) -> None:
        if not 0.0 <= self.lowest <= self.initial <= self.highest <= 1.0:
            raise ValueError(
                "a preset needs 0 <= lowest <= initial <= highest <= 1, "
                f"not {self.lowest:g}, {self.initial:g}, {self.highest:g}"
            )

    def clamp(self, threshold: float) -> float:
        """Return the threshold, moved into the bounds."""
        return max(self.lowest, min(self.highest, threshold))


DEFAULT_PRESET: Final = Preset()


@dataclass(frozen=True, kw_only=True, slots=True)
class ThresholdEstimate:
    """A threshold with its evidence.

    Attributes:
        threshold: Predictions of at least this confidence are speculated, in [0, 1].
        is_suspended: Nothing is speculated, whatever its confidence: no threshold within the
            bounds reaches the target. Shadow predictions lift it.
        sample_weight: Weight of the evidence at or above the threshold, that of wider levels
            included as far as it counts.
        expected_success: Expected share of successes at or above it; None: unknown.
        success_bound: Lower bound of that share; None: unknown.
        level: The level that it leans on.
        is_converged: Whether more evidence of the same kind would hardly move it.
    """

    threshold: float
    is_suspended: bool = False
    sample_weight: float = 0.0
    expected_success: float | None = None
    success_bound: float | None = None
    level: EvidenceLevel = EvidenceLevel.NONE
    is_converged: bool = False

    def admits(self, confidence: float) -> bool:
        """Return whether a prediction of this confidence would be speculated."""
        return not self.is_suspended and confidence >= self.threshold


Presets = Mapping[int, Preset]
"""Presets by hash of the domain."""


@dataclass(frozen=True, slots=True)
class FixedPolicy:
    """The same threshold whatever happens, for comparison."""

    threshold: float = INITIAL_THRESHOLD

    @property
    def name(self) -> str:
        """Name with the threshold, such as `fixed:0.92`."""
        return f"fixed:{self.threshold:g}"

    def start(self, presets: Presets) -> FixedPolicy:
        """Return the tracker of a team: itself, since it never moves and presets do not apply."""
        del presets
        return self

    def observe(self, prediction: ResolvedPrediction) -> None:
        """Ignore it."""

    def estimate(self, key: ContextKey) -> ThresholdEstimate:
        """Return the threshold."""
        del key
        return ThresholdEstimate(threshold=self.threshold)
