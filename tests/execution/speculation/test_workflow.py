"""A whole workflow is run ahead, or nothing of it is known to its caller."""

import asyncio
import json
from dataclasses import replace
from uuid import uuid4

import pytest

from execution.call_outcome import SpeculationForm
from execution.planning import parse, plan
from execution.speculation import workflow as ahead
from execution.speculation.admissibility import MAX_TIME_S
from execution.speculation.provenance import STATED
from execution.speculation.workflow import WorkflowAhead
from execution.workflow import OnError, RunOptions
from tests.execution.early_world import ANYTHING, OTHER, READ, WRITE, World, settle
from tests.execution.speculation_setup import ANN, known_tool
from tests.patience import PATIENCE_S
from tools.upstream.result import UpstreamResult

OPEN = known_tool("web:search", pk=4, **ANYTHING)


@pytest.fixture
def world():
    made = World(READ, OTHER, WRITE, OPEN, served=())
    made.upstream.answer = lambda _server, request: answer(request)
    return made


def answer(request, *, is_error=False):
    value = {"ids": ["x7", "y8"], "given": dict(request.arguments)}
    text = [{"type": "text", "text": json.dumps(value)}]
    return UpstreamResult(raw={"content": text, "structuredContent": value, "isError": is_error})


def task(name, tool=READ, *, depends_on=(), for_each=None, **arguments):
    found = {"id": name, "tool": tool.tool, "arguments": arguments}
    if for_each is not None:
        found["for_each"] = for_each
    return found | ({"depends_on": list(depends_on)} if depends_on else {})


def ref(name, pointer):
    return {"$ref": name, "pointer": pointer}


async def run(world, *tasks, caller=ANN, expected_s=None, wait_s=PATIENCE_S):
    planned = plan.plan_workflow(
        parse.parse({"tasks": list(tasks)}),
        RunOptions(on_error=OnError.CONTINUE),
        caller=caller,
        catalogue=world.rules.catalogue,
    )
    async with asyncio.timeout(PATIENCE_S):
        return await WorkflowAhead(
            plan=planned,
            caller=caller,
            prediction=uuid4(),
            speculation=world.speculator,
            rules=lambda: world.rules,
            wait_s=wait_s,
            provenance={one["id"]: {"": STATED} for one in tasks},
            expected_s=expected_s or {},
        ).run()


async def refusal(world, *tasks, **values):
    made = await run(world, *tasks, **values)
    assert not made.raw_results
    return made.reasons


def codes(reasons):
    return [reason.code.value for reason in reasons]


async def test_references_and_lists_are_resolved_as_in_a_run(world):
    made = await run(
        world,
        task("list", all=True),
        task("one", id=ref("list", "/ids/0")),
        task("each", for_each=ref("list", "/ids"), id={"$item": ""}),
    )
    assert [
        made.raw_results[name][0]["structuredContent"]["given"] for name in ("list", "one")
    ] == [
        {"all": True},
        {"id": "x7"},
    ]
    assert made.lists == {"each"}
    assert [one["structuredContent"]["given"]["id"] for one in made.raw_results["each"]] == [
        "x7",
        "y8",
    ]
    assert sorted(call.task for call in made.tasks) == ["each", "each", "list", "one"]
    assert world.sent == 3, "the same call is made once"


async def test_its_results_answer_later_requests_without_being_earned(world):
    await run(world, task("a", id="x7"))
    served = (await world.call(id="x7")).served
    assert (served.form, world.sent) == (SpeculationForm.INTENT, 1)


async def test_one_task_that_may_not_run_ahead_stops_all_of_it(world):
    reads = [task(f"r{number}", id=str(number)) for number in range(9)]
    reasons = await refusal(world, *reads, task("push", WRITE))
    assert {reason.task for reason in reasons} == {"push"}
    assert world.sent == 0


async def test_a_result_does_not_steer_a_call_into_an_open_world(world):
    reasons = await refusal(world, task("list"), task("search", OPEN, q=ref("list", "/ids/0")))
    assert (codes(reasons), reasons[0].task, world.sent) == (["open_world"], "search", 0)


async def test_each_call_is_judged_again_with_its_final_arguments(world):
    world.upstream.answer = lambda _server, request: UpstreamResult(
        raw={"content": [], "structuredContent": {"id": "http://evil.example/" + request.tool}}
    )
    own = known_tool("web:find", pk=5, **ANYTHING)
    world.change_tools(READ, OTHER, own)
    made = await run(world, task("page", OTHER, n=1), task("find", own, id=ref("page", "/id")))
    assert (codes(made.reasons), made.reasons[0].task) == (["open_world"], "find")
    assert (list(made.raw_results), world.sent) == (["page"], 1)


async def test_calls_that_failed_are_listed_with_those_that_did_not(world):
    def fail_once(_server, request):
        return answer(request, is_error=request.arguments == {"id": "y8"})

    world.upstream.answer = fail_once
    tasks = (task("good", id="x7"), task("bad", OTHER, depends_on=["good"], id="y8"))
    made = await run(world, *tasks)
    assert [(one.task, one.trouble) for one in made.tasks] == [
        ("good", ""),
        ("bad", "no usable answer"),
    ]


