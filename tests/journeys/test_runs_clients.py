"""MCP clients of both eras start runs, watch them, steer them, and find them again."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

from tests.journeys.gateways import ERAS, JOURNEY_S, aeventually
from tests.journeys.runs import QUIET, World, asked, chain, counting_world, dag, held
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.full

LONG_MS = 600_000


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with counting_world() as made:
        yield made


def text(result: Any) -> str:
    said: str = result.content[0].text
    return said


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_starts_a_run_sees_it_progress_and_gets_its_results(world, era):
    reports: list[tuple[float, float | None, str | None]] = []

    async def report(progress, total, message):
        reports.append((progress, total, message))

    workflow = chain(f"progress-{era}", tool="look", tasks=5, delay_ms=300)
    async with asyncio.timeout(JOURNEY_S), world.installation.client(era, **QUIET) as client:
        done = await client.call_tool(
            "run_workflow",
            asked(workflow, key=f"progress-{era}", wait_s=PATIENCE_S),
            progress_callback=report,
        )
    state = done.structured_content
    assert state["status"] == "succeeded", state
    assert state["results"]["t4"]["name"] == f"progress-{era}/t4"
    reached = [progress for progress, _, _ in reports]
    assert reached == sorted(set(reached))
    assert {total for _, total, _ in reports} == {5}
    # The answer waits but half a second for the last reports.
    assert any(" succeeded " in (message or "") for _, _, message in reports)


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_aborts_a_run_and_its_call_is_cancelled_at_the_server(world, era):
    name = f"aborted-{era}"
    workflow = chain(name, tool="count", tasks=2, delay_ms=LONG_MS)
    async with asyncio.timeout(JOURNEY_S), world.installation.client(era, **QUIET) as client:
        started = await client.call_tool("run_workflow", asked(workflow, key=name, wait_s=0))
        run = started.structured_content["run_id"]
        await aeventually(lambda: world.ledger.names("begun")[f"{name}/t0"] == 1)
        aborted = await client.call_tool(
            "control_run", {"run_id": run, "action": "abort", "wait_s": PATIENCE_S}
        )
        assert aborted.structured_content["status"] == "aborted"
        assert aborted.structured_content["tasks"] == {"t0": "cancelled", "t1": "cancelled"}
        await aeventually(lambda: world.ledger.names("cancelled")[f"{name}/t0"] == 1)
    assert world.ledger.names("counted")[f"{name}/t0"] == 0


@pytest.mark.parametrize("era", ERAS)
async def test_a_killed_gateway_is_started_again_and_gives_the_result(world, tmp_path, era):
    name, gate = f"again-{era}", tmp_path / "gate"
    workflow = held(chain(name, tool="look", tasks=4, delay_ms=0), gate, "t2")
    arguments = ("--attach", "never")
    before = {process.pid for process in psutil.Process().children()}
    async with asyncio.timeout(JOURNEY_S):
        try:
            async with world.installation.client(era, *arguments, **QUIET) as client:
                started = await client.call_tool(
                    "run_workflow", asked(workflow, key=name, wait_s=0)
                )
                run = started.structured_content["run_id"]
                await aeventually(lambda: world.ledger.names("begun")[f"{name}/t2"] == 1)
                kill_new_gateway(before)
        except* (OSError, RuntimeError):
            pass  # the client notices, in ways of its own
        gate.touch()
        async with world.installation.client(era, *arguments, **QUIET) as client:
            got = await client.call_tool("get_run", {"run_id": run, "wait_s": PATIENCE_S})
    state = got.structured_content
    assert state["status"] == "succeeded", state
    assert [state["results"][f"t{place}"]["name"] for place in range(4)] == [
        f"{name}/t{place}" for place in range(4)
    ]
    begun = world.ledger.names("begun")
    assert [begun[f"{name}/t{place}"] for place in range(4)] == [1, 1, 2, 1]


def kill_new_gateway(before: set[int]) -> None:
    (gateway,) = [
        process
        for process in psutil.Process().children()
        if process.pid not in before and "run_gateway" in process.cmdline()
    ]
    os.kill(gateway.pid, signal.SIGKILL)


async def test_fifty_requests_with_one_key_are_one_run(world):
    workflow = dag("fifty", tool="count", tasks=5, delay_ms=50)
    async with asyncio.timeout(JOURNEY_S), world.installation.client(**QUIET) as client:
        async with asyncio.TaskGroup() as group:
            asking = [
                group.create_task(
                    client.call_tool(
                        "run_workflow", asked(workflow, key="fifty", wait_s=PATIENCE_S)
                    )
                )
                for _ in range(50)
            ]
        states = [task.result().structured_content for task in asking]
        assert {state["status"] for state in states} == {"succeeded"}
        assert len({state["run_id"] for state in states}) == 1
        other = dag("other", tool="count", tasks=5, delay_ms=0)
        refused = await client.call_tool("run_workflow", asked(other, key="fifty", wait_s=0))
        assert refused.is_error
        assert "idempotency_conflict" in str(refused.meta) + text(refused)
    counted = world.ledger.names("counted")
    assert [counted[f"fifty/t{place}"] for place in range(5)] == [1] * 5
    assert not any(name.startswith("other/") for name in counted)
