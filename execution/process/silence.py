"""Which processes have given no sign of life for long, by a clock that nobody sets.

Nobody can give one, or see one, while the database is away: that tells nothing about anybody.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping


class Silence:
    """How long other processes have given no sign of life; as far as this one has looked.

    Args:
        after_s: Seconds after which a process counts as silent.
    """

    def __init__(self, *, after_s: float) -> None:
        self._after_s = after_s
        self._since: dict[str, tuple[Hashable, float]] = {}

    def forget(self) -> None:
        """Begin anew: nobody could give a sign of life."""
        self._since.clear()

    def silent(self, signs: Mapping[str, Hashable], *, now: float) -> set[str]:
        """Return those whose sign of life has been the same for long.

        Args:
            signs: What changes with each sign of life, by process.
            now: Seconds, of a clock that never goes back.

        Example:
            >>> silence = Silence(after_s=10)
            >>> [silence.silent({"a": sign}, now=now) for now, sign in ((0, 1), (9, 2), (15, 2))]
            [set(), set(), set()]
            >>> silence.silent({"a": 2, "b": 1}, now=20)
            {'a'}
        """
        before = self._since
        self._since = {
            one: before[one] if one in before and before[one][0] == sign else (sign, now)
            for one, sign in signs.items()
        }
        return {one for one, (_, since) in self._since.items() if now - since > self._after_s}


class Sight:
    """Whether a process could look for others lately; if not, neither could they be seen.

    Leases lapse while the database is away, and whoever finds it back first would take the runs of
    all others, who live and have not come to say so yet.

    However slow the database is, there is an end to that.

    Args:
        gap_s: Seconds without a look after which others are given time.
        spare_s: Seconds that they are given.

    Example:
        >>> sight = Sight(gap_s=10, spare_s=15)
        >>> [sight.looked(now=now) for now in (0, 5, 25, 30, 40)]
        [True, True, False, False, True]
    """

    def __init__(self, *, gap_s: float, spare_s: float) -> None:
        self._gap_s = gap_s
        self._spare_s = spare_s
        self._looked_at: float | None = None
        self._spares_until: float | None = None

    def looked(self, *, now: float) -> bool:
        """Note that this process has looked; say whether what it saw tells who is gone."""
        gap_s = 0.0 if self._looked_at is None else now - self._looked_at
        self._looked_at = now
        if gap_s > (self._gap_s if self._spares_until is None else self._spare_s):
            self._spares_until = now + self._spare_s
        elif self._spares_until is not None and now >= self._spares_until:
            self._spares_until = None
        return self._spares_until is None
