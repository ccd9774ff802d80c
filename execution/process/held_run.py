"""One run of this process, from its creation or the attempt to claim it until its release."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Final
from uuid import UUID

from execution import call
from execution.call import CallOutcome
from execution.changes import Journal, RunChanges, RunFenced, TaskKey
from execution.codes import APPROVAL_EXPIRED, APPROVAL_REJECTED
from execution.control import Action
from execution.planning import parse
from execution.process.adopted_call import AdoptedCall
from execution.process.journal import DatabaseJournal
from execution.process.progress_relay import ProgressRelay
from execution.process.run_slots import SlotGroup, get_slot_group
from execution.process.watchers import RunWatchers
from execution.run_dependencies import RunDependencies, retry_until_available
from execution.running import result_cache
from execution.running.dependencies import ExecutorDependencies, Invocation
from execution.running.executor import Execution
from execution.running.in_flight import load_roots
from execution.running.limits import CallSlots
from execution.running.results import ResultRoot
from execution.snapshot import RunSnapshot
from execution.status import RunStatus
from execution.store import approvals, commands, payloads
from execution.store.approvals import ApprovalDecision
from execution.store.commands import PendingCommand
from gateway_project.foundation.sealing import Sealer
from gateway_project.foundation.task_group import TaskGroup
from tools.upstream.request import UpstreamRequest

_REFUSAL_CODES: Final = {"rejected": APPROVAL_REJECTED, "expired": APPROVAL_EXPIRED}
"""Error codes of calls by the status of their approval."""
BATCH_BYTES: Final = 16 * 1024 * 1024
"""JSON bytes loaded together, except for a single larger result; whole before it is reduced."""


CreateRun = Callable[[RunChanges], Awaitable[None]]


@dataclass(eq=False, kw_only=True)
class HeldRun:
    """A run that this process is creating or claiming, executes, or has just released.

    Attributes:
        journal: Records its changes; knows whether it exists and has not ended.
        slot_group: Whose share it counts against; None: not known yet.
        task: Creates or claims it, and executes it; returns whether it could be claimed.
        execution: Executes it; None before the claim and after the release.
        instruction_event: Set when there may be new instructions.
        seen_instructions: Commands and approvals already forwarded.
        is_lost: Whether another process has claimed it.
        is_released: Whether its release is confirmed.
        has_lost_rights: Whether its caller's rights have changed, so that it must be claimed anew.
    """

    journal: RunJournal
    slot_group: SlotGroup | None = None
    task: asyncio.Task[bool] | None = None
    execution: Execution | None = None
    instruction_event: asyncio.Event = field(default_factory=asyncio.Event)
    seen_instructions: set[int | UUID] = field(default_factory=set)
    is_lost: bool = False
    is_released: bool = False
    has_lost_rights: bool = False

    @property
    def claim(self) -> RunSnapshot | None:
        """The run as claimed; None: this process does not hold it, as far as it knows."""
        if self.execution is None or not self.journal.is_held:
            return None
        return self.execution.snapshot

    def halt(self) -> None:
        """Start no more calls."""
        if self.execution is not None:
            self.execution.halt()

    def mark_lost(self) -> None:
        """Stop, and cancel its calls: another process has claimed it."""
        self.halt()
        self.is_lost = True
        self.instruction_event.set()


def count_slots(runs: Iterable[HeldRun]) -> Counter[SlotGroup | None]:
    """Return the slots that runs take, by group; None: group not known yet."""
    return Counter(held.slot_group for held in runs)


def build_executor_dependencies(  # noqa: PLR0913 - collaborators, and what one run adds
    dependencies: RunDependencies,
    snapshot: RunSnapshot,
    *,
    journal: Journal,
    call_slots: CallSlots,
    clock: Callable[[], datetime],
    reports: ProgressRelay,
    adopted: AdoptedCall | None = None,
) -> ExecutorDependencies:
    """Build the dependencies with which a run is executed.

    Args:
        dependencies: Of this process.
        snapshot: The run as claimed.
        journal: Records its changes.
        call_slots: Limits calls.
        clock: Current time.
        reports: Relays progress; a call asks its server for it only while somebody follows.
        adopted: The run's call, if it is in flight already; it needs no slot.
    """
    caller = snapshot.task_caller

    def prepare(tool: str, arguments: Mapping[str, Any]) -> call.PreparedCall:
        if adopted is not None and not adopted.is_taken:
            return adopted.prepared
        return call.prepare(
            UpstreamRequest.to_call(tool, arguments),
            caller=caller,
            catalogue=dependencies.catalogue(),
            digest=dependencies.sealer.digest,
        )

    return ExecutorDependencies(
        prepare=prepare,
        invoke=lambda invocation: _make_call(
            dependencies, snapshot, invocation, reports, adopted=adopted
        ),
        journal=journal,
        call_slots=call_slots if adopted is None else CallSlots(total=1, per_server=1),
        clock=clock,
        reload_results=partial(load_result_roots, snapshot.run, sealer=dependencies.sealer),
        slot_group=get_slot_group(caller),
        is_sent=adopted is not None,
    )


async def _make_call(
    dependencies: RunDependencies,
    snapshot: RunSnapshot,
    invocation: Invocation,
    reports: ProgressRelay,
    *,
    adopted: AdoptedCall | None,
) -> CallOutcome:
    async def report_progress(progress: float, total: float | None, message: str | None) -> None:
        reports.publish(snapshot.run, *invocation.key, progress, total, message)

    if adopted is not None and not adopted.is_taken:
        return await adopted.conclude(report_progress)
    return await call.call(
        UpstreamRequest.to_call(
            invocation.tool,
            invocation.arguments,
            timeout_s=invocation.timeout_s,
            progress=report_progress if reports.is_followed(snapshot.run) else None,
        ),
        caller=snapshot.task_caller,
        catalogue=dependencies.catalogue(),
        upstream=dependencies.upstream,
        grant=invocation.grant,
        digest=dependencies.sealer.digest,
        on_retry=invocation.on_retry,
        latest=dependencies.catalogue,
        on_ended=dependencies.on_call_ended,
        answer=partial(dependencies.speculation.answer, is_fresh=False),
    )


async def execute_run(
    held: HeldRun, execution: Execution, dependencies: RunDependencies
) -> RunStatus:
    """Execute a run until it is at rest, forwarding instructions meanwhile.

    Raises:
        RunFenced: If another process has claimed it.
    """
    async with TaskGroup() as group:
        listening = group.create_task(
            _watch_instructions(held, execution, dependencies),
            name=f"instructions of run {execution.snapshot.run}",
        )
        status = await execution.run()
        listening.cancel()
    return status


async def _watch_instructions(
    held: HeldRun, execution: Execution, dependencies: RunDependencies
) -> None:
    while True:
        await held.instruction_event.wait()
        held.instruction_event.clear()
        if held.is_lost:
            raise RunFenced(execution.snapshot.run)
        await forward_instructions(held, execution, dependencies)


async def forward_instructions(
    held: HeldRun, execution: Execution, dependencies: RunDependencies
) -> None:
    """Forward new decisions and commands to a run, each once and in order.

    What was called ahead of it is discarded if it does not go on as planned.
    """
    run, sealer = execution.snapshot.run, dependencies.sealer
    for decision in await retry_until_available(approvals.load_decisions, run):
        if decision.approval not in held.seen_instructions:
            held.seen_instructions.add(decision.approval)
            _forward_decision(execution, decision)
    for command in await retry_until_available(commands.load_open_commands, run, sealer=sealer):
        if command.id not in held.seen_instructions:
            held.seen_instructions.add(command.id)
            if Action(command.action) in (Action.ABORT, Action.REPLAN):
                dependencies.speculation.discard_prediction(run)
            try:
                _forward_command(execution, command)
            except parse.InvalidWorkflow as error:
                await _refuse_command(held.journal, execution.snapshot, command, error.code)


async def _refuse_command(
    journal: Journal, snapshot: RunSnapshot, command: PendingCommand, code: str
) -> None:
    changes = RunChanges(snapshot.run, snapshot.epoch, applied_commands=((command.id, code),))
    with suppress(RunFenced):  # it ended meanwhile, or its own next write will be fenced
        await journal.record(changes)


def _forward_decision(execution: Execution, decision: ApprovalDecision) -> None:
    """Forward an approval decision."""
    execution.apply_decision(
        decision.task,
        decision.item,
        decision.approval,
        approved=decision.status == "approved",
        code=_REFUSAL_CODES.get(decision.status, ""),
    )


def _forward_command(execution: Execution, command: PendingCommand) -> None:
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
            execution.resume(command=command.id)
        case Action.ABORT:
            execution.abort(command=command.id)
        case Action.REPLAN:
            begun = execution.workflow.by_id
            execution.replan(parse.parse(command.workflow, known=begun), command=command.id)


async def load_result_roots(
    run: UUID, tasks: Collection[str], *, sealer: Sealer
) -> Mapping[TaskKey, ResultRoot]:
    """Return the result roots of tasks, items included.

    A task whose results do not fit is loaded no further: a root with an excessive size marks it as
    too large.

    Raises:
        UnsealingFailed: If no key opens a result.
    """
    found: dict[TaskKey, ResultRoot] = {}
    sizes: Counter[str] = Counter()
    too_large: set[str] = set()
    waiting = await retry_until_available(payloads.load_result_sizes, run, tasks)
    while waiting := [entry for entry in waiting if entry[0][0] not in too_large]:
        batch = _select_batch(waiting)
        del waiting[: len(batch)]
        raw_results = await retry_until_available(payloads.load_results, run, batch, sealer=sealer)
        for key, root in (await load_roots(raw_results)).items():
            task = key[0]
            if task in too_large:
                continue
            sizes[task] += root.size_bytes
            found[key] = root
            if sizes.total() > result_cache.MAX_BYTES:
                too_large.add(task)
                del sizes[task]
                found = {other: entry for other, entry in found.items() if other[0] != task}
                found[key] = ResultRoot(None, result_cache.MAX_BYTES + 1)
    return found


def _select_batch(waiting: list[tuple[TaskKey, int]]) -> list[TaskKey]:
    """Return the first keys whose results fit a batch; at least one."""
    size = 0
    for number, (_, result_bytes) in enumerate(waiting):
        size += result_bytes
        if size > BATCH_BYTES and number:
            return [key for key, _ in waiting[:number]]
    return [key for key, _ in waiting]


class RunJournal:
    """Journals one run, notifies local watchers, and notes its end.

    Args:
        journal: Does the writing.
        watchers: Local watchers, besides those the database notifies.
        create: Creates the run together with its first changes; None: it exists.
    """

    def __init__(
        self, journal: DatabaseJournal, watchers: RunWatchers, *, create: CreateRun | None = None
    ) -> None:
        self.has_ended = False
        """Whether its end is durable; then nobody holds it."""
        self.is_created = create is None
        """Whether it exists."""
        self._journal = journal
        self._watchers = watchers
        self._create_run = create

    @property
    def is_held(self) -> bool:
        """Whether this process holds the run, as far as it knows."""
        return self.is_created and not self.has_ended

    async def record(self, changes: RunChanges) -> None:
        """Return once the changes are durable; as in `execution.changes.Journal`.

        Raises:
            RunNotCreated: If creation failed, or an earlier request created it.
        """
        if self._create_run is not None:
            create, self._create_run = self._create_run, None
            await create(changes)
            self.is_created = True
        else:
            await self._journal.record(changes)
        is_end = changes.status is not None and changes.status.is_final
        # An entry after the end may be acknowledged as written with it.
        self.has_ended = self.has_ended or is_end
        self._watchers.notify(changes.run)
