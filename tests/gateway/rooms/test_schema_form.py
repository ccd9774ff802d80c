"""Forms of tools: inputs from a schema, and arguments from what was entered."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_project.console.rooms import schema_form

SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "Where."},
        "depth": {"type": "integer", "default": 2, "minimum": 1},
        "ratio": {"type": ["number", "null"]},
        "force": {"type": "boolean"},
        "mode": {"enum": ["fast", "slow", 3]},
        "ids": {"type": "array", "items": {"type": "integer"}},
        "names": {"type": "array", "items": {"type": "string"}, "default": ["a", "b"]},
        "any": {},
        "filter": {
            "type": "object",
            "properties": {"since/until": {"type": "string"}, "deep": {"type": "object"}},
            "required": ["since/until"],
        },
    },
    "required": ["path", "filter"],
}


def fields_by_label():
    return {field.label: field for field in schema_form.build_fields(SCHEMA)}


def read(**texts):
    fields = schema_form.build_fields(SCHEMA)
    given_texts = {"path": "/x", "filter → since/until": "now"} | texts
    return schema_form.read_arguments(fields, [given_texts.get(f.label, "") for f in fields])


def test_each_kind_of_argument_has_its_input():
    kinds = {label: field.kind for label, field in fields_by_label().items()}
    assert kinds == {
        "path": "text",
        "filter → since/until": "text",
        "filter → deep": "json",
        "depth": "integer",
        "ratio": "number",
        "force": "boolean",
        "mode": "choice",
        "ids": "lines",
        "names": "lines",
        "any": "json",
    }


def test_required_arguments_come_first_and_defaults_are_shown():
    fields = schema_form.build_fields(SCHEMA)
    assert [field.is_required for field in fields[:3]] == [True, True, False]
    assert fields_by_label()["depth"].text == "2"
    assert fields_by_label()["names"].text == "a\nb"
    assert fields_by_label()["mode"].choices == ('"fast"', '"slow"', "3")


def test_what_is_entered_becomes_typed_arguments():
    found, problems = read(
        depth="3", ratio="0.5", force="false", mode='"slow"', ids="1\n\n2", any='{"a": [1]}',
        names="x y",
    )  # fmt: skip
    assert problems == {}
    assert found == {
        "path": "/x",
        "filter": {"since/until": "now"},
        "depth": 3,
        "ratio": 0.5,
        "force": False,
        "mode": "slow",
        "ids": [1, 2],
        "names": ["x y"],
        "any": {"a": [1]},
    }


@pytest.mark.parametrize(
    ("label", "text", "words"),
    [
        ("path", " ", "requires"),
        ("depth", "2.5", "whole number"),
        ("depth", "true", "whole number"),
        ("ratio", "much", "number"),
        ("force", "maybe", "yes or no"),
        ("ids", "1\nx", "whole number"),
        ("any", "{", "JSON"),
        ("any", "[" * 100_000, "JSON"),
    ],
)
def test_what_cannot_be_read_is_said_at_its_field(label, text, words):
    _, problems = read(**{label: text})
    labels = [field.label for field in schema_form.build_fields(SCHEMA)]
    assert words in problems[labels.index(label)]


def test_a_form_has_a_bounded_number_of_fields_and_a_tree_of_rows():
    wide = {"properties": {f"p{n}": {"type": "string"} for n in range(1_000)}}
    assert len(schema_form.build_fields(wide)) == schema_form.MAX_FIELDS
    assert len(schema_form.list_tree(wide)) == schema_form.MAX_TREE_ROWS


def test_the_tree_shows_items_of_lists_and_limits():
    rows = schema_form.list_tree(
        {
            "properties": {
                "edits": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"mode": {"enum": list(range(12))}, "to": {"minimum": 1}},
                    },
                }
            }
        }
    )
    assert [(row.depth, row.name) for row in rows] == [(0, "edits"), (1, "mode"), (1, "to")]
    assert rows[1].limits[0].endswith("and 2 more")
    assert rows[2].limits == ("at least 1",)


def test_types_of_alternatives_are_named():
    schema = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "number"}}]}
    assert schema_form.describe_type(schema) == "string or list of number"
    assert schema_form.describe_type({"type": "array"}) == "list"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(_JSON, st.lists(st.text(), max_size=5))
def test_any_published_schema_gives_a_form_and_a_tree(schema, texts):
    fields = schema_form.build_fields(schema)
    schema_form.read_arguments(fields, texts)
    schema_form.list_tree(schema)
