"""Carry out one run in the process of a command, as a gateway would."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final
from uuid import UUID

import structlog

from execution.changes import Event
from execution.planning.plan import Plan
from execution.runs import Runs
from execution.view import ApprovalView, RunView
from gateway_project import flow, wiring
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.config import Config
from gateway_project.foundation.database import close_connections, in_database
from gateway_project.readiness import Gateway, Readiness
from gateway_project.run_face.request import RunRequest
from gateway_project.use_cases import decide_approval

FLUSH_S: Final = 1.0
"""The last events of a run that has come to rest may take so long."""
AGAIN_S: Final = 0.1
"""A run that is not there to be taken is looked at again."""

Started = Callable[[UUID], Awaitable[None]]
Tell = Callable[[Event], None]
Decide = Callable[[ApprovalView], Awaitable[bool | None]]
"""Asks the person at the terminal whether a call may be made; None: they do not say."""

log = structlog.get_logger(__name__)


async def run_here(
    config: Config,
    request: RunRequest,
    *,
    user: str,
    started: Started,
    tell: Tell,
    decide: Decide,
) -> Plan | RunView:
    """Run a workflow, and return how it stands once it is at rest or the time is up.

    With a queue it is workers that run it; what is left when this ends, gateways go on with.

    Args:
        config: Of the installation.
        request: What is to be run.
        user: Name of the user it runs for.
        started: Told once which run it is.
        tell: Told what happens.
        decide: Asked about calls that wait for approval.

    Raises:
        NotReady: If the installation cannot serve.
        Exception: As `flow.run_workflow`.
    """
    readiness = Readiness()
    wired = asyncio.create_task(
        wiring.run(readiness, config=config, user=user, kind="command", claims=False)
    )
    try:
        gateway = await _gateway(readiness, wired)
        return await _served(gateway, request, started, tell, decide)
    finally:
        wired.cancel()
        await asyncio.wait([wired])
        await close_connections()


async def _gateway(readiness: Readiness, wired: asyncio.Task[None]) -> Gateway:
    """Return what to run with, or say why there is none."""
    serving = asyncio.create_task(readiness.gateway())
    try:
        await asyncio.wait([serving, wired], return_when=asyncio.FIRST_COMPLETED)
        if wired.done():
            wired.result()
        return await serving
    finally:
        serving.cancel()


async def _served(
    gateway: Gateway, request: RunRequest, started: Started, tell: Tell, decide: Decide
) -> Plan | RunView:
    effects, caller = gateway.effects, gateway.caller
    told = 0

    def counted(event: Event) -> None:
        nonlocal told
        told = event.seq
        tell(event)

    named: set[UUID] = set()

    @asynccontextmanager
    async def watch(run: UUID) -> AsyncIterator[None]:
        if run not in named:
            named.add(run)
            await started(run)
        async with _told(effects.runs, caller, run, counted, after=told):
            yield

    view = await flow.run_workflow(effects, caller, request, watch=watch)
    while isinstance(view, RunView) and view.pending:
        if not await _decided(caller, view, decide):
            break
        view = await flow.get_run(
            effects, caller, str(view.id), wait_s=request.wait_s, watch=watch
        )
    return view


async def _decided(caller: Caller, view: RunView, decide: Decide) -> bool:
    decided = False
    for approval in view.pending:
        approve = await decide(approval)
        if approve is None:
            break
        await in_database(
            decide_approval.decide, caller, approval.id, approve=approve, via="command"
        )
        decided = True
        if not approve:  # others may wait no more
            break
    return decided


@asynccontextmanager
async def _told(
    runs: Runs, caller: Caller, run: UUID, tell: Tell, *, after: int
) -> AsyncIterator[None]:
    """Have a run carried out here if nobody does, and told of, while it is waited for."""
    beside = [
        asyncio.create_task(_follow(runs, caller, run, tell, after=after)),
        asyncio.create_task(_taken(runs, run)),
    ]
    try:
        yield
        await asyncio.wait(beside, timeout=FLUSH_S)
    finally:
        for task in beside:
            task.cancel()
        await asyncio.wait(beside)
        for task in beside:
            if not task.cancelled() and (error := task.exception()) is not None:
                log.warning("run.not_followed", run=str(run), reason=repr(error))


async def _taken(runs: Runs, run: UUID) -> None:
    """Take a run that was started before this process could hold any, or was let go of since."""
    while runs.executes:
        if await runs.take(run):
            return
        await asyncio.sleep(AGAIN_S)


async def _follow(runs: Runs, caller: Caller, run: UUID, tell: Tell, *, after: int) -> None:
    async for event in runs.follow(caller, run, after=after):
        tell(event)
