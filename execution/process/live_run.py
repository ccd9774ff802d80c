"""One run that this process executes: its parts, and the forwarding of instructions."""

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
from execution.call import CallOutcome
from execution.changes import Journal, RunChanges, RunFenced
from execution.control import Action
from execution.planning import parse
from execution.process import load_results, recover, steady_clock
from execution.process.run_journal import RunJournal
from execution.process.run_slots import get_slot_group
from execution.run_dependencies import RunDependencies, retry_until_available
from execution.running.executor import Execution
from execution.running.limits import CallSlots
from execution.running.snapshot import ExecutorDependencies, Invocation, ignore_progress
from execution.status import RunStatus
from execution.store import commands, decisions
from execution.store.commands import PendingCommand
from execution.store.decisions import ApprovalDecision
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.task_group import TaskGroup
from tools.upstream.request import UpstreamRequest

BATCH_WINDOW_S: Final = 0.004
"""About the duration of a write."""

log = structlog.get_logger(__name__)


@dataclass(eq=False, kw_only=True)
class LiveRun:
    """A run that this process holds.

    Attributes:
        caller: Caller the run acts for.
        epoch: Epoch of the claim.
        execution: Executes it.
        journal: Records its changes; knows whether it has ended.
        instruction_event: Set when there may be new instructions.
        seen_instructions: Commands and approvals already forwarded.
        is_lost: Whether another process has claimed it.
    """

    caller: Caller
    epoch: int
    execution: Execution
    journal: RunJournal
    instruction_event: asyncio.Event = field(default_factory=asyncio.Event)
    seen_instructions: set[int | UUID] = field(default_factory=set)
    is_lost: bool = False

    def mark_lost(self) -> None:
        """Stop, and cancel its calls: another process has claimed it."""
        self.execution.halt()
        self.is_lost = True
        self.instruction_event.set()


def build_executor_dependencies(
    dependencies: RunDependencies,
    caller: Caller,
    run: UUID,
    *,
    journal: Journal,
    limits: CallSlots,
    on_progress: Callable[[str, int, float, float | None, str | None], None] = ignore_progress,
) -> ExecutorDependencies:
    """Build the executor's dependencies for a caller's run."""

    def prepare(tool: str, arguments: Mapping[str, Any]) -> call.PreparedCall:
        return call.prepare(
            UpstreamRequest.to_call(tool, arguments),
            caller=caller,
            catalogue=dependencies.catalogue(),
            digest=dependencies.sealer.digest,
        )

    return ExecutorDependencies(
        prepare=prepare,
        invoke=lambda invocation: _make_call(dependencies, caller, invocation),
        journal=journal,
        call_slots=limits,
        clock=steady_clock.make_steady_clock(),
        reload_results=partial(load_results.load_result_roots, run, sealer=dependencies.sealer),
        on_progress=on_progress,
        batch_window_s=BATCH_WINDOW_S,
        slot_group=get_slot_group(caller),
    )


async def _make_call(
    dependencies: RunDependencies, caller: Caller, invocation: Invocation
) -> CallOutcome:
    async def report_progress(progress: float, total: float | None, message: str | None) -> None:
        invocation.on_progress(progress, total, message)

    return await call.call(
        UpstreamRequest.to_call(
            invocation.tool,
            invocation.arguments,
            timeout_s=invocation.timeout_s,
            progress=report_progress,
        ),
        caller=caller,
        catalogue=dependencies.catalogue(),
        upstream=dependencies.upstream,
        grant=invocation.grant,
        digest=dependencies.sealer.digest,
        on_retry=invocation.on_retry,
        latest=dependencies.catalogue,
    )


async def execute_run(live: LiveRun, run: UUID, dependencies: RunDependencies) -> RunStatus:
    """Execute a run until it is at rest, forwarding instructions meanwhile.

    Raises:
        RunFenced: If another process has claimed it.
    """
    async with TaskGroup() as group:
        listening = group.create_task(
            _watch_instructions(live, run, dependencies), name=f"told {run}"
        )
        status = await live.execution.run()
        listening.cancel()
    return status


async def _watch_instructions(live: LiveRun, run: UUID, dependencies: RunDependencies) -> None:
    while True:
        await live.instruction_event.wait()
        live.instruction_event.clear()
        if live.is_lost:
            raise RunFenced(run)
        await forward_instructions(live, run, dependencies)


async def forward_instructions(live: LiveRun, run: UUID, dependencies: RunDependencies) -> None:
    """Forward new decisions and commands to a run, each once and in order."""
    for decision in await retry_until_available(decisions.load_decisions, run):
        if decision.approval not in live.seen_instructions:
            live.seen_instructions.add(decision.approval)
            forward_decision(live.execution, decision)
    for command in await retry_until_available(
        commands.load_open_commands, run, sealer=dependencies.sealer
    ):
        if command.id not in live.seen_instructions:
            live.seen_instructions.add(command.id)
            await _try_forward_command(live, run, command)


async def _try_forward_command(live: LiveRun, run: UUID, command: PendingCommand) -> None:
    try:
        forward_command(live.execution, command)
    except parse.InvalidWorkflow as error:
        refused = RunChanges(
            run=run, epoch=live.epoch, applied_commands=((command.id, error.code),)
        )
        with suppress(RunFenced):  # it ended meanwhile, or its own next write will be fenced
            await live.journal.record(refused)


def forward_decision(execution: Execution, decision: ApprovalDecision) -> None:
    """Forward an approval decision."""
    execution.apply_decision(
        decision.task,
        decision.item,
        decision.approval,
        approved=decision.status == "approved",
        code=recover.REFUSAL_CODES.get(decision.status, ""),
    )


def forward_command(execution: Execution, command: PendingCommand) -> None:
    """Forward a command.

    Raises:
        InvalidWorkflow: If it is a replan with an invalid workflow.
    """
    match Action(command.action):
        case Action.PAUSE:
            execution.pause(command=command.id)
        case Action.RESUME:
            rerun_unknown = command.detail.get("rerun_unknown") is True
            execution.resume(command=command.id, rerun_unknown=rerun_unknown)
        case Action.CONTINUE:
            execution.start_next_layer(command=command.id)
        case Action.ABORT:
            execution.abort(command=command.id)
        case Action.REPLAN:
            begun = execution.workflow.by_id
            execution.replan(parse.parse(command.workflow, known=begun), command=command.id)
