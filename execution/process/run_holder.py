"""The runs that a process holds: claims them, renews their leases, releases them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import structlog

from execution.codes import INTERNAL_ERROR
from execution.process import adopt, steady_clock
from execution.process.claimed_runs import ClaimedRun, ClaimedRuns
from execution.process.journal import DatabaseJournal
from execution.process.progress_relay import ProgressRelay
from execution.process.run_claimer import RunClaimer
from execution.process.run_creation import RunCreation
from execution.process.run_executor import RunExecutor
from execution.process.run_slots import SlotGroup, get_slot_group
from execution.process.watchers import RunWatchers
from execution.run_dependencies import (
    RefreshRights,
    RunDependencies,
    retry_until_available,
    run_in_database,
)
from execution.snapshot import CannotResume, RunSnapshot
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
        self._executor = RunExecutor(
            dependencies, journal=journal, watchers=watchers, reports=reports
        )
        self._claimed_runs = ClaimedRuns()
        self._claimer = RunClaimer(dependencies, me=me)
        self._is_closing = False
        self._may_hold_runs = False

    def has_room(self, caller: Caller) -> bool:
        """Whether a new run of a caller may be executed here at once."""
        return self._has_room(get_slot_group(caller))

    def find_caller(self, run: UUID) -> Caller | None:
        """Return the caller of a run held here; None: not held, or ended."""
        claimed = self._claimed_runs.get(run)
        if claimed is None or claimed.live_run is None or not claimed.live_run.journal.is_held:
            return None
        return claimed.live_run.caller

    def notify_run(self, run: UUID) -> None:
        """Let a run read its instructions; an unheld one may be claimable."""
        claimed = self._claimed_runs.get(run)
        if claimed is None:
            self.claim_wanted.set()
        elif claimed.live_run is None:
            claimed.has_instructions = True
        else:
            claimed.live_run.instruction_event.set()

    def notify_all(self) -> None:
        """Recheck everything: notifications may have been lost."""
        for run in self._claimed_runs:
            self.notify_run(run)
        self.claim_wanted.set()

    def launch(self, snapshot: RunSnapshot, creation: RunCreation) -> None:
        """Create a run and execute it from its start."""
        self._start_run_task(
            snapshot.run, self._execute_new(snapshot, creation), get_slot_group(snapshot.caller)
        )

    def claim_run(self, run: UUID) -> asyncio.Task[bool]:
        """Claim and execute a run; the task returns whether it could be claimed.

        A run whose user has used up their share of this process is left to others.
        """
        claimed = self._claimed_runs.get(run)
        if claimed is not None and claimed.task is not None:
            return claimed.task
        return self._start_run_task(run, self._resume_from_rows(run))

    async def claim_waiting_runs(self) -> None:
        """Claim waiting runs, as far as there is room.

        Raises:
            RunsUnavailable: If the database is unavailable.
        """
        for one in await self._claimer.find_due_runs(self._claimed_runs):
            if not self._is_closing:
                self._start_run_task(
                    one.run, self._resume_from_rows(one.run), (one.user, one.team)
                )

    async def renew_leases(self) -> None:
        """Renew leases; stop runs that were taken over or whose callers' rights changed.

        Raises:
            RunsUnavailable: If the database is unavailable.
        """
        held = {run: live.epoch for run, live in self._claimed_runs.find_held().items()}
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
        for live in self._claimed_runs.list_live():
            live.execution.halt()
        await self._claimed_runs.wait_until_ended(wait_s=grace_s)
        for live in self._claimed_runs.list_live():
            live.execution.abandon_calls()
        await self._claimed_runs.wait_until_ended(wait_s=grace_s)
        for _ in range(2):  # first writes, then releases that get no answer
            self._claimed_runs.cancel_all()
            await self._claimed_runs.wait_until_ended(wait_s=grace_s / 2)
        return not (self._claimed_runs or self._may_hold_runs)

    async def _drop_taken_over(self, not_renewed: Mapping[UUID, int]) -> None:
        """Drop runs claimed by another process; most others not renewed have just ended here."""
        if not not_renewed:
            return
        lost = await run_in_database(leases.find_taken_over, self.id, not_renewed)
        for run, live in self._claimed_runs.find_held().items():
            if run in lost and live.epoch == not_renewed[run]:
                log.warning("run.taken_over", run=str(run))
                live.mark_lost()

    async def _stop_changed_rights(self) -> None:
        """Halt runs whose callers' rights have changed, to be claimed anew."""
        held = [(one, one.live_run) for one in self._claimed_runs.values() if one.live_run]
        callers = {running.caller for _, running in held}
        changed = await run_in_database(
            _find_changed_rights, callers, self._dependencies.refresh_rights
        )
        for one, running in held:
            if running.caller in changed and one.live_run is running:
                one.has_lost_rights = True
                running.execution.halt()

    def _has_room(self, slot_group: SlotGroup | None) -> bool:
        if self._is_closing:
            return False
        if len(self._claimed_runs) < self._claimer.max_per_group:  # fast path, same answer
            return True
        return self._claimer.has_room(self._claimed_runs.count_slots(), slot_group)

    def _start_run_task(
        self, run: UUID, work: Coroutine[Any, Any, bool], slot_group: SlotGroup | None = None
    ) -> asyncio.Task[bool]:
        claimed = self._claimed_runs[run] = ClaimedRun(slot_group=slot_group)
        claimed.task = asyncio.create_task(self._run_guarded(run, work), name=f"run {run}")
        return claimed.task

    async def _run_guarded(self, run: UUID, work: Coroutine[Any, Any, bool]) -> bool:
        """Run one run's work; an error affects no other run, and is not retried."""
        try:
            return await work
        except asyncio.CancelledError:
            self._may_hold_runs = self._may_hold_runs or not self._claimed_runs[run].is_released
            raise
        except Exception:
            # Top of a task. A retry would fail again.
            log.exception("run.crashed", run=str(run))
            await self._fail_crashed(run)
            return True
        finally:
            self._forget_run(run)

    def _forget_run(self, run: UUID) -> None:
        was_crowded = not self._has_room(self._claimed_runs[run].slot_group)
        claimed = self._claimed_runs.pop(run)
        if claimed.has_instructions or was_crowded:
            self.claim_wanted.set()
        # Perhaps no other process can claim it.
        if claimed.has_lost_rights and not self._is_closing:
            self._start_run_task(run, self._resume_from_rows(run), claimed.slot_group)

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
            await self._executor.report_released(run, RunStatus.FAILED)
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
            log.info("run.left_to_others", run=str(run))
            await retry_until_available(leases.release_lease, run, snapshot.epoch)
            self._claimed_runs[run].is_released = True
            return False
        return await self._execute(snapshot, clock=clock)

    def _try_admit(self, run: UUID, caller: Caller) -> bool:
        """Whether a claimed run may be executed here; settled if it has a slot group."""
        claimed, slot_group = self._claimed_runs[run], get_slot_group(caller)
        if claimed.slot_group is None:
            used_slots = self._claimed_runs.count_slots()
            del used_slots[None]  # runs without a slot group are not settled either
            if not self._claimer.try_admit(used_slots, slot_group):
                return False
            claimed.slot_group = slot_group
        return True

    async def _execute_new(self, snapshot: RunSnapshot, creation: RunCreation) -> bool:
        try:
            return await self._execute(
                snapshot, clock=steady_clock.make_steady_clock(), creation=creation
            )
        finally:
            await creation.ensure_settled()

    async def _execute(
        self,
        snapshot: RunSnapshot,
        *,
        clock: Callable[[], datetime],
        creation: RunCreation | None = None,
    ) -> bool:
        claimed = self._claimed_runs[snapshot.run]
        live = self._executor.make_live_run(snapshot, clock=clock, creation=creation)
        claimed.live_run, claimed.slot_group = live, get_slot_group(snapshot.caller)
        if self._is_closing:
            live.execution.halt()
        await self._executor.execute(claimed, live, snapshot.run, creation)
        return True


def _find_changed_rights(callers: Iterable[Caller], refresh_rights: RefreshRights) -> set[Caller]:
    """Return the callers whose rights have changed; blocking."""
    return {caller for caller in callers if _has_changed_rights(caller, refresh_rights)}


def _has_changed_rights(caller: Caller, refresh_rights: RefreshRights) -> bool:
    try:
        return refresh_rights(caller) != caller
    except LookupError:
        return True
