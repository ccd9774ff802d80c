"""Extends the time limit of a transaction each time it was exceeded."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

MAX_TRANSACTION_S: Final = 5
"""A process stalled within a transaction loses its locks after this time, so that others can claim
its runs."""
MAX_TIME_FACTOR: Final = 16
"""Maximum factor on the usual time limit."""

_time_factor: ContextVar[int] = ContextVar("patience", default=1)


class RetryPatience:
    """The time limit of a unit of work that is retried until it succeeds.

    Each time a transaction takes too long, its limit is doubled, since a retry would take as long.
    A server that aborts a long transaction often just closes the connection, so this is detected
    by the elapsed time.
    """

    def __init__(self) -> None:
        self._factor = 1

    @contextmanager
    def extend_timeouts(self) -> Iterator[None]:
        """Apply the current limit to an attempt, also on the thread that executes it."""
        began = time.monotonic()
        token = _time_factor.set(self._factor)
        try:
            yield
        except Exception:
            if time.monotonic() - began >= MAX_TRANSACTION_S * self._factor:
                self._factor = min(2 * self._factor, MAX_TIME_FACTOR)
            raise
        finally:
            _time_factor.reset(token)


def get_time_factor() -> int:
    """Return the factor on the usual time limit in this context."""
    return _time_factor.get()
