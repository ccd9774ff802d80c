import asyncio
import threading

import pytest

from execution.running import dispatch
from execution.running.result_cache import ResultCache
from execution.status import RunStatus, TaskStatus
from tests.execution.recorded_run import finish, ref, run_of, workflow
from tests.patience import PATIENCE_S


async def test_a_run_that_prepares_many_calls_yields_to_others(monkeypatch):
    monkeypatch.setattr(dispatch, "PREPARE_BUDGET_S", 0.0, raising=False)
    _, tools = run_of(*({"id": f"t{n}"} for n in range(6)))
    turns, seen = 0, []
    prepare = tools.prepare

    async def others():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    def prepared(tool, arguments):
        seen.append(turns)
        return prepare(tool, arguments)

    tools.prepare = prepared
    going_on = asyncio.create_task(others())
    async with asyncio.timeout(PATIENCE_S):
        assert await tools.execution().run() is RunStatus.SUCCEEDED
    going_on.cancel()
    assert len(set(seen)) == 6, "after each they had one"


async def test_a_command_between_two_turns_takes_effect_at_once(monkeypatch):
    monkeypatch.setattr(dispatch, "PREPARE_BUDGET_S", 0.0, raising=False)
    _, tools = run_of(*({"id": f"t{n}"} for n in range(6)))
    execution = tools.execution()
    tools.answers["t0"] = lambda _call: execution.pause()
    async with asyncio.timeout(PATIENCE_S):
        assert await execution.run() is RunStatus.PAUSED
    assert len(tools.calls) < 6


ROWS = list(range(20_000))


def watch_threads(monkeypatch, tools):
    """Return, by tool, on which threads its arguments are resolved and digested."""
    resolved, digested = [], []
    resolve, prepare = ResultCache.resolve, tools.prepare

    def watch_resolve(self, value, **more):
        resolved.append((value, threading.get_ident()))
        return resolve(self, value, **more)

    def watch_prepare(tool, arguments):
        digested.append((arguments, threading.get_ident()))
        return prepare(tool, arguments)

    monkeypatch.setattr(ResultCache, "resolve", watch_resolve)
    tools.prepare = watch_prepare
    return resolved, digested


@pytest.mark.parametrize(
    "task",
    [
        {"arguments": {"a": ROWS}},
        {"arguments": {"a": "x" * 100_000}},
        {"arguments": {"a": ref("a")}},
    ],
)
async def test_large_arguments_are_resolved_and_digested_on_another_thread(monkeypatch, task):
    recorded, tools = run_of({"id": "a"}, {"id": "b", "depends_on": ["a"], **task})
    tools.answers["a"] = ROWS
    resolved, digested = watch_threads(monkeypatch, tools)
    assert await finish(tools) is RunStatus.SUCCEEDED
    here = threading.get_ident()
    assert [thread == here for _, thread in resolved] == [True, False]
    assert [thread == here for _, thread in digested] == [True, False]
    assert tools.calls[-1].arguments is digested[-1][0], "what is sent is what was digested"
    assert recorded.stands("b") is TaskStatus.SUCCEEDED


@pytest.mark.parametrize(
    ("stop", "run_is", "task_is"),
    [
        ("abort", RunStatus.ABORTED, TaskStatus.CANCELLED),
        ("halt", RunStatus.RUNNING, TaskStatus.PENDING),
    ],
)
async def test_a_run_stopped_while_arguments_are_digested_makes_no_call_and_writes_none(
    stop, run_is, task_is
):
    recorded, tools = run_of({"id": "a", "arguments": {"a": ROWS}}, {"id": "b"})
    begun, let = threading.Event(), threading.Event()
    prepare = tools.prepare

    def wait(tool, arguments):
        if arguments:
            begun.set()
            assert let.wait(PATIENCE_S)
        return prepare(tool, arguments)

    tools.prepare = wait
    execution = tools.execution()
    running = asyncio.create_task(execution.run())
    assert await asyncio.to_thread(begun.wait, PATIENCE_S)
    getattr(execution, stop)()
    let.set()
    async with asyncio.timeout(PATIENCE_S):
        assert await running is run_is
    assert tools.calls == []
    assert recorded.stands("a") is task_is
    assert "task_started" not in recorded.kinds()


async def test_a_replan_during_digesting_takes_effect_afterwards():
    recorded, tools = run_of({"id": "a", "arguments": {"a": ROWS}})
    begun, let = threading.Event(), threading.Event()
    prepare = tools.prepare

    def wait(tool, arguments):
        if arguments == {"a": ROWS}:
            begun.set()
            assert let.wait(PATIENCE_S)
        return prepare(tool, arguments)

    tools.prepare = wait
    execution = tools.execution()
    running = asyncio.create_task(execution.run())
    assert await asyncio.to_thread(begun.wait, PATIENCE_S)
    execution.replan(workflow({"id": "a", "arguments": {"a": ROWS}}, {"id": "b"}), command=1)
    let.set()
    async with asyncio.timeout(PATIENCE_S):
        assert await running is RunStatus.SUCCEEDED
    assert [call.task for call in tools.calls] == ["a", "b"]
    assert recorded.applied == {1: "done"}
