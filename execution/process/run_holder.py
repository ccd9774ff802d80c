"""The runs that a process holds: takes them, keeps its hold on them, lets go of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import structlog

from execution.codes import INTERNAL_ERROR
from execution.process import adopt, rights, steady_clock
from execution.process.adopt import CannotGoOn
from execution.process.carried import Carried, CarriedRuns
from execution.process.carrier import Carrier
from execution.process.claims import Claims
from execution.process.journal import DatabaseJournal
from execution.process.opening import Opening
from execution.process.places import Whose, whose
from execution.process.reports import Reports
from execution.process.watchers import Watchers
from execution.run_means import RunMeans, at_last, reached
from execution.running.standing import Standing
from execution.status import RunStatus
from execution.store import leases
from gateway_project.foundation.caller import Caller

BROKEN: Final = CannotGoOn(
    INTERNAL_ERROR, "the gateway broke down over this run; its log says why"
)

log = structlog.get_logger(__name__)


class Holder:
    """The runs that a process carries out; for one event loop.

    Args:
        means: What they are carried out with.
        journal: Where they are written down.
        me: This process, as others know it.
        watchers: Told of each run that is held here no more.
        reports: Told what servers report of calls under way.
    """

    def __init__(
        self,
        means: RunMeans,
        *,
        journal: DatabaseJournal,
        me: str,
        watchers: Watchers,
        reports: Reports,
    ) -> None:
        self.id = me
        self.wanted = asyncio.Event()
        """Set when there may be runs to take."""
        self.wanted.set()
        self._means = means
        self._carrier = Carrier(means, journal=journal, watchers=watchers, reports=reports)
        self._carried = CarriedRuns()
        self._claims = Claims(means, me=me)
        self._is_closing = False
        self._may_own = False

    def has_room(self, caller: Caller) -> bool:
        """Whether a new run of a caller may be carried out here at once."""
        return self._has_room(whose(caller))

    def caller_of(self, run: UUID) -> Caller | None:
        """Return whom a run is carried out for here; None: it is not, or has ended."""
        carried = self._carried.get(run)
        if carried is None or carried.live is None or not carried.live.journal.is_held:
            return None
        return carried.live.caller

    def tell(self, run: UUID) -> None:
        """Have a run look at what it was told; one that is not here may be to be taken."""
        carried = self._carried.get(run)
        if carried is None:
            self.wanted.set()
        elif carried.live is None:
            carried.is_told = True
        else:
            carried.live.told.set()

    def tell_all(self) -> None:
        """Look at everything: notifications may have been lost."""
        for run in self._carried:
            self.tell(run)
        self.wanted.set()

    def launch(self, standing: Standing, caller: Caller, opening: Opening) -> None:
        """Make a run, and carry it out from its very start."""
        self._carry(standing.run, self._opened(standing, caller, opening), whose(caller))

    def take(self, run: UUID) -> asyncio.Task[bool]:
        """Carry out a run if it is to be had; the task says whether it is.

        One whose user has their share of this process already is left to whoever has room.
        """
        carried = self._carried.get(run)
        if carried is not None and carried.task is not None:
            return carried.task
        return self._carry(run, self._from_rows(run))

    async def claim(self) -> None:
        """Take the runs that wait for a process, as far as there is room.

        Raises:
            RunsUnavailable: If the database is away.
        """
        for one in await self._claims.due(self._carried):
            if not self._is_closing:
                self._carry(one.run, self._from_rows(one.run), (one.user, one.team))

    async def renew(self) -> None:
        """Say that this process lives; stop what is no longer its own, or its caller's to do.

        Raises:
            RunsUnavailable: If the database is away.
        """
        held = {run: live.epoch for run, live in self._carried.held().items()}
        if not held:
            return
        kept = await reached(leases.renew, self.id, held, lease_s=self._means.lease_s)
        for run, live in self._carried.held().items():  # others have ended meanwhile
            if run not in kept and live.epoch == held.get(run):
                log.warning("run.taken_over", run=str(run))
                live.lose()
        await self._cut_rights()

    async def close(self) -> bool:
        """Start nothing more, give calls in flight a moment, and give back all runs.

        What has come of calls by then is written down first, if the database is there.

        Returns:
            Whether nothing is held any more.
        """
        self._is_closing = True
        grace_s = self._means.grace_s
        for live in self._carried.live():
            live.execution.halt()
        await self._carried.ended(wait_s=grace_s)
        for live in self._carried.live():
            live.execution.cut()
        await self._carried.ended(wait_s=grace_s)
        for _ in range(2):  # first writing, then giving back where nobody answers
            self._carried.cancel()
            await self._carried.ended(wait_s=grace_s / 2)
        return not (self._carried or self._may_own)

    async def _cut_rights(self) -> None:
        """Stop runs whose callers may do less than when they were taken."""
        held = [(one, one.live) for one in self._carried.values() if one.live]
        callers = {running.caller for _, running in held}
        cut = await reached(rights.cut, callers, standing=self._means.standing)
        for one, running in held:
            if running.caller in cut and one.live is running:
                one.is_cut = True
                running.execution.halt()

    def _has_room(self, its: Whose | None) -> bool:
        if self._is_closing:
            return False
        if len(self._carried) < self._claims.each:  # the same, found out faster
            return True
        return self._claims.has_room(self._carried.taken(), its)

    def _carry(
        self, run: UUID, work: Coroutine[Any, Any, bool], its: Whose | None = None
    ) -> asyncio.Task[bool]:
        carried = self._carried[run] = Carried(whose=its)
        carried.task = asyncio.create_task(self._guarded(run, work), name=f"run {run}")
        return carried.task

    async def _guarded(self, run: UUID, work: Coroutine[Any, Any, bool]) -> bool:
        """Do the work of one run; what goes wrong with it harms no other, and is not repeated."""
        try:
            return await work
        except asyncio.CancelledError:
            self._may_own = self._may_own or not self._carried[run].is_given_back
            raise
        except Exception:
            # The top of a task. Whatever is wrong with the run would be so again.
            log.exception("run.broke_down", run=str(run))
            await self._fail(run)
            return True
        finally:
            self._leave(run)

    def _leave(self, run: UUID) -> None:
        was_crowded = not self._has_room(self._carried[run].whose)
        left = self._carried.pop(run)
        if left.is_told or was_crowded:
            self.wanted.set()
        if left.is_cut and not self._is_closing:  # there may be nobody else to judge it
            self._carry(run, self._from_rows(run), left.whose)

    async def _fail(self, run: UUID) -> None:
        try:
            if await adopt.fail(run, BROKEN, self._means, me=self.id, dead=self._claims.dead):
                await self._carrier.gone(run, RunStatus.FAILED)
        except Exception:
            log.exception("run.not_failed", run=str(run))

    async def _from_rows(self, run: UUID) -> bool:
        if self._is_closing:
            return False
        taken = await adopt.adopt(run, self._means, me=self.id, dead=self._claims.dead)
        if taken is None:
            return False
        if taken.standing is None or taken.caller is None:  # it had to be failed
            await self._carrier.gone(run, RunStatus.FAILED)
            return True
        if not self._admits(run, taken.caller):
            log.info("run.left", run=str(run))
            await at_last(leases.release, run, taken.standing.epoch)
            self._carried[run].is_given_back = True
            return False
        return await self._hold(taken.standing, taken.caller, clock=taken.clock)

    def _admits(self, run: UUID, caller: Caller) -> bool:
        """Whether a run may be gone on with here; of one that was claimed that is settled."""
        carried, its = self._carried[run], whose(caller)
        if carried.whose is None:
            taken = self._carried.taken()
            del taken[None]  # nor are those settled
            if not self._claims.admits(taken, its):
                return False
            carried.whose = its
        return True

    async def _opened(self, standing: Standing, caller: Caller, opening: Opening) -> bool:
        try:
            return await self._hold(standing, caller, clock=steady_clock.clock(), opening=opening)
        finally:
            await opening.settle()

    async def _hold(
        self,
        standing: Standing,
        caller: Caller,
        *,
        clock: Callable[[], datetime],
        opening: Opening | None = None,
    ) -> bool:
        carried = self._carried[standing.run]
        live = self._carrier.live(standing, caller, clock=clock, opening=opening)
        carried.live, carried.whose = live, whose(caller)
        if self._is_closing:
            live.execution.halt()
        await self._carrier.carry_out(carried, live, standing.run, opening)
        return True
