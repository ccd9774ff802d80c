"""Cancellation of work in a thread: whether its caller still waits for the result.

Separate from `computing`, which needs asyncio: pure modules check it through `schema_steps`.
"""

from __future__ import annotations

import threading
from contextvars import ContextVar

_abandoned: ContextVar[threading.Event | None] = ContextVar("abandoned", default=None)


def is_abandoned() -> bool:
    """Whether the caller of this work has been cancelled, so that it may stop."""
    abandoned = _abandoned.get()
    return abandoned is not None and abandoned.is_set()


def bind_abandoned_event(abandoned: threading.Event) -> None:
    """Set the event that `is_abandoned` reads in this context."""
    _abandoned.set(abandoned)
