import asyncio
from datetime import timedelta

import pytest

from execution.changes import Fenced
from execution.running.limits import Limits
from execution.running.run_state import RunState
from execution.status import RunStatus, TaskStatus
from execution.workflow import OnError
from tests.execution.recorded_run import NOW, ServerBroke, ref, run_of, says, until, workflow

FAILED, SKIPPED, SUCCEEDED = TaskStatus.FAILED, TaskStatus.SKIPPED, TaskStatus.SUCCEEDED


async def finish(tools, **values):
    async with asyncio.timeout(5):
        return await tools.execution(**values).run()


async def test_tasks_run_once_those_before_them_have_ended_and_take_what_they_gave():
    recorded, tools = run_of(
        {"id": "a"},
        {"id": "b", "arguments": {"of": [ref("a", "/id")], "$literal": 1}},
        {"id": "c", "depends_on": ["b"], "arguments": {"x": {"$literal": ref("a")}}},
        answers={"a": {"id": 7}},
    )
    assert await finish(tools) is RunStatus.SUCCEEDED
    assert [call.task for call in tools.calls] == ["a", "b", "c"]
    assert tools.calls[1].arguments == {"of": [7], "$literal": 1}
    assert tools.calls[2].arguments == {"x": ref("a")}
    assert sorted(recorded.kinds()) == sorted(
        ["run_started", "run_ended"] + 3 * ["task_started", "task_succeeded"]
    )
    assert (recorded.kinds()[0], recorded.kinds()[-1]) == ("run_started", "run_ended")
    assert (recorded.status, recorded.events[-1].data) == (
        RunStatus.SUCCEEDED,
        {"status": "succeeded"},
    )


async def test_a_task_starts_without_waiting_for_others_of_its_layer():
    slow = asyncio.Event()
    recorded, tools = run_of(
        {"id": "slow"},
        {"id": "quick"},
        {"id": "next", "depends_on": ["quick"]},
        gates={"slow": slow},
    )
    tools.answers["next"] = lambda _call: slow.set()
    assert await finish(tools) is RunStatus.SUCCEEDED
    assert recorded.stands("next") is SUCCEEDED


async def test_the_end_of_a_call_and_the_intent_that_follows_share_a_write():
    recorded, tools = run_of({"id": "a"}, {"id": "b", "depends_on": ["a"]})
    await finish(tools)
    assert recorded.writes == 3


async def test_limits_hold_in_all_and_for_each_server():
    tasks = [{"id": f"{server}{n}", "tool": f"{server}:x"} for server in "ab" for n in range(6)]
    _, tools = run_of(*tasks, turns={task["id"]: 3 for task in tasks})
    assert await finish(tools, limits=Limits(total=3, per_server=2)) is RunStatus.SUCCEEDED
    assert tools.most_at_once == 3
    _, tools = run_of(*tasks, turns={task["id"]: 3 for task in tasks})
    assert await finish(tools, limits=Limits(total=64, per_server=2)) is RunStatus.SUCCEEDED
    assert tools.most_at_once == 4


async def test_runs_take_turns_where_slots_are_few():
    limits = Limits(total=1, per_server=1)
    order = []

    def noted(call):
        order.append(call.task[0])

    runs = []
    for name in "ab":
        tasks = [{"id": f"{name}{n}", "tool": "s:x"} for n in range(4)]
        _, tools = run_of(*tasks, answers={task["id"]: noted for task in tasks})
        runs.append(tools.execution(limits=limits))
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        for run in runs:
            group.create_task(run.run())
    assert order[1:7] in (list("ababab"), list("bababa")), "after the first, each in turn"


