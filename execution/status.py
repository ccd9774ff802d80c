"""The words for how a run and its tasks stand."""

from __future__ import annotations

from enum import StrEnum


class RunStatus(StrEnum):
    """How a run stands."""

    QUEUED = "queued"
    """It waits for a process to take it."""
    RUNNING = "running"
    PAUSED = "paused"
    """Somebody paused it, or it stopped at a decision point of its agent."""
    WAITING = "waiting"
    """Nothing of it can go on before a person decides."""
    SUCCEEDED = "succeeded"
    PARTIAL_SUCCESS = "partial_success"
    """It went to its end, but not all of its tasks succeeded."""
    FAILED = "failed"
    ABORTED = "aborted"
    UNKNOWN = "unknown"
    """Of a call that may or may not have taken effect nobody knows how it ended."""

    @property
    def is_final(self) -> bool:
        """Whether nothing more will happen; what is unknown waits for a person.

        Example:
            >>> RunStatus.ABORTED.is_final, RunStatus.UNKNOWN.is_final
            (True, False)
        """
        return self in _ENDED

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing happens until somebody does something.

        Example:
            >>> RunStatus.PAUSED.is_at_rest, RunStatus.RUNNING.is_at_rest
            (True, False)
        """
        return self not in (RunStatus.QUEUED, RunStatus.RUNNING)


_ENDED = frozenset(
    {RunStatus.SUCCEEDED, RunStatus.PARTIAL_SUCCESS, RunStatus.FAILED, RunStatus.ABORTED}
)


class TaskStatus(StrEnum):
    """How a task of a run stands, or one item of a task that runs for each of a list."""

    PENDING = "pending"
    RUNNING = "running"
    """The intent to call is written down; the call may have been sent."""
    WAITING_APPROVAL = "waiting_approval"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"
    """It was not called, since what it needs did not succeed."""
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"
    """It was started, and nobody knows whether it took effect."""

    @property
    def is_done(self) -> bool:
        """Whether the scheduler is done with it.

        Example:
            >>> TaskStatus.SKIPPED.is_done, TaskStatus.UNKNOWN.is_done
            (True, False)
        """
        return self in _DONE


_DONE = frozenset(
    {TaskStatus.SUCCEEDED, TaskStatus.FAILED, TaskStatus.SKIPPED, TaskStatus.CANCELLED}
)
