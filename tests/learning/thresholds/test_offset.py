"""The offset between confidence and success, and what follows from it for thresholds."""

import math

import pytest

from learning.thresholds.counts import CELLS
from learning.thresholds.offset import (
    LOG_ODDS,
    Offset,
    describe_tails,
    find_initial_offset,
    fit_offset,
)

PRIOR = Offset(0.0, 0.25)
UNIFORM = (1.0,) * CELLS


def counts(chance, weight):
    totals = [weight] * CELLS
    return [chance(x) * weight for x in LOG_ODDS], totals


def shifted(offset):
    return lambda x: 1.0 / (1.0 + math.exp(-x - offset))


def test_without_outcomes_the_posterior_is_the_prior():
    found = fit_offset(PRIOR, [0.0] * CELLS, [0.0] * CELLS)
    assert (found.mean, found.variance) == pytest.approx((PRIOR.mean, PRIOR.variance))


@pytest.mark.parametrize("offset", [-2.0, -0.5, 0.0, 1.5])
def test_the_offset_of_many_outcomes_is_found(offset):
    found = fit_offset(PRIOR, *counts(shifted(offset), 1_000.0))
    assert found.mean == pytest.approx(offset, abs=0.01)
    assert found.variance < 0.001


def test_only_confidences_with_weight_make_a_tail():
    weights = [1e-9] * CELLS
    weights[80] = 1.0
    assert describe_tails(PRIOR, weights)[70].success == pytest.approx(0.805, abs=1e-3)


@pytest.mark.parametrize("initial", [0.7, 0.85, 0.92])
def test_the_initial_offset_puts_the_lower_bound_on_the_target(initial):
    prior = find_initial_offset(initial, target=0.9, caution=0.5, deviation=0.3)
    tail = describe_tails(prior, UNIFORM)[round(initial * CELLS)]
    assert tail.success - 0.5 * tail.deviation == pytest.approx(0.9, abs=1e-5)
    assert prior.variance == pytest.approx(0.09)
