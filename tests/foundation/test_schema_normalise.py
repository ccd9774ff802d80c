import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_project.foundation.schema_normalise import MAX_DEPTH, normalise

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=12,
)
KEYWORDS = st.sampled_from(
    [
        *("type", "properties", "required", "items", "additionalItems", "additionalProperties"),
        *("anyOf", "allOf", "enum", "const", "minimum", "exclusiveMinimum", "multipleOf"),
        *("maxLength", "minItems", "pattern", "format", "$ref", "$defs", "dependencies"),
        *("dependentRequired", "uniqueItems", "nullable", "not", "$schema", "default", "$id"),
    ]
)
SCHEMAS = st.recursive(
    JSON | st.sampled_from(["string", "dict", "date", "int | None"]),
    lambda inner: st.dictionaries(KEYWORDS | st.text(max_size=3), inner, max_size=5),
    max_leaves=15,
)


def fields(**properties):
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("published", "expected"),
    [
        ({}, {"type": "object"}),
        (True, {"type": "object"}),
        ({"type": ["object", "null"]}, {"type": "object"}),
        ({"type": "dict"}, {"type": "object"}),
        (fields(a={"type": "float"}), fields(a={"type": "number"})),
        (fields(a="str"), fields(a={"type": "string"})),
        (fields(a={"type": "date"}), fields(a={"type": "string", "format": "date"})),
        (
            fields(a={"type": "date", "format": "x"}),
            fields(a={"type": "string", "format": "x"}),
        ),
        (fields(a={"type": ["int", "str"]}), fields(a={"type": ["integer", "string"]})),
        (fields(a={"type": ["int", "any"]}), fields(a={})),
        (fields(a={"type": []}), fields(a={})),
        (fields(a={"type": {"type": "int"}}), fields(a={"type": "integer"})),
        (
            fields(a={"type": {"type": "int", "title": "A"}}),
            fields(a={"type": "integer", "title": "A"}),
        ),
        ({"a": {"type": "string"}}, fields(a={"type": "string"})),
        (
            {"properties": [{"name": "a", "type": "int"}]},
            fields(a={"type": "integer"}),
        ),
        (
            fields(a={"type": "int", "required": True}, b={"required": False}),
            {**fields(a={"type": "integer"}, b={}), "required": ["a"]},
        ),
        (
            {"required": ["b"], "properties": {"a": {"required": True}}},
            {"type": "object", "required": ["b", "a"], "properties": {"a": {}}},
        ),
        (
            {"properties": {"a": {"required": True}}, "required": ["b", "a", 3]},
            {"type": "object", "properties": {"a": {}}, "required": ["a", "b"]},
        ),
        ({"required": "a"}, {"type": "object", "required": ["a"]}),
        ({"required": []}, {"type": "object", "required": []}),
        ({"required": None}, {"type": "object"}),
        (
            fields(a={"type": "integer", "nullable": True}),
            fields(a={"type": ["integer", "null"], "nullable": True}),
        ),
        (
            fields(a={"type": ["string"], "nullable": True, "enum": ["x"]}),
            fields(a={"type": ["string", "null"], "nullable": True, "enum": ["x", None]}),
        ),
        (fields(a={"nullable": True}), fields(a={"nullable": True})),
        (fields(a={"enum": ("x", "y")}), fields(a={"enum": ["x", "y"]})),
        (fields(a={"enum": {"x": 1}}), fields(a={"enum": ["x"]})),
        (fields(a={"minimum": "3"}), fields(a={"minimum": 3.0})),
        (
            fields(a={"minimum": 3, "exclusiveMinimum": True}),
            fields(a={"exclusiveMinimum": 3}),
        ),
        (fields(a={"maximum": 3, "exclusiveMaximum": False}), fields(a={"maximum": 3})),
        (fields(a={"exclusiveMaximum": True}), fields(a={})),
        (
            fields(a={"maxLength": "7", "minLength": 2.0}),
            fields(a={"maxLength": 7, "minLength": 2}),
        ),
        (
            fields(a={"items": ["int"], "additionalItems": False}),
            fields(a={"prefixItems": [{"type": "integer"}], "items": False}),
        ),
        (fields(a={"items": {}, "additionalItems": False}), fields(a={"items": {}})),
        (
            {"dependencies": {"a": ["b", 1], "c": {"required": ["d"]}}},
            {
                "type": "object",
                "dependentRequired": {"a": ["b"]},
                "dependentSchemas": {"c": {"required": ["d"]}},
            },
        ),
        ({"dependencies": {}}, {"type": "object"}),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, {"type": "object"}),
        (
            {"anyOf": [{"properties": {"a": "int"}}], "uniqueItems": True, "x-own": {"y": 1}},
            {
                "type": "object",
                "anyOf": [{"properties": {"a": {"type": "integer"}}}],
                "uniqueItems": True,
                "x-own": {"y": 1},
            },
        ),
        (
            {
                "definitions": {"p": {"type": "dict"}},
                "properties": {"a": {"$ref": "#/definitions/p"}},
            },
            {
                "type": "object",
                "definitions": {"p": {"type": "object"}},
                "properties": {"a": {"$ref": "#/definitions/p"}},
            },
        ),
        (fields(a=True, b=False), fields(a=True, b=False)),
        ({"properties": {1: "int", "a": {}}}, fields(a={})),
    ],
)
def test_malformed_schemas_found_in_practice_are_normalised(published, expected):
    assert normalise(published) == expected


