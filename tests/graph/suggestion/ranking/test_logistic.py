import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.suggestion.ranking.logistic import compute_logit, compute_sigmoid, fit_logistic


def drawn(seed, size=80, features=4):
    draw = np.random.default_rng(seed)
    rows = np.column_stack((draw.standard_normal((size, features)), np.ones(size)))
    chance = compute_sigmoid(rows @ draw.normal(0, 2, features + 1))
    return rows, (draw.random(size) < chance).astype(float)


def slope(rows, targets, found, prior, l2, weights):
    return rows.T @ (weights * (compute_sigmoid(rows @ found) - targets)) + l2 * (found - prior)


@given(st.integers(0, 50), st.sampled_from([0.5, 5.0, 100.0]), st.sampled_from([0.0, 3.0, -40.0]))
def test_the_loss_is_flat_where_it_ends(seed, l2, far):
    rows, targets = drawn(seed)
    prior, weights = np.full(rows.shape[1], far), np.linspace(0.5, 2, len(rows))
    found = fit_logistic(rows, targets, prior=prior, l2=l2, weights=weights)
    assert np.abs(slope(rows, targets, found, prior, l2, weights)).max() < 0.5


def test_a_firm_prior_holds():
    rows, targets = drawn(1)
    prior = np.zeros(rows.shape[1])
    loose = fit_logistic(rows, targets, prior=prior, l2=0.1)
    firm = fit_logistic(rows, targets, prior=prior, l2=1e6)
    assert np.abs(firm).max() < 0.01 < np.abs(loose).max()


def test_no_coefficients_nearby_fit_better():
    rows, targets = drawn(3, size=300)
    found = fit_logistic(rows, targets, prior=np.zeros(5), l2=2.0)

    def loss(coefficients):
        chance = compute_sigmoid(rows @ coefficients)
        told = np.log(np.where(targets > 0, chance, 1 - chance)).sum()
        return (coefficients @ coefficients) - told

    draw = np.random.default_rng(0)
    for step in (0.3, 0.03):
        for _ in range(20):
            assert loss(found + step * draw.standard_normal(5)) > loss(found) - 1e-3


@given(st.floats(0.001, 0.999))
def test_logit_undoes_sigmoid(share):
    assert compute_sigmoid(compute_logit(np.array([share])))[0] == pytest.approx(share)
