"""What is asked of runs: to start one, to look at one, to steer one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from execution.control import Action
from execution.workflow import Options

DEFAULT_WAIT_S: Final = 20.0
MAX_WAIT_S: Final = 300.0
MAX_KEY_LENGTH: Final = 200
MAX_INTENT_LENGTH: Final = 200_000
"""Far more than is learned from."""

ACTIONS: Final = (*(action.value for action in Action), "approve", "reject")
"""What a client may tell a run, or decide of a call that waits."""
Watch = Callable[[UUID], AbstractAsyncContextManager[None]]
"""Entered while a run is waited for, to see what happens to it."""


def unwatched(_run: UUID) -> AbstractAsyncContextManager[None]:
    """Watch nothing."""
    return nullcontext()


@dataclass(frozen=True, kw_only=True, eq=False)
class RunRequest:
    """A workflow that is to be run.

    Attributes:
        workflow: As it came; nothing of it has been judged.
        intent: What it is for, in words; empty: not said. Only such runs teach a pattern.
        options: How it is to be carried out.
        dry_run: Whether it is only planned: nothing is called and nothing is kept.
        wait_s: Seconds that the answer may wait for the run to come to rest.
        idempotency_key: Makes a repeated request the same run; None: each is a run of its own.
    """

    workflow: Any
    intent: str = ""
    options: Options = field(default_factory=Options)
    dry_run: bool = False
    wait_s: float = DEFAULT_WAIT_S
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class ControlRequest:
    """What a run is told.

    Attributes:
        run: Its id, as it came.
        action: What it is to do, of `ACTIONS`.
        workflow: In place of the rest, for `replan`.
        approval: Id of the approval meant, of several; empty: the first that is pending.
        wait_s: Seconds that the answer may wait for it to come to rest again.
    """

    run: str
    action: str
    workflow: Mapping[str, Any] | None = None
    approval: str = ""
    wait_s: float = 0.0
