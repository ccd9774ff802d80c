"""The simulation of thresholds: its objective, and that it is repeatable."""

import pytest

from benchmarks.thresholds.simulate import (
    FAILURE_COST,
    NEVER,
    Step,
    find_best_threshold,
    measure_regret,
)


def steps(pairs, threshold):
    return [Step(confidence=c, chance=p, threshold=threshold) for c, p in pairs]


PAIRS = [(0.95, 1.0), (0.90, 0.9), (0.85, 0.85), (0.75, 0.5)]


def test_the_best_fixed_threshold_is_the_lowest_that_reaches_the_target():
    assert find_best_threshold(steps(PAIRS, 0.92)) == pytest.approx(0.76)
    assert find_best_threshold(steps([(0.95, 0.8)], 0.92)) == NEVER


def test_the_best_fixed_threshold_has_no_regret():
    assert measure_regret(steps(PAIRS, 0.76)) == pytest.approx(0.0)


def test_missed_speculations_and_failures_too_many_are_regretted():
    assert measure_regret(steps(PAIRS, 0.92)) == pytest.approx(2.0)
    too_many = 0.0 + 0.1 + 0.15 + 0.5 - 0.4
    assert measure_regret(steps(PAIRS, 0.70)) == pytest.approx(FAILURE_COST * too_many)
