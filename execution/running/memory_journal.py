"""A journal that forgets: for measuring, and for tests that look at what was recorded."""

from __future__ import annotations

from execution.changes import Changes


class MemoryJournal:
    """Keeps what is recorded in a list, or nothing at all.

    Args:
        keeps: Whether to keep it.
    """

    def __init__(self, *, keeps: bool = True) -> None:
        self._keeps = keeps
        self.recorded: list[Changes] = []

    async def record(self, changes: Changes) -> None:
        """Return at once."""
        if self._keeps:
            self.recorded.append(changes)
