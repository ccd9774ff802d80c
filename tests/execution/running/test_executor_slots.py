import asyncio

from execution.running.limits import CallSlots, SlotHolder
from execution.status import RunStatus
from tests.execution.recorded_run import (
    finish,
    run_of,
    until,
)
from tests.patience import PATIENCE_S


async def test_slot_limits_hold_globally_and_per_server():
    tasks = [{"id": f"{server}{n}", "tool": f"{server}:x"} for server in "ab" for n in range(6)]
    _, tools = run_of(*tasks, turns={task["id"]: 3 for task in tasks})
    assert await finish(tools, call_slots=CallSlots(total=3, per_server=2)) is RunStatus.SUCCEEDED
    assert tools.most_at_once == 3
    _, tools = run_of(*tasks, turns={task["id"]: 3 for task in tasks})
    assert await finish(tools, call_slots=CallSlots(total=64, per_server=2)) is RunStatus.SUCCEEDED
    assert tools.most_at_once == 4


async def test_runs_take_turns_when_slots_are_scarce():
    limits = CallSlots(total=1, per_server=1)
    order = []

    def noted(call):
        order.append(call.task[0])

    runs = []
    for name in "ab":
        tasks = [{"id": f"{name}{n}", "tool": "s:x"} for n in range(4)]
        _, tools = run_of(*tasks, answers={task["id"]: noted for task in tasks})
        runs.append(tools.execution(call_slots=limits))
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        for run in runs:
            group.create_task(run.run())
    assert order[1:7] in (list("ababab"), list("bababa")), "after the first, each in turn"


async def test_a_run_that_is_paused_waits_for_no_slot():
    limits, other = CallSlots(total=1, per_server=1), SlotHolder()
    assert limits.try_take("s", other)
    _, tools = run_of({"id": "a"})
    execution = tools.execution(call_slots=limits)
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        ending = group.create_task(execution.run())
        await until(lambda: limits.waiting_count == 1)
        execution.pause()
    assert ending.result() is RunStatus.PAUSED
    assert limits.waiting_count == 0


async def test_a_released_run_holds_no_slots():
    limits, other = CallSlots(total=1, per_server=1), SlotHolder()
    assert limits.try_take("s", other)
    _, tools = run_of({"id": "a", "tool": "p:a"}, {"id": "b", "tool": "q:b"})
    holding = asyncio.create_task(tools.execution(call_slots=limits).run())
    await until(lambda: limits.waiting_count == 2)
    limits.release_slot("s", other)
    holding.cancel()
    await asyncio.wait([holding])
    assert (limits.taken_count, limits.waiting_count) == (0, 0)


async def test_hanging_calls_leave_a_slot_for_other_callers():
    limits, gate = CallSlots(total=64, per_server=3), asyncio.Event()
    limits.join("bob")
    tasks = [{"id": f"t{n}", "tool": "s:x"} for n in range(5)]
    _, others = run_of(*tasks)
    another = others.execution(call_slots=limits, slot_group="bob")
    _, tools = run_of(*tasks, gates={task["id"]: gate for task in tasks})
    hog = asyncio.create_task(tools.execution(call_slots=limits, slot_group="ann").run())
    await until(lambda: len(tools.calls) == 2)
    assert limits.waiting_count == 1
    assert await another.run() is RunStatus.SUCCEEDED
    assert others.most_at_once == 1
    assert len(tools.calls) == 2, "what is kept for others is not theirs"
    gate.set()
    assert await hog is RunStatus.SUCCEEDED
    assert limits.taken_count == 0


async def test_runs_of_one_caller_share_its_slots():
    limits, gate = CallSlots(total=64, per_server=2), asyncio.Event()
    runs, calls = [], []
    for name in "ab":
        tasks = [{"id": f"{name}{n}", "tool": "s:x"} for n in range(2)]
        _, tools = run_of(*tasks, gates={task["id"]: gate for task in tasks})
        calls.append(tools.calls)
        runs.append(
            asyncio.create_task(tools.execution(call_slots=limits, slot_group="ann").run())
        )
    await until(lambda: len(calls[0]) == 2)
    assert limits.waiting_count == 1
    assert [len(made) for made in calls] == [2, 0]
    gate.set()
    assert [await run for run in runs] == [RunStatus.SUCCEEDED] * 2


async def test_ended_runs_reserve_no_slot():
    limits = CallSlots(total=8, per_server=2)
    ann, (_, tools) = limits.join("ann"), run_of({"id": "a"})
    execution = tools.execution(call_slots=limits, slot_group="bob")
    async with asyncio.timeout(PATIENCE_S):
        await execution.run()
    assert [limits.try_take("s", ann) for _ in range(2)] == [True, True]
    assert execution.workflow, "it is there still, as it may be for long in a cycle of references"
