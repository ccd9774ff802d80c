"""What a process decided of a run holds for the next one, though the first is lost."""

import asyncio
from datetime import timedelta

import pytest

from execution.running.limits import CallSlots
from execution.status import RunStatus, TaskStatus
from execution.workflow import OnError
from tests.execution.recorded_run import (
    NOW,
    ServerBroke,
    pass_time,
    ref,
    run_of,
    says,
    until,
    workflow,
)
from tests.patience import PATIENCE_S

BROKE = ServerBroke("gone")
EACH = {"id": "each", "for_each": ref("list")}
CHAIN = ({"id": "a"}, {"id": "b", "depends_on": ["a"]})


async def finish(execution):
    async with asyncio.timeout(PATIENCE_S):
        return await execution.run()


async def kill(execution, condition):
    """Let a process hold a run until something is the case, and then be gone."""
    holding = asyncio.create_task(execution.run())
    await until(condition)
    holding.cancel()
    await asyncio.wait([holding])


def called(tools):
    return [(call.task, call.item) for call in tools.calls]


@pytest.mark.parametrize("repeatable", [True, False])
async def test_a_run_being_aborted_is_not_continued(repeatable):
    recorded, tools = run_of(*CHAIN, gates={"a": asyncio.Event()}, may_repeat=True)
    execution = tools.execution()
    ending = asyncio.create_task(execution.run())
    await tools.started.wait()
    tools.cancels = asyncio.Event()  # the server takes its time
    execution.abort(command=1)
    await until(lambda: "command_applied" in recorded.kinds())
    assert recorded.applied == {}, "whoever takes the run over has to be told"
    recorded.epoch += 1
    tools.cancels.set()
    ending.cancel()
    await asyncio.wait([ending])
    tools.calls.clear()
    again = tools.execution(repeatable=repeatable)
    again.abort(command=1)
    assert await finish(again) is RunStatus.ABORTED
    assert (tools.calls, recorded.applied) == ([], {1: "done"})


@pytest.mark.parametrize("told", ["replan", "resume"])
async def test_commands_after_an_abort_do_not_undo_it(told):
    recorded, tools = run_of(*CHAIN, gates={"a": asyncio.Event()})
    await kill(tools.execution(), lambda: tools.calls)
    execution = tools.execution()
    execution.abort(command=1)
    if told == "replan":
        execution.replan(workflow({"id": "c"}), command=2)
    else:
        execution.resume(command=2, rerun_unknown=True)
    assert await finish(execution) is RunStatus.ABORTED
    assert recorded.applied[1] == "done"
    assert called(tools) == [("a", -1)]


async def test_a_list_stopped_by_an_item_starts_no_further_items():
    recorded, tools = run_of(
        {"id": "list"},
        EACH,
        answers={"list": says([0, 1, 2, 3]), "each": lambda call: BROKE if call.item else "ok"},
        may_repeat=True,
    )
    invoke = tools.invoke
    hangs = asyncio.Event()

    async def first_hangs(call):
        if call.item == 0:
            tools.made.add(("each", 0))
            await hangs.wait()
        return await invoke(call)

    tools.invoke = first_hangs
    limits = CallSlots(total=2, per_server=2)
    await kill(
        tools.execution(call_slots=limits), lambda: recorded.stands("each", 1) is TaskStatus.FAILED
    )
    tools.calls.clear()
    hangs.set()
    assert await finish(tools.execution(repeatable=True)) is RunStatus.FAILED
    assert called(tools) == [("each", 0)], "what was under way goes on to its end"
    assert "1 of 4 items failed" in recorded.errors["each", -1]


def stopped_beside_a_list():
    """Make a run with a list under way of which only the first item was begun, and a failure."""
    return run_of(
        {"id": "list"},
        {"id": "bad", "depends_on": ["list"], "tool": "q:bad"},
        EACH,
        answers={"list": says([0, 1, 2]), "bad": BROKE},
        gates={"each": asyncio.Event()},
        may_repeat=True,
    )


