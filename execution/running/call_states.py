"""How the calls of a run stand, and what follows when one of them ends."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from execution import events
from execution.changes import WHOLE_TASK, TaskChange
from execution.planning.references import OUTSIDE_LISTS
from execution.running import failure, for_each, results, task_changes
from execution.running.failure import Failure
from execution.running.lists import Lists
from execution.running.pending_changes import Draft
from execution.running.questions import Questions
from execution.running.result_cache import Roots, RunTooLarge
from execution.running.results import Root
from execution.running.resume_state import take
from execution.running.schedule import Schedule, Skipped
from execution.running.standing import Place, Standing
from execution.running.task_changes import NOT_MADE_AGAIN, Cause, server_of
from execution.status import TaskStatus
from execution.workflow import OnError, Workflow

_TO_BE_MADE = (TaskStatus.PENDING, TaskStatus.WAITING_APPROVAL)


class CallStates:
    """The calls of a run: of its tasks, and of the items of those with a list.

    All that changes goes into `draft`. A task with a list is running once its list is known; its
    calls are its items'. A call that was begun and is pending was lost with a process, and may
    have taken effect: whatever stops the run, it is made again, or cancelled in so many words.

    Args:
        standing: How the run stood when it was taken.
    """

    def __init__(self, standing: Standing) -> None:
        taken = take(standing)
        self.draft = Draft(standing.run, standing.epoch, last_seq=standing.last_seq)
        self.queues: dict[str, deque[Place]] = {}
        self.workflow = standing.workflow
        self.cause = taken.cause
        self.is_cut_short = False  # whether something of it was called off
        self.lost = taken.lost
        self.attempts = {place: known.attempts for place, known in standing.tasks.items()}
        self.lists = Lists(taken.items, taken.stopped, standing.tasks)
        self.questions = Questions(taken.asked)
        self._options = standing.options
        self.schedule = self._scheduled(standing.workflow, taken.tasks)
        self.schedule.is_stopped = taken.is_stopped
        self.roots = Roots(standing.workflow, self._undone())

    def plan(self, workflow: Workflow, statuses: Mapping[str, TaskStatus], at: datetime) -> None:
        """Go by another workflow from now on."""
        self.workflow = workflow
        self.schedule = self._scheduled(workflow, statuses)
        self.roots.plan(workflow, self._undone())
        self.questions.restart()
        self.queues.clear()
        self.skip(self.schedule.catch_up(), at)
        for task in self.lists:
            for item in self.lists[task].where(TaskStatus.PENDING):
                self.queue((task, item))

    def status(self, place: Place) -> TaskStatus | None:
        """Return how a call stands; None if it will not be made any more."""
        task, item = place
        if item == WHOLE_TASK:
            return self.schedule.status.get(task)
        calls = self.lists.get(task)
        return None if calls is None else calls.status(item)

    def value(self, place: Place) -> Any:
        """Return the item that a call is made for."""
        return OUTSIDE_LISTS if place[1] == WHOLE_TASK else self.lists[place[0]].values[place[1]]

    def set(self, place: Place, status: TaskStatus) -> None:
        """Note how a call stands that has not ended."""
        task, item = place
        if item == WHOLE_TASK:
            self.schedule.set(task, status)
        else:
            self.lists[task].set(item, status)

    def queue(self, place: Place) -> None:
        """Let a call wait for a slot at its server."""
        server = server_of(self.schedule.tasks[place[0]])
        line = self.queues.get(server)
        if line is None:
            self.queues[server] = line = deque()
        line.append(place)

    def set_running(self, place: Place) -> None:
        """Note that a call is about to be made that was pending."""
        task, item = place
        if item == WHOLE_TASK:
            self.schedule.begin(task)
        else:
            self.lists[task].set(item, TaskStatus.RUNNING)

    def set_ready(self, place: Place) -> None:
        """Make a call ready that waited, or was lost."""
        if place[1] == WHOLE_TASK:
            self.schedule.again(place[0])
        else:
            self.set(place, TaskStatus.PENDING)
            self.queue(place)

    def count_attempt(self, place: Place) -> int:
        """Count an attempt to call; return its number, from 1."""
        self.attempts[place] = number = self.attempts.get(place, 0) + 1
        return number

    def succeed(
        self,
        place: Place,
        result: Mapping[str, Any],
        duration_ms: float,
        at: datetime,
        root: Root | None = None,
    ) -> None:
        """Take what a tool answered; its root, if that is known already."""
        count = self.attempts[place]
        change = task_changes.succeeded(place, result, at, attempts=count, duration_ms=duration_ms)
        self.draft.task(change, events.TASK_SUCCEEDED, {"duration_ms": duration_ms})
        if place[0] in self.roots.users:
            self.roots.keep(*place, root or results.measured(result))
        self._end(place, TaskStatus.SUCCEEDED, at)

    def fail(self, place: Place, why: Failure, at: datetime) -> None:
        """Take that a call failed."""
        change = task_changes.failed(place, why, at, attempts=self.attempts.get(place))
        self.draft.task(change, events.TASK_FAILED, {"code": why.code})
        if self.cause is None and self.schedule.policy(place[0]) is not OnError.SAFE_TO_FAIL:
            self.cause = Cause(place[0], why.code, why.message)
        self._end(place, TaskStatus.FAILED, at, message=why.message)

    def fail_unmade(self, place: Place, why: Failure, at: datetime) -> None:
        """Take that a call could not be made."""
        was_begun = self.attempts.get(place)
        self.fail(place, failure.after_loss(why) if was_begun else why, at)

    def fail_unsent(self, place: Place, why: Failure, at: datetime) -> None:
        """Take that a call was begun and could not be made after all."""
        self.attempts[place] -= 1
        self.fail_unmade(place, why, at)

    def cancel(self, place: Place, code: str, at: datetime) -> None:
        """Take that a call was cancelled, so that nobody knows what it did."""
        self.is_cut_short = True
        attempts = self.attempts.get(place)
        self._cancelled(task_changes.cancelled(place, code, at, attempts=attempts))
        self._end(place, TaskStatus.CANCELLED, at)

    def cancel_lost(self, place: Place, code: str, at: datetime) -> None:
        """Take that a call which was lost with a process is not made again."""
        if self.status(place) in _TO_BE_MADE:
            self._write_lost(place, code, at)
            self._end(place, TaskStatus.CANCELLED, at)

    def take_back(self, place: Place, at: datetime) -> None:
        """Take that a call was not made after all, though its intent is written down."""
        self.attempts[place] -= 1
        self.make_pending(place, at)
        self.set(place, TaskStatus.PENDING)
        if self.schedule.is_stopped and not self.attempts[place]:
            self.draft.stands(place, TaskStatus.SKIPPED, at)
            self._end(place, TaskStatus.SKIPPED, at)

    def make_pending(self, place: Place, at: datetime) -> None:
        """Write down that a call is to be made, or its task to be gone on with."""
        count = self.attempts.get(place, 0)
        mark = self.lists.mark(place[0]) if place[1] == WHOLE_TASK else ""
        self.draft.row(task_changes.taken_back(place, at, attempts=count, code=mark))

    def skip(self, skipped: Iterable[Skipped], at: datetime) -> None:
        """Write down which tasks will not be called, and because of which."""
        for task, because in skipped:
            place = (task, WHOLE_TASK)
            self.questions.withdraw(place)
            self.draft.stands(place, TaskStatus.SKIPPED, at, data={"because": because})
            self.roots.released(self.schedule.tasks[task])

    def open_list(self, task: str, at: datetime) -> None:
        """Begin the calls of a task with a list, or go on with them."""
        place = (task, WHOLE_TASK)
        try:
            values = for_each.items_of(self.roots.list_of(self.schedule.tasks[task]))
            calls = self.lists.open(task, values)
        except (LookupError, for_each.NotAList, RunTooLarge) as error:
            self.drop_lost_items(task, failure.CALL_LOST, at)
            self.fail(place, failure.of_error(error), at)
            return
        if self.schedule.status[task] is not TaskStatus.RUNNING:
            change = task_changes.running(place, at, code=self.lists.mark(task))
            self.draft.task(change, events.TASK_STARTED, {"items": len(values)})
            self.schedule.set(task, TaskStatus.RUNNING)
        for item in calls.where(TaskStatus.PENDING):
            self.queue((task, item))
        self._close_if_over(task, at)

    def stop_lists(self, tasks: Iterable[str], status: TaskStatus, at: datetime) -> None:
        """Begin no call of some lists any more; those that have a row get a status."""
        stopped = list(tasks)
        for task in stopped:  # all first: what ends by it must not stop the others within that
            self.lists.stop(task)
        for task in stopped:
            if task not in self.lists:
                continue
            for item in self.lists[task].stop(status, kept=self._begun_items(task)):
                self.questions.withdraw((task, item))
                if (task, item) in self.attempts:
                    self.draft.stands((task, item), status, at)
            self._close_if_over(task, at)
            if task in self.lists:
                mark = self.lists.mark(task)
                self.draft.row(task_changes.running((task, WHOLE_TASK), at, code=mark))

    def drop_lost_items(self, task: str, code: str, at: datetime) -> None:
        """Write down that lost calls of a list that is not gone on with are not made again."""
        for item, status in self.lists.forget(task).items():
            if status in _TO_BE_MADE and self._is_begun((task, item)):
                self._write_lost((task, item), code, at)

    def lost_calls(self) -> list[Place]:
        """Return the calls that were begun, and are to be made again or wait for a person."""
        found = [
            (task, WHOLE_TASK) for task, now in self.schedule.status.items() if now in _TO_BE_MADE
        ]
        found = [place for place in found if self._is_begun(place)]
        return found + [(task, item) for task in self.lists for item in self._begun_items(task)]

    # What stands behind that.

    def _scheduled(self, workflow: Workflow, statuses: Mapping[str, TaskStatus]) -> Schedule:
        return Schedule(workflow, self._options, statuses, is_lost=self._is_task_begun)

    def _is_begun(self, place: Place) -> bool:
        return bool(self.attempts.get(place))

    def _begun_items(self, task: str) -> frozenset[int]:
        unended = self.lists[task].unended()
        return frozenset(item for item in unended if self._is_begun((task, item)))

    def _is_task_begun(self, task: str) -> bool:
        return self._is_begun((task, WHOLE_TASK)) or bool(self.lists.known(task))

    def _undone(self) -> list[str]:
        return [task for task, now in self.schedule.status.items() if not now.is_done]

    def _end(self, place: Place, status: TaskStatus, at: datetime, *, message: str = "") -> None:
        """Note that a call, or a task, has ended, and what follows from that."""
        task, item = place
        if self.questions.asked:
            self.questions.withdraw(place)
        if item == WHOLE_TASK:
            skipped = self.schedule.end(task, status)
            if self.roots.users:
                self.roots.released(self.schedule.tasks[task])
        else:
            self.lists[task].end(item, status, message)
            stops = status is TaskStatus.FAILED and self.schedule.policy(task) is OnError.STOP
            skipped = self.schedule.stop(task) if stops else []
        if skipped:
            self.skip(skipped, at)
        if self.schedule.is_stopped:
            self._stop(at)
        if item != WHOLE_TASK:
            self._close_if_over(task, at)

    def _stop(self, at: datetime) -> None:
        """Begin nothing any more that was not begun, and ask nobody about what was lost."""
        for task in self.lists.begun():
            self.lists.stop(task)
        self.stop_lists(self.lists.going_on(), TaskStatus.SKIPPED, at)
        unasked = [place for place in self.questions.waiting() if self._is_begun(place)]
        for place in unasked:
            self.questions.withdraw(place)
        for place in unasked:
            self.cancel_lost(place, failure.CALL_LOST, at)

    def _close_if_over(self, task: str, at: datetime) -> None:
        """End a task with a list once all of its calls have ended."""
        calls = self.lists.get(task)
        status = calls.comes_to if calls else None
        if calls is None or status is None:
            return
        place = (task, WHOLE_TASK)
        self.lists.close(task, keeps=status is TaskStatus.UNKNOWN)
        if status is TaskStatus.FAILED:
            self.fail(place, Failure(code=for_each.FAILED, message=calls.failure()), at)
            return
        if status is TaskStatus.UNKNOWN:
            self.draft.stands(place, status, at, code=self.lists.mark(task))
            self.schedule.set(task, status)
            return
        self.draft.stands(place, status, at)
        self.roots.close(task)
        self._end(place, status, at)

    def _write_lost(self, place: Place, code: str, at: datetime) -> None:
        count, why = self.attempts.get(place), NOT_MADE_AGAIN
        self._cancelled(task_changes.cancelled(place, code, at, attempts=count, why=why))

    def _cancelled(self, change: TaskChange) -> None:
        self.draft.task(change, events.TASK_CANCELLED, {"code": change.error_code})
