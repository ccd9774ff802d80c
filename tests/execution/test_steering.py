import asyncio

import pytest

from execution.changes import WHOLE_TASK
from execution.running.limits import CallSlots
from execution.status import RunStatus, TaskStatus
from execution.workflow import OnError
from tests.execution.recorded_run import ref, run_of, until, workflow
from tests.patience import PATIENCE_S

WAITING, PENDING, SUCCEEDED = (
    TaskStatus.WAITING_APPROVAL,
    TaskStatus.PENDING,
    TaskStatus.SUCCEEDED,
)


async def finish(execution):
    async with asyncio.timeout(PATIENCE_S):
        return await execution.run()


async def decide(recorded, tools, *, approved, code="", **values):
    """Let a person decide about the one call that waits, and go on."""
    ((key, asked),) = recorded.waiting()
    asked.status = "approved" if approved else "rejected"
    execution = tools.execution(**values)
    execution.apply_decision(*asked.place, key, approved=approved, code=code)
    return await finish(execution)


# Approvals.


async def test_nothing_is_called_before_approval_and_other_tasks_continue():
    recorded, tools = run_of(
        {"id": "drop"}, {"id": "after", "depends_on": ["drop"]}, {"id": "x"}, asks={"drop"}
    )
    assert await finish(tools.execution()) is RunStatus.WAITING
    assert [call.task for call in tools.calls] == ["x"]
    assert recorded.stands("drop") is WAITING
    assert await decide(recorded, tools, approved=True) is RunStatus.SUCCEEDED
    assert [call.task for call in tools.calls] == ["x", "drop", "after"]
    assert [asked.status for asked in recorded.approvals.values()] == ["used"]


async def test_a_call_can_be_approved_while_its_run_continues():
    gate = asyncio.Event()
    recorded, tools = run_of({"id": "drop"}, {"id": "x"}, asks={"drop"}, gates={"x": gate})
    execution = tools.execution()
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        ending = group.create_task(execution.run())
        await tools.started.wait()
        ((key, asked),) = recorded.waiting()
        asked.status = "approved"
        execution.apply_decision("drop", WHOLE_TASK, key, approved=True)
        await until(lambda: ("drop", WHOLE_TASK) in tools.ended)
        gate.set()
    assert ending.result() is RunStatus.SUCCEEDED
    assert "run_waiting" not in recorded.kinds()


async def test_a_rejected_call_has_failed_under_its_own_policy():
    recorded, tools = run_of(
        {"id": "drop", "on_error": "safe_to_fail"},
        {"id": "after", "depends_on": ["drop"]},
        asks={"drop"},
    )
    assert await finish(tools.execution()) is RunStatus.WAITING
    code = "approval_expired"
    assert await decide(recorded, tools, approved=False, code=code) is RunStatus.SUCCEEDED
    assert recorded.tasks["drop", -1].error_code == code
    assert [call.task for call in tools.calls] == ["after"]


async def test_an_approval_that_was_used_or_has_expired_fails_only_its_call():
    recorded, tools = run_of({"id": "drop"}, {"id": "x"}, asks={"drop"}, on_error=OnError.CONTINUE)
    assert await finish(tools.execution()) is RunStatus.WAITING
    ((key, asked),) = recorded.waiting()
    execution = tools.execution()
    execution.apply_decision(*asked.place, key, approved=True)
    asked.status = "expired"
    assert await finish(execution) is RunStatus.PARTIAL_SUCCESS
    assert recorded.tasks["drop", -1].error_code == "not_approved"
    assert [call.task for call in tools.calls] == ["x"]


async def test_an_approval_covers_no_other_arguments():
    recorded, tools = run_of({"id": "drop"}, asks={"drop"})
    assert await finish(tools.execution()) is RunStatus.WAITING
    tools.recorded.workflow = workflow({"id": "drop", "arguments": {"all": True}})
    assert await decide(recorded, tools, approved=True) is RunStatus.FAILED
    assert (recorded.code, tools.calls) == ("not_approved", [])


async def test_each_item_is_approved_separately():
    recorded, tools = run_of(
        {"id": "list"},
        {"id": "each", "tool": "s:drop", "for_each": ref("list", "/rows")},
        answers={"list": {"rows": [1, 2]}},
        asks={"drop"},
    )
    assert await finish(tools.execution()) is RunStatus.WAITING
    execution = tools.execution()
    for key, asked in recorded.waiting():
        asked.status = "approved" if asked.place[1] else "rejected"
        execution.apply_decision(*asked.place, key, approved=asked.status == "approved")
    assert await finish(execution) is RunStatus.FAILED
    assert recorded.stands("each", 0) is TaskStatus.FAILED
    assert recorded.stands("each", 1) is TaskStatus.SKIPPED, "the failure stops the run"