@pytest.mark.parametrize(
    ("published", "expected"),
    [
        (None, {"type": "object"}),
        ([], {"type": "object"}),
        ({"type": "array"}, {"type": "object"}),
        (fields(a=7), fields(a={})),
        (fields(a={"type": "zonk"}), fields(a={})),
        ({"properties": 7}, {"type": "object"}),
        ({"required": 7}, {"type": "object"}),
        ({"allOf": {}}, {"type": "object"}),
        ({"anyOf": []}, {"type": "object"}),
        ({"$defs": []}, {"type": "object"}),
        ({"dependencies": 7}, {"type": "object"}),
        ({"dependentRequired": 7}, {"type": "object"}),
        (fields(a={"enum": 7}), fields(a={})),
        (fields(a={"minimum": "low"}), fields(a={})),
        (fields(a={"maximum": float("inf")}), fields(a={})),
        (fields(a={"minimum": True}), fields(a={})),
        (fields(a={"multipleOf": 0}), fields(a={})),
        (fields(a={"minLength": -1}), fields(a={})),
        (fields(a={"minLength": 1.5}), fields(a={})),
        (fields(a={"pattern": 7}), fields(a={})),
        (fields(a={"uniqueItems": "yes"}), fields(a={})),
    ],
)
def test_what_cannot_be_interpreted_is_left_out(published, expected):
    assert normalise(published) == expected


def test_a_sound_schema_is_left_as_it_is():
    sound = {
        **fields(query={"type": "string", "minLength": 1, "default": "x"}),
        "required": ["query"],
        "additionalProperties": False,
    }
    found = normalise(sound)
    assert found == sound
    assert found is not sound


def test_parts_beyond_the_depth_that_is_read_accept_anything():
    deep: dict = {"type": "int"}
    for _ in range(MAX_DEPTH + 5):
        deep = {"type": "object", "properties": {"a": deep}}
    found = normalise(deep)
    for _ in range(MAX_DEPTH):
        found = found["properties"]["a"]
    assert found == {"type": "object", "properties": {"a": {}}}


@given(SCHEMAS)
def test_normalising_any_value_gives_a_stable_object_schema(published):
    once = normalise(published)
    assert once["type"] == "object"
    assert normalise(once) == once


@given(SCHEMAS)
def test_normalised_schemas_satisfy_the_meta_schema(published):
    schema = normalise(published)
    errors = jsonschema.Draft202012Validator(
        jsonschema.Draft202012Validator.META_SCHEMA
    ).iter_errors(schema)
    accepted = {"$ref", "$dynamicRef", "$id", "$anchor", "$dynamicAnchor", "pattern"}
    unforeseen = [
        error.message
        for error in errors
        # Texts are carried over as they are; whether they can be followed is judged elsewhere.
        if not accepted & {str(step) for step in error.absolute_path}
        and error.validator not in ("format", "pattern")
    ]
    assert unforeseen == []
