"""Nothing of the servers outlives the gateway, however it ended."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import structlog

from tests.patience import PATIENCE_S
from tests.tools.upstream.conftest import SERVERS, eventually, gone
from tools.upstream import watch
from tools.upstream.errors import SpawnFailed
from tools.upstream.pool import UpstreamPool
from tools.upstream.spec import ServerSpec
from tools.upstream.watch import GatewayWatcher

GATEWAY = """
import asyncio, json, sys
from tools.upstream import process, reap, watch
from tools.upstream.pool import UpstreamPool
from tools.upstream.spec import ServerSpec
from tests.upstream_calls import call_tool

process.STDIN_GRACE_S = reap.TERM_GRACE_S = 0.1
process.GUARD_END_S = process.EXIT_NOTICE_S = watch.STOP_TIMEOUT_S = 60.0

async def main():
    args = ("-I", "-S", sys.argv[1])
    async with UpstreamPool([ServerSpec(name="s", command=sys.executable, args=args)]) as pool:
        result = await call_tool(pool, "s", "stubborn_family", {})
        pids = [*json.loads(result.raw["content"][0]["text"]), pool._watcher.pid]
        print(json.dumps(pids), flush=True)
        if sys.argv[2] == "wait":
            await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.fixture
def gateway() -> Iterator[Any]:
    started: list[subprocess.Popen[str]] = []

    def run(how: str) -> tuple[subprocess.Popen[str], list[int]]:
        process = subprocess.Popen(
            [sys.executable, "-c", GATEWAY, str(SERVERS / "legacy.py"), how],
            stdout=subprocess.PIPE,
            stdin=subprocess.PIPE,
            text=True,
            cwd=SERVERS.parent.parent,
            process_group=0,
        )
        started.append(process)
        return process, json.loads(process.stdout.readline())

    yield run
    for process in started:
        with suppress(ProcessLookupError):
            process.kill()
        process.communicate()


SHRUGGED_OFF = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)


def shrugs_off(pid: int) -> bool:
    """Say whether a process ignores the signals yet; elsewhere than on Linux, believe it."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return sys.platform != "linux"
    (ignored,) = (
        line.split()[1] for line in status.read_text().splitlines() if line.startswith("SigIgn")
    )
    return all(int(ignored, 16) >> (number - 1) & 1 for number in SHRUGGED_OFF)


async def test_all_processes_end_soon_after_the_gateways_death(gateway):
    process, pids = gateway("wait")
    await eventually(lambda: shrugs_off(pids[-1]))
    for number in SHRUGGED_OFF:
        os.kill(pids[-1], number)
    assert not any(map(gone, pids))
    os.killpg(process.pid, signal.SIGKILL)
    # Its output ends with it, so nothing it leaves behind holds a stream of it.
    assert process.stdout.read() == ""
    await eventually(lambda: all(map(gone, pids)))


async def test_a_gateway_that_returns_leaves_nothing(gateway):
    process, pids = gateway("return")
    assert process.wait(timeout=PATIENCE_S) == 0
    assert all(map(gone, pids))


async def test_the_watcher_ends_with_its_gateway_even_if_it_had_nothing_to_do():
    watcher = GatewayWatcher()
    watcher.ensure_running()
    pid = watcher.pid
    await watcher.aclose()
    assert gone(pid)
    await watcher.aclose()


async def test_a_watcher_that_was_killed_is_replaced():
    watcher = GatewayWatcher()
    with pytest.raises(BrokenPipeError):
        watcher.open_guard_channel([0, 1, 2])
    watcher.ensure_running()
    first = watcher.pid
    os.kill(first, signal.SIGKILL)
    await eventually(lambda: watcher.pid is None)
    with pytest.raises(OSError, match="pipe"):
        watcher.open_guard_channel([0, 1, 2])
    with structlog.testing.capture_logs() as entries:
        watcher.ensure_running()
    assert [entry["log_level"] for entry in entries] == ["warning"]
    assert watcher.pid not in (None, first)
    await watcher.aclose()


async def test_a_watcher_that_does_not_end_in_time_is_killed(monkeypatch):
    monkeypatch.setattr(watch, "STOP_TIMEOUT_S", 0.0)
    watcher = GatewayWatcher()
    watcher.ensure_running()
    pid = watcher.pid
    await watcher.aclose()
    assert gone(pid)


async def test_without_a_watcher_no_server_is_started(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    async with UpstreamPool([ServerSpec(name="s", command="/bin/cat")]) as pool:
        with pytest.raises(SpawnFailed, match="watcher of server processes cannot be started"):
            await pool.list_tools("s")
