import asyncio

import pytest

from execution.running.limits import CallSlots
from execution.status import RunStatus, TaskStatus
from tests.execution.recorded_run import ref, run_of, says, until
from tests.patience import PATIENCE_S

LISTED = {"id": "each", "for_each": ref("list")}


async def finish(tools, **values):
    async with asyncio.timeout(PATIENCE_S):
        return await tools.execution(**values).run()


async def test_a_for_each_task_returns_results_in_item_order():
    recorded, tools = run_of(
        {"id": "list"},
        {**LISTED, "for_each": ref("list", "/rows"), "arguments": {"name": {"$item": "/n"}}},
        {"id": "sum", "arguments": {"all": ref("each"), "second": ref("each", "/1/got")}},
        answers={
            "list": {"rows": [{"n": "x"}, {"n": "y"}, {"n": "z"}]},
            "each": lambda call: {"got": call.arguments["name"]},
        },
        turns={"each": 3},
    )
    assert await finish(tools) is RunStatus.SUCCEEDED
    assert tools.calls[-1].arguments == {
        "all": [{"got": "x"}, {"got": "y"}, {"got": "z"}],
        "second": "y",
    }
    assert [recorded.stands("each", item) for item in range(3)] == 3 * [TaskStatus.SUCCEEDED]
    assert tools.most_at_once == 3


async def test_an_empty_list_succeeds_at_once():
    recorded, tools = run_of(
        {"id": "list"},
        {**LISTED, "for_each": ref("list", "/rows")},
        {"id": "then", "arguments": {"all": ref("each")}},
        answers={"list": {"rows": []}},
    )
    assert await finish(tools) is RunStatus.SUCCEEDED
    assert tools.calls[-1].arguments == {"all": []}
    assert recorded.stands("each") is TaskStatus.SUCCEEDED


@pytest.mark.parametrize(
    ("given", "code"),
    [({"a": 1}, "not_a_list"), ("text", "not_a_list"), (list(range(10_001)), "too_many_items")],
)
async def test_a_non_list_or_too_long_list_fails_before_any_call(given, code):
    recorded, tools = run_of({"id": "list"}, LISTED, answers={"list": says(given)})
    assert await finish(tools) is RunStatus.FAILED
    assert (recorded.code, len(tools.calls)) == (code, 1)


async def test_ten_thousand_items_are_called_once_each():
    _, tools = run_of({"id": "list"}, LISTED, answers={"list": says(list(range(10_000)))})
    assert (
        await finish(tools, call_slots=CallSlots(total=500, per_server=500)) is RunStatus.SUCCEEDED
    )
    places = [(call.task, call.item) for call in tools.calls]
    assert len(set(places)) == len(places) == 10_001


async def test_the_failure_of_one_item_stops_the_run_unless_told_otherwise():
    def second_fails(call):
        return says("bad", is_error=True) if call.item == 1 else call.item

    recorded, tools = run_of(
        {"id": "list"},
        LISTED,
        {"id": "after", "depends_on": ["each"]},
        answers={"list": says([1, 2, 3, 4]), "each": second_fails},
    )
    assert await finish(tools, call_slots=CallSlots(total=1, per_server=1)) is RunStatus.FAILED
    assert [call.item for call in tools.calls] == [-1, 0, 1]
    assert recorded.tasks["each", -1].error_code == "item_failed"
    assert recorded.errors["each", -1] == "1 of 4 items failed; item 1: bad"
    assert recorded.stands("after") is TaskStatus.SKIPPED


async def test_other_items_continue_after_a_failure_under_that_policy():
    def second_fails(call):
        return says("bad", is_error=True) if call.item == 1 else call.item

    recorded, tools = run_of(
        {"id": "list"},
        {**LISTED, "on_error": "safe_to_fail"},
        {"id": "after", "depends_on": ["each"]},
        {"id": "needs", "arguments": {"x": ref("each")}},
        answers={"list": says([1, 2, 3]), "each": second_fails},
    )
    assert await finish(tools) is RunStatus.PARTIAL_SUCCESS
    assert recorded.stands("each", 2) is TaskStatus.SUCCEEDED
    assert recorded.stands("after") is TaskStatus.SUCCEEDED
    assert recorded.stands("needs") is TaskStatus.SKIPPED


async def test_abort_in_the_middle_of_a_list_starts_no_further_item():
    recorded, tools = run_of(
        {"id": "list"},
        LISTED,
        answers={"list": says(list(range(9)))},
        gates={"each": asyncio.Event()},
    )
    execution = tools.execution(call_slots=CallSlots(total=2, per_server=2))
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        ending = group.create_task(execution.run())
        await until(lambda: len(tools.calls) >= 3)
        execution.abort()
    assert ending.result() is RunStatus.ABORTED
    assert len(tools.calls) == 3
    assert recorded.stands("each") is TaskStatus.CANCELLED
    assert recorded.stands("each", 0) is TaskStatus.CANCELLED


async def test_an_adopted_list_continues_where_the_last_process_stopped():
    _, tools = run_of(
        {"id": "list"},
        LISTED,
        {"id": "then", "arguments": {"all": ref("each")}},
        answers={"list": says([1, 2, 3, 4]), "each": lambda call: call.item},
    )
    execution = tools.execution(call_slots=CallSlots(total=1, per_server=1))
    tools.answers["each"] = lambda call: execution.halt() if call.item == 1 else call.item
    async with asyncio.timeout(PATIENCE_S):
        assert await execution.run() is RunStatus.RUNNING
    tools.answers["each"] = lambda call: call.item
    assert await finish(tools) is RunStatus.SUCCEEDED
    assert tools.calls[-1].arguments["all"] == [0, "None", 2, 3]


async def test_a_lost_item_is_unknown_and_others_are_not():
    recorded, tools = run_of(
        {"id": "list"},
        LISTED,
        {"id": "then", "depends_on": ["each"]},
        answers={"list": says([1, 2, 3])},
        gates={"each": asyncio.Event()},
        may_repeat=True,
    )
    lost = asyncio.create_task(tools.execution(call_slots=CallSlots(total=1, per_server=1)).run())
    await until(lambda: len(tools.calls) >= 2)
    lost.cancel()
    with pytest.raises(asyncio.CancelledError):
        await lost
    tools.gates.clear()
    assert await finish(tools) is RunStatus.UNKNOWN
    assert [recorded.stands("each", item) for item in (0, 1)] == [
        TaskStatus.UNKNOWN,
        TaskStatus.SUCCEEDED,
    ]
    assert recorded.stands("each") is TaskStatus.UNKNOWN
    assert recorded.stands("then") is TaskStatus.PENDING
    again = tools.execution()
    again.resume(rerun_unknown=True)
    async with asyncio.timeout(PATIENCE_S):
        assert await again.run() is RunStatus.SUCCEEDED
    assert [call.item for call in tools.calls if call.task == "each"] == [0, 1, 2, 0]


async def test_a_failed_item_of_an_earlier_process_counts():
    recorded, tools = run_of(
        {"id": "list"},
        {**LISTED, "on_error": "continue"},
        answers={"list": says([1, 2, 3])},
    )
    execution = tools.execution(call_slots=CallSlots(total=1, per_server=1))

    def halts(_call):
        execution.halt()
        return says("bad", is_error=True)

    tools.answers["each"] = halts
    async with asyncio.timeout(PATIENCE_S):
        assert await execution.run() is RunStatus.RUNNING
    tools.answers["each"] = "fine"
    assert await finish(tools) is RunStatus.PARTIAL_SUCCESS
    assert recorded.errors["each", -1] == "1 of 3 items failed"
