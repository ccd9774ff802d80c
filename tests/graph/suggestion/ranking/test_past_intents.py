import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.suggestion.ranking import past_intents as past_module
from graph.suggestion.ranking.candidates import describe_candidates
from graph.suggestion.ranking.past_intents import PastIntents
from graph.suggestion.ranking.static_features import compare_intent
from graph.suggestion.ranking.tool_model import FittedIntents
from tests.graph.suggestion.ranking.drawn_intents import drawn_encoded, drawn_past, drawn_view

VIEW = drawn_view()


def described_anew(intents, own):
    """Describe an intent as a new one, by the others alone."""
    others = PastIntents.from_intents(intents[:own] + intents[own + 1 :], VIEW)
    encoded = intents[own].encoded
    return describe_candidates(
        compare_intent(encoded, VIEW), others, others.gather_evidence(encoded)
    )


def of_own(intents, own):
    """Describe an intent as one of the past, left out."""
    past = PastIntents.from_intents(intents, VIEW)
    (evidence,) = past.iterate_left_out_evidence(np.array([own]))
    return describe_candidates(compare_intent(intents[own].encoded, VIEW), past, evidence)


@given(st.integers(0, 60), st.integers(0, 7))
def test_leaving_an_intent_out_equals_never_having_seen_it(seed, own):
    # Without words: how rare one is counts the intent's own words, which are no label.
    intents = drawn_past(VIEW, 8, seed, has_words=False)
    left_out, anew = of_own(intents, own), described_anew(intents, own)
    assert left_out.tools.tolist() == anew.tools.tolist()
    np.testing.assert_allclose(left_out.features, anew.features, atol=2e-3)
    np.testing.assert_allclose(left_out.clause_votes, anew.clause_votes, atol=1e-4)
    assert left_out.predicted_size == pytest.approx(anew.predicted_size, abs=1e-3)


@given(st.integers(0, 60), st.integers(0, 7), st.sets(st.integers(0, 39), min_size=1, max_size=6))
def test_a_run_has_no_part_in_its_own_features(seed, own, called):
    intents = drawn_past(VIEW, 8, seed)
    other = list(intents)
    tools = tuple(VIEW.tools[sorted(called)].tolist())
    other[own] = dataclasses.replace(intents[own], tools=tools)
    before, after = of_own(intents, own), of_own(other, own)
    assert before.tools.tolist() == after.tools.tolist()
    np.testing.assert_allclose(before.features, after.features, atol=2e-3)
    np.testing.assert_allclose(before.clause_votes, after.clause_votes, atol=1e-5)
    assert before.predicted_size == pytest.approx(after.predicted_size, abs=1e-3)


def test_the_newest_are_fitted_on_and_all_are_counted(monkeypatch):
    monkeypatch.setattr(past_module, "MAX_FITTED", 4)
    intents = drawn_past(VIEW, 10)
    past = PastIntents.from_intents(intents[::-1], VIEW)
    assert past.patterns[past.fitted].tolist() == [509, 508, 507, 506]
    assert past.calls.call_counts.sum() == sum(len(set(one.tools)) for one in intents)
    assert len(past.ridge.weights) == 4
    rows = FittedIntents(past, VIEW)
    assert len(rows) == 4
    assert len(rows[0].similarity) == 10


def test_a_tool_that_is_gone_still_counts_but_is_no_candidate():
    intents = drawn_past(VIEW, 6)
    gone = dataclasses.replace(intents[0], tools=(5, *intents[0].tools))
    past = PastIntents.from_intents([gone, *intents[1:]], VIEW)
    assert 5 in past.tools
    evidence = past.gather_evidence(intents[0].encoded)
    described = describe_candidates(compare_intent(intents[0].encoded, VIEW), past, evidence)
    assert 5 not in described.tools
    assert past.find_columns(np.array([5, 6])).tolist() == [0, -1]


def test_deserialized_history_gives_the_same_evidence():
    intents = drawn_past(VIEW, 12)
    past = PastIntents.from_intents(intents, VIEW)
    again = PastIntents.from_arrays(past.to_arrays())
    assert again.runs == past.runs
    assert again.distinct_tool_sets == past.distinct_tool_sets
    for name in ("patterns", "successes", "failures", "fitted", "tools"):
        assert getattr(again, name).tolist() == getattr(past, name).tolist()
    encoded = drawn_encoded(5)
    ours, theirs = (
        describe_candidates(compare_intent(encoded, VIEW), one, one.gather_evidence(encoded))
        for one in (past, again)
    )
    assert ours.tools.tolist() == theirs.tools.tolist()
    np.testing.assert_allclose(ours.features, theirs.features, atol=0.1)
    np.testing.assert_allclose(ours.clause_votes, theirs.clause_votes, atol=0.02)


def test_deserialized_history_cannot_be_fitted_on():
    past = PastIntents.from_arrays(PastIntents.from_intents(drawn_past(VIEW, 3), VIEW).to_arrays())
    with pytest.raises(ValueError, match="create them again"):
        FittedIntents(past, VIEW)


def test_no_past_is_refused():
    with pytest.raises(ValueError, match="pass None"):
        PastIntents.from_intents([], VIEW)


def test_runs_without_calls_are_no_evidence():
    intents = [dataclasses.replace(one, tools=()) for one in drawn_past(VIEW, 3)]
    past, encoded = PastIntents.from_intents(intents, VIEW), drawn_encoded()
    told = describe_candidates(compare_intent(encoded, VIEW), past, past.gather_evidence(encoded))
    alone = describe_candidates(compare_intent(encoded, VIEW), None, None)
    assert told.tools.tolist() == alone.tools.tolist()
    assert not told.clause_votes.any()
