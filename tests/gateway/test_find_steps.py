"""A search for several steps offers the tools of each."""

import threading
from dataclasses import replace

import pytest

from gateway_project import flow
from gateway_project.find.answers import FindRequest
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.intent import find_steps
from graph.rank_intent import RankedIntent
from tests.gateway.catalogues import catalogue, server, tool
from tests.graph.suggestion.workflow.builders import make_candidate, ranked, ranking
from tests.patience import PATIENCE_S
from tools.fusion import NOTHING_CLOSE_WARNING

LOG, STATUS, TIME = "git:git_log", "git:git_status", "time:get_current_time"
OTHER = "git:git_show"
TWO_STEPS = "show the log and get the current time"


@pytest.fixture
def world(world):
    world.hits = tuple(
        replace(hit, tool_pk=world.catalogue.tools[hit.tool].pk) for hit in world.hits
    )
    return world


def candidate(world, tool, cosine=0.6):
    pk = world.catalogue.tools[tool].pk
    return make_candidate(pk, cosine, word_share=1.0)


def rank_requests(world, *requests, **more):
    best = ranked(world.catalogue.tools[LOG].pk, confidence=0.1)
    world.ranked = RankedIntent(ranking=replace(ranking(best), requests=requests, **more))


async def search(world, query=TWO_STEPS, **values):
    request = FindRequest(**({"query": query, "limit": 5} | values))
    return await flow.find_tools(world.effects, world.caller, request)


async def find(world, query=TWO_STEPS, **values):
    return [card.tool for card in (await search(world, query, **values)).tools]


async def test_the_best_tool_of_each_step_comes_first(world):
    world.hits = tuple(reversed(world.hits))
    rank_requests(world, (candidate(world, LOG),), (candidate(world, TIME),))
    assert await find(world) == [LOG, TIME, STATUS]


async def test_a_step_without_evidence_of_a_tool_changes_nothing(world):
    rank_requests(world, (candidate(world, LOG),), (candidate(world, TIME, cosine=-0.9),))
    assert await find(world) == [LOG, STATUS]


async def test_a_step_that_a_tool_may_serve_is_offered_beside_one_that_is_served(world):
    doubtful = replace(candidate(world, TIME, cosine=0.2), word_share=0.0)
    rank_requests(world, (candidate(world, LOG),), (doubtful,))
    assert await find(world) == [LOG, TIME, STATUS]
    rank_requests(world, (doubtful,), (replace(doubtful, tool=candidate(world, LOG).tool),))
    assert await find(world) == [LOG, STATUS]


async def test_a_single_step_or_a_filter_is_not_ranked(world):
    rank_requests(world, (candidate(world, LOG),), (candidate(world, TIME),))
    assert await find(world, query="show the log") == [LOG, STATUS]
    assert await find(world, server="git") == [LOG, STATUS]
    assert world.asked_for == []


async def test_what_cannot_be_ranked_is_searched_as_a_whole(world):
    assert await find(world) == [LOG, STATUS]


async def test_second_best_tools_score_between_their_neighbours(world):
    world.catalogue = catalogue(*world.catalogue.tools.values(), tool(OTHER))
    rank_requests(
        world,
        (candidate(world, LOG), candidate(world, OTHER, 0.5)),
        (candidate(world, TIME), candidate(world, LOG, 0.3)),
    )
    found = await search(world)
    assert [(card.tool, card.score) for card in found.tools] == [
        (LOG, 0.9),
        (TIME, 0.9),
        (OTHER, 0.65),
        (STATUS, 0.4),
    ]


async def test_steps_in_another_language_are_offered_too(world):
    rank_requests(world, (candidate(world, LOG),), (candidate(world, TIME),))
    assert await find(world, query="zeig mir das Log und lösch a.txt") == [LOG, TIME, STATUS]


async def test_steps_that_are_served_are_no_longer_called_far_from_everything(world):
    world.warnings = (NOTHING_CLOSE_WARNING, "the query was cut")
    rank_requests(world, (candidate(world, LOG),), (candidate(world, TIME, -0.9),))
    assert NOTHING_CLOSE_WARNING in (await search(world)).warnings
    rank_requests(world, (candidate(world, LOG),), (candidate(world, TIME),))
    assert (await search(world)).warnings == ("the query was cut",)


async def test_steps_that_take_too_long_leave_the_matches_of_the_whole_query(world, monkeypatch):
    rank_requests(world, (candidate(world, LOG),), (candidate(world, TIME),))
    released, found = threading.Event(), world.ranked

    def find_ranker(_team, _within):
        def rank(_reading, _considered):
            released.wait(PATIENCE_S)
            return found

        return rank

    monkeypatch.setattr(world, "find_ranker", find_ranker)
    monkeypatch.setattr(find_steps, "TIMEOUT_S", 0.05)
    try:
        assert await find(world) == [LOG, STATUS]
    finally:
        released.set()


HIDDEN = {
    "another team": {"team": 7},
    "disabled tool": {"enabled": False},
    "quarantined tool": {"state": "quarantined"},
    "disabled server": {},
    "outside of the group": {},
}


@pytest.mark.parametrize("how", HIDDEN)
async def test_tools_that_the_caller_cannot_see_or_use_are_not_offered(world, how):
    rank_requests(world, (candidate(world, LOG),), (candidate(world, TIME),))
    group = frozenset({"git tools"})
    world.catalogue = catalogue(
        replace(world.catalogue.tools[LOG], groups=group),
        replace(world.catalogue.tools[STATUS], groups=group),
        replace(world.catalogue.tools[TIME], **HIDDEN[how]),
        servers=(server("time", enabled=how != "disabled server"),),
    )
    world.caller = Caller(
        user="ana",
        team=3,
        person=None,
        scopes=frozenset({SCOPE_ALL}),
        kind="http",
        group="git tools" if how == "outside of the group" else None,
    )
    found = await find(world)
    assert LOG in found
    assert TIME not in found


async def test_a_group_is_offered_its_own_tools(world):
    rank_requests(world, (candidate(world, LOG),), (candidate(world, TIME),))
    group = frozenset({"all"})
    tools = [replace(one, groups=group) for one in world.catalogue.tools.values()]
    world.catalogue = catalogue(*tools)
    world.caller = replace(world.caller, group="all")
    assert (await find(world))[:2] == [LOG, TIME]
    assert world.ranked_within == [frozenset(one.pk for one in tools)]


async def test_filters_apply_to_steps_as_to_other_matches(world):
    rank_requests(world, (candidate(world, LOG),), (candidate(world, TIME),))
    assert TIME not in await find(world, server="git")
    assert TIME not in await find(world, category="git")
    assert world.asked_for == []
