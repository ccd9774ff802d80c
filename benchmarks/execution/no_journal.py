"""A journal that writes nothing down, so that only what carries runs on is measured."""

from __future__ import annotations

from execution.changes import Changes


class NoJournal:
    """Forgets what it is given."""

    async def record(self, changes: Changes) -> None:
        """Return at once."""
