"""Bounds how long a piece of work may take in a process that does nothing else."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class OutOfTime(Exception):
    """Work took longer than it may."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise `OutOfTime` inside what takes longer than so many seconds.

    It comes between two steps of the interpreter, so after a call into a library that is under
    way. Only the main thread of a process can be stopped so; in others there is no limit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def expire(_signal: int, _frame: FrameType | None) -> None:
        raise OutOfTime(f"it took more than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
