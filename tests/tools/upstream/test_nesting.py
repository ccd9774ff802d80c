"""Size and depth of JSON, told before anything that recurses sees it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.upstream.nesting import is_deep, measure_value, prune_document

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=20,
)


def depth(value: object) -> int:
    inside = (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    )
    return isinstance(value, dict | list) + max(map(depth, inside), default=0)


@given(VALUES, st.integers(min_value=0, max_value=5))
def test_a_pruned_document_is_as_deep_as_it_may_be_and_no_deeper(value, levels):
    document = json.dumps(value).encode()
    pruned = prune_document(document, max_depth=levels)
    assert depth(json.loads(pruned)) == min(levels, depth(value))
    assert is_deep(document, max_depth=levels) == (depth(value) > levels)
    if depth(value) <= levels:
        assert pruned == document


@given(VALUES, st.integers(min_value=0, max_value=5))
def test_a_value_beyond_the_depth_is_reported(value, levels):
    told = measure_value(value, max_depth=levels, max_bytes=10**9)
    assert (told == "deep") == (depth(value) > levels)


@pytest.mark.parametrize("value", ["x" * 1_000, ["x"] * 300, {"k" * 1_000: 1}, [[1] * 600]])
def test_a_large_value_is_told_by_what_it_holds(value):
    assert measure_value(value, max_depth=9, max_bytes=999) == "large"
    size = measure_value(value, max_depth=9, max_bytes=10_000)
    assert len(json.dumps(value)) / 2 < size < 2 * len(json.dumps(value))


def test_a_hundred_thousand_levels_do_not_overflow_the_stack():
    value: list = []
    for _ in range(100_000):
        value = [value]
    assert measure_value(value, max_depth=10**7, max_bytes=10**9) == 3 * 100_001 - 1
    while value:
        value = value[0]


def test_invalid_json_stays_invalid():
    assert prune_document(b"}}}]]x", max_depth=1) == b"}}}]]x"
    assert prune_document(b'{"a": [[["', max_depth=1) == b'{"a": null'
