import asyncio

from execution.running.run_state import RunState
from execution.status import RunStatus, TaskStatus
from tests.execution.recorded_run import (
    NOW,
    ServerBroke,
    finish,
    ref,
    run_of,
    until,
    workflow,
)
from tests.patience import PATIENCE_S

SUCCEEDED = TaskStatus.SUCCEEDED


async def test_tasks_run_after_their_dependencies_and_receive_their_results():
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


async def test_retries_are_reported_and_counted():
    def retried(call):
        call.on_retry(2, ServerBroke("gone"))
        return "there"

    recorded, tools = run_of({"id": "a"}, answers={"a": retried})
    assert await finish(tools) is RunStatus.SUCCEEDED
    assert recorded.tasks["a", -1].attempts == 2
    (event,) = [event for event in recorded.events if event.kind == "task_retried"]
    assert event.data == {"attempt": 2, "code": "connection_lost"}


def test_an_execution_keeps_the_workflow_it_was_given():
    plan = workflow({"id": "a"})
    _, tools = run_of({"id": "a"})
    assert [task.id for task in tools.execution().workflow.tasks] == list(plan.by_id)


async def test_a_call_is_started_once_however_often_it_is_requested():
    recorded, tools = run_of({"id": "a"})
    state = RunState(recorded.taken(), tools.prepare)
    state.open(NOW)
    assert await state.begin_call(("a", -1), NOW) is not None
    assert await state.begin_call(("a", -1), NOW) is None
    assert await state.begin_call(("gone", -1), NOW) is None


async def test_a_run_accepts_commands_while_a_finished_call_is_processed():
    chain = [{"id": "b", "depends_on": ["a"]}, {"id": "c", "depends_on": ["b"]}]
    recorded, tools = run_of({"id": "a"}, *chain, gates={"b": asyncio.Event()})
    execution = tools.execution()
    recorded.before_write = lambda number: execution.pause(command=1) if number == 2 else None
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        ending = group.create_task(execution.run())
        await until(lambda: recorded.status is RunStatus.PAUSED)
        assert recorded.stands("b") is TaskStatus.RUNNING
        tools.gates["b"].set()
    assert ending.result() is RunStatus.PAUSED
    assert [call.task for call in tools.calls] == ["a", "b"]


async def test_a_call_cancelled_too_late_releases_the_run():
    recorded, tools = run_of({"id": "a"}, {"id": "b", "depends_on": ["a"]})
    tools.answers["a"] = lambda _call: asyncio.current_task().cancel() and None
    assert await finish(tools) is RunStatus.SUCCEEDED
    assert [call.task for call in tools.calls] == ["a", "b"]
    assert recorded.stands("b") is TaskStatus.SUCCEEDED
