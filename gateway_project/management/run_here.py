"""Execute one run in the process of a command, like a gateway."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final
from uuid import UUID

import structlog

from execution.changes import RunEvent
from execution.planning.plan import Plan
from execution.runs import Runs
from execution.view import ApprovalView, RunView
from gateway_project import flow, wiring
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.config import Config
from gateway_project.foundation.database import close_connections, run_in_database_thread
from gateway_project.readiness import Gateway, Readiness
from gateway_project.runs.request import RunRequest
from gateway_project.use_cases import decide_approval
from gateway_project.use_cases.decide_approval import SecondPersonRequired

FLUSH_TIMEOUT_S: Final = 1.0
"""Longest wait for the last events of a run at rest."""
TAKE_RETRY_S: Final = 0.1
"""Interval between attempts to claim a run."""

OnStarted = Callable[[UUID], Awaitable[None]]
OnEvent = Callable[[RunEvent], None]
DecideApproval = Callable[[ApprovalView], Awaitable[bool | None]]
"""Asks the user at the terminal whether to approve a call; None: no decision."""

log = structlog.get_logger(__name__)


async def run_locally(
    config: Config,
    request: RunRequest,
    *,
    user: str,
    started: OnStarted,
    tell: OnEvent,
    decide: DecideApproval,
) -> Plan | RunView:
    """Run a workflow and return its state once it is at rest or the wait is over.

    With a queue, workers execute it. If this process ends first, gateways continue the run.

    Args:
        config: The installation's configuration.
        request: The workflow and its options.
        user: Name of the user whose run it is.
        started: Called once with the id of the run.
        tell: Receives the run's events.
        decide: Decides on pending approvals.

    Raises:
        NotReady: If the installation cannot serve.
        Exception: Whatever `flow.run_workflow` raises.
    """
    readiness = Readiness()
    wiring_task = asyncio.create_task(
        wiring.run_gateway(readiness, config=config, user=user, kind="command", claims=False)
    )
    try:
        gateway = await _wait_for_gateway(readiness, wiring_task)
        return await _run_and_decide(gateway, request, started, tell, decide)
    finally:
        wiring_task.cancel()
        await asyncio.wait([wiring_task])
        await close_connections()


async def _wait_for_gateway(readiness: Readiness, wiring_task: asyncio.Task[None]) -> Gateway:
    """Return the gateway, or raise why it cannot start."""
    ready = asyncio.create_task(readiness.wait_for_gateway())
    try:
        await asyncio.wait([ready, wiring_task], return_when=asyncio.FIRST_COMPLETED)
        if wiring_task.done():
            wiring_task.result()
        return await ready
    finally:
        ready.cancel()


async def _run_and_decide(
    gateway: Gateway,
    request: RunRequest,
    started: OnStarted,
    tell: OnEvent,
    decide: DecideApproval,
) -> Plan | RunView:
    effects, caller = gateway.effects, gateway.caller
    last_seq = 0

    def remember_and_forward(event: RunEvent) -> None:
        nonlocal last_seq
        last_seq = event.seq
        tell(event)

    announced: set[UUID] = set()

    @asynccontextmanager
    async def watch(run: UUID) -> AsyncIterator[None]:
        if run not in announced:
            announced.add(run)
            await started(run)
        async with _follow_while_waiting(
            effects.runs, caller, run, remember_and_forward, after=last_seq
        ):
            yield

    view = await flow.run_workflow(effects, caller, request, watch=watch)
    while isinstance(view, RunView) and view.pending_approvals:
        if not await _decide_pending(caller, view, decide):
            break
        view = await flow.get_run(
            effects, caller, str(view.id), wait_s=request.wait_s, watch=watch
        )
    return view


async def _decide_pending(caller: Caller, view: RunView, decide: DecideApproval) -> bool:
    decided = False
    for approval in view.pending_approvals:
        approve = await decide(approval)
        if approve is None:
            break
        try:
            await run_in_database_thread(
                decide_approval.decide_approval,
                caller,
                approval.id,
                approve=approve,
                via="command",
            )
        except SecondPersonRequired:  # it waits for somebody else
            break
        decided = True
        if not approve:  # a rejection may settle the others
            break
    return decided


@asynccontextmanager
async def _follow_while_waiting(
    runs: Runs, caller: Caller, run: UUID, tell: OnEvent, *, after: int
) -> AsyncIterator[None]:
    """Execute a run here if no other process does, and forward its events, while waiting."""
    background = [
        asyncio.create_task(_forward_events(runs, caller, run, tell, after=after)),
        asyncio.create_task(_take_run(runs, run)),
    ]
    try:
        yield
        await asyncio.wait(background, timeout=FLUSH_TIMEOUT_S)
    finally:
        for task in background:
            task.cancel()
        await asyncio.wait(background)
        for task in background:
            if not task.cancelled() and (error := task.exception()) is not None:
                log.warning("run.follow_failed", run=str(run), reason=repr(error))


async def _take_run(runs: Runs, run: UUID) -> None:
    """Claim and execute a run that no process holds, as soon as this one can."""
    while runs.is_executor:
        if await runs.claim_and_execute(run):
            return
        await asyncio.sleep(TAKE_RETRY_S)


async def _forward_events(
    runs: Runs, caller: Caller, run: UUID, tell: OnEvent, *, after: int
) -> None:
    async for event in runs.follow_events(caller, run, after=after):
        tell(event)
