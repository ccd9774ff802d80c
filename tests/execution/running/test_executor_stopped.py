import asyncio
from datetime import timedelta

from execution.running.limits import CallSlots
from execution.status import RunStatus, TaskStatus
from tests.execution.recorded_run import (
    NOW,
    finish,
    pass_time,
    run_of,
    until,
)
from tests.patience import PATIENCE_S

SKIPPED, SUCCEEDED = TaskStatus.SKIPPED, TaskStatus.SUCCEEDED


async def test_a_resting_run_stays_so_until_a_command():
    recorded, tools = run_of({"id": "a"})
    execution = tools.execution()
    execution.pause()
    async with asyncio.timeout(PATIENCE_S):
        assert await execution.run() is RunStatus.PAUSED
    assert await finish(tools) is RunStatus.PAUSED
    assert tools.calls == []
    assert recorded.kinds() == ["run_paused"]


async def test_abort_cancels_calls_in_flight_and_starts_nothing_more():
    recorded, tools = run_of(
        {"id": "a"},
        {"id": "quick"},
        {"id": "b", "depends_on": ["a"]},
        gates={"a": asyncio.Event()},
    )
    execution = tools.execution()
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        ending = group.create_task(execution.run())
        await until(lambda: recorded.stands("quick") is SUCCEEDED)
        execution.abort(command=1)
    assert ending.result() is RunStatus.ABORTED
    assert tools.cancelled == ["a"]
    assert recorded.stands("a") is recorded.stands("b") is TaskStatus.CANCELLED
    assert recorded.stands("quick") is SUCCEEDED
    assert recorded.applied == {1: "done"}


async def test_abort_cancels_calls_even_while_nothing_can_be_written():
    recorded, tools = run_of({"id": "a"}, {"id": "b"}, gates={"a": asyncio.Event()})
    back = asyncio.Event()
    record = recorded.record

    async def away(changes):
        if len(tools.calls) == 2:
            await back.wait()
        await record(changes)

    recorded.record = away
    execution = tools.execution()
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        ending = group.create_task(execution.run())
        await until(lambda: ("b", -1) in tools.ended)
        execution.abort()
        await until(lambda: tools.cancelled == ["a"])
        assert not ending.done()
        back.set()
    assert ending.result() is RunStatus.ABORTED
    assert recorded.stands("b") is SUCCEEDED


async def test_a_call_that_was_not_sent_yet_when_its_run_was_aborted_never_is():
    recorded, tools = run_of({"id": "a"}, {"id": "b"}, turns={"a": 0})
    limits = CallSlots(total=2, per_server=2)
    execution = tools.execution(call_slots=limits)
    tools.answers["a"] = lambda _call: execution.abort()
    async with asyncio.timeout(PATIENCE_S):
        assert await execution.run() is RunStatus.ABORTED
    assert [call.task for call in tools.calls] == ["a"]
    assert (recorded.stands("a"), recorded.stands("b")) == (SUCCEEDED, TaskStatus.CANCELLED)
    assert limits.taken_count == 0


async def test_a_call_whose_run_is_aborted_while_its_intent_is_written_is_not_sent():
    recorded, tools = run_of({"id": "a"})
    execution = tools.execution()
    recorded.before_write = lambda _number: execution.abort()
    async with asyncio.timeout(PATIENCE_S):
        assert await execution.run() is RunStatus.ABORTED
    assert (tools.calls, recorded.stands("a")) == ([], TaskStatus.CANCELLED)


async def test_a_run_past_its_deadline_fails_and_cancels_its_calls(monkeypatch):
    time_s = PATIENCE_S / 2
    recorded, tools = run_of(
        {"id": "a"},
        {"id": "b", "depends_on": ["a"]},
        gates={"a": asyncio.Event()},
        deadline_at=NOW + timedelta(seconds=time_s),
    )
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        ending = group.create_task(tools.execution().run())
        await tools.started.wait()
        pass_time(monkeypatch, seconds=time_s)
    assert ending.result() is RunStatus.FAILED
    assert recorded.code == recorded.tasks["a", -1].error_code == "deadline_exceeded"
    assert tools.cancelled == ["a"]
    assert (recorded.stands("a"), recorded.stands("b")) == (TaskStatus.CANCELLED, SKIPPED)


async def test_nothing_starts_once_the_time_is_up():
    recorded, tools = run_of({"id": "a"}, deadline_at=NOW)
    assert await finish(tools) is RunStatus.FAILED
    assert (tools.calls, recorded.code) == ([], "deadline_exceeded")


async def test_a_clock_that_jumps_moves_no_deadline():
    times = iter([NOW, NOW])
    _, tools = run_of({"id": "a"}, deadline_at=NOW + timedelta(seconds=60))
    late = NOW + timedelta(days=1)
    assert await finish(tools, clock=lambda: next(times, late)) is RunStatus.SUCCEEDED
