import pytest

from graph.suggestion.ranking.fit import fit_ranker, prior_ranker
from graph.suggestion.ranking.rank import (
    MAX_ALTERNATIVES,
    MAX_NEIGHBOURS,
    gather_evidence,
    rank_by_evidence,
    rank_tool_sets,
)
from tests.graph.suggestion.ranking.small_catalogue import TEXTS, encoded, habits, view

UNAWARE = prior_ranker("fake/words")
TWO = "find flights between cities then send mail to a person"


@pytest.fixture(scope="module")
def fitted():
    return fit_ranker(habits(), view())


def test_without_history_tools_are_found_by_the_clauses_they_fit():
    assert rank_tool_sets(encoded(TWO), view(), UNAWARE).best.tools == (11, 21)
    turned = "send mail to a person then find flights between cities"
    assert rank_tool_sets(encoded(turned), view(), UNAWARE).best.tools == (21, 11)


def test_evidence_gathered_once_serves_rankings_of_further_tools(fitted):
    intent = encoded(TWO)
    evidence = gather_evidence(intent, view(), fitted)
    for considered in ((), (min(TEXTS), max(TEXTS))):
        ranking = rank_by_evidence(evidence, fitted, considered=considered)
        assert ranking.tool_probabilities.keys() >= set(considered)
        anew = rank_tool_sets(intent, view(), fitted, considered=considered)
        assert (ranking.best, ranking.tool_probabilities) == (anew.best, anew.tool_probabilities)


def test_alternatives_are_other_sets_and_less_likely_ones_follow(fitted):
    ranking = rank_tool_sets(encoded("get me to tunis"), view(), fitted)
    sets = [frozenset(one.tools) for one in (ranking.best, *ranking.alternatives)]
    assert len(ranking.alternatives) == MAX_ALTERNATIVES
    assert len(set(sets)) == len(sets)
    likely = [one.probability for one in ranking.alternatives]
    assert likely == sorted(likely, reverse=True)
    assert ranking.best.probability + sum(likely) <= 1 + 1e-9


def test_every_set_has_a_confidence(fitted):
    ranking = rank_tool_sets(encoded("get me to tunis"), view(), fitted)
    for one in (ranking.best, *ranking.alternatives):
        assert 0 <= one.confidence <= 1
        assert 0 < one.probability <= 1
        assert all(type(tool) is int for tool in one.tools)


def test_without_history_there_are_no_neighbours():
    ranking = rank_tool_sets(encoded(TWO), view(), UNAWARE)
    assert (ranking.neighbours, ranking.past_intent_count) == ((), 0)


def test_of_few_past_intents_all_are_neighbours():
    ranker = fit_ranker(habits()[:3], view())
    assert len(rank_tool_sets(encoded(TWO), view(), ranker).neighbours) == 3


def test_every_tool_considered_has_a_probability(fitted):
    likely = rank_tool_sets(encoded("plan a trip to rome"), view(), fitted).tool_probabilities
    assert set(likely) == set(TEXTS)
    assert all(0 < chance < 1 for chance in likely.values())
    assert likely[11] > 0.5 > likely[34]


def test_only_tools_that_may_be_candidates_are_ranked():
    ranking = rank_tool_sets(encoded(TWO), view().with_allowed([12, 21, 33]), UNAWARE)
    assert set(ranking.tool_probabilities) == {12, 21, 33}


def test_without_visible_tools_there_is_no_set(fitted):
    ranking = rank_tool_sets(encoded(TWO), view().with_allowed([]), fitted)
    assert (ranking.best, ranking.alternatives, dict(ranking.clause_shares)) == (None, (), {})
    assert len(ranking.neighbours) == MAX_NEIGHBOURS
    assert rank_tool_sets(encoded(TWO), view({}), UNAWARE).best is None


def test_a_single_tool_is_the_only_set():
    ranking = rank_tool_sets(encoded("make a note"), view().with_allowed([32]), UNAWARE)
    assert (ranking.best.tools, ranking.alternatives) == ((32,), ())
    assert ranking.best.probability == pytest.approx(1)
