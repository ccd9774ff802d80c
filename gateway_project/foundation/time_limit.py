"""A time limit on work in a process that does nothing else."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class TimeLimitExceeded(Exception):
    """Work exceeded its time limit."""


@contextmanager
def limit_time(seconds: float) -> Iterator[None]:
    """Raise `TimeLimitExceeded` in a block that takes longer than `seconds`.

    It is raised between two bytecode instructions, so only after a running library call has
    returned. It works in the main thread only; in other threads there is no limit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def expire(_signal: int, _frame: FrameType | None) -> None:
        raise TimeLimitExceeded(f"it took more than {seconds:g} s")

    previous_handler = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, previous_handler)