@pytest.mark.parametrize(
    ("policy", "ends", "status"),
    [
        (OnError.STOP, {"ordered": SKIPPED, "needs": SKIPPED, "other": SKIPPED}, "failed"),
        (
            OnError.CONTINUE,
            {"ordered": SKIPPED, "needs": SKIPPED, "other": SUCCEEDED},
            "partial_success",
        ),
        (
            OnError.SAFE_TO_FAIL,
            {"ordered": SUCCEEDED, "needs": SKIPPED, "other": SUCCEEDED},
            "succeeded",
        ),
    ],
)
async def test_what_a_failure_means_is_up_to_the_policy(policy, ends, status):
    recorded, tools = run_of(
        {"id": "bad"},
        {"id": "first"},
        {"id": "ordered", "depends_on": ["bad"]},
        {"id": "needs", "arguments": {"x": ref("bad")}},
        {"id": "other", "depends_on": ["first"]},
        on_error=policy,
        answers={"bad": says("no such file", is_error=True)},
        turns={"first": 9},
    )
    assert await finish(tools) == status
    assert recorded.stands("first") is SUCCEEDED, "what is under way goes on to its end"
    assert {task: recorded.stands(task) for task in ends} == ends
    assert recorded.tasks["bad", -1].error_code == "tool_error"
    assert recorded.errors["bad", -1] == "no such file"
    if status == "failed":
        assert (recorded.code, recorded.error) == ("tool_error", "task 'bad': no such file")


async def test_a_task_says_itself_what_its_failure_means():
    recorded, tools = run_of(
        {"id": "bad", "on_error": "safe_to_fail"},
        {"id": "next", "depends_on": ["bad"]},
        answers={"bad": ServerBroke("server 's': it died; the call may have taken effect")},
    )
    assert await finish(tools) is RunStatus.SUCCEEDED
    assert recorded.tasks["bad", -1].error_code == "connection_lost"


async def test_a_missing_referent_fails_its_task_before_any_call():
    recorded, tools = run_of({"id": "a"}, {"id": "b", "arguments": {"x": ref("a", "/nothing")}})
    assert await finish(tools) is RunStatus.FAILED
    assert recorded.tasks["b", -1].error_code == recorded.code == "missing_referent"
    assert [call.task for call in tools.calls] == ["a"]


async def test_a_defect_in_one_task_is_that_tasks_failure(caplog):
    recorded, tools = run_of(
        {"id": "a"}, {"id": "b"}, on_error=OnError.CONTINUE, answers={"a": ValueError("odd")}
    )
    assert await finish(tools) is RunStatus.PARTIAL_SUCCESS
    assert recorded.tasks["a", -1].error_code == "internal_error"


async def test_a_call_that_is_cancelled_from_within_has_failed():
    def broken(_call):
        raise asyncio.CancelledError

    recorded, tools = run_of({"id": "a"}, answers={"a": broken})
    assert await finish(tools) is RunStatus.FAILED
    assert recorded.code == "call_cancelled"


async def test_retries_are_told_and_counted():
    def retried(call):
        call.on_retry(2, ServerBroke("gone"))
        return "there"

    recorded, tools = run_of({"id": "a"}, answers={"a": retried})
    assert await finish(tools) is RunStatus.SUCCEEDED
    assert recorded.tasks["a", -1].attempts == 2
    (event,) = [event for event in recorded.events if event.kind == "task_retried"]
    assert event.data == {"attempt": 2, "code": "connection_lost"}


async def test_progress_of_a_server_reaches_who_follows():
    seen = []
    _, tools = run_of({"id": "a"}, answers={"a": lambda call: call.on_progress(1.0, 4.0, "begun")})
    await finish(tools, on_progress=lambda *report: seen.append(report))
    assert seen == [("a", -1, 1.0, 4.0, "begun")]


async def test_a_pause_lets_calls_in_flight_end_and_starts_nothing_more():
    gate = asyncio.Event()
    recorded, tools = run_of({"id": "a"}, {"id": "b", "depends_on": ["a"]}, gates={"a": gate})
    execution = tools.execution()
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        ending = group.create_task(execution.run())
        await tools.started.wait()
        execution.pause(command=3)
        await until(lambda: recorded.status is RunStatus.PAUSED)
        assert not ending.done()
        gate.set()
    assert ending.result() is RunStatus.PAUSED
    assert (recorded.stands("a"), recorded.stands("b")) == (SUCCEEDED, TaskStatus.PENDING)
    assert recorded.applied == {3: "done"}
    again = tools.execution()
    again.resume(command=4)
    async with asyncio.timeout(5):
        assert await again.run() is RunStatus.SUCCEEDED
    assert recorded.applied == {3: "done", 4: "done"}
    assert recorded.kinds().count("run_paused") == recorded.kinds().count("run_resumed") == 1


