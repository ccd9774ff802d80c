from __future__ import annotations

import random

import pytest

from execution.speculation.waste_budget import (
    MAX_THRESHOLD,
    MIN_THRESHOLD,
    WasteBudget,
    rank_dispatch,
)


def test_waiting_is_free_unless_the_call_comes_next():
    assert rank_dispatch(0.9, 0.0) == 0.0
    assert rank_dispatch(0.6, 0.5) > rank_dispatch(0.6, 0.1)


def test_no_budget_dispatches_nothing():
    assert not WasteBudget(0.0).admits(1.0, 1.0)


def test_a_budget_is_a_share():
    with pytest.raises(ValueError, match="share"):
        WasteBudget(1.5)


def test_a_sure_call_is_dispatched_whatever_was_wasted():
    budget = WasteBudget(0.5)
    budget.wasted, budget.dispatched = 50, 50

    assert budget.admits(0.9, 0.9)
    assert not budget.admits(0.4, 0.4)


def test_the_threshold_stays_within_bounds():
    budget = WasteBudget(0.25)
    for _ in range(200):
        budget.record_outcome(0.5, was_used=False)
    assert budget.threshold == MAX_THRESHOLD
    for _ in range(400):
        budget.record_outcome(0.5, was_used=True)
    assert budget.threshold == MIN_THRESHOLD


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
@pytest.mark.parametrize("optimism", [0.0, 0.2])
def test_waste_stays_within_the_budget_even_where_chances_promise_too_much(share, optimism):
    draw = random.Random(7)  # noqa: S311
    budget = WasteBudget(share)
    for _ in range(4_000):
        truth = draw.random() * 0.8
        chance = min(1.0, truth + optimism)
        if budget.admits(chance, chance * 0.8):
            budget.record_dispatch(chance)
            budget.record_outcome(chance, was_used=draw.random() < truth)

    assert budget.dispatched > 50
    assert budget.wasted / budget.dispatched <= share + (0.03 if not optimism else 0.06)
