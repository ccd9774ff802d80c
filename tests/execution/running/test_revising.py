"""A call that was lost with a process may have taken effect: nothing makes it look uncalled."""

import asyncio
from datetime import timedelta

import pytest

from execution.running.limits import CallSlots, SlotHolder
from execution.status import RunStatus, TaskStatus
from tests.execution.recorded_run import NOW, ServerBroke, ref, run_of, says, until
from tests.patience import PATIENCE_S

BROKE = ServerBroke("gone")
CANCELLED, SUCCEEDED = TaskStatus.CANCELLED, TaskStatus.SUCCEEDED


async def lost(*tasks, **values):
    """Make a run of which a process was lost amid the calls of the task `a`."""
    recorded, tools = run_of(*tasks, gates={"a": asyncio.Event()}, may_repeat=True, **values)
    holding = asyncio.create_task(tools.execution().run())
    await until(lambda: any(call.task == "a" for call in tools.calls))
    holding.cancel()
    await asyncio.wait([holding])
    tools.calls.clear()
    tools.gates.clear()
    return recorded, tools


def busy():
    """Return slots of which those of the server `s` are taken, and who has them."""
    limits, other = CallSlots(total=3, per_server=1), SlotHolder()
    assert limits.try_take("s", other)
    return limits, other


async def finish(execution):
    async with asyncio.timeout(PATIENCE_S):
        return await execution.run()


def after(*before):
    return {"id": "bad", "tool": "q:bad", "depends_on": list(before)}


async def test_a_lost_call_is_repeated_even_if_a_failure_stops_the_run():
    recorded, tools = await lost({"id": "a"}, after(), {"id": "b"}, answers={"bad": BROKE})
    recorded.tasks.pop(("b", -1), None)
    recorded.tasks.pop(("bad", -1), None)
    limits, other = busy()
    holding = asyncio.create_task(tools.execution(repeatable=True, call_slots=limits).run())
    await until(lambda: recorded.stands("bad") is TaskStatus.FAILED)
    assert recorded.stands("b") is TaskStatus.SKIPPED
    limits.release_slot("s", other)
    assert await holding is RunStatus.FAILED
    assert [call.task for call in tools.calls] == ["bad", "a"]
    assert recorded.stands("a") is SUCCEEDED


async def test_a_lost_item_is_repeated_even_if_a_failure_stops_the_run():
    recorded, tools = await lost(
        {"id": "list", "tool": "q:list"},
        {"id": "a", "for_each": ref("list")},
        after("list"),
        answers={"list": says([1, 2]), "bad": BROKE},
    )
    del recorded.tasks["bad", -1]
    del recorded.tasks["a", 1]
    limits, other = busy()
    holding = asyncio.create_task(tools.execution(repeatable=True, call_slots=limits).run())
    await until(lambda: recorded.stands("bad") is TaskStatus.FAILED)
    limits.release_slot("s", other)
    assert await holding is RunStatus.FAILED
    assert [(call.task, call.item) for call in tools.calls] == [("bad", -1), ("a", 0)]
    assert recorded.stands("a") is TaskStatus.SKIPPED, "its second item was never called"
    assert recorded.errors["a", -1] == "the run stopped after 1 of 2 items"


@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("code", ["aborted", "deadline_exceeded"])
async def test_a_lost_call_of_an_aborted_run_is_cancelled_with_a_message(each, code):
    listed = {"for_each": ref("list")} if each else {}
    recorded, tools = await lost(
        {"id": "list", "tool": "q:list"}, {"id": "a", **listed}, answers={"list": says([1, 2])}
    )
    if code != "aborted":
        recorded.deadline_at = NOW + timedelta(seconds=0.05)
    execution = tools.execution(repeatable=True, call_slots=busy()[0])
    if code == "aborted":
        execution.abort()
    status = await finish(execution)
    assert status is (RunStatus.ABORTED if code == "aborted" else RunStatus.FAILED)
    place = ("a", 0 if each else -1)
    assert (recorded.stands(*place), recorded.stands("a")) == (CANCELLED, CANCELLED)
    assert recorded.tasks[place].error_code == code
    assert "may have taken effect" in recorded.errors[place]
    assert "a" not in {call.task for call in tools.calls}


async def test_a_lost_call_of_a_stopped_run_requests_no_approval():
    recorded, tools = await lost({"id": "a"}, after(), answers={"bad": BROKE})
    recorded.tasks.pop(("bad", -1), None)
    tools.asks = frozenset({"a"})
    gate = tools.gates["bad"] = asyncio.Event()
    holding = asyncio.create_task(tools.execution(repeatable=True).run())
    await until(lambda: recorded.waiting())
    gate.set()
    assert await holding is RunStatus.FAILED
    assert recorded.stands("a") is CANCELLED
    assert recorded.tasks["a", -1].error_code == "call_lost"
    assert "may have taken effect" in recorded.errors["a", -1]


async def test_a_lost_call_that_a_person_refuses_may_have_taken_effect():
    recorded, tools = await lost({"id": "a"})
    tools.asks = frozenset({"a"})
    assert await finish(tools.execution(repeatable=True)) is RunStatus.WAITING
    ((key, asked),) = recorded.waiting()
    asked.status = "rejected"
    execution = tools.execution()
    execution.apply_decision(*asked.place, key, approved=False)
    assert await finish(execution) is RunStatus.FAILED
    assert "may have taken effect" in recorded.errors["a", -1]


async def test_an_unknown_list_aborted_after_a_rerun_is_cancelled_with_a_message():
    recorded, tools = await lost(
        {"id": "list", "tool": "q:list"},
        {"id": "a", "for_each": ref("list")},
        answers={"list": says([1])},
    )
    assert await finish(tools.execution()) is RunStatus.UNKNOWN
    execution = tools.execution()
    execution.resume(rerun_unknown=True)
    execution.pause()
    recorded.before_write = lambda _number: execution.abort()
    assert await finish(execution) is RunStatus.ABORTED
    assert recorded.stands("a", 0) is recorded.stands("a") is CANCELLED
    assert "may have taken effect" in recorded.errors["a", 0]
    assert tools.calls == []
