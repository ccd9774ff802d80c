"""The calls of a run in flight, and the slots they hold."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Container, Mapping, Sized
from datetime import datetime
from functools import partial
from typing import Any, Final, Protocol

from execution.call import CallOutcome
from execution.changes import TaskKey
from execution.running import results
from execution.running.dependencies import (
    ExecutorDependencies,
    Invocation,
    RawResult,
)
from execution.running.limits import SlotHolder, SlotRequest
from execution.running.results import ResultRoot
from gateway_project.foundation.computing import run_in_worker_thread
from gateway_project.foundation.task_group import TaskGroup

RESULT_BATCH_SIZE: Final = 16
"""Tasks whose results are loaded together; whole results are in memory until reduced."""

CallCompletion = CallOutcome | Exception | None
"""A call's outcome; None: it was cancelled."""


class OnCallEnded(Protocol):
    """Callback for the end of a call."""

    def __call__(
        self, key: TaskKey, outcome: CallCompletion, at: datetime, *, root: ResultRoot | None
    ) -> None:
        """Receive a call's outcome and time, and its result root if other tasks refer to it."""


class InFlightCalls:
    """Makes calls, each in a slot, and reports their outcomes; for one event loop.

    Each call has an asyncio task. If a call ends while no other is in flight, its task continues
    the run itself and makes the following call if that is a single one: chained tasks then cost
    one turn of the loop each instead of three.

    Args:
        dependencies: Make calls and hold the slots.
        group: Task group of the calls.
        on_ended: Called with each outcome; the call counts as in flight until `mark_handled`.
        wake_up: Called when a requested slot is granted, or when a call has ended and its task
            does not continue the run.
        continue_run: Continues the run.
        referenced_tasks: Tasks that others refer to.
    """

    def __init__(
        self,
        dependencies: ExecutorDependencies,
        group: TaskGroup,
        *,
        on_ended: OnCallEnded,
        wake_up: Callable[[], None],
        continue_run: Callable[[], Awaitable[None]],
        referenced_tasks: Container[str],
    ) -> None:
        self._call_slots = dependencies.call_slots
        self._slot_group = dependencies.slot_group
        self._slot_holder = SlotHolder()
        self._invoke = dependencies.invoke
        self._clock = dependencies.clock
        self._on_ended = on_ended
        self._group = group
        self._wake_up = wake_up
        self._take_steps = continue_run
        self._referenced_tasks = referenced_tasks
        self._in_flight: dict[TaskKey, asyncio.Task[Any]] = {}
        self._running_count = 0
        self._idle_task: asyncio.Task[Any] | None = None
        self._next_call: Invocation | None = None
        self._unstarted: dict[TaskKey, str] = {}
        self._held_slots: Counter[str] = Counter()
        self._granted_slots: Counter[str] = Counter()
        self._slot_requests: dict[str, SlotRequest] = {}

    def __len__(self) -> int:
        return len(self._in_flight)

    def open(self) -> None:
        """Join the caller's slot group; `close` leaves it."""
        self._slot_holder = self._call_slots.join(self._slot_group)

    def take_slot(self, server: str) -> bool:
        """Take a slot, or request one; `wake_up` is called when it is granted; take it then."""
        if self._granted_slots and self._granted_slots[server]:
            self._granted_slots[server] -= 1
            self._held_slots[server] += 1
            return True
        if server in self._slot_requests:
            return False
        if self._call_slots.try_take(server, self._slot_holder):
            self._held_slots[server] += 1
            return True
        request = self._call_slots.request_slot(
            server, self._slot_holder, partial(self._accept_slot, server)
        )
        if request is not None:
            self._slot_requests[server] = request
        return False

    def release_slot(self, server: str) -> None:
        """Release a slot in which no call was made."""
        self._held_slots[server] -= 1
        self._call_slots.release_slot(server, self._slot_holder)

    def release_other_slots(self, referenced_tasks: Mapping[str, Sized]) -> None:
        """Release granted slots and withdraw requests for servers with no queued call."""
        if not (self._granted_slots or self._slot_requests):
            return
        # Withdraw first: else released slots would be granted here again.
        for server in [name for name in self._slot_requests if not referenced_tasks.get(name)]:
            self._call_slots.withdraw(self._slot_requests.pop(server))
        for server in [name for name in self._granted_slots if not referenced_tasks.get(name)]:
            for _ in range(self._granted_slots.pop(server)):
                self._call_slots.release_slot(server, self._slot_holder)

    @property
    def has_next_call(self) -> bool:
        """Whether the task continuing the run has a call to make next."""
        return self._next_call is not None

    def launch(self, call: Invocation, *, is_single: bool) -> None:
        """Launch a call in the slot that was taken for it.

        Args:
            call: The call.
            is_single: Whether it is the only call launched in this step.
        """
        key = call.key
        self._held_slots[call.server] -= 1
        self._unstarted[key] = call.server
        if is_single and self._idle_task is not None and not self._running_count:
            self._next_call, self._in_flight[key] = call, self._idle_task
        else:
            self._in_flight[key] = self._group.create_task(self._run_calls(call))
        self._running_count += 1

    def mark_handled(self, key: TaskKey) -> None:
        """Note that a call's outcome has been applied."""
        del self._in_flight[key]

    def cancel_all(self) -> None:
        """Cancel all calls in flight."""
        for task in self._in_flight.values():
            task.cancel()
        for key in tuple(self._unstarted):  # cancelled before their first step
            self._end_call(key, self._unstarted.pop(key), None)

    def close(self) -> None:
        """Release all slots and withdraw all requests."""
        self.release_other_slots({})
        self._held_slots.update(self._unstarted.values())
        self._unstarted.clear()
        for server in tuple(self._held_slots):
            for _ in range(self._held_slots.pop(server)):
                self._call_slots.release_slot(server, self._slot_holder)
        self._call_slots.leave(self._slot_holder)

    async def _run_calls(self, launched: Invocation | None) -> None:
        """Make a call, and then single follow-up calls, one by one."""
        while launched is not None:
            await self._make_call(launched)
            launched = await self._continue_run()

    async def _continue_run(self) -> Invocation | None:
        """Continue the run after a call; return the call to make in the same task, if any."""
        task = asyncio.current_task()
        if task is None or task.cancelling() or self._running_count:
            self._wake_up()
            return None
        self._idle_task = task
        try:
            await self._take_steps()
        finally:
            self._idle_task = None
        launched, self._next_call = self._next_call, None
        return launched

    async def _make_call(self, call: Invocation) -> None:
        del self._unstarted[call.key]
        outcome: CallCompletion = None
        root: ResultRoot | None = None
        try:
            outcome = await self._invoke(call)
            if call.task in self._referenced_tasks and not outcome.result.is_error:
                root = await load_root(outcome.result.raw)
        except Exception as error:  # noqa: BLE001 - top of one task: it fails, and not its run
            outcome = error
        finally:
            self._end_call(call.key, call.server, outcome, root)

    def _end_call(
        self, key: TaskKey, server: str, outcome: CallCompletion, root: ResultRoot | None = None
    ) -> None:
        self._call_slots.release_slot(server, self._slot_holder)
        self._running_count -= 1
        self._on_ended(key, outcome, self._clock(), root=root)
        if outcome is None:  # its task ends with it
            self._wake_up()

    def _accept_slot(self, server: str) -> None:
        self._slot_requests.pop(server, None)
        self._granted_slots[server] += 1
        self._wake_up()


async def load_root(result: RawResult) -> ResultRoot:
    """Return the root of a result; a large one is parsed on a worker thread."""
    small = results.measure_small_root(result)
    return small if small is not None else await run_in_worker_thread(results.measure_root, result)


async def load_roots(raw_results: Mapping[TaskKey, RawResult]) -> Mapping[TaskKey, ResultRoot]:
    """Return the roots of results; many are parsed on a worker thread."""
    if len(raw_results) > RESULT_BATCH_SIZE:
        return await run_in_worker_thread(_measure_roots, raw_results)
    return {key: await load_root(result) for key, result in raw_results.items()}


def _measure_roots(raw_results: Mapping[TaskKey, RawResult]) -> Mapping[TaskKey, ResultRoot]:
    return {key: results.measure_root(result) for key, result in raw_results.items()}
