"""One run that this process carries out: what it is made of, and what it is told meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final
from uuid import UUID

import structlog

from execution import call
from execution.call import Outcome, Request
from execution.changes import Changes, Fenced, Journal
from execution.control import Action
from execution.planning import parse
from execution.process import recall, recover, steady_clock
from execution.process.places import whose
from execution.process.run_journal import RunJournal
from execution.run_means import RunMeans, at_last
from execution.running.executor import Execution
from execution.running.limits import Limits
from execution.running.standing import Invocation, Means, unseen
from execution.status import RunStatus
from execution.store import commands, decisions
from execution.store.commands import Command
from execution.store.decisions import Decision
from gateway_project.foundation.caller import Caller

GATHER_S: Final = 0.004
"""About what a write takes."""

log = structlog.get_logger(__name__)


@dataclass(eq=False, kw_only=True)
class Live:
    """A run that this process holds.

    Attributes:
        caller: Who it runs for.
        epoch: Of the hold.
        execution: Carries it on.
        journal: Where it is written down; knows whether it has ended.
        told: Set when it may have been told something.
        heard: Commands and approvals that it has been told of already.
        is_lost: Whether another process has taken it over.
    """

    caller: Caller
    epoch: int
    execution: Execution
    journal: RunJournal
    told: asyncio.Event = field(default_factory=asyncio.Event)
    heard: set[int | UUID] = field(default_factory=set)
    is_lost: bool = False

    def lose(self) -> None:
        """Let go of it, and cancel its calls: another process has taken it over."""
        self.execution.halt()
        self.is_lost = True
        self.told.set()


def executor_means(
    means: RunMeans,
    caller: Caller,
    run: UUID,
    *,
    journal: Journal,
    limits: Limits,
    on_progress: Callable[[str, int, float, float | None, str | None], None] = unseen,
) -> Means:
    """Return what carries on a run of a caller; for the rest, see `Means`."""

    def prepare(tool: str, arguments: Mapping[str, Any]) -> call.Prepared:
        return call.prepare(
            Request(tool=tool, arguments=arguments),
            caller=caller,
            catalogue=means.catalogue(),
            digest=means.sealer.digest,
        )

    return Means(
        prepare=prepare,
        invoke=lambda invocation: _invoke(means, caller, invocation),
        journal=journal,
        limits=limits,
        clock=steady_clock.clock(),
        recall=partial(recall.roots, run, sealer=means.sealer),
        on_progress=on_progress,
        gather_s=GATHER_S,
        whose=whose(caller),
    )


async def _invoke(means: RunMeans, caller: Caller, invocation: Invocation) -> Outcome[Any]:
    async def told(progress: float, total: float | None, message: str | None) -> None:
        invocation.on_progress(progress, total, message)

    return await call.call(
        Request(
            tool=invocation.tool,
            arguments=invocation.arguments,
            timeout_s=invocation.timeout_s,
            progress=told,
        ),
        caller=caller,
        catalogue=means.catalogue(),
        upstream=means.upstream,
        leave=invocation.leave,
        digest=means.sealer.digest,
        on_retry=invocation.on_retry,
        latest=means.catalogue,
    )


async def carry_out(live: Live, run: UUID, means: RunMeans) -> RunStatus:
    """Carry a run on until it is at rest, handing on what it is told meanwhile.

    Raises:
        ExceptionGroup: With `Fenced`, if another process has taken it over.
    """
    async with asyncio.TaskGroup() as group:
        listening = group.create_task(_listen(live, run, means), name=f"told {run}")
        status = await live.execution.run()
        listening.cancel()
    return status


async def _listen(live: Live, run: UUID, means: RunMeans) -> None:
    while True:
        await live.told.wait()
        live.told.clear()
        if live.is_lost:
            raise Fenced(run)
        await tell(live, run, means)


async def tell(live: Live, run: UUID, means: RunMeans) -> None:
    """Hand on to a run what it was told and what was decided, each once and in order."""
    for decision in await at_last(decisions.of, run):
        if decision.approval not in live.heard:
            live.heard.add(decision.approval)
            decide(live.execution, decision)
    for command in await at_last(commands.open, run, sealer=means.sealer):
        if command.id not in live.heard:
            live.heard.add(command.id)
            await _obey(live, run, command)


async def _obey(live: Live, run: UUID, command: Command) -> None:
    try:
        obey(live.execution, command)
    except parse.InvalidWorkflow as error:
        refused = Changes(run=run, epoch=live.epoch, applied=((command.id, error.code),))
        with suppress(Fenced):  # it ended meanwhile; or its own next write will find that out
            await live.journal.record(refused)


def decide(execution: Execution, decision: Decision) -> None:
    """Hand a decision about a call on."""
    execution.decided(
        decision.task,
        decision.item,
        decision.approval,
        approved=decision.status == "approved",
        code=recover.REFUSED.get(decision.status, ""),
    )


def obey(execution: Execution, command: Command) -> None:
    """Hand a command on.

    Raises:
        InvalidWorkflow: If it is to replan, and the workflow is none.
    """
    match Action(command.action):
        case Action.PAUSE:
            execution.pause(command=command.id)
        case Action.RESUME:
            again = command.detail.get("rerun_unknown") is True
            execution.resume(command=command.id, rerun_unknown=again)
        case Action.CONTINUE:
            execution.go_on(command=command.id)
        case Action.ABORT:
            execution.abort(command=command.id)
        case Action.REPLAN:
            begun = execution.workflow.by_id
            execution.replan(parse.parse(command.workflow, known=begun), command=command.id)
