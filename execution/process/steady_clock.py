"""Tells the time of day by a clock that only goes forward."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta


def clock() -> Callable[[], datetime]:
    """Return a clock that shows the time of day as of now, and is set by nobody afterwards."""
    shown, since_s = datetime.now(UTC), time.monotonic()
    return lambda: shown + timedelta(seconds=time.monotonic() - since_s)
