from __future__ import annotations

import pytest

from graph.suggestion.next_call import fitting
from graph.suggestion.next_call.candidates import generate_candidates
from graph.suggestion.next_call.chance import FEATURES, load_priors
from graph.suggestion.next_call.features import compute_features
from graph.suggestion.next_call.model import DEFAULT_DURATION_MS, NextCallModel
from graph.suggestion.next_call.predict import coerce_value, predict_calls
from graph.suggestion.next_call.profiles import build_profiles
from graph.suggestion.next_call.session import SessionState
from tests.graph.next_call import worlds
from tests.graph.next_call.worlds import (
    CANCEL,
    COUNT,
    FIND_FLIGHT,
    FIND_USER,
    GET_ORDER,
    GET_USER,
    LIST_TYPES,
)

SHOP = worlds.make_shop()


def predict(state: SessionState, model: NextCallModel | None = None, limit: int = 48):
    return predict_calls(state, model or NextCallModel(), SHOP, limit=limit)


@pytest.fixture(scope="module")
def learned() -> NextCallModel:
    return fitting.fit_model(worlds.make_history(SHOP), SHOP, load_priors())


def test_an_order_id_in_a_result_is_predicted_from_its_name_before_any_history():
    state = SessionState(SHOP)
    state.add_call(
        worlds.complete(GET_USER, {"user_id": "mia_li_1"}, {"orders": [{"order_id": "#W7"}]})
    )

    found = {(p.tool, p.arguments.get("order_id")): p for p in predict(state)}

    predicted = found[GET_ORDER, "#W7"]
    assert predicted.sources == {"order_id": "result:shop"}
    assert predicted.saves_ms == DEFAULT_DURATION_MS
    assert "#W7" not in predicted.reason


def test_the_user_that_was_found_is_looked_up_next(learned):
    state = SessionState(SHOP)
    state.add_call(worlds.list_calls(7)[0])

    best = predict(state, learned)[0]

    assert (best.tool, best.arguments) == (GET_USER, {"user_id": "mia_li_7"})
    assert best.chance > 0.5
    assert 0 < best.next_chance <= best.chance
    assert best.saves_ms == 250


def test_each_item_of_a_list_is_a_prediction_and_the_first_one_is_expected_soonest(learned):
    state = SessionState(SHOP)
    for call in worlds.list_calls(7)[:2]:
        state.add_call(call)

    found = [p for p in predict(state, learned) if p.tool == GET_ORDER]

    assert {p.arguments["order_id"] for p in found[:3]} == {"#W7000", "#W7001", "#W7002"}
    soonest = max(found, key=lambda p: p.next_chance)
    assert soonest.arguments == {"order_id": "#W7000"}


def test_tools_that_are_not_known_to_read_are_never_predicted(learned):
    state = SessionState(SHOP)
    for call in worlds.list_calls(7)[:5]:
        state.add_call(call)

    assert CANCEL not in {p.tool for p in predict(state, learned)}


def test_what_the_client_states_is_predicted():
    state = SessionState(SHOP)
    state.add_statement("Show the user details of user id sara_doe_496, please.", {GET_USER: 0.9})

    found = {p.tool: p for p in predict(state)}

    assert found[GET_USER].arguments == {"user_id": "sara_doe_496"}
    assert found[GET_USER].sources == {"user_id": "stated"}


def test_arguments_of_one_item_are_combined_before_those_of_two():
    state = SessionState(SHOP)
    legs = [
        {"origin": "JFK", "destination": "SFO"},
        {"origin": "LAX", "destination": "BOS"},
    ]
    state.add_call(worlds.complete(LIST_TYPES, {}, {"legs": legs}))

    found = [dict(p.arguments) for p in predict(state) if p.tool == FIND_FLIGHT]

    assert found[0] in legs
    assert {"origin": "JFK", "destination": "BOS"} not in found[:2]


