"""Calls that outlast their clients, with real servers, gateways and a real database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from mcp import Client

from gateway_project.mcp.results import ERROR_KEY
from tests.execution.run_setup import until
from tests.gateway.conftest import ERAS
from tests.journeys.gateways import RawGateway, eventually
from tests.journeys.runs import QUIET, World, counting_world
from tests.journeys.served_runs import Served, listed, served
from tests.patience import PATIENCE_S

PATIENT = {"FOREGATE_CALL_PATIENCE_S": "0.5"}


@pytest.fixture
async def gateway(home, sealer) -> AsyncIterator[Served]:
    async with served(home, sealer, listed(["counting:count"])) as made:
        made.world.upstream, made.world.call_patience_s = made.pool, 0.05
        yield made


async def call(client: Client, name: str, **arguments: Any) -> str:
    """Make a call that goes on, and return its run."""
    called = {"tool": "counting:count", "arguments": {"name": name, **arguments}}
    result = await client.call_tool("call_tool", called)
    assert result.is_error
    error = result.meta[ERROR_KEY]
    assert error["code"] == "call_continues", result.content
    run: str = error["run_id"]
    return run


async def get_run(client: Client, run: str, wait_s: float = PATIENCE_S) -> Any:
    return await client.call_tool("get_run", {"run_id": run, "wait_s": wait_s})


async def finish(client: Client, run: str) -> dict[str, Any]:
    """Ask for a run until it has ended, as a model does."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            state: dict[str, Any] = (await get_run(client, run)).structured_content
            if state["status"] != "running":
                return state


@pytest.mark.django_db
@pytest.mark.usefixtures("runs_db")
@pytest.mark.parametrize("era", ERAS)
async def test_a_call_that_outlasts_its_client_is_finished_by_get_run(gateway, tmp_path, era):
    gate = tmp_path / "gate"
    async with gateway.client(era) as client:
        run = await call(client, "slow", gate=str(gate))
        assert (await get_run(client, run, 0)).structured_content["status"] == "running"
        gate.touch()
        state = await finish(client, run)
        assert (state["status"], state["tasks"]) == ("succeeded", {"call": "succeeded"})
        assert state["results"]["call"]["name"] == "slow"
        assert "next" not in state, "the same call is a new one"
    assert gateway.ledger.names("begun") == {"slow": 1}
    assert gateway.ledger.names("counted") == {"slow": 1}


@pytest.mark.django_db
@pytest.mark.usefixtures("runs_db")
async def test_its_client_may_leave_and_aborting_it_cancels_it_at_its_server(gateway, tmp_path):
    async with gateway.client() as client:
        run = await call(client, "slow", gate=str(tmp_path / "gate"))
    await until(lambda: gateway.ledger.names("begun") == {"slow": 1})
    async with gateway.client() as client:
        controlled = await client.call_tool("control_run", {"run_id": run, "action": "abort"})
        assert not controlled.is_error
        assert (await finish(client, run))["status"] == "aborted"
    await until(lambda: gateway.ledger.names("cancelled") == {"slow": 1})
    assert gateway.pool.list_statuses()["counting"].calls_in_flight == 0


@pytest.mark.django_db
@pytest.mark.usefixtures("runs_db")
async def test_a_call_is_that_of_its_person_alone(gateway, tmp_path):
    gate, mine = tmp_path / "gate", gateway.world.caller
    async with gateway.client() as client:
        run = await call(client, "mine", gate=str(gate))
    gateway.world.caller = type(mine)(**{**vars(mine), "user": "bob"})
    async with gateway.client() as client:
        refused = await get_run(client, run, 0)
        assert refused.meta[ERROR_KEY]["code"] == "unknown_run"
        theirs = await call(client, "theirs", gate=str(gate))
        gate.touch()
        assert (await finish(client, theirs))["results"]["call"]["name"] == "theirs"
    gateway.world.caller = mine
    async with gateway.client() as client:
        assert (await finish(client, run))["results"]["call"]["name"] == "mine"


@pytest.mark.full
@pytest.mark.parametrize(
    ("tool", "status", "times"), [("count", "unknown", 1), ("look", "succeeded", 2)]
)
def test_a_call_lost_with_its_gateway_is_repeated_only_if_that_is_safe(tool, status, times):
    with counting_world() as world:
        gate = world.installation.home / "gate"
        gateway = start(world)
        arguments = {"name": "lost", "gate": str(gate)}
        result = gateway.call(1, "call_tool", tool=f"ledger:{tool}", arguments=arguments)
        run = result["_meta"][ERROR_KEY]["run_id"]
        eventually(lambda: world.ledger.names("begun") == {"lost": 1})
        gateway.process.kill()
        gateway.process.communicate(timeout=PATIENCE_S)
        gate.touch()
        gateway = start(world)
        eventually(lambda: world.tasks()[run] == {"call": status})
        state = gateway.call(2, "get_run", run_id=run)["structuredContent"]
        assert state["status"] == status
        if status == "unknown":
            assert "only a person may repeat the call" in state["next"]
        assert gateway.end()[0] == 0
        assert world.ledger.names("begun") == {"lost": times}


def start(world: World) -> RawGateway:
    return world.installation.start("--attach", "never", **QUIET, **PATIENT)
