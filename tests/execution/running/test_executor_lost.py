import asyncio

import pytest

from execution.changes import RunFenced
from execution.running.limits import CallSlots
from execution.status import RunStatus, TaskStatus
from tests.execution.recorded_run import (
    finish,
    ref,
    run_of,
    until,
)
from tests.patience import PATIENCE_S

SUCCEEDED = TaskStatus.SUCCEEDED


async def test_a_run_that_was_taken_over_stops_and_cancels_its_calls():
    recorded, tools = run_of({"id": "a"}, {"id": "b"}, gates={"a": asyncio.Event()})

    def taken_over(_call):
        recorded.epoch += 1

    tools.answers["b"] = taken_over
    with pytest.raises(RunFenced):
        await finish(tools)
    assert tools.cancelled == ["a"]
    assert recorded.stands("b") is TaskStatus.RUNNING, "a late write is refused"


async def test_a_process_without_its_lease_starts_nothing_and_records_finished_calls():
    gate = asyncio.Event()
    recorded, tools = run_of({"id": "a"}, {"id": "b", "depends_on": ["a"]}, gates={"a": gate})
    execution = tools.execution()
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        ending = group.create_task(execution.run())
        await tools.started.wait()
        execution.halt()
        gate.set()
    assert ending.result() is RunStatus.RUNNING
    assert (recorded.stands("a"), recorded.stands("b")) == (SUCCEEDED, TaskStatus.PENDING)
    assert await finish(tools) is RunStatus.SUCCEEDED
    assert "run_adopted" in recorded.kinds()


async def test_a_call_recorded_too_late_is_withdrawn_unsent():
    recorded, tools = run_of({"id": "a"})
    execution = tools.execution()
    recorded.before_write = lambda _number: execution.halt()
    async with asyncio.timeout(PATIENCE_S):
        assert await execution.run() is RunStatus.RUNNING
    assert tools.calls == []
    assert recorded.tasks["a", -1].status is TaskStatus.PENDING
    assert recorded.tasks["a", -1].attempts == 0


async def test_a_lost_call_is_unknown_and_independent_tasks_continue():
    recorded, tools = run_of(
        {"id": "a"},
        {"id": "b", "depends_on": ["a"]},
        {"id": "c"},
        gates={"a": asyncio.Event(), "c": asyncio.Event()},
        may_repeat=True,
    )
    lost = asyncio.create_task(tools.execution().run())
    await until(lambda: len(tools.calls) >= 2)
    tools.gates.pop("c").set()
    lost.cancel()
    with pytest.raises(asyncio.CancelledError):
        await lost
    tools.calls.clear()
    recorded.tasks.pop(("c", -1))
    assert await finish(tools) is RunStatus.UNKNOWN
    assert recorded.stands("a") is TaskStatus.UNKNOWN
    assert recorded.stands("b") is TaskStatus.PENDING
    assert [call.task for call in tools.calls] == ["c"]
    assert recorded.kinds()[-1] == "run_unknown"
    tools.gates.clear()
    again = tools.execution()
    again.resume(rerun_unknown=True)
    async with asyncio.timeout(PATIENCE_S):
        assert await again.run() is RunStatus.SUCCEEDED
    assert [call.task for call in tools.calls] == ["c", "a", "b"]


async def test_a_repeatable_lost_call_is_repeated():
    recorded, tools = run_of({"id": "a"}, gates={"a": asyncio.Event()}, may_repeat=True)
    lost = asyncio.create_task(tools.execution().run())
    await tools.started.wait()
    lost.cancel()
    with pytest.raises(asyncio.CancelledError):
        await lost
    tools.gates.clear()
    assert await finish(tools, repeatable=True) is RunStatus.SUCCEEDED
    assert recorded.tasks["a", -1].attempts == 2


async def test_a_missing_stored_result_fails_the_run_with_its_code():
    recorded, tools = run_of({"id": "a"}, {"id": "b", "arguments": {"x": ref("a")}})

    async def nothing(_tasks):
        return {}

    execution = tools.execution()
    tools.answers["a"] = lambda _call: execution.pause()
    async with asyncio.timeout(PATIENCE_S):
        assert await execution.run() is RunStatus.PAUSED
    again = tools.execution(reload_results=nothing)
    again.resume()
    async with asyncio.timeout(PATIENCE_S):
        assert await again.run() is RunStatus.FAILED
    assert recorded.code == "missing_referent"


@pytest.mark.parametrize("write", [2, 3])
async def test_a_run_that_was_taken_over_between_two_of_its_calls_stops(write):
    recorded, tools = run_of(
        {"id": "a"}, {"id": "b", "depends_on": ["a"]}, {"id": "c", "depends_on": ["b"]}
    )

    def taken_over(number):
        if number == write:
            raise RunFenced(recorded.run)

    recorded.before_write = taken_over
    with pytest.raises(RunFenced):
        await finish(tools)
    assert len(tools.calls) == write - 1


async def test_a_run_cancelled_while_an_outcome_is_written_is_released():
    recorded, tools = run_of({"id": "a"}, {"id": "b", "depends_on": ["a"]})
    limits, writes, record = CallSlots(total=2, per_server=2), asyncio.Event(), recorded.record

    async def slow(changes):
        if tools.ended:
            writes.set()
            await asyncio.Event().wait()
        await record(changes)

    recorded.record = slow
    run = asyncio.create_task(tools.execution(call_slots=limits).run())
    async with asyncio.timeout(PATIENCE_S):
        await writes.wait()
        run.cancel()
        await asyncio.wait([run])
    assert run.cancelled()
    assert (limits.taken_count, len(tools.calls)) == (0, 1)
