"""Says who gets a place among the runs of a process, so that nobody starves others."""

from __future__ import annotations

from collections import Counter
from typing import Final

from gateway_project.foundation.caller import Caller

Whose = tuple[str, int | None]
"""A user, and the team that they act for."""

KEPT: Final = 16
"""Beside so many places there is one for runs that were told something."""


def whose(caller: Caller) -> Whose:
    """Return whom the runs of a caller count for."""
    return caller.user, caller.team


class Places:
    """How many runs a process carries out at once, in all and of one user in one team.

    A run that was told something takes one of the places that are kept beside if there is no
    other, so that whoever ends or decides something is heard while all else is taken.

    Args:
        total: Runs at once, without those; at least one.

    Example:
        >>> places = Places(32)
        >>> ann, bob = ("ann", None), ("bob", None)
        >>> places.has_room(Counter({ann: 16}), ann), places.has_room(Counter({ann: 16}), bob)
        (False, True)
        >>> full = Counter({ann: 16, bob: 16})
        >>> places.has_room(full, bob), places.has_room(full, bob, is_told=True)
        (False, True)
    """

    def __init__(self, total: int) -> None:
        self.each = max(1, total // 2)
        """Most that one user in one team is given."""
        self._total = total
        self._kept = -(-total // KEPT)

    @property
    def most(self) -> int:
        """Most that are given, those that are kept included."""
        return self._total + self._kept

    def has_any(self, taken: int, *, is_told: bool = False) -> bool:
        """Whether somebody may get a place, when so many are taken."""
        return taken < (self.most if is_told else self._total)

    def has_room(
        self, taken: Counter[Whose | None], whose: Whose | None, *, is_told: bool = False
    ) -> bool:
        """Whether one more run may be carried out.

        Args:
            taken: Places that each has; None: of those of whom it is not known yet.
            whose: Who is to get it.
            is_told: Whether the run rests, or waits, and was told something.
        """
        # Of the kept ones too nobody gets more than half.
        each = self.each + (-(-self._kept // 2) if is_told else 0)
        return self.has_any(taken.total(), is_told=is_told) and taken[whose] < each
