"""What past requests say of a search, by models fitted to a small history."""

import dataclasses

import pytest

from graph.ranker_cache import TeamModels
from graph.suggestion.binding.knowledge import BindingKnowledge
from graph.suggestion.ranking.fit import fit_ranker
from graph.weigh_past_use import MAX_SIMILAR, weigh_past_use
from tests.fakes import FakeEmbedder
from tests.graph.suggestion.ranking.small_catalogue import EMBEDDER, catalogue, past, view
from tools.embed.embedder import EmbeddingUnavailable
from tools.translate import gloss_text

INDEX = catalogue()
MAIL, NOTE = 21, 32
REQUESTS = [f"tell ann that we are late by {minutes}" for minutes in range(12)]


class MissingEmbedder(FakeEmbedder):
    """A model that is not there."""

    def embed(self, texts, *, kind):
        raise EmbeddingUnavailable("the model is not there")


def models(ranker):
    return TeamModels(ranker=ranker, knowledge=BindingKnowledge())


@pytest.fixture(scope="module")
def learned():
    return models(fit_ranker(past(*((text, [MAIL]) for text in REQUESTS)), view()))


def weigh(query, models, **values):
    given = {"index": INDEX, "embedder": EMBEDDER} | values
    return weigh_past_use(query, (), models=models, **given)


def test_the_tool_that_similar_requests_used_is_likeliest(learned):
    found = weigh("tell ann that we are late by 40", learned)
    assert found.familiarity > 0.5
    assert max(found.log_odds, key=found.log_odds.get) == MAIL
    assert (found.similar_requests, found.use_counts) == (MAX_SIMILAR, {MAIL: MAX_SIMILAR})


@pytest.mark.parametrize(
    "values",
    [
        {"index": None},
        {"index": dataclasses.replace(INDEX, model="other")},
        {"embedder": MissingEmbedder(dimensions=64)},
    ],
)
def test_what_cannot_be_compared_is_not_weighed(learned, values):
    assert weigh("tell ann", learned, **values) is None


def test_a_query_in_another_language_is_weighed_by_its_english_words(learned):
    embedder = FakeEmbedder(dimensions=64)
    assert weigh("lösche die Datei", learned, embedder=embedder) is not None
    assert set(embedder.embedded) == {gloss_text("lösche die Datei")}
