"""The states of a run's calls, and what follows when one ends."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from execution import events
from execution.changes import WHOLE_TASK, TaskChange, TaskKey
from execution.planning.references import NO_ITEM
from execution.running import failure, for_each, results
from execution.running.approval_requests import PendingApprovals
from execution.running.failure import (
    CALL_CANCELLED_MESSAGE,
    CALL_LOST_MESSAGE,
    CallFailure,
    FailureCause,
)
from execution.running.for_each import ForEachTasks
from execution.running.pending_changes import PendingChanges
from execution.running.result_cache import ResultCache, RunTooLarge
from execution.running.results import ResultRoot
from execution.running.resume_state import build_resume_state
from execution.running.schedule import Schedule, SkippedTask
from execution.snapshot import RunSnapshot
from execution.status import TaskStatus
from execution.workflow import OnError, Workflow

_PENDING_STATUSES = (TaskStatus.PENDING, TaskStatus.WAITING_APPROVAL)


class CallStates:
    """The calls of a run: those of its tasks, and of the items of for-each tasks.

    All changes go into `pending_changes`. A for-each task is running once its list is known; its
    calls are its items'. A call that was begun and is pending was lost with a process and may have
    taken effect: even if the run stops, it is either repeated or cancelled explicitly.

    Args:
        snapshot: State of the run when it was claimed.
    """

    def __init__(self, snapshot: RunSnapshot) -> None:
        resume_state = build_resume_state(snapshot)
        self.pending_changes = PendingChanges(
            snapshot.run, snapshot.epoch, last_seq=snapshot.last_seq
        )
        self.queues: dict[str, deque[TaskKey]] = {}
        self.workflow = snapshot.workflow
        self.failure_cause = resume_state.failure_cause
        self.is_cut_short = False  # whether any of its work was cancelled
        self.lost_keys = resume_state.lost_keys
        self.attempts = {
            key: task_snapshot.attempts for key, task_snapshot in snapshot.tasks.items()
        }
        self.for_each_tasks = ForEachTasks(
            resume_state.item_statuses, resume_state.stopped_tasks, snapshot.tasks
        )
        self.pending_approvals = PendingApprovals(resume_state.asked_approvals)
        self._options = snapshot.options
        self.schedule = self._make_schedule(snapshot.workflow, resume_state.task_statuses)
        self.schedule.is_stopped = resume_state.is_stopped
        self.result_cache = ResultCache(snapshot.workflow, self._list_undone_tasks())

    def replace_workflow(
        self, workflow: Workflow, statuses: Mapping[str, TaskStatus], at: datetime
    ) -> None:
        """Continue with another workflow."""
        self.workflow = workflow
        self.schedule = self._make_schedule(workflow, statuses)
        self.result_cache.replace_workflow(workflow, self._list_undone_tasks())
        self.pending_approvals.forget_deferred()
        self.queues.clear()
        self.skip_tasks(self.schedule.catch_up(), at)
        for task in self.for_each_tasks:
            for item in self.for_each_tasks[task].find_items(TaskStatus.PENDING):
                self.enqueue_call((task, item))

    def get_status(self, key: TaskKey) -> TaskStatus | None:
        """Return the status of a call; None if it will not be made any more."""
        task, item = key
        if item == WHOLE_TASK:
            return self.schedule.statuses.get(task)
        calls = self.for_each_tasks.get(task)
        return None if calls is None else calls.get_status(item)

    def get_item(self, key: TaskKey) -> Any:
        """Return the item that a call is made for."""
        return NO_ITEM if key[1] == WHOLE_TASK else self.for_each_tasks[key[0]].values[key[1]]

    def set_status(self, key: TaskKey, status: TaskStatus) -> None:
        """Set the status of a call that has not ended."""
        task, item = key
        if item == WHOLE_TASK:
            self.schedule.set_status(task, status)
        else:
            self.for_each_tasks[task].set_status(item, status)

    def enqueue_call(self, key: TaskKey) -> None:
        """Queue a call for a slot at its server."""
        server = self.schedule.tasks[key[0]].server
        queue = self.queues.get(server)
        if queue is None:
            self.queues[server] = queue = deque()
        queue.append(key)

    def set_running(self, key: TaskKey) -> None:
        """Mark a pending call as running, just before it is made."""
        task, item = key
        if item == WHOLE_TASK:
            self.schedule.begin_task(task)
        else:
            self.for_each_tasks[task].set_status(item, TaskStatus.RUNNING)

    def set_ready(self, key: TaskKey) -> None:
        """Make a waiting or lost call ready again."""
        if key[1] == WHOLE_TASK:
            self.schedule.requeue_task(key[0])
        else:
            self.set_status(key, TaskStatus.PENDING)
            self.enqueue_call(key)

    def count_attempt(self, key: TaskKey) -> int:
        """Count an attempt to call; return its number, from 1."""
        self.attempts[key] = number = self.attempts.get(key, 0) + 1
        return number

    def record_success(
        self,
        key: TaskKey,
        result: Mapping[str, Any],
        duration_ms: float,
        at: datetime,
        root: ResultRoot | None = None,
    ) -> None:
        """Record a successful result; `root` if it is already parsed."""
        count = self.attempts[key]
        status = TaskStatus.SUCCEEDED
        self.pending_changes.add_task_change(
            TaskChange(*key, status, at, attempts=count, result=result, duration_ms=duration_ms),
            events.TASK_SUCCEEDED,
            {"duration_ms": duration_ms},
        )
        if key[0] in self.result_cache.reference_counts:
            self.result_cache.store_result(*key, root or results.measure_root(result))
        self._end_call(key, status, at)

    def record_failure(self, key: TaskKey, call_failure: CallFailure, at: datetime) -> None:
        """Record that a call failed."""
        change = TaskChange(
            *key,
            TaskStatus.FAILED,
            at,
            attempts=self.attempts.get(key),
            result=call_failure.result,
            duration_ms=call_failure.duration_ms,
            error_code=call_failure.code,
            error=call_failure.message,
        )
        self.pending_changes.add_task_change(
            change, events.TASK_FAILED, {"code": call_failure.code}
        )
        if (
            self.failure_cause is None
            and self.schedule.get_policy(key[0]) is not OnError.SAFE_TO_FAIL
        ):
            self.failure_cause = FailureCause(key[0], call_failure.code, call_failure.message)
        self._end_call(key, TaskStatus.FAILED, at, message=call_failure.message)

    def record_unmade_failure(self, key: TaskKey, call_failure: CallFailure, at: datetime) -> None:
        """Record that a call could not be made."""
        was_begun = self.attempts.get(key)
        self.record_failure(
            key, failure.failure_after_loss(call_failure) if was_begun else call_failure, at
        )

    def record_unsent_failure(self, key: TaskKey, call_failure: CallFailure, at: datetime) -> None:
        """Record that a begun call could not be made after all."""
        self.attempts[key] -= 1
        self.record_unmade_failure(key, call_failure, at)

    def record_cancellation(self, key: TaskKey, code: str, at: datetime) -> None:
        """Record that a call in flight was cancelled; its effect is unknown."""
        self.is_cut_short = True
        self._write_cancelled(key, code, at, error=CALL_CANCELLED_MESSAGE)
        self._end_call(key, TaskStatus.CANCELLED, at)

    def cancel_lost_call(self, key: TaskKey, code: str, at: datetime) -> None:
        """Record that a lost call is not repeated."""
        if self.get_status(key) in _PENDING_STATUSES:
            self._write_cancelled(key, code, at, error=CALL_LOST_MESSAGE)
            self._end_call(key, TaskStatus.CANCELLED, at)

    def revert_call(self, key: TaskKey, at: datetime) -> None:
        """Revert a call whose intent was journalled but which was not made."""
        self.attempts[key] -= 1
        self.make_pending(key, at)
        self.set_status(key, TaskStatus.PENDING)
        if self.schedule.is_stopped and not self.attempts[key]:
            self.pending_changes.add_task_status(key, TaskStatus.SKIPPED, at)
            self._end_call(key, TaskStatus.SKIPPED, at)

    def make_pending(self, key: TaskKey, at: datetime) -> None:
        """Journal that a call is to be made, or its task to be continued."""
        count = self.attempts.get(key, 0)
        stop_code = self.for_each_tasks.get_stop_code(key[0]) if key[1] == WHOLE_TASK else ""
        self.pending_changes.add_row(
            TaskChange(*key, TaskStatus.PENDING, at, attempts=count, error_code=stop_code)
        )

    def skip_tasks(self, skipped: Iterable[SkippedTask], at: datetime) -> None:
        """Record skipped tasks with the task that caused each skip."""
        for task, cause in skipped:
            key = (task, WHOLE_TASK)
            self.pending_approvals.withdraw(key)
            self.pending_changes.add_task_status(
                key, TaskStatus.SKIPPED, at, data={"because": cause}
            )
            self.result_cache.release_task(self.schedule.tasks[task])

    def open_list(self, task: str, at: datetime) -> None:
        """Open a for-each task's list: begin its calls, or continue them."""
        key = (task, WHOLE_TASK)
        try:
            values = for_each.require_list_items(
                self.result_cache.resolve_list(self.schedule.tasks[task])
            )
            calls = self.for_each_tasks.open(task, values)
        except (LookupError, for_each.NotAList, RunTooLarge) as error:
            self.drop_lost_items(task, failure.CALL_LOST, at)
            self.record_failure(key, failure.failure_from_error(error), at)
            return
        if self.schedule.statuses[task] is not TaskStatus.RUNNING:
            self.pending_changes.add_task_change(
                self._build_list_change(task, at), events.TASK_STARTED, {"items": len(values)}
            )
            self.schedule.set_status(task, TaskStatus.RUNNING)
        for item in calls.find_items(TaskStatus.PENDING):
            self.enqueue_call((task, item))
        self._close_list_if_ended(task, at)

    def stop_lists(self, tasks: Iterable[str], status: TaskStatus, at: datetime) -> None:
        """Begin no more calls of the given lists; unstarted items that have rows get a status."""
        stopped = list(tasks)
        for task in stopped:  # all first: an end below must not stop the others recursively
            self.for_each_tasks.stop_task(task)
        for task in stopped:
            if task not in self.for_each_tasks:
                continue
            for item in self.for_each_tasks[task].stop_unstarted(
                status, excluded=self._find_begun_items(task)
            ):
                self.pending_approvals.withdraw((task, item))
                if (task, item) in self.attempts:
                    self.pending_changes.add_task_status((task, item), status, at)
            self._close_list_if_ended(task, at)
            if task in self.for_each_tasks:
                self.pending_changes.add_row(self._build_list_change(task, at))

    def drop_lost_items(self, task: str, code: str, at: datetime) -> None:
        """Record that lost calls of an abandoned list are not repeated."""
        for item, status in self.for_each_tasks.forget_statuses(task).items():
            if status in _PENDING_STATUSES and self._has_begun((task, item)):
                self._write_cancelled((task, item), code, at, error=CALL_LOST_MESSAGE)

    def find_lost_calls(self) -> list[TaskKey]:
        """Return the begun calls that are to be repeated or wait for approval."""
        found = [
            (task, WHOLE_TASK)
            for task, now in self.schedule.statuses.items()
            if now in _PENDING_STATUSES
        ]
        found = [key for key in found if self._has_begun(key)]
        return found + [
            (task, item) for task in self.for_each_tasks for item in self._find_begun_items(task)
        ]

    # Internals.

    def _make_schedule(self, workflow: Workflow, statuses: Mapping[str, TaskStatus]) -> Schedule:
        return Schedule(workflow, self._options, statuses, is_lost=self._has_task_begun)

    def _has_begun(self, key: TaskKey) -> bool:
        return bool(self.attempts.get(key))

    def _find_begun_items(self, task: str) -> frozenset[int]:
        unended = self.for_each_tasks[task].find_unstarted()
        return frozenset(item for item in unended if self._has_begun((task, item)))

    def _has_task_begun(self, task: str) -> bool:
        return self._has_begun((task, WHOLE_TASK)) or bool(
            self.for_each_tasks.get_known_statuses(task)
        )

    def _list_undone_tasks(self) -> list[str]:
        return [task for task, now in self.schedule.statuses.items() if not now.is_done]

    def _end_call(
        self, key: TaskKey, status: TaskStatus, at: datetime, *, message: str = ""
    ) -> None:
        """Mark a call or task as ended, and apply the consequences."""
        task, item = key
        if self.pending_approvals.asked:
            self.pending_approvals.withdraw(key)
        if item == WHOLE_TASK:
            skipped = self.schedule.end_task(task, status)
            if self.result_cache.reference_counts:
                self.result_cache.release_task(self.schedule.tasks[task])
        else:
            self.for_each_tasks[task].end_item(item, status, message)
            stops = status is TaskStatus.FAILED and self.schedule.get_policy(task) is OnError.STOP
            skipped = self.schedule.stop_all(task) if stops else []
        if skipped:
            self.skip_tasks(skipped, at)
        if self.schedule.is_stopped:
            self._stop_unstarted(at)
        if item != WHOLE_TASK:
            self._close_list_if_ended(task, at)

    def _stop_unstarted(self, at: datetime) -> None:
        """Skip everything unstarted, and cancel lost calls that wait for approval."""
        for task in self.for_each_tasks.list_begun():
            self.for_each_tasks.stop_task(task)
        self.stop_lists(self.for_each_tasks.list_unstopped(), TaskStatus.SKIPPED, at)
        lost = [key for key in self.pending_approvals.list_waiting() if self._has_begun(key)]
        for key in lost:
            self.pending_approvals.withdraw(key)
        for key in lost:
            self.cancel_lost_call(key, failure.CALL_LOST, at)

    def _close_list_if_ended(self, task: str, at: datetime) -> None:
        """End a for-each task once all of its calls have ended."""
        calls = self.for_each_tasks.get(task)
        status = calls.final_status if calls else None
        if calls is None or status is None:
            return
        key = (task, WHOLE_TASK)
        self.for_each_tasks.close(task, keeps=status is TaskStatus.UNKNOWN)
        if status is TaskStatus.FAILED:
            self.record_failure(
                key, CallFailure(code=for_each.ITEM_FAILED, message=calls.describe_failure()), at
            )
            return
        if status is TaskStatus.UNKNOWN:
            self.pending_changes.add_task_status(
                key, status, at, code=self.for_each_tasks.get_stop_code(task)
            )
            self.schedule.set_status(task, status)
            return
        is_complete = status is TaskStatus.SUCCEEDED
        self.pending_changes.add_task_status(
            key,
            status,
            at,
            code="" if is_complete else for_each.LIST_STOPPED,
            error="" if is_complete else calls.describe_stop(),
        )
        self.result_cache.join_items(task)
        self._end_call(key, status, at)

    def _build_list_change(self, task: str, at: datetime) -> TaskChange:
        """Build the change of a running for-each task; its code tells whether it was stopped."""
        code = self.for_each_tasks.get_stop_code(task)
        return TaskChange(task, WHOLE_TASK, TaskStatus.RUNNING, at, error_code=code)

    def _write_cancelled(self, key: TaskKey, code: str, at: datetime, *, error: str) -> None:
        """Write that a call was cancelled, which may have taken effect."""
        change = TaskChange(
            *key,
            TaskStatus.CANCELLED,
            at,
            attempts=self.attempts.get(key),
            error_code=code,
            error=error,
        )
        self.pending_changes.add_task_change(change, events.TASK_CANCELLED, {"code": code})
