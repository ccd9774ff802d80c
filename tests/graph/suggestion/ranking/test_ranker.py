import dataclasses

import pytest

from graph.suggestion.ranking import ranker as module
from graph.suggestion.ranking.fit import fit_ranker, prior_ranker
from graph.suggestion.ranking.rank import rank_tool_sets
from graph.suggestion.ranking.ranker import Ranker, RankerError
from tests.graph.suggestion.ranking.small_catalogue import encoded, habits, view

ASKED = ("plan a trip to tunis", "get me to rome then make a note")


@pytest.fixture(scope="module")
def fitted():
    return fit_ranker(habits(), view())


@pytest.mark.parametrize("text", ASKED)
def test_a_ranker_read_from_bytes_ranks_the_same(fitted, text):
    read = Ranker.from_bytes(fitted.to_bytes())
    before, after = (rank_tool_sets(encoded(text), view(), one) for one in (fitted, read))
    assert after.best.tools == before.best.tools
    assert after.best.confidence == pytest.approx(before.best.confidence, abs=5e-3)
    assert after.tool_probabilities == pytest.approx(before.tool_probabilities, abs=5e-3)
    assert [one.pattern for one in after.neighbours] == [one.pattern for one in before.neighbours]
    assert (read.past_intent_count, read.embedding_model) == (32, "fake/words")
    assert read.calibrator == fitted.calibrator


def test_a_ranker_without_history_is_read_from_bytes():
    read = Ranker.from_bytes(prior_ranker("some-model").to_bytes())
    assert (read.past, read.past_intent_count, read.embedding_model) == (None, 0, "some-model")
    assert rank_tool_sets(encoded(ASKED[0]), view(), read).best is not None


def test_a_ranker_read_from_bytes_can_be_written_again(fitted):
    read = Ranker.from_bytes(fitted.to_bytes())
    again = Ranker.from_bytes(read.to_bytes())
    assert rank_tool_sets(encoded(ASKED[0]), view(), again).best.tools == (11, 13)


@pytest.mark.parametrize("spoil", [lambda _: b"", lambda b: b[:200], lambda b: b"x" + b[1:]])
def test_bytes_that_are_damaged_are_refused(fitted, spoil):
    with pytest.raises(RankerError, match="fit it again"):
        Ranker.from_bytes(spoil(fitted.to_bytes()))


def test_a_ranker_of_other_features_is_refused(fitted, monkeypatch):
    content = fitted.to_bytes()
    monkeypatch.setattr(module, "FEATURES", (*module.FEATURES, "another"))
    with pytest.raises(RankerError, match="another version"):
        Ranker.from_bytes(content)


def test_history_is_counted_once(fitted):
    one = dataclasses.replace(fitted)
    assert one.set_history is one.set_history
    assert one.set_history.run_count == 32
