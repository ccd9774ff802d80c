import numpy as np
import pytest

from graph.suggestion.ranking import choice
from graph.suggestion.ranking.choice import choice_probabilities, fit_choice

TRUE = np.array([1.0, -2.0, 0.5])
ONES = np.ones(3)


def drawn_choices(count, seed=0, coefficients=TRUE):
    """Draw choices as the model says they are made."""
    draw = np.random.default_rng(seed)
    groups = []
    for _ in range(count):
        features = draw.normal(size=(draw.integers(2, 12), len(coefficients)))
        target = np.zeros(len(features))
        likely = choice_probabilities(features, coefficients, np.ones(len(coefficients)))
        target[draw.choice(len(features), p=likely)] = 1
        groups.append((features, target))
    return groups


def test_coefficients_that_made_the_choices_are_found_again():
    found = fit_choice(drawn_choices(3_000), prior=np.zeros(3), scale=ONES, l2=0.1)
    assert found == pytest.approx(TRUE, abs=0.15)


def test_coefficients_are_per_scaled_feature():
    groups = drawn_choices(300)
    plain = fit_choice(groups, prior=np.zeros(3), scale=ONES, l2=1e-6)
    scaled = fit_choice(groups, prior=np.zeros(3), scale=[1, 2, 4], l2=1e-6)
    assert scaled == pytest.approx(plain * [1, 2, 4], rel=0.02)


def test_without_choices_the_prior_is_returned():
    assert fit_choice([], prior=[3.0, -1.0], scale=[1.0, 1.0], l2=1.0).tolist() == [3.0, -1.0]


def test_a_prior_far_off_does_not_make_it_diverge():
    groups = drawn_choices(200)
    near = fit_choice(groups, prior=np.zeros(3), scale=ONES, l2=1e-3)
    far = fit_choice(groups, prior=[40.0, 40.0, -40.0], scale=ONES, l2=1e-3)
    assert far == pytest.approx(near, abs=0.1)


def test_a_choice_of_weight_two_equals_two_choices():
    groups = drawn_choices(30)
    twice = fit_choice(groups + groups[:10], prior=np.zeros(3), scale=ONES, l2=1.0)
    weights = [2.0] * 10 + [1.0] * 20
    weighted = fit_choice(groups, prior=np.zeros(3), scale=ONES, l2=1.0, weights=weights)
    assert weighted == pytest.approx(twice, abs=0.01)


def test_blocks_of_rows_add_up(monkeypatch):
    groups = drawn_choices(60)
    whole = fit_choice(groups, prior=np.zeros(3), scale=ONES, l2=1.0)
    monkeypatch.setattr(choice, "BLOCK_ROWS", 1)
    assert fit_choice(groups, prior=np.zeros(3), scale=ONES, l2=1.0) == pytest.approx(whole)


@pytest.mark.parametrize(
    "groups",
    [
        [(np.zeros((2, 2)), np.array([1.0, 0.0]))],
        [(np.zeros((2, 3)), np.array([1.0]))],
        [(np.zeros((0, 3)), np.zeros(0)), (np.zeros((1, 3)), np.ones(1))],
    ],
)
def test_shapes_that_do_not_fit_are_refused(groups):
    with pytest.raises(ValueError, match=r"alternative|lengths"):
        fit_choice(groups, prior=np.zeros(3), scale=ONES, l2=1.0)


def test_as_many_weights_as_choices_are_needed():
    with pytest.raises(ValueError, match="lengths"):
        fit_choice(drawn_choices(2), prior=np.zeros(3), scale=ONES, l2=1.0, weights=[1.0])


def test_without_alternatives_there_are_no_probabilities():
    assert choice_probabilities(np.zeros((0, 3)), ONES, ONES).shape == (0,)
