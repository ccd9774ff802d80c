from __future__ import annotations

import pytest

from execution.speculation.warm_up import find_threshold, measure_waste
from execution.speculation.waste_budget import default_threshold, rank_dispatch
from graph.suggestion.next_call.fitting import RehearsedPoint, RehearsedPrediction


def make_session(*chances_and_outcomes: tuple[float, bool]) -> tuple[RehearsedPoint, ...]:
    """Return a session of one point, with a prediction of each chance."""
    return (
        RehearsedPoint(
            0,
            5,
            tuple(
                RehearsedPrediction((number, ()), chance, chance / 2, 0 if comes else -1)
                for number, (chance, comes) in enumerate(chances_and_outcomes)
            ),
        ),
    )


def test_a_history_whose_guesses_come_true_lowers_the_threshold():
    kept = [make_session((0.8, True), (0.2, True))] * 30
    broken = [make_session((0.8, True), (0.2, False), (0.15, False))] * 30

    assert find_threshold(measure_waste(kept), 0.5) == pytest.approx(0.02)
    assert (
        rank_dispatch(0.15, 0.075)
        < find_threshold(measure_waste(broken), 0.5)
        <= rank_dispatch(0.2, 0.1)
    )


@pytest.mark.parametrize("sessions", [[], [make_session((0.9, False))] * 30])
def test_without_a_better_threshold_the_budget_starts_as_it_does_without_history(sessions):
    assert find_threshold(measure_waste(sessions), 0.5) == default_threshold(0.5)


def test_a_call_is_dispatched_once_until_it_came_or_was_invalidated():
    def predicted(done: int, end: int, comes_at: int) -> RehearsedPoint:
        return RehearsedPoint(done, end, (RehearsedPrediction((1, ()), 0.2, 0.1, comes_at),))

    waiting = tuple(predicted(done, 40, -1) for done in range(30))
    renewed = tuple(predicted(done, 40, done) for done in range(30))

    # Wasted once and never used: too few dispatches to learn from.
    assert find_threshold(measure_waste([waiting]), 0.5) == default_threshold(0.5)
    # Used after every call.
    assert find_threshold(measure_waste([renewed]), 0.5) == pytest.approx(0.02)


def test_only_the_given_tools_count():
    kept = [make_session((0.8, True), (0.2, False))] * 30

    assert find_threshold(measure_waste(kept, tools={0}), 0.1) == pytest.approx(0.02)
    assert find_threshold(measure_waste(kept, tools={1}), 0.1) == default_threshold(0.1)
