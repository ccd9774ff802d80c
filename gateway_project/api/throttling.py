"""Limits how many requests a caller makes a minute and a day, counted in this process."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from gateway_project.foundation.caller import Caller
from gateway_project.foundation.shares import Shares
from gateway_project.mcp.http.service import REQUESTS

MINUTE_S: Final = 60.0
DAY_S: Final = 86_400.0
MAX_CALLERS: Final = 10_000
open_requests: Final = Shares(REQUESTS)
"""Requests that are being served, by user: one may have many tokens."""

CallerKey = tuple[str, int | None, str]


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """What a caller has left in the window that ends first.

    Attributes:
        limit: Requests in the window.
        remaining: Of them, those left; negative: this request is refused.
        reset_s: Seconds until the window ends.
    """

    limit: int
    remaining: int
    reset_s: float


class RateLimiter:
    """Counts requests of callers in windows of fixed length; memory is bounded.

    Args:
        limit: Requests of a caller in a window; 0: no limit.
        window_s: Length of a window in seconds.
        clock: In seconds, monotonic.
    """

    def __init__(
        self, limit: int, window_s: float, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._limit = limit
        self._window_s = window_s
        self._clock = clock
        self._lock = threading.Lock()
        self._counts: OrderedDict[CallerKey, tuple[float, int]] = OrderedDict()

    def count(self, caller: Caller) -> Allowance | None:
        """Count a request and return what is left; None: there is no limit."""
        if not self._limit:
            return None
        key = (caller.user, caller.team, caller.session)
        now = self._clock()
        with self._lock:
            began, count = self._counts.pop(key, (now, 0))
            if now - began >= self._window_s:
                began, count = now, 0
            self._counts[key] = began, count + 1
            if len(self._counts) > MAX_CALLERS:
                self._counts.popitem(last=False)
        return Allowance(
            limit=self._limit,
            remaining=self._limit - count - 1,
            reset_s=began + self._window_s - now,
        )
