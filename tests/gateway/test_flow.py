import asyncio
from dataclasses import replace

import django.db
import numpy as np
import pytest

from gateway_project import flow
from gateway_project.access.roles import NotPermitted
from gateway_project.find import lookup
from gateway_project.find.answers import FindRequest
from gateway_project.foundation.caller import Caller
from tests.gateway.catalogues import catalogue, server, tool
from tests.gateway.conftest import hit
from tools import catalogue_index
from tools.query_text import QueryError


def find(world, **values):
    request = FindRequest(**({"query": "show the log", "limit": 5} | values))
    return flow.find_tools(world.effects, world.caller, request)


async def test_search_results_are_listed_best_first(world):
    found = await find(world)
    assert [(card.tool, card.score) for card in found.tools] == [
        ("git:git_log", 0.9),
        ("git:git_status", 0.4),
    ]
    assert found.tools[0].arguments == "repo_path: string, max_count?: integer = 10"
    assert found.run_order == ()


async def test_the_search_is_scoped_to_the_caller_and_the_filters(world):
    world.caller = replace(world.caller, team=7)
    await find(world, server="git", category="", limit=3)
    (request,) = world.searched
    assert (request.query, request.limit) == ("show the log", 3)
    assert (request.scope.team, request.scope.server, request.scope.category) == (7, "git", "")


async def test_the_tokens_of_listing_every_usable_tool_are_reported(world):
    world.catalogue = catalogue(
        *world.catalogue.tools.values(),
        tool("git:off", enabled=False),
        tool("red:x", team=9),
        tool("down:x"),
        servers=(server("down", enabled=False),),
    )
    assert (await find(world)).tokens_listing_all == 170


async def test_the_answer_is_cut_where_its_tokens_would_exceed_the_budget(world):
    first = await find(world)
    one = await find(world, token_budget=first.tokens_used - 1)
    assert [card.tool for card in one.tools] == ["git:git_log"]
    assert (one.omitted_count, one.tokens_budget) == (1, first.tokens_used - 1)
    assert one.tokens_used < first.tokens_used


async def test_requested_budgets_are_capped_by_the_installation(world):
    world.token_budget = 30
    assert (await find(world, token_budget=10_000)).tokens_budget == 30


async def test_context_tools_may_be_named_by_id_or_exposed_name(world):
    found = await find(world, context_tools=("git:git_log", "time__get_current_time"))
    (request,) = world.searched
    known = [world.catalogue.tools[name] for name in ("git:git_log", "time:get_current_time")]
    assert request.context.tools == {tool.pk for tool in known}
    assert request.context.servers == {"git", "time"}
    assert found.warnings == ()


async def test_unknown_tools_in_use_are_ignored_with_a_warning(world):
    world.catalogue = catalogue(*world.catalogue.tools.values(), tool("red:x", team=9))
    found = await find(world, context_tools=("no:such", "red:x", "git:git_log", "no:such"))
    assert found.warnings == ("context_tools: there is no tool 'no:such', 'red:x'; ignored",)
    assert world.searched[0].context.servers == {"git"}


async def test_a_long_list_of_unknown_tools_in_use_is_cut(world):
    found = await find(world, context_tools=tuple(f"no:{n}" for n in range(30)))
    assert found.warnings[0].endswith("'no:19' and 10 more; ignored")


async def test_tools_in_use_are_left_out_by_the_fallback_too(world):
    world.search_error = TimeoutError()
    found = await find(world, query="log commits", context_tools=("git:git_log",))
    assert "git:git_log" not in {card.tool for card in found.tools}


async def test_a_tool_of_a_server_in_trouble_carries_a_warning(world):
    world.trouble = {"git": "it exited with code 1"}
    (card, _) = (await find(world)).tools
    assert card.warnings == ("its server is in trouble: it exited with code 1",)


async def test_a_hit_missing_from_the_catalogue_is_omitted(world):
    world.hits = (hit("new:tool"), hit("git:git_log"))
    assert [card.tool for card in (await find(world)).tools] == ["git:git_log"]


@pytest.mark.parametrize(
    "error", [django.db.OperationalError("cannot reach PostgreSQL"), TimeoutError()]
)
async def test_without_the_database_tools_are_matched_by_words_with_a_warning(world, error):
    world.search_error = error
    found = await find(world)
    assert found.tools[0].tool == "git:git_log"
    (warning,) = found.warnings
    assert warning.startswith("the database is unavailable, so tools were matched by words only")


