import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph.suggestion.ranking.set_candidates import list_candidate_sets
from graph.suggestion.ranking.set_features import (
    NO_OUTSIDER_LOGIT,
    SET_FEATURES,
    compute_set_features,
)
from graph.suggestion.ranking.set_history import SetHistory
from tests.graph.suggestion.ranking.drawn_runs import drawn_runs, drawn_scored, without_run


def told(scored, runs=None):
    """Return the features of each candidate set by name."""
    history = None if runs is None else SetHistory.from_runs(runs)
    found = list_candidate_sets(scored, history)
    rows = compute_set_features(scored, found, history)
    assert np.isfinite(rows).all()
    return {
        frozenset(found.tools_of_set(at, scored).tolist()): dict(
            zip(SET_FEATURES, row.tolist(), strict=True)
        )
        for at, row in enumerate(rows)
    }


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 40), st.integers(0, 1_000), st.data())
def test_a_run_is_left_out_of_its_own_features(count, seed, data):
    runs = drawn_runs(count, seed)
    own = data.draw(st.integers(0, count - 1))
    scored = drawn_scored(seed, past=count, own_run=own)
    left_out, rest = without_run(scored, runs)
    as_past, as_new = told(scored, runs), told(left_out, rest)
    assert as_past.keys() == as_new.keys()
    for members, features in as_new.items():
        assert as_past[members] == pytest.approx(features, abs=1e-4)


def test_a_set_of_all_tools_has_a_very_unlikely_outsider():
    assert (
        told(drawn_scored(tools=(1, 2)))[frozenset({1, 2})]["highest_outside"] == NO_OUTSIDER_LOGIT
    )
