import asyncio

import pytest

from execution.running import for_each
from execution.status import RunStatus, TaskStatus
from tests.execution.recorded_run import ref, run_of, says
from tests.patience import PATIENCE_S


@pytest.mark.parametrize("restarts", [False, True])
async def test_the_items_of_all_lists_of_a_run_are_limited(monkeypatch, restarts):
    monkeypatch.setattr(for_each, "MAX_RUN_ITEMS", 5)
    recorded, tools = run_of(
        {"id": "list"},
        {"id": "first", "for_each": ref("list")},
        {"id": "second", "for_each": ref("list"), "depends_on": ["first"]},
        answers={"list": says([1, 2, 3])},
    )
    execution = tools.execution()
    if restarts:
        tools.answers["first"] = lambda call: execution.halt() if call.item == 2 else call.item
        async with asyncio.timeout(PATIENCE_S):
            assert await execution.run() is RunStatus.RUNNING
        execution = tools.execution()
    async with asyncio.timeout(PATIENCE_S):
        assert await execution.run() is RunStatus.FAILED
    assert recorded.stands("first") is TaskStatus.SUCCEEDED
    assert recorded.tasks["second", -1].error_code == "too_many_items"
    assert [call.task for call in tools.calls] == ["list", *3 * ["first"]]


async def test_a_failure_stops_hundreds_of_lists():
    count = 400
    tasks = [{"id": f"each{n}", "for_each": ref("list")} for n in range(count)]
    recorded, tools = run_of(
        {"id": "list"},
        *tasks,
        {"id": "bad", "tool": "q:bad", "depends_on": ["list"]},
        answers={"list": says([1]), "bad": says("no", is_error=True)},
        turns={f"each{n}": 9 for n in range(count)},
    )
    async with asyncio.timeout(PATIENCE_S):
        assert await tools.execution().run() is RunStatus.FAILED
    assert recorded.code == "tool_error"
    assert recorded.stands(f"each{count - 1}") is TaskStatus.SKIPPED
    assert recorded.tasks[f"each{count - 1}", -1].error_code == "stopped"
    assert recorded.errors[f"each{count - 1}", -1] == "the run stopped after 0 of 1 items"
