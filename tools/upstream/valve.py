"""One tap that several hands may hold shut."""

from __future__ import annotations

from collections.abc import Callable


class Valve:
    """Stops what flows at the first reason to, and starts it again when none is left.

    Args:
        stop: Called when the first reason comes up.
        start: Called when the last one is gone.

    Example:
        >>> valve = Valve(stop=lambda: print("stop"), start=lambda: print("start"))
        >>> valve.hold("full"); valve.hold("rest"); valve.release("full"); valve.release("rest")
        stop
        start
    """

    def __init__(self, *, stop: Callable[[], None], start: Callable[[], None]) -> None:
        self._stop = stop
        self._start = start
        self._reasons: set[str] = set()

    def hold(self, reason: str) -> None:
        """Let nothing flow as long as this reason stands."""
        if not self._reasons:
            self._stop()
        self._reasons.add(reason)

    def release(self, reason: str) -> None:
        """Take a reason back."""
        if reason in self._reasons:
            self._reasons.remove(reason)
            if not self._reasons:
                self._start()
