"""Statuses of runs and tasks."""

from __future__ import annotations

from enum import StrEnum


class RunStatus(StrEnum):
    """The status of a run."""

    QUEUED = "queued"
    """Waiting for a process to claim it."""
    RUNNING = "running"
    PAUSED = "paused"
    """Paused by a user, or stopped at a decision point of its agent."""
    WAITING = "waiting"
    """Blocked until a person decides."""
    SUCCEEDED = "succeeded"
    PARTIAL_SUCCESS = "partial_success"
    """Finished, but not all of its tasks succeeded."""
    FAILED = "failed"
    ABORTED = "aborted"
    UNKNOWN = "unknown"
    """A call that may have taken effect has an unknown outcome."""

    @property
    def is_final(self) -> bool:
        """Whether the run has ended; an unknown one waits for a person.

        Example:
            >>> RunStatus.ABORTED.is_final, RunStatus.UNKNOWN.is_final
            (True, False)
        """
        return self in _FINAL_STATUSES

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing happens without outside action.

        Example:
            >>> RunStatus.PAUSED.is_at_rest, RunStatus.RUNNING.is_at_rest
            (True, False)
        """
        return self not in (RunStatus.QUEUED, RunStatus.RUNNING)


_FINAL_STATUSES = frozenset(
    {RunStatus.SUCCEEDED, RunStatus.PARTIAL_SUCCESS, RunStatus.FAILED, RunStatus.ABORTED}
)


class TaskStatus(StrEnum):
    """The status of a task, or of one item of a for-each task."""

    PENDING = "pending"
    RUNNING = "running"
    """The intent to call is journalled; the call may have been sent."""
    WAITING_APPROVAL = "waiting_approval"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"
    """Not called, because something it needs did not succeed."""
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"
    """Started, with an unknown outcome."""

    @property
    def is_done(self) -> bool:
        """Whether the scheduler is done with it.

        Example:
            >>> TaskStatus.SKIPPED.is_done, TaskStatus.UNKNOWN.is_done
            (True, False)
        """
        return self in _DONE_STATUSES


_DONE_STATUSES = frozenset(
    {TaskStatus.SUCCEEDED, TaskStatus.FAILED, TaskStatus.SKIPPED, TaskStatus.CANCELLED}
)
