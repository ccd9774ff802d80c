"""What a gateway answers to a search or an intent counts in the prediction of the next call."""

from dataclasses import replace

import pytest

from graph.rank_intent import RankedIntent
from learning.memory.context import describe_context
from learning.sessions import registry
from tests.gateway.catalogues import catalogue
from tests.graph.suggestion.workflow.builders import ranked, ranking
from tests.learning.sessions.live import ANN, Live
from tools.danger import Danger

LOG, STATUS, TIME = "git:git_log", "git:git_status", "time:get_current_time"
WORDS = "how far did we come"
"""Speaks of no tool."""
PAST = (STATUS,) * 6 + (TIME,)
"""What each past session searched for, and called."""

# The history loads in a database thread, which looks at its connection.
pytestmark = pytest.mark.django_db


@pytest.fixture
async def live(world):
    """Sessions that `world` records, after some whose searches found what they called."""
    reads = [replace(one, danger=Danger.READ) for one in world.catalogue.tools.values()]
    world.catalogue = catalogue(*reads)
    live = Live(known=world.catalogue)
    world.memory, world.caller = live.registry, ANN
    for number, called in enumerate(PAST):
        caller = replace(ANN, session=f"past {number}")
        hits = {pk(world, called): 0.9}
        live.registry.record_search(caller, WORDS, context=describe_context(), hits=hits)
        live.call(world.catalogue.tools[called], caller=caller)
        await live.pause()
    live.clock.now += registry.FORGET_AFTER_S + 1
    live.analyst.forget_sessions()
    await live.models.refresh(ANN.team)
    return live


def pk(world, tool_id):
    return world.catalogue.tools[tool_id].pk


def list_predicted(world, live):
    names = {one.pk: one.tool for one in world.catalogue.tools.values()}
    return {names[tool] for tool, _ in live.list_predicted()}


@pytest.mark.parametrize(("found", "predicted"), [(TIME, {TIME, STATUS}), (LOG, {STATUS})])
async def test_a_rarely_called_tool_is_predicted_once_a_search_finds_it(
    world, live, connect, found, predicted
):
    (best, *_) = world.hits
    world.hits = (replace(best, tool=found, tool_pk=pk(world, found)),)
    async with connect() as client:
        await client.call_tool("search_tools", {"query": WORDS})
    await live.pause()
    assert list_predicted(world, live) == predicted


@pytest.mark.parametrize(("likely", "predicted"), [(TIME, {TIME, STATUS}), (LOG, {STATUS})])
async def test_a_likely_tool_is_predicted_that_an_intent_does_not_suggest(
    world, live, connect, likely, predicted
):
    log = pk(world, LOG)
    probabilities = {log: 0.9} | {pk(world, likely): 0.9}
    suggested = ranking(ranked(log, confidence=0.9), probabilities=probabilities)
    world.ranked = RankedIntent(ranking=suggested)
    async with connect() as client:
        answer = await client.call_tool("run_intent", {"intent": WORDS, "mode": "suggest"})
    (task,) = answer.structured_content["workflow"]["tasks"]
    assert task["tool"] == LOG
    await live.pause()
    assert list_predicted(world, live) == predicted


async def test_before_any_history_a_suggested_call_is_predicted_with_its_bound_arguments(
    world, connect
):
    reads = [replace(one, danger=Danger.READ) for one in world.catalogue.tools.values()]
    world.catalogue = catalogue(*reads)
    live = Live(known=world.catalogue)
    world.memory, world.caller = live.registry, ANN
    log = pk(world, LOG)
    suggested = ranking(ranked(log, confidence=0.9), probabilities={log: 0.9})
    world.ranked = RankedIntent(ranking=suggested)
    async with connect() as client:
        await client.call_tool(
            "run_intent", {"intent": WORDS, "mode": "suggest", "parameters": {"repo_path": "/r"}}
        )
    await live.pause()
    assert (log, {"repo_path": "/r"}) in live.list_predicted()
