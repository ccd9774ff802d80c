"""What runs write down while they are carried out is what learning reads."""

from dataclasses import replace

import pytest

from execution.control import Action
from execution.store import unlearned_runs
from execution.workflow import RunOptions
from gateway_project.foundation.database import run_in_database_thread
from graph.models import OutputShape, PatternRun, RelationEvidence, ToolUsage
from learning.dependencies import LearningDependencies
from learning.knowledge import learn_from_run
from learning.models import ToolExperience
from tests.execution.run_setup import ADMIN, ended, means, planned, process
from tests.factories import ServerFactory, ToolFactory
from tests.gateway.catalogues import FakeUpstream, catalogue, tool
from tests.learning.ended_runs import ENDED, text
from tests.learning.taught import contributor
from tools.upstream.result import UpstreamResult

pytestmark = pytest.mark.django_db(transaction=True)

FOUND = {"items": [{"id": "7"}, {"id": "8"}, {"id": "bad"}], "name": "x"}


@pytest.fixture
def tools():
    server = ServerFactory(name="s")
    return [ToolFactory(server=server, name=name) for name in ("find", "get", "tell")]


@pytest.fixture
def upstream():
    async def answer(called, _progress):
        if called.arguments.get("id") == "bad":
            return UpstreamResult(raw=text({"why": "no such id"}) | {"isError": True})
        return UpstreamResult(raw=text(FOUND if called.tool == "find" else {"ok": True}))

    return FakeUpstream(answer=answer)


@pytest.fixture
def runs(home, sealer, tools, upstream):
    known = catalogue(
        *(tool(f"s:{one.name}", pk=one.pk, definition_hash=one.definition.hash) for one in tools)
    )
    return process(means(home, sealer, upstream, catalogue=lambda: known))


def workflow(on_error="continue"):
    return planned(
        {"id": "find", "tool": "s:find", "arguments": {}},
        {
            "id": "get",
            "tool": "s:get",
            "arguments": {"id": {"$item": "/id"}},
            "for_each": {"$ref": "find", "pointer": "/items"},
            "on_error": on_error,
        },
        {
            "id": "tell",
            "tool": "s:tell",
            "arguments": {"text": {"$ref": "find", "pointer": "/name"}},
        },
    )


def taught():
    evidence = RelationEvidence.objects.filter(source="observed").select_related("relation")
    rows = {
        (one.relation.source.name, one.relation.target.name, one.relation.kind): (
            round(one.successes, 2),
            round(one.failures, 2),
        )
        for one in evidence
    }
    usage = ToolUsage.objects.values_list("tool__name", "calls", "failures")
    return rows, {name: (calls, failures) for name, calls, failures in usage}


async def test_a_run_that_was_carried_out_teaches_what_it_did(runs, sealer, upstream):
    async with runs as carried:
        started = await carried.start(ADMIN, workflow(), intent="Find things and get them all")
        view = await ended(carried, started.run)
    assert view.status == "partial_success"
    await run_in_database_thread(contributor, user=ADMIN.user)
    knows = LearningDependencies(sealer=sealer, payload_sealer=sealer)
    learned = await run_in_database_thread(learn_from_run, started.run, knows, at=ENDED)
    assert learned is not None
    rows, usage = await run_in_database_thread(taught)
    assert usage == {"find": (1, 0), "get": (3, 1), "tell": (1, 0)}
    assert rows["find", "get", "precedes"] == (0.67, 0.33)
    assert rows["find", "get", "provides"] == (0.67, 0.33)
    assert rows["find", "tell", "provides"] == (1.0, 0.0)
    assert {key[:2] for key in rows if key[2] == "often_used_with"} == {
        ("find", "get"),
        ("find", "tell"),
        ("get", "tell"),
    }
    assert (await run_in_database_thread(PatternRun.objects.get)).succeeded is False
    shapes = await run_in_database_thread(
        lambda: set(OutputShape.objects.values_list("tool__name"))
    )
    assert {name for (name,) in shapes} == {"find", "get", "tell"}
    known = await run_in_database_thread(ToolExperience.objects.get, tool__name="get")
    assert (known.calls, known.runs) == (3, 1)
    assert len(upstream.calls) == 5


async def test_a_run_that_was_aborted_teaches_what_was_answered_before(runs, sealer):
    options = RunOptions(per_layer_validation=True)
    async with runs as carried:
        started = await carried.start(
            ADMIN, replace(workflow(), options=options), intent="Find things"
        )
        await ended(carried, started.run)
        await carried.control(ADMIN, started.run, Action.ABORT)
        view = await carried.load_view(ADMIN, started.run)
    assert view.status == "aborted"
    await run_in_database_thread(contributor, user=ADMIN.user)
    knows = LearningDependencies(sealer=sealer, payload_sealer=sealer)
    assert await run_in_database_thread(learn_from_run, started.run, knows, at=ENDED) is not None
    assert await run_in_database_thread(taught) == ({}, {"find": (1, 0)})
    assert await run_in_database_thread(PatternRun.objects.count) == 0


async def test_runs_of_a_process_that_remembers_nothing_teach_nothing(
    home, sealer, tools, upstream
):
    known = catalogue(
        *(tool(f"s:{one.name}", pk=one.pk, definition_hash=one.definition.hash) for one in tools)
    )
    given = means(home, sealer, upstream, catalogue=lambda: known, runs_teach=False)
    async with process(given) as carried:
        started = await carried.start(ADMIN, workflow(), intent="Find things and get them all")
        await ended(carried, started.run)
    assert await run_in_database_thread(_load_unlearned) == []
    await run_in_database_thread(contributor, user=ADMIN.user)
    knows = LearningDependencies(sealer=sealer, payload_sealer=sealer)
    assert await run_in_database_thread(learn_from_run, started.run, knows, at=ENDED) is None
    assert await run_in_database_thread(taught) == ({}, {})


def _load_unlearned():
    return unlearned_runs.load_unlearned_runs(settled_s=0.0, limit=5)