async def test_a_run_that_rests_stays_so_until_it_is_told_otherwise():
    recorded, tools = run_of({"id": "a"})
    execution = tools.execution()
    execution.pause()
    async with asyncio.timeout(5):
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
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
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
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        ending = group.create_task(execution.run())
        await until(lambda: ("b", -1) in tools.ended)
        execution.abort()
        await until(lambda: tools.cancelled == ["a"])
        assert not ending.done()
        back.set()
    assert ending.result() is RunStatus.ABORTED
    assert recorded.stands("b") is SUCCEEDED


async def test_a_run_whose_time_is_up_fails_and_its_calls_are_cancelled():
    recorded, tools = run_of(
        {"id": "a"},
        {"id": "b", "depends_on": ["a"]},
        gates={"a": asyncio.Event()},
        deadline_at=NOW + timedelta(seconds=0.02),
    )
    assert await finish(tools) is RunStatus.FAILED
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


async def test_a_run_that_was_taken_over_stops_and_cancels_its_calls():
    recorded, tools = run_of({"id": "a"}, {"id": "b"}, gates={"a": asyncio.Event()})

    def taken_over(_call):
        recorded.epoch += 1

    tools.answers["b"] = taken_over
    with pytest.raises(Fenced):
        await finish(tools)
    assert tools.cancelled == ["a"]
    assert recorded.stands("b") is TaskStatus.RUNNING, "a late write is refused"


async def test_a_process_that_lost_its_lease_starts_nothing_more_and_records_what_ends():
    gate = asyncio.Event()
    recorded, tools = run_of({"id": "a"}, {"id": "b", "depends_on": ["a"]}, gates={"a": gate})
    execution = tools.execution()
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        ending = group.create_task(execution.run())
        await tools.started.wait()
        execution.halt()
        gate.set()
    assert ending.result() is RunStatus.RUNNING
    assert (recorded.stands("a"), recorded.stands("b")) == (SUCCEEDED, TaskStatus.PENDING)
    assert await finish(tools) is RunStatus.SUCCEEDED
    assert "run_adopted" in recorded.kinds()


async def test_a_call_whose_intent_was_written_too_late_is_taken_back_unsent():
    recorded, tools = run_of({"id": "a"})
    execution = tools.execution()
    recorded.before_write = lambda _number: execution.halt()
    async with asyncio.timeout(5):
        assert await execution.run() is RunStatus.RUNNING
    assert tools.calls == []
    assert recorded.tasks["a", -1].status is TaskStatus.PENDING
    assert recorded.tasks["a", -1].attempts == 0


async def test_a_lost_call_is_unknown_and_all_that_does_not_need_it_goes_on():
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
    async with asyncio.timeout(5):
        assert await again.run() is RunStatus.SUCCEEDED
    assert [call.task for call in tools.calls] == ["c", "a", "b"]


async def test_a_lost_call_that_may_be_made_again_is():
    recorded, tools = run_of({"id": "a"}, gates={"a": asyncio.Event()}, may_repeat=True)
    lost = asyncio.create_task(tools.execution().run())
    await tools.started.wait()
    lost.cancel()
    with pytest.raises(asyncio.CancelledError):
        await lost
    tools.gates.clear()
    assert await finish(tools, repeatable=True) is RunStatus.SUCCEEDED
    assert recorded.tasks["a", -1].attempts == 2