async def test_abort_ends_a_run_that_waits():
    recorded, tools = run_of({"id": "drop"}, asks={"drop"})
    assert await finish(tools.execution()) is RunStatus.WAITING
    execution = tools.execution()
    execution.abort(command=1)
    assert await finish(execution) is RunStatus.ABORTED
    assert recorded.stands("drop") is TaskStatus.CANCELLED


# Layers.


def layered(**values):
    return run_of(
        {"id": "a"},
        {"id": "b"},
        {"id": "c", "depends_on": ["a"]},
        {"id": "d", "depends_on": ["c"]},
        per_layer_validation=True,
        **values,
    )


async def test_a_layered_run_stops_at_each_decision_point_but_the_last():
    recorded, tools = layered()
    seen = []
    assert await finish(tools.execution()) is RunStatus.PAUSED
    for expected in (RunStatus.PAUSED, RunStatus.SUCCEEDED):
        seen.append(sorted(call.task for call in tools.calls))
        execution = tools.execution()
        execution.resume(command=len(seen))
        assert await finish(execution) is expected
    assert seen == [["a", "b"], ["a", "b", "c"]]
    complete = [event.data for event in recorded.events if event.kind == "layer_complete"]
    assert complete == [{"layer": 1, "of": 3}, {"layer": 2, "of": 3}]
    assert recorded.applied == {1: "done", 2: "done"}


async def test_a_layer_whose_tasks_are_all_skipped_is_no_decision_point():
    _, tools = run_of(
        {"id": "a"},
        {"id": "b"},
        {"id": "c", "depends_on": ["a"]},
        {"id": "d", "depends_on": ["c"]},
        per_layer_validation=True,
        on_error=OnError.CONTINUE,
        answers={"a": ValueError("no")},
    )
    assert await finish(tools.execution()) is RunStatus.PARTIAL_SUCCESS


async def test_a_layer_that_completes_while_the_run_is_paused_is_a_decision_point_too():
    gate = asyncio.Event()
    recorded, tools = layered(gates={"a": gate})
    execution = tools.execution()
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        ending = group.create_task(execution.run())
        await tools.started.wait()
        execution.pause()
        await until(lambda: recorded.status is RunStatus.PAUSED)
        gate.set()
    assert ending.result() is RunStatus.PAUSED
    assert recorded.kinds()[-1] == "layer_complete"


async def test_a_process_that_adopts_between_layers_does_not_pause_twice():
    recorded, tools = layered()
    assert await finish(tools.execution()) is RunStatus.PAUSED
    recorded.status = RunStatus.RUNNING  # told to go on; the process died before it began a task
    assert await finish(tools.execution()) is RunStatus.PAUSED
    assert sorted(call.task for call in tools.calls) == ["a", "b", "c"]


# Replanning.


async def test_a_replan_keeps_finished_tasks_and_replaces_the_rest():
    recorded, tools = layered(answers={"a": {"id": 7}})
    assert await finish(tools.execution()) is RunStatus.PAUSED
    execution = tools.execution()
    new = workflow({"id": "a"}, {"id": "e", "arguments": {"x": ref("a", "/id")}})
    execution.replan(new, command=5)
    assert await finish(execution) is RunStatus.SUCCEEDED
    assert tools.calls[-1].arguments == {"x": 7}
    assert sorted(call.task for call in tools.calls) == ["a", "b", "e"]
    (event,) = [event for event in recorded.events if event.kind == "run_replanned"]
    assert event.data == {"kept": 2, "changed": [], "added": ["e"], "removed": ["c", "d"]}
    assert (recorded.version, recorded.applied) == (2, {5: "done"})


async def test_a_replan_of_a_running_run_reloads_results_it_had_dropped():
    gate = asyncio.Event()
    recorded, tools = run_of(
        {"id": "a"},
        {"id": "slow"},
        {"id": "old", "depends_on": ["slow"]},
        gates={"slow": gate},
        answers={"a": {"id": 7}},
    )
    execution = tools.execution()
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        ending = group.create_task(execution.run())
        await until(lambda: recorded.stands("a") is SUCCEEDED)
        new = workflow(
            {"id": "a"},
            {"id": "slow"},
            {"id": "fresh", "arguments": {"x": ref("a", "/id"), "y": ref("slow")}},
        )
        execution.replan(new)
        gate.set()
    assert ending.result() is RunStatus.SUCCEEDED
    assert tools.calls[-1].arguments == {"x": 7, "y": "slow"}
    assert "old" not in execution.workflow.by_id


async def test_a_replan_that_changes_a_begun_task_is_refused():
    recorded, tools = layered()
    assert await finish(tools.execution()) is RunStatus.PAUSED
    execution = tools.execution()
    execution.replan(workflow({"id": "a", "arguments": {"other": 1}}), command=5)
    assert await finish(execution) is RunStatus.PAUSED
    assert recorded.applied == {5: "invalid_workflow"}
    assert recorded.kinds()[-1] == "command_applied"
    assert recorded.version == 1


