"""Where one run is written down, by the process that holds it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from execution.changes import Changes, Journal
from execution.process.watchers import Watchers

Make = Callable[[Changes], Awaitable[None]]


class RunJournal:
    """The journal of one run: wakes those of this process who watch it, and notes its end.

    Args:
        journal: Does the writing.
        watchers: Told of what is safe, besides those whom the database tells.
        make: Writes down a run that is not there yet, together with the first that happens to
            it; None: it is there.
    """

    def __init__(self, journal: Journal, watchers: Watchers, *, make: Make | None = None) -> None:
        self.has_ended = False
        """Whether its end is written down: since then it is nobody's."""
        self.is_made = make is None
        """Whether it is there."""
        self._journal = journal
        self._watchers = watchers
        self._make = make

    @property
    def is_held(self) -> bool:
        """Whether the run is this process's, as far as that knows."""
        return self.is_made and not self.has_ended

    async def record(self, changes: Changes) -> None:
        """Return once the changes are safe; as in `execution.changes.Journal`.

        Raises:
            NotMade: If the run could not be made, or was by an earlier request.
        """
        if self._make is not None:
            make, self._make = self._make, None
            await make(changes)
            self.is_made = True
        else:
            await self._journal.record(changes)
        self.has_ended = changes.status is not None and changes.status.is_final
        self._watchers.tell(changes.run)
