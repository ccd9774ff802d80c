"""The next layer of a run is called ahead while the run waits for a decision."""

import json
from dataclasses import replace

import pytest

from execution.control import Action
from execution.workflow import RunOptions
from tests.execution.early_world import ANYTHING, OTHER, READ, WRITE, World, settle
from tests.execution.run_setup import ADMIN, ended, means, planned, process, until
from tests.execution.speculation_setup import known_tool
from tools.upstream.result import UpstreamResult

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("runs_db")]
LAYERED = RunOptions(per_layer_validation=True)
OPEN = known_tool("web:search", pk=4, **ANYTHING)
PLAN = planned(
    {"id": "list", "tool": READ.tool, "arguments": {"list": True}},
    {
        "id": "show",
        "tool": READ.tool,
        "arguments": {"id": {"$ref": "list", "pointer": "/id"}},
    },
    {"id": "push", "tool": WRITE.tool, "arguments": {}, "depends_on": ["list"]},
    {"id": "last", "tool": OTHER.tool, "arguments": {"n": 1}, "depends_on": ["show"]},
)


@pytest.fixture
def world():
    made = World(READ, OTHER, WRITE, OPEN)
    made.upstream.answer = lambda _server, request: answer(request)
    return made


def answer(request):
    value = {"id": "x7", "tool": request.tool}
    text = [{"type": "text", "text": json.dumps(value)}]
    return UpstreamResult(raw={"content": text, "structuredContent": value})


def carried(world, home, sealer):
    return process(
        means(
            home,
            sealer,
            world.upstream,
            catalogue=lambda: world.rules.catalogue,
            speculation=world.speculator,
        )
    )


async def start(runs, plan=PLAN):
    run = (await runs.start(ADMIN, replace(plan, options=LAYERED))).run
    assert (await ended(runs, run)).status == "paused"
    return run


def tools_called(world):
    return [tool for _, tool, _ in world.upstream.calls]


async def test_reads_of_the_next_layer_are_made_while_the_run_waits_and_answer_it(
    world, home, sealer
):
    async with carried(world, home, sealer) as runs:
        run = await start(runs)
        await until(lambda: len(world.upstream.calls) == 2)
        assert world.upstream.calls[1] == ("git", "show", {"id": "x7"})
        await settle()
        assert tools_called(world) == ["show", "show"], "neither the write nor a later layer"
        plain = planned(
            {"id": "list", "tool": READ.tool, "arguments": {"list": True}},
            {"id": "show", "tool": READ.tool, "arguments": {"id": "x7"}},
        )
        other = (await runs.start(ADMIN, plain)).run
        await ended(runs, other)
        assert len(world.upstream.calls) == 4, "the result is no other run's"
        await runs.control(ADMIN, run, Action.CONTINUE)
        view = await ended(runs, run)
        assert [task.status for task in view.tasks[:2]] == ["succeeded", "succeeded"]
        assert world.upstream.calls.count(("git", "show", {"id": "x7"})) == 2
        await until(lambda: world.upstream.calls[-1] == ("web", "page", {"n": 1}))
        await runs.control(ADMIN, run, Action.CONTINUE)
        assert (await ended(runs, run)).status == "succeeded"
    assert world.upstream.calls.count(("web", "page", {"n": 1})) == 1
    assert world.ends.count("served") == 2


@pytest.mark.parametrize("action", [Action.ABORT, Action.REPLAN])
async def test_what_was_made_ahead_is_discarded_when_the_run_goes_another_way(
    world, home, sealer, action
):
    async with carried(world, home, sealer) as runs:
        run = await start(runs)
        await until(lambda: len(world.upstream.calls) == 2)
        new = planned(
            {"id": "list", "tool": READ.tool, "arguments": {"list": True}},
            {"id": "end", "tool": READ.tool, "arguments": {"id": "x7"}, "depends_on": ["list"]},
        )
        workflow = new.workflow if action is Action.REPLAN else None
        await runs.control(ADMIN, run, action, workflow=workflow)
        view = await ended(runs, run)
    if action is Action.REPLAN:
        assert view.status == "succeeded"
        assert world.upstream.calls.count(("git", "show", {"id": "x7"})) == 2, "called again"
    assert world.ends == ["unused"]
    assert world.speculator.kept[0] == 0


async def test_a_result_does_not_steer_a_call_into_an_open_world(world, home, sealer):
    plan = planned(
        {"id": "list", "tool": READ.tool, "arguments": {"list": True}},
        {"id": "led", "tool": OPEN.tool, "arguments": {"q": {"$ref": "list", "pointer": "/id"}}},
        {"id": "own", "tool": OPEN.tool, "arguments": {"q": "stated"}, "depends_on": ["list"]},
    )
    async with carried(world, home, sealer) as runs:
        await start(runs, plan)
        await until(lambda: len(world.upstream.calls) == 2)
        await settle()
    assert world.upstream.calls[1:] == [("web", "search", {"q": "stated"})]


async def test_nothing_is_made_ahead_while_the_switch_is_off(world, home, sealer):
    world.on = False
    async with carried(world, home, sealer) as runs:
        run = await start(runs)
        await settle()
        assert len(world.upstream.calls) == 1
        await runs.control(ADMIN, run, Action.CONTINUE)
        assert (await ended(runs, run)).status == "paused"
    assert sorted(tools_called(world)) == ["push", "show", "show"]
