"""What values that somebody chose to do harm leave behind, and how long they take."""

import pytest

from graph.suggestion.next_call import shapes
from graph.suggestion.next_call.results import read_leaves
from graph.suggestion.next_call.shapes import OTHER_SIGN, describe_value, make_value_key
from graph.suggestion.next_call.statements import CHARS_BEFORE, read_statement

NAMES_AS_KEYS = [{"Ann Lee": 3, "Bob Fox": 4}, {"@ann": {"n": 1}}, {"ann@example.org": [1]}]


@pytest.mark.parametrize("result", NAMES_AS_KEYS)
def test_names_of_people_are_no_names_of_fields(result):
    paths = {leaf.path for leaf in read_leaves(result)}
    assert paths
    assert all(path.startswith("/{key}") for path in paths)


@pytest.mark.parametrize("key", ["id", "user-name", "line_2", "$ref", "@id", "@type"])
def test_names_of_fields_remain(key):
    assert [leaf.path for leaf in read_leaves({key: "a"})] == [f"/{key}"]


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("\U0001f346", OTHER_SIGN),
        ("\ud800", OTHER_SIGN),
        ("\0a", f"{OTHER_SIGN}a"),
        ("\u2028a\tb", "a a"),
        ("a-b#9", "a-a#9"),
    ],
)
def test_a_shape_has_no_sign_beyond_ascii(text, shape):
    assert describe_value(text) == shape


@pytest.mark.parametrize(
    "value",
    [
        10**5_000,
        -(10**400),
        [10**5_000],
        ["x" * 100] * shapes.MAX_LIST,
        [["a"]],
        [{"a": 1}],
    ],
    ids=["long", "negative", "in a list", "long list", "nested", "object"],
)
def test_values_that_no_call_takes_have_no_key(value):
    assert make_value_key(value) is None


def test_lists_nested_deeply_have_no_key():
    value = ["a"]
    for _ in range(5_000):
        value = [value]
    assert make_value_key(value) is None


def test_only_the_words_shortly_before_a_quoted_value_are_read():
    found = read_statement(f"for {'x' * CHARS_BEFORE} user 'a'")
    assert found[0].before[-1] == "user"
    assert "for" not in found[0].before
