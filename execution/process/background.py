"""A process that carries out runs: its sign of life, its search for work, its housekeeping."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Final

from execution.process.journal import DatabaseJournal
from execution.process.owner import Owner, sweep
from execution.process.periodic import every
from execution.process.reports import Reports
from execution.process.run_holder import Holder
from execution.process.watchers import Watchers
from execution.run_means import RunMeans, reached
from execution.store import approvals, expiry, leases, writing

RENEWALS: Final = 3
"""Signs of life in the length of a lease: two may come late without harm."""
TIDY_S: Final = 3_600.0
FLUSH_WAIT_S: Final = 5.0
"""So long what happened last is tried to be written when the process ends."""


class RunProcess:
    """What a process does about runs besides answering callers; for one event loop.

    Args:
        means: What runs are carried out with.
        watchers: Told of runs that come to rest here.
        reports: Told what servers report of calls under way here.
    """

    def __init__(self, means: RunMeans, watchers: Watchers, reports: Reports) -> None:
        self.holder: Holder | None = None
        """The runs that are carried out here; None: before `run`, and after it."""
        self.started = asyncio.Event()
        """Set once runs are carried out here."""
        self._means = means
        self._watchers = watchers
        self._reports = reports

    async def run(self) -> None:
        """Carry out runs until cancelled; then let go of them, so that others go on at once.

        Raises:
            OSError: If the home folder cannot be written.
        """
        owner = await asyncio.to_thread(Owner, self._means.home)
        journal = DatabaseJournal(
            partial(
                writing.write,
                sealer=self._means.sealer,
                approval_expiry_s=self._means.approval_expiry_s,
            )
        )
        writer = asyncio.create_task(journal.run(), name="journal")
        holder = Holder(
            self._means,
            journal=journal,
            me=owner.id,
            watchers=self._watchers,
            reports=self._reports,
        )
        is_clean = False
        try:
            self.holder = holder
            self.started.set()
            await self._work(holder, writer)
        finally:
            self.holder = None
            try:
                is_clean = await holder.close()
                journal.close()
                await asyncio.wait([writer], timeout=FLUSH_WAIT_S)
            finally:
                writer.cancel()
                owner.close(is_owning=not is_clean)

    async def _work(self, holder: Holder, writer: asyncio.Task[None]) -> None:
        period_s = self._means.lease_s / RENEWALS
        async with asyncio.TaskGroup() as group:
            group.create_task(_outlive(writer), name="journal watch")
            group.create_task(every(period_s, holder.renew), name="leases")
            if self._means.claims:
                group.create_task(every(period_s, holder.claim, holder.wanted), name="claims")
                group.create_task(every(period_s, self._expire), name="approvals")
                group.create_task(every(TIDY_S, self._tidy), name="run expiry")

    async def _expire(self) -> None:
        if await reached(approvals.expire) and self.holder is not None:
            self.holder.tell_all()

    async def _tidy(self) -> None:
        means = self._means
        await reached(expiry.sweep, payload_days=means.payload_days, run_days=means.run_days)
        owning = await reached(leases.owners)
        await asyncio.to_thread(sweep, means.home, owning=owning)


async def _outlive(writer: asyncio.Task[None]) -> None:
    """End with the journal, which nothing here can do without."""
    await asyncio.shield(writer)
    raise RuntimeError("the journal of runs ended")
