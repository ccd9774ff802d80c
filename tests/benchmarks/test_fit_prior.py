import itertools

import numpy as np
import pytest

from benchmarks.fit_prior import learn as learning
from benchmarks.fit_prior.gather import TrainingSet
from graph.suggestion.ranking import order, prior, set_features, tool_model
from graph.suggestion.ranking.fit import prior_ranker
from graph.suggestion.ranking.rank import rank_tool_sets
from tests.graph.suggestion.ranking.small_catalogue import TEXTS, encoded, past, view

pytestmark = pytest.mark.full

FILLERS = ("please", "now")


def gathered(name, *, is_ordered=True):
    """Make a set whose queries say what their tools do, in the order they run."""
    pairs = list(itertools.permutations(TEXTS, 2))
    runs = [
        (f"{TEXTS[first]} {filler} then {TEXTS[then]}", (first, then))
        for filler, (first, then) in itertools.islice(itertools.product(FILLERS, pairs), 160)
    ]
    return TrainingSet(name=name, view=view(), intents=tuple(past(*runs)), is_ordered=is_ordered)


@pytest.fixture(scope="module")
def learned():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learning, "DRAWN", 40)
        patch.setattr(learning, "EXAMPLES", 30)
        return learning.learn([gathered("one"), gathered("two", is_ordered=False)])


def test_a_prior_covers_every_feature_at_every_size(learned):
    assert learned.learned_on == ("one", "two")
    for linear, features in (
        (learned.tools, tool_model.FEATURES),
        (learned.sets, set_features.SET_FEATURES),
        (learned.order, order.ORDER_FEATURES),
    ):
        assert linear.select_features(features).features == tuple(features)
        assert set(linear.coefficients) == set(prior.HISTORY_SIZES)
    assert prior.to_json(prior.from_json(prior.to_json(learned))) == prior.to_json(learned)


def test_a_prior_without_history_omits_history_features(learned):
    assert not learned.tools.select_features(tool_model.HISTORY_FEATURES).coefficients_at(0).any()
    assert (
        not learned.sets.select_features(set_features.set_evidence.EVIDENCE_FEATURES)
        .coefficients_at(0)
        .any()
    )
    assert np.flatnonzero(learned.order.coefficients_at(0)).tolist() == [
        order.ORDER_FEATURES.index("clause_position")
    ]


def test_a_learned_prior_ranks_in_a_catalogue_without_history(learned):
    ranker = prior_ranker("fake/words", prior=learned)
    asked = encoded(f"{TEXTS[34]} then {TEXTS[13]}")
    assert rank_tool_sets(asked, view(), ranker).best.tools == (34, 13)


def test_a_size_takes_as_many_queries_and_none_of_a_set_with_too_few():
    one = gathered("one")
    assert [len(drawn) for drawn in learning.histories(one, 150)] == [150, 150]
    small = TrainingSet(name="s", view=one.view, intents=one.intents[:50], is_ordered=True)
    assert list(learning.histories(small, 50)) == []
