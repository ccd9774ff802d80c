import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_project.find.arrange import cut_to_budget

prices = st.lists(st.integers(min_value=0, max_value=50))


@given(prices, st.integers(min_value=0, max_value=200))
def test_what_is_kept_fits_and_nothing_is_lost(items, budget):
    result = cut_to_budget(items, cost=sum, budget_tokens=budget)
    assert result.tokens == sum(result.kept) <= budget
    assert [*result.kept, *result.left_out] == items


@given(prices, st.integers(min_value=0, max_value=200))
def test_as_much_as_fits_is_kept(items, budget):
    result = cut_to_budget(items, cost=sum, budget_tokens=budget)
    if result.left_out:
        assert result.tokens + result.left_out[0] > budget


def test_a_minimum_is_kept_whatever_it_costs():
    result = cut_to_budget([90, 80], cost=sum, budget_tokens=50, at_least=1)
    assert (result.kept, result.tokens) == ((90,), 90)


def test_a_negative_budget_is_refused():
    with pytest.raises(ValueError, match="not negative"):
        cut_to_budget([1], cost=sum, budget_tokens=-1)
