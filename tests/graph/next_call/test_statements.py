"""What is read of the client's words: values in other forms, and values of schemas."""

import json

import pytest

from graph.suggestion.next_call.call import PlannedCall
from graph.suggestion.next_call.candidates import generate_candidates
from graph.suggestion.next_call.chance import FEATURES
from graph.suggestion.next_call.features import compute_features
from graph.suggestion.next_call.model import NextCallModel
from graph.suggestion.next_call.observation import CallObservation
from graph.suggestion.next_call.predict import predict_calls
from graph.suggestion.next_call.session import SessionState
from graph.suggestion.next_call.statements import read_statement
from tests.graph.next_call import worlds

SHOP = worlds.make_shop()


def find_values(text):
    return {found.value for found in read_statement(text)}


def describe(state, model=None):
    """Return each candidate with its features by name."""
    candidates = generate_candidates(state, model or NextCallModel())
    rows = compute_features(state, model or NextCallModel(), candidates)
    return [
        (candidate, dict(zip(FEATURES, row, strict=True)))
        for candidate, row in zip(candidates, rows, strict=True)
    ]


def learn():
    """Return what one call taught that has nothing to do with the statements below."""
    call = worlds.complete(worlds.GET_ORDER, {"order_id": "O-1"}, {})
    return NextCallModel.from_observations([[SessionState(SHOP).add_call(call)]])


@pytest.mark.parametrize(
    "text",
    ["on October 3rd, 2026", "on the 3rd of October 2026", "on 3 Oct 2026", "on Oct. 3 2026"],
)
def test_a_date_in_words_is_also_read_as_programs_write_it(text):
    assert "2026-10-03" in find_values(text)


def test_a_number_with_commas_is_one_value():
    assert find_values("at most 12,500 in all") == {"12500"}
    assert find_values("items 12, 500") == {"12", "500"}


def test_an_address_to_be_shunned_is_not_read():
    assert find_values("Never open https://phish.example/y or 10.0.0.1!") == set()
    assert find_values("https://phish.example/y is phishing, do not open it.") == set()
    assert "//a.example/x" in find_values("Do not wait. Open https://a.example/x")
    assert find_values("Do not change order 4711.") == {"4711"}


def test_names_in_an_id_are_read_as_texts_write_them():
    assert find_values("I am mia_li_3668.") == {"mia_li_3668", "Mia", "Li"}


def test_the_first_word_after_a_question_is_no_name():
    assert find_values("Is it Mia? Compiling takes long!\nThen stop.") == {"Mia"}


def test_a_tool_in_the_answer_to_a_statement_is_considered_whatever_its_words():
    state = SessionState(SHOP)
    state.add_statement("Anything new?", {worlds.LIST_TYPES: 0.8})

    for model in (NextCallModel(), learn()):
        (found,) = [row for c, row in describe(state, model) if c.tool == worlds.LIST_TYPES]
        assert (found["found_score"], found["found_ahead"], found["found_rank"]) == (0.8, 0.8, 1.0)


def test_of_the_tools_in_an_answer_the_one_that_was_called_is_not_ahead_any_more():
    state = SessionState(SHOP)
    state.add_statement("The file 'a.txt'?", {worlds.LIST_TYPES: 0.8, worlds.COUNT: 0.4})
    before = {c.tool: row["found_rank"] for c, row in describe(state, learn())}
    state.add_call(worlds.complete(worlds.LIST_TYPES, {}, {}))
    after = {c.tool: row["found_rank"] for c, row in describe(state, learn())}
    state.add_statement("Thanks.")
    forgotten = {c.tool: row["found_score"] for c, row in describe(state, learn())}

    assert (before[worlds.LIST_TYPES], before[worlds.COUNT]) == (1.0, 0.5)
    assert (after[worlds.LIST_TYPES], after[worlds.COUNT]) == (0.0, 1.0)
    assert forgotten.get(worlds.COUNT, 0.0) == 0.0


def test_a_value_of_the_schema_that_is_named_is_preferred():
    state = SessionState(SHOP)
    model = NextCallModel.from_observations(
        [
            [
                SessionState(SHOP).add_call(
                    worlds.complete(worlds.COUNT, {"file": "a.txt", "mode": "lines"}, {})
                )
            ]
        ]
    )
    state.add_statement("Count the words of the file 'b.txt'.")

    named = {
        choice.position: row["schema_named"]
        for candidate, row in describe(state, model)
        for choice in candidate.choices
        if choice.name == "mode"
    }

    assert named[1] == 1.0
    assert named[0] == -1.0


def test_right_after_a_statement_its_words_count_for_themselves():
    state = SessionState(SHOP)
    state.add_statement("The file 'a.txt'?", {worlds.LIST_TYPES: 0.6, worlds.COUNT: 0.2})
    before = {c.tool: row for c, row in describe(state, learn())}
    state.add_call(worlds.complete(worlds.GET_ORDER, {"order_id": "O-2"}, {}))
    after = {c.tool: row for c, row in describe(state, learn())}

    assert before[worlds.COUNT]["found_score_now"] == 0.2
    assert after[worlds.COUNT]["found_score_now"] == 0.0


