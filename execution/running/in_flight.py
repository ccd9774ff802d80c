"""The calls of a run that are in flight, and the slots they hold."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Container, Mapping, Sized
from datetime import datetime
from functools import partial
from typing import Any, Final, Protocol

from execution.running import results
from execution.running.limits import Holder, Waiting
from execution.running.results import Root
from execution.running.standing import Answered, Invocation, Means, Place, Result
from gateway_project.foundation.computing import computed

READ_AT_A_TIME: Final = 16
"""Tasks whose results are read together: they are in memory whole before they are cut down."""

Outcome = Answered | Exception | None
"""What a call came to; None: it was cancelled."""
_Launched = tuple[Place, Invocation, str]
"""A call, and the server in whose slot it is made."""


class OnEnded(Protocol):
    """Told how a call ended."""

    def __call__(self, place: Place, outcome: Outcome, at: datetime, *, root: Root | None) -> None:
        """Take what a call came to, and when; and what references see of it, if any do."""


class Calls:
    """Makes calls, each in a slot, and tells how they ended; for one event loop.

    Each call has a task of the loop. That of a call which ends while no other is under way carries
    the run on itself, and makes the call that follows if that is a single one: tasks that wait for
    one another cost a turn of the loop each, and not three.

    Args:
        means: What calls are made with.
        group: That the tasks of calls belong to.
        on_ended: Told how each call ended; the call counts as in flight until `landed`.
        on_news: Told that a slot was taken which was waited for, or that a call ended from which
            the run is not carried on here.
        go_on: Carries the run on.
        wanted: Tasks that others refer to.
    """

    def __init__(
        self,
        means: Means,
        group: asyncio.TaskGroup,
        *,
        on_ended: OnEnded,
        on_news: Callable[[], None],
        go_on: Callable[[], Awaitable[None]],
        wanted: Container[str],
    ) -> None:
        self._limits = means.limits
        self._whose = means.whose
        self._holder = Holder()
        self._invoke = means.invoke
        self._clock = means.clock
        self._on_ended = on_ended
        self._group = group
        self._on_news = on_news
        self._go_on = go_on
        self._wanted = wanted
        self._in_flight: dict[Place, asyncio.Task[Any]] = {}
        self._under_way = 0
        self._idle: asyncio.Task[Any] | None = None
        self._next: _Launched | None = None
        self._unstarted: dict[Place, str] = {}
        self._held: Counter[str] = Counter()
        self._granted: Counter[str] = Counter()
        self._waiting: dict[str, Waiting] = {}

    def __len__(self) -> int:
        return len(self._in_flight)

    def open(self) -> None:
        """Count for the caller from now on; `close` ends that."""
        self._holder = self._limits.join(self._whose)

    def take_slot(self, server: str) -> bool:
        """Take a slot, or wait for one; when it is there, `on_news` is told and this takes it."""
        if self._granted and self._granted[server]:
            self._granted[server] -= 1
            self._held[server] += 1
            return True
        if server in self._waiting:
            return False
        if self._limits.take(server, self._holder):
            self._held[server] += 1
            return True
        waiting = self._limits.wait(server, self._holder, partial(self._grant, server))
        if waiting is not None:
            self._waiting[server] = waiting
        return False

    def give_back(self, server: str) -> None:
        """Free a slot in which no call was made."""
        self._held[server] -= 1
        self._limits.give_back(server, self._holder)

    def keep_slots(self, wanted: Mapping[str, Sized]) -> None:
        """Free the slots of servers that nothing more is to be called at, and wait for none."""
        if not (self._granted or self._waiting):
            return
        # First of all wait no longer: else what is freed would be granted here once more.
        for server in [name for name in self._waiting if not wanted.get(name)]:
            self._limits.withdraw(self._waiting.pop(server))
        for server in [name for name in self._granted if not wanted.get(name)]:
            for _ in range(self._granted.pop(server)):
                self._limits.give_back(server, self._holder)

    @property
    def is_handed_on(self) -> bool:
        """Whether the task that carries the run on has a call to make, and should do that now."""
        return self._next is not None

    def launch(self, invocation: Invocation, server: str, *, is_single: bool) -> None:
        """Make a call in the slot that was taken for it.

        Args:
            invocation: The call.
            server: Name of its server.
            is_single: Whether no other is launched with it.
        """
        place = (invocation.task, invocation.item)
        self._held[server] -= 1
        self._unstarted[place] = server
        launched = place, invocation, server
        if is_single and self._idle is not None and not self._under_way:
            self._next, self._in_flight[place] = launched, self._idle
        else:
            self._in_flight[place] = self._group.create_task(self._make(launched))
        self._under_way += 1

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
                self._limits.give_back(server, self._holder)
        self._limits.leave(self._holder)

    async def _make(self, launched: _Launched | None) -> None:
        """Make a call, and those that follow from its end one by one."""
        while launched is not None:
            await self._make_one(*launched)
            launched = await self._follow()

    async def _follow(self) -> _Launched | None:
        """Carry the run on from the end of a call; return the call to make in the same task."""
        task = asyncio.current_task()
        if task is None or task.cancelling() or self._under_way:
            self._on_news()
            return None
        self._idle = task
        try:
            await self._go_on()
        finally:
            self._idle = None
        launched, self._next = self._next, None
        return launched

    async def _make_one(self, place: Place, invocation: Invocation, server: str) -> None:
        del self._unstarted[place]
        outcome: Outcome = None
        root: Root | None = None
        try:
            outcome = await self._invoke(invocation)
            if place[0] in self._wanted and not outcome.result.is_error:
                root = await root_of(outcome.result.raw)
        except Exception as error:  # noqa: BLE001 - top of one task: it fails, and not its run
            outcome = error
        finally:
            self._end(place, server, outcome, root)

    def _end(self, place: Place, server: str, outcome: Outcome, root: Root | None = None) -> None:
        self._limits.give_back(server, self._holder)
        self._under_way -= 1
        self._on_ended(place, outcome, self._clock(), root=root)
        if outcome is None:  # its task ends with it
            self._on_news()

    def _grant(self, server: str) -> None:
        self._waiting.pop(server, None)
        self._granted[server] += 1
        self._on_news()


async def root_of(result: Result) -> Root:
    """Return what references see of a result; a large one is read on a thread of its own."""
    small = results.measured_if_small(result)
    return small if small is not None else await computed(results.measured, result)


async def roots_of(given: Mapping[Place, Result]) -> Mapping[Place, Root]:
    """Return what references see of results; many are read on a thread of their own."""
    if len(given) > READ_AT_A_TIME:
        return await computed(_measured, given)
    return {place: await root_of(result) for place, result in given.items()}


def _measured(given: Mapping[Place, Result]) -> Mapping[Place, Root]:
    return {place: results.measured(result) for place, result in given.items()}
