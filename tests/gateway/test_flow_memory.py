"""What each entry point records of what callers do."""

from dataclasses import replace
from uuid import UUID

import pytest

from execution.planning.parse import InvalidWorkflow
from execution.snapshot import bind_run_session
from execution.workflow import RunOptions
from gateway_project import flow
from gateway_project.access.roles import NotPermitted
from gateway_project.find.answers import FindRequest
from gateway_project.foundation.caller import Caller
from gateway_project.intent.answer import IntentRequest
from gateway_project.runs.request import ControlRequest, RunRequest
from graph.rank_intent import RankedIntent
from learning.memory.context import describe_context
from learning.memory.event import EventKind, EventOutcome
from learning.sessions.registry import SessionRegistry
from tests.gateway.run_views import RUN
from tests.graph.suggestion.workflow.builders import ranked, ranking
from tools.query_text import QueryError
from tools.upstream.request import UpstreamRequest

LOG, STATUS = "git:git_log", "git:git_status"


@pytest.fixture
def events(world):
    recorded = []
    world.memory = SessionRegistry(record=recorded.append, digest=world.sealer.digest)
    world.caller = replace(world.caller, team=7, session="one")
    world.hits = tuple(replace(one, tool_pk=pk(world, one.tool)) for one in world.hits)
    return recorded


def pk(world, tool_id):
    return world.catalogue.tools[tool_id].pk


def key(world, **stated):
    return world.memory.compute_context_key(describe_context(**stated)).context


def find(world, query="show the log"):
    return flow.find_tools(world.effects, world.caller, FindRequest(query=query, limit=5))


def suggest(world, **values):
    request = IntentRequest(intent="show the log, then the status", **values)
    return flow.handle_intent(world.effects, world.caller, request)


def call(world, tool_id, caller=None):
    request = UpstreamRequest.to_call(tool_id, {"repo_path": "/r"})
    return flow.call_tool(world.effects, caller or world.caller, request)


def run(world, *tools, **values):
    tasks = [
        {"id": f"t{number}", "tool": one, "arguments": {"repo_path": "/r"}}
        for number, one in enumerate(tools)
    ]
    request = RunRequest(workflow={"tasks": tasks}, options=RunOptions(), wait_s=0.0, **values)
    return flow.run_workflow(world.effects, world.caller, request)


async def test_a_search_is_recorded_with_its_hits_and_its_kind_of_work(world, events):
    await find(world)
    (event,) = events
    assert (event.kind, event.team) == (EventKind.SEARCH, 7)
    assert event.data == {"tools": [pk(world, LOG), pk(world, STATUS)]}
    assert event.context_hash == key(world, categories=["git"])
    assert event.intent_hash is not None


async def test_an_intent_is_recorded_with_its_answer(world, events):
    found = ranked(pk(world, LOG), confidence=0.8)
    world.ranked = RankedIntent(ranking=ranking(found))
    answer = await suggest(world)
    (event,) = events
    assert event.kind is EventKind.INTENT
    assert event.prediction == UUID(answer.speculation_id)
    assert event.data == {"mode": "suggestion", "confidence": 0.8, "tools": [pk(world, LOG)]}


async def test_the_kind_of_work_of_an_intent_is_what_the_client_states(world, events):
    stated = {"workflow_type": "release", "domain": "ops", "complexity": "high"}
    await suggest(world, context=stated)
    await call(world, STATUS)
    assert [event.context_hash for event in events] == 2 * [key(world, **stated)]


async def test_the_kind_of_work_does_not_depend_on_what_is_suggested(world, events):
    # The same probabilities of single tools, but another set is best.
    probabilities = {pk(world, LOG): 0.9, pk(world, STATUS): 0.4}
    for best in (LOG, STATUS):
        found = ranked(pk(world, best), confidence=0.8)
        world.ranked = RankedIntent(
            ranking=replace(ranking(found), tool_probabilities=probabilities)
        )
        await suggest(world)
    first, second = events
    assert first.data["tools"] != second.data["tools"]
    assert first.context_hash == second.context_hash


async def test_equal_words_have_equal_hashes_however_they_are_written(world, events):
    for query in ("show the log", " Show  the LOG", "show the status"):
        await find(world, query)
    first, same, other = (event.intent_hash for event in events)
    assert first == same != other


async def test_what_is_refused_before_it_is_answered_is_no_search(world, events):
    world.search_error = QueryError("it has no words")
    with pytest.raises(QueryError):
        await find(world)
    world.caller = replace(world.caller, scopes=frozenset())
    with pytest.raises(NotPermitted):
        await find(world)
    assert events == []


async def test_a_call_is_recorded_also_if_it_is_refused(world, events):
    nobody = Caller(user="nobody", team=None, person=None, scopes=frozenset(), kind="http")
    await call(world, STATUS)
    with pytest.raises(flow.CallNotPermitted):
        await call(world, STATUS, nobody)
    assert [(event.tool, event.outcome) for event in events] == [
        (pk(world, STATUS), EventOutcome.SUCCEEDED),
        (pk(world, STATUS), EventOutcome.UNANSWERED),
    ]
    assert events[0].session != events[1].session


async def test_a_started_run_has_a_session_of_its_own(world, events):
    session = bind_run_session(world.caller, RUN)
    await run(world, LOG, dry_run=True)
    with pytest.raises(InvalidWorkflow):
        await flow.run_workflow(world.effects, world.caller, RunRequest(workflow={"tasks": 1}))
    assert world.memory.find_session(session) is None
    await run(world, LOG, STATUS)
    assert world.memory.find_session(session).run == RUN
    assert events == []


@pytest.mark.parametrize(("action", "is_decision"), [("abort", True), ("pause", False)])
async def test_an_agents_decision_about_a_run_is_recorded(world, events, action, is_decision):
    await run(world, LOG)
    request = ControlRequest(run=str(RUN), action=action)
    await flow.control_run(world.effects, world.caller, request)
    assert [(event.kind, event.data) for event in events] == is_decision * [
        (EventKind.AIL_DECISION, {"run": str(RUN), "action": action})
    ]


async def test_without_memory_everything_is_served_as_well(world):
    assert (await find(world)).tools
    assert (await call(world, STATUS)).tool == STATUS
    assert (await suggest(world)).speculation_id
