from contextlib import contextmanager

import pytest
from django.db import connection

from tests.factories import CategoryFactory, ServerFactory, TeamFactory, ToolFactory
from tests.fakes import FakeEmbedder
from tools.embed.cache import CachedEmbedder
from tools.embed.embedder import EmbeddingUnavailable
from tools.embed_catalogue import embed_missing
from tools.fusion import NOTHING_CLOSE_WARNING, PastUse
from tools.models import Server, Tool
from tools.query_text import QueryError
from tools.search import SearchRequest, search, search_in_memory
from tools.store import postings, search_index
from tools.store.catalogue import load_catalogue
from tools.store.search import SearchCandidate, SearchContext, SearchScope


class MissingEmbedder(FakeEmbedder):
    """A model that is not there."""

    def embed(self, texts, *, kind):
        raise EmbeddingUnavailable("the model is not there: install it")


@pytest.fixture
def embedder(db):
    clock, files = ServerFactory(name="clock"), ServerFactory(name="files")
    ToolFactory(server=clock, name="convert_time", description="Convert between time zones.")
    ToolFactory(server=clock, name="get_date", description="Today's date.")
    ToolFactory(server=files, name="read_file", description="Read the text of a file.")
    embedder = FakeEmbedder()
    embed_missing(embedder)
    return embedder


def ask(query, embedder, **values):
    return search(SearchRequest(query=query, **values), embedder=embedder)


