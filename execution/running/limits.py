"""How many calls run at once: in all, and at each server."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import count


class Waiting:
    """Somebody who waits for a slot.

    Args:
        granted: Called once, when a slot has been taken for them; never raises.
        number: Place in line.
    """

    __slots__ = ("granted", "is_over", "number")

    def __init__(self, granted: Callable[[], None], number: int) -> None:
        self.granted = granted
        self.number = number
        self.is_over = False

    def withdraw(self) -> None:
        """Wait no longer."""
        self.is_over = True


class Limits:
    """Slots for calls, shared by all runs of a process; for one event loop.

    Whoever waits longest for a server with room comes first. A run waits with one request for each
    server, so that runs take turns, however many tasks one of them has ready.

    Args:
        total: Calls at once.
        per_server: Calls at once at one server.
    """

    def __init__(self, *, total: int, per_server: int) -> None:
        self._free = total
        self._per_server = per_server
        self._busy: dict[str, int] = {}
        self._lines: dict[str, deque[Waiting]] = {}
        self._numbers = count()

    def take(self, server: str) -> bool:
        """Take a slot if one is free and nobody waits for it."""
        if not self._has_room(server) or (self._lines and self._has_line(server)):
            return False
        self._occupy(server)
        return True

    def wait(self, server: str, granted: Callable[[], None]) -> Waiting:
        """Have `granted` called once, when a slot has been taken; maybe before this returns."""
        waiting = Waiting(granted, next(self._numbers))
        self._lines.setdefault(server, deque()).append(waiting)
        self._grant()
        return waiting

    def give_back(self, server: str) -> None:
        """Free a slot."""
        self._free += 1
        self._busy[server] -= 1
        if not self._busy[server]:
            del self._busy[server]
        if self._lines:
            self._grant()

    def _grant(self) -> None:
        """Give free slots to those who wait, in the order in which they came."""
        while self._free:
            open_lines = [
                server
                for server in tuple(self._lines)
                if self._has_line(server) and self._has_room(server)
            ]
            if not open_lines:
                return
            server = min(open_lines, key=lambda name: self._lines[name][0].number)
            waiting = self._lines[server].popleft()
            self._occupy(server)
            waiting.is_over = True
            waiting.granted()

    def _has_room(self, server: str) -> bool:
        return self._free > 0 and self._busy.get(server, 0) < self._per_server

    def _has_line(self, server: str) -> bool:
        """Whether anybody waits for a server; those who gave up are dropped."""
        line = self._lines.get(server)
        while line and line[0].is_over:
            line.popleft()
        if line is not None and not line:
            del self._lines[server]
        return bool(line)

    def _occupy(self, server: str) -> None:
        self._free -= 1
        self._busy[server] = self._busy.get(server, 0) + 1
