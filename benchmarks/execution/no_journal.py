"""A journal that writes nothing, so that only the executor is measured."""

from __future__ import annotations

from execution.changes import RunChanges


class NoJournal:
    """Discards all changes."""

    async def record(self, changes: RunChanges) -> None:
        """Return at once."""
