"""Executes a claimed run, and releases it once it is at rest."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial
from uuid import UUID

import structlog

from execution.changes import RunFenced
from execution.process import live_run
from execution.process.claimed_runs import ClaimedRun
from execution.process.journal import DatabaseJournal, JournalClosed
from execution.process.live_run import LiveRun
from execution.process.progress_relay import ProgressRelay
from execution.process.run_creation import RunCreation, RunNotCreated
from execution.process.run_journal import RunJournal
from execution.process.watchers import RunWatchers
from execution.run_dependencies import RunDependencies, retry_until_available
from execution.running.executor import Execution
from execution.running.limits import CallSlots
from execution.snapshot import RunSnapshot
from execution.status import RunStatus
from execution.store import leases

log = structlog.get_logger(__name__)


class RunExecutor:
    """Executes the runs of a process, sharing its call slots; for one event loop.

    Args:
        dependencies: Of this process.
        journal: Records their changes.
        watchers: Notified of each run released here.
        reports: Relays progress reports.
    """

    def __init__(
        self,
        dependencies: RunDependencies,
        *,
        journal: DatabaseJournal,
        watchers: RunWatchers,
        reports: ProgressRelay,
    ) -> None:
        self._dependencies = dependencies
        self._journal = journal
        self._watchers = watchers
        self._reports = reports
        self._call_slots = CallSlots(
            total=dependencies.tasks_at_once, per_server=dependencies.tasks_per_server
        )

    def make_live_run(
        self,
        snapshot: RunSnapshot,
        *,
        clock: Callable[[], datetime],
        creation: RunCreation | None = None,
    ) -> LiveRun:
        """Build a run to be executed.

        Args:
            snapshot: Its state.
            clock: The clock its deadline refers to.
            creation: Creates it; None: it exists.
        """
        run = snapshot.run
        journal = RunJournal(
            self._journal,
            self._watchers,
            make=None if creation is None else creation.create_with_changes,
        )
        dependencies = live_run.build_executor_dependencies(
            self._dependencies,
            snapshot.caller,
            run,
            journal=journal,
            limits=self._call_slots,
            on_progress=partial(self._reports.publish, run),
        )
        return LiveRun(
            caller=snapshot.caller,
            epoch=snapshot.epoch,
            execution=Execution(snapshot, replace(dependencies, clock=clock)),
            journal=journal,
        )

    async def execute(
        self, claimed: ClaimedRun, live: LiveRun, run: UUID, creation: RunCreation | None
    ) -> None:
        """Execute a run until it is at rest, and release it."""
        if creation is None:
            await live_run.forward_instructions(live, run, self._dependencies)
        if claimed.has_instructions:
            live.instruction_event.set()
        try:
            status = await self._execute_until_rest(live, run)
        except asyncio.CancelledError:
            if creation is not None:
                await creation.ensure_settled()
            await self._release(claimed, live, run, None)
            raise
        await self._release(claimed, live, run, status)

    async def report_released(self, run: UUID, status: RunStatus | None) -> None:
        """Notify watchers and learning that a run was released.

        Args:
            run: Its id.
            status: Its status as known here; None: unknown.
        """
        self._watchers.notify(run)
        if status is not None and status.is_final and self._dependencies.on_run_ended is not None:
            await self._dependencies.on_run_ended(run)

    async def _execute_until_rest(self, live: LiveRun, run: UUID) -> RunStatus | None:
        try:
            return await live_run.execute_run(live, run, self._dependencies)
        except (RunFenced, JournalClosed) as lost:
            log.warning("run.lease_lost", run=str(run), reason=str(lost))
        except RunNotCreated:
            log.info("run.not_created", run=str(run))  # the requester got the reason
        return None

    async def _release(
        self, claimed: ClaimedRun, live: LiveRun, run: UUID, status: RunStatus | None
    ) -> None:
        claimed.live_run = None  # no instructions are forwarded from now on
        if not live.journal.has_ended:
            # After the release, writes would be refused.
            await self._journal.wait_until_settled(run)
            await retry_until_available(leases.release_lease, run, live.epoch)
        claimed.is_released = True
        await self.report_released(run, status)