async def test_without_the_database_meaning_is_compared_if_the_index_is_in_memory(world):
    world.search_error = django.db.OperationalError("cannot reach PostgreSQL")
    words = catalogue_index.index_words(world.catalogue.tools.values())
    vectors = np.eye(len(words.tools), world.embedder.dimensions, dtype=np.float32)
    (vectors[0],) = world.embedder.embed(["show the log"], kind="query")
    world.index = replace(words, embeddings=words.tools, vectors=vectors)
    found = await find(world)
    assert {card.tool for card in found.tools} == set(world.catalogue.tools)
    assert found.warnings == (
        "the database is unavailable, so tools were searched in memory and not confirmed: "
        "cannot reach PostgreSQL",
    )


async def test_a_search_that_hangs_falls_back_too(world, monkeypatch):
    monkeypatch.setattr(lookup, "SEARCH_TIMEOUT_S", 0.01)

    async def hang(_request):
        await asyncio.Event().wait()

    effects = replace(world.effects, search=hang)
    found = await flow.find_tools(effects, world.caller, FindRequest(query="time", limit=5))
    assert [card.tool for card in found.tools] == ["time:get_current_time"]
    assert "no answer within 0.01 s" in found.warnings[0]


async def test_the_fallback_respects_the_filters(world):
    world.search_error = django.db.OperationalError("gone")
    found = await find(world, query="time log", server="git")
    assert [card.tool for card in found.tools] == ["git:git_log"]
    assert (await find(world, query="time log", category="none")).tools == ()


async def test_an_unknown_filter_lists_the_known_names(world):
    world.hits = ()
    assert (await find(world, server="gti")).warnings == (
        "there is no server 'gti'; there are git, time",
    )
    assert (await find(world, category="travel")).warnings == (
        "there is no category 'travel'; there is none yet",
    )


async def test_categories_of_other_teams_are_not_listed(world):
    world.hits = ()
    world.catalogue = catalogue(
        tool("git:log", category="code"), tool("pay:wage", category="secret", team=8)
    )
    assert (await find(world, category="travel")).warnings == (
        "there is no category 'travel'; there are code",
    )


async def test_an_empty_catalogue_reports_how_to_add_servers(world):
    world.catalogue, world.hits = catalogue(), ()
    assert (await find(world, server="git")).warnings == (lookup.NO_TOOLS_WARNING,)


async def test_a_query_without_words_is_refused(world):
    world.search_error = QueryError("the query is empty")
    with pytest.raises(QueryError):
        await find(world)


async def test_a_caller_without_the_scope_may_neither_search_nor_describe(world):
    world.caller = Caller(user="ann", team=None, person=None, scopes=frozenset(), kind="stdio")
    with pytest.raises(NotPermitted, match="'ann' lacks the scope 'search'"):
        await find(world)
    with pytest.raises(NotPermitted):
        await flow.describe_tool(world.effects, world.caller, "git:git_log")


async def test_a_description_has_the_server_its_trouble_and_alternatives(world):
    world.catalogue = catalogue(
        *world.catalogue.tools.values(), tool("hg:git_log"), tool("off:git_log", enabled=False)
    )
    world.trouble = {"git": "it hangs"}
    described = await flow.describe_tool(world.effects, world.caller, "git__git_log")
    assert described.tool.tool == "git:git_log"
    assert described.server.name == "git"
    assert described.trouble == "it hangs"
    assert described.alternatives == ("hg:git_log",)


async def test_a_better_match_that_waits_for_approval_is_named(world):
    world.catalogue = catalogue(
        *world.catalogue.tools.values(), tool("git:show_log", state="quarantined")
    )
    (warning,) = (await find(world)).warnings
    assert "git:show_log also matches, but changed since it was approved" in warning
    assert "manage.py approve_tools git:show_log" in warning


@pytest.mark.parametrize(
    "values",
    [
        {"state": "pending"},
        {"state": "removed"},
        {"state": "quarantined", "enabled": False},
        {"state": "quarantined", "team": 9},
    ],
)
async def test_unusable_tools_are_not_named(world, values):
    world.catalogue = catalogue(*world.catalogue.tools.values(), tool("git:show_log", **values))
    assert (await find(world)).warnings == ()


async def test_a_tool_awaiting_approval_is_named_only_if_it_matches_the_query(world):
    world.catalogue = catalogue(
        *world.catalogue.tools.values(),
        tool("hg:show_log", state="quarantined"),
        tool("git:unrelated", state="quarantined"),
        servers=(server("hg"),),
    )
    assert any("hg:show_log" in warning for warning in (await find(world)).warnings)
    assert not any("log" in warning for warning in (await find(world, server="git")).warnings)
    assert not any("unrelated" in warning for warning in (await find(world)).warnings)
