import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_project.foundation.schema import validate_arguments
from gateway_project.foundation.schema_validation import HOLE, has_hole

ORDER = {
    "type": "object",
    "properties": {
        "n": {"type": "integer", "minimum": 1},
        "kind": {"enum": ["a", "b"]},
        "to": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "zip": {"type": "string"}},
            "required": ["name", "zip"],
        },
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2, "uniqueItems": True},
        "fixed": {"const": {"x": 1}},
        "any": {"contains": {"const": 1}},
        "not": {"not": {"required": ["x"], "properties": {"x": {"const": 1}}}},
        "never": False,
    },
    "required": ["n", "kind"],
    "additionalProperties": False,
}
FORMS = {
    "oneOf": [
        {"properties": {"kind": {"const": "a"}}, "required": ["kind", "x"]},
        {"properties": {"kind": {"const": "b"}}, "required": ["kind", "y"]},
    ],
    "if": {"properties": {"kind": {"const": "a"}}},
    "then": {"required": ["z"]},
}
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.sampled_from(["a", "b", ""]),
    st.lists(st.sampled_from(["a", "b"]), max_size=3),
    st.dictionaries(st.sampled_from(["x", "name", "zip"]), st.sampled_from([1, "a"])),
)


def paths(schema, arguments):
    return [problem.path for problem in validate_arguments(schema, arguments, has_holes=True)]


@pytest.mark.parametrize(
    "arguments",
    [
        {"n": HOLE, "kind": HOLE},
        {"n": 1, "kind": "a", "to": HOLE},
        {"n": 1, "kind": "a", "to": {"name": HOLE, "zip": HOLE}},
        {"n": 1, "kind": "a", "tags": HOLE},
        {"n": 1, "kind": "a", "tags": [HOLE, HOLE]},
        {"n": 1, "kind": "a", "fixed": {"x": HOLE}},
        {"n": 1, "kind": "a", "any": [HOLE]},
        {"n": 1, "kind": "a", "not": {"x": HOLE}},
    ],
)
def test_a_hole_fits_wherever_some_value_would(arguments):
    assert paths(ORDER, arguments) == []


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"n": HOLE}, "/kind"),
        ({"n": "x", "kind": HOLE}, "/n"),
        ({"n": 1, "kind": HOLE, "to": {"name": HOLE}}, "/to/zip"),
        ({"n": 1, "kind": HOLE, "tags": [HOLE, 7]}, "/tags/1"),
        ({"n": 1, "kind": HOLE, "tags": [HOLE, HOLE, HOLE]}, "/tags"),
        ({"n": 1, "kind": HOLE, "more": HOLE}, "/more"),
        ({"n": 1, "kind": HOLE, "never": HOLE}, "/never"),
        ({"n": 1, "kind": HOLE, "fixed": {"x": 2}}, "/fixed"),
    ],
)
def test_a_problem_that_no_value_can_fix_is_reported(arguments, path):
    assert paths(ORDER, arguments) == [path]


def test_any_union_branch_that_may_match_suffices():
    assert paths(FORMS, {"kind": HOLE, "x": 1}) == []
    assert paths(FORMS, {"kind": HOLE, "x": 1, "y": 1}) == []
    assert paths(FORMS, {"kind": HOLE}) != []
    assert paths(FORMS, {"kind": "b", "x": HOLE}) == ["/y"]


@given(
    st.dictionaries(st.sampled_from(list(ORDER["properties"])), VALUES, max_size=4),
    st.sets(st.sampled_from(list(ORDER["properties"]))),
)
def test_valid_values_stay_valid_with_holes(arguments, holes):
    if not validate_arguments(ORDER, arguments):
        assert paths(ORDER, {k: HOLE if k in holes else v for k, v in arguments.items()}) == []


def test_without_holes_nothing_changes():
    for arguments in ({}, {"n": 0, "kind": "c"}, {"n": 1, "kind": "a", "fixed": {"x": 2}}):
        assert validate_arguments(ORDER, arguments, has_holes=True) == validate_arguments(
            ORDER, arguments
        )


def test_holes_are_found_at_any_depth():
    value = [HOLE]
    for _ in range(10_000):
        value = [1, {"a": value}]
    assert has_hole(value)
    assert not has_hole([1, {"a": "x"}])
