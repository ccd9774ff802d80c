"""A search for several steps offers the tools of each."""

from dataclasses import replace

from gateway_project import flow
from gateway_project.find.request import FindRequest
from graph.rank_intent import RankedIntent
from graph.suggestion.ranking.request_scores import RequestCandidate
from tests.graph.suggestion.workflow.builders import ranked, ranking

LOG, STATUS, TIME = "git:git_log", "git:git_status", "time:get_current_time"
TWO_STEPS = "show the log and get the current time"


def candidate(world, tool, cosine=0.6):
    pk = world.catalogue.tools[tool].pk
    return RequestCandidate(tool=pk, score=cosine, cosine=cosine, word_share=1.0)


def rank_requests(world, *requests, **more):
    best = ranked(world.catalogue.tools[LOG].pk, confidence=0.1)
    world.ranked = RankedIntent(ranking=replace(ranking(best), requests=requests, **more))


async def find(world, query=TWO_STEPS, **values):
    request = FindRequest(**({"query": query, "limit": 5} | values))
    found = await flow.find_tools(world.effects, world.caller, request)
    return [card.tool for card in found.tools]


async def test_the_best_tool_of_each_step_comes_first(world):
    world.hits = tuple(reversed(world.hits))
    rank_requests(world, (candidate(world, LOG),), (candidate(world, TIME),))
    assert await find(world) == [LOG, TIME, STATUS]


async def test_the_limit_holds_with_steps_too(world):
    rank_requests(world, (candidate(world, LOG),), (candidate(world, TIME),))
    assert await find(world, limit=2) == [LOG, TIME]


async def test_a_step_without_evidence_of_a_tool_changes_nothing(world):
    rank_requests(world, (candidate(world, LOG),), (candidate(world, TIME, cosine=-0.9),))
    assert await find(world) == [LOG, STATUS]


async def test_requests_for_one_tool_change_nothing(world):
    rank_requests(world, (candidate(world, STATUS),), (candidate(world, STATUS),))
    assert await find(world) == [LOG, STATUS]


async def test_past_runs_decide_what_they_are_familiar_with(world):
    rank_requests(world, (candidate(world, LOG),), (candidate(world, TIME),), familiarity=0.9)
    assert await find(world) == [LOG, STATUS]


async def test_a_single_step_or_a_filter_is_not_ranked(world):
    rank_requests(world, (candidate(world, LOG),), (candidate(world, TIME),))
    assert await find(world, query="show the log") == [LOG, STATUS]
    assert await find(world, server="git") == [LOG, STATUS]
    assert world.asked_for == []


async def test_what_cannot_be_ranked_is_searched_as_a_whole(world):
    assert await find(world) == [LOG, STATUS]
