"""Halves of surrogate pairs are found wherever they stand."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_project.foundation import canonical, surrogates

TEXTS = st.text(st.characters(exclude_categories=()), max_size=3)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
)


@given(VALUES)
def test_they_are_found_just_where_utf_8_has_no_bytes(value):
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        assert surrogates.has_lone_surrogate(value)
        place = surrogates.find_lone_surrogate(value)
        try:
            found = canonical.resolve_pointer(value, place)
        except UnicodeEncodeError:
            raise AssertionError from None
        assert surrogates.has_lone_surrogate([found] if isinstance(found, str) else list(found))
    else:
        assert (surrogates.has_lone_surrogate(value), surrogates.find_lone_surrogate(value)) == (
            False,
            None,
        )


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ("\ud83d", ""),
        ({"a": [0, {"b/c": "x\udc00"}]}, "/a/1/b~1c"),
        ({"a": {"\ud83d": 1}}, "/a"),
        ({"\ud83d": {"b": "\ud83d"}}, ""),
        ({"a": ("\udc00\ud83d",)}, "/a/0"),
        (["\ud83d", "\udc00"], "/1"),
    ],
)
def test_the_location_is_of_the_text_or_of_the_object_with_the_key(value, place):
    assert surrogates.find_lone_surrogate(value) == place


def test_depth_is_no_matter():
    value = "\ud83d"
    for _ in range(100_000):
        value = [value]
    assert surrogates.has_lone_surrogate(value)
