"""A clock that shows the time of day and only moves forward."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta


def make_steady_clock() -> Callable[[], datetime]:
    """Return a clock that starts at the current time and ignores later adjustments."""
    shown, since_s = datetime.now(UTC), time.monotonic()
    return lambda: shown + timedelta(seconds=time.monotonic() - since_s)