async def test_results_that_nothing_refers_to_any_more_are_forgotten():
    _, tools = run_of(
        {"id": "a"},
        {"id": "b", "arguments": {"x": ref("a")}},
        {"id": "c", "depends_on": ["b"]},
    )
    execution = tools.execution()
    held = []
    tools.answers["c"] = lambda _call: held.append(dict(execution._state.roots._whole))
    async with asyncio.timeout(5):
        await execution.run()
    assert held == [{}]


async def test_a_workflow_with_a_result_that_is_gone_fails_by_name():
    recorded, tools = run_of({"id": "a"}, {"id": "b", "arguments": {"x": ref("a")}})

    async def nothing(_tasks):
        return {}

    execution = tools.execution()
    tools.answers["a"] = lambda _call: execution.pause()
    async with asyncio.timeout(5):
        assert await execution.run() is RunStatus.PAUSED
    again = tools.execution(recall=nothing)
    again.resume()
    async with asyncio.timeout(5):
        assert await again.run() is RunStatus.FAILED
    assert recorded.code == "missing_referent"


def test_the_workflow_of_an_execution_is_the_one_it_was_given():
    plan = workflow({"id": "a"})
    _, tools = run_of({"id": "a"})
    assert [task.id for task in tools.execution().workflow.tasks] == list(plan.by_id)


async def test_a_call_that_was_not_sent_yet_when_its_run_was_aborted_never_is():
    recorded, tools = run_of({"id": "a"}, {"id": "b"}, turns={"a": 0})
    limits = Limits(total=2, per_server=2)
    execution = tools.execution(limits=limits)
    tools.answers["a"] = lambda _call: execution.abort()
    async with asyncio.timeout(5):
        assert await execution.run() is RunStatus.ABORTED
    assert [call.task for call in tools.calls] == ["a"]
    assert (recorded.stands("a"), recorded.stands("b")) == (SUCCEEDED, TaskStatus.CANCELLED)
    assert limits.take("s")
    assert limits.take("s")


async def test_a_call_whose_run_is_aborted_while_its_intent_is_written_is_not_sent():
    recorded, tools = run_of({"id": "a"})
    execution = tools.execution()
    recorded.before_write = lambda _number: execution.abort()
    async with asyncio.timeout(5):
        assert await execution.run() is RunStatus.ABORTED
    assert (tools.calls, recorded.stands("a")) == ([], TaskStatus.CANCELLED)


async def test_a_run_that_is_paused_waits_for_no_slot():
    limits = Limits(total=1, per_server=1)
    assert limits.take("s")
    _, tools = run_of({"id": "a"})
    execution = tools.execution(limits=limits)
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        ending = group.create_task(execution.run())
        await until(lambda: bool(limits._lines))
        execution.pause()
    assert ending.result() is RunStatus.PAUSED
    limits.give_back("s")
    assert limits.take("s")


async def test_a_run_that_is_let_go_of_keeps_no_slot_of_the_servers_it_waited_for():
    limits = Limits(total=1, per_server=1)
    assert limits.take("s")
    _, tools = run_of({"id": "a", "tool": "p:a"}, {"id": "b", "tool": "q:b"})
    holding = asyncio.create_task(tools.execution(limits=limits).run())
    await until(lambda: len(limits._lines) == 2)
    limits.give_back("s")
    holding.cancel()
    await asyncio.wait([holding])
    assert limits.take("s")


async def test_a_run_of_which_nothing_succeeded_has_failed():
    recorded, tools = run_of(
        {"id": "a", "on_error": "safe_to_fail"},
        {"id": "b", "arguments": {"x": ref("a")}},
        answers={"a": ServerBroke("gone")},
    )
    assert await finish(tools) is RunStatus.FAILED
    assert recorded.code == "nothing_succeeded"


def test_a_call_is_begun_once_however_often_it_is_asked_for():
    recorded, tools = run_of({"id": "a"})
    state = RunState(recorded.taken(), tools.prepare)
    state.open(NOW)
    assert state.begin(("a", -1), NOW) is not None
    assert state.begin(("a", -1), NOW) is None
    assert state.begin(("gone", -1), NOW) is None
