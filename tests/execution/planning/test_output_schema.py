import pytest

from execution.planning.output_schema import (
    ANY_SCHEMA,
    MAX_ALTERNATIVES,
    OutputSchema,
    WorkBudget,
    allows_type,
)

LISTED = {
    "type": "object",
    "properties": {
        "commits": {"type": "array", "items": {"$ref": "#/$defs/commit"}},
        "pair": {"type": "array", "prefixItems": [{"type": "string"}], "items": False},
        "by_name": {"type": "object", "additionalProperties": {"type": "integer"}},
        "odd": {"type": "object", "patternProperties": {"^x": {}}, "properties": {"a": True}},
        "closed": {"type": "object", "additionalProperties": False},
        "open": {"type": "object"},
        "either": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/commit"}]},
        "any": True,
        "never": False,
        "outside": {"$ref": "https://example.com/schema"},
        "lost": {"$ref": "#/$defs/nothing"},
        "both": {"allOf": [{"$ref": "#/$defs/commit"}], "properties": {"more": {}}},
        "a/b": {"type": "integer"},
        "maybe": {"type": ["array", "null"], "items": {"type": "integer"}},
    },
    "$defs": {
        "commit": {
            "type": "object",
            "properties": {"sha": {"type": "string"}, "parent": {"$ref": "#/$defs/commit"}},
        }
    },
}


def output(schema):
    return OutputSchema(schema, WorkBudget())


@pytest.mark.parametrize(
    "pointer",
    [
        "",
        "/commits",
        "/commits/0",
        "/commits/12/sha",
        "/commits/0" + "/parent" * 30 + "/sha",
        "/commits/0" + "/parent" * 5_000 + "/nobody looks so far",
        "/pair/0",
        "/by_name/ann",
        "/odd/xyz",
        "/open/whatever",
        "/either/sha",
        "/any/thing/0",
        "/outside/x",
        "/lost/x",
        "/both/sha",
        "/both/more",
        "/a~1b",
        "/maybe/0",
    ],
)
def test_a_pointer_that_the_schema_describes_exists(pointer):
    assert output(LISTED).resolve_schemas(pointer)


@pytest.mark.parametrize(
    "pointer",
    [
        "/comits",
        "/commits/sha",
        "/commits/-",
        "/commits/00",
        "/commits/0/sha/x",
        "/closed/x",
        "/either/shaa",
        "/never",
        "/by_name/ann/x",
        "/a/b",
    ],
)
def test_a_pointer_that_the_schema_rules_out_does_not_exist(pointer):
    assert output(LISTED).resolve_schemas(pointer) == ()


def test_the_item_schema_of_a_list_is_returned():
    assert output(LISTED).resolve_item_schemas("/maybe") == ({"type": "integer"},)
    assert output(LISTED).resolve_item_schemas("/any") == ANY_SCHEMA
    assert output(LISTED).resolve_item_schemas("/by_name") == ()
    assert output(LISTED).resolve_item_schemas("/commits")[0]["properties"].keys() == {
        "sha",
        "parent",
    }


def test_an_endlessly_recursive_schema_allows_any_pointer():
    assert (
        output({"properties": {"a": {"$ref": "#/properties/a"}}}).resolve_schemas("/a/b")
        == ANY_SCHEMA
    )


def test_with_very_many_forms_it_may_be_anything():
    forms = [{"type": "string"}] * (MAX_ALTERNATIVES + 1)
    assert output({"properties": {"a": {"anyOf": forms}}}).resolve_schemas("/a/b") == ANY_SCHEMA


@pytest.mark.parametrize(
    ("schema", "may"),
    [
        ({}, True),
        ({"type": "array"}, True),
        ({"type": ["null", "array"]}, True),
        ({"type": "string"}, False),
        ({"properties": {"a": {}}}, False),
    ],
)
def test_a_type_that_is_not_excluded_is_possible(schema, may):
    assert allows_type(schema, "array") is may


def test_a_schema_with_too_many_alternatives_allows_any_pointer():
    budget = WorkBudget(remaining=30)
    schema = OutputSchema(LISTED, budget)
    found = [schema.resolve_schemas(f"/commits/{number}/name") for number in range(100)]
    assert found[0] == ()
    assert found[-1] == ANY_SCHEMA
    many = {"anyOf": [{"type": "string"}] * 50}
    assert (
        OutputSchema({"properties": {"a": many}}, WorkBudget(remaining=30)).resolve_schemas("/a")
        == ANY_SCHEMA
    )
