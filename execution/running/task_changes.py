"""Builds the task changes that are journalled."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from execution.call import ApprovalGrant, PreparedCall
from execution.changes import TaskChange, TaskKey
from execution.running.failure import CallFailure
from execution.status import TaskStatus
from execution.workflow import WorkflowTask
from tools import ids


class StartedCall(NamedTuple):
    """A call to be made once its intent is journalled.

    Attributes:
        task: The calling task.
        task_key: Task and item.
        arguments: All references replaced.
        grant: Consumed approval; None: none needed.
        intent: The change to journal.
    """

    task: WorkflowTask
    task_key: TaskKey
    arguments: Mapping[str, Any]
    grant: ApprovalGrant | None
    intent: TaskChange

    @property
    def server_name(self) -> str:
        """Name of the called server."""
        return get_server_name(self.task)


class FailureCause(NamedTuple):
    """The first relevant failure of a run."""

    task: str
    code: str
    message: str


def get_server_name(task: WorkflowTask) -> str:
    """Return the server name of a task's tool; server names contain no colon."""
    return task.tool.partition(ids.SEPARATOR)[0]


def build_running_change(key: TaskKey, at: datetime, *, code: str) -> TaskChange:
    """Build the change of a running for-each task; the code tells whether it was stopped."""
    return TaskChange(*key, TaskStatus.RUNNING, at, error_code=code)


def build_intent_change(
    key: TaskKey, prepared: PreparedCall, at: datetime, *, attempt: int, approval: UUID | None
) -> TaskChange:
    """Build the intent to make a call."""
    return TaskChange(
        *key,
        TaskStatus.RUNNING,
        at,
        attempts=attempt,
        definition_hash=prepared.definition_hash,
        arguments_digest=prepared.arguments_digest,
        approval=approval,
    )


def build_approval_change(
    key: TaskKey, prepared: PreparedCall, arguments: Mapping[str, Any], at: datetime
) -> TaskChange:
    """Build the request for an approval."""
    return TaskChange(
        *key,
        TaskStatus.WAITING_APPROVAL,
        at,
        definition_hash=prepared.definition_hash,
        arguments_digest=prepared.arguments_digest,
        arguments=arguments,
        approval_reason=prepared.approval_reason,
    )


def build_success_change(
    key: TaskKey, result: Mapping[str, Any], at: datetime, *, attempts: int, duration_ms: float
) -> TaskChange:
    """Build the change of a successful call."""
    status = TaskStatus.SUCCEEDED
    return TaskChange(*key, status, at, attempts=attempts, result=result, duration_ms=duration_ms)


def build_failure_change(
    key: TaskKey, call_failure: CallFailure, at: datetime, *, attempts: int | None
) -> TaskChange:
    """Build the change of a failed call."""
    return TaskChange(
        *key,
        TaskStatus.FAILED,
        at,
        attempts=attempts,
        result=call_failure.result,
        duration_ms=call_failure.duration_ms,
        error_code=call_failure.code,
        error=call_failure.message,
    )


CALL_CANCELLED_MESSAGE: Final = "the call was cancelled in progress; it may have taken effect"
CALL_LOST_MESSAGE: Final = (
    "the gateway was lost during the call, which is not repeated now; it may have taken effect"
)


def build_cancelled_change(
    key: TaskKey,
    code: str,
    at: datetime,
    *,
    attempts: int | None,
    message: str = CALL_CANCELLED_MESSAGE,
) -> TaskChange:
    """Build the change of a cancelled call, which may have taken effect."""
    status = TaskStatus.CANCELLED
    return TaskChange(*key, status, at, attempts=attempts, error_code=code, error=message)


def build_pending_change(
    key: TaskKey, at: datetime, *, attempts: int, code: str = ""
) -> TaskChange:
    """Build the change of a call that is to be repeated, or was not made after all.

    The code is that of a for-each task, and tells whether it was stopped.
    """
    return TaskChange(*key, TaskStatus.PENDING, at, attempts=attempts, error_code=code)
