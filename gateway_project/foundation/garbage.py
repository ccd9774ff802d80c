"""Avoids pauses of Python's garbage collector, during which no thread of the process runs.

A full collection traverses every object of the process, which takes some hundred milliseconds in a
gateway, and requests make it due every few seconds: whatever lives while the younger generations
are collected counts as long-lived, although it is freed soon afterwards. Objects that really are
long-lived are therefore set apart (`gc.freeze`), so that full collections take milliseconds.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

MAX_OLD_OBJECTS: Final = 10_000
"""Objects of the oldest generation from which they are set apart: some 10 ms of traversal."""
GROWTH: Final = 1.5
"""Growth of what is set apart after which it is collected too."""
MAX_CHECKS: Final = 90
"""Checks after which it is collected though it has not grown: few cycles can hold much memory."""


class LongLivedObjects:
    """Sets the long-lived objects of the process apart, so that collections are short.

    What is set apart is still freed as soon as nothing refers to it. Only cycles stay, until it
    has grown by `GROWTH` or was checked `MAX_CHECKS` times; then all of it is collected.

    Args:
        max_old: Objects of the oldest generation from which they are set apart.
    """

    def __init__(self, *, max_old: int = MAX_OLD_OBJECTS) -> None:
        self._max_old = max_old
        self._limit = 0.0
        self._checks = 0
        self._is_kept = False

    @contextmanager
    def keep_apart(self) -> Iterator[None]:
        """Set apart all there is now; inside the block, `check` adds what was loaded meanwhile."""
        gc.freeze()
        self._collect_if_grown()
        self._is_kept = True
        try:
            yield
        finally:
            self._is_kept = False  # the rest stays apart: the end of the process is shorter so

    def add_all(self) -> None:
        """Take all objects there are for long-lived, at once.

        After a large amount of long-lived data was loaded, the next collections of the young
        generations would traverse all of it several times. While nothing is kept apart, all
        objects move to the oldest generation, also those that `gc.freeze` set apart.
        """
        gc.freeze()
        if not self._is_kept:
            gc.unfreeze()

    def check(self) -> None:
        """Set the oldest generation apart if it is large; collect what is set apart if it grew."""
        if self._is_old_large():
            gc.collect()
        if self._is_old_large():
            _freeze_survivors()
        self._checks += 1
        self._collect_if_grown()

    def _is_old_large(self) -> bool:
        return len(gc.get_objects(generation=2)) >= self._max_old

    def _collect_if_grown(self) -> None:
        """Collect what is set apart if it grew; the first time, its size is only noted.

        The limit falls with what is freed, so that one large amount of data does not raise it for
        good.
        """
        count = gc.get_freeze_count()
        if self._limit and count <= self._limit and self._checks < MAX_CHECKS:
            self._limit = min(self._limit, GROWTH * count)
            return
        if self._limit:
            gc.unfreeze()
            gc.collect()
            _freeze_survivors()
        self._checks = 0
        self._limit = GROWTH * gc.get_freeze_count()


def _freeze_survivors() -> None:
    """Set all objects apart; the next full collection is due by what is left, which is little."""
    gc.freeze()
    gc.collect()


LONG_LIVED: Final = LongLivedObjects()
"""Those of this process."""


@contextmanager
def pause_collection() -> Iterator[None]:
    """Disable garbage collection: when nothing is freed, it takes longer than the work itself.

    If it was disabled before, it stays so afterwards. Not for code that awaits: it affects the
    whole process.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
