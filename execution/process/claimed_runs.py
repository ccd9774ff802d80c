"""The runs of a process, from the moment it tries to claim them."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from uuid import UUID

from execution.process.live_run import LiveRun
from execution.process.run_slots import SlotGroup


@dataclass(eq=False)
class ClaimedRun:
    """A run that this process is claiming, or holds.

    Attributes:
        task: Executes it; returns whether it could be claimed.
        live_run: Its live parts; None before the claim and after the release.
        slot_group: Whose share it counts against; None: not known yet.
        has_instructions: Whether instructions arrived before it was live.
        is_released: Whether its release is confirmed.
        has_lost_rights: Whether its caller's rights have changed, so that it must be claimed anew.
    """

    task: asyncio.Task[bool] | None = None
    live_run: LiveRun | None = None
    slot_group: SlotGroup | None = None
    has_instructions: bool = False
    is_released: bool = False
    has_lost_rights: bool = False


class ClaimedRuns(dict[UUID, ClaimedRun]):
    """The runs that a process is claiming or holds, by id."""

    def find_held(self) -> dict[UUID, LiveRun]:
        """Return the runs held, as far as this process knows."""
        return {
            run: claimed.live_run
            for run, claimed in self.items()
            if claimed.live_run and claimed.live_run.journal.is_held
        }

    def list_live(self) -> list[LiveRun]:
        """Return the live runs."""
        return [claimed.live_run for claimed in self.values() if claimed.live_run]

    def count_slots(self) -> Counter[SlotGroup | None]:
        """Return the slots in use by group; None: group not known yet."""
        return Counter(claimed.slot_group for claimed in self.values())

    async def wait_until_ended(self, *, wait_s: float) -> None:
        """Wait until all have ended, or the time is up."""
        tasks = [claimed.task for claimed in self.values() if claimed.task]
        if tasks:
            await asyncio.wait(tasks, timeout=wait_s)

    def cancel_all(self) -> None:
        """Cancel all tasks."""
        for claimed in self.values():
            if claimed.task:
                claimed.task.cancel()
