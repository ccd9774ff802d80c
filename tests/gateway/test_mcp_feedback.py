"""give_feedback as a client calls it, after run_intent."""

from dataclasses import replace

import jsonschema
import pytest

from execution.models import Speculation
from execution.speculation.outcome import Evidence
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.mcp import meta_tools
from graph.rank_intent import RankedIntent
from learning.predictions import recorder as recorders
from learning.predictions.record import RecordDependencies
from learning.predictions.recorder import PredictionRecorder
from tests.factories import TeamFactory, UserFactory, find_own_team
from tests.gateway.conftest import ERAS
from tests.graph.suggestion.workflow.builders import ranked, ranking

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def world(world, monkeypatch, transactional_db):
    """Suggest git_log, and record what is suggested."""
    monkeypatch.setattr(recorders, "OTHER_PROCESS_WAIT_S", 0.0)
    log = world.catalogue.tools["git:git_log"]
    world.ranked = RankedIntent(ranking=ranking(ranked(log.pk)))
    UserFactory(username=world.caller.user)
    world.caller = replace(world.caller, person=find_own_team(world.caller.user).pk)
    world.predictions = PredictionRecorder(RecordDependencies(digest=world.sealer.digest))
    return world


def told(result):
    return result.content[0].text


async def suggest(client, intent="show the log", **parameters):
    result = await client.call_tool(
        "run_intent", {"intent": intent, "parameters": {"repo_path": "/r", **parameters}}
    )
    return result.structured_content


async def judge(client, speculation, verdict="accept", **more):
    return await client.call_tool(
        "give_feedback", {"speculation_id": speculation, "verdict": verdict, **more}
    )


async def row(world):
    await world.predictions.flush()
    return await run_in_database_thread(Speculation.objects.get)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("verdict", "outcome"), [("accept", "hit"), ("reject", "rejected"), ("modify", "modified")]
)
async def test_a_verdict_resolves_the_suggestion(connect, world, era, verdict, outcome):
    async with connect(era) as client:
        speculation = (await suggest(client))["speculation_id"]
        first = await judge(client, speculation, verdict)
        again = await judge(client, speculation, verdict)
    jsonschema.validate(first.structured_content, meta_tools.TOOLS["give_feedback"].output_schema)
    expected = {"speculation_id": speculation, "outcome": outcome}
    assert first.structured_content == {**expected, "recorded": True}
    assert again.structured_content == {**expected, "recorded": False}
    assert (await row(world)).outcome == outcome


async def test_the_right_workflow_is_noted_by_its_tools(connect, world):
    workflow = {"tasks": [{"id": "s", "tool": "git__git_status", "arguments": {}}]}
    async with connect() as client:
        speculation = (await suggest(client))["speculation_id"]
        result = await judge(client, speculation, "modify", workflow=workflow)
    assert not result.is_error
    status = world.catalogue.tools["git:git_status"].pk
    assert (await row(world)).changed_tools == [status]


async def test_a_second_verdict_and_a_late_one_are_refused_by_name(connect, world):
    async with connect() as client:
        speculation = (await suggest(client))["speculation_id"]
        await judge(client, speculation)
        second = await judge(client, speculation, "reject")
        late = (await suggest(client))["speculation_id"]
        await world.predictions.flush()
        await run_in_database_thread(
            lambda: Speculation.objects.filter(pk=late).update(
                due_at="2026-01-01T00:00Z", evidence=Evidence.CALLS
            )
        )
        third = await judge(client, late)
    assert second.is_error
    assert told(second).startswith("feedback_given: ")
    assert told(third).startswith("speculation_resolved: ")


@pytest.mark.parametrize("speculation", ["nonsense", "0" * 32, ""])
async def test_an_unknown_id_is_refused_by_name(connect, world, speculation):
    async with connect() as client:
        result = await judge(client, speculation)
    assert result.is_error
    assert told(result).startswith("unknown_speculation: ")


@pytest.mark.parametrize("thief", ["user", "team"])
async def test_somebody_elses_suggestion_is_unknown_and_stays_open(connect, world, thief):
    async with connect() as client:
        speculation = (await suggest(client))["speculation_id"]
    owner = world.caller
    team = (await run_in_database_thread(TeamFactory)).pk
    world.caller = replace(owner, **({"user": "eve"} if thief == "user" else {"team": team}))
    async with connect() as client:
        result = await judge(client, speculation, "reject")
    assert told(result).startswith("unknown_speculation: ")
    world.caller = owner
    async with connect() as client:
        assert (await judge(client, speculation)).structured_content["recorded"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"verdict": "maybe"}, "invalid_arguments"),
        ({"verdict": "modify", "workflow": {"tasks": []}}, "invalid_workflow"),
        (
            {"verdict": "modify", "workflow": {"tasks": [{"id": "a", "tool": "x:y"}]}},
            "unknown_tool",
        ),
        ({"verdict": "accept", "why": "it was"}, "invalid_arguments"),
    ],
)
async def test_bad_requests_change_nothing(connect, world, arguments, said):
    async with connect() as client:
        speculation = (await suggest(client))["speculation_id"]
        result = await client.call_tool(
            "give_feedback", {"speculation_id": speculation, **arguments}
        )
    assert result.is_error
    assert told(result).startswith(said)
    assert (await row(world)).outcome == ""


async def test_feedback_needs_the_scope_of_search(connect, world):
    world.caller = replace(world.caller, scopes=frozenset({"call"}))
    async with connect() as client:
        result = await judge(client, "0" * 32)
    assert told(result).startswith("not_permitted")


async def test_calling_the_suggested_tool_directly_confirms_the_suggestion(connect, world):
    async with connect() as client:
        workflow = (await suggest(client))["workflow"]
        (task,) = workflow["tasks"]
        called = {"tool": task["tool"], "arguments": task["arguments"]}
        assert not (await client.call_tool("call_tool", called)).is_error
    assert (await row(world)).evidence == "calls"


async def test_running_another_workflow_contradicts_the_suggestion(connect, world):
    workflow = {"tasks": [{"id": "a", "tool": "time:get_current_time", "arguments": {}}]}
    async with connect() as client:
        await suggest(client)
        result = await client.call_tool("run_workflow", {"workflow": workflow})
        assert not result.is_error, told(result)
    assert (await row(world)).evidence == "other_calls"


async def test_a_run_names_the_suggestion_that_it_comes_from(connect, world):
    async with connect() as client:
        answer = await suggest(client)
        await suggest(client, intent="show the log once more", max_count=3)
        options = {"from_speculation": answer["speculation_id"]}
        ran = {"workflow": answer["workflow"], "options": options}
        result = await client.call_tool("run_workflow", ran)
        assert not result.is_error, told(result)
        refused = await client.call_tool(
            "run_workflow", {**ran, "options": {"from_speculation": "?"}}
        )
    assert told(refused).startswith("unknown_speculation")
    await world.predictions.flush()
    rows = await run_in_database_thread(
        lambda: dict(Speculation.objects.values_list("id", "evidence"))
    )
    confirmed = {key.hex for key, evidence in rows.items() if evidence == "run"}
    assert confirmed == {answer["speculation_id"]}
