"""Requests that are being served, so that those without an end can be ended."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class OpenRequests:
    """Knows the ends of requests that would otherwise stay open for as long as the client does."""

    def __init__(self) -> None:
        self._endless: set[asyncio.Timeout] = set()
        self.closing = False

    @contextmanager
    def held(self, end: asyncio.Timeout, *, endless: bool) -> Iterator[None]:
        """Count a request while it is served."""
        if not endless:
            yield
            return
        if self.closing:
            end.reschedule(0.0)
        self._endless.add(end)
        try:
            yield
        finally:
            self._endless.discard(end)

    def close(self) -> None:
        """End the endless ones, those that are still to come included."""
        self.closing = True
        now = asyncio.get_running_loop().time()
        for end in self._endless:
            end.reschedule(now)
