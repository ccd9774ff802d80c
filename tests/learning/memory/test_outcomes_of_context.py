"""Outcomes of a context move a confidence by what they show, and never far."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learning.memory.outcomes_of_context import (
    MAX_EFFECT,
    ContextOutcomes,
    adjust_confidence,
)

PROBABILITIES = st.floats(0, 1)


@given(
    confidence=PROBABILITIES,
    count=st.floats(0, 1e6),
    right=PROBABILITIES,
    predicted=PROBABILITIES,
)
def test_a_confidence_stays_a_probability_and_moves_by_a_tenth_at_most(
    confidence, count, right, predicted
):
    outcomes = ContextOutcomes(count=count, successes=right * count, expected=predicted * count)
    moved = adjust_confidence(confidence, outcomes)
    assert 0 <= moved <= 1
    assert abs(moved - confidence) <= MAX_EFFECT + 1e-9
    assert (moved - confidence) * (right - predicted) >= -1e-9


@pytest.mark.parametrize(("bias", "is_better"), [(0.0, None), (0.15, True), (-0.15, True)])
def test_confidences_that_are_wrong_by_a_constant_get_better_and_right_ones_hardly_worse(
    bias, is_better
):
    draw = random.Random(3)  # noqa: S311 - no secret
    count = successes = expected = 0.0
    before = after = 0.0
    for _ in range(3_000):
        shown = draw.uniform(0.3, 0.7)
        outcomes = ContextOutcomes(count=count, successes=successes, expected=expected)
        moved = adjust_confidence(shown, outcomes)
        was_right = draw.random() < shown + bias
        before += (shown - was_right) ** 2
        after += (moved - was_right) ** 2
        count, successes, expected = count + 1, successes + was_right, expected + shown
    if is_better:
        assert after < 0.97 * before
    else:
        assert after < 1.005 * before