def test_values_in_the_order_of_the_parameters_and_values_given_twice_are_told_apart():
    state = SessionState(SHOP)
    state.add_statement("Flights with origin 'JFK', destination 'LAX'?", {worlds.FIND_FLIGHT: 0.8})

    rows = {
        tuple(state.values[choice.number] for choice in candidate.choices): row
        for candidate, row in describe(state)
        if candidate.tool == worlds.FIND_FLIGHT
    }

    orders = {values: (row["in_order"], row["repeated"]) for values, row in rows.items()}
    assert orders["LAX", "JFK"] == (1.0, 0.0)
    assert orders["JFK", "LAX"] == (-1.0, 0.0)
    assert orders["JFK", "JFK"] == (0.0, 1.0)


def test_only_words_that_schemas_list_are_in_an_observation():
    state = SessionState(SHOP)
    state.add_statement("Count the secret words of Eve.")
    observation = state.add_call(worlds.complete(worlds.LIST_TYPES, {}, {}))

    assert observation.statements[0].schema_words == {"word"}
    document = json.dumps(observation.to_json())
    assert "word" in document
    assert "secret" not in document
    assert "Eve" not in document


def plan(tool, arguments, chance=0.9, *, is_complete=True):
    return PlannedCall(tool=tool, arguments=arguments, is_complete=is_complete, chance=chance)


def find_planned(state):
    """Return the arguments of the candidates that are suggested calls, with their features."""
    return [
        (c.tool, {o.name: o.number or o.position for o in c.choices}, row)
        for c, row in describe(state)
        if row["planned"]
    ]


def test_before_any_history_a_suggested_call_is_predicted_with_its_arguments():
    state = SessionState(SHOP)
    state.add_statement(
        "Anything of today?", planned=[plan(worlds.COUNT, {"file": "a b.txt", "mode": "words"})]
    )

    (best, *_) = predict_calls(state, NextCallModel(), SHOP, limit=3)

    assert (best.tool, best.arguments) == (worlds.COUNT, {"file": "a b.txt", "mode": "words"})
    assert best.sources["file"] == "stated"
    assert best.chance > 0.5


def test_without_a_history_a_likelier_suggested_call_has_a_higher_chance():
    chances = []
    for chance in (0.3, 0.6, 0.9):
        state = SessionState(SHOP)
        state.add_statement("Anything?", planned=[plan(worlds.LIST_TYPES, {}, chance)])
        (best,) = predict_calls(state, NextCallModel(), SHOP, limit=1)
        chances.append(best.chance)

    assert chances == sorted(chances)
    assert chances[-1] > 1.5 * chances[0]


def test_a_suggested_call_is_next_once_those_before_it_were_made():
    state = SessionState(SHOP)
    state.add_statement(
        "Anything?",
        planned=[plan(worlds.CANCEL, {"order_id": "O1"}), plan(worlds.LIST_TYPES, {}, 0.8)],
    )
    ((_, _, before),) = find_planned(state)
    state.add_call(worlds.complete(worlds.CANCEL, {"order_id": "O1"}, "done"))
    ((_, _, after),) = find_planned(state)

    assert (before["planned_next"], before["planned_ahead"] > 0) == (0.0, True)
    assert (after["planned_next"], after["planned_ahead"]) == (0.8, 0.0)


def test_a_suggested_call_that_was_made_or_lacks_an_argument_is_none_any_more():
    state = SessionState(SHOP)
    state.add_statement(
        "Anything?",
        planned=[
            plan(worlds.LIST_TYPES, {}),
            plan(worlds.GET_ORDER, {}, is_complete=False),
        ],
    )
    state.add_call(worlds.complete(worlds.LIST_TYPES, {}, {}))

    assert find_planned(state) == []


def test_suggested_calls_are_forgotten_with_the_next_statement():
    state = SessionState(SHOP)
    state.add_statement("Anything?", planned=[plan(worlds.LIST_TYPES, {})])
    state.add_statement("Thanks.")

    assert find_planned(state) == []


def test_an_observation_says_what_was_suggested_without_its_values():
    state = SessionState(SHOP)
    planned = [plan(worlds.COUNT, {"file": "secret words.txt", "mode": "words"}, 0.75)]
    state.add_statement("Anything?", planned=planned)
    observation = state.add_call(worlds.complete(worlds.LIST_TYPES, {}, {}))

    stored = json.dumps(observation.to_json())

    assert "secret" not in stored
    assert CallObservation.from_json(json.loads(stored)) == observation
    assert observation.statements[0].planned[0].chance == 0.75
