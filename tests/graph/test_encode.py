import numpy as np
import pytest

from graph.encode import encode_intents
from graph.suggestion.intent.reading import read_intent
from tests.factories import ToolFactory
from tests.fakes import FakeEmbedder
from tools.embed_catalogue import embed_missing
from tools.store import search_index

pytestmark = pytest.mark.django_db


def test_intents_are_encoded_in_one_batch(django_assert_num_queries):
    embedder = FakeEmbedder()
    readings = [
        read_intent("convert the time zone, then mail it to bob@example.org"),
        read_intent("mail it"),
    ]
    with django_assert_num_queries(0):
        first, second = encode_intents(readings, embedder=embedder)
    texts = list(dict.fromkeys(text for reading in readings for text in reading.distinct_texts))
    assert embedder.embedded == texts
    rows = dict(zip(texts, embedder.embed(texts, kind="query"), strict=True))
    reading = readings[0]
    np.testing.assert_array_equal(first.whole, rows[reading.text])
    np.testing.assert_array_equal(first.masked, rows[reading.masked])
    np.testing.assert_array_equal(first.sentences, [rows[text] for text in reading.sentences])
    np.testing.assert_array_equal(first.clauses, [rows[c.text] for c in reading.clauses])
    np.testing.assert_array_equal(
        first.masked_clauses, [rows[clause.embedded_masked_text] for clause in reading.clauses]
    )
    assert first.length == len(reading.text)
    assert len(second.clauses) == 1


def test_words_have_the_keys_of_the_index_in_order_without_stop_words():
    tool = ToolFactory(name="convertTimes", description="Zones.")
    embedder = FakeEmbedder()
    embed_missing(embedder)
    index = search_index.refresh_index(None, model=embedder.model, max_bytes=10**9)
    (encoded,) = encode_intents(
        [read_intent("convert the time of zones, then converting zones")], embedder=embedder
    )
    convert, time, zone, again, zone_again = encoded.words
    assert (convert, zone) == (again, zone_again)
    assert {convert, time, zone} <= set(index.postings.keys.tolist())
    assert encoded.clause_words == ((convert, time, zone, convert, zone),)
    assert index.tools.tolist() == [tool.pk]


def test_clauses_have_words_of_their_own():
    (encoded,) = encode_intents(
        [read_intent("find the best flight, and book it right away")], embedder=FakeEmbedder()
    )
    assert len(encoded.clause_words) == 2
    assert sum(encoded.clause_words, ()) == encoded.words
