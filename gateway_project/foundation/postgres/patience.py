"""How long work may wait for a database that is down, where somebody waits for the work."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final


class _Limit:
    """The longest wait of one piece of work, shared by all threads and tasks that take part.

    Tasks that outlive the work keep a copy of its context, so the end is noted here.

    Attributes:
        wait_s: The longest wait.
        deadline: Its end, on the monotonic clock; None while the database answers.
        is_active: Whether somebody still waits for the work.
    """

    def __init__(self, wait_s: float) -> None:
        self.wait_s = wait_s
        self.deadline: float | None = None
        self.is_active = True


_current: Final[ContextVar[_Limit | None]] = ContextVar("database_wait_limit", default=None)


@contextmanager
def limit_wait(wait_s: float) -> Iterator[None]:
    """Have work in the block fail if the database does not answer in time.

    Args:
        wait_s: For all steps together: checking a connection, connecting, and an embedded
            database that comes up again. It begins with the first step and, once the database
            has answered, anew with the next: the work itself may take longer.
    """
    limit = _Limit(wait_s)
    token = _current.set(limit)
    try:
        yield
    finally:
        limit.is_active = False
        _current.reset(token)


def begin_wait(default_s: float) -> float:
    """Return how long the current work may still wait; `default_s` if nothing limits it."""
    limit = _find_limit()
    if limit is None:
        return default_s
    deadline = limit.deadline
    if deadline is None:
        limit.deadline = deadline = time.monotonic() + limit.wait_s
    return max(0.0, deadline - time.monotonic())


def end_wait() -> None:
    """Note that the database has answered."""
    if limit := _find_limit():
        limit.deadline = None


def is_limited() -> bool:
    """Whether somebody waits for the current work."""
    return _find_limit() is not None


def _find_limit() -> _Limit | None:
    limit = _current.get()
    return limit if limit is not None and limit.is_active else None
