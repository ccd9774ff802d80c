"""The background work of a process that executes runs: leases, claims, expiry."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Final

from execution.process.journal import DatabaseJournal
from execution.process.owner import ProcessOwner, remove_dead_owners
from execution.process.progress_relay import ProgressRelay
from execution.process.run_holder import RunHolder
from execution.process.watchers import RunWatchers, repeat_every
from execution.run_dependencies import RunDependencies, run_in_database
from execution.store import approvals, expiry, leases, writing
from gateway_project.foundation.task_group import TaskGroup

RENEWALS_PER_LEASE: Final = 3
"""Renewals per lease; two may be late without harm."""
CLEANUP_INTERVAL_S: Final = 3_600.0
FLUSH_WAIT_S: Final = 5.0
"""Seconds to flush the journal at shutdown."""


class RunProcess:
    """Executes runs in a process, besides answering callers; for one event loop.

    Args:
        dependencies: Of this process.
        watchers: Notified of runs that come to rest here.
        reports: Relays progress reports.
    """

    def __init__(
        self, dependencies: RunDependencies, watchers: RunWatchers, reports: ProgressRelay
    ) -> None:
        self.holder: RunHolder | None = None
        """The runs held here; None outside `run`."""
        self.started = asyncio.Event()
        """Set once runs can be executed here."""
        self._dependencies = dependencies
        self._watchers = watchers
        self._reports = reports

    async def run(self) -> None:
        """Execute runs until cancelled, then release them, so that others continue at once.

        Raises:
            OSError: If the home folder cannot be written.
        """
        owner = await asyncio.to_thread(ProcessOwner, self._dependencies.home)
        journal = DatabaseJournal(
            partial(
                writing.write_batch,
                sealer=self._dependencies.sealer,
                approval_expiry_s=self._dependencies.approval_expiry_s,
            )
        )
        writer = asyncio.create_task(journal.run(), name="journal")
        holder = RunHolder(
            self._dependencies,
            journal=journal,
            me=owner.id,
            watchers=self._watchers,
            reports=self._reports,
        )
        is_clean = False
        try:
            self.holder = holder
            self.started.set()
            await self._run_periodic_tasks(holder, writer)
        finally:
            self.holder = None
            try:
                is_clean = await holder.close()
                journal.close()
                await asyncio.wait([writer], timeout=FLUSH_WAIT_S)
            finally:
                writer.cancel()
                owner.close(is_owning=not is_clean)

    async def _run_periodic_tasks(self, holder: RunHolder, writer: asyncio.Task[None]) -> None:
        period_s = self._dependencies.lease_s / RENEWALS_PER_LEASE
        async with TaskGroup() as group:
            group.create_task(_fail_when_journal_ends(writer), name="journal watch")
            group.create_task(repeat_every(period_s, holder.renew_leases), name="leases")
            if self._dependencies.can_claim_runs:
                group.create_task(
                    repeat_every(period_s, holder.claim_waiting_runs, holder.claim_wanted),
                    name="claims",
                )
                group.create_task(repeat_every(period_s, self._expire_approvals), name="approvals")
                group.create_task(
                    repeat_every(CLEANUP_INTERVAL_S, self._delete_expired), name="run expiry"
                )

    async def _expire_approvals(self) -> None:
        if await run_in_database(approvals.expire_approvals) and self.holder is not None:
            self.holder.notify_all()

    async def _delete_expired(self) -> None:
        dependencies = self._dependencies
        await run_in_database(
            expiry.delete_expired,
            payload_days=dependencies.payload_days,
            run_days=dependencies.run_days,
        )
        owning = await run_in_database(leases.load_owners)
        await asyncio.to_thread(remove_dead_owners, dependencies.home, owning=owning)


async def _fail_when_journal_ends(writer: asyncio.Task[None]) -> None:
    """Fail when the journal ends, since nothing works without it."""
    await asyncio.shield(writer)
    raise RuntimeError("the journal of runs ended")
