"""The calls of a run that a person is asked about."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Final
from uuid import UUID

from execution.call import Leave, Prepared
from execution.running.resume_state import Asked
from execution.running.standing import Place

MAX_WAITING: Final = 100
"""Calls of a run about which a person is asked at once; nobody looks through more."""


class Questions:
    """Which calls wait for a person, which were approved, and which are to be asked about later.

    Args:
        asked: Calls that a person is asked about, or has approved.
    """

    def __init__(self, asked: Mapping[Place, Asked]) -> None:
        self.asked = dict(asked)
        """What was asked; empty for nearly every run, which spares looking further."""
        self._waiting = {place for place, one in asked.items() if one.approval is None}
        self.held: deque[Place] = deque()
        """Calls that were put off."""
        self._asking = {task for task, _ in asked}

    def ask(self, place: Place, prepared: Prepared) -> bool:
        """Note that a person is asked about a call; False: too many calls wait, it is put off."""
        self._asking.add(place[0])
        if self.puts_off(place):
            return False
        self.asked[place] = Asked(prepared.definition_hash, prepared.arguments_digest)
        self._waiting.add(place)
        return True

    def puts_off(self, place: Place) -> bool:
        """Whether a call is put off until fewer wait, since one of its task was asked about."""
        if len(self._waiting) < MAX_WAITING or place[0] not in self._asking:
            return False
        if place in self.asked:
            return False
        self.held.append(place)
        return True

    def next(self) -> list[Place]:
        """Return the calls that were put off and may be asked about now."""
        room = max(MAX_WAITING - len(self._waiting), 0)
        return [self.held.popleft() for _ in range(min(room, len(self.held)))]

    def leave(self, place: Place, prepared: Prepared) -> Leave | None:
        """Return a person's approval of a call; None if it needs none, or nobody was asked.

        Raises:
            ApprovalUnusable: If another call was approved.
        """
        asked = self.asked.get(place)
        self.withdraw(place)
        return asked.leave(prepared) if asked and prepared.asks else None

    def find(self, place: Place) -> Asked | None:
        """Return what was asked about a call; None: nothing."""
        return self.asked.get(place)

    def approve(self, place: Place, approval: UUID) -> None:
        """Note that a person has approved a call."""
        self.asked[place] = self.asked[place]._replace(approval=approval)
        self._waiting.discard(place)

    def withdraw(self, place: Place) -> None:
        """Note that nobody needs to decide about a call any more."""
        self.asked.pop(place, None)
        self._waiting.discard(place)

    def places(self) -> list[Place]:
        """Return the calls that were asked about and have not been made."""
        return list(self.asked)

    def waiting(self) -> list[Place]:
        """Return the calls that wait for a person."""
        return list(self._waiting)

    def restart(self) -> None:
        """Forget what was put off, since all that may be made is looked at anew."""
        self.held.clear()
