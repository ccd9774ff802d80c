"""How a run stands while a process holds it, and what each happening changes about it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from execution import events
from execution.call import Leave, Prepared
from execution.changes import WHOLE_TASK
from execution.planning.parse import dump
from execution.planning.references import NO_ITEM
from execution.planning.replan import merge
from execution.running import failure, for_each, task_changes
from execution.running.draft import Draft
from execution.running.failure import Failure
from execution.running.for_each import ItemCalls
from execution.running.roots import Roots
from execution.running.schedule import Schedule, Skipped
from execution.running.standing import Place, Standing
from execution.running.taken import Asked, results, take
from execution.running.task_changes import Begun, Cause, server_of
from execution.status import TaskStatus
from execution.workflow import OnError, Workflow

Prepare = Callable[[str, Mapping[str, Any]], Prepared]
_NOT_BEGUN = (TaskStatus.PENDING, TaskStatus.WAITING_APPROVAL, TaskStatus.SKIPPED)
_DECIDABLE = (TaskStatus.WAITING_APPROVAL, TaskStatus.PENDING)


class RunState:
    """The tasks of a run: which may be begun, and what becomes of the others as each ends.

    All that changes goes into `draft`. Nothing here waits, and nothing is called but `prepare`.
    A task with a list is running as soon as its list is known; its calls are its items'.

    Args:
        standing: How the run stood when it was taken.
        prepare: Checks a call and says what it takes.
        keeps_all: Whether to keep results that nothing refers to, since nothing brings them back.
    """

    def __init__(self, standing: Standing, prepare: Prepare, *, keeps_all: bool) -> None:
        taken = take(standing)
        self.draft = Draft(standing.run, standing.epoch, last_seq=standing.last_seq)
        self.queues: dict[str, deque[Place]] = {}
        self.workflow = standing.workflow
        self.cause = taken.cause
        self.is_cut_short = False
        """Whether something of it was called off."""
        self.schedule = Schedule(standing.workflow, standing.options, taken.tasks)
        self.schedule.is_stopped = taken.is_stopped
        self._options = standing.options
        self._prepare = prepare
        self._attempts = {place: known.attempts for place, known in standing.tasks.items()}
        self._lists: dict[str, ItemCalls] = {}
        self._items = taken.items
        self._asked = taken.asked
        self._lost = taken.lost
        self._stopped = taken.stopped
        self._roots = Roots(standing.workflow, self._undone(), keeps_all=keeps_all)
        given = results(standing)
        self.recalled(given, self.schedule.tasks if keeps_all else {task for task, _ in given})

    def open(self, at: datetime) -> None:
        """Write down what was lost with the process before, and find what is ready."""
        for place in self._lost:
            self.draft.stands(place, TaskStatus.UNKNOWN, at)
        self._skip(self.schedule.catch_up(), at)

    def reopen_lists(self, at: datetime) -> None:
        """Go on with the lists that were begun; what they refer to must be in memory."""
        for task in tuple(self._items):
            if self.schedule.status.get(task) is TaskStatus.RUNNING and task not in self._lists:
                self._open_list(task, at)

    def make_ready(self, at: datetime) -> None:
        """Put what may start in the queue of its server."""
        while ready := self.schedule.take_ready():
            for task in ready:
                if self.schedule.tasks[task].for_each is None:
                    self._queue((task, WHOLE_TASK))
                elif self.schedule.status[task] is TaskStatus.PENDING:
                    self._open_list(task, at)

    def begin(self, place: Place, at: datetime) -> Begun | None:
        """Begin a call that is next in a queue.

        Returns:
            What is to be written down and made; None if it is not made: it does not fit, or a
            person is asked first, or it is not wanted any more.
        """
        if self._status(place) is not TaskStatus.PENDING:
            return None
        task = self.schedule.tasks[place[0]]
        try:
            arguments = self._roots.resolve(task.arguments, item=self._value(place))
            prepared = self._prepare(task.tool, arguments)
            leave = self._leave(place, prepared)
        except Exception as error:  # noqa: BLE001 - top of one task: it fails, and not its run
            self.fail(place, failure.of_error(error), at)
            return None
        if prepared.asks and leave is None:
            self._ask(place, prepared, arguments, at)
            return None
        intent = task_changes.intended(
            place,
            prepared,
            at,
            attempt=self.count_attempt(place),
            approval=leave.approval if leave else None,
        )
        self._set(place, TaskStatus.RUNNING)
        return Begun(task=task, item=place[1], arguments=arguments, leave=leave, intent=intent)

    def count_attempt(self, place: Place) -> int:
        """Count an attempt to call; return its number, from 1."""
        self._attempts[place] = number = self._attempts.get(place, 0) + 1
        return number

    def succeed(
        self, place: Place, result: Mapping[str, Any], duration_ms: float, at: datetime
    ) -> None:
        """Take what a tool answered."""
        attempts = self._attempts[place]
        change = task_changes.succeeded(
            place, result, at, attempts=attempts, duration_ms=duration_ms
        )
        self.draft.task(change, events.TASK_SUCCEEDED, {"duration_ms": duration_ms})
        self._roots.keep(*place, result)
        self._end(place, TaskStatus.SUCCEEDED, at)

    def fail(self, place: Place, why: Failure, at: datetime) -> None:
        """Take that a call failed, or could not be made."""
        change = task_changes.failed(place, why, at, attempts=self._attempts.get(place))
        self.draft.task(change, events.TASK_FAILED, {"code": why.code})
        if self.cause is None and self.schedule.policy(place[0]) is not OnError.SAFE_TO_FAIL:
            self.cause = Cause(place[0], why.code, why.message)
        self._end(place, TaskStatus.FAILED, at, message=why.message)

    def cancel(self, place: Place, code: str, at: datetime) -> None:
        """Take that a call was cancelled, so that nobody knows what it did."""
        self.is_cut_short = True
        change = task_changes.cancelled(place, code, at, attempts=self._attempts.get(place))
        self.draft.task(change, events.TASK_CANCELLED, {"code": code})
        self._end(place, TaskStatus.CANCELLED, at)

    def fail_unsent(self, place: Place, why: Failure, at: datetime) -> None:
        """Take that a call was begun and could not be made after all."""
        self._attempts[place] -= 1
        self.fail(place, why, at)

    def take_back(self, place: Place, at: datetime) -> None:
        """Take that a call was not made after all, though its intent is written down."""
        self._attempts[place] -= 1
        self._make_pending(place, at)
        self._set(place, TaskStatus.PENDING)
        if self.schedule.is_stopped:
            self.draft.stands(place, TaskStatus.SKIPPED, at)
            self._end(place, TaskStatus.SKIPPED, at)

    def decide(self, place: Place, approval: UUID, at: datetime, *, refusal: str) -> None:
        """Take a person's decision; an empty refusal is leave to call."""
        asked = self._asked.get(place)
        if asked is None or self._status(place) not in _DECIDABLE:
            return
        data = {"approval": str(approval), "approved": not refusal}
        self.draft.event(events.APPROVAL_DECIDED, at, data, task=place[0], item=place[1])
        if refusal:
            del self._asked[place]
            self.fail(place, failure.of_refusal(refusal), at)
        elif asked.approval is None:
            self._asked[place] = asked._replace(approval=approval)
            self._set_ready(place)

    def call_off(self, status: TaskStatus, at: datetime) -> None:
        """Start nothing more; what was not begun gets a status in which it never starts."""
        for task in self.schedule.drop(status):
            self.is_cut_short = True
            self.draft.stands((task, WHOLE_TASK), status, at)
            self._roots.released(self.schedule.tasks[task])
        self._stop_lists(self._lists, status, at)

    def rerun_unknown(self, at: datetime) -> None:
        """Make the calls ready again of which nobody knows how they ended."""
        for task, calls in self._lists.items():
            for item in calls.where(TaskStatus.UNKNOWN):
                self._make_pending((task, item), at)
                self._set_ready((task, item))
        for task, status in tuple(self.schedule.status.items()):
            if status is TaskStatus.UNKNOWN:
                items = self._items.get(task, {})
                for item in [item for item, now in items.items() if now is status]:
                    self._make_pending((task, item), at)
                    items[item] = TaskStatus.PENDING
                self._make_pending((task, WHOLE_TASK), at)
                self.schedule.again(task)

    def replan(self, new: Workflow, at: datetime) -> None:
        """Put other tasks in the place of those that have not begun.

        Raises:
            InvalidWorkflow: If they do not fit to how the run stands by now.
        """
        before = self.schedule.status
        merged = merge(self.workflow, new, {task: self._begun(task) for task in before})
        gone = {*merged.changed, *merged.removed}
        for place in [place for place in self._asked if place[0] in gone]:
            del self._asked[place]
            if place[0] in merged.changed:
                self._make_pending(place, at)
        self.workflow = merged.workflow
        kept = {task: before[task] for task in merged.kept}
        self.schedule = Schedule(merged.workflow, self._options, kept)
        self._roots.plan(merged.workflow, self._undone())
        self.queues.clear()
        self._skip(self.schedule.catch_up(), at)
        for task, calls in self._lists.items():
            for item in calls.where(TaskStatus.PENDING):
                self._queue((task, item))
        self.draft.workflow(dump(merged.workflow))
        data = {"kept": len(merged.kept), "changed": list(merged.changed)}
        data |= {"added": list(merged.added), "removed": list(merged.removed)}
        self.draft.event(events.RUN_REPLANNED, at, data)

    @property
    def is_waiting(self) -> bool:
        """Whether a person is asked about a call."""
        waiting = TaskStatus.WAITING_APPROVAL
        return self.schedule.has(waiting) or any(
            calls.count(waiting) for calls in self._lists.values()
        )

    def missing(self) -> set[str]:
        """Return the tasks whose results are referred to and are not in memory."""
        return {
            task
            for task, status in self.schedule.status.items()
            if self._roots.lacks(
                task,
                [WHOLE_TASK] if status is TaskStatus.SUCCEEDED else self._succeeded_items(task),
            )
        }

    def recalled(self, given: Mapping[Place, Mapping[str, Any]], tasks: Iterable[str]) -> None:
        """Take what tasks gave from where it was kept; what is not there stays missing."""
        self._roots.recalled(given)
        for task in tasks:
            is_over = self.schedule.status.get(task) is TaskStatus.SUCCEEDED
            if is_over and self.schedule.tasks[task].for_each is not None:
                self._roots.close(task, self._items.get(task, ()))

    # What stands behind that.

    def _undone(self) -> list[str]:
        return [task for task, now in self.schedule.status.items() if not now.is_done]

    def _begun(self, task: str) -> TaskStatus:
        """Return how a task stands; running if its call was lost, and was to be made again."""
        status = self.schedule.status[task]
        is_lost = status in _NOT_BEGUN and self._attempts.get((task, WHOLE_TASK))
        return TaskStatus.RUNNING if is_lost else status

    def _status(self, place: Place) -> TaskStatus | None:
        """Return how a call stands; None if it will not be made any more."""
        task, item = place
        if item == WHOLE_TASK:
            return self.schedule.status.get(task)
        calls = self._lists.get(task)
        return None if calls is None else calls.status(item)

    def _value(self, place: Place) -> Any:
        """Return the item that a call is made for."""
        task, item = place
        return NO_ITEM if item == WHOLE_TASK else self._lists[task].values[item]

    def _succeeded_items(self, task: str) -> list[int]:
        calls = self._lists.get(task)
        if calls is not None:
            return calls.where(TaskStatus.SUCCEEDED)
        items = self._items.get(task, {})
        return [item for item, status in items.items() if status is TaskStatus.SUCCEEDED]

    def _queue(self, place: Place) -> None:
        server = server_of(self.schedule.tasks[place[0]])
        self.queues.setdefault(server, deque()).append(place)

    def _set(self, place: Place, status: TaskStatus) -> None:
        task, item = place
        if item == WHOLE_TASK:
            self.schedule.set(task, status)
        else:
            self._lists[task].set(item, status)

    def _set_ready(self, place: Place) -> None:
        """Make a call ready that waited, or was lost."""
        if place[1] == WHOLE_TASK:
            self.schedule.again(place[0])
        else:
            self._set(place, TaskStatus.PENDING)
            self._queue(place)

    def _make_pending(self, place: Place, at: datetime) -> None:
        change = task_changes.taken_back(place, at, attempts=self._attempts.get(place, 0))
        self.draft.row(replace(change, error_code=self._mark(*place)))

    def _mark(self, task: str, item: int = WHOLE_TASK) -> str:
        """Return the code of a list that tells whether it begins no further item."""
        return for_each.STOPPED if item == WHOLE_TASK and task in self._stopped else ""

    def _leave(self, place: Place, prepared: Prepared) -> Leave | None:
        """Return a person's approval of a call; None if it needs none, or nobody was asked."""
        asked = self._asked.pop(place, None) if self._asked else None
        return asked.leave(prepared) if asked and prepared.asks else None

    def _ask(
        self, place: Place, prepared: Prepared, arguments: Mapping[str, Any], at: datetime
    ) -> None:
        change = task_changes.asked(place, prepared, arguments, at)
        self.draft.task(change, events.TASK_WAITING_APPROVAL)
        self._asked[place] = Asked(prepared.definition_hash, prepared.arguments_digest)
        self._attempts.setdefault(place, 0)
        self._set(place, TaskStatus.WAITING_APPROVAL)

    def _open_list(self, task: str, at: datetime) -> None:
        """Begin the calls of a task with a list, or go on with them."""
        place = (task, WHOLE_TASK)
        known = self._items.pop(task, {})
        try:
            values = for_each.items_of(self._roots.list_of(self.schedule.tasks[task]))
        except (LookupError, for_each.NotAList) as error:
            self.fail(place, failure.of_error(error), at)
            return
        if self.schedule.status[task] is not TaskStatus.RUNNING:
            change = task_changes.running(place, at, code=self._mark(task))
            self.draft.task(change, events.TASK_STARTED, {"items": len(values)})
            self.schedule.set(task, TaskStatus.RUNNING)
        begins = TaskStatus.SKIPPED if task in self._stopped else TaskStatus.PENDING
        calls = self._lists[task] = ItemCalls(values, known, others=begins)
        for item in calls.where(TaskStatus.PENDING):
            self._queue((task, item))
        self._close_if_over(task, at)

    def _end(self, place: Place, status: TaskStatus, at: datetime, *, message: str = "") -> None:
        """Note that a call, or a task, has ended, and what follows from that."""
        task, item = place
        if item == WHOLE_TASK:
            skipped = self.schedule.end(task, status)
            self._roots.released(self.schedule.tasks[task])
        else:
            self._lists[task].end(item, status, message)
            stops = status is TaskStatus.FAILED and self.schedule.policy(task) is OnError.STOP
            skipped = self.schedule.stop(task) if stops else []
        self._skip(skipped, at)
        if self.schedule.is_stopped:
            going_on = [one for one in self._lists if one not in self._stopped]
            self._stop_lists(going_on, TaskStatus.SKIPPED, at)
        if item != WHOLE_TASK:
            self._close_if_over(task, at)

    def _skip(self, skipped: Iterable[Skipped], at: datetime) -> None:
        for task, because in skipped:
            place = (task, WHOLE_TASK)
            self.draft.stands(place, TaskStatus.SKIPPED, at, data={"because": because})
            self._roots.released(self.schedule.tasks[task])

    def _stop_lists(self, lists: Iterable[str], status: TaskStatus, at: datetime) -> None:
        """Start no call of some lists any more; those that have a row get a status."""
        for task, calls in [(one, self._lists[one]) for one in lists]:
            for item in calls.stop(status):
                if (task, item) in self._attempts:
                    self.draft.stands((task, item), status, at)
            self._stopped.add(task)
            self._close_if_over(task, at)
            if task in self._lists:
                self.draft.row(task_changes.running((task, WHOLE_TASK), at, code=self._mark(task)))

    def _close_if_over(self, task: str, at: datetime) -> None:
        """End a task with a list once all of its calls have ended."""
        calls = self._lists.get(task)
        status = calls.comes_to if calls else None
        if calls is None or status is None:
            return
        place = (task, WHOLE_TASK)
        del self._lists[task]
        if status is TaskStatus.FAILED:
            self.fail(place, Failure(code=for_each.FAILED, message=calls.failure()), at)
            return
        if status is TaskStatus.UNKNOWN:
            self.draft.stands(place, status, at, code=self._mark(task))
            self._items[task] = calls.statuses()
            self.schedule.set(task, status)
            return
        self.draft.stands(place, status, at)
        self._roots.close(task)
        self._end(place, status, at)