async def test_a_paused_run_stays_paused_with_its_new_plan():
    recorded, tools = run_of({"id": "a"}, {"id": "b", "depends_on": ["a"]})
    execution = tools.execution()
    tools.answers["a"] = lambda _call: execution.pause()
    assert await finish(execution) is RunStatus.PAUSED
    again = tools.execution()
    again.replan(workflow({"id": "a"}, {"id": "c", "depends_on": ["a"]}))
    assert await finish(again) is RunStatus.PAUSED
    assert recorded.stands("c") is PENDING
    assert [call.task for call in tools.calls] == ["a"]


async def test_a_replan_can_remove_a_call_that_waits_for_approval():
    _, tools = run_of({"id": "drop"}, asks={"drop"})
    assert await finish(tools.execution()) is RunStatus.WAITING
    execution = tools.execution()
    execution.replan(workflow({"id": "safe"}))
    assert await finish(execution) is RunStatus.SUCCEEDED
    assert [call.task for call in tools.calls] == ["safe"]


async def test_a_replan_leaves_a_begun_list_unchanged():
    recorded, tools = run_of(
        {"id": "list"},
        {"id": "each", "for_each": ref("list", "/rows")},
        {"id": "drop", "depends_on": ["list"]},
        {"id": "old", "depends_on": ["each"]},
        answers={"list": {"rows": [1, 2, 3]}, "each": lambda call: {"at": call.item}},
        asks={"drop"},
    )
    execution = tools.execution(call_slots=CallSlots(total=1, per_server=1))
    same = {"id": "each", "for_each": ref("list", "/rows")}
    new = workflow(
        {"id": "list"},
        same,
        {"id": "drop", "depends_on": ["each"]},
        {"id": "fresh", "arguments": {"x": ref("each", "/2/at")}},
    )

    def replans(call):
        if call.item == 0:
            execution.replan(new)
        return {"at": call.item}

    tools.answers["each"] = replans
    assert await finish(execution) is RunStatus.WAITING
    assert [call.task for call in tools.calls] == ["list", "each", "each", "each", "fresh"]
    assert tools.calls[-1].arguments == {"x": 2}
    assert recorded.stands("drop") is WAITING


async def test_an_unknown_item_can_be_repeated_while_its_list_waits_for_approval():
    recorded, tools = run_of(
        {"id": "list"},
        {"id": "each", "tool": "s:drop", "for_each": ref("list", "/rows")},
        answers={"list": {"rows": [1, 2]}},
        asks={"drop"},
        may_repeat=True,
    )
    assert await finish(tools.execution()) is RunStatus.WAITING
    (first, second) = recorded.waiting()
    first[1].status = "approved"
    tools.gates["each"] = asyncio.Event()
    execution = tools.execution()
    execution.apply_decision("each", 0, first[0], approved=True)
    lost = asyncio.create_task(execution.run())
    await until(lambda: len(tools.calls) == 2)
    lost.cancel()
    await asyncio.wait([lost])
    assert await finish(tools.execution()) is RunStatus.WAITING
    assert recorded.stands("each", 0) is TaskStatus.UNKNOWN
    execution = tools.execution()
    execution.resume(rerun_unknown=True)
    assert await finish(execution) is RunStatus.WAITING
    assert {asked.place for _, asked in recorded.waiting()} == {("each", 0), ("each", 1)}
    assert second[1].status == "pending"


async def test_a_call_waiting_for_a_slot_respects_new_dependencies():
    recorded, tools = run_of({"id": "a"}, {"id": "b"})
    execution = tools.execution(call_slots=CallSlots(total=1, per_server=1))
    new = workflow({"id": "a"}, {"id": "c", "tool": "q:c"}, {"id": "b", "depends_on": ["c"]})
    tools.answers["a"] = lambda _call: execution.replan(new)
    assert await finish(execution) is RunStatus.SUCCEEDED
    assert [call.task for call in tools.calls] == ["a", "c", "b"]
    assert recorded.version == 2


async def test_a_journal_that_breaks_loses_no_slot():
    recorded, tools = run_of({"id": "a"}, {"id": "b"}, asks={"a", "b"})
    assert await finish(tools.execution()) is RunStatus.WAITING
    limits = CallSlots(total=2, per_server=2)
    execution = tools.execution(call_slots=limits)
    for key, asked in recorded.waiting():
        asked.status = "approved"
        execution.apply_decision(*asked.place, key, approved=True)
    record = recorded.record

    async def broken(changes):
        if changes.tasks and changes.tasks[0].task == "b":
            raise ConnectionError("no journal")
        await record(changes)

    recorded.record = broken
    with pytest.raises(ConnectionError, match="no journal"):
        await finish(execution)
    assert tools.calls == []
    assert limits.taken_count == 0
