"""Keeps Python's garbage collector out of the way of work that only adds objects."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Do not look for garbage: where everything is kept, that takes longer than the work itself.

    Where it was off before, it stays off afterwards. Not for work that awaits: it holds for the
    whole process.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def age() -> None:
    """Count all there is among the old objects, at once.

    After much was loaded that stays, the next looks for garbage among new objects would go
    through all of it several times, and hold up every thread. What `gc.freeze` set apart comes
    back among the old objects too.
    """
    gc.freeze()
    gc.unfreeze()
