"""How long work may wait for a database that is down, where somebody waits for the work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

_longest_wait_s: Final[ContextVar[float | None]] = ContextVar("longest_wait_s", default=None)


@contextmanager
def limit_wait(wait_s: float) -> Iterator[None]:
    """Have each connection made in the block fail if the database does not answer in time.

    Args:
        wait_s: For one attempt to connect, and for an embedded database to come up again.
    """
    token = _longest_wait_s.set(wait_s)
    try:
        yield
    finally:
        _longest_wait_s.reset(token)


def longest_wait_s(default: float) -> float:
    """Return how long the current work may wait; `default` if nothing limits it."""
    limit = _longest_wait_s.get()
    return default if limit is None else limit


def is_limited() -> bool:
    """Whether somebody waits for the current work."""
    return _longest_wait_s.get() is not None
