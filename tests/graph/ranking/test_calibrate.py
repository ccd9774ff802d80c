import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.ranking import calibrate
from graph.ranking.calibrate import CEILING, Calibrator, fit_calibrator, platt


def outcomes(count, *, claimed, seed=0):
    """Draw choices that claim to be right so often, and are right half of the time."""
    right = np.random.default_rng(seed).permutation(np.arange(count) % 2).astype(float)
    return np.full(count, claimed), right


@pytest.mark.parametrize("probability", [0.01, 0.3, 0.5, 0.8, 0.99])
def test_the_identity_leaves_probabilities_as_they_are(probability):
    as_it_is = Calibrator(reach=1.0, level=0.0, slope=1.0, ceiling=1.0)
    assert as_it_is.confidence(probability) == pytest.approx(probability)


def test_sets_that_are_no_candidates_lower_confidence():
    assert Calibrator(reach=0.5, level=0.0, slope=1.0, ceiling=1.0).confidence(0.8) == (
        pytest.approx(0.4)
    )


def test_without_history_nothing_is_sure_enough_to_suggest():
    assert calibrate.of_prior(3.0, 1.0).confidence(0.9) == CEILING < 0.7


@pytest.mark.parametrize(("runs", "ceiling"), [(1, CEILING), (19, CEILING), (20, 1.0)])
def test_confidence_is_capped_with_few_runs(runs, ceiling):
    right = np.ones(runs)
    fitted = fit_calibrator(right * 0.99, right, reached=runs, prior=(5.0, 1.0))
    assert fitted.ceiling == ceiling


def test_reach_counts_runs_whose_set_was_a_candidate():
    likely, right = outcomes(97, claimed=0.5)
    assert fit_calibrator(likely, right, reached=78, prior=(0.0, 1.0)).reach == 0.8


def test_claims_too_high_are_lowered_the_more_the_more_runs_there_are():
    told = []
    for runs in (20, 200, 20_000):
        likely, right = outcomes(runs, claimed=0.9)
        fitted = fit_calibrator(likely, right, reached=runs, prior=(0.0, 1.0))
        told.append(fitted.confidence(0.9))
    assert 0.9 > told[0] > told[1] > told[2]
    assert told[0] > 0.7
    assert told[2] == pytest.approx(0.5, abs=0.01)


def test_other_catalogues_speak_only_where_runs_are_few():
    likely, right = outcomes(48, claimed=0.5)
    few = [fit_calibrator(likely, right, reached=48, prior=(at, 1.0)) for at in (0.0, -2.0)]
    assert few[0].confidence(0.5) > few[1].confidence(0.5) + 0.1
    likely, right = outcomes(50, claimed=0.5)
    more = [fit_calibrator(likely, right, reached=50, prior=(at, 1.0)) for at in (0.0, -2.0)]
    assert more[0] == more[1]


def test_without_outcomes_platt_returns_what_was_expected():
    assert platt(np.zeros(0), np.zeros(0), level=0.3, slope=0.8) == pytest.approx((0.3, 0.8))


def test_platt_finds_the_map_that_made_the_outcomes():
    draw = np.random.default_rng(0)
    likely = draw.uniform(0.02, 0.98, 40_000)
    odds = np.log(likely / (1 - likely))
    right = (draw.uniform(size=len(odds)) < 1 / (1 + np.exp(-(0.5 + 0.6 * odds)))).astype(float)
    assert platt(likely, right, level=0.0, slope=1.0) == pytest.approx((0.5, 0.6), abs=0.05)


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_likelier_set_is_never_less_sure(one, other):
    calibrator = Calibrator(reach=0.9, level=-0.4, slope=0.8, ceiling=0.95)
    low, high = sorted((one, other))
    assert 0 <= calibrator.confidence(low) <= calibrator.confidence(high) <= 0.95
