"""How a call stands, put into what is written down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Begun:
    """A call that is to be made once its intent is written down.

    Attributes:
        task: Whose call it is.
        item: Place in its list.
        arguments: All references replaced.
        leave: A person's approval that it uses up; None: none is needed.
        intent: What is written down.
    """

    task: Task
    item: int
    arguments: Mapping[str, Any]
    leave: Leave | None
    intent: TaskChange

    @property
    def place(self) -> Place:
        """What it is a call of."""
        return self.task.id, self.item

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
    return TaskChange(
        task=place[0], item=place[1], status=TaskStatus.RUNNING, at=at, error_code=code
    )


def intended(
    place: Place, prepared: Prepared, at: datetime, *, attempt: int, approval: UUID | None
) -> TaskChange:
    """Return that a call is about to be made."""
    return TaskChange(
        task=place[0],
        item=place[1],
        status=TaskStatus.RUNNING,
        at=at,
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
        task=place[0],
        item=place[1],
        status=TaskStatus.WAITING_APPROVAL,
        at=at,
        definition_hash=prepared.definition_hash,
        arguments_digest=prepared.arguments_digest,
        arguments=arguments,
        asks=prepared.asks,
    )


def succeeded(
    place: Place, result: Mapping[str, Any], at: datetime, *, attempts: int, duration_ms: float
) -> TaskChange:
    """Return that a tool answered."""
    return TaskChange(
        task=place[0],
        item=place[1],
        status=TaskStatus.SUCCEEDED,
        at=at,
        attempts=attempts,
        result=result,
        duration_ms=duration_ms,
    )


def failed(place: Place, why: Failure, at: datetime, *, attempts: int | None) -> TaskChange:
    """Return that a call failed, or could not be made."""
    return TaskChange(
        task=place[0],
        item=place[1],
        status=TaskStatus.FAILED,
        at=at,
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
    return TaskChange(
        task=place[0],
        item=place[1],
        status=TaskStatus.CANCELLED,
        at=at,
        attempts=attempts,
        error_code=code,
        error=why,
    )


def taken_back(place: Place, at: datetime, *, attempts: int) -> TaskChange:
    """Return that a call is to be made anew, or was not made after all."""
    return TaskChange(
        task=place[0], item=place[1], status=TaskStatus.PENDING, at=at, attempts=attempts
    )
