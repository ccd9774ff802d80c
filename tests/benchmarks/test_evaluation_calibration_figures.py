import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.evaluation import calibration_figures as figures

ANSWERS = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60)


def taken(answers):
    said, right = zip(*answers, strict=True)
    return np.array(said), np.array(right, dtype=float)


def test_bins_hold_the_same_number_of_answers():
    said = np.r_[np.full(10, 0.2), np.full(10, 0.9)]
    right = np.r_[np.ones(2), np.zeros(8), np.ones(10)]
    assert figures.calibration_error(said, right) == pytest.approx(0.05)
    assert figures.calibration_error(np.array([0.1, 0.9]), np.array([1.0, 0.0])) == pytest.approx(
        0.9
    )


def test_a_constant_forecast_is_one_bin():
    right = np.array([1.0] * 3 + [0.0] * 7)
    assert figures.calibration_error(np.full(10, 0.3), right) == pytest.approx(0)
    assert figures.calibration_error(np.full(10, 0.5), right) == pytest.approx(0.2)


@given(ANSWERS)
def test_no_calibration_error_exceeds_the_mean_distance(answers):
    said, right = taken(answers)
    assert 0 <= figures.calibration_error(said, right) <= np.abs(said - right).mean() + 1e-9


@given(ANSWERS)
def test_auroc_is_the_share_of_pairs_in_the_right_order(answers):
    said, right = taken(answers)
    pairs = [
        1.0 if a > b else 0.5 if a == b else 0.0
        for a in said[right == 1]
        for b in said[right == 0]
    ]
    expected = np.mean(pairs) if pairs else None
    assert figures.area_under_roc(said, right) == (
        None if expected is None else pytest.approx(expected)
    )


@given(ANSWERS)
def test_coverage_is_reached_by_a_threshold(answers):
    said, right = taken(answers)
    shares = [
        (said >= least).mean()
        for least in said
        if right[said >= least].mean() >= figures.TARGET_PRECISION
    ]
    assert figures.coverage_at_precision(said, right) == pytest.approx(max(shares, default=0.0))


def test_without_answers_there_are_no_figures():
    assert set(figures.measure_calibration([], []).values()) == {None}
    assert figures.measure_calibration([0.5], [True])["auroc"] is None
