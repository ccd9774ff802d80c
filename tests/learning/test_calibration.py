"""Outcomes correct overconfidence, and leave alone what is calibrated."""

import math
import random
from statistics import mean

import pytest

from learning.calibration import (
    IDENTITY,
    MIN_SAMPLES,
    MIN_SLOPE,
    CalibrationMap,
    JudgedConfidence,
    brier_score,
    build_reliability,
    calibration_error,
    choose_correction,
    fit_correction,
)

SIZES = (50, 100, 400, 1_000)
TEAMS = 40


def simulate(seed, size, *, truth=lambda chance: chance):
    """Draw confidences as rankings state them, and outcomes with the true chances."""
    draw = random.Random(seed)  # noqa: S311 - a simulation, no secrets
    confidences = [draw.betavariate(4, 1.5) for _ in range(size)]
    return [JudgedConfidence(one, draw.random() < truth(one)) for one in confidences]


def overconfident(chance):
    """The true chance of what is stated as `chance`: odds smaller by a factor of e."""
    return 1 / (1 + math.e * (1 - chance) / chance)


def true_error(correction, truth):
    """Mean distance of the corrected confidence from the true chance."""
    stated = [one.confidence for one in simulate("held out", 2_000)]
    return mean(abs(correction.apply(one) - truth(one)) for one in stated)


@pytest.mark.parametrize("size", SIZES)
def test_what_is_calibrated_stays_so_within_a_hundredth(size):
    errors = [
        true_error(choose_correction(simulate(f"{size} {team}", size)), lambda chance: chance)
        for team in range(TEAMS)
    ]
    assert mean(errors) <= 0.01


@pytest.mark.parametrize(("size", "most"), [(50, 0.12), (100, 0.08), (400, 0.04), (1_000, 0.03)])
def test_overconfidence_is_corrected_the_better_the_more_is_known(size, most):
    before = true_error(IDENTITY, overconfident)
    errors = [
        true_error(
            choose_correction(simulate(f"{size} {team}", size, truth=overconfident)),
            overconfident,
        )
        for team in range(TEAMS)
    ]
    assert before > 0.15
    assert mean(errors) <= most


def test_few_outcomes_correct_nothing():
    wrong = [JudgedConfidence(0.9, False)] * (MIN_SAMPLES - 1)
    assert choose_correction(wrong) == IDENTITY
    assert choose_correction([*wrong, wrong[0]]).apply(0.9) < 0.7


def test_the_order_of_confidences_stays():
    correction = fit_correction(simulate(1, 400, truth=overconfident))
    corrected = [correction.apply(step / 100) for step in range(101)]
    assert corrected == sorted(corrected)
    assert 0.0 < corrected[0] < corrected[-1] < 1.0


def test_outcomes_that_run_against_confidence_keep_its_order():
    correction = fit_correction(simulate(2, 4_000, truth=lambda chance: 1 - chance))
    assert correction.slope == MIN_SLOPE
    base_rate = mean(1 - one.confidence for one in simulate(2, 4_000))
    assert correction.apply(0.7) == pytest.approx(base_rate, abs=0.05)


def test_without_outcomes_the_correction_is_the_identity():
    assert fit_correction([]) == IDENTITY
    assert IDENTITY.apply(0.123) == 0.123


def test_an_outcome_counts_by_its_weight():
    twice = fit_correction([JudgedConfidence(0.8, False, 0.5)] * 40)
    once = fit_correction([JudgedConfidence(0.8, False)] * 20)
    assert twice.intercept == pytest.approx(once.intercept)
    assert twice != CalibrationMap()


def test_errors_are_zero_for_perfect_forecasts_and_undefined_without_any():
    perfect = [JudgedConfidence(1.0, True), JudgedConfidence(0.0, False)]
    assert calibration_error(build_reliability(perfect)) == 0.0
    assert brier_score(perfect) == 0.0
    assert calibration_error(build_reliability([])) is None
    assert brier_score([]) is None
