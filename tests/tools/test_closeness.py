import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.fusion import MIN_CLOSENESS, estimate_closeness

cosines = st.floats(min_value=-1, max_value=1)
bm25s = st.floats(min_value=0, max_value=1_000)


@given(cosines, bm25s, cosines, bm25s)
def test_closeness_is_a_probability_that_grows_with_either_evidence(first, words, second, more):
    low = estimate_closeness(min(first, second), min(words, more))
    high = estimate_closeness(max(first, second), max(words, more))
    assert 0 <= low <= high <= 1


@pytest.mark.parametrize(
    ("similarity", "bm25", "is_close"),
    [(0.6, 15.0, True), (0.35, 8.0, True), (0.18, 5.0, False), (0.1, 0.0, False)],
)
def test_far_matches_are_told_from_close_ones(similarity, bm25, is_close):
    assert (estimate_closeness(similarity, bm25) >= MIN_CLOSENESS) is is_close
