import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema._utils import equal

from gateway_project.foundation import json_equality
from gateway_project.foundation.json_equality import equality_key

LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2),
    st.sampled_from([0.0, 1.0, 0.5, 1e300]),
    st.sampled_from(["", "a", "ab", "1", "\ud800"]),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", ""]), inner)
    ),
    max_leaves=6,
)


@given(one=VALUES, other=VALUES)
def test_values_share_a_key_exactly_if_json_schema_equal(one, other):
    assert (equality_key(one) == equality_key(other)) == equal(one, other)


@pytest.mark.parametrize("limit", [0, 1_000])
def test_member_order_is_irrelevant_to_equality(monkeypatch, limit):
    monkeypatch.setattr(json_equality, "MAX_SORTED_MEMBERS", limit)
    one = {f"k{i}": [i, {"x": 1}] for i in range(50)}
    other = {name: [place, {"x": 1.0}] for name, (place, _) in reversed(one.items())}
    assert equality_key(one) == equality_key(other)
    assert equality_key(one) != equality_key(other | {"k0": [0, {"x": 2}]})


def test_an_integer_of_thousands_of_digits_has_a_key():
    assert equality_key(10**6_000) == equality_key(10**6_000) != equality_key(10**6_000 + 1)


def test_steps_are_proportional_to_the_size():
    spent = []
    equality_key([{"a": "x" * 100_000}] * 10, spent.append)
    assert sum(spent) >= 10 * 100_000 // 4_096
