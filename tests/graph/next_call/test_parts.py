from __future__ import annotations

import json
from importlib import resources

import pytest

from graph.suggestion.next_call import chance
from graph.suggestion.next_call.candidates import accepts_shape
from graph.suggestion.next_call.profiles import build_profiles
from graph.suggestion.next_call.results import MAX_LEAVES, MAX_TOKENS, read_leaves
from graph.suggestion.next_call.statements import MAX_VALUES, read_statement
from tests.graph.next_call import worlds

NOTHING: frozenset[str] = frozenset()


def read_prior() -> dict:
    folder = resources.files("graph.suggestion.next_call")
    return json.loads(folder.joinpath(chance.PRIOR_FILE).read_text(encoding="utf-8"))


def test_the_prior_is_small_and_survives_writing():
    assert len(json.dumps(read_prior())) < 100_000
    model = chance.load_priors()["learned"].ever
    assert chance.read_chances(chance.write_chances(model)) == model


@pytest.mark.parametrize("damage", [{"features": ["other"]}, {"models": {}}])
def test_a_prior_of_other_features_is_refused(damage):
    with pytest.raises(chance.ChancePriorError):
        chance.read_priors(read_prior() | damage)


def test_a_prior_of_another_length_is_refused():
    document = read_prior()["models"]["cold"]["ever"]
    with pytest.raises(chance.ChancePriorError, match="fit_next_call"):
        chance.read_chances(document | {"means": [0.0]})


def test_large_and_deep_results_are_read_in_part():
    deep: object = "x1"
    for _ in range(12):
        deep = {"a": deep}
    assert read_leaves(deep) == []
    assert len(read_leaves([{"id": f"x{n}"} for n in range(3_000)])) == MAX_LEAVES


def test_ids_in_a_text_are_values_of_their_own():
    found = read_leaves({"message": "moved to file_1.txt, then file_2.txt"})
    assert [leaf.value for leaf in found[1:]] == ["file_1.txt", "file_2.txt"]
    many = " ".join(f"a{n}" for n in range(40))
    assert sum(leaf.path.endswith("~") for leaf in read_leaves(many)) == MAX_TOKENS


def test_keys_that_are_data_are_masked_and_values_themselves():
    found = read_leaves({"variants": {str(n): {"price": n} for n in range(10, 13)}})
    assert {leaf.path for leaf in found} == {"/variants/{key}!", "/variants/{key}/price"}
    assert [leaf.value for leaf in found if leaf.path.endswith("!")] == ["10", "11", "12"]


def test_keys_of_several_words_are_masked():
    assert [leaf.path for leaf in read_leaves({"Mia Li": 7})] == ["/{key}!", "/{key}"]


@pytest.mark.parametrize(
    ("types", "shape", "accepted"),
    [
        ({"integer"}, "9", True),
        ({"integer"}, "a", False),
        ({"number"}, "9.9", True),
        ({"number"}, "9.9.9", False),
        ({"array"}, "[a]", True),
        ({"string"}, "[a]", False),
        (set(), "a", True),
    ],
)
def test_only_values_that_a_type_accepts_are_candidates(types, shape, accepted):
    assert accepts_shape(frozenset(types), shape) is accepted


def test_a_list_is_a_candidate_only_if_its_items_are_of_the_declared_type():
    assert accepts_shape(frozenset({"array"}), "[9]", frozenset({"integer"}))
    assert not accepts_shape(frozenset({"array"}), "[a]", frozenset({"integer"}))


def test_a_statement_is_read_up_to_a_limit():
    assert len(read_statement(" ".join(f"id{n}" for n in range(200)))) == MAX_VALUES
    assert [found.value for found in read_statement('see "the plan"')] == ["the plan"]


def test_values_that_a_description_lists_belong_to_the_schema():
    tools = build_profiles(
        [
            worlds.make_tool(
                1, "show", {"part": {"type": "string", "description": "[Enum]: fuel, doors"}}
            ),
            worlds.make_tool(
                2, "count", {"mode": {"type": "string", "description": "'l' lines or 'w' words"}}
            ),
        ]
    )
    assert tools.tools[1].parameters["part"].schema_values == ("fuel", "doors")
    assert tools.tools[2].parameters["mode"].schema_values == ("l", "w")


def test_a_letter_that_a_description_explains_is_named_by_its_explanation():
    mode = {"type": "string", "description": "Mode ('l' for lines, 'w' for words)."}
    tools = build_profiles([worlds.make_tool(1, "count", {"mode": mode})])

    parameter = tools.tools[1].parameters["mode"]

    assert parameter.schema_values == ("l", "w")
    assert parameter.value_stems == ({"line"}, {"word"})
