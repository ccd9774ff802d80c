"""Where one run is written down, by the process that holds it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from execution.changes import Changes
from execution.process.kept_answer import KeptAnswer
from execution.process.watchers import Watchers
from execution.store.writing import Written

Make = Callable[[Changes], Awaitable[KeptAnswer | None]]


class Recorder(Protocol):
    """A journal that knows how things were written."""

    async def record(self, changes: Changes) -> Written | None:
        """Return once the changes are safe; as in `execution.changes.Journal`."""


class RunJournal:
    """The journal of one run: wakes those of this process who watch it, and notes its end.

    Args:
        journal: Does the writing.
        watchers: Told of what is safe, besides those whom the database tells.
        make: Writes down a run that is not there yet, together with the first that happens to
            it, and returns what keeps its answer, if anything does; None: it is there.
    """

    def __init__(self, journal: Recorder, watchers: Watchers, *, make: Make | None = None) -> None:
        self.has_ended = False
        """Whether its end is written down: since then it is nobody's."""
        self.is_made = make is None
        """Whether it is there."""
        self._journal = journal
        self._watchers = watchers
        self._make = make
        self._answer: KeptAnswer | None = None

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
            self._answer = await make(changes)
            self.is_made = True
        else:
            written = await self._journal.record(changes)
            if self._answer is not None:
                self._answer.follow(changes, written)
        is_end = changes.status is not None and changes.status.is_final
        self.has_ended = self.has_ended or is_end  # what is refused may be written with the end
        if self.has_ended and self._answer is not None:
            self._watchers.tell_end(changes.run, self._answer.view)
        else:
            self._watchers.tell(changes.run)
