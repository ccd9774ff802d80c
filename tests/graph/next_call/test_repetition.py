"""A session that does the same thing over and over is expected to go on like that."""

from itertools import pairwise

import pytest

from graph.suggestion.next_call.model import NextCallModel
from graph.suggestion.next_call.predict import predict_calls
from graph.suggestion.next_call.session import SessionState
from tests.graph.next_call import worlds
from tests.graph.next_call.worlds import CANCEL, FIND_USER, GET_ORDER, GET_USER

SHOP = worlds.make_shop()


def same_round(_):
    """Return calls whose arguments no result holds."""
    return [
        worlds.complete(FIND_USER, {"email": "mia@shop.test"}, {"note": "x"}),
        worlds.complete(GET_USER, {"user_id": "mia_li_7"}, {"name": "Mia"}),
        worlds.complete(GET_ORDER, {"order_id": "#W7000"}, {"state": "sent"}),
    ]


def moving_round(number):
    """Return calls each of which takes what the one before returned, of another user each time."""
    user, order = f"user_{number}_x", f"#W{number}00"
    return [
        worlds.complete(FIND_USER, {"email": f"m{number}@shop.test"}, {"user_id": user}),
        worlds.complete(GET_USER, {"user_id": user}, {"last": order}),
        worlds.complete(GET_ORDER, {"order_id": order}, {"state": "sent"}),
    ]


def chance_of(state, call):
    """Return the chance with which a call is predicted; 0: it is not."""
    found = predict_calls(state, NextCallModel(), SHOP, limit=8)
    return next(
        (p.chance for p in found if (p.tool, p.arguments) == (call.tool, call.arguments)), 0.0
    )


def play(make_round, rounds):
    """Return the chances of the second and the third call of each round, and the session."""
    state, chances = SessionState(SHOP), []
    for number in range(rounds):
        first, second, third = make_round(number)
        state.add_call(first)
        of_second = chance_of(state, second)
        state.add_call(second)
        chances.append((of_second, chance_of(state, third)))
        state.add_call(third)
    return chances, state


@pytest.mark.parametrize("make_round", [same_round, moving_round])
def test_a_plain_pattern_is_predicted_from_its_third_repetition_on(make_round):
    chances, _ = play(make_round, 6)
    assert min(chances[2]) >= 0.5
    assert all(min(later) > min(earlier) for earlier, later in pairwise(chances[1:]))


def test_what_came_after_a_change_does_not_count_as_following():
    state = SessionState(SHOP)
    user, order = same_round(0)[1:]
    for _ in range(5):
        state.add_call(user)
        state.add_call(worlds.complete(CANCEL, {"order_id": "#W7000"}, {}, is_read_only=False))
        state.add_call(order)
    state.add_call(user)
    assert chance_of(state, order) < 0.3


def test_after_new_words_the_session_need_not_go_on_as_before():
    _, state = play(same_round, 5)
    first, second, _ = same_round(5)
    state.add_call(first)
    before = chance_of(state, second)
    state.add_statement("Thanks. Now something else.")
    assert chance_of(state, second) < before
