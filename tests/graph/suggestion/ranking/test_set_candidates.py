import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from graph.suggestion.ranking.set_candidates import (
    MAX_TOP_TOOLS,
    list_candidate_sets,
)
from graph.suggestion.ranking.set_history import SetHistory
from tests.graph.suggestion.ranking.drawn_runs import drawn_runs, drawn_scored


def sets_of(found, scored):
    return [frozenset(found.tools_of_set(at, scored).tolist()) for at in range(len(found.sizes))]


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
