"""A flow switch that several reasons can hold closed."""

from __future__ import annotations

from collections.abc import Callable


class FlowValve:
    """Stops a flow while at least one reason holds it.

    Args:
        stop: Called when the first reason is added.
        start: Called when the last reason is released.

    Example:
        >>> valve = FlowValve(stop=lambda: print("stop"), start=lambda: print("start"))
        >>> valve.hold("full"); valve.hold("rest"); valve.release("full"); valve.release("rest")
        stop
        start
    """

    def __init__(self, *, stop: Callable[[], None], start: Callable[[], None]) -> None:
        self._stop = stop
        self._start = start
        self._reasons: set[str] = set()

    def hold(self, reason: str) -> None:
        """Add a reason to stop the flow."""
        if not self._reasons:
            self._stop()
        self._reasons.add(reason)

    def release(self, reason: str) -> None:
        """Remove a reason."""
        if reason in self._reasons:
            self._reasons.remove(reason)
            if not self._reasons:
                self._start()
