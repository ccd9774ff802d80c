import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from graph.suggestion.ranking.set_candidates import (
    LARGEST_SUBSET,
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


def test_the_set_of_the_run_itself_is_a_candidate_only_if_another_run_had_it():
    large = tuple(TOOLS[:7])
    scored = drawn_scored(past=2, own_run=0)
    alone = list_candidate_sets(scored, SetHistory.from_runs([large, TOOLS[:1]]))
    shared = list_candidate_sets(scored, SetHistory.from_runs([large, large[::-1]]))
    assert alone.find_set(frozenset(large), scored) is None
    assert shared.find_set(frozenset(large), scored) is not None


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
