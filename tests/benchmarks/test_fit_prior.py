import itertools

import numpy as np
import pytest

from benchmarks.fit_prior import learn as learning
from benchmarks.fit_prior.gather import Gathered
from graph.ranking import order, prior, set_features, tool_model
from graph.ranking.fit import of_prior
from graph.ranking.rank import rank
from tests.graph.ranking.small_catalogue import TEXTS, encoded, past, view

FILLERS = ("please", "now")


def gathered(name, *, is_ordered=True):
    """Make a set whose queries say what their tools do, in the order they run."""
    pairs = list(itertools.permutations(TEXTS, 2))
    runs = [
        (f"{TEXTS[first]} {filler} then {TEXTS[then]}", (first, then))
        for filler, (first, then) in itertools.islice(itertools.product(FILLERS, pairs), 160)
    ]
    return Gathered(name=name, view=view(), intents=tuple(past(*runs)), is_ordered=is_ordered)


@pytest.fixture(scope="module")
def learned():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learning, "DRAWN", 40)
        patch.setattr(learning, "EXAMPLES", 30)
        return learning.learn([gathered("one"), gathered("two", is_ordered=False)])


def test_a_prior_speaks_of_every_feature_at_every_size(learned):
    assert learned.learned_on == ("one", "two")
    for linear, features in (
        (learned.tools, tool_model.FEATURES),
        (learned.sets, set_features.FEATURES),
        (learned.order, order.FEATURES),
    ):
        assert linear.of(features).features == tuple(features)
        assert set(linear.coefficients) == set(prior.SIZES)
    assert prior.as_json(prior.from_json(prior.as_json(learned))) == prior.as_json(learned)


def test_without_history_a_prior_says_nothing_of_it(learned):
    assert not learned.tools.of(tool_model.HISTORY).at(0).any()
    assert not learned.sets.of(set_features.set_evidence.FEATURES).at(0).any()
    assert np.flatnonzero(learned.order.at(0)).tolist() == [order.FEATURES.index("clpos")]


def test_what_was_learned_suggests_in_a_catalogue_without_history(learned):
    ranker = of_prior("fake/words", prior=learned)
    asked = encoded(f"{TEXTS[34]} then {TEXTS[13]}")
    assert rank(asked, view(), ranker).best.tools == (34, 13)


def test_a_size_takes_as_many_queries_and_none_of_a_set_with_too_few():
    one = gathered("one")
    assert [len(drawn) for drawn in learning.histories(one, 150)] == [150, 150]
    small = Gathered(name="s", view=one.view, intents=one.intents[:50], is_ordered=True)
    assert list(learning.histories(small, 50)) == []
