import dataclasses
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.ranking import past as past_module
from graph.ranking.described import describe
from graph.ranking.fitted_intents import describe_past
from graph.ranking.past import Past
from tests.graph.ranking.drawn_intents import AT, drawn_encoded, drawn_past, drawn_view

VIEW = drawn_view()


def described_anew(intents, own):
    """Describe an intent as a new one, by the others alone."""
    others = Past.of(intents[:own] + intents[own + 1 :], VIEW)
    encoded = intents[own].encoded
    return describe(encoded, VIEW, others, others.evidence(encoded))


def of_own(intents, own):
    """Describe an intent as one of the past, left out."""
    past = Past.of(intents, VIEW)
    (evidence,) = past.evidence_without(np.array([own]))
    return describe(intents[own].encoded, VIEW, past, evidence)


@given(st.integers(0, 60), st.integers(0, 7))
def test_leaving_an_intent_out_is_never_having_seen_it(seed, own):
    # Without words: how rare one is counts the intent's own words, which are no label.
    intents = drawn_past(VIEW, 8, seed, has_words=False)
    left_out, anew = of_own(intents, own), described_anew(intents, own)
    assert left_out.at.tolist() == anew.at.tolist()
    np.testing.assert_allclose(left_out.rows, anew.rows, atol=2e-3)
    np.testing.assert_allclose(left_out.votes, anew.votes, atol=1e-4)
    assert left_out.evidence.size == pytest.approx(anew.evidence.size, abs=1e-3)


@given(st.integers(0, 60), st.integers(0, 7), st.sets(st.integers(0, 39), min_size=1, max_size=6))
def test_what_a_run_called_has_no_part_in_its_own_features(seed, own, called):
    intents = drawn_past(VIEW, 8, seed)
    other = list(intents)
    tools = tuple(VIEW.tools[sorted(called)].tolist())
    other[own] = dataclasses.replace(intents[own], tools=tools)
    before, after = of_own(intents, own), of_own(other, own)
    assert before.at.tolist() == after.at.tolist()
    np.testing.assert_allclose(before.rows, after.rows, atol=2e-3)
    np.testing.assert_allclose(before.votes, after.votes, atol=1e-5)
    assert before.evidence.size == pytest.approx(after.evidence.size, abs=1e-3)


def test_a_run_tells_others_what_it_called():
    intents = drawn_past(VIEW, 8)
    other = list(intents)
    other[0] = dataclasses.replace(intents[0], tools=(int(VIEW.tools[39]),))
    before, after = of_own(intents, 1), of_own(other, 1)
    assert before.rows.shape != after.rows.shape or np.abs(before.rows - after.rows).max() > 0.01


def test_similarity_is_the_mean_of_plain_and_masked():
    intents = drawn_past(VIEW, 5)
    encoded = drawn_encoded(3)
    expected = [
        (one.encoded.whole @ encoded.whole + one.encoded.masked @ encoded.masked) / 2
        for one in intents
    ]
    np.testing.assert_allclose(Past.of(intents, VIEW).similarity(encoded), expected, atol=1e-5)


def test_of_equal_intents_with_equal_tools_one_is_fitted_on():
    intents = drawn_past(VIEW, 6)
    again = dataclasses.replace(intents[2], last_seen=AT + timedelta(days=1), pattern=900)
    other = dataclasses.replace(intents[2], tools=(int(VIEW.tools[30]),), pattern=901)
    past = Past.of([*intents, again, other], VIEW)
    assert past.patterns[past.fitted].tolist() == [500, 501, 503, 504, 505, 900, 901]
    assert len(past) == 8
    assert len(past.similarity(drawn_encoded())) == 8


def test_the_newest_are_fitted_on_and_all_are_counted(monkeypatch):
    monkeypatch.setattr(past_module, "MAX_FITTED", 4)
    intents = drawn_past(VIEW, 10)
    past = Past.of(intents[::-1], VIEW)
    assert past.patterns[past.fitted].tolist() == [509, 508, 507, 506]
    assert past.calls.counts.sum() == sum(len(set(one.tools)) for one in intents)
    assert len(past.ridge.weights) == 4
    rows = describe_past(past, VIEW)
    assert len(rows) == 4
    assert len(rows[0].similarity) == 10


def test_a_tool_that_is_gone_still_counts_but_is_no_candidate():
    intents = drawn_past(VIEW, 6)
    gone = dataclasses.replace(intents[0], tools=(5, *intents[0].tools))
    past = Past.of([gone, *intents[1:]], VIEW)
    assert 5 in past.tools
    evidence = past.evidence(intents[0].encoded)
    described = describe(intents[0].encoded, VIEW, past, evidence)
    assert 5 not in VIEW.tools[described.at]
    assert past.columns(np.array([5, 6])).tolist() == [0, -1]


def test_what_is_written_tells_the_same():
    intents = drawn_past(VIEW, 12)
    past = Past.of(intents, VIEW)
    again = Past.from_arrays(past.to_arrays())
    assert again.runs == past.runs
    assert again.distinct == past.distinct
    for name in ("patterns", "successes", "failures", "fitted", "tools"):
        assert getattr(again, name).tolist() == getattr(past, name).tolist()
    encoded = drawn_encoded(5)
    ours, theirs = (describe(encoded, VIEW, one, one.evidence(encoded)) for one in (past, again))
    assert ours.at.tolist() == theirs.at.tolist()
    np.testing.assert_allclose(ours.rows, theirs.rows, atol=0.1)
    np.testing.assert_allclose(ours.votes, theirs.votes, atol=0.02)


def test_what_was_read_cannot_be_fitted_on():
    past = Past.from_arrays(Past.of(drawn_past(VIEW, 3), VIEW).to_arrays())
    with pytest.raises(ValueError, match="make them anew"):
        describe_past(past, VIEW)


def test_no_past_is_refused():
    with pytest.raises(ValueError, match="pass None"):
        Past.of([], VIEW)


def test_runs_that_called_nothing_tell_nothing():
    intents = [dataclasses.replace(one, tools=()) for one in drawn_past(VIEW, 3)]
    past, encoded = Past.of(intents, VIEW), drawn_encoded()
    told = describe(encoded, VIEW, past, past.evidence(encoded))
    alone = describe(encoded, VIEW, None, None)
    assert told.at.tolist() == alone.at.tolist()
    assert not told.votes.any()
