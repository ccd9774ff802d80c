"""Processes that carry out runs against an upstream pool in memory, over a real database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import pytest

from execution import runs as runs_module
from execution.planning import parse
from execution.planning.plan import Plan
from execution.process import background
from execution.process.run_holder import RunHolder
from execution.run_dependencies import RunDependencies
from execution.running import dispatch
from execution.runs import Runs
from execution.workflow import RunOptions
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.sealing import Sealer
from tests.gateway.catalogues import Called, FakeUpstream, catalogue, text_result, tool
from tests.patience import PATIENCE_S

ADMIN = Caller(user="admin", team=None, person=None, scopes=frozenset({"*"}), kind="stdio")
LEASE_S: Final = 10 * PATIENCE_S
"""No process loses its runs for standing still, and what comes of looking for work only after a
third of this comes too late for a test."""

TOOLS = catalogue(
    tool("s:write", definition_hash="w"),
    tool("s:read", definition_hash="r", repeatable=True),
    tool("s:ask", definition_hash="a", approval="always"),
)


def have_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a process that stands still find what it waits for all the same, and in one go."""
    monkeypatch.setattr(runs_module, "APPLY_WAIT_S", PATIENCE_S)
    monkeypatch.setattr(background, "FLUSH_WAIT_S", PATIENCE_S)
    monkeypatch.setattr(dispatch, "PREPARE_BUDGET_S", PATIENCE_S)


def look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have processes look for work and renew their leases ten times a second, however long."""
    monkeypatch.setattr(background, "RENEWALS_PER_LEASE", 10 * LEASE_S)


def end_at_leisure(monkeypatch: pytest.MonkeyPatch, *waits_s: float) -> None:
    """Have a process that ends wait as long as it takes, but for so long the first times.

    First for calls to end by themselves, then for those that were cancelled, then for what is
    still to be written down. What a test holds up is not worth a long wait.
    """
    left, ended = iter(waits_s), RunHolder._wait_until_ended

    async def waited(self: RunHolder, *, wait_s: float) -> None:
        await ended(self, wait_s=next(left, PATIENCE_S))

    monkeypatch.setattr(RunHolder, "_wait_until_ended", waited)


class Gate(FakeUpstream):
    """Servers whose answers wait until a test lets them through."""

    def __init__(self, *held: str) -> None:
        super().__init__(answer=self._answer)
        self.open = asyncio.Event()
        self._held = held

    async def _answer(self, called: Called, _progress: Any) -> Any:
        if called.arguments.get("as") in self._held:
            await self.open.wait()
        return text_result(str(called.arguments.get("as")))

    @property
    def seen(self) -> list[str]:
        """What was called, by the argument that names it."""
        return [str(one.arguments.get("as")) for one in self.calls]

    async def until(self, name: str, times: int = 1) -> None:
        """Wait until a call was made so often."""
        await until(lambda: self.seen.count(name) >= times)


async def until(condition: Callable[[], Any]) -> None:
    """Wait for what another task brings about."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 - what is looked at sets no event
            await asyncio.sleep(0.005)


async def until_stored(condition: Callable[[], Any]) -> None:
    """Wait for what the database is to show."""
    async with asyncio.timeout(PATIENCE_S):
        while not await run_in_database_thread(condition):  # noqa: ASYNC110 - nor does the database
            await asyncio.sleep(0.01)


def planned(*tasks: dict[str, Any]) -> Plan:
    """Plan tasks; each call names its task, and has the tool that writes unless it says."""
    given = [{"tool": "s:write", "arguments": {"as": task["id"]}} | task for task in tasks]
    return Plan(workflow=parse.parse({"tasks": given}), options=RunOptions())


CHAIN = planned({"id": "a"}, {"id": "b", "depends_on": ["a"]}, {"id": "c", "depends_on": ["b"]})


def means(home: Path, sealer: Sealer, upstream: FakeUpstream, **said: Any) -> RunDependencies:
    """Return what runs are carried out with."""
    defaults: dict[str, Any] = {
        "catalogue": lambda: TOOLS,
        "refresh_rights": lambda caller: caller,
        "lease_s": LEASE_S,
        "grace_s": 0.2,
    }
    return RunDependencies(home=home, sealer=sealer, upstream=upstream, **(defaults | said))


@asynccontextmanager
async def process(given: RunDependencies, *, listens: bool = False) -> AsyncIterator[Runs]:
    """Be a process that carries out runs."""
    runs = Runs(given)
    carrying = asyncio.create_task(runs.run())
    listening = asyncio.create_task(runs.make_listener().run()) if listens else None
    try:
        if given.is_executor:
            await until(lambda: runs._process.holder is not None or carrying.done())
        async with asyncio.timeout(PATIENCE_S):
            yield runs
    finally:
        for task in filter(None, (listening, carrying)):
            task.cancel()
            await asyncio.wait([task])
        if not carrying.cancelled() and (error := carrying.exception()):
            raise error


async def ended(runs: Runs, run: UUID, caller: Caller = ADMIN) -> Any:
    """Wait until a run is at rest."""
    return await runs.wait(caller, run, wait_s=PATIENCE_S)
