"""Streams of predictions with known chances of success.

Confidences are drawn from one of two mixtures; the chance of each prediction is a curve of its
confidence, which may depend on the context, on time, or on what the policy does. None of these
curves is the one that the policy fits (an offset in log-odds).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from learning.memory.context import ContextKey

LENGTH: Final = 1_000
"""Resolved predictions of a stream."""
OUTAGE: Final = 15
"""Predictions that fail in a row."""
OUTAGE_CHANCE: Final = 0.05 / OUTAGE
SPARSE_DOMAINS, SPARSE_CONTEXTS = 4, 24


@dataclass(frozen=True, kw_only=True)
class Situation:
    """What the chance of a prediction may depend on.

    Attributes:
        number: Predictions before it.
        confidence: Its confidence, in [0, 1].
        context: Its context.
        threshold: Threshold in force, in [0, 1]; 1 if speculation is suspended.
    """

    number: int
    confidence: float
    context: ContextKey
    threshold: float


Chance = Callable[[Situation], float]
DrawConfidence = Callable[[random.Random], float]


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """How a stream is generated.

    Attributes:
        draw_confidence: Draws the confidence of a prediction.
        make_chance: Returns the chances of one stream, with a state of their own.
        is_sparse: Whether the predictions are spread over many contexts.
        flatters: Whether predictions that are not speculated are reported as right, always.
    """

    draw_confidence: DrawConfidence
    make_chance: Callable[[random.Random], Chance]
    is_sparse: bool = False
    flatters: bool = False


def draw_key(rng: random.Random, *, is_sparse: bool) -> ContextKey:
    """Return a context; sparse ones are taken by a Zipf law."""
    if not is_sparse:
        return ContextKey(context=1, domain=1)
    weights = [1.0 / (rank + 1) for rank in range(SPARSE_CONTEXTS)]
    number = rng.choices(range(SPARSE_CONTEXTS), weights)[0]
    return ContextKey(context=number, domain=number % SPARSE_DOMAINS)


def _draw_two_peaks(rng: random.Random) -> float:
    return rng.betavariate(14, 1.6) if rng.random() < 0.5 else rng.betavariate(6, 2.5)


def _draw_triangular(rng: random.Random) -> float:
    return rng.triangular(0.5, 1.0, 0.9)


def _calibrated(confidence: float) -> float:
    return confidence


def _overconfident(confidence: float) -> float:
    return math.pow(confidence, 1.7)


def _underconfident(confidence: float) -> float:
    return 1.0 - 0.5 * (1.0 - confidence)


def _kinked(confidence: float) -> float:
    """Return a chance that is flat but for a steep rise between 0.80 and 0.85."""
    return 0.60 + 0.36 * min(1.0, max(0.0, (confidence - 0.80) / 0.05))


def _hopeless(confidence: float) -> float:
    """Return a chance that reaches the target at no threshold."""
    return 0.82 * confidence


def _stay(curve: Callable[[float], float]) -> Callable[[random.Random], Chance]:
    return lambda _rng: lambda now: curve(now.confidence)


def _change_abruptly(_rng: random.Random) -> Chance:
    return lambda now: (_underconfident if now.number < LENGTH // 2 else _overconfident)(
        now.confidence
    )


def _change_gradually(_rng: random.Random) -> Chance:
    def chance(now: Situation) -> float:
        part = now.number / LENGTH
        return (1.0 - part) * _underconfident(now.confidence) + part * _overconfident(
            now.confidence
        )

    return chance


def _suffer_outages(rng: random.Random) -> Chance:
    ends_at = 0

    def chance(now: Situation) -> float:
        nonlocal ends_at
        if now.number >= ends_at and rng.random() < OUTAGE_CHANCE:
            ends_at = now.number + OUTAGE
        return 0.0 if now.number < ends_at else _underconfident(now.confidence)

    return chance


def _lure(_rng: random.Random) -> Chance:
    """Return chances that are good until the threshold is low, then bad until it is high."""
    is_luring = True

    def chance(now: Situation) -> float:
        nonlocal is_luring
        if now.threshold < 0.80:
            is_luring = False
        elif now.threshold > 0.90:
            is_luring = True
        return (_underconfident if is_luring else _overconfident)(now.confidence)

    return chance


def _differ_by_context(rng: random.Random) -> Chance:
    domains = [rng.gauss(0.0, 0.5) for _ in range(SPARSE_DOMAINS)]
    contexts = [rng.gauss(0.0, 0.3) for _ in range(SPARSE_CONTEXTS)]

    def chance(now: Situation) -> float:
        exponent = math.exp(-domains[now.context.domain] - contexts[now.context.context])
        return math.pow(now.confidence, exponent)

    return chance


SCENARIOS: Final[Mapping[str, Scenario]] = {
    "calibrated": Scenario(draw_confidence=_draw_two_peaks, make_chance=_stay(_calibrated)),
    "calibrated, few high": Scenario(
        draw_confidence=_draw_triangular, make_chance=_stay(_calibrated)
    ),
    "overconfident": Scenario(draw_confidence=_draw_two_peaks, make_chance=_stay(_overconfident)),
    "underconfident": Scenario(
        draw_confidence=_draw_triangular, make_chance=_stay(_underconfident)
    ),
    "kinked": Scenario(draw_confidence=_draw_triangular, make_chance=_stay(_kinked)),
    "hopeless": Scenario(draw_confidence=_draw_two_peaks, make_chance=_stay(_hopeless)),
    "abrupt drift": Scenario(draw_confidence=_draw_two_peaks, make_chance=_change_abruptly),
    "gradual drift": Scenario(draw_confidence=_draw_triangular, make_chance=_change_gradually),
    "outages": Scenario(draw_confidence=_draw_two_peaks, make_chance=_suffer_outages),
    "luring adversary": Scenario(draw_confidence=_draw_two_peaks, make_chance=_lure),
    "flattering adversary": Scenario(
        draw_confidence=_draw_two_peaks, make_chance=_stay(_calibrated), flatters=True
    ),
    "sparse contexts": Scenario(
        draw_confidence=_draw_two_peaks, make_chance=_differ_by_context, is_sparse=True
    ),
}
