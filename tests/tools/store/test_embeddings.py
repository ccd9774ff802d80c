import numpy as np
import pytest
from django.db import connection

from tests.factories import ToolFactory
from tests.fakes import FakeEmbedder
from tools.embed_catalogue import embed_tools
from tools.embedding_text import compose_text
from tools.models import Tool, ToolEmbedding
from tools.store import embeddings

pytestmark = pytest.mark.django_db

MODEL = "fake/words"


def embed_all(model=MODEL):
    todo = embeddings.load_missing(model)
    texts = [compose_text(item.definition, server=item.server) for item in todo]
    return embeddings.write_vectors(model, todo, embed_tools(texts, FakeEmbedder()))


def test_every_listed_defined_tool_needs_a_vector():
    wanted = ToolFactory()
    ToolFactory(pinned=False)
    ToolFactory(state=Tool.State.REMOVED)
    assert [item.tool_pk for item in embeddings.load_missing(MODEL)] == [wanted.pk]


def test_another_model_has_its_own_vectors():
    ToolFactory()
    embed_all()
    assert embeddings.load_coverage("other/model") == embeddings.EmbeddingCoverage(
        embedded=0, total=1
    )
    embed_all("other/model")
    assert embeddings.load_model_names() == (MODEL, "other/model")


def test_a_changed_text_is_missing_and_its_old_vector_serves_until_it_is_written():
    tool = ToolFactory()
    embed_all()
    tool.definition.text_hash = "new"
    tool.definition.save()
    assert [item.content_hash for item in embeddings.load_missing(MODEL)] == ["new"]
    assert embeddings.drop_stale(MODEL) == 0
    assert embed_all() == 1
    assert list(ToolEmbedding.objects.values_list("content_hash", flat=True)) == ["new"]


def test_vectors_of_removed_tools_are_dropped():
    tool = ToolFactory()
    embed_all()
    Tool.objects.filter(pk=tool.pk).update(state=Tool.State.REMOVED)
    assert embeddings.drop_stale(MODEL) == 1


def test_a_tool_that_was_deleted_meanwhile_is_left_out():
    gone, kept = ToolFactory.create_batch(2)
    todo = embeddings.load_missing(MODEL)
    gone_pk = gone.pk
    Tool.objects.filter(pk=gone_pk).update(definition=None, state=Tool.State.PENDING)
    gone.delete()
    assert embeddings.write_vectors(MODEL, todo, np.ones((2, 2), dtype=np.float32)) == 1
    assert ToolEmbedding.objects.get().tool_id == kept.pk


def test_an_index_is_made_for_each_model_and_dropped_with_it():
    ToolFactory()
    embed_all()
    assert not embeddings.has_index(MODEL)
    assert embeddings.create_index(MODEL, 16)
    assert embeddings.create_index(MODEL, 16)
    assert embeddings.has_index(MODEL)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT indexdef FROM pg_indexes WHERE indexname = %s", [embeddings.index_name(MODEL)]
        )
        definition = cursor.fetchone()[0]
    assert "hnsw" in definition
    assert "m='16'" in definition
    assert "ef_construction='64'" in definition
    embeddings.drop_index(MODEL)
    assert not embeddings.has_index(MODEL)


def test_vectors_too_long_for_an_index_go_without():
    assert not embeddings.create_index(MODEL, embeddings.MAX_INDEXED_DIMENSIONS + 1)
