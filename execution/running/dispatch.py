"""Begins calls and makes them, each once the intent to make it is written down."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final

from execution import events
from execution.changes import NotApproved
from execution.running import failure
from execution.running.failure import ApprovalUnusable
from execution.running.in_flight import Calls
from execution.running.run_state import RunState
from execution.running.standing import Invocation, Means, Place
from execution.running.steering import Steering
from execution.running.task_changes import Begun

MOST_AT_A_TIME_S: Final = 0.05
"""Seconds that one run prepares calls before others have their turn."""

Happening = Callable[[datetime], None]


class Dispatcher:
    """Begins the calls of a run that may start and have a slot; for one event loop.

    Args:
        state: Of the run.
        steering: Says whether calls may start.
        calls: Makes them.
        means: What they are written down with.
        tell: Takes what is to take effect with the next write.
    """

    def __init__(
        self,
        state: RunState,
        steering: Steering,
        calls: Calls,
        means: Means,
        *,
        tell: Callable[[Happening], None],
    ) -> None:
        self.has_more = False
        """Whether the time was up before all was begun that may be."""
        self._state = state
        self._steering = steering
        self._calls = calls
        self._means = means
        self._tell = tell
        self._until_s = 0.0

    def begin(self, at: datetime) -> list[Begun]:
        """Begin as many calls as may start, have a slot, and can be prepared in a moment."""
        begun: list[Begun] = []
        self.has_more = False
        if not self._steering.may_start:
            self._calls.keep_slots({})
            return begun
        self._until_s = time.perf_counter() + MOST_AT_A_TIME_S
        state, has_moved = self._state, True
        while has_moved and not self.has_more:
            state.make_ready(at)
            has_moved = False
            for server in tuple(state.queues):
                has_moved |= self._begin_at(server, begun, at)
        self._calls.keep_slots(state.queues)
        return begun

    async def write(self, begun: Sequence[Begun]) -> None:
        """Write down what has changed, intents with it, and make the calls then.

        An approval is used up in a write of its own: if it cannot be, only its call fails.
        """
        draft = self._state.draft
        for one in begun:
            if one.leave is None:
                draft.task(one.intent, events.TASK_STARTED)
        changes = draft.take()
        if changes is not None:
            await self._means.journal.record(changes)
        is_single = len(begun) == 1
        for one in begun:
            if one.leave is not None:
                await self._write_approved(one, is_single=is_single)
            else:
                self._launch(one, is_single=is_single)

    def _begin_at(self, server: str, begun: list[Begun], at: datetime) -> bool:
        """Begin calls to one server; say whether more may have become ready by that."""
        has_moved = False
        queue = self._state.queues.get(server)
        while queue and not self.has_more and self._calls.take_slot(server):
            one = self._state.begin(queue.popleft(), at)
            self.has_more = time.perf_counter() > self._until_s
            if one is not None:
                begun.append(one)
                continue
            self._calls.give_back(server)
            has_moved = True
            queue = self._state.queues.get(server)
        if not queue:
            self._state.queues.pop(server, None)
        return has_moved

    async def _write_approved(self, one: Begun, *, is_single: bool) -> None:
        changes = self._state.draft.alone(one.intent, events.TASK_STARTED)
        try:
            await self._means.journal.record(changes)
        except NotApproved:
            self._state.draft.refused(changes)
            self._calls.give_back(one.server)
            why = failure.of_error(ApprovalUnusable())
            self._tell(lambda at: self._state.fail_unsent(one.place, why, at))
        else:
            self._launch(one, is_single=is_single)

    def _launch(self, one: Begun, *, is_single: bool) -> None:
        """Make a call, unless it is not wanted any more by now."""
        called_off = self._steering.called_off
        if called_off:
            self._calls.give_back(one.server)
            self._tell(lambda at: self._state.cancel(one.place, called_off, at))
        elif self._steering.is_halted:
            self._calls.give_back(one.server)
            self._tell(lambda at: self._state.take_back(one.place, at))
        else:
            invocation = self._invocation(one)
            self._calls.launch(invocation, one.server, is_single=is_single)

    def _invocation(self, one: Begun) -> Invocation:
        task, item = one.place
        return Invocation(
            task,
            item,
            tool=one.task.tool,
            arguments=one.arguments,
            timeout_s=one.task.timeout_s,
            leave=one.leave,
            on_retry=partial(self._retried, one.place),
            on_progress=partial(self._means.on_progress, task, item),
        )

    def _retried(self, place: Place, attempt: int, error: BaseException) -> None:
        data = {"attempt": attempt, "code": failure.of_error(error).code}
        self._tell(partial(self._note_retry, place, data, self._means.clock()))

    def _note_retry(
        self, place: Place, data: Mapping[str, Any], at: datetime, _now: datetime
    ) -> None:
        self._state.count_attempt(place)
        self._state.draft.event(events.TASK_RETRIED, at, data, task=place[0], item=place[1])
