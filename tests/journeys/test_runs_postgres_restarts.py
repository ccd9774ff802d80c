"""PostgreSQL restarts every few seconds during two hundred runs: nothing is lost or doubled."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator, Sized
from itertools import count, cycle
from typing import Any

import psutil
import pytest
from mcp import Client

from tests.foundation.postgres import processes
from tests.foundation.postgres.homes import located
from tests.journeys.runs import QUIET, World, asked, chain, counting_world
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.full, pytest.mark.timeout(900)]

RUNS = 200
TASKS = 5
DELAY_MS = 150
AT_ONCE = 8
EVERY_S = 2.0
WAYS = (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL)
"""Fast and immediate shutdown, and a crash; the keeper starts it again each time."""
RESTARTS = 8
"""At least, however fast the runs are."""
LONGEST_S = 600


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with counting_world() as made:
        yield made


async def test_two_hundred_runs_lose_and_double_nothing(world):
    states: dict[str, dict[str, Any]] = {}
    times: list[signal.Signals] = []
    waiting = names(times)
    async with asyncio.timeout(LONGEST_S):
        async with world.installation.client("auto", "--attach", "never", **QUIET) as client:
            await client.call_tool("search_tools", {"query": "count"})  # once it has started
            async with asyncio.TaskGroup() as whole:
                restarts = whole.create_task(restart_again_and_again(world, times))
                async with asyncio.TaskGroup() as group:
                    for _ in range(AT_ONCE):
                        group.create_task(start_all(client, waiting, states))
                restarts.cancel()
    assert len(states) >= RUNS
    assert {state["status"] for state in states.values()} == {"succeeded"}
    counted = world.ledger.names("counted")
    assert counted == dict.fromkeys(
        (f"{name}/t{place}" for name in states for place in range(TASKS)), 1
    )
    assert await asyncio.to_thread(
        world.rows, "SELECT status, count(*) FROM execution_workflowexecution GROUP BY 1"
    ) == [["succeeded", len(states)]]
    for state in states.values():
        kinds = await asyncio.to_thread(world.kinds, state["run_id"])
        assert [kind for kind in kinds if kind.startswith("task_succeeded")] == [
            f"task_succeeded t{place}" for place in range(TASKS)
        ]
        assert "run_adopted" not in kinds


def names(times: Sized) -> Iterator[str]:
    """Name runs until there are enough of them, and of restarts."""
    for number in count():
        if number >= RUNS and len(times) >= RESTARTS:
            return
        yield f"run-{number}"


async def start_all(client: Client, names: Iterator[str], states: dict[str, Any]) -> None:
    """Start one run after the other and wait for each, asking again while the database is away."""
    for name in names:
        workflow = chain(name, tool="count", tasks=TASKS, delay_ms=DELAY_MS)
        arguments = asked(workflow, key=name, wait_s=30)
        while True:
            answer = await client.call_tool("run_workflow", arguments)
            state = answer.structured_content
            if not answer.is_error and state["status"] not in ("queued", "running"):
                break
            if answer.is_error:
                assert "database" in answer.content[0].text, answer.content[0].text
                await asyncio.sleep(0.2)  # as a client would, before it asks again
        states[name] = state


async def restart_again_and_again(world: World, times: list[signal.Signals]) -> None:
    """Restart PostgreSQL until cancelled, and note each time."""
    cluster = located(world.installation.home)
    for way in cycle(WAYS):
        await asyncio.sleep(EVERY_S)  # no condition: it may happen at any moment
        server = await asyncio.to_thread(processes.postmaster_of, cluster)
        server.send_signal(way)
        await asyncio.to_thread(psutil.wait_procs, [server], timeout=PATIENCE_S)
        times.append(way)
