import pytest

from execution.planning.output_schema import ANYTHING, MAX_FORMS, follow, items, may_be

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
def test_what_a_schema_tells_of_has_a_place(pointer):
    assert follow(LISTED, pointer)


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
def test_what_a_schema_rules_out_has_none(pointer):
    assert follow(LISTED, pointer) == ()


def test_what_a_list_holds_is_told():
    assert items(LISTED, "/maybe") == ({"type": "integer"},)
    assert items(LISTED, "/any") == ANYTHING
    assert items(LISTED, "/by_name") == ()
    assert items(LISTED, "/commits")[0]["properties"].keys() == {"sha", "parent"}


def test_a_schema_that_refers_to_itself_without_end_may_hold_anything():
    assert follow({"properties": {"a": {"$ref": "#/properties/a"}}}, "/a/b") == ANYTHING


def test_with_very_many_forms_it_may_be_anything():
    forms = [{"type": "string"}] * (MAX_FORMS + 1)
    assert follow({"properties": {"a": {"anyOf": forms}}}, "/a/b") == ANYTHING


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
    assert may_be(schema, "array") is may
