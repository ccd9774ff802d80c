import asyncio
import threading

import pytest

from execution.running import result_cache, results
from execution.status import RunStatus, TaskStatus
from tests.execution.recorded_run import ref, run_of, says
from tests.patience import PATIENCE_S

LONG = "x" * 2_000


async def finish(execution):
    async with asyncio.timeout(PATIENCE_S):
        return await execution.run()


def shown(execution):
    return execution._state.result_cache


async def test_a_result_beyond_the_memory_limit_fails_the_referencing_task(monkeypatch):
    monkeypatch.setattr(result_cache, "MAX_BYTES", 3_000)
    recorded, tools = run_of(
        {"id": "a"},
        {"id": "b", "depends_on": ["a"]},
        {"id": "of_a", "depends_on": ["b"], "arguments": {"x": ref("a")}},
        {"id": "of_b", "depends_on": ["of_a"], "arguments": {"x": ref("b")}},
        {"id": "c"},
        on_error="continue",
        answers={"a": says(LONG), "b": says(LONG)},
    )
    tools.workflow = recorded.workflow
    execution = tools.execution()
    assert await finish(execution) is RunStatus.PARTIAL_SUCCESS
    assert recorded.stands("b") is TaskStatus.SUCCEEDED, "its result is kept, though not here"
    assert recorded.stands("of_a") is TaskStatus.SUCCEEDED
    assert recorded.tasks["of_b", -1].error_code == "run_too_large"
    assert shown(execution)._total_size == 0


@pytest.mark.parametrize("restarts", [False, True])
async def test_the_items_of_a_list_count_together(monkeypatch, restarts):
    monkeypatch.setattr(result_cache, "MAX_BYTES", 9_000)
    recorded, tools = run_of(
        {"id": "list"},
        {"id": "each", "for_each": ref("list")},
        {"id": "sum", "arguments": {"all": ref("each")}},
        answers={"list": says(list(range(6))), "each": lambda _call: LONG},
    )
    if restarts:
        execution = tools.execution()
        tools.answers["each"] = lambda call: execution.halt() if call.item == 5 else LONG
        assert await finish(execution) is RunStatus.RUNNING
        tools.answers["each"] = lambda _call: LONG
    execution = tools.execution()
    assert await finish(execution) is RunStatus.FAILED
    assert recorded.stands("each") is TaskStatus.SUCCEEDED
    assert recorded.code == recorded.tasks["sum", -1].error_code == "run_too_large"
    assert shown(execution)._total_size == 0


async def test_a_list_that_was_not_cached_fails_its_for_each_task(monkeypatch):
    monkeypatch.setattr(result_cache, "MAX_BYTES", 100)
    recorded, tools = run_of(
        {"id": "list"},
        {"id": "each", "for_each": ref("list")},
        answers={"list": says(list(range(6)))},
    )
    assert await finish(tools.execution()) is RunStatus.FAILED
    assert recorded.tasks["each", -1].error_code == "run_too_large"


@pytest.mark.parametrize("is_structured", [False, True])
async def test_a_large_result_is_parsed_off_the_event_loop(monkeypatch, is_structured):
    size = results.LARGE_BYTES
    where = []
    read = results.measure_root

    def measured(result):
        where.append(threading.current_thread())
        return read(result)

    monkeypatch.setattr(results, "measure_root", measured)
    structured = {"structuredContent": {"n": 7, "x": ["y" * size]}}
    text = {"content": [{"type": "text", "text": '{"n": 7, "x": "' + "y" * size + '"}'}]}
    _, tools = run_of({"id": "a"}, {"id": "b", "arguments": {"x": ref("a", "/n")}})
    answer = says(0)
    answer.result.raw = structured if is_structured else text
    tools.answers["a"] = answer
    assert await finish(tools.execution()) is RunStatus.SUCCEEDED
    assert tools.calls[-1].arguments == {"x": 7}
    assert where
    assert threading.main_thread() not in where


async def test_an_answer_received_before_an_abort_counts_while_being_parsed(
    monkeypatch,
):
    reading = asyncio.Event()
    gate = threading.Event()
    loop = asyncio.get_running_loop()
    read = results.measure_root

    def measured(result):
        loop.call_soon_threadsafe(reading.set)
        gate.wait(PATIENCE_S)
        return read(result)

    monkeypatch.setattr(results, "measure_root", measured)
    recorded, tools = run_of({"id": "a"}, {"id": "b", "arguments": {"x": ref("a")}})
    tools.answers["a"] = says("y" * (results.LARGE_BYTES + 1))
    execution = tools.execution()
    holding = asyncio.create_task(execution.run())
    async with asyncio.timeout(PATIENCE_S):
        await reading.wait()
        execution.abort()
        gate.set()
        assert await holding is RunStatus.ABORTED
    assert recorded.stands("a") is TaskStatus.SUCCEEDED
