from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph.suggestion.next_call import fitting
from graph.suggestion.next_call.chance import load_priors
from graph.suggestion.next_call.model import NextCallModel
from graph.suggestion.next_call.observation import CallObservation, split_restarts
from graph.suggestion.next_call.predict import predict_calls
from graph.suggestion.next_call.session import MAX_CALLS, SessionState
from tests.graph.next_call import worlds

SHOP = worlds.make_shop()
CANARY = "canary_5f3a9"

texts = st.sampled_from(["#W1", "mia_li_1", "7", "", "a b c d e f g", "Mia", "2024-05-01"])
values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 99) | st.floats(allow_nan=False) | texts,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "orders", "#W9", "user_id"]), inner, max_size=3)
    ),
    max_leaves=12,
)
calls = st.builds(
    worlds.complete,
    st.integers(1, 9),
    st.dictionaries(
        st.sampled_from(["order_id", "user_id", "file", "mode", "limit", "other"]),
        values,
        max_size=3,
    ),
    values,
    is_error=st.booleans(),
)
statements = st.sampled_from(["", "the user id is mia_li_1", "List all product types of Mia Li."])
steps = st.lists(st.tuples(statements, calls), max_size=6)


def replay(found: list[CallObservation]) -> SessionState:
    state = SessionState(SHOP)
    for call in found:
        for statement in call.statements:
            state.add_observed_statement(statement)
        state.add_observed_call(call)
    return state


@settings(max_examples=60, deadline=None)
@given(steps)
def test_predictions_are_bounded_valid_and_of_known_tools_that_read(history):
    state = SessionState(SHOP)
    observed = []
    for statement, call in history:
        state.add_statement(statement)
        observed.append(state.add_call(call))
    model = NextCallModel.from_observations([observed])

    found = predict_calls(state, model, SHOP, limit=10)

    assert len(found) <= 10
    assert [p.chance for p in found] == sorted((p.chance for p in found), reverse=True)
    for predicted in found:
        profile = SHOP.tools[predicted.tool]
        assert profile.is_read_only
        assert set(profile.required) <= set(predicted.arguments) <= set(profile.parameters)
        assert set(predicted.sources) == set(predicted.arguments)
        for name, value in predicted.arguments.items():
            kind = int if profile.parameters[name].types == {"integer"} else str
            assert isinstance(value, kind)


@settings(max_examples=60, deadline=None)
@given(steps)
def test_an_observation_survives_json_and_rebuilds_the_same_session(history):
    live = SessionState(SHOP)
    observed = []
    for statement, call in history:
        live.add_statement(statement, {worlds.COUNT: 0.8, worlds.GET_USER: 0.2})
        observed.append(live.add_call(call))

    read = [CallObservation.from_json(json.loads(json.dumps(o.to_json()))) for o in observed]

    assert read == observed
    stored = replay(read)
    assert stored.order == live.order
    assert stored.by_source == live.by_source
    assert stored.used_since_write == live.used_since_write
    assert NextCallModel.from_observations([read]).counts == (
        NextCallModel.from_observations([observed]).counts
    )


def test_nothing_that_client_or_server_chose_is_in_an_observation():
    state = SessionState(SHOP)
    state.add_statement(f"user id {CANARY} '{CANARY} quoted' {CANARY}@example.com")
    observation = state.add_call(
        worlds.complete(
            worlds.GET_USER,
            {"user_id": CANARY, CANARY: CANARY, "nested": {CANARY: [CANARY]}},
            {
                CANARY: CANARY,
                "orders": [CANARY, {CANARY: f"text with {CANARY}."}],
                "a": f"{CANARY}!",
            },
        )
    )

    assert CANARY not in json.dumps(observation.to_json())
    assert "5f3a9" not in json.dumps(observation.to_json())


def test_errors_teach_no_values():
    state = SessionState(SHOP)

    observation = state.add_call(
        worlds.complete(worlds.GET_USER, {"user_id": "u"}, {"id": "x1"}, is_error=True)
    )

    assert observation.values == ()


def test_a_long_session_begins_anew():
    state = SessionState(SHOP)
    observed = [
        state.add_call(worlds.complete(worlds.LIST_TYPES, {}, {"id": f"x{number}"}))
        for number in range(MAX_CALLS + 2)
    ]

    assert len(state.calls) == 2
    stored = [CallObservation.from_json(one.to_json()) for one in observed]
    assert stored == observed
    assert [len(part) for part in split_restarts(stored)] == [MAX_CALLS, 2]


def test_counting_in_two_steps_knows_what_both_taught():
    history = worlds.make_history(SHOP)

    model = NextCallModel.from_observations(history[:6]).with_observations([*history[6:], []])

    assert model.counts["sessions",] == 12
    assert model.list_followers(worlds.FIND_USER)[0] in (worlds.GET_USER, worlds.GET_ORDER)
    assert model.list_sources(worlds.GET_ORDER, "order_id")[0] == (
        "result",
        worlds.GET_USER,
        "/orders/*",
    )


def test_few_sessions_keep_the_shipped_prior():
    priors = load_priors()

    assert fitting.fit_model([], SHOP, priors).chances == priors["cold"]
    two = fitting.fit_model(worlds.make_history(SHOP, 2), SHOP, priors)
    assert two.chances == priors["learned"]


def test_candidates_of_sessions_that_differ_count_for_less_than_independent_ones():
    sessions = np.repeat(np.arange(40), 10)
    alike = np.tile(np.array([1.0, 0.0]), 200)
    unlike = np.repeat(np.tile(np.array([1.0, 0.0]), 20), 10)
    logits = np.zeros(400)

    assert fitting.estimate_design_effect(logits, alike, sessions) == 1.0
    assert fitting.estimate_design_effect(logits, unlike, sessions) == pytest.approx(10, rel=0.01)
    assert fitting.estimate_design_effect(logits, np.zeros(400), sessions) >= 1.0


def test_outcomes_that_only_tell_sessions_apart_move_the_chances_less():
    prior = load_priors()["learned"]
    labelled = fitting.label_sessions(worlds.make_history(SHOP), SHOP)
    moved = []
    for sessions in (np.arange(len(labelled.rows)), labelled.came.astype(np.int64)):
        chances = fitting.fit_chances(replace(labelled, sessions=sessions), prior)
        difference = np.subtract(chances.ever.coefficients, prior.ever.coefficients)
        moved.append(float(np.abs(difference).sum()))

    assert moved[1] < 0.7 * moved[0]


def test_chances_that_promise_too_much_on_other_sessions_are_taken_back():
    labelled = fitting.label_sessions(worlds.make_history(SHOP), SHOP)
    chances = load_priors()["learned"]
    never = replace(labelled, came=np.zeros(len(labelled.rows)))

    calibrated = fitting.calibrate_chances(chances, [never], [chances])

    before, after = (np.mean(one.ever.estimate(labelled.rows)) for one in (chances, calibrated))
    assert after < 0.5 * before