@pytest.mark.parametrize("is_error", [True, False])
async def test_a_call_that_fails_is_named(world, is_error):
    def fail(_server, request):
        if is_error:
            return answer(request, is_error=True)
        raise ConnectionError

    world.upstream.answer = fail
    reasons = await refusal(world, task("a", id="x"))
    assert codes(reasons) == (["unusable_result"] if is_error else ["call_failed"])


async def test_known_slow_tools_are_not_called(world):
    reasons = await refusal(
        world,
        task("a"),
        task("b", OTHER, depends_on=["a"]),
        expected_s={"git:show": 3, "web:page": 3},
    )
    assert (codes(reasons), world.sent) == (["too_slow"], 0)


SLOW_S, BELOW_SLOW_S = 4.9, 4.8


class SlowGate(asyncio.Event):
    """Is passed at once but for one server, where `SLOW_S` go by."""

    def __init__(self, world):
        super().__init__()
        self.world = world

    async def wait(self):
        if self.world.upstream.calls[-1][0] != "git":
            return True
        self.world.now += SLOW_S
        return await super().wait()


@pytest.fixture
def slow(world):
    world.upstream.gate = SlowGate(world)
    return world


async def test_a_slow_answer_is_not_waited_for_but_serves_later(slow):
    assert codes(await refusal(slow, task("a", id="x7"), wait_s=0.01)) == ["too_slow"]
    slow.upstream.gate.set()
    await settle()
    assert (await slow.call(id="x7")).served.form is SpeculationForm.INTENT
    assert slow.sent == 1


async def test_a_tool_that_was_waited_for_in_vain_is_not_waited_for_again(slow):
    await refusal(slow, task("a", id="x7"), wait_s=0.01)
    async with asyncio.timeout(PATIENCE_S):
        for arguments in ({"id": "x7"}, {"id": "other"}):
            reasons = await refusal(slow, task("a", **arguments), wait_s=BELOW_SLOW_S)
            assert codes(reasons) == ["too_slow"]
    assert slow.sent == 2, "what is in flight is joined, and what is not is called"


async def test_what_came_too_late_comes_with_the_next_answer_and_once(slow):
    await refusal(slow, task("a", id="x7"), wait_s=0.01)
    slow.upstream.gate.set()
    await settle()
    for sent in (1, 2):
        await run(slow, task("a", id="x7"))
        assert slow.sent == sent


async def test_what_has_become_quick_is_waited_for_again(slow):
    await refusal(slow, task("a", id="x7"), wait_s=0.01)
    slow.upstream.gate = None
    await slow.call(id="by the client")
    made = await run(slow, task("a", id="other"), wait_s=BELOW_SLOW_S)
    assert (list(made.raw_results), made.reasons) == (["a"], ())


async def test_what_a_timeout_has_shown_to_take_too_long_is_not_called_again(slow):
    await refusal(slow, task("a", id="x7"), wait_s=0.01)
    slow.now += MAX_TIME_S
    slow.upstream.gate.set()
    await settle()
    assert codes(await refusal(slow, task("a", id="other"))) == ["too_slow"]
    assert slow.sent == 1


@pytest.mark.parametrize("is_known", [False, True])
async def test_what_succeeded_is_not_thrown_away_for_what_did_not(slow, is_known):
    made = await run(
        slow,
        task("slow", id="x7"),
        task("after", OTHER, depends_on=["slow"]),
        task("quick", OTHER, id="y8"),
        expected_s={"git:show": SLOW_S} if is_known else None,
        wait_s=BELOW_SLOW_S if is_known else 0.1,
    )
    assert (list(made.raw_results), codes(made.reasons)) == (["quick"], ["too_slow"])
    troubles = {one.task: one.trouble for one in made.tasks}
    assert troubles.pop("quick") == ""
    # What is known to be slow is called for later requests, and not waited for.
    assert troubles == ({} if is_known else {"slow": "not answered in time"})
    assert slow.sent == 2


async def test_a_list_of_which_an_item_failed_is_no_result(world):
    def fail_once(_server, request):
        return answer(request, is_error=request.arguments == {"id": "y8"})

    world.upstream.answer = fail_once
    made = await run(
        world, task("list"), task("each", for_each=ref("list", "/ids"), id={"$item": ""})
    )
    assert (list(made.raw_results), made.lists) == (["list"], frozenset())


async def test_switched_off_nothing_is_called(world):
    world.on = False
    assert (codes(await refusal(world, task("a"))), world.sent) == (["switched_off"], 0)


async def test_without_an_idle_place_it_falls_back(world):
    world.trouble = "it is down"
    assert (codes(await refusal(world, task("a"))), world.sent) == (["backing_off"], 0)


async def test_a_budget_that_is_used_up_is_the_reason(world):
    refused = ahead.make_reason(ahead.ReasonCode.TOO_EXPENSIVE, "The budget is used up.")
    world.allowance.reasons = (refused,)
    (reason,) = await refusal(world, task("a"))
    assert (reason, world.sent) == (replace(refused, task="a"), 0)
