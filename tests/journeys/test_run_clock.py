"""A run goes by no clock that somebody may set, but for the times that it shows."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from mcp import Client

from execution import runs as runs_module
from execution.models import ExecutionEvent, WorkflowExecution
from execution.process import steady_clock
from execution.store import approvals, leases
from gateway_project.foundation.database import run_in_database_thread
from tests.execution.run_setup import look_often, until, until_stored
from tests.journeys.served_runs import WAIT_S, Served, chained, listed, run, served, task
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("runs_db")]

TOOLS = listed(["legacy:hang", "counting:count"], asks=["counting:count_once"])


class Clock(datetime):
    """A clock of this machine that somebody sets."""

    wrong_by = timedelta()

    @classmethod
    def now(cls, tz=None):
        return datetime.now(tz) + cls.wrong_by


@pytest.fixture
def clock(monkeypatch) -> type[Clock]:
    for module in (leases, runs_module, steady_clock):
        monkeypatch.setattr(module, "datetime", Clock)
    monkeypatch.setattr(Clock, "wrong_by", timedelta())
    return Clock


@pytest.fixture
async def gateway(home, sealer, monkeypatch) -> AsyncIterator[Served]:
    """Give its processes leases so long that none lapses but by what a clock shows."""
    look_often(monkeypatch)
    async with served(home, sealer, TOOLS) as made:
        yield made


async def test_a_clock_that_jumps_by_a_day_forth_and_back_moves_nothing(gateway, clock, tmp_path):
    begun, gates = gateway.ledger.names, [tmp_path / f"gate{number}" for number in range(2)]
    tasks = chained("run")
    for one, gate in zip(tasks, gates, strict=False):
        one["arguments"]["gate"] = str(gate)
    async with gateway.process() as runs, gateway.client() as client:
        gateway.world.runs = runs
        waiting = await run(client, task("ask", "counting:count_once", name="ask"))
        assert waiting["status"] == "waiting"
        going = await run(client, *tasks, deadline_s=10 * PATIENCE_S, wait_s=0)
        await until(lambda: begun("begun")["run/t0"])
        clock.wrong_by = timedelta(days=1)
        await renewed(going["run_id"])
        late = await run(client, task("a", "legacy:hang"), deadline_s=0.7, wait_s=0)
        gates[0].touch()
        await until(lambda: begun("begun")["run/t1"])
        clock.wrong_by = timedelta(days=-1)
        await renewed(going["run_id"])
        gates[1].touch()
        state = await at_rest(client, going)
        assert state["status"] == "succeeded", state
        assert (await at_rest(client, late))["error"]["code"] == "deadline_exceeded"
        (pending,) = waiting["pending_approvals"]
        await decide(pending["id"])
        assert (await at_rest(client, waiting))["status"] == "succeeded"
    assert set(begun("begun").values()) == {1}
    kinds, times = await happened(going["run_id"])
    assert "run_adopted" not in kinds
    assert max(times) - min(times) < timedelta(hours=1)
    _, times = await happened(waiting["run_id"])
    assert max(times) - min(times) > timedelta(hours=23), "the clock that jumped was not looked at"


async def at_rest(client: Client, started: dict[str, Any]) -> dict[str, Any]:
    """Wait for a run and return how it stands."""
    result = await client.call_tool("get_run", {"run_id": started["run_id"], "wait_s": WAIT_S})
    state: dict[str, Any] = result.structured_content
    return state


async def renewed(run: str) -> None:
    """Wait until the lease of a run that goes on was renewed, wholly after this was asked."""
    leased = WorkflowExecution.objects.filter(pk=run)
    for _ in range(2):  # one renewal may have been under way
        before = (await run_in_database_thread(leased.get)).lease_until
        assert before is not None
        await until_stored(leased.exclude(lease_until=before).exists)


async def happened(run: str) -> tuple[tuple[str, ...], tuple[datetime, ...]]:
    """Return the kinds and times of a run's events."""
    rows = ExecutionEvent.objects.filter(run=run).values_list("kind", "at")
    kinds, times = zip(*await run_in_database_thread(lambda: list(rows)), strict=True)
    return kinds, times


async def decide(approval: str) -> None:
    """Approve a call as a person does in the console."""
    await run_in_database_thread(
        approvals.decide_approval,
        UUID(approval),
        approve=True,
        by="admin",
        via="console",
        allowed=lambda _team, _user: True,
    )
