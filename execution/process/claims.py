"""Which runs a process takes: those that wait for one, as far as there is room for their users."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Set
from typing import Final

from execution.process import owner
from execution.process.carried import CarriedRuns
from execution.process.places import Places, Whose
from execution.process.rate_limit import Pace
from execution.process.silence import Sight, Silence
from execution.run_means import RunMeans, reached
from execution.store import claimable_runs
from execution.store.claimable_runs import Waiting

MAX_TAKES: Final = 20
"""So often a run is taken within a lease; more would come of a defect, and of nothing else."""


class Claims:
    """Finds the runs that a process may take; for one event loop.

    Args:
        means: Of the process.
        me: The process, as others know it.
    """

    def __init__(self, means: RunMeans, *, me: str) -> None:
        self.dead: Set[str] = frozenset()
        """Processes that hold runs and are gone: known to be, or silent for two leases."""
        self._gone: set[str] = set()
        self._silence = Silence(after_s=2 * means.lease_s)
        # Three looks fall into a lease, and two renewals are missed before it lapses.
        self._sight = Sight(gap_s=means.lease_s / 2, spare_s=means.lease_s)
        self._means = means
        self._me = me
        self._places = Places(means.runs_at_once)
        self.each = self._places.each
        """Runs of one user in one team that this process carries out at most."""
        self._pace = Pace(times=MAX_TAKES, within_s=means.lease_s)
        self._behind: set[Whose] = set()

    def has_room(self, taken: Counter[Whose | None], its: Whose | None) -> bool:
        """Whether one more run of somebody may be carried out, of so many that are."""
        return self._places.has_room(taken, its)

    def admits(self, taken: Counter[Whose | None], its: Whose) -> bool:
        """Whether a run that somebody hands to this process may be carried out at once.

        If not, it waits in line, and so does what comes after it of the same user: `due` finds
        the oldest first.
        """
        if its not in self._behind and self.has_room(taken, its):
            return True
        self._behind.add(its)
        return False

    async def due(self, carried: CarriedRuns) -> list[Waiting]:
        """Return the runs that are to be taken now: as many of each user as there is room for.

        Args:
            carried: The runs that are carried out here; looked at once the others are found.

        Raises:
            RunsUnavailable: If the database is away.
        """
        await self._find_dead()
        if not self._places.has_any(len(carried), is_told=True):
            return []
        is_full = not self._places.has_any(len(carried))
        found = await reached(
            claimable_runs.waiting,
            dead=self.dead,
            each=self.each,
            limit=self._places.most,
            new=self._means.claims_new,
            only_told=is_full,
        )
        if not is_full:
            self._behind.clear()
        return self._fitting(found, carried)

    def _fitting(self, found: list[Waiting], carried: CarriedRuns) -> list[Waiting]:
        now, taken, fitting = time.monotonic(), carried.taken(), []
        is_sure = self._sight.looked(now=now)
        for one in found:
            its = (one.user, one.team)
            if one.run in carried or not (is_sure or one.owner in self._gone or not one.owner):
                continue
            if not self._places.has_room(taken, its, is_told=one.is_told):
                self._behind.add(its)
            elif self._pace.allows(one.run, now=now):
                fitting.append(one)
                taken[its] += 1
        return fitting

    async def _find_dead(self) -> None:
        signs = await reached(claimable_runs.holders)
        signs.pop(self._me, None)
        now = time.monotonic()
        if not self._sight.looked(now=now):
            self._silence.forget()
        # Leases go by the clock of the database, and would last if that was set back.
        silent = self._silence.silent(signs, now=now)
        self._gone &= signs.keys()
        unsure = signs.keys() - self._gone
        self._gone |= await asyncio.to_thread(owner.dead, self._means.home, unsure)
        self.dead = self._gone | silent
