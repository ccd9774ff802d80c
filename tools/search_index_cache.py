"""Keeps the search index of a process current, in the background."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import django.db
import structlog

from gateway_project.foundation.database import run_in_database_thread
from tools.store import postings

if TYPE_CHECKING:
    from tools.search_index import SearchIndex

DEBOUNCE_S = 0.15
"""Embedding a catalogue notifies once per chunk; one refresh serves several."""

log = structlog.get_logger(__name__)


class SearchIndexCache:
    """Holds the current index and replaces it when the database reports a change.

    Until the first one is built, and if the catalogue exceeds `max_bytes`, there is none, and
    the database does the whole search.
    """

    def __init__(self, model: str, *, max_bytes: int) -> None:
        self._model = model
        self._max_bytes = max_bytes
        self._current: SearchIndex | None = None
        self._outdated = asyncio.Event()
        self._outdated.set()
        self._read = asyncio.Event()

    @property
    def is_loaded(self) -> bool:
        """Whether the catalogue was read; if there is no index then, it is too large."""
        return self._read.is_set()

    async def wait_until_loaded(self) -> None:
        """Wait until the catalogue has been read for the first time."""
        await self._read.wait()

    @property
    def current(self) -> SearchIndex | None:
        """The newest index, if any."""
        return self._current

    def invalidate(self) -> None:
        """Mark the index as outdated; call it on the event loop."""
        self._outdated.set()

    async def run(self) -> None:
        """Refresh the index whenever it is outdated, until cancelled."""
        while True:
            await self._outdated.wait()
            await asyncio.sleep(DEBOUNCE_S)
            self._outdated.clear()
            await self.refresh()

    async def refresh(self) -> None:
        """Read the changes; if that fails, the old index stays in use.

        That is safe: the database confirms every hit. The notification listener resyncs once the
        database is back, which invalidates the index again. So do the words that another version
        indexed, which are indexed again after the first load.
        """
        is_first = not self.is_loaded
        try:
            self._current = await run_in_database_thread(
                _refresh_index, self._current, model=self._model, max_bytes=self._max_bytes
            )
            self._read.set()
            if is_first:
                await run_in_database_thread(_index_stale_words)
        except django.db.Error as error:
            log.warning("search.index_refresh_failed", reason=str(error).strip())
            return
        index = self._current
        log.debug("search.index_refreshed", tools=0 if index is None else len(index.tools))


def _index_stale_words() -> None:
    postings.index_tools(postings.find_stale_tools())


def _refresh_index(
    previous: SearchIndex | None, *, model: str, max_bytes: int
) -> SearchIndex | None:
    """See `tools.store.search_index.refresh_index`."""
    from tools.store import search_index

    return search_index.refresh_index(previous, model=model, max_bytes=max_bytes)
