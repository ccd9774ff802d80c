"""Avoids pauses of Python's garbage collector in work that only allocates."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


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


def freeze_objects() -> None:
    """Move all objects to the oldest generation of the collector at once.

    After a large amount of long-lived data was loaded, the next collections of the young
    generations would traverse all of it several times and block every thread. Objects that
    `gc.freeze` set apart return to the oldest generation too.
    """
    gc.freeze()
    gc.unfreeze()
