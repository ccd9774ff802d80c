import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.suggestion.ranking import calibrate
from graph.suggestion.ranking.calibrate import (
    MAX_UNPROVEN_CONFIDENCE,
    UNFITTED_CALIBRATOR,
    Calibrator,
    fit_calibrator,
    fit_platt,
    fit_text_only,
)
from graph.suggestion.ranking.set_model import SetChoiceOutcomes


def outcomes(count, *, claimed, seed=0):
    """Draw choices that claim to be right so often, and are right half of the time."""
    right = np.random.default_rng(seed).permutation(np.arange(count) % 2).astype(float)
    return judged(np.full(count, claimed), right)


def judged(likely, right, *, similarity=0.0, repeats=0):
    """Make outcomes of first runs, or of repeats."""
    return SetChoiceOutcomes(
        probabilities=likely,
        similarities=np.full(len(likely), similarity),
        was_right=right,
        repeats=np.full(len(likely), float(repeats)),
    )


def both(one, other):
    """Put outcomes beneath each other."""
    return SetChoiceOutcomes(
        **{name: np.append(vars(one)[name], vars(other)[name]) for name in vars(one)}
    )


def calibrator(**fields):
    as_it_is = {"reach": 1.0, "level": 0.0, "slope": 1.0, "repeat": 0.0}
    return Calibrator(**(as_it_is | {"ceiling": 1.0, "repeat_ceiling": 1.0} | fields))


@pytest.mark.parametrize("probability", [0.01, 0.3, 0.5, 0.8, 0.99])
def test_the_identity_leaves_probabilities_as_they_are(probability):
    assert calibrator().predict_confidence(probability) == pytest.approx(probability)


def test_sets_that_are_no_candidates_lower_confidence():
    assert calibrator(reach=0.5).predict_confidence(0.8) == pytest.approx(0.4)


def test_without_history_no_confidence_suffices_for_a_suggestion():
    assert (
        calibrate.prior_calibrator(3.0, 1.0).predict_confidence(0.9)
        == MAX_UNPROVEN_CONFIDENCE
        < 0.7
    )


@pytest.mark.parametrize(
    ("intents", "counted", "ceilings"),
    [
        (1, 1, (MAX_UNPROVEN_CONFIDENCE, MAX_UNPROVEN_CONFIDENCE)),
        (4, 19, (MAX_UNPROVEN_CONFIDENCE, MAX_UNPROVEN_CONFIDENCE)),
        (4, 20, (MAX_UNPROVEN_CONFIDENCE, 1.0)),
        (19, 95, (MAX_UNPROVEN_CONFIDENCE, 1.0)),
        (20, 20, (1.0, 1.0)),
    ],
)
def test_confidence_is_capped_with_few_runs_and_in_what_is_new_with_few_intents(
    intents, counted, ceilings
):
    right = np.ones(intents)
    first = judged(right * 0.99, right)
    fitted = fit_calibrator(first, reached=intents, counted=counted, prior=(5.0, 1.0))
    assert (fitted.ceiling, fitted.repeat_ceiling) == ceilings


def test_a_ceiling_is_of_new_intents_or_of_repeated_ones():
    capped = calibrator(ceiling=0.4, repeat_ceiling=0.6)
    told = [capped.predict_confidence(0.9, similarity=at) for at in (-1.0, 0.8, 0.86, 0.89, 1.0)]
    assert told == [0.4, 0.4, 0.4, 0.6, 0.6]


def test_wrong_repeats_do_not_lower_confidence_below_first_runs():
    again = judged(np.full(10, 0.6), np.zeros(10), similarity=1.0, repeats=4)
    asked = both(outcomes(10, claimed=0.5), again)
    assert fit_calibrator(asked, reached=8, counted=50, prior=(0.0, 1.0)).repeat == 0


def test_reach_counts_first_runs_only():
    first = outcomes(97, claimed=0.5)
    again = judged(np.full(5, 0.9), np.ones(5), similarity=1.0, repeats=4)
    for one in (first, both(first, again)):
        assert fit_calibrator(one, reached=78, counted=97, prior=(0.0, 1.0)).reach == 0.8


def test_claims_too_high_are_lowered_the_more_the_more_runs_there_are():
    told = []
    for runs in (20, 200, 20_000):
        first = outcomes(runs, claimed=0.9)
        fitted = fit_calibrator(first, reached=runs, counted=runs, prior=(0.0, 1.0))
        told.append(fitted.predict_confidence(0.9))
    assert 0.9 > told[0] > told[1] > told[2]
    assert told[0] > 0.7
    assert told[2] == pytest.approx(0.5, abs=0.01)


def test_without_outcomes_platt_returns_what_was_expected():
    assert fit_platt(np.zeros(0), np.zeros(0), level=0.3, slope=0.8) == pytest.approx((0.3, 0.8))


def test_platt_finds_the_map_that_made_the_outcomes():
    draw = np.random.default_rng(0)
    likely = draw.uniform(0.02, 0.98, 40_000)
    odds = np.log(likely / (1 - likely))
    right = (draw.uniform(size=len(odds)) < 1 / (1 + np.exp(-(0.5 + 0.6 * odds)))).astype(float)
    assert fit_platt(likely, right, level=0.0, slope=1.0) == pytest.approx((0.5, 0.6), abs=0.05)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(-1, 1), st.floats(-1, 1))
def test_a_likelier_set_or_one_that_ran_for_a_nearer_intent_is_never_less_sure(
    one, other, near, far
):
    fitted = calibrator(
        reach=0.9, level=-0.4, slope=0.8, repeat=2.0, ceiling=0.69, repeat_ceiling=0.95
    )
    low, high = sorted((one, other))
    near, far = sorted((near, far), reverse=True)
    less, more = (
        fitted.predict_confidence(low, similarity=far),
        fitted.predict_confidence(high, similarity=near),
    )
    assert 0 <= less <= more <= 0.95


def text_only(probabilities, right):
    shift, floor = fit_text_only(np.array(probabilities), np.array(right), (0.0, 1.0))
    return calibrator(text_only_shift=shift, text_only_floor=floor)


def test_few_past_intents_do_not_lift_the_cap_of_what_texts_suggest():
    for count, told in ((39, MAX_UNPROVEN_CONFIDENCE), (40, pytest.approx(0.95, abs=0.04))):
        assert text_only(np.full(count, 0.6), np.ones(count)).predict_text_only(1.0) == told
    assert UNFITTED_CALIBRATOR.predict_text_only(5.0) == MAX_UNPROVEN_CONFIDENCE


def test_easy_work_does_not_lift_the_cap_of_what_is_harder():
    fitted = text_only(np.linspace(0.6, 0.9, 100), np.ones(100))
    assert fitted.predict_text_only(0.0) == MAX_UNPROVEN_CONFIDENCE
    assert fitted.predict_text_only(1.0) > 0.9
