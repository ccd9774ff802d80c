"""Carries out a run that this process has taken, and lets go of it once it is at rest."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial
from uuid import UUID

import structlog

from execution.changes import Fenced
from execution.process import held_run
from execution.process.carried import Carried
from execution.process.held_run import Live
from execution.process.journal import DatabaseJournal, JournalClosed
from execution.process.opening import NotMade, Opening
from execution.process.reports import Reports
from execution.process.run_journal import RunJournal
from execution.process.watchers import Watchers
from execution.run_means import RunMeans, at_last
from execution.running.executor import Execution
from execution.running.limits import Limits
from execution.running.standing import Standing
from execution.status import RunStatus
from execution.store import leases
from gateway_project.foundation.caller import Caller

log = structlog.get_logger(__name__)


class Carrier:
    """Carries out the runs of a process, all within the same limits; for one event loop.

    Args:
        means: What they are carried out with.
        journal: Where they are written down.
        watchers: Told of each run that is held here no more.
        reports: Told what servers report of calls under way.
    """

    def __init__(
        self,
        means: RunMeans,
        *,
        journal: DatabaseJournal,
        watchers: Watchers,
        reports: Reports,
    ) -> None:
        self._means = means
        self._journal = journal
        self._watchers = watchers
        self._reports = reports
        self._limits = Limits(total=means.tasks_at_once, per_server=means.tasks_per_server)

    def live(
        self,
        standing: Standing,
        caller: Caller,
        *,
        clock: Callable[[], datetime],
        opening: Opening | None = None,
    ) -> Live:
        """Return a run that is to be carried out.

        Args:
            standing: How it stands.
            caller: Who it runs for.
            clock: What its deadline was set by.
            opening: Makes it; None: it is there.
        """
        run = standing.run
        journal = RunJournal(
            self._journal, self._watchers, make=None if opening is None else opening.make
        )
        means = held_run.executor_means(
            self._means,
            caller,
            run,
            journal=journal,
            limits=self._limits,
            on_progress=partial(self._reports.tell, run),
        )
        return Live(
            caller=caller,
            epoch=standing.epoch,
            execution=Execution(standing, replace(means, clock=clock)),
            journal=journal,
        )

    async def carry_out(
        self, carried: Carried, held: Live, run: UUID, opening: Opening | None
    ) -> None:
        """Carry a run out until it is at rest, and let go of it."""
        if opening is None:
            await held_run.tell(held, run, self._means)
        if carried.is_told:
            held.told.set()
        try:
            status = await self._until_rest(held, run)
        except asyncio.CancelledError:
            if opening is not None:
                await opening.settle()
            await self._give_back(carried, held, run, None)
            raise
        await self._give_back(carried, held, run, status)

    async def gone(self, run: UUID, status: RunStatus | None) -> None:
        """Pass on that a run is held here no more.

        Args:
            run: Its id.
            status: How it stands, as far as this process knows; None: it does not.
        """
        self._watchers.tell(run)
        if status is not None and status.is_final and self._means.learned is not None:
            await self._means.learned(run)

    async def _until_rest(self, held: Live, run: UUID) -> RunStatus | None:
        status = None
        try:
            status = await held_run.carry_out(held, run, self._means)
        except* (Fenced, JournalClosed) as lost:
            log.warning("run.lost", run=str(run), reason=str(lost.exceptions[0]))
        except* NotMade:
            log.info("run.not_made", run=str(run))  # whoever asked for it was told why
        return status

    async def _give_back(
        self, carried: Carried, held: Live, run: UUID, status: RunStatus | None
    ) -> None:
        carried.live = None  # what it is told from now on finds nobody here
        if not held.journal.has_ended:
            await self._journal.settled(run)  # what is written once it is nobody's is refused
            await at_last(leases.release, run, held.epoch)
        carried.is_given_back = True
        await self.gone(run, status)
