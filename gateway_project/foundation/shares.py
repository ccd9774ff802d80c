"""Fair shares of what a process can hold: connections, streams, sessions, threads, bytes.

A fixed limit for each holder lets a handful of them use up everything. Here a holder may have only
as much as a fixed fraction of what is free at that moment: the more is held, the less anybody may
have, so that something is always left for a holder that comes later.

References:
    Choudhury and Hahne, Dynamic queue length thresholds for shared-memory packet switches,
    IEEE/ACM Transactions on Networking 6 (1998).
"""

from __future__ import annotations

import threading
from collections.abc import Hashable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Bound:
    """How much may be held.

    Attributes:
        total: By all holders together.
        each: By one of them.
        fraction: Of what is free, the part that one may hold. With n holders that take all they
            can, 1 / (1 + n · fraction) of the total stays free.

    Example:
        >>> bound = Bound(total=100, each=20, fraction=0.25)
        >>> bound.admits(held=19, in_all=19), bound.admits(held=20, in_all=20)
        (True, False)
        >>> bound.admits(held=5, in_all=80), bound.admits(held=5, in_all=80, is_privileged=True)
        (False, True)
    """

    total: int
    each: int
    fraction: float = 0.25

    def admits(
        self, *, held: int, in_all: int, amount: int = 1, is_privileged: bool = False
    ) -> bool:
        """Whether a holder may take more.

        Args:
            held: By this holder.
            in_all: By all holders.
            amount: What this one wants to take.
            is_privileged: Whether the holder may also take what is left for others.
        """
        if held + amount > self.each or in_all + amount > self.total:
            return False
        return is_privileged or held + amount <= max(self.fraction * (self.total - in_all), 1)


class Shares:
    """Counts what holders have; may be used from any thread.

    Attributes:
        bound: How much they may have.
    """

    def __init__(self, bound: Bound) -> None:
        self.bound = bound
        self._lock = threading.Lock()
        self._held: dict[Hashable, int] = {}  # a Counter looks a missing holder up in Python
        self._in_all = 0

    def __len__(self) -> int:
        return self._in_all

    def count_of(self, holder: Hashable) -> int:
        """Return what a holder has."""
        return self._held.get(holder, 0)

    def take(self, holder: Hashable, amount: int = 1, *, is_privileged: bool = False) -> bool:
        """Take an amount for a holder, who returns it by `give_back`; False: there is no room."""
        with self._lock:
            if not self.has_room(holder, amount, is_privileged=is_privileged):
                return False
            self._held[holder] = self._held.get(holder, 0) + amount
            self._in_all += amount
        return True

    def has_room(self, holder: Hashable, amount: int = 1, *, is_privileged: bool = False) -> bool:
        """Whether `take` would succeed now."""
        return self.bound.admits(
            held=self._held.get(holder, 0),
            in_all=self._in_all,
            amount=amount,
            is_privileged=is_privileged,
        )

    def give_back(self, holder: Hashable, amount: int = 1) -> None:
        """Return what a holder took."""
        with self._lock:
            left = self._held.get(holder, 0) - amount
            self._in_all -= amount
            if left:
                self._held[holder] = left
            else:
                self._held.pop(holder, None)
