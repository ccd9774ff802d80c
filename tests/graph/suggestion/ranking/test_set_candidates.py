import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from graph.suggestion.ranking.set_candidates import (
    LARGEST_SUBSET,
    MAX_NEAR_SETS,
    MAX_TOP_TOOLS,
    list_candidate_sets,
)
from graph.suggestion.ranking.set_history import SetHistory
from tests.graph.suggestion.ranking.drawn_runs import TOOLS, drawn_runs, drawn_scored


def sets_of(found, scored):
    return [frozenset(found.tools_of_set(at, scored).tolist()) for at in range(len(found.sizes))]


def test_all_small_subsets_of_the_likeliest_tools_are_candidates():
    scored = drawn_scored()
    likeliest = [TOOLS[at] for at in np.argsort(-scored.logits)[:MAX_TOP_TOOLS]]
    expected = {
        frozenset(chosen)
        for size in range(1, LARGEST_SUBSET + 1)
        for chosen in itertools.combinations(likeliest, size)
    }
    assert set(sets_of(list_candidate_sets(scored, None), scored)) == expected
    assert len(expected) == 218


def test_of_few_tools_all_subsets_are_candidates():
    scored = drawn_scored(tools=(7, 9))
    assert set(sets_of(list_candidate_sets(scored, None), scored)) == {
        frozenset({7}),
        frozenset({9}),
        frozenset({7, 9}),
    }


def test_larger_sets_come_from_similar_runs():
    scored = drawn_scored(past=1)
    found = list_candidate_sets(scored, SetHistory.from_runs([TOOLS[:7]]))
    assert frozenset(TOOLS[:7]) in sets_of(found, scored)
    assert found.find_set(frozenset(TOOLS[:7]), scored) == 218


def test_a_past_set_with_an_invisible_tool_is_no_candidate():
    scored = drawn_scored(past=1)
    found = list_candidate_sets(scored, SetHistory.from_runs([(*TOOLS[:6], 999)]))
    assert len(found.sizes) == 218
    assert found.find_set(frozenset({*TOOLS[:6], 999}), scored) is None


def test_the_set_of_the_run_itself_is_a_candidate_only_if_another_run_had_it():
    large = tuple(TOOLS[:7])
    scored = drawn_scored(past=2, own_run=0)
    alone = list_candidate_sets(scored, SetHistory.from_runs([large, TOOLS[:1]]))
    shared = list_candidate_sets(scored, SetHistory.from_runs([large, large[::-1]]))
    assert alone.find_set(frozenset(large), scored) is None
    assert shared.find_set(frozenset(large), scored) is not None


def test_only_the_sets_of_the_nearest_runs_are_candidates():
    runs = [tuple(chosen) for chosen in itertools.islice(itertools.combinations(TOOLS, 7), 40)]
    similarity = np.linspace(1, 0, len(runs)).astype(np.float32)
    scored = drawn_scored(past=len(runs), similarity=similarity)
    found = list_candidate_sets(scored, SetHistory.from_runs(runs))
    large = [one for one in sets_of(found, scored) if len(one) == 7]
    assert large == [frozenset(run) for run in runs[:MAX_NEAR_SETS]]


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 60), st.integers(0, 30))
def test_candidates_are_distinct_and_not_empty(count, seed):
    runs = drawn_runs(count, seed, largest=8)
    scored = drawn_scored(seed, past=count)
    found = list_candidate_sets(scored, SetHistory.from_runs(runs))
    sets = sets_of(found, scored)
    assert len(set(sets)) == len(sets)
    assert frozenset() not in sets
    assert found.sizes.tolist() == [len(one) for one in sets]
    assert (
        found.columns[:MAX_TOP_TOOLS].tolist()
        == np.argsort(-scored.logits)[:MAX_TOP_TOOLS].tolist()
    )


def test_the_mean_over_pairs_leaves_single_tools_at_zero():
    scored = drawn_scored(tools=(1, 2, 3))
    found = list_candidate_sets(scored, None)
    pairs = np.array([[9, 1, 2], [1, 9, 6], [2, 6, 9]])
    sets = [frozenset(np.flatnonzero(row).tolist()) for row in found.members]
    means = dict(zip(sets, found.compute_pair_mean(pairs), strict=True))
    assert means[frozenset({0})] == 0
    assert means[frozenset({0, 2})] == 2
    assert means[frozenset({0, 1, 2})] == 3
