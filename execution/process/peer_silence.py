"""Detects silent processes, by a monotonic clock.

While the database is unavailable, silence says nothing about any process.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping


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
