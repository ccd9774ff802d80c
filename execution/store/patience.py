"""Allows a transaction more time each time that it took too long."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

LONGEST_S: Final = 5
"""A process that stands still amid a transaction loses its locks after so long, so that others can
take its runs over."""
MOST_TIMES: Final = 16
"""Of the usual time."""

_times: ContextVar[int] = ContextVar("patience", default=1)


class Patience:
    """How much time the transactions of a piece of work get, which is tried until it is done.

    What takes too long would take as long the next time: each such time it is allowed twice as
    much. A server that ends a transaction for its length often just closes the connection, so
    that it is told by how long that took.
    """

    def __init__(self) -> None:
        self._times = 1

    @contextmanager
    def trying(self) -> Iterator[None]:
        """Allow what is tried within so much time, also on the thread that it is handed to."""
        began = time.monotonic()
        token = _times.set(self._times)
        try:
            yield
        except Exception:
            if time.monotonic() - began >= LONGEST_S * self._times:
                self._times = min(2 * self._times, MOST_TIMES)
            raise
        finally:
            _times.reset(token)


def times() -> int:
    """Return how often the usual time a transaction may take here."""
    return _times.get()
