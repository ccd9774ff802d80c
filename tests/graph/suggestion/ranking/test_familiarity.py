from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.suggestion.ranking import prior
from graph.suggestion.ranking.familiarity import SIGNALS, FamiliarityGate
from graph.suggestion.ranking.fit import fit_ranker, prior_ranker
from graph.suggestion.ranking.rank import rank_tool_sets
from graph.suggestion.ranking.tool_model import score_candidates
from tests.graph.suggestion.ranking.small_catalogue import PLACES, encoded, past, view

GATE = prior.load_prior().gate
ANY = st.floats(0, 1)
OTHER_WORK = past(
    *[(f"post greetings towards {place}", (21, 22)) for place in PLACES],
    *[(f"jot down impressions about {place}", (32,)) for place in PLACES],
)
UNFAMILIAR = (
    "travel",
    "a hotel forecast",
    "what to pay at a hotel in rome",
)


def familiarity(text, ranker):
    return score_candidates(
        encoded(text), view(), ranker.past, model=ranker.tool_model
    ).familiarity


@given(told=st.tuples(ANY, ANY, ANY), which=st.integers(0, 2), more=ANY)
def test_familiarity_is_a_share_and_grows_with_each_signal(told, which, more):
    low, high = np.array(told), np.array(told)
    high[which] = max(high[which], more)
    assert 0 <= GATE.compute_familiarity(low) <= GATE.compute_familiarity(high) <= 1


def test_a_repeated_intent_is_familiar_whatever_the_other_signals():
    assert GATE.compute_familiarity(np.array([0.95, 0.0, 0.0])) == 1


def test_an_uninformative_history_gets_little_weight():
    assert GATE.compute_familiarity(np.zeros(len(SIGNALS))) < 0.3
    assert GATE.compute_familiarity(np.array([0.7, 0.7, 1.0])) > 0.9


def test_no_weight_is_negative():
    with pytest.raises(ValueError, match="negative"):
        FamiliarityGate(level=0.0, wanted=-1.0, known=1.0)


@pytest.mark.parametrize("text", UNFAMILIAR)
def test_a_history_of_other_work_changes_nothing_for_an_unfamiliar_intent(text):
    ranker = fit_ranker(OTHER_WORK, view())
    unaware = rank_tool_sets(encoded(text), view(), prior_ranker("fake/words"))
    found = rank_tool_sets(encoded(text), view(), ranker)
    assert familiarity(text, ranker) < 0.5
    assert set(found.best.tools) == set(unaware.best.tools)
    assert found.best.confidence < 0.7


@pytest.mark.parametrize("text", UNFAMILIAR)
def test_an_unrelated_history_would_change_the_answer_at_full_weight(text):
    always = replace(prior.load_prior(), gate=FamiliarityGate(level=50.0, wanted=0.0, known=0.0))
    misled = rank_tool_sets(encoded(text), view(), fit_ranker(OTHER_WORK, view(), prior=always))
    unaware = rank_tool_sets(encoded(text), view(), prior_ranker("fake/words"))
    assert set(misled.best.tools) != set(unaware.best.tools)


@pytest.mark.parametrize("at", [0, len(PLACES)])
def test_a_repeat_is_answered_from_history(at):
    ranker = fit_ranker(OTHER_WORK, view())
    text = ("post greetings towards rome", "jot down impressions about rome")[at > 0]
    assert familiarity(text, ranker) == 1
    assert rank_tool_sets(encoded(text), view(), ranker).best.tools == OTHER_WORK[at].tools
