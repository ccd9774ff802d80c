import pytest
from django.db import connection

from tests.factories import CategoryFactory, ServerFactory, TeamFactory, ToolFactory
from tests.fakes import FakeEmbedder
from tools.definition import Definition
from tools.embed_catalogue import embed_missing, embed_tools
from tools.embedding_text import compose_text
from tools.lexemes import map_lexemes
from tools.models import Tool
from tools.store import search
from tools.store.search import SearchScope

pytestmark = pytest.mark.django_db

EMBEDDER = FakeEmbedder()


def embed_tool(name):
    tool = Tool.objects.select_related("definition", "server").get(name=name)
    said = Definition(name=name, description=tool.definition.description)
    return embed_tools([compose_text(said, server=tool.server.name)], EMBEDDER)[0]


def find(*words, scope=None, vectors=None, limit=10):
    scope = scope or SearchScope()
    found = search.gather_candidates(
        map_lexemes(words), vectors=vectors, model=EMBEDDER.model, scope=scope, limit=limit
    )
    return {item.name: item for item in found}


def by_meaning(*texts, scope=None, limit=10):
    vectors = EMBEDDER.embed(list(texts), kind="query")
    found = find(scope=scope, vectors=vectors, limit=limit)
    return sorted(found, key=lambda name: (-found[name].similarity, name))


def test_words_are_found_whatever_their_form():
    ToolFactory(name="convertTimes", description="Between zones.")
    ToolFactory(name="readFile", description="Reads.")
    embed_missing(EMBEDDER)
    found = find("converting", "zone", "the")
    assert list(found) == ["convertTimes"]
    assert found["convertTimes"].in_name == {"convert"}
    assert found["convertTimes"].in_text == {"zone"}
    assert found["convertTimes"].bm25 > 0


def test_a_rare_word_counts_more_than_a_common_one():
    for index in range(5):
        ToolFactory(name=f"get{'abcde'[index] * 3}", description="common words")
    ToolFactory(name="x", description="singular thing")
    embed_missing(EMBEDDER)
    found = find("common", "singular")
    assert found["x"].bm25 > found["getaaa"].bm25


def test_the_nearest_tools_are_returned_with_their_cosine():
    ToolFactory(name="alpha", description="one")
    ToolFactory(name="omega", description="two")
    embed_missing(EMBEDDER)
    alpha = embed_tool("alpha")
    found = find(vectors=alpha[None])
    assert found["alpha"].similarity == pytest.approx(1, abs=1e-4)
    assert found["omega"].similarity < 0.99
    assert found["alpha"].bm25 == 0


def test_several_sentences_count_by_the_one_that_fits_best():
    ToolFactory(name="alpha", description="one")
    embed_missing(EMBEDDER)
    rows = EMBEDDER.embed(["whole query", "alpha: one", "something else"], kind="query")
    whole, nearest, _ = rows @ embed_tool("alpha")
    found = find(vectors=rows)
    assert found["alpha"].similarity == pytest.approx(0.5 * whole + 0.5 * nearest, abs=1e-4)


@pytest.fixture
def varied():
    team, other = TeamFactory(), TeamFactory()
    category = CategoryFactory(name="filed")
    ToolFactory(name="shared", server=ServerFactory(name="one"))
    ToolFactory(name="apple", server=ServerFactory(team=team))
    ToolFactory(name="pear", server=ServerFactory(team=other))
    ToolFactory(name="filed", category=category, server=ServerFactory(name="two"))
    ToolFactory(name="off", enabled=False)
    ToolFactory(name="dark", server=ServerFactory(enabled=False))
    ToolFactory(name="changed", state=Tool.State.QUARANTINED)
    ToolFactory(name="gone", state=Tool.State.REMOVED)
    ToolFactory(name="new", pinned=False)
    embed_missing(EMBEDDER)
    return team


@pytest.mark.parametrize("uses_index", [False, True])
@pytest.mark.parametrize(
    ("values", "names"),
    [
        ({}, {"shared", "filed"}),
        ({"team": True}, {"shared", "filed", "apple"}),
        ({"server": "one"}, {"shared"}),
        ({"server": "absent"}, set()),
        ({"category": "filed"}, {"filed"}),
        ({"category": "absent"}, set()),
        ({"server": "one", "category": "filed"}, set()),
    ],
)
def test_only_what_the_caller_may_see_and_asked_for_is_found(
    varied, values, names, uses_index, monkeypatch
):
    if uses_index:
        monkeypatch.setattr(search, "EXACT_ROWS", -1)
        monkeypatch.setattr(search, "EXACT_SHARE", 0.0)
    scope = SearchScope(**values | ({"team": varied.pk} if "team" in values else {}))
    assert set(by_meaning("what does", scope=scope)) == names
    assert set(find("what", "does", "shared", "apple", "filed", "pear", scope=scope)) <= names
    assert set(find("filed", "apple", "pear", "off", "dark", "gone", "changed", scope=scope)) == (
        names & {"filed", "apple"}
    )


def test_a_filter_does_not_change_what_a_word_proves(varied):
    everywhere = find("filed")["filed"].bm25
    assert find("filed", scope=SearchScope(server="two"))["filed"].bm25 == pytest.approx(
        everywhere
    )


def test_tools_of_other_teams_do_not_change_what_a_word_proves(varied):
    before = find("shared")["shared"].bm25
    ToolFactory(name="sharedtoo", description="x", server=ServerFactory(team=TeamFactory()))
    embed_missing(EMBEDDER)
    assert find("shared")["shared"].bm25 == pytest.approx(before, rel=0.05)


def test_the_index_finds_what_comparing_every_vector_finds(monkeypatch):
    server = ServerFactory()
    for index in range(120):
        ToolFactory(name=f"tool{index}", server=server, description=f"does {index} things")
    embed_missing(EMBEDDER)
    exact = by_meaning("does 7 things", limit=10)
    monkeypatch.setattr(search, "EXACT_ROWS", 10)
    assert search.is_index_justified(model=EMBEDDER.model, scope=SearchScope())
    assert by_meaning("does 7 things", limit=10) == exact


def test_a_narrow_filter_is_compared_exactly_though_there_is_an_index(monkeypatch):
    few, many = ServerFactory(name="few"), ServerFactory()
    ToolFactory.create_batch(2, server=few)
    ToolFactory.create_batch(60, server=many)
    embed_missing(EMBEDDER)
    monkeypatch.setattr(search, "EXACT_ROWS", 10)
    assert not search.is_index_justified(model=EMBEDDER.model, scope=SearchScope(server="few"))
    assert len(by_meaning("what", scope=SearchScope(server="few"))) == 2


@pytest.mark.django_db(transaction=True)
def test_settings_of_an_index_scan_end_with_it(monkeypatch):
    ToolFactory.create_batch(3)
    embed_missing(EMBEDDER)
    monkeypatch.setattr(search, "EXACT_ROWS", 1)
    assert len(by_meaning("what")) == 3
    with connection.cursor() as cursor:
        cursor.execute("SHOW enable_sort")
        assert cursor.fetchone() == ("on",)
