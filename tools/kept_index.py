"""Keeps the search index of a process current, in the background."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import django.db
import structlog

from gateway_project.foundation.database import in_database

if TYPE_CHECKING:
    from tools.search_index import SearchIndex

DEBOUNCE_S = 0.15
"""Embedding a catalogue notifies once for each chunk; one refresh serves several."""

log = structlog.get_logger(__name__)


class KeptIndex:
    """The index in force, swapped whole when the database says that something changed.

    Until the first one is made, and where the catalogue does not fit the memory, there is none,
    and the database does the whole search.
    """

    def __init__(self, model: str, *, max_bytes: int) -> None:
        self._model = model
        self._max_bytes = max_bytes
        self._current: SearchIndex | None = None
        self._outdated = asyncio.Event()
        self._outdated.set()
        self._read = asyncio.Event()

    @property
    def is_read(self) -> bool:
        """Whether the catalogue was read: where there is no index then, it is too large."""
        return self._read.is_set()

    async def read(self) -> None:
        """Wait until the catalogue was read for the first time."""
        await self._read.wait()

    @property
    def current(self) -> SearchIndex | None:
        """The newest index, if any."""
        return self._current

    def outdate(self) -> None:
        """Take note that the database has changed; call it on the event loop."""
        self._outdated.set()

    async def run(self) -> None:
        """Refresh the index whenever it is outdated, until cancelled."""
        while True:
            await self._outdated.wait()
            await asyncio.sleep(DEBOUNCE_S)
            self._outdated.clear()
            await self.refresh()

    async def refresh(self) -> None:
        """Read what has changed; what cannot be read leaves the old index in force.

        That is safe: nothing is told of a tool that the database does not confirm. Whoever
        listens for changes resyncs once the database is back, which outdates the index again.
        """
        try:
            self._current = await in_database(
                _refresh, self._current, model=self._model, max_bytes=self._max_bytes
            )
        except django.db.Error as error:
            log.warning("search.index_not_refreshed", reason=str(error).strip())
            return
        self._read.set()
        size = self._current
        log.debug("search.indexed", tools=0 if size is None else len(size.tools))


def _refresh(previous: SearchIndex | None, *, model: str, max_bytes: int) -> SearchIndex | None:
    """See `tools.store.search_index.refresh`."""
    from tools.store import search_index  # noqa: PLC0415 - heavy: numpy, loaded by the first use

    return search_index.refresh(previous, model=model, max_bytes=max_bytes)
