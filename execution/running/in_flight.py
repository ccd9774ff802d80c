"""The calls of a run that are in flight, and the slots they hold."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sized
from datetime import datetime
from functools import partial
from typing import Protocol

from execution.running import results
from execution.running.limits import Waiting
from execution.running.results import Root
from execution.running.standing import Answered, Invocation, Means, Place, Result
from gateway_project.foundation.computing import computed

Outcome = Answered | Exception | None
"""What a call came to; None: it was cancelled."""


class OnEnded(Protocol):
    """Told how a call ended."""

    def __call__(self, place: Place, outcome: Outcome, at: datetime, *, root: Root | None) -> None:
        """Take what a call came to, and when; and what references see of it, if any do."""


class Calls:
    """Makes calls, each in a slot, and tells how they ended; for one event loop.

    Args:
        means: What calls are made with.
        on_ended: Told how each call ended; the call counts as in flight until `landed`.
        on_room: Told that a slot was taken which was waited for.
        wanted: Tasks that others refer to.
    """

    def __init__(
        self,
        means: Means,
        *,
        on_ended: OnEnded,
        on_room: Callable[[], None],
        wanted: Container[str],
    ) -> None:
        self._means = means
        self._on_ended = on_ended
        self._on_room = on_room
        self._wanted = wanted
        self._in_flight: dict[Place, asyncio.Task[None]] = {}
        self._unstarted: dict[Place, str] = {}
        self._held: Counter[str] = Counter()
        self._granted: Counter[str] = Counter()
        self._waiting: dict[str, Waiting] = {}

    def __len__(self) -> int:
        return len(self._in_flight)

    def take_slot(self, server: str) -> bool:
        """Take a slot, or wait for one; when it is there, `on_room` is told and this takes it."""
        if self._granted[server]:
            self._granted[server] -= 1
            self._held[server] += 1
            return True
        if server in self._waiting:
            return False
        if self._means.limits.take(server):
            self._held[server] += 1
            return True
        waiting = self._means.limits.wait(server, partial(self._grant, server))
        if not waiting.is_over:
            self._waiting[server] = waiting
        return False

    def give_back(self, server: str) -> None:
        """Free a slot in which no call was made."""
        self._held[server] -= 1
        self._means.limits.give_back(server)

    def keep_slots(self, wanted: Mapping[str, Sized]) -> None:
        """Free the slots of servers that nothing more is to be called at, and wait for none."""
        if not (self._granted or self._waiting):
            return
        # First of all wait no longer: else what is freed would be granted here once more.
        for server in [name for name in self._waiting if not wanted.get(name)]:
            self._waiting.pop(server).withdraw()
        for server in [name for name in self._granted if not wanted.get(name)]:
            for _ in range(self._granted.pop(server)):
                self._means.limits.give_back(server)

    def launch(self, group: asyncio.TaskGroup, invocation: Invocation, server: str) -> None:
        """Make a call in the slot that was taken for it."""
        place = (invocation.task, invocation.item)
        self._held[server] -= 1
        self._unstarted[place] = server
        self._in_flight[place] = group.create_task(self._make(place, invocation, server))

    def landed(self, place: Place) -> None:
        """Note that how a call ended was taken into account."""
        del self._in_flight[place]

    def cancel(self) -> None:
        """Cancel all calls in flight."""
        for task in self._in_flight.values():
            task.cancel()
        for place in tuple(self._unstarted):  # their tasks end before their first step
            self._end(place, self._unstarted.pop(place), None)

    def close(self) -> None:
        """Hold no slot any more, and wait for none."""
        self.keep_slots({})
        self._held.update(self._unstarted.values())
        self._unstarted.clear()
        for server in tuple(self._held):
            for _ in range(self._held.pop(server)):
                self._means.limits.give_back(server)

    async def _make(self, place: Place, invocation: Invocation, server: str) -> None:
        del self._unstarted[place]
        outcome: Outcome = None
        root: Root | None = None
        try:
            outcome = await self._means.invoke(invocation)
            if place[0] in self._wanted and not outcome.result.is_error:
                root = await root_of(outcome.result.raw)
        except Exception as error:  # noqa: BLE001 - top of one task: it fails, and not its run
            outcome = error
        finally:
            self._end(place, server, outcome, root)

    def _end(self, place: Place, server: str, outcome: Outcome, root: Root | None = None) -> None:
        self._means.limits.give_back(server)
        self._on_ended(place, outcome, self._means.clock(), root=root)

    def _grant(self, server: str) -> None:
        self._waiting.pop(server, None)
        self._granted[server] += 1
        self._on_room()


async def root_of(result: Result) -> Root:
    """Return what references see of a result; a large one is read on a thread of its own."""
    small = results.measured_if_small(result)
    return small if small is not None else await computed(results.measured, result)
