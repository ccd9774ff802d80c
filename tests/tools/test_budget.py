import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.budget import cut

prices = st.lists(st.integers(min_value=0, max_value=50))


@given(prices, st.integers(min_value=0, max_value=200))
def test_what_is_kept_fits_and_nothing_is_lost(items, budget):
    result = cut(items, cost=int, budget_tokens=budget)
    assert result.tokens == sum(result.kept) <= budget
    assert [*result.kept, *result.left_out] == items


@given(prices, st.integers(min_value=0, max_value=200))
def test_as_much_as_fits_is_kept(items, budget):
    result = cut(items, cost=int, budget_tokens=budget)
    if result.left_out:
        assert result.tokens + result.left_out[0] > budget


def test_a_cheap_item_does_not_overtake_a_better_one():
    assert cut([10, 90, 1], cost=int, budget_tokens=50).kept == (10,)


def test_a_minimum_is_kept_whatever_it_costs():
    assert cut([90, 80], cost=int, budget_tokens=50, at_least=1).kept == (90,)


def test_a_negative_budget_is_refused():
    with pytest.raises(ValueError, match="not negative"):
        cut([1], cost=int, budget_tokens=-1)
