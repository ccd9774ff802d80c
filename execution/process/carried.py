"""The runs of a process: what it knows of each from the moment it is about to take it."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from uuid import UUID

from execution.process.held_run import Live
from execution.process.places import Whose


@dataclass(eq=False)
class Carried:
    """A run that this process is about to take, or holds.

    Attributes:
        task: Carries it out, and says whether it was to be had.
        live: What it is made of; None before it is taken, and once it is let go.
        whose: Whom it counts for; None: it is not known yet.
        is_told: Whether it was told something before there was anybody to tell.
        is_given_back: Whether it is known to be nobody's again.
        is_cut: Whether its caller has lost rights: it is to be judged anew.
    """

    task: asyncio.Task[bool] | None = None
    live: Live | None = None
    whose: Whose | None = None
    is_told: bool = False
    is_given_back: bool = False
    is_cut: bool = False


class CarriedRuns(dict[UUID, Carried]):
    """The runs that a process is about to take, or holds, by id."""

    def held(self) -> dict[UUID, Live]:
        """Return those that are its own, as far as it knows."""
        return {
            run: one.live for run, one in self.items() if one.live and one.live.journal.is_held
        }

    def live(self) -> list[Live]:
        """Return those that are carried on."""
        return [one.live for one in self.values() if one.live]

    def taken(self) -> Counter[Whose | None]:
        """Return how many places each has; None: those of whom it is not known yet."""
        return Counter(one.whose for one in self.values())

    async def ended(self, *, wait_s: float) -> None:
        """Wait until none is carried out any more, or the time is up."""
        tasks = [one.task for one in self.values() if one.task]
        if tasks:
            await asyncio.wait(tasks, timeout=wait_s)

    def cancel(self) -> None:
        """Stop carrying out whatever is."""
        for one in self.values():
            if one.task:
                one.task.cancel()
