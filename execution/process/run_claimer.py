"""Chooses the runs that a process claims, as far as there is room for their users."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Hashable, Mapping, Set
from typing import Final
from uuid import UUID

from execution.process import owner
from execution.process.held_run import HeldRun, count_slots
from execution.process.run_slots import RunSlots, SlotGroup
from execution.run_dependencies import RunDependencies, run_in_database
from execution.store import claimable_runs
from execution.store.claimable_runs import ClaimableRun

MAX_CLAIMS_PER_LEASE: Final = 20
"""Claims of one run per lease; more would indicate a defect."""


class PeerSilence:
    """Tracks how long other processes have been silent, as observed here.

    Args:
        after_s: Seconds after which a process counts as silent.
    """

    def __init__(self, *, after_s: float) -> None:
        self._after_s = after_s
        self._since: dict[str, tuple[Hashable, float]] = {}

    def reset(self) -> None:
        """Forget everything: nobody could renew leases."""
        self._since.clear()

    def find_silent(self, signs: Mapping[str, Hashable], *, now: float) -> set[str]:
        """Return the processes whose heartbeat has not changed for long.

        Args:
            signs: A value by process that changes with each heartbeat.
            now: Monotonic time in seconds.

        Example:
            >>> silence = PeerSilence(after_s=10)
            >>> [silence.find_silent({"a": sign}, now=now) for now, sign in ((0, 1), (9, 2), (15,
            ...     2))]
            [set(), set(), set()]
            >>> silence.find_silent({"a": 2, "b": 1}, now=20)
            {'a'}
        """
        before = self._since
        self._since = {
            one: before[one] if one in before and before[one][0] == sign else (sign, now)
            for one, sign in signs.items()
        }
        return {one for one, (_, since) in self._since.items() if now - since > self._after_s}


class PeerVisibility:
    """Whether this process could observe others lately; if not, perhaps none could renew.

    Leases lapse while the database is unavailable, and the first process to reconnect would
    otherwise claim the runs of all others, which are alive and have not renewed yet.

    The grace period ends however slow the database is.

    Args:
        gap_s: Seconds without a look after which others get a grace period.
        spare_s: Length of the grace period in seconds.

    Example:
        >>> sight = PeerVisibility(gap_s=10, spare_s=15)
        >>> [sight.record_look(now=now) for now in (0, 5, 25, 30, 40)]
        [True, True, False, False, True]
    """

    def __init__(self, *, gap_s: float, spare_s: float) -> None:
        self._gap_s = gap_s
        self._spare_s = spare_s
        self._looked_at: float | None = None
        self._spares_until: float | None = None

    def record_look(self, *, now: float) -> bool:
        """Record a look at the leases; return whether it can be trusted to show who is gone."""
        gap_s = 0.0 if self._looked_at is None else now - self._looked_at
        self._looked_at = now
        if gap_s > (self._gap_s if self._spares_until is None else self._spare_s):
            self._spares_until = now + self._spare_s
        elif self._spares_until is not None and now >= self._spares_until:
            self._spares_until = None
        return self._spares_until is None


class RateWindow:
    """A sliding window of recent actions, by key.

    Args:
        times: Maximum actions within the window.
        within_s: Length of the window in seconds.
    """

    def __init__(self, *, times: int, within_s: float) -> None:
        self._max_times = times
        self._within_s = within_s
        self._timestamps: dict[Hashable, deque[float]] = {}

    def try_acquire(self, key: Hashable, *, now: float) -> bool:
        """Record an action if the limit allows it; return whether it does.

        Args:
            key: Key of the action.
            now: Monotonic time in seconds.

        Example:
            >>> pace = RateWindow(times=1, within_s=10)
            >>> [pace.try_acquire("x", now=now) for now in (0, 5, 11)]
            [True, False, True]
        """
        self._forget_before(now - self._within_s)
        times = self._timestamps.setdefault(key, deque())
        if len(times) >= self._max_times:
            return False
        times.append(now)
        return True

    def _forget_before(self, before: float) -> None:
        for key, times in list(self._timestamps.items()):
            while times and times[0] < before:
                times.popleft()
            if not times:
                del self._timestamps[key]


class RunClaimer:
    """Finds the runs that a process may claim; for one event loop.

    Args:
        dependencies: Of this process.
        me: Id of this process as an owner.
    """

    def __init__(self, dependencies: RunDependencies, *, me: str) -> None:
        self.dead_owners: Set[str] = frozenset()
        """Owners that have ended, or gave no sign of life for two leases."""
        self._ended_owners: set[str] = set()
        self._silence = PeerSilence(after_s=2 * dependencies.lease_s)
        # Three looks fall into a lease, and it lapses only after two missed renewals.
        self._visibility = PeerVisibility(
            gap_s=dependencies.lease_s / 2, spare_s=dependencies.lease_s
        )
        self._dependencies = dependencies
        self._me = me
        self._slots = RunSlots(dependencies.runs_at_once)
        self.max_per_group = self._slots.max_per_group
        """Maximum runs of one user and team in this process."""
        self._claim_rate = RateWindow(times=MAX_CLAIMS_PER_LEASE, within_s=dependencies.lease_s)
        self._queued_groups: set[SlotGroup] = set()

    def has_room(self, used_slots: Counter[SlotGroup | None], group: SlotGroup | None) -> bool:
        """Whether one more run of a group may be executed, given the slots in use."""
        return self._slots.has_room(used_slots, group)

    def try_admit(self, used_slots: Counter[SlotGroup | None], group: SlotGroup) -> bool:
        """Whether a run handed to this process may be executed at once.

        If not, it is queued, and so are later ones of the same group: `find_due_runs` returns the
        oldest first.
        """
        if group not in self._queued_groups and self.has_room(used_slots, group):
            return True
        self._queued_groups.add(group)
        return False

    async def find_due_runs(self, runs: Mapping[UUID, HeldRun]) -> list[ClaimableRun]:
        """Return the runs to claim now: as many per group as there is room for.

        Args:
            runs: The runs of this process; read after the query.

        Raises:
            RunsUnavailable: If the database is unavailable.
        """
        await self._find_dead()
        if not self._slots.has_free_slot(len(runs), has_instructions=True):
            return []
        is_full = not self._slots.has_free_slot(len(runs))
        candidates = await run_in_database(
            claimable_runs.load_claimable_runs,
            dead=self.dead_owners,
            each=self.max_per_group,
            limit=self._slots.max_slots,
            new=self._dependencies.can_claim_new_runs,
            only_with_instructions=is_full,
        )
        if not is_full:
            self._queued_groups.clear()
        return self._select_claimable(candidates, runs)

    def _select_claimable(
        self, candidates: list[ClaimableRun], runs: Mapping[UUID, HeldRun]
    ) -> list[ClaimableRun]:
        now, used_slots, selected = time.monotonic(), count_slots(runs.values()), []
        is_sure = self._visibility.record_look(now=now)
        for run in candidates:
            group = (run.user, run.team)
            if run.run in runs or not (
                is_sure or run.owner in self._ended_owners or not run.owner
            ):
                continue
            if not self._slots.has_room(used_slots, group, has_instructions=run.has_instructions):
                self._queued_groups.add(group)
            elif self._claim_rate.try_acquire(run.run, now=now):
                selected.append(run)
                used_slots[group] += 1
        return selected

    async def _find_dead(self) -> None:
        heartbeats = await run_in_database(claimable_runs.load_holders)
        heartbeats.pop(self._me, None)
        now = time.monotonic()
        if not self._visibility.record_look(now=now):
            self._silence.reset()
        # Leases use the database clock, and would not lapse if that was set back.
        silent = self._silence.find_silent(heartbeats, now=now)
        self._ended_owners &= heartbeats.keys()
        unknown_owners = heartbeats.keys() - self._ended_owners
        self._ended_owners |= await asyncio.to_thread(
            owner.find_dead_owners, self._dependencies.home, unknown_owners
        )
        self.dead_owners = self._ended_owners | silent