def test_arguments_that_the_schema_names_are_learned():
    history = [
        worlds.observe(
            [
                worlds.complete(FIND_USER, {"email": "a@b.c"}, {"file": f"f{n}.txt"}),
                worlds.complete(COUNT, {"file": f"f{n}.txt", "mode": "words"}, 3),
            ],
            SHOP,
        )
        for n in range(8)
    ]
    model = fitting.fit_model(history, SHOP, load_priors())
    state = SessionState(SHOP)
    state.add_call(worlds.complete(FIND_USER, {"email": "a@b.c"}, {"file": "new.txt"}))

    best = predict(state, model)[0]

    assert (best.tool, best.arguments) == (COUNT, {"file": "new.txt", "mode": "words"})
    assert best.sources["mode"] == "constant"


def test_no_more_predictions_than_asked_for_and_each_call_once(learned):
    state = SessionState(SHOP)
    for call in worlds.list_calls(7)[:2]:
        state.add_call(call)

    found = predict(state, learned, limit=2)

    assert len(found) == 2
    keys = [(p.tool, str(p.arguments)) for p in predict(state, learned)]
    assert len(keys) == len(set(keys))
    assert predict(state, learned) == predict(state, learned)


def test_before_anything_happened_little_is_predicted():
    assert all(p.chance < 0.5 for p in predict(SessionState(SHOP)))


@pytest.mark.parametrize(
    ("value", "types", "expected"),
    [
        (7, {"string"}, "7"),
        ("7", {"integer"}, 7),
        ("7.5", {"number"}, 7.5),
        ("7", {"number"}, 7),
        ("7.5", {"integer"}, None),
        (7.0, {"integer"}, 7),
        (7.5, {"integer"}, None),
        (7.5, {"number"}, 7.5),
        ("x", {"number"}, None),
        ("1e300", {"number"}, None),
        ("inf", {"number"}, None),
        (["a"], {"array"}, ["a"]),
        (["a"], {"string"}, None),
        (["a"], set(), ["a"]),
        (" a ", {"string"}, "a"),
    ],
)
def test_values_take_a_type_that_the_parameter_accepts(value, types, expected):
    assert coerce_value(value, frozenset(types)) == expected


@pytest.mark.parametrize(
    ("found", "expected"), [(["7", "8"], [7, 8]), (["7.5", "8"], None), (["7", "7.5"], None)]
)
def test_the_items_of_a_list_take_the_type_that_the_parameter_declares(found, expected):
    numbers = {"type": "array", "items": {"type": "integer"}}
    tools = build_profiles(
        [
            worlds.make_tool(1, "list_order_ids"),
            worlds.make_tool(2, "get_orders", {"order_ids": numbers}),
        ]
    )
    state = SessionState(tools)
    state.add_call(worlds.complete(1, {}, {"order_ids": found}))

    predicted = predict_calls(state, NextCallModel(), tools, limit=9)

    lists = [one.arguments["order_ids"] for one in predicted if one.tool == 2]
    assert lists == ([] if expected is None else [expected])


def test_a_tool_called_once_at_a_time_shares_its_chance_among_its_candidates():
    state = SessionState(SHOP)
    state.add_call(
        worlds.complete(worlds.FIND_USER, {"email": "a@b.c"}, {"user_id": ["u1", "u2"]})
    )
    calls = [worlds.complete(worlds.GET_USER, {"user_id": f"u{n}"}, {}) for n in (1, 2)]
    once = NextCallModel.from_observations([worlds.observe(calls[:1], SHOP)] * 20)
    both = NextCallModel.from_observations([worlds.observe(calls, SHOP)] * 20)

    expected = [
        max(row[FEATURES.index("expected_share")] for row in compute_features(state, model, found))
        for model in (once, both)
        for found in [[c for c in generate_candidates(state, model) if c.tool == worlds.GET_USER]]
    ]

    assert expected[1] > expected[0] + 0.5


def test_a_model_that_was_learned_since_weighs_the_values_of_a_session_anew(learned):
    calls = worlds.list_calls(7)
    state = SessionState(SHOP)
    for call in calls[:2]:
        state.add_call(call)
    predict_calls(state, NextCallModel(), SHOP, limit=16)
    fresh = SessionState(SHOP)
    for call in calls[:2]:
        fresh.add_call(call)

    assert predict_calls(state, learned, SHOP, limit=16) == predict_calls(
        fresh, learned, SHOP, limit=16
    )
