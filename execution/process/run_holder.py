"""The runs that a process holds: claims them, renews their leases, releases them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import structlog

from execution.call_outcome import SpeculationForm
from execution.changes import RunFenced
from execution.codes import INTERNAL_ERROR
from execution.process import adopt, held_run, steady_clock
from execution.process.adopted_call import AdoptedCall
from execution.process.held_run import CreateRun, HeldRun, RunJournal, count_slots
from execution.process.journal import DatabaseJournal, JournalClosed
from execution.process.progress_relay import ProgressRelay
from execution.process.run_claimer import RunClaimer
from execution.process.run_creation import RunCreation, RunNotCreated
from execution.process.run_slots import SlotGroup, get_slot_group
from execution.process.watchers import RunWatchers
from execution.run_dependencies import (
    RefreshRights,
    RunDependencies,
    retry_until_available,
    run_in_database,
)
from execution.running.executor import Execution
from execution.running.limits import CallSlots
from execution.snapshot import CannotResume, RunSnapshot
from execution.speculation.calls import Speculation, SpeculativeCall
from execution.speculation.provenance import STATED, trace_references
from execution.status import RunStatus
from execution.store import leases
from gateway_project.foundation.caller import Caller

CRASH_REASON: Final = CannotResume(INTERNAL_ERROR, "the gateway failed on this run; see its log")

log = structlog.get_logger(__name__)


class RunHolder:
    """The runs that a process executes; for one event loop.

    Args:
        dependencies: Of this process.
        journal: Records their changes.
        me: Id of this process as an owner.
        watchers: Notified of each run released here.
        reports: Relays progress reports.
    """

    def __init__(
        self,
        dependencies: RunDependencies,
        *,
        journal: DatabaseJournal,
        me: str,
        watchers: RunWatchers,
        reports: ProgressRelay,
    ) -> None:
        self.id = me
        self.claim_wanted = asyncio.Event()
        """Set when there may be runs to claim."""
        self.claim_wanted.set()
        self._dependencies = dependencies
        self._journal = journal
        self._watchers = watchers
        self._reports = reports
        self._call_slots = CallSlots(
            total=dependencies.tasks_at_once, per_server=dependencies.tasks_per_server
        )
        self._runs: dict[UUID, HeldRun] = {}
        self._claimer = RunClaimer(dependencies, me=me)
        self._is_closing = False
        self._may_hold_runs = False

    def has_room(self, caller: Caller) -> bool:
        """Whether a new run of a caller may be executed here at once."""
        return self._has_room(get_slot_group(caller))

    def find_caller(self, run: UUID) -> Caller | None:
        """Return the caller of a run held here; None: not held, or ended."""
        held = self._runs.get(run)
        claim = held.claim if held is not None else None
        return claim.caller if claim is not None else None

    def notify_run(self, run: UUID) -> None:
        """Let a run read its instructions; an unheld one may be claimable."""
        held = self._runs.get(run)
        (self.claim_wanted if held is None else held.instruction_event).set()

    def notify_all(self) -> None:
        """Recheck everything: notifications may have been lost."""
        for run in self._runs:
            self.notify_run(run)
        self.claim_wanted.set()

    def launch(
        self, snapshot: RunSnapshot, creation: RunCreation, adopted: AdoptedCall | None = None
    ) -> None:
        """Create a run and execute it from its start, or from its call in flight."""
        self._start_run_task(
            snapshot.run,
            self._execute_new(snapshot, creation, adopted),
            get_slot_group(snapshot.caller),
            create=creation.create_with_changes,
        )

    def claim_run(self, run: UUID) -> asyncio.Task[bool]:
        """Claim and execute a run; the task returns whether it could be claimed.

        A run whose user has used up their share of this process is left to others.
        """
        held = self._runs.get(run)
        if held is not None and held.task is not None:
            return held.task
        return self._start_run_task(run, self._resume_from_rows(run))

    async def claim_waiting_runs(self) -> None:
        """Claim waiting runs, as far as there is room.

        Raises:
            RunsUnavailable: If the database is unavailable.
        """
        for one in await self._claimer.find_due_runs(self._runs):
            if not self._is_closing:
                self._start_run_task(
                    one.run, self._resume_from_rows(one.run), (one.user, one.team)
                )

    async def renew_leases(self) -> None:
        """Renew leases; stop runs that were taken over or whose callers' rights changed.

        Raises:
            RunsUnavailable: If the database is unavailable.
        """
        held = {run: claim.epoch for run, claim in self._find_claims().items()}
        if not held:
            return
        renewed = await run_in_database(
            leases.renew_leases, self.id, held, lease_s=self._dependencies.lease_s
        )
        await self._drop_taken_over({run: held[run] for run in held.keys() - renewed})
        await self._stop_changed_rights()

    async def close(self) -> bool:
        """Start no more calls, give those in flight a grace period, and release all runs.

        Outcomes received by then are journalled first, if the database is available.

        Returns:
            Whether all runs are known to be released.
        """
        self._is_closing = True
        grace_s = self._dependencies.grace_s
        for held in self._runs.values():
            held.halt()
        await self._wait_until_ended(wait_s=grace_s)
        for held in self._runs.values():
            if held.execution is not None:
                held.execution.abandon_calls()
        await self._wait_until_ended(wait_s=grace_s)
        for _ in range(2):  # first writes, then releases that get no answer
            for held in self._runs.values():
                if held.task is not None:
                    held.task.cancel()
            await self._wait_until_ended(wait_s=grace_s / 2)
        return not (self._runs or self._may_hold_runs)

    async def _wait_until_ended(self, *, wait_s: float) -> None:
        """Wait until nothing is claimed or executed, or the time is up."""
        if tasks := [held.task for held in self._runs.values() if held.task]:
            await asyncio.wait(tasks, timeout=wait_s)

    def _find_claims(self) -> dict[UUID, RunSnapshot]:
        """Return the runs held, as far as this process knows."""
        return {run: held.claim for run, held in self._runs.items() if held.claim}

    async def _drop_taken_over(self, not_renewed: Mapping[UUID, int]) -> None:
        """Drop runs claimed by another process; most others not renewed have just ended here."""
        if not not_renewed:
            return
        lost = await run_in_database(leases.find_taken_over, self.id, not_renewed)
        for run, claim in self._find_claims().items():
            if run in lost and claim.epoch == not_renewed[run]:
                log.warning("run.taken_over", run=str(run))
                self._runs[run].mark_lost()

    async def _stop_changed_rights(self) -> None:
        """Halt runs whose callers' rights have changed, to be claimed anew."""
        executing = [
            (held, held.execution) for held in self._runs.values() if held.execution is not None
        ]
        changed = await run_in_database(
            _find_changed_rights,
            {execution.snapshot.caller for _, execution in executing},
            self._dependencies.refresh_rights,
        )
        for held, execution in executing:
            if execution.snapshot.caller in changed and held.execution is execution:
                held.has_lost_rights = True
                execution.halt()

    def _has_room(self, slot_group: SlotGroup | None) -> bool:
        if self._is_closing:
            return False
        if len(self._runs) < self._claimer.max_per_group:  # fast path, same answer
            return True
        return self._claimer.has_room(count_slots(self._runs.values()), slot_group)

    def _start_run_task(
        self,
        run: UUID,
        work: Coroutine[Any, Any, bool],
        slot_group: SlotGroup | None = None,
        *,
        create: CreateRun | None = None,
    ) -> asyncio.Task[bool]:
        journal = RunJournal(self._journal, self._watchers, create=create)
        held = self._runs[run] = HeldRun(journal=journal, slot_group=slot_group)
        held.task = asyncio.create_task(self._run_guarded(run, work), name=f"run {run}")
        return held.task

    async def _run_guarded(self, run: UUID, work: Coroutine[Any, Any, bool]) -> bool:
        """Run one run's work; an error affects no other run, and is not retried."""
        try:
            return await work
        except asyncio.CancelledError:
            self._may_hold_runs = self._may_hold_runs or not self._runs[run].is_released
            raise
        except Exception:
            # Top of a task. A retry would fail again.
            log.exception("run.crashed", run=str(run))
            await self._fail_crashed(run)
            return True
        finally:
            self._forget_run(run)

    def _forget_run(self, run: UUID) -> None:
        was_crowded = not self._has_room(self._runs[run].slot_group)
        held = self._runs.pop(run)
        if held.instruction_event.is_set() or was_crowded:
            self.claim_wanted.set()
        # Perhaps no other process can claim it.
        if held.has_lost_rights and not self._is_closing:
            self._start_run_task(run, self._resume_from_rows(run), held.slot_group)

    async def _fail_crashed(self, run: UUID) -> None:
        try:
            await self._fail_run(run, CRASH_REASON)
        except Exception:
            log.exception("run.failure_not_recorded", run=str(run))

    async def _fail_run(self, run: UUID, failure: CannotResume) -> bool:
        """Mark a run failed if this process holds or can claim it; return whether it did."""
        failed = await adopt.fail_run(
            run, failure, self._dependencies, me=self.id, dead=self._claimer.dead_owners
        )
        if failed:
            await self._report_released(run, RunStatus.FAILED)
        return failed

    async def _resume_from_rows(self, run: UUID) -> bool:
        if self._is_closing:
            return False
        try:
            adopted = await adopt.adopt_run(
                run, self._dependencies, me=self.id, dead=self._claimer.dead_owners
            )
        except CannotResume as failure:
            return await self._fail_run(run, failure)
        if adopted is None:
            return False
        snapshot, clock = adopted
        if not self._try_admit(run, snapshot.caller):
            log.info("run.lease_released", run=str(run))
            await retry_until_available(leases.release_lease, run, snapshot.epoch)
            self._runs[run].is_released = True
            return False
        return await self._execute(snapshot, clock=clock)

    def _try_admit(self, run: UUID, caller: Caller) -> bool:
        """Whether a claimed run may be executed here; settled if it has a slot group."""
        held, slot_group = self._runs[run], get_slot_group(caller)
        if held.slot_group is None:
            used_slots = count_slots(self._runs.values())
            del used_slots[None]  # runs without a slot group are not settled either
            if not self._claimer.try_admit(used_slots, slot_group):
                return False
            held.slot_group = slot_group
        return True

    async def _execute_new(
        self, snapshot: RunSnapshot, creation: RunCreation, adopted: AdoptedCall | None
    ) -> bool:
        try:
            return await self._execute(
                snapshot,
                clock=steady_clock.make_steady_clock(),
                creation=creation,
                adopted=adopted,
            )
        finally:
            await creation.ensure_settled()
            if adopted is not None and not adopted.is_taken and creation.is_created:
                adopted.sending.cancel()  # nobody waits for it: the run has ended or is lost

    async def _execute(
        self,
        snapshot: RunSnapshot,
        *,
        clock: Callable[[], datetime],
        creation: RunCreation | None = None,
        adopted: AdoptedCall | None = None,
    ) -> bool:
        """Execute a run until it is at rest, and release it."""
        held = self._runs[snapshot.run]
        held.slot_group = get_slot_group(snapshot.caller)
        held.execution = execution = Execution(
            snapshot,
            held_run.build_executor_dependencies(
                self._dependencies,
                snapshot,
                journal=held.journal,
                call_slots=self._call_slots,
                clock=clock,
                reports=self._reports,
                adopted=adopted,
            ),
        )
        if self._is_closing:
            execution.halt()
        if creation is None:
            await held_run.forward_instructions(held, execution, self._dependencies)
        try:
            status = await self._execute_until_rest(held, execution)
        except asyncio.CancelledError:
            if creation is not None:
                await creation.ensure_settled()
            await self._release(held, snapshot, None)
            raise
        await self._release(held, snapshot, status)
        if status is RunStatus.PAUSED and not self._is_closing:
            await call_ahead(self._dependencies.speculation, execution)
        return True

    async def _execute_until_rest(self, held: HeldRun, execution: Execution) -> RunStatus | None:
        """Return the status at which a run came to rest; None: unknown here."""
        run = execution.snapshot.run
        try:
            return await held_run.execute_run(held, execution, self._dependencies)
        except (RunFenced, JournalClosed) as lost:
            log.warning("run.lease_lost", run=str(run), reason=str(lost))
        except RunNotCreated:
            log.info("run.not_created", run=str(run))  # the requester got the reason
        return None

    async def _release(
        self, held: HeldRun, snapshot: RunSnapshot, status: RunStatus | None
    ) -> None:
        held.execution = None  # no instructions are forwarded from now on
        if not held.journal.has_ended:
            # After the release, writes would be refused.
            await self._journal.wait_until_settled(snapshot.run)
            await retry_until_available(leases.release_lease, snapshot.run, snapshot.epoch)
        held.is_released = True
        self._reports.forget(snapshot.run)
        await self._report_released(snapshot.run, status)

    async def _report_released(self, run: UUID, status: RunStatus | None) -> None:
        """Notify watchers and learning that a run was released."""
        self._watchers.notify(run)
        if status is not None and status.is_final and self._dependencies.on_run_ended is not None:
            await self._dependencies.on_run_ended(run)


