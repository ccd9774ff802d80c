"""The runs that a process holds: takes them, keeps its hold on them, lets go of them."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, Final
from uuid import UUID

import structlog

from execution.changes import Fenced
from execution.codes import INTERNAL_ERROR
from execution.process import adopt, held_run, owner, rights, steady_clock
from execution.process.adopt import CannotGoOn
from execution.process.held_run import Live
from execution.process.journal import DatabaseJournal, JournalClosed
from execution.process.opening import NotMade, Opening
from execution.process.places import Places, Whose, whose
from execution.process.rate_limit import Pace
from execution.process.reports import Reports
from execution.process.run_journal import RunJournal
from execution.process.watchers import Watchers
from execution.run_means import RunMeans, at_last, reached
from execution.running.executor import Execution
from execution.running.limits import Limits
from execution.running.standing import Standing
from execution.status import RunStatus
from execution.store import claimable_runs, leases
from gateway_project.foundation.caller import Caller

BROKEN: Final = CannotGoOn(
    INTERNAL_ERROR, "the gateway broke down over this run; its log says why"
)

MAX_TAKES: Final = 20
"""So often a run is taken within a lease; more would come of a defect, and of nothing else."""

log = structlog.get_logger(__name__)


@dataclass(eq=False)
class Carried:
    """A run that this process is about to take, or holds.

    Attributes:
        task: Carries it out, and says whether it was to be had.
        live: What it is made of; None before it is taken, and once it is let go.
        whose: Whom it counts for; None: it is not known yet.
        is_told: Whether it was told something before there was anybody to tell.
        is_given_back: Whether it is known to be nobody's again.
        is_cut: Whether its caller has lost rights: it is to be judged anew.
    """

    task: asyncio.Task[bool] | None = None
    live: Live | None = None
    whose: Whose | None = None
    is_told: bool = False
    is_given_back: bool = False
    is_cut: bool = False


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
        self._journal = journal
        self._watchers = watchers
        self._reports = reports
        self._limits = Limits(total=means.tasks_at_once, per_server=means.tasks_per_server)
        self._carried: dict[UUID, Carried] = {}
        self._dead: set[str] = set()
        self._places = Places(means.runs_at_once)
        self._pace = Pace(times=MAX_TAKES, within_s=means.lease_s)
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
        """Carry out a run if it is to be had; the task says whether it was."""
        carried = self._carried.get(run)
        if carried is not None and carried.task is not None:
            return carried.task
        return self._carry(run, self._from_rows(run))

    async def claim(self) -> None:
        """Take the runs that wait for a process, as far as there is room.

        Raises:
            RunsUnavailable: If the database is away.
        """
        owners = await reached(leases.owners)
        self._dead &= owners
        unsure = owners - self._dead - {self.id}
        self._dead |= await asyncio.to_thread(owner.dead, self._means.home, unsure)
        if not self._has_any(is_told=True):
            return
        found = await reached(
            claimable_runs.waiting,
            dead=self._dead,
            each=self._places.each,
            limit=self._places.total,
            new=self._means.claims_new,
            only_told=not self._has_any(),
        )
        now, taken = time.monotonic(), self._taken()
        for one in found:
            its = (one.user, one.team)
            if (
                one.run not in self._carried
                and self._places.has_room(taken, its, is_told=one.is_told)
                and self._pace.allows(one.run, now=now)
            ):
                self._carry(one.run, self._from_rows(one.run), its)
                taken[its] += 1

    async def renew(self) -> None:
        """Say that this process lives; stop what is no longer its own, or its caller's to do.

        Raises:
            RunsUnavailable: If the database is away.
        """
        held = {
            run: one.live.epoch
            for run, one in self._carried.items()
            if one.live and one.live.journal.is_held
        }
        if not held:
            return
        kept = await reached(leases.renew, self.id, held, lease_s=self._means.lease_s)
        for run in held.keys() - kept:
            carried = self._carried.get(run)
            if not (carried and carried.live and carried.live.journal.is_held):
                continue  # it has ended meanwhile
            if carried.live.epoch == held[run]:
                log.warning("run.taken_over", run=str(run))
                carried.live.lose()
        await self._cut_rights()

    async def close(self) -> bool:
        """Start nothing more, give calls in flight a moment, and give back all runs.

        Returns:
            Whether nothing is held any more.
        """
        self._is_closing = True
        for carried in self._carried.values():
            if carried.live:
                carried.live.execution.halt()
        await self._ended(wait_s=self._means.grace_s)
        for _ in range(2):  # calls in flight first, then giving back where nobody answers
            for carried in self._carried.values():
                if carried.task:
                    carried.task.cancel()
            await self._ended(wait_s=self._means.grace_s)
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

    def _taken(self) -> Counter[Whose | None]:
        return Counter(one.whose for one in self._carried.values())

    def _has_any(self, *, is_told: bool = False) -> bool:
        return not self._is_closing and self._places.has_any(len(self._carried), is_told=is_told)

    def _has_room(self, its: Whose | None) -> bool:
        if self._is_closing:
            return False
        if len(self._carried) < self._places.each:  # the same, found out faster
            return self._has_any()
        return self._places.has_room(self._taken(), its)

    async def _ended(self, *, wait_s: float) -> None:
        tasks = [one.task for one in self._carried.values() if one.task]
        if tasks:
            await asyncio.wait(tasks, timeout=wait_s)

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
            if await adopt.fail(run, BROKEN, self._means, me=self.id, dead=self._dead):
                await self._gone(run, RunStatus.FAILED)
        except Exception:
            log.exception("run.not_failed", run=str(run))

    async def _from_rows(self, run: UUID) -> bool:
        if self._is_closing:
            return False
        taken = await adopt.adopt(run, self._means, me=self.id, dead=self._dead)
        if taken is None:
            return False
        if taken.standing is None or taken.caller is None:  # it had to be failed
            await self._gone(run, RunStatus.FAILED)
            return True
        return await self._hold(taken.standing, taken.caller, clock=taken.clock)

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
        """Carry a run out until it is at rest, and let go of it."""
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
        held = Live(
            caller=caller,
            epoch=standing.epoch,
            execution=Execution(standing, replace(means, clock=clock)),
            journal=journal,
        )
        carried = self._carried[run]
        carried.live, carried.whose = held, whose(caller)
        if self._is_closing:
            held.execution.halt()
        if opening is None:
            await held_run.tell(held, run, self._means)
        if carried.is_told:
            held.told.set()
        await self._until_rest(held, run, opening)
        return True

    async def _until_rest(self, held: Live, run: UUID, opening: Opening | None) -> None:
        try:
            status = await self._carried_out(held, run)
        except asyncio.CancelledError:
            if opening is not None:
                await opening.settle()
            await self._give_back(held, run, None)
            raise
        await self._give_back(held, run, status)

    async def _carried_out(self, held: Live, run: UUID) -> RunStatus | None:
        status = None
        try:
            status = await held_run.carry_out(held, run, self._means)
        except* (Fenced, JournalClosed) as lost:
            log.warning("run.lost", run=str(run), reason=str(lost.exceptions[0]))
        except* NotMade:
            log.info("run.not_made", run=str(run))  # whoever asked for it was told why
        return status

    async def _give_back(self, held: Live, run: UUID, status: RunStatus | None) -> None:
        self._carried[run].live = None  # what it is told from now on finds nobody here
        if not held.journal.has_ended:
            await self._journal.settled(run)  # what is written once it is nobody's is refused
            await at_last(leases.release, run, held.epoch)
        self._carried[run].is_given_back = True
        await self._gone(run, status)

    async def _gone(self, run: UUID, status: RunStatus | None) -> None:
        """Pass on that a run is held here no more.

        Args:
            run: Its id.
            status: How it stands, as far as this process knows; None: it does not.
        """
        self._watchers.tell(run)
        if status is not None and status.is_final and self._means.learned is not None:
            await self._means.learned(run)
