import pytest

from tests.factories import ToolFactory
from tests.fakes import FakeEmbedder
from tools import embedding_text
from tools.embed.embedder import EmbeddingUnavailable
from tools.embed_catalogue import CHUNK, embed_missing
from tools.embedding_text import EmbeddedText
from tools.models import ToolDefinition, ToolEmbedding, ToolPosting
from tools.store import embeddings, postings

pytestmark = pytest.mark.django_db

TEXTS_OF_ONE = EmbeddedText._fields


class BrokenEmbedder(FakeEmbedder):
    """Fails at the text it is told to."""

    def embed(self, texts, *, kind):
        if len(self.embedded) >= CHUNK * len(TEXTS_OF_ONE):
            raise EmbeddingUnavailable("pulled out")
        return super().embed(texts, kind=kind)


def test_an_unchanged_catalogue_costs_nothing():
    ToolFactory.create_batch(3)
    embed_missing(FakeEmbedder())
    again = FakeEmbedder()
    done = embed_missing(again)
    assert (done.embedded, done.indexed) == (0, 0)
    assert again.embedded == []


def test_only_what_changed_is_embedded():
    tools = ToolFactory.create_batch(3)
    embed_missing(FakeEmbedder())
    ToolDefinition.objects.filter(pk=tools[1].definition_id).update(
        description="Changed.", text_hash="new"
    )
    again = FakeEmbedder()
    embed_missing(again)
    assert len(again.embedded) == len(TEXTS_OF_ONE)


def test_what_was_done_before_an_interruption_is_kept():
    ToolFactory.create_batch(CHUNK + 2)
    with pytest.raises(EmbeddingUnavailable):
        embed_missing(BrokenEmbedder())
    assert ToolEmbedding.objects.count() == CHUNK
    again = FakeEmbedder()
    embed_missing(again)
    assert len(again.embedded) == 2 * len(TEXTS_OF_ONE)


def test_words_are_indexed_though_the_model_is_missing():
    ToolFactory()

    class Missing(FakeEmbedder):
        def embed(self, texts, *, kind):
            raise EmbeddingUnavailable("not there")

    with pytest.raises(EmbeddingUnavailable):
        embed_missing(Missing())
    assert postings.find_stale_tools() == []


def test_another_model_is_prepared_while_the_first_one_stays():
    ToolFactory()
    embed_missing(FakeEmbedder(model="first"))
    embed_missing(FakeEmbedder(model="second", dimensions=8))
    assert embeddings.load_model_names() == ("first", "second")
    assert embeddings.has_index("first")
    assert embeddings.has_index("second")


def test_a_well_known_tool_is_embedded_again_when_its_example_wishes_have_changed():
    parameters = ("source_timezone", "time", "target_timezone")
    tool = ToolFactory(
        name="convert_time", input_schema={"properties": {name: {} for name in parameters}}
    )
    tool.definition.text_hash = "of other examples"
    tool.definition.save()
    embed_missing(FakeEmbedder())
    tool.refresh_from_db()
    assert tool.definition.text_hash != "of other examples"
    again = FakeEmbedder()
    embed_missing(again)
    assert again.embedded == []


def test_texts_that_an_earlier_version_composed_are_indexed_and_embedded_again(monkeypatch):
    date = {"properties": {"d": {"description": "查询日期 例如明天"}}}
    with monkeypatch.context() as earlier:
        earlier.setattr(embedding_text, "gloss_text", lambda _text: "")
        earlier.setattr(postings, "INDEX_VERSION", 3)
        ToolFactory(description="Busca archivos por nombre en el proyecto.")
        ToolFactory(description="Looks up a train.", input_schema=date)
        ToolFactory(description="Deletes a file.")
        embed_missing(FakeEmbedder())
    again = FakeEmbedder()
    done = embed_missing(again)
    assert (done.indexed, done.embedded, done.dropped) == (3, 2, 0)
    assert "find search file" in again.embedded[0]
    assert "date" in again.embedded[1]
    assert ToolPosting.objects.filter(lexeme="tomorrow").exists()
    assert ToolEmbedding.objects.count() == 3
    done = embed_missing(FakeEmbedder())
    assert (done.indexed, done.embedded) == (0, 0)


def test_after_a_change_of_shipped_files_texts_are_indexed_again(monkeypatch):
    ToolFactory()
    embed_missing(FakeEmbedder())
    monkeypatch.setattr(postings, "_hash_shipped_files", lambda: "of other files")
    done = embed_missing(FakeEmbedder())
    assert (done.indexed, done.embedded) == (1, 0)
