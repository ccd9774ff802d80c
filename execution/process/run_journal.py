"""The journal of one run, for the process that holds it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from execution.changes import RunChanges
from execution.process.journal import DatabaseJournal
from execution.process.watchers import RunWatchers

CreateRun = Callable[[RunChanges], Awaitable[None]]


class RunJournal:
    """Journals one run, notifies local watchers, and notes its end.

    Args:
        journal: Does the writing.
        watchers: Local watchers, besides those the database notifies.
        create: Creates the run together with its first changes; None: it exists.
    """

    def __init__(
        self, journal: DatabaseJournal, watchers: RunWatchers, *, create: CreateRun | None = None
    ) -> None:
        self.has_ended = False
        """Whether its end is durable; then nobody holds it."""
        self.is_created = create is None
        """Whether it exists."""
        self._journal = journal
        self._watchers = watchers
        self._create_run = create

    @property
    def is_held(self) -> bool:
        """Whether this process holds the run, as far as it knows."""
        return self.is_created and not self.has_ended

    async def record(self, changes: RunChanges) -> None:
        """Return once the changes are durable; as in `execution.changes.Journal`.

        Raises:
            RunNotCreated: If creation failed, or an earlier request created it.
        """
        if self._create_run is not None:
            create, self._create_run = self._create_run, None
            await create(changes)
            self.is_created = True
        else:
            await self._journal.record(changes)
        is_end = changes.status is not None and changes.status.is_final
        # An entry after the end may be acknowledged as written with it.
        self.has_ended = self.has_ended or is_end
        self._watchers.notify(changes.run)
