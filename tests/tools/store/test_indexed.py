import pytest

from tests.factories import ToolFactory
from tests.fakes import FakeEmbedder
from tools.embed_catalogue import embed_missing
from tools.store import indexed, search_index

pytestmark = pytest.mark.django_db


def test_forms_of_a_word_have_one_key_and_stop_words_none():
    keys = indexed.load_lexeme_keys(["Zones", "zone", "the"])
    assert keys.keys() == {"Zones", "zone"}
    assert keys["Zones"] == keys["zone"]
    assert len(keys["zone"]) == 1


def test_keys_are_those_of_the_index():
    ToolFactory(name="zone", description="")
    embedder = FakeEmbedder()
    embed_missing(embedder)
    index = search_index.refresh_index(None, model=embedder.model, max_bytes=10**9)
    (key,) = indexed.load_lexeme_keys(["zones"])["zones"]
    assert key in index.postings.keys


def test_a_compound_has_the_keys_of_its_parts_too():
    whole = indexed.load_lexeme_keys(["time-zone", "zone"])
    assert set(whole["zone"]) < set(whole["time-zone"])


def test_any_number_of_words_takes_one_query(django_assert_num_queries):
    with django_assert_num_queries(1):
        indexed.load_lexeme_keys(f"word{n}" for n in range(500))
    with django_assert_num_queries(0):
        assert indexed.load_lexeme_keys([]) == {}