def test_the_tool_that_fits_comes_first_with_score_and_reasons(embedder):
    answer = ask("convert between zones", embedder)
    best = answer.hits[0]
    assert best.tool == "clock:convert_time"
    assert best.reasons[0] == "matches 'convert' in its name"
    assert best.reasons[1] == "matches 'zones' in its text"
    assert answer.warnings == ()
    scores = [hit.score for hit in answer.hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


def test_a_tool_is_found_by_its_very_name(embedder):
    assert ask("read_file", embedder).hits[0].tool == "files:read_file"
    assert ask("readFile", embedder).hits[0].tool == "files:read_file"


@pytest.mark.parametrize("limit", [0, -1, 101])
def test_a_limit_out_of_range_is_refused(limit):
    with pytest.raises(ValueError, match="limit must be between 1 and 100"):
        ask("x", FakeEmbedder(), limit=limit)


@pytest.mark.parametrize("query", ["", " \n", "\x00"])
def test_an_empty_query_is_refused(query):
    with pytest.raises(QueryError, match="empty"):
        ask(query, FakeEmbedder())


def test_without_a_model_words_alone_find_with_a_warning(embedder):
    answer = ask("convert zones", MissingEmbedder())
    assert answer.hits[0].tool == "clock:convert_time"
    assert answer.hits[0].dense is None
    assert answer.warnings == ("matched by words only: the model is not there: install it",)


def test_an_empty_catalogue_answers_with_nothing(db):
    assert ask("anything", FakeEmbedder()).hits == ()


def test_a_huge_query_is_answered_with_a_warning(embedder):
    answer = ask("convert time zones " * 6_000, embedder)
    assert answer.hits
    assert answer.warnings == ("the query was cut: only its beginning was read",)


@pytest.mark.parametrize(
    "query",
    [
        "'; DROP TABLE tools_tool; --",
        "%s %(x)s {0} {",
        "\\x",
        "a" * 3_000,
        "\U0001f600",
        "用 必应",
    ],
)
def test_any_query_is_answered(embedder, query):
    ask(query, embedder)


def test_each_kind_of_evidence_can_be_asked_alone(embedder):
    dense = ask("convert zones", embedder, mode="dense")
    assert {hit.lexical for hit in dense.hits} == {0.0}
    lexical = ask("convert zones", embedder, mode="lexical")
    assert {hit.dense for hit in lexical.hits} == {None}
    assert [hit.tool for hit in lexical.hits] == ["clock:convert_time"]


def test_filters_are_kept(embedder):
    answer = ask("convert zones", embedder, scope=SearchScope(server="files"))
    assert [hit.tool for hit in answer.hits] == ["files:read_file"]


def test_another_teams_tools_are_never_found(embedder):
    ToolFactory(name="secret_time", server=ServerFactory(team=TeamFactory()))
    embed_missing(embedder)
    found = ask("secret time", embedder, limit=100)
    assert not [hit for hit in found.hits if "secret" in hit.tool]


def candidate(**values):
    told = {"similarity": None, "bm25": 0.0, "in_name": frozenset(), "in_text": frozenset()}
    return SearchCandidate(tool_pk=1, server="s", name="t", **told | values)


QUERIES = [
    "convert between zones",
    "read_file",
    "the of",
    "What is today's date? Then read the text of the file. Convert it!",
    "zzz qqq",
]


def loaded(embedder):
    return search_index.refresh_index(None, model=embedder.model, max_bytes=1_000_000)


def both_ways(query, embedder, **values):
    request = SearchRequest(query=query, **values)
    index = loaded(embedder)
    return search(request, embedder=embedder), search(request, embedder=embedder, index=index)


def alike(one, other):
    assert [(hit.tool, hit.reasons) for hit in one.hits] == [
        (hit.tool, hit.reasons) for hit in other.hits
    ]
    for name in ("score", "dense", "lexical"):
        left, right = ([getattr(hit, name) for hit in answer.hits] for answer in (one, other))
        assert [value is None for value in left] == [value is None for value in right]
        assert [value or 0 for value in left] == pytest.approx(
            [value or 0 for value in right], abs=1e-4
        )
    assert one.warnings == other.warnings


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("mode", ["fused", "dense", "lexical"])
def test_memory_and_database_answer_alike(embedder, query, mode):
    alike(*both_ways(query, embedder, mode=mode))


@pytest.mark.parametrize(
    "scope",
    [SearchScope(server="files"), SearchScope(server="absent"), SearchScope(category="absent")],
)
def test_memory_and_database_keep_to_the_same_filters(embedder, scope):
    alike(*both_ways("read the date", embedder, scope=scope))


def test_memory_and_database_show_a_team_the_same(embedder):
    team, other = TeamFactory(), TeamFactory()
    for owner in (team, other):
        ToolFactory(name=f"zones_{owner.pk}", server=ServerFactory(team=owner))
    embed_missing(embedder)
    for scope in (SearchScope(), SearchScope(team=team.pk)):
        alike(*both_ways("convert zones", embedder, scope=scope, limit=100))


def without_database(query, embedder, *, team=None, embedded=True, index=None, **values):
    """Search as while the database is away, after an attempt that embedded the query."""
    scope = values.get("scope", SearchScope(team=team))
    request = SearchRequest(query=query, **values | {"scope": scope})
    cached = CachedEmbedder(embedder)
    if embedded:
        search(request, embedder=cached)
    tools = [
        tool
        for tool in load_catalogue().tools.values()
        if tool.is_usable
        and tool.team in (None, team)
        and scope.server in (None, tool.server)
        and scope.category in (None, tool.category)
    ]
    with block_queries():
        return search_in_memory(request, tools=tools, embedder=cached, index=index)


@contextmanager
def block_queries():
    def refuse(*_args):
        raise AssertionError("the database was asked")

    with connection.execute_wrapper(refuse):
        yield


@pytest.mark.parametrize("query", QUERIES)
def test_memory_answers_the_same_without_the_database(embedder, query):
    answer = without_database(query, embedder, index=loaded(embedder))
    alike(answer, ask(query, embedder))


@pytest.mark.parametrize(
    "scope", [SearchScope(server="files"), SearchScope(server="absent"), SearchScope()]
)
def test_memory_keeps_to_filters_and_context_without_the_database(embedder, scope):
    used = Tool.objects.get(name="convert_time")
    context = SearchContext(tools=frozenset({used.pk}), servers=frozenset({"clock"}))
    values = {"scope": scope, "context": context}
    answer = without_database("read the date", embedder, index=loaded(embedder), **values)
    alike(answer, ask("read the date", embedder, **values))


def test_memory_shows_a_team_its_own_tools_without_the_database(embedder):
    team, other = TeamFactory(), TeamFactory()
    for owner in (team, other):
        ToolFactory(name=f"zones_{owner.pk}", server=ServerFactory(team=owner))
    embed_missing(embedder)
    for pk in (None, team.pk):
        answer = without_database("convert zones", embedder, team=pk, index=loaded(embedder))
        alike(answer, ask("convert zones", embedder, scope=SearchScope(team=pk)))


def test_a_query_that_was_never_embedded_is_compared_by_words_without_the_database(embedder):
    answer = without_database("convert zones", embedder, embedded=False, index=loaded(embedder))
    alike(answer, ask("convert zones", embedder, mode="lexical"))


def test_for_a_caller_limited_to_some_tools_meaning_is_compared_in_memory_at_once(embedder):
    within = frozenset(Tool.objects.values_list("pk", flat=True))
    scope = SearchScope(within=within)
    answer = without_database(
        "convert zones", embedder, embedded=False, index=loaded(embedder), scope=scope
    )
    alike(answer, ask("convert zones", embedder))
    missing = without_database(
        "convert zones", MissingEmbedder(), embedded=False, index=loaded(embedder), scope=scope
    )
    assert any("matched by words only" in warning for warning in missing.warnings)


def test_words_are_searched_though_no_index_was_loaded_before_the_database_went(embedder):
    alike(
        without_database("convert zones", embedder), ask("convert zones", embedder, mode="lexical")
    )


def test_what_the_catalogue_in_memory_no_longer_has_is_not_found_without_the_database(embedder):
    behind = loaded(embedder)
    Tool.objects.filter(name="read_file").update(enabled=False)
    answer = without_database("read the text of a file", embedder, index=behind)
    assert answer.hits
    assert "files:read_file" not in {hit.tool for hit in answer.hits}


@pytest.mark.parametrize(
    "change",
    [
        lambda: Tool.objects.filter(name="read_file").update(enabled=False),
        lambda: Tool.objects.filter(name="read_file").update(state=Tool.State.QUARANTINED),
        lambda: Server.objects.filter(name="files").update(enabled=False),
        lambda: Server.objects.filter(name="files").update(team=TeamFactory()),
        lambda: Server.objects.filter(name="files").delete(),
        lambda: Tool.objects.filter(name="read_file").update(name="other_name"),
    ],
    ids=["disabled", "quarantined", "server off", "another team", "deleted", "renamed"],
)
def test_an_index_that_is_behind_never_tells_what_may_not_be_found(embedder, change):
    behind = loaded(embedder)
    change()
    request = SearchRequest(query="read the text of a file")
    answer = search(request, embedder=embedder, index=behind)
    alike(answer, search(request, embedder=embedder))
    assert "files:read_file" not in {hit.tool for hit in answer.hits}


def test_a_server_or_category_the_index_does_not_know_yet_is_found_by_the_database(embedder):
    behind = loaded(embedder)
    ToolFactory(
        name="late", server=ServerFactory(name="new"), category=CategoryFactory(name="fresh")
    )
    embed_missing(embedder)
    for scope in (SearchScope(server="new"), SearchScope(category="fresh")):
        request = SearchRequest(query="late", scope=scope)
        answer = search(request, embedder=embedder, index=behind)
        assert [hit.tool for hit in answer.hits] == ["new:late"]


def test_an_index_of_another_model_is_not_used(embedder):
    index = search_index.refresh_index(None, model="fake/other", max_bytes=1_000_000)
    request = SearchRequest(query="convert zones")
    alike(search(request, embedder=embedder), search(request, embedder=embedder, index=index))


@pytest.mark.parametrize("in_memory", [False, True])
def test_tools_in_use_are_not_found_again_and_their_servers_come_first(embedder, in_memory):
    ToolFactory(name="get_date", description="Today's date.", server=ServerFactory(name="abc"))
    embed_missing(embedder)
    used = Tool.objects.get(name="convert_time")
    context = SearchContext(tools=frozenset({used.pk}), servers=frozenset({"clock"}))
    index = loaded(embedder) if in_memory else None
    plain = search(SearchRequest(query="today's date"), embedder=embedder, index=index)
    assert plain.hits[0].tool == "abc:get_date"
    request = SearchRequest(query="today's date", context=context)
    found = search(request, embedder=embedder, index=index).hits
    assert [hit.tool for hit in found][:2] == ["clock:get_date", "abc:get_date"]
    assert "clock:convert_time" not in {hit.tool for hit in found}
    assert found[0].reasons[-1] == "from a server in use"


class PastRequests:
    """Past requests that all used one tool."""

    def __init__(self, tool, *, familiarity=1.0):
        self.tool = Tool.objects.get(name=tool).pk
        self.familiarity = familiarity
        self.asked = []

    def __call__(self, query, tools):
        self.asked.append((query, list(tools)))
        odds = dict.fromkeys(tools, -4.0) | {self.tool: 4.0}
        return PastUse(
            familiarity=self.familiarity,
            log_odds=odds,
            similar_requests=8,
            use_counts={self.tool: 7},
        )


@pytest.mark.parametrize("in_memory", [False, True])
def test_the_tool_that_past_requests_used_comes_first_and_says_so(embedder, in_memory):
    weigh = PastRequests("get_date")
    index = loaded(embedder) if in_memory else None
    request = SearchRequest(query="convert between zones", limit=2)
    found = search(request, embedder=embedder, index=index, weigh=weigh)
    assert [hit.tool for hit in found.hits] == ["clock:get_date", "clock:convert_time"]
    assert found.hits[0].reasons[0] == "used in 7 of 8 similar requests"
    assert found.hits[0].score > 0.9
    assert weigh.asked[0][0] == "convert between zones"


def test_past_requests_that_are_not_familiar_change_nothing(embedder):
    request = SearchRequest(query="convert between zones")
    found = search(request, embedder=embedder, weigh=PastRequests("get_date", familiarity=0.0))
    plain = search(request, embedder=embedder)
    assert [(hit.tool, hit.score) for hit in found.hits] == [
        (hit.tool, hit.score) for hit in plain.hits
    ]


def test_past_requests_add_a_tool_that_the_text_does_not_find(embedder):
    for number in range(20):
        ToolFactory(name=f"convert_zones_{number}")
    embed_missing(embedder)
    weigh = PastRequests("read_file")
    found = search(
        SearchRequest(query="convert zones", limit=3),
        embedder=embedder,
        index=loaded(embedder),
        weigh=weigh,
    )
    assert weigh.tool not in weigh.asked[0][1]
    assert found.hits[0].tool == "files:read_file"


def test_past_requests_add_no_tool_beyond_the_filters(embedder):
    request = SearchRequest(query="convert zones", scope=SearchScope(server="clock"))
    found = search(
        request, embedder=embedder, index=loaded(embedder), weigh=PastRequests("read_file")
    )
    assert {hit.tool for hit in found.hits} == {"clock:convert_time", "clock:get_date"}


def test_without_the_database_past_requests_count_where_meaning_is_compared(embedder):
    weigh, index = PastRequests("get_date"), loaded(embedder)
    request, cached = SearchRequest(query="convert zones"), CachedEmbedder(embedder)
    tools = load_catalogue().tools.values()

    def ask_memory():
        return search_in_memory(request, tools=tools, embedder=cached, index=index, weigh=weigh)

    assert ask_memory().hits[0].tool == "clock:convert_time"
    cached.embed([request.query], kind="query")
    assert ask_memory().hits[0].tool == "clock:get_date"


def test_a_query_that_no_tool_fits_is_answered_with_a_warning(embedder):
    far = ask("zzz qqq", embedder)
    assert far.hits[0].dense < 0.2
    assert far.warnings == (NOTHING_CLOSE_WARNING,)
    assert ask("read the text of a file", embedder).warnings == ()


def test_a_far_match_that_similar_requests_used_is_no_cause_for_a_warning(embedder):
    request = SearchRequest(query="zzz qqq")
    found = search(request, embedder=embedder, weigh=PastRequests("get_date"))
    assert found.hits[0].tool == "clock:get_date"
    assert found.warnings == ()


def test_without_vectors_words_alone_find_with_a_warning(db):
    ToolFactory(name="convert_time")
    postings.index_tools(postings.find_stale_tools())
    answer = ask("convert", FakeEmbedder())
    assert answer.hits[0].lexical > 0
    assert "run `manage.py embed`" in answer.warnings[0]
