"""Requests to start, read and control runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from execution.control import Action
from execution.workflow import RunOptions

DEFAULT_WAIT_S: Final = 20.0
MAX_WAIT_S: Final = 300.0
MAX_DEADLINE_S: Final = 31_536_000.0
"""A year: the deadline is stored as a date, and must be one."""
MAX_KEY_LENGTH: Final = 200
MAX_INTENT_LENGTH: Final = 200_000
"""Characters of an intent; learning uses far fewer."""

CONTROL_ACTIONS: Final = (*(action.value for action in Action), "approve", "reject")
"""Actions a client may request on a run or on a pending approval."""
WatchRun = Callable[[UUID], AbstractAsyncContextManager[None]]
"""Returns the context entered while waiting for a run, to observe it."""


def watch_nothing(_run: UUID) -> AbstractAsyncContextManager[None]:
    """Null implementation of `WatchRun`."""
    return nullcontext()


@dataclass(frozen=True, kw_only=True, eq=False)
class RunRequest:
    """A request to run a workflow.

    Attributes:
        workflow: As received, not validated.
        intent: Its purpose, in words; empty: unknown. Only runs with one teach patterns.
        options: Options of the execution.
        dry_run: Plan only: nothing is called or stored.
        wait_s: Longest wait for the run to come to rest.
        idempotency_key: Repeated requests with it return the same run; None: always a new run.
        from_speculation: Id of the suggestion it comes from, as received; None: not stated.
    """

    workflow: Any
    intent: str = ""
    options: RunOptions = field(default_factory=RunOptions)
    dry_run: bool = False
    wait_s: float = DEFAULT_WAIT_S
    idempotency_key: str | None = None
    from_speculation: str | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class ControlRequest:
    """A request to control a run.

    Attributes:
        run: Id of the run, as received.
        action: One of `CONTROL_ACTIONS`.
        workflow: For `replan`: replaces the unstarted part.
        approval: Id of the approval; empty: the first pending one.
        wait_s: Longest wait for the run to come to rest again.
    """

    run: str
    action: str
    workflow: Mapping[str, Any] | None = None
    approval: str = ""
    wait_s: float = 0.0
