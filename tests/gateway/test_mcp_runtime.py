import asyncio
import threading

import pytest

from gateway_project.mcp import runtime as runtime_module
from gateway_project.mcp.runtime import PreparedRuntime, Runtime
from gateway_project.readiness import NotReady
from tests.patience import PATIENCE_S


async def handle(_readiness, _ctx):
    raise AssertionError


async def wait(_readiness):
    await asyncio.Event().wait()


async def test_slow_setup_runs_off_the_event_loop():
    go = threading.Event()

    def prepare():
        go.wait(PATIENCE_S)
        return PreparedRuntime(handle=handle, run_wiring=wait)

    runtime = Runtime(prepare)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(runtime.run())
        waiting = group.create_task(runtime.get_prepared())
        await asyncio.sleep(0)
        assert not waiting.done(), "the loop runs on while it loads"
        go.set()
        assert (await waiting).handle is handle
        running.cancel()


async def test_setup_problems_are_reported_to_calls():
    def prepare():
        raise NotReady("configuration", "FOREGATE_HOME is wrong")

    runtime = Runtime(prepare)
    await runtime.run()
    with pytest.raises(NotReady, match="FOREGATE_HOME"):
        await runtime.get_prepared()


async def test_a_setup_defect_is_logged_and_reported(caplog):
    def prepare():
        raise ZeroDivisionError("a defect")

    runtime = Runtime(prepare)
    await runtime.run()
    assert "a defect" in caplog.text
    assert runtime.readiness.trouble.code == "internal_error"
    assert "a defect" not in str(runtime.readiness.trouble)


async def test_a_gateway_waits_for_a_database_that_fits_again(monkeypatch):
    monkeypatch.setattr(runtime_module, "FIRST_PAUSE_S", 0.0)
    told, served = [], asyncio.Event()

    async def wire(readiness):
        told.append(readiness.trouble)
        if len(told) == 1:
            raise NotReady("database_newer", "upgrade this one")
        served.set()
        await asyncio.Event().wait()

    runtime = Runtime(lambda: PreparedRuntime(handle=handle, run_wiring=wire))
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        running = group.create_task(runtime.run())
        await served.wait()
        running.cancel()
    assert [trouble and trouble.code for trouble in told] == [None, "database_newer"]


async def test_a_crashed_gateway_reports_it_and_sets_up_again(caplog, monkeypatch):
    monkeypatch.setattr(runtime_module, "FIRST_PAUSE_S", 0.0)
    told, served = [], asyncio.Event()

    async def wire(readiness):
        if len(told) < 2:
            told.append(readiness.trouble)
            raise ZeroDivisionError("a defect")
        told.append(readiness.trouble)
        served.set()
        await asyncio.Event().wait()

    runtime = Runtime(lambda: PreparedRuntime(handle=handle, run_wiring=wire))
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        running = group.create_task(runtime.run())
        await served.wait()
        running.cancel()
    assert [trouble and trouble.code for trouble in told] == [None, *["internal_error"] * 2]
    assert "a defect" in caplog.text
    assert "a defect" not in str(told[-1])


async def test_a_stop_while_loading_leaves_no_one_waiting():
    go = threading.Event()
    loaded = threading.Event()

    def prepare():
        go.wait(PATIENCE_S)
        loaded.set()
        return PreparedRuntime(handle=handle, run_wiring=wait)

    runtime = Runtime(prepare)
    running = asyncio.create_task(runtime.run())
    call = asyncio.create_task(runtime.get_prepared())
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(NotReady, match="shutting down"):
        await call
    go.set()
    assert await asyncio.to_thread(loaded.wait, PATIENCE_S)


def test_a_thread_that_outlives_the_loop_harms_nobody():
    go = threading.Event()
    threads = []

    def prepare():
        threads.append(threading.current_thread())
        go.wait(PATIENCE_S)
        return PreparedRuntime(handle=handle, run_wiring=wait)

    async def start_and_stop():
        running = asyncio.create_task(Runtime(prepare).run())
        while not threads:  # noqa: ASYNC110 - the thread tells no event of this loop
            await asyncio.sleep(0)
        running.cancel()

    asyncio.run(start_and_stop())
    go.set()
    threads[0].join(PATIENCE_S)
    assert not threads[0].is_alive()
    assert threads[0].daemon
