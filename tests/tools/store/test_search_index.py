import django.db
import numpy as np
import pytest
from django.db import transaction

from tests.factories import ServerFactory, TeamFactory, ToolFactory
from tests.fakes import FakeEmbedder
from tools.embed_catalogue import embed_missing
from tools.models import Server, Tool, ToolEmbedding
from tools.store import search_index

pytestmark = pytest.mark.django_db

EMBEDDER = FakeEmbedder()
PLENTY = 10_000_000
COLUMNS = ("tools", "servers", "categories", "teams", "texts", "lengths", "embeddings", "vectors")

POSTINGS = ("keys", "starts", "tools", "frequencies", "in_name")


def load(previous=None, *, model=EMBEDDER.model, max_bytes=PLENTY):
    return search_index.refresh_index(previous, model=model, max_bytes=max_bytes)


def same(one, other):
    arrays = [(getattr(one, name), getattr(other, name)) for name in COLUMNS]
    arrays += [(getattr(one.postings, name), getattr(other.postings, name)) for name in POSTINGS]
    return all(np.array_equal(left, right) for left, right in arrays) and (
        (one.server_names, one.category_names) == (other.server_names, other.category_names)
    )


@pytest.fixture
def tools():
    server = ServerFactory(name="one")
    made = [
        ToolFactory(server=server, name=f"tool_{n}", description=f"Does {n} things to files.")
        for n in range(6)
    ]
    embed_missing(EMBEDDER)
    return made


def rewrite(tool, description):
    tool.definition.description = description
    tool.definition.text_hash = description.ljust(64)[:64]
    tool.definition.save()
    embed_missing(EMBEDDER)


def test_unsearchable_tools_are_not_loaded(tools):
    ToolFactory(enabled=False)
    ToolFactory(state=Tool.State.QUARANTINED)
    ToolFactory(state=Tool.State.REMOVED)
    ToolFactory(server=ServerFactory(enabled=False))
    embed_missing(EMBEDDER)
    assert load().tools.tolist() == [tool.pk for tool in tools]


def test_without_a_change_nothing_is_read_again(tools):
    first = load()
    again = load(first)
    assert again.vectors is first.vectors
    assert again.postings is first.postings


@pytest.mark.parametrize(
    "change",
    [
        lambda tools: rewrite(tools[2], "Something else altogether."),
        lambda tools: Tool.objects.filter(pk=tools[0].pk).update(enabled=False),
        lambda tools: Tool.objects.filter(pk=tools[5].pk).update(state=Tool.State.QUARANTINED),
        lambda tools: tools[3].server.delete(),
        lambda tools: (ToolFactory(name="late", description="New."), embed_missing(EMBEDDER)),
        lambda tools: Server.objects.filter(pk=tools[0].server_id).update(team=TeamFactory()),
        lambda tools: ToolFactory(name="unembedded"),
        lambda tools: ToolEmbedding.objects.filter(tool=tools[1]).delete(),
    ],
    ids=["text", "disabled", "quarantined", "deleted", "added", "team", "bare", "vector"],
)
def test_an_updated_index_equals_a_reloaded_one(tools, change):
    ToolFactory.create_batch(3, server=ServerFactory(name="two"))
    embed_missing(EMBEDDER)
    before = load()
    change(tools)
    after = load(before)
    assert same(after, load())
    assert not same(after, before)


def test_the_vector_of_the_present_text_is_taken_before_an_older_one(tools):
    tool = tools[0]
    old = ToolEmbedding.objects.get(tool=tool)
    ToolEmbedding.objects.create(
        tool=tool, model=EMBEDDER.model, content_hash="older", dimensions=16, vector=[0.25] * 16
    )
    assert load().embeddings[0] == old.pk


def test_an_older_vector_serves_until_the_new_one_is_there(tools):
    tools[0].definition.text_hash = "f" * 64
    tools[0].definition.save()
    assert load().embeddings[0] != 0


def test_each_model_has_an_index_of_its_own(tools):
    other = FakeEmbedder(model="fake/other", dimensions=8)
    embed_missing(other)
    index = load(load(), model="fake/other")
    assert index.vectors.shape == (6, 8)
    assert same(index, load(model="fake/other"))


def test_a_catalogue_beyond_memory_is_searched_in_the_database(tools):
    assert load(max_bytes=1_000) is None
    assert load(max_bytes=PLENTY) is not None


def test_trouble_while_reading_is_an_error_of_the_database(tools):
    with pytest.raises(django.db.ProgrammingError), transaction.atomic():
        search_index._copy_rows("COPY no_such_table TO STDOUT (FORMAT BINARY)", np.dtype("u1"), {})
