"""How many calls run at once: in all, and at each server; shared fairly among callers."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable
from itertools import count
from typing import NamedTuple


class Holder:
    """The slots that one caller holds, over all of their runs.

    Args:
        caller: Whose they are.
    """

    __slots__ = ("at", "caller", "in_all", "runs")

    def __init__(self, caller: Hashable = None) -> None:
        self.caller = caller
        self.at: Counter[str] = Counter()
        self.in_all = 0
        self.runs = 0


class Waiting(NamedTuple):
    """A request for a slot.

    Attributes:
        number: Of all requests, in order of arrival.
        server: Name of the server.
        holder: Whose request it is.
        granted: Called once, when a slot has been taken for them; never raises.
    """

    number: int
    server: str
    holder: Holder
    granted: Callable[[], None]

    @property
    def rank(self) -> tuple[int, int, int]:
        """Who has fewest slots at the server comes first, then in all, then who came first."""
        return self.holder.at[self.server], self.holder.in_all, self.number


class Limits:
    """Slots for calls, shared by all runs of a process; for one event loop.

    A free slot goes to the caller who holds the fewest at its server; among equals, to whoever
    waits longest. A run waits with one request for each server, so that the runs of a caller take
    turns, however many tasks one of them has ready.

    While several callers have runs here, none of them holds all slots of a server that takes more
    than one call, so that calls that hang shut nobody else out; nor all slots there are. Somebody
    who is alone gets every slot.

    Args:
        total: Calls at once.
        per_server: Calls at once at one server.

    References:
        Max-min fairness: Bertsekas and Gallager, Data Networks (1992), section 6.5.2.
    """

    def __init__(self, *, total: int, per_server: int) -> None:
        self._total = total
        self._per_server = per_server
        self.taken = 0
        """Slots that are taken."""
        self._taken_at: dict[str, int] = {}
        self._lines: dict[str, dict[Holder, deque[Waiting]]] = {}
        self._numbers = count()
        self._holders: dict[Hashable, Holder] = {}

    def join(self, caller: Hashable) -> Holder:
        """Return what counts the slots of a caller, of whom one more run is carried out here."""
        holder = self._holders.setdefault(caller, Holder(caller))
        holder.runs += 1
        return holder

    def leave(self, holder: Holder) -> None:
        """Note that a run of a caller, who joined for it, is carried out here no more."""
        holder.runs -= 1
        if not holder.runs:
            del self._holders[holder.caller]
            self._grant()  # whoever is alone by now gets what was kept for others

    @property
    def waiting(self) -> int:
        """How many requests wait for a slot."""
        return sum(len(line) for lines in self._lines.values() for line in lines.values())

    def take(self, server: str, holder: Holder) -> bool:
        """Take a slot if one is free and nobody waits for it."""
        if server in self._lines or not self._has_room(server, holder):
            return False
        self._occupy(server, holder)
        return True

    def wait(self, server: str, holder: Holder, granted: Callable[[], None]) -> Waiting | None:
        """Have `granted` called once, when a slot has been taken.

        Returns:
            What is waited with; None if `granted` was called already.
        """
        waiting = Waiting(next(self._numbers), server, holder, granted)
        self._lines.setdefault(server, {}).setdefault(holder, deque()).append(waiting)
        self._grant()
        return waiting if self._is_in_line(waiting) else None

    def withdraw(self, waiting: Waiting) -> None:
        """Wait no longer; nothing if a slot was granted already."""
        if self._is_in_line(waiting):
            self._remove(waiting)

    def give_back(self, server: str, holder: Holder) -> None:
        """Free a slot."""
        self.taken -= 1
        self._taken_at[server] -= 1
        if not self._taken_at[server]:
            del self._taken_at[server]
        holder.in_all -= 1
        holder.at[server] -= 1
        if self._lines:
            self._grant()

    def _grant(self) -> None:
        """Give free slots to those who wait."""
        while first := min(self._next_in_line(), key=lambda one: one.rank, default=None):
            self._remove(first)
            self._occupy(first.server, first.holder)
            first.granted()

    def _next_in_line(self) -> list[Waiting]:
        """Return the oldest request of each caller for each server where there is room for it."""
        return [
            line[0]
            for server, lines in self._lines.items()
            for holder, line in lines.items()
            if self._has_room(server, holder)
        ]

    def _has_room(self, server: str, holder: Holder) -> bool:
        if self.taken >= self._total or self._taken_at.get(server, 0) >= self._per_server:
            return False
        # Whoever is refused here holds a slot, so that there is an end to the wait.
        return len(self._holders) < 2 or (
            holder.at[server] < _share(self._per_server) and holder.in_all < _share(self._total)
        )

    def _occupy(self, server: str, holder: Holder) -> None:
        self.taken += 1
        self._taken_at[server] = self._taken_at.get(server, 0) + 1
        holder.in_all += 1
        holder.at[server] += 1

    def _is_in_line(self, waiting: Waiting) -> bool:
        return waiting in self._lines.get(waiting.server, {}).get(waiting.holder, ())

    def _remove(self, waiting: Waiting) -> None:
        """Take a request out of its line; a line that is empty goes."""
        lines = self._lines[waiting.server]
        lines[waiting.holder].remove(waiting)
        if not lines[waiting.holder]:
            del lines[waiting.holder]
        if not lines:
            del self._lines[waiting.server]


def _share(slots: int) -> int:
    """Return how many of some slots one of several callers may hold."""
    return max(1, slots - 1)
