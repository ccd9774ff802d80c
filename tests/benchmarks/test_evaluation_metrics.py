import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.evaluation import metrics

ids = st.sampled_from("abcdefgh")
rankings = st.lists(ids, unique=True, max_size=8)
golds = st.lists(st.frozensets(ids, min_size=1), min_size=1, max_size=5)


def test_each_slot_is_earned_once():
    assert metrics.compute_gains(["a", "b", "c"], [{"a", "b"}]) == [True, False, False]


def test_any_alternative_earns_its_slot():
    assert metrics.compute_gains(["x", "b"], [{"a", "b"}]) == [False, True]


@given(rankings, golds)
def test_figures_lie_between_0_and_1(ranked, slots):
    gained, needed = metrics.compute_gains(ranked, slots), len(slots)
    for k in (1, 5, 10):
        for figure in (
            metrics.recall_at,
            metrics.completeness_at,
            metrics.ndcg_at,
            metrics.average_precision_at,
        ):
            assert 0 <= figure(gained, needed=needed, k=k) <= 1 + 1e-9


@given(golds.filter(lambda slots: len(frozenset().union(*slots)) >= len(slots)))
def test_a_ranking_that_begins_with_every_distinct_gold_is_perfect(slots):
    gained = [True] * len(slots)
    assert metrics.ndcg_at(gained, needed=len(slots), k=10) == pytest.approx(1)
    assert metrics.average_precision_at(gained, needed=len(slots), k=10) == pytest.approx(1)
    assert metrics.completeness_at(gained, needed=len(slots), k=10) == 1


def test_known_values():
    gained = [False, True, True]
    assert metrics.recall_at(gained, needed=4, k=10) == 0.5
    assert metrics.completeness_at(gained, needed=2, k=2) == 0
    assert metrics.average_precision_at(gained, needed=2, k=10) == pytest.approx(
        (1 / 2 + 2 / 3) / 2
    )
    ideal = 1 + 1 / math.log2(3)
    earned = 1 / math.log2(3) + 1 / math.log2(4)
    assert metrics.ndcg_at(gained, needed=2, k=10) == pytest.approx(earned / ideal)


def test_more_gold_than_ranks_can_still_be_perfect_within_them():
    assert metrics.ndcg_at([True] * 10, needed=30, k=10) == pytest.approx(1)


def test_the_interval_holds_the_mean_and_repeats():
    differences = [0.1, -0.05, 0.2, 0.0, 0.15]
    first = metrics.bootstrap_difference(differences)
    assert first == metrics.bootstrap_difference(differences)
    assert first.low < first.mean < first.high
    assert first.mean == pytest.approx(0.08)


def test_no_difference_has_no_interval():
    same = metrics.bootstrap_difference([0.0, 0.0])
    assert (same.low, same.mean, same.high) == (0, 0, 0)
    with pytest.raises(ValueError, match="no differences"):
        metrics.bootstrap_difference([])
