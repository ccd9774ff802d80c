"""The collaborators of an executor, and what they exchange."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from execution.call import ApprovalGrant, CallOutcome, PreparedCall
from execution.changes import Journal, TaskChange, TaskKey
from execution.running.limits import CallSlots
from execution.running.results import ResultRoot
from tools.ids import SEPARATOR

RawResult = Mapping[str, Any]
"""A server's raw result."""


class Invocation(NamedTuple):
    """A call to make once its intent is journalled.

    Attributes:
        task: Id of the task.
        item: Index in the for-each list; `WHOLE_TASK`: not a for-each task.
        tool: Canonical id.
        arguments: All references replaced.
        timeout_s: Seconds for all attempts; None: the server's limit.
        grant: Consumed approval; None: none needed.
        intent: The change to journal.
        on_retry: Called before each retry with the failure count and the last error.
    """

    task: str
    item: int
    tool: str
    arguments: Mapping[str, Any]
    timeout_s: float | None
    grant: ApprovalGrant | None
    intent: TaskChange
    on_retry: Callable[[int, BaseException], None] = lambda _count, _error: None

    @property
    def key(self) -> TaskKey:
        """Task and item."""
        return self.task, self.item

    @property
    def server(self) -> str:
        """Name of the called server."""
        return self.tool.partition(SEPARATOR)[0]


@dataclass(frozen=True, kw_only=True)
class ExecutorDependencies:
    """The collaborators of an executor.

    Attributes:
        prepare: Checks a call without making it; raises `CallError` or another error with a `code`
            if it may not be made. Runs on a worker thread if the arguments are large.
        invoke: Makes a call; cancellation is passed upstream.
        journal: Records all changes.
        call_slots: Slots shared by all runs of the process.
        clock: Current time; for display, and compared with the deadline once, at the start.
        reload_results: Loads the result roots of tasks, items included.
        slot_group: Whose share the run's slots count against.
        is_sent: Whether the run's only call is in flight already, and starts whatever happens.
    """

    prepare: Callable[[str, Mapping[str, Any]], PreparedCall]
    invoke: Callable[[Invocation], Awaitable[CallOutcome]]
    journal: Journal
    call_slots: CallSlots
    clock: Callable[[], datetime]
    reload_results: Callable[[Collection[str]], Awaitable[Mapping[TaskKey, ResultRoot]]]
    slot_group: Hashable = None
    is_sent: bool = False
