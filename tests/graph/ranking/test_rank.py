import numpy as np
import pytest

from graph.ranking.fit import fit, of_prior
from graph.ranking.rank import ALTERNATIVES, NEIGHBOURS, rank
from tests.graph.ranking.small_catalogue import TEXTS, encoded, habits, past, view

UNAWARE = of_prior("fake/words")
TWO = "find flights between cities then send mail to a person"


@pytest.fixture(scope="module")
def fitted():
    return fit(habits(), view())


def test_without_history_tools_are_found_by_the_clauses_they_fit():
    assert rank(encoded(TWO), view(), UNAWARE).best.tools == (11, 21)
    turned = "send mail to a person then find flights between cities"
    assert rank(encoded(turned), view(), UNAWARE).best.tools == (21, 11)


def test_alternatives_are_other_sets_and_less_likely_ones_follow(fitted):
    ranking = rank(encoded("get me to tunis"), view(), fitted)
    sets = [frozenset(one.tools) for one in (ranking.best, *ranking.alternatives)]
    assert len(ranking.alternatives) == ALTERNATIVES
    assert len(set(sets)) == len(sets)
    likely = [one.probability for one in ranking.alternatives]
    assert likely == sorted(likely, reverse=True)
    assert ranking.best.probability + sum(likely) <= 1 + 1e-9


def test_every_set_is_told_with_how_sure_it_is(fitted):
    ranking = rank(encoded("get me to tunis"), view(), fitted)
    for one in (ranking.best, *ranking.alternatives):
        assert 0 <= one.confidence <= 1
        assert 0 < one.probability <= 1
        assert all(type(tool) is int for tool in one.tools)


def test_neighbours_are_the_nearest_past_intents(fitted):
    near = rank(encoded("get me to rome"), view(), fitted).neighbours
    assert len(near) == NEIGHBOURS
    assert near[0].similarity == pytest.approx(1, abs=1e-3)
    assert (near[0].pattern, near[0].tools) == (2, (11, 12))
    assert (near[0].successes, near[0].failures) == (3, 0)
    similarity = [one.similarity for one in near]
    assert similarity == sorted(similarity, reverse=True)


def test_without_history_there_are_no_neighbours():
    ranking = rank(encoded(TWO), view(), UNAWARE)
    assert (ranking.neighbours, ranking.history) == ((), 0)


def test_of_few_past_intents_all_are_neighbours():
    ranker = fit(habits()[:3], view())
    assert len(rank(encoded(TWO), view(), ranker).neighbours) == 3


def test_every_tool_considered_has_a_probability(fitted):
    likely = rank(encoded("plan a trip to rome"), view(), fitted).tool_probabilities
    assert set(likely) == set(TEXTS)
    assert all(0 < chance < 1 for chance in likely.values())
    assert likely[11] > 0.5 > likely[34]


def test_shares_of_clauses_are_of_the_tools_listed():
    ranking = rank(encoded(TWO), view(), UNAWARE)
    listed = {tool for one in (ranking.best, *ranking.alternatives) for tool in one.tools}
    assert set(ranking.clause_shares) == listed
    assert ranking.clause_shares[11].shape == (2,)
    assert ranking.clause_shares[11][0] == pytest.approx(1)
    assert ranking.clause_shares[21][1] == pytest.approx(1)
    assert ranking.clause_shares[21][0] < 1


def test_only_tools_that_may_be_candidates_are_ranked():
    ranking = rank(encoded(TWO), view().allowing([12, 21, 33]), UNAWARE)
    assert set(ranking.tool_probabilities) == {12, 21, 33}


def test_where_no_tool_is_seen_there_is_no_set(fitted):
    ranking = rank(encoded(TWO), view().allowing([]), fitted)
    assert (ranking.best, ranking.alternatives, dict(ranking.clause_shares)) == (None, (), {})
    assert len(ranking.neighbours) == NEIGHBOURS
    assert rank(encoded(TWO), view({}), UNAWARE).best is None


def test_a_single_tool_is_the_only_set():
    ranking = rank(encoded("make a note"), view().allowing([32]), UNAWARE)
    assert (ranking.best.tools, ranking.alternatives) == ((32,), ())
    assert ranking.best.probability == pytest.approx(1)


def test_a_tool_recurs_as_similar_runs_of_its_set_called_it():
    runs = [(f"mail {name} and tell {name}", (22, 21, 22)) for name in ("ann", "bob", "eve")]
    ranker = fit([*past(*runs), *habits()], view())
    assert rank(encoded("mail ann and tell ann"), view(), ranker).best.tools == (22, 21, 22)


def test_families_left_out_when_ranking_change_what_is_likely(fitted):
    asked = encoded("get me to tunis")
    known, unaware = (
        rank(asked, view(), fitted, without=families) for families in ((), {"history"})
    )
    assert unaware.best.probability != known.best.probability
    assert unaware.neighbours == known.neighbours
    assert np.array_equal(sorted(unaware.tool_probabilities), sorted(known.tool_probabilities))
