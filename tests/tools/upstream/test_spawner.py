"""What a server starts does not outlive it, whatever that does to get away."""

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

from gateway_project.foundation.postgres import locks
from tests.patience import PATIENCE_S
from tests.tools.upstream.conftest import SERVERS, eventually, gone, legacy, script
from tests.upstream_calls import call_tool, restart
from tools.upstream import reap
from tools.upstream.errors import UpstreamError
from tools.upstream.pool import UpstreamPool

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux lets a process adopt orphaned descendants"
)

GATEWAY = """
import asyncio, json, sys
from tests.upstream_calls import SOMEBODY
from tools.upstream import process, watch
from tools.upstream.pool import UpstreamPool
from tools.upstream.request import UpstreamRequest
from tools.upstream.spec import ServerSpec

process.GUARD_END_S = watch.STOP_TIMEOUT_S = 60.0

async def main():
    spec = ServerSpec(name="s", command=sys.executable, args=(sys.argv[1],))
    async with UpstreamPool([spec]) as pool:
        result = await pool.call_tool("s", UpstreamRequest.to_call("escape", {}), caller=SOMEBODY)
        own = int(result.raw["content"][0]["text"])
        pids = [own, pool.list_statuses()["s"].pid, pool._watcher.pid]
        print(json.dumps(pids), flush=True)
        if sys.argv[2] == "wait":
            await asyncio.sleep(600)

asyncio.run(main())
"""


def text(result: Any) -> str:
    return str(result.raw["content"][0]["text"])


async def escape(pool: UpstreamPool, name: str, **arguments: Any) -> int:
    return int(text(await call_tool(pool, name, "escape", arguments)))


def parent_of(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("PPid:")[2].split()[0])


@pytest.fixture
def gateway() -> Iterator[Any]:
    started: list[subprocess.Popen[str]] = []

    def run(how: str) -> tuple[subprocess.Popen[str], list[int]]:
        process = subprocess.Popen(
            [sys.executable, "-c", GATEWAY, str(SERVERS / "escaping.py"), how],
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            cwd=SERVERS.parent.parent,
            process_group=0,
        )
        started.append(process)
        assert process.stdout is not None
        return process, json.loads(process.stdout.readline())

    yield run
    for process in started:
        with suppress(ProcessLookupError):
            process.kill()
        process.communicate()


async def test_what_escaped_from_a_server_ends_with_it_and_with_no_other():
    one, other = script("escaping.py", name="one"), script("escaping.py", name="other")
    async with UpstreamPool([one, other]) as pool:
        of_one, of_other = await escape(pool, "one"), await escape(pool, "other")
        assert not gone(of_one)
        await restart(pool, "one")
        await call_tool(pool, "one", "echo", {"text": "again"})
        assert gone(of_one)
        assert not gone(of_other)
        assert text(await call_tool(pool, "other", "echo", {"text": "well"})) == "well"
        pool.set_servers([one])
        await eventually(lambda: gone(of_other))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_what_escaped_ends_with_a_gateway_that_is_killed(gateway, number):
    process, pids = gateway("wait")
    assert not any(map(gone, pids))
    os.killpg(process.pid, number)
    await eventually(lambda: all(map(gone, pids)))


async def test_what_escaped_is_gone_when_a_gateway_returns(gateway):
    process, pids = gateway("return")
    assert process.wait(timeout=PATIENCE_S) == 0
    assert all(map(gone, pids))


@pytest.mark.parametrize("victim", ["guard", "spawner"])
async def test_what_escaped_ends_with_a_guard_or_spawner_that_is_killed(victim):
    async with UpstreamPool([script("escaping.py")]) as pool:
        escaped = await escape(pool, "escaping")
        server = pool.list_statuses()["escaping"].pid
        guard, spawner = parent_of(server), pool._watcher.pid
        assert (parent_of(guard), parent_of(escaped)) == (spawner, guard)
        os.kill({"guard": guard, "spawner": spawner}[victim], signal.SIGKILL)
        ends = {escaped, server, guard} | ({spawner} if victim == "spawner" else set())
        await eventually(lambda: all(map(gone, ends)))
        await eventually(lambda: pool.list_statuses()["escaping"].state != "ready")
        assert text(await call_tool(pool, "escaping", "echo", {"text": "again"})) == "again"


async def test_a_server_that_kills_its_guard_gains_nothing():
    async with UpstreamPool([script("escaping.py"), legacy()]) as pool:
        await call_tool(pool, "legacy", "echo", {"text": "well"})
        with suppress(UpstreamError):  # it may be killed before it has answered
            await escape(pool, "escaping", kills_guard=True)
        spawner = pool._watcher.pid
        await eventually(lambda: len(reap.list_descendants(spawner)) == 2)
        assert text(await call_tool(pool, "legacy", "echo", {"text": "well"})) == "well"


async def test_what_forks_without_end_is_ended(tmp_path):
    lock = str(tmp_path / "lock")
    async with UpstreamPool([script("escaping.py")]) as pool:
        await call_tool(pool, "escaping", "multiply", {"lock": lock})
        assert not locks.is_free(lock)
    assert locks.is_free(lock)


async def test_a_stopped_server_leaves_no_process_of_the_gateway_behind():
    async with UpstreamPool([legacy(), legacy("other")]) as pool:
        for name in ("legacy", "other"):
            await call_tool(pool, name, "echo", {"text": "well"})
        spawner = pool._watcher.pid
        assert len(reap.list_children(spawner)) == 2
        pool.set_servers([legacy()])
        await eventually(lambda: len(reap.list_children(spawner)) == 1)


def test_children_are_found_where_the_kernel_does_not_list_them():
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", "input()"], stdin=-1) as child:
        assert child.pid in reap._list_children_by_stat(os.getpid())
        assert child.pid in reap.list_children(os.getpid())
        child.kill()
