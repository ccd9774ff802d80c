"""How a call stands, put into what is written down."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from execution.call import Leave, Prepared
from execution.changes import TaskChange
from execution.running.failure import Failure
from execution.running.standing import Place
from execution.status import TaskStatus
from execution.workflow import Task
from tools import ids


class Begun(NamedTuple):
    """A call that is to be made once its intent is written down.

    Attributes:
        task: Whose call it is.
        place: What it is a call of.
        arguments: All references replaced.
        leave: A person's approval that it uses up; None: none is needed.
        intent: What is written down.
    """

    task: Task
    place: Place
    arguments: Mapping[str, Any]
    leave: Leave | None
    intent: TaskChange

    @property
    def server(self) -> str:
        """Name of the server that it goes to."""
        return server_of(self.task)


class Cause(NamedTuple):
    """The first failure that counts."""

    task: str
    code: str
    message: str


def server_of(task: Task) -> str:
    """Return the name of the server of a task's tool; no name of a server holds a colon."""
    return task.tool.partition(ids.SEPARATOR)[0]


def running(place: Place, at: datetime, *, code: str) -> TaskChange:
    """Return that a task with a list is under way; the code says whether it was stopped."""
    return TaskChange(*place, TaskStatus.RUNNING, at, error_code=code)


def intended(
    place: Place, prepared: Prepared, at: datetime, *, attempt: int, approval: UUID | None
) -> TaskChange:
    """Return that a call is about to be made."""
    return TaskChange(
        *place,
        TaskStatus.RUNNING,
        at,
        attempts=attempt,
        definition_hash=prepared.definition_hash,
        arguments_digest=prepared.arguments_digest,
        approval=approval,
    )


def asked(
    place: Place, prepared: Prepared, arguments: Mapping[str, Any], at: datetime
) -> TaskChange:
    """Return that a person is asked about a call."""
    return TaskChange(
        *place,
        TaskStatus.WAITING_APPROVAL,
        at,
        definition_hash=prepared.definition_hash,
        arguments_digest=prepared.arguments_digest,
        arguments=arguments,
        asks=prepared.asks,
    )


def succeeded(
    place: Place, result: Mapping[str, Any], at: datetime, *, attempts: int, duration_ms: float
) -> TaskChange:
    """Return that a tool answered."""
    status = TaskStatus.SUCCEEDED
    return TaskChange(
        *place, status, at, attempts=attempts, result=result, duration_ms=duration_ms
    )


def failed(place: Place, why: Failure, at: datetime, *, attempts: int | None) -> TaskChange:
    """Return that a call failed, or could not be made."""
    return TaskChange(
        *place,
        TaskStatus.FAILED,
        at,
        attempts=attempts,
        result=why.result,
        duration_ms=why.duration_ms,
        error_code=why.code,
        error=why.message,
    )


CUT_OFF: Final = "the call was cancelled while it was under way; it may have taken effect"
NOT_MADE_AGAIN: Final = (
    "the gateway was lost during the call, which is not made again now; it may have taken effect"
)


def cancelled(
    place: Place, code: str, at: datetime, *, attempts: int | None, why: str = CUT_OFF
) -> TaskChange:
    """Return that a call was cancelled that may have taken effect."""
    status = TaskStatus.CANCELLED
    return TaskChange(*place, status, at, attempts=attempts, error_code=code, error=why)


def taken_back(place: Place, at: datetime, *, attempts: int, code: str = "") -> TaskChange:
    """Return that a call is to be made anew, or was not made after all.

    The code is that of a task with a list, and says whether that was stopped.
    """
    return TaskChange(*place, TaskStatus.PENDING, at, attempts=attempts, error_code=code)
