"""Slots: limits on concurrent calls, in total and per server, shared fairly among callers."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable
from itertools import count
from typing import NamedTuple


class SlotHolder:
    """The slots that one caller holds across all of their runs."""

    __slots__ = ("caller", "per_server", "runs", "total")

    def __init__(self, caller: Hashable = None) -> None:
        self.caller = caller
        self.per_server: Counter[str] = Counter()
        self.total = 0
        self.runs = 0


class SlotRequest(NamedTuple):
    """A request for a slot.

    Attributes:
        number: Sequence number, in order of arrival.
        server: Name of the server.
        holder: The requesting holder.
        on_granted: Called once, when a slot has been taken for the holder; never raises.
    """

    number: int
    server: str
    holder: SlotHolder
    on_granted: Callable[[], None]

    @property
    def rank(self) -> tuple[int, int, int]:
        """Priority: fewest slots at the server, then fewest in total, then first come."""
        return self.holder.per_server[self.server], self.holder.total, self.number


class CallSlots:
    """Call slots shared by all runs of a process; for one event loop.

    A free slot goes to the caller holding the fewest at its server; among equals, to the longest
    waiting. A run waits with one request per server, so that the runs of a caller take turns,
    however many ready tasks one of them has.

    While several callers have runs here, none of them may hold all slots of a server (unless it
    has only one), nor all slots in total, so that hanging calls shut nobody else out. A sole
    caller may take every slot.

    Args:
        total: Maximum concurrent calls.
        per_server: Maximum concurrent calls per server.

    References:
        Max-min fairness: Bertsekas and Gallager, Data Networks (1992), section 6.5.2.
    """

    def __init__(self, *, total: int, per_server: int) -> None:
        self._total = total
        self._per_server = per_server
        self.taken_count = 0
        """Slots in use."""
        self._taken_at: dict[str, int] = {}
        self._queues: dict[str, dict[SlotHolder, deque[SlotRequest]]] = {}
        self._numbers = count()
        self._holders: dict[Hashable, SlotHolder] = {}

    def join(self, caller: Hashable) -> SlotHolder:
        """Register a run of a caller; return the caller's slot holder."""
        holder = self._holders.setdefault(caller, SlotHolder(caller))
        holder.runs += 1
        return holder

    def leave(self, holder: SlotHolder) -> None:
        """Unregister a run of a caller that joined."""
        holder.runs -= 1
        if not holder.runs:
            del self._holders[holder.caller]
            self._grant_slots()  # a sole remaining caller gets the reserved slots

    @property
    def waiting_count(self) -> int:
        """Number of waiting requests."""
        return sum(len(queue) for queues in self._queues.values() for queue in queues.values())

    def try_take(self, server: str, holder: SlotHolder) -> bool:
        """Take a slot if one is free and no request waits for it."""
        if server in self._queues or not self._has_room(server, holder):
            return False
        self._occupy(server, holder)
        return True

    def request_slot(
        self, server: str, holder: SlotHolder, on_granted: Callable[[], None]
    ) -> SlotRequest | None:
        """Request a slot; `on_granted` is called once when it has been taken.

        Returns:
            The request; None if `on_granted` was called already.
        """
        request = SlotRequest(next(self._numbers), server, holder, on_granted)
        self._queues.setdefault(server, {}).setdefault(holder, deque()).append(request)
        self._grant_slots()
        return request if self._is_queued(request) else None

    def withdraw(self, request: SlotRequest) -> None:
        """Withdraw a request; no effect if it was granted already."""
        if self._is_queued(request):
            self._remove(request)

    def release_slot(self, server: str, holder: SlotHolder) -> None:
        """Release a slot."""
        self.taken_count -= 1
        self._taken_at[server] -= 1
        if not self._taken_at[server]:
            del self._taken_at[server]
        holder.total -= 1
        holder.per_server[server] -= 1
        if self._queues:
            self._grant_slots()

    def _grant_slots(self) -> None:
        """Grant free slots to waiting requests."""
        while request := min(
            self._find_next_requests(), key=lambda request: request.rank, default=None
        ):
            self._remove(request)
            self._occupy(request.server, request.holder)
            request.on_granted()

    def _find_next_requests(self) -> list[SlotRequest]:
        """Return the oldest request per caller and server that has room."""
        return [
            queue[0]
            for server, queues in self._queues.items()
            for holder, queue in queues.items()
            if self._has_room(server, holder)
        ]

    def _has_room(self, server: str, holder: SlotHolder) -> bool:
        if self.taken_count >= self._total or self._taken_at.get(server, 0) >= self._per_server:
            return False
        # A caller refused here holds a slot, so the wait is finite.
        return len(self._holders) < 2 or (
            holder.per_server[server] < _max_share(self._per_server)
            and holder.total < _max_share(self._total)
        )

    def _occupy(self, server: str, holder: SlotHolder) -> None:
        self.taken_count += 1
        self._taken_at[server] = self._taken_at.get(server, 0) + 1
        holder.total += 1
        holder.per_server[server] += 1

    def _is_queued(self, request: SlotRequest) -> bool:
        return request in self._queues.get(request.server, {}).get(request.holder, ())

    def _remove(self, request: SlotRequest) -> None:
        """Remove a request from its queue, and the queue if it is empty."""
        queues = self._queues[request.server]
        queues[request.holder].remove(request)
        if not queues[request.holder]:
            del queues[request.holder]
        if not queues:
            del self._queues[request.server]


def _max_share(slots: int) -> int:
    """Return how many slots one of several callers may hold."""
    return max(1, slots - 1)
