"""Dispatches calls: prepares ready ones and launches each once its intent is journalled."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final

from execution import events
from execution.changes import CallNotApproved, TaskKey
from execution.running import failure
from execution.running.dependencies import ExecutorDependencies, Invocation
from execution.running.failure import ApprovalUnusable
from execution.running.in_flight import InFlightCalls
from execution.running.run_state import RunState
from execution.running.steering import RunController

PREPARE_BUDGET_S: Final = 0.01
"""Seconds one run may spend preparing calls before other runs get their turn."""

StateUpdate = Callable[[datetime], None]


class Dispatcher:
    """Begins calls of a run that are ready and have a slot; for one event loop.

    Args:
        state: State of the run.
        controller: Decides whether calls may start.
        calls: Launches and tracks them.
        dependencies: Hold the journal.
        post_update: Queues an update for the next step.
    """

    def __init__(
        self,
        state: RunState,
        controller: RunController,
        calls: InFlightCalls,
        dependencies: ExecutorDependencies,
        *,
        post_update: Callable[[StateUpdate], None],
    ) -> None:
        self.has_more = False
        """Whether the budget ran out before all ready calls were begun."""
        self._state = state
        self._controller = controller
        self._calls = calls
        self._dependencies = dependencies
        self._post_update = post_update
        self._until_s = 0.0

    async def begin_calls(self, at: datetime) -> list[Invocation]:
        """Begin the ready calls that have a slot, within the time budget."""
        started: list[Invocation] = []
        self.has_more = False
        if not self._controller.can_start:
            self._calls.release_other_slots({})
            return started
        self._until_s = time.perf_counter() + PREPARE_BUDGET_S
        state, has_moved = self._state, True
        while has_moved and self._can_begin_more:
            state.queue_ready_calls(at)
            has_moved = False
            for server in tuple(state.queues):
                has_moved |= await self._begin_server_calls(server, started, at)
        self._calls.release_other_slots(state.queues)
        return started

    async def write_and_launch(self, started: Sequence[Invocation]) -> None:
        """Journal the pending changes with the intents, then launch the calls.

        A call with an approval is journalled alone, so that an unusable approval fails only that
        call.
        """
        pending = self._state.pending_changes
        for call in started:
            if call.grant is None:
                pending.add_task_change(call.intent, events.TASK_STARTED)
        changes = pending.take_changes()
        if changes is not None:
            await self._dependencies.journal.record(changes)
        is_single = len(started) == 1
        for call in started:
            if call.grant is not None:
                await self._launch_approved(call, is_single=is_single)
            else:
                self._launch_call(call, is_single=is_single)

    async def _begin_server_calls(
        self, server: str, started: list[Invocation], at: datetime
    ) -> bool:
        """Begin calls to one server; return whether that may have made more calls ready."""
        has_moved = False
        queue = self._state.queues.get(server)
        while queue and self._can_begin_more and self._calls.take_slot(server):
            key = queue.popleft()
            call = await self._state.begin_call(key, at, may_start=self._can_start)
            self.has_more = time.perf_counter() > self._until_s
            if call is not None:
                started.append(call)
                continue
            self._calls.release_slot(server)
            has_moved = True
            queue = self._state.queues.get(server)
        if not queue:
            self._state.queues.pop(server, None)
        return has_moved

    def _can_start(self) -> bool:
        return self._controller.can_start

    @property
    def _can_begin_more(self) -> bool:
        """Whether another call may be begun in this step."""
        return not self.has_more and self._controller.can_start

    async def _launch_approved(self, call: Invocation, *, is_single: bool) -> None:
        changes = self._state.pending_changes.build_single_change(call.intent, events.TASK_STARTED)
        try:
            await self._dependencies.journal.record(changes)
        except CallNotApproved:
            self._state.pending_changes.revert_numbers(changes)
            self._calls.release_slot(call.server)
            call_failure = failure.failure_from_error(ApprovalUnusable())
            self._post_update(
                lambda at: self._state.record_unsent_failure(call.key, call_failure, at)
            )
        else:
            self._launch_call(call, is_single=is_single)

    def _launch_call(self, call: Invocation, *, is_single: bool) -> None:
        """Launch a call, unless the run was cancelled or halted meanwhile."""
        cancel_reason = self._controller.cancel_reason
        if cancel_reason:
            self._calls.release_slot(call.server)
            self._post_update(
                lambda at: self._state.record_cancellation(call.key, cancel_reason, at)
            )
        elif self._controller.is_halted and not self._dependencies.is_sent:
            self._calls.release_slot(call.server)
            self._post_update(lambda at: self._state.revert_call(call.key, at))
        else:
            call = call._replace(on_retry=partial(self._report_retry, call.key))
            self._calls.launch(call, is_single=is_single)

    def _report_retry(self, key: TaskKey, attempt: int, error: BaseException) -> None:
        data = {"attempt": attempt, "code": failure.failure_from_error(error).code}
        self._post_update(partial(self._note_retry, key, data, self._dependencies.clock()))

    def _note_retry(
        self, key: TaskKey, data: Mapping[str, Any], at: datetime, _now: datetime
    ) -> None:
        self._state.count_attempt(key)
        self._state.pending_changes.add_event(
            events.TASK_RETRIED, at, data, task=key[0], item=key[1]
        )