async def test_a_list_stopped_by_another_task_starts_no_further_items():
    recorded, tools = stopped_beside_a_list()
    limits = CallSlots(total=2, per_server=1)
    await kill(
        tools.execution(call_slots=limits),
        lambda: recorded.code or recorded.errors.get(("bad", -1)),
    )
    tools.calls.clear()
    tools.gates.clear()
    assert await finish(tools.execution(repeatable=True)) is RunStatus.FAILED
    assert (called(tools), recorded.code) == ([("each", 0)], "connection_lost")


async def test_only_the_unknown_call_of_a_stopped_list_is_repeated():
    recorded, tools = stopped_beside_a_list()
    limits = CallSlots(total=2, per_server=1)
    await kill(tools.execution(call_slots=limits), lambda: recorded.errors.get(("bad", -1)))
    tools.calls.clear()
    tools.gates.clear()
    assert await finish(tools.execution()) is RunStatus.UNKNOWN
    execution = tools.execution()
    execution.resume(command=1, rerun_unknown=True)
    assert await finish(execution) is RunStatus.FAILED
    assert called(tools) == [("each", 0)]


async def test_a_stopping_failure_fails_the_run_in_any_process():
    recorded, tools = run_of(
        {"id": "bad"},
        {"id": "slow"},
        {"id": "after", "depends_on": ["slow"]},
        answers={"bad": BROKE},
        gates={"slow": asyncio.Event()},
        may_repeat=True,
    )
    await kill(tools.execution(), lambda: recorded.stands("bad") is TaskStatus.FAILED)
    tools.gates.clear()
    assert await finish(tools.execution(repeatable=True)) is RunStatus.FAILED
    assert recorded.code == "connection_lost"
    assert "'bad'" in recorded.error


async def test_a_replan_after_a_stop_is_executed():
    gate = asyncio.Event()
    recorded, tools = run_of(
        {"id": "bad"}, {"id": "slow"}, answers={"bad": BROKE}, gates={"slow": gate}
    )
    execution = tools.execution()
    holding = asyncio.create_task(execution.run())
    await until(lambda: recorded.stands("bad") is TaskStatus.FAILED)
    execution.replan(workflow({"id": "slow"}, {"id": "next", "depends_on": ["slow"]}))
    await until(lambda: recorded.version == 2)
    holding.cancel()
    await asyncio.wait([holding])
    tools.may_repeat = True
    gate.set()
    await finish(tools.execution(repeatable=True))
    assert recorded.stands("next") is TaskStatus.SUCCEEDED


async def test_a_replan_cannot_remove_a_lost_call_due_for_repetition():
    recorded, tools = run_of(*CHAIN, gates={"a": asyncio.Event()}, may_repeat=True)
    await kill(tools.execution(), lambda: tools.calls)
    tools.gates.clear()
    execution = tools.execution(repeatable=True)
    execution.replan(workflow({"id": "c"}))
    assert await finish(execution) is RunStatus.SUCCEEDED
    assert {one: recorded.stands(one) for one in ("a", "c")} == dict.fromkeys(
        ("a", "c"), TaskStatus.SUCCEEDED
    )


@pytest.mark.parametrize(
    ("is_aborted", "status"), [(True, RunStatus.ABORTED), (False, RunStatus.FAILED)]
)
async def test_a_cancelled_safe_to_fail_task_is_not_a_success(monkeypatch, is_aborted, status):
    time_s = PATIENCE_S / 2
    recorded, tools = run_of(
        *CHAIN,
        gates={"a": asyncio.Event()},
        on_error=OnError.SAFE_TO_FAIL,
        deadline_at=None if is_aborted else NOW + timedelta(seconds=time_s),
    )
    execution = tools.execution()
    async with asyncio.timeout(PATIENCE_S):
        holding = asyncio.create_task(execution.run())
        await tools.started.wait()
        if is_aborted:
            execution.abort()
        else:
            pass_time(monkeypatch, seconds=time_s)
        assert await holding is status
    assert recorded.stands("a") is TaskStatus.CANCELLED
