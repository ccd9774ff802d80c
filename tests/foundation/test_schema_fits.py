"""The quick yes never says yes where the whole validator says no."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from gateway_project.foundation import schema_fits
from gateway_project.foundation.schema_normalise import normalise
from tests.foundation.test_schema_checks import LEAVES, SMALL, VALUES

PARTS = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["string", "integer", "number", "boolean", "null", "array"]),
            "minimum": SMALL,
            "maximum": SMALL,
            "minLength": SMALL,
            "maxLength": SMALL,
            "minItems": SMALL,
            "enum": st.lists(LEAVES, max_size=3),
            "description": st.just("x"),
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {"type": st.sampled_from(["object", "array", ["object", "null"]])},
        optional={
            "properties": st.dictionaries(st.sampled_from("ab"), inner),
            "required": st.lists(st.sampled_from("abc"), unique=True),
            "additionalProperties": st.booleans() | inner,
            "items": inner,
            "anyOf": st.lists(inner, min_size=1, max_size=2),
        },
    ),
    max_leaves=5,
)


@given(part=PARTS, value=VALUES)
def test_it_agrees_with_the_whole_validator(part, value):
    published = {"type": "object", "properties": {"v": part}}
    fits = schema_fits.compile_quick_check(normalise(published))
    if fits is not None and fits({"v": value}):
        assert Draft202012Validator(normalise(published)).is_valid({"v": value})


def test_the_quick_check_covers_most_ordinary_schemas():
    fits = schema_fits.compile_quick_check(
        {
            "type": "object",
            "properties": {
                "query": {"type": "string", "minLength": 1, "description": "x"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 5, "default": 3},
                "order": {"enum": ["up", "down"]},
                "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
                "any": {},
            },
            "required": ["query"],
            "additionalProperties": False,
        }
    )
    assert fits({"query": "x", "limit": 5, "order": "up", "tags": ["a", "b"], "any": [1]})
    for wrong in (
        {},
        {"query": ""},
        {"query": "x", "limit": 6},
        {"query": "x", "limit": True},
        {"query": "x", "order": "left"},
        {"query": "x", "tags": ["a", 1]},
        {"query": "x", "tags": ["a", "b", "c"]},
        {"query": "x", "other": 1},
        [],
    ):
        assert not fits(wrong)


@pytest.mark.parametrize(
    "part", [{"pattern": "a"}, {"$ref": "#"}, {"type": "string", "const": "a"}, {"enum": [1]}]
)
def test_other_keywords_need_the_full_validator(part):
    assert schema_fits.compile_quick_check({"type": "object", "properties": {"v": part}}) is None


def test_a_limit_that_is_no_number_gets_no_yes():
    assert not schema_fits.compile_quick_check({"type": "integer", "minimum": "1"})(5)
