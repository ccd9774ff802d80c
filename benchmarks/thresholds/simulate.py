"""Runs policies on streams, and measures them against the best fixed threshold in hindsight."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.thresholds.scenarios import LENGTH, SCENARIOS, Scenario, Situation, draw_key
from learning.prediction import ResolvedPrediction
from learning.thresholds.named import ThresholdPolicy
from learning.thresholds.policy import (
    MAX_THRESHOLD,
    MIN_THRESHOLD,
    TARGET_SUCCESS,
    ThresholdEstimate,
)

HORIZONS: Final = (100, 1_000)
COVERAGE_AT: Final = 400
NEAR: Final = 100
"""Predictions before and after that moment in which coverage is taken."""
UPDATE_INTERVAL: Final = 5
"""Resolved predictions after which thresholds are computed again."""
MIN_SPECULATED: Final = 100
"""Speculated predictions from which the lowest running success is taken."""
NEVER: Final = 2.0
GRID: Final = (
    *(step / 100 for step in range(round(100 * MIN_THRESHOLD), round(100 * MAX_THRESHOLD) + 1)),
    NEVER,
)
"""The fixed thresholds to compare with; `NEVER` where none of the others reaches the target."""
FAILURE_COST: Final = 1.0 / (1.0 - TARGET_SUCCESS)
"""Regret of one failure too many, in speculations: as many as earn it at the target."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One prediction of a stream under a policy.

    Attributes:
        confidence: In [0, 1].
        chance: True probability of success.
        threshold: Threshold in force; `NEVER` if speculation was suspended.
    """

    confidence: float
    chance: float
    threshold: float

    @property
    def is_speculated(self) -> bool:
        """Whether the policy would have speculated it."""
        return self.confidence >= self.threshold


@dataclass(frozen=True, kw_only=True)
class Summary:
    """A policy in a scenario, over all seeds. Success is the mean of true chances.

    Attributes:
        scenario: Its name.
        policy: Its name.
        success: Of all that was speculated.
        lowest_mean: Mean over seeds of the lowest running success since the start, taken from
            `MIN_SPECULATED` speculations on.
        lowest_worst: The same of the worst seed.
        coverage: Predictions speculated around `COVERAGE_AT`, relative to the best fixed
            threshold there; None: nothing reaches the target.
        regrets: Mean regret at each of `HORIZONS`.
    """

    scenario: str
    policy: str
    success: float | None
    lowest_mean: float | None
    lowest_worst: float | None
    coverage: float | None
    regrets: tuple[float, ...]


def simulate(scenario: str, policy: ThresholdPolicy, *, seeds: Iterable[int]) -> Summary:
    """Return how a policy does in a scenario."""
    streams = [run_stream(SCENARIOS[scenario], policy, seed=seed) for seed in seeds]
    speculated = [step.chance for steps in streams for step in steps if step.is_speculated]
    lowest = _keep_numbers(map(_find_lowest_success, streams))
    coverages = _keep_numbers(map(_compare_coverage, streams))
    return Summary(
        scenario=scenario,
        policy=policy.name,
        success=_mean(speculated),
        lowest_mean=_mean(lowest),
        lowest_worst=min(lowest, default=None),
        coverage=_mean(coverages) if len(coverages) > len(streams) // 2 else None,
        regrets=tuple(
            sum(measure_regret(steps[:horizon]) for steps in streams) / len(streams)
            for horizon in HORIZONS
        ),
    )


def run_stream(scenario: Scenario, policy: ThresholdPolicy, *, seed: int) -> list[Step]:
    """Return the steps of one stream; the same for the same seed and the same thresholds."""
    rng, outcomes, chances = (
        random.Random(f"{use} {seed}")  # noqa: S311 - a simulation, repeatable
        for use in ("predictions", "outcomes", "chances")
    )
    chance_of = scenario.make_chance(chances)
    tracker = policy.start({})
    estimates: dict[object, ThresholdEstimate] = {}
    steps = []
    for number in range(LENGTH):
        key = draw_key(rng, is_sparse=scenario.is_sparse)
        confidence = scenario.draw_confidence(rng)
        if number % UPDATE_INTERVAL == 0:
            estimates.clear()
        if key not in estimates:
            estimates[key] = tracker.estimate(key)
        threshold = NEVER if estimates[key].is_suspended else estimates[key].threshold
        now = Situation(
            number=number, confidence=confidence, context=key, threshold=min(1.0, threshold)
        )
        step = Step(confidence=confidence, chance=chance_of(now), threshold=threshold)
        steps.append(step)
        succeeded = outcomes.random() < step.chance
        if scenario.flatters and not step.is_speculated:
            succeeded = True
        tracker.observe(
            ResolvedPrediction(
                confidence=confidence,
                succeeded=succeeded,
                weight=1.0,
                at=float(number),
                context=key,
                team=None,
            )
        )
    return steps


def measure_regret(steps: Sequence[Step]) -> float:
    """Return the regret of a stream's beginning: missed speculations, and failures too many.

    The best fixed threshold is the lowest whose predictions reach the target in these steps.
    Regret is the number of speculations that it makes more than the policy, plus `FAILURE_COST`
    times the expected failures of the policy beyond those that the target allows.
    """
    best = find_best_threshold(steps)
    missed = sum(step.confidence >= best for step in steps) - sum(
        step.is_speculated for step in steps
    )
    failures = sum(1.0 - step.chance for step in steps if step.is_speculated)
    allowed = (1.0 - TARGET_SUCCESS) * sum(step.is_speculated for step in steps)
    return max(0.0, missed) + FAILURE_COST * max(0.0, failures - allowed)


def find_best_threshold(steps: Sequence[Step]) -> float:
    """Return the lowest fixed threshold that reaches the target in hindsight."""
    for threshold in GRID:
        chances = [step.chance for step in steps if step.confidence >= threshold]
        if chances and sum(chances) >= TARGET_SUCCESS * len(chances):
            return threshold
    return NEVER


def _find_lowest_success(steps: Sequence[Step]) -> float | None:
    total, lowest = 0.0, None
    chances = [step.chance for step in steps if step.is_speculated]
    for number, chance in enumerate(chances, start=1):
        total += chance
        if number >= MIN_SPECULATED:
            lowest = total / number if lowest is None else min(lowest, total / number)
    return lowest


def _compare_coverage(steps: Sequence[Step]) -> float | None:
    """Return the coverage around `COVERAGE_AT` relative to the best fixed threshold's there."""
    near = steps[COVERAGE_AT - NEAR : COVERAGE_AT + NEAR]
    best = find_best_threshold(near)
    admitted = sum(step.confidence >= best for step in near)
    return sum(step.is_speculated for step in near) / admitted if admitted else None


def _keep_numbers(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