def _find_changed_rights(callers: Iterable[Caller], refresh_rights: RefreshRights) -> set[Caller]:
    """Return the callers whose rights have changed; blocking."""
    return {caller for caller in callers if _has_changed_rights(caller, refresh_rights)}


def _has_changed_rights(caller: Caller, refresh_rights: RefreshRights) -> bool:
    try:
        return refresh_rights(caller) != caller
    except LookupError:
        return True


async def call_ahead(speculation: Speculation, execution: Execution) -> None:
    """Start the admissible calls of the next layer of a run that rests at a decision point.

    Their results answer the same calls of this run if it goes on soon. The run does not depend on
    them: what may not be made ahead is made when the run goes on.

    Args:
        speculation: Makes the calls.
        execution: Of a run at rest; if it is not at a decision point, nothing is called.
    """
    calls, snapshot = make_calls(execution), execution.snapshot
    if not calls:
        return
    try:
        await speculation.confirm()
        for call in calls:
            reasons = speculation.dispatch(snapshot.task_caller, call)
            log.debug(
                "run.next_call_ahead",
                run=str(snapshot.run),
                tool=call.tool,
                refused=[reason.code.value for reason in reasons],
            )
    except Exception:
        # A run never fails because of what is called ahead of it.
        log.exception("run.next_layer_not_called_ahead", run=str(snapshot.run))


def make_calls(execution: Execution) -> list[SpeculativeCall]:
    """Return the next calls of a run as they may be made ahead, with the origin of each argument.

    The client stated the workflow; what its references stand for came from the servers of the
    tasks that they refer to. The run's id is that of the prediction too.
    """
    return [
        SpeculativeCall(
            prediction=execution.snapshot.run,
            form=SpeculationForm.NEXT_LAYER,
            tool=task.tool,
            arguments=arguments,
            provenance={"": STATED, **trace_references(task, execution.workflow)},
        )
        for task, arguments in execution.list_next_calls()
    ]
