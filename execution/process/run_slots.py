"""Fair admission of runs to a process, so that no user starves others."""

from __future__ import annotations

from collections import Counter
from typing import Final

from gateway_project.foundation.caller import Caller

SlotGroup = tuple[str, int | None]
"""A user, and the team they act for."""

SLOTS_PER_RESERVED: Final = 16
"""Regular slots per slot reserved for runs with instructions."""


def get_slot_group(caller: Caller) -> SlotGroup:
    """Return the user and team whose share a caller's runs count against."""
    return caller.user, caller.team


class RunSlots:
    """Limits on concurrent runs of a process: in total, and per user and team.

    Runs with instructions (commands or decisions) may use reserved slots, so that ending or
    deciding something takes effect even when all regular slots are taken.

    Args:
        total: Regular slots; at least one.

    Example:
        >>> slots = RunSlots(32)
        >>> ann, bob = ("ann", None), ("bob", None)
        >>> slots.has_room(Counter({ann: 16}), ann), slots.has_room(Counter({ann: 16}), bob)
        (False, True)
        >>> full = Counter({ann: 16, bob: 16})
        >>> slots.has_room(full, bob), slots.has_room(full, bob, has_instructions=True)
        (False, True)
    """

    def __init__(self, total: int) -> None:
        self.max_per_group = max(1, total // 2)
        """Slots one user in one team may take."""
        self._total = total
        self._reserved = -(-total // SLOTS_PER_RESERVED)

    @property
    def max_slots(self) -> int:
        """Total slots, reserved ones included."""
        return self._total + self._reserved

    def has_free_slot(self, taken: int, *, has_instructions: bool = False) -> bool:
        """Whether a slot is free when `taken` are in use."""
        return taken < (self.max_slots if has_instructions else self._total)

    def has_room(
        self,
        taken: Counter[SlotGroup | None],
        group: SlotGroup | None,
        *,
        has_instructions: bool = False,
    ) -> bool:
        """Whether one more run of a group may be carried out.

        Args:
            taken: Slots in use by group; None: group not known yet.
            group: User and team of the run.
            has_instructions: Whether the run rests or waits, and has new commands or decisions.
        """
        # Nobody gets more than half of the reserved slots either.
        each = self.max_per_group + (-(-self._reserved // 2) if has_instructions else 0)
        return (
            self.has_free_slot(taken.total(), has_instructions=has_instructions)
            and taken[group] < each
        )
