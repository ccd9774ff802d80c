"""The state of a run when a process begins to hold it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final
from uuid import UUID

from execution.changes import TaskKey
from execution.status import RunStatus, TaskStatus
from execution.workflow import RunOptions, Workflow
from gateway_project.foundation import canonical
from gateway_project.foundation.caller import Caller

SESSION_BYTES: Final = 8
RUN_SESSION_PREFIX: Final = "run/"
"""Of the session of a run's tasks; its id follows."""


def bind_run_session(caller: Caller, run: UUID) -> Caller:
    """Return a caller whose session is a run."""
    return replace(caller, session=f"{RUN_SESSION_PREFIX}{run}", trace="")


def find_session_run(caller: Caller) -> UUID | None:
    """Return the run that is a caller's session; None: it is a conversation.

    Example:
        >>> caller = Caller(user="a", team=None, person=7, scopes=frozenset(), kind="stdio")
        >>> run = UUID(int=7)
        >>> find_session_run(caller), find_session_run(bind_run_session(caller, run)) == run
        (None, True)
    """
    prefix, run = (
        caller.session[: len(RUN_SESSION_PREFIX)],
        caller.session[len(RUN_SESSION_PREFIX) :],
    )
    return UUID(run) if prefix == RUN_SESSION_PREFIX else None


def compute_run_session(run: UUID) -> int:
    """Return the session of a run's tasks in events, signed 64-bit: the same in every process.

    Example:
        >>> compute_run_session(UUID(int=7)) == compute_run_session(UUID(int=8))
        False
    """
    digest = bytes.fromhex(canonical.hash_text(str(run)))
    return int.from_bytes(digest[:SESSION_BYTES], "big", signed=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskSnapshot:
    """State of a task, or of one of its items, without its result.

    Attributes:
        status: In an executor, a running call is a lost one and counts as unknown; one that may
            be repeated is pending.
        attempts: Calls made so far.
        error_code: Stable error code; empty: no error.
        approval: Primary key of its granted, unused approval; None: none.
        definition_hash: Of the definition that was called or is to be approved; empty: neither.
        arguments_digest: Keyed digest of the arguments, likewise.
    """

    status: TaskStatus
    attempts: int = 0
    error_code: str = ""
    approval: UUID | None = None
    definition_hash: str = ""
    arguments_digest: str = ""


@dataclass(frozen=True, kw_only=True)
class RunSnapshot:
    """State of a run when this process claimed it, or created it for itself.

    Attributes:
        run: Its id.
        caller: Caller it acts for.
        epoch: Epoch of this claim; the fencing token of every write.
        last_seq: Sequence number of its newest event.
        workflow: With canonical tool ids.
        options: Policies for errors, layers and the deadline.
        deadline_at: Deadline by the clock of this machine; None: none.
        tasks: Known states; a missing task is pending.
        status: Queued: it starts. Running: the previous process was lost. At rest: it stays so
            until steered, which may happen before it is executed.
        was_lost: Whether the previous process had not released it.
    """

    run: UUID
    caller: Caller
    epoch: int
    last_seq: int
    workflow: Workflow
    options: RunOptions = field(default_factory=RunOptions)
    deadline_at: datetime | None = None
    tasks: Mapping[TaskKey, TaskSnapshot] = field(default_factory=dict)
    status: RunStatus = RunStatus.QUEUED
    was_lost: bool = False

    @property
    def task_caller(self) -> Caller:
        """The caller of its tasks.

        A run is a session of its own, unless it makes the direct call of a conversation.
        """
        return self.caller if self.caller.session else bind_run_session(self.caller, self.run)


class CannotResume(Exception):
    """A run cannot be resumed, now or later."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
