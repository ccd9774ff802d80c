"""The state of a run while a process holds it: ready calls and approval requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from execution import events
from execution.call import PreparedCall
from execution.changes import WHOLE_TASK, TaskChange, TaskKey
from execution.running import failure, results
from execution.running.call_states import CallStates
from execution.running.dependencies import Invocation
from execution.running.results import ResultRoot
from execution.snapshot import RunSnapshot
from execution.status import TaskStatus
from execution.workflow import WorkflowTask
from gateway_project.foundation import json_size
from gateway_project.foundation.computing import run_in_message_thread

PrepareCall = Callable[[str, Mapping[str, Any]], PreparedCall]
_DECIDABLE_STATUSES = (TaskStatus.WAITING_APPROVAL, TaskStatus.PENDING)


class RunState(CallStates):
    """The calls of a run, and which of them may begin.

    Only `begin_call` awaits, and only for large arguments. The only outside function called is
    `prepare`.

    Args:
        snapshot: State of the run when it was claimed.
        prepare: Checks a call without making it; runs on a worker thread if the arguments are
            large.
    """

    def __init__(self, snapshot: RunSnapshot, prepare: PrepareCall) -> None:
        super().__init__(snapshot)
        self._prepare = prepare

    def open(self, at: datetime) -> None:
        """Record calls lost with the previous process, and find the ready ones."""
        for key in self.lost_keys:
            self.pending_changes.add_task_status(key, TaskStatus.UNKNOWN, at)
        self.skip_tasks(self.schedule.catch_up(), at)

    def reopen_lists(self, at: datetime) -> None:
        """Continue lists that were begun; the results they refer to must be in memory."""
        for task in self.for_each_tasks.list_begun():
            if self.schedule.statuses.get(task) is TaskStatus.RUNNING:
                self.open_list(task, at)

    def queue_ready_calls(self, at: datetime) -> None:
        """Queue ready calls at their servers."""
        while ready := self.schedule.take_ready():
            for task in ready:
                if self.schedule.tasks[task].for_each is None:
                    self.enqueue_call((task, WHOLE_TASK))
                elif self.schedule.statuses[task] is TaskStatus.PENDING:
                    self.open_list(task, at)
        for key in (
            self.pending_approvals.take_deferred() if self.pending_approvals.deferred else ()
        ):
            if self.get_status(key) is TaskStatus.PENDING:
                self.enqueue_call(key)

    async def begin_call(
        self, key: TaskKey, at: datetime, *, may_start: Callable[[], bool] = lambda: True
    ) -> Invocation | None:
        """Begin the next call of a queue.

        Large arguments are resolved and checked on a worker thread; nothing else may change the
        state meanwhile.

        Args:
            key: Key of the call.
            at: When.
            may_start: Re-checked once the arguments are checked; if false, the call goes back into
                its queue.

        Returns:
            The call to journal and make; None if its arguments are invalid, a person must approve
            it first, or it is no longer wanted.
        """
        approvals = self.pending_approvals
        if self.get_status(key) is not TaskStatus.PENDING:
            return None
        if approvals.asked and approvals.defer_if_full(key):
            return None
        task = self.schedule.tasks[key[0]]
        try:
            arguments = await self._resolve_arguments(task, self.get_item(key))
            prepared = await self._prepare_call(task.tool, arguments)
            if not may_start():
                self.enqueue_call(key)
                return None
            grant = approvals.take_grant(key, prepared) if approvals.asked else None
        except Exception as error:  # noqa: BLE001 - top of one task: it fails, and not its run
            self.record_unmade_failure(key, failure.failure_from_error(error), at)
            return None
        if prepared.approval_reason and grant is None:
            self._ask_for_approval(key, prepared, arguments, at)
            return None
        intent = TaskChange(
            *key,
            TaskStatus.RUNNING,
            at,
            attempts=self.count_attempt(key),
            definition_hash=prepared.definition_hash,
            arguments_digest=prepared.arguments_digest,
            approval=grant.approval if grant else None,
        )
        self.set_running(key)
        return Invocation(
            *key,
            tool=task.tool,
            arguments=arguments,
            timeout_s=task.timeout_s,
            grant=grant,
            intent=intent,
        )

    def apply_decision(self, key: TaskKey, approval: UUID, at: datetime, *, refusal: str) -> None:
        """Apply a person's decision; an empty refusal is an approval."""
        asked = self.pending_approvals.find(key)
        if asked is None or self.get_status(key) not in _DECIDABLE_STATUSES:
            return
        data = {"approval": str(approval), "approved": not refusal}
        self.pending_changes.add_event(events.APPROVAL_DECIDED, at, data, task=key[0], item=key[1])
        if refusal:
            self.record_unmade_failure(key, failure.failure_from_refusal(refusal), at)
        elif asked.approval is None:
            self.pending_approvals.approve(key, approval)
            self.set_ready(key)

    async def _resolve_arguments(self, task: WorkflowTask, item: Any) -> Mapping[str, Any]:
        """Return the arguments of a call with all references resolved."""
        resolve: Callable[[], Mapping[str, Any]] = partial(
            self.result_cache.resolve, task.arguments, item=item
        )
        listed = task.for_each.task if task.for_each else None
        size = self.result_cache.estimate_size_bytes(
            task_id for task_id in task.references if task_id != listed
        )
        is_small = json_size.is_small(task.arguments) and json_size.is_small(item)
        if is_small and size <= results.LARGE_BYTES:
            return resolve()
        return await run_in_message_thread(resolve)

    async def _prepare_call(self, tool: str, arguments: Mapping[str, Any]) -> PreparedCall:
        """Check a call without making it."""
        if json_size.is_small(arguments):
            return self._prepare(tool, arguments)
        return await run_in_message_thread(self._prepare, tool, arguments)

    @property
    def is_waiting(self) -> bool:
        """Whether a call waits for approval."""
        waiting = TaskStatus.WAITING_APPROVAL
        return self.schedule.has_status(waiting) or self.for_each_tasks.has_status(waiting)

    def find_missing_results(self) -> set[str]:
        """Return tasks whose results are referred to but not in memory."""
        return {
            task
            for task in self.result_cache.reference_counts
            if self.result_cache.is_missing(task, self._list_succeeded_items(task))
        }

    def restore_results(self, roots: Mapping[TaskKey, ResultRoot], tasks: Iterable[str]) -> None:
        """Store reloaded results; those not found stay missing."""
        self.result_cache.restore_results(roots)
        for task in tasks:
            is_over = self.schedule.statuses.get(task) is TaskStatus.SUCCEEDED
            if is_over and self.schedule.tasks[task].for_each is not None:
                self.result_cache.join_items(task, self.for_each_tasks.get_known_statuses(task))

    def _list_succeeded_items(self, task: str) -> Iterable[int]:
        """Return the succeeded items of a task, or the whole task."""
        if self.schedule.statuses.get(task) is TaskStatus.SUCCEEDED:
            return (WHOLE_TASK,)
        return self.for_each_tasks.find_items(task, TaskStatus.SUCCEEDED)

    def _ask_for_approval(
        self, key: TaskKey, prepared: PreparedCall, arguments: Mapping[str, Any], at: datetime
    ) -> None:
        """Request approval of a call; a lost call of a stopped run is cancelled instead."""
        if self.schedule.is_stopped:
            self.cancel_lost_call(key, failure.CALL_LOST, at)
        elif self.pending_approvals.request_approval(key, prepared):
            change = TaskChange(
                *key,
                TaskStatus.WAITING_APPROVAL,
                at,
                definition_hash=prepared.definition_hash,
                arguments_digest=prepared.arguments_digest,
                arguments=arguments,
                approval_reason=prepared.approval_reason,
            )
            self.pending_changes.add_task_change(change, events.TASK_WAITING_APPROVAL)
            self.attempts.setdefault(key, 0)
            self.set_status(key, TaskStatus.WAITING_APPROVAL)
