import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_project.foundation.references import (
    escape_literals,
    is_reference_mark,
    iterate_marks,
    iterate_references,
    make_reference,
    parse_item,
    parse_literal,
    parse_reference,
)

KEYS = st.sampled_from(["$ref", "pointer", "$item", "$literal", "a", "b/c", "d~e", ""])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (make_reference("a", "/x"), [("", ("a", "/x"))]),
        ({"$ref": "a"}, []),
        ({"type": "array", "items": {"$ref": "#/$defs/order"}}, []),
        (
            [{"deep": make_reference("a", "")}, make_reference("b", "")],
            [("/0/deep", ("a", "")), ("/1", ("b", ""))],
        ),
        ({"a/b": {"c~d": make_reference("a", "")}}, [("/a~1b/c~0d", ("a", ""))]),
        ({"$literal": make_reference("a", "")}, []),
        ({"$ref": "a", "pointer": "", "more": 1}, []),
        ({"$ref": 3, "pointer": ""}, []),
        ({"$ref": "a", "pointer": make_reference("b", "")}, []),
        ("$ref", []),
    ],
)
def test_references_are_found_at_any_depth_and_literals_are_none(value, found):
    assert [(where, target[:2]) for where, target in iterate_references(value)] == found


@pytest.mark.parametrize(
    "value", [None, 7, "$ref", [], {}, {"$ref": "a"}, {"$item": "", "$literal": 1}]
)
def test_other_objects_are_literal_values(value):
    assert not is_reference_mark(value)
    assert (parse_reference(value), parse_item(value), parse_literal(value)) == (None, None, None)


@pytest.mark.parametrize("value", [{"$ref": 1, "pointer": ""}, {"$item": 0}])
def test_a_malformed_reference_is_recognised_as_such(value):
    assert is_reference_mark(value)
    assert (parse_reference(value), parse_item(value)) == (None, None)


@given(JSON)
def test_escaped_values_contain_no_references(value):
    assert all(
        parse_literal(mark.value) is not None for mark in iterate_marks(escape_literals(value))
    )
