import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.suggestion.ranking.past_calls import RARE_SMOOTHING, PastCalls

WIDE = 6
RUNS = st.lists(st.sets(st.integers(0, WIDE - 1), min_size=1), min_size=1, max_size=8)


def calls(runs):
    return PastCalls.from_runs([np.array(sorted(run), dtype=np.intp) for run in runs], width=WIDE)


def drawn(count, seed=0):
    return np.random.default_rng(seed).uniform(0, 1, count).astype(np.float32)


def without(values, own):
    return [value for at, value in enumerate(values) if at != own]


def naive_together(runs, wanted):
    found = np.zeros(WIDE)
    for first in range(WIDE):
        count = sum(first in run for run in runs)
        for second in range(WIDE):
            both = sum(first in run and second in run for run in runs)
            if first != second:
                found[second] += wanted[first] * both / (count + RARE_SMOOTHING)
    return found / (wanted.sum() + 0.3)


@given(RUNS)
def test_co_calls_are_counted(runs):
    wanted = drawn(WIDE).astype(float)
    found = calls(runs).co_call_scores(wanted, own=None)
    np.testing.assert_allclose(found, naive_together(runs, wanted), atol=1e-9)


@given(RUNS, st.data())
def test_leaving_a_run_out_equals_never_having_seen_it(runs, data):
    own = data.draw(st.integers(0, len(runs) - 1))
    wanted, similarity = drawn(WIDE).astype(float), drawn(len(runs), 1)
    similarity[own] = -1
    every, others = calls(runs), calls(without(runs, own))
    apart = np.delete(similarity, own)
    np.testing.assert_allclose(
        every.co_call_scores(wanted, own=own),
        naive_together(without(runs, own), wanted),
        atol=1e-9,
    )
    np.testing.assert_array_equal(every.counts_without(own), others.call_counts)
    np.testing.assert_allclose(
        every.nearest_similarity(similarity), _nearest(others, apart), atol=1e-6
    )
    if len(runs) > 1:
        np.testing.assert_allclose(
            every.vote_shares(similarity, width=0.1, own=own),
            others.vote_shares(apart, width=0.1, own=None),
            atol=1e-5,
        )


def _nearest(others, similarity):
    return others.nearest_similarity(similarity) if len(similarity) else np.zeros(WIDE)


def test_near_runs_count_more():
    found = calls([{0}, {1}]).vote_shares(np.float32([0.9, 0.8]), width=0.1, own=None)
    share = 1 / (1 + np.exp(-1))
    assert found[:2] == pytest.approx([share, 1 - share], abs=1e-5)


def test_the_nearest_run_with_a_tool_is_found():
    found = calls([{0, 1}, {1}, {2}]).nearest_similarity(np.float32([0.5, 0.7, -0.3]))
    assert found == pytest.approx([0.5, 0.7, 0, 0, 0, 0])


def test_tools_of_a_run_are_returned():
    assert calls([{0}, {2, 4}]).tools_of_run(1).tolist() == [2, 4]
