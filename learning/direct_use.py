"""Collects the direct calls of all sessions, and stores them as episodes to be learned from."""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final
from uuid import UUID

import structlog
from django.db import Error as DatabaseError

from gateway_project.foundation import abandonment, canonical, json_size
from gateway_project.foundation.caller import Contributor
from gateway_project.foundation.computing import run_in_worker_thread
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.reasons import summarize_error
from gateway_project.foundation.sealing import Sealer
from learning.episodes import Episode, EpisodeBuilder, OwnedEpisode, SessionCall, Statement
from learning.provenance import SourceTracker

if TYPE_CHECKING:
    from graph.suggestion.next_call.observation import CallObservation

MAX_SESSIONS: Final = 1_000
"""Sessions kept in memory; of more, the one without activity for longest is closed."""
MAX_UNSTORED: Final = 1_000
"""Episodes kept while the database is away; further ones are dropped."""
MAX_ARGUMENT_VALUES: Final = 200
MAX_ARGUMENT_CHARACTERS: Final = 4_000
"""Larger arguments are left out; the call counts without them."""
CHECK_INTERVAL_S: Final = 30.0
"""Interval of looking for sessions whose calls are over."""
RETRY_S: Final = 5.0
FINAL_WRITE_TIMEOUT_S: Final = 2.0
"""Time that an exiting process allows for storing its last episodes."""

log = structlog.get_logger(__name__)


@dataclass
class _Session:
    """What is known of a session; its values are followed until its calls are grouped."""

    contributor: Contributor
    builder: EpisodeBuilder = field(default_factory=EpisodeBuilder)
    values: SourceTracker = field(default_factory=SourceTracker)
    call_count: int = 0

    def close(self) -> tuple[Episode, ...]:
        self.values = SourceTracker()
        return self.builder.close()


async def _ignore(_episode: UUID) -> None:
    """Null implementation of what is called with stored episodes."""


class DirectUse:
    """Collects what clients search for and call directly, session by session.

    `add_statement`, `add_call` and `close_session` may be called from any thread; they take
    microseconds, except that closing a session of 100 calls takes up to 0.1 s, so that none of
    them belongs on the event loop. If the process is killed, calls whose episode was not over yet
    teach nothing.
    """

    def __init__(
        self,
        sealer: Sealer,
        *,
        on_stored: Callable[[UUID], Awaitable[None]] = _ignore,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._sealer = sealer
        self._on_stored = on_stored
        self._clock = clock
        self._lock = threading.Lock()
        """Guards the closed episodes; held for microseconds."""
        self._grouping = threading.Lock()
        """Guards the sessions; held while calls are grouped, so never taken on the event loop."""
        self._sessions: OrderedDict[Hashable, _Session] = OrderedDict()
        self._closed: dict[UUID, OwnedEpisode] = {}

    def add_statement(
        self, session: Hashable, contributor: Contributor, statement: Statement
    ) -> None:
        """Add a search or an intent of a session.

        Args:
            session: Identifies it; sessions of two callers are never equal.
            contributor: Whose it is.
            statement: What was asked for, and the tools in the answer.
        """
        with self._grouping:
            known = self._prepare_session(session, contributor, now=statement.at)
            known.builder.add_statement(statement)

    def add_call(
        self,
        session: Hashable,
        contributor: Contributor,
        call: SessionCall,
        observation: CallObservation | None = None,
    ) -> None:
        """Add an answered direct call of a session; not a task of a run, which teaches by itself.

        Args:
            session: As in `add_statement`.
            contributor: Likewise.
            call: The call; its number and sources are assigned here.
            observation: What the call taught, from which the sources of its arguments are found;
                None: it was not analysed.
        """
        is_large = json_size.is_larger_than(
            call.arguments, values=MAX_ARGUMENT_VALUES, characters=MAX_ARGUMENT_CHARACTERS
        )
        if is_large or canonical.is_deeper_than(call.arguments):
            call = replace(call, arguments={})
        with self._grouping:
            known = self._prepare_session(session, contributor, now=call.at)
            known.call_count += 1
            number = known.call_count
            sources = call.sources
            if observation is not None:
                sources = known.values.find_sources(number, observation)
            known.builder.add_call(replace(call, number=number, sources=sources))

    def __len__(self) -> int:
        """Number of sessions in memory."""
        return len(self._sessions)

    def close_session(self, session: Hashable) -> None:
        """Group the calls of a session that has ended; no effect on unknown sessions.

        Sessions that only pause need not be closed.
        """
        with self._grouping:
            known = self._sessions.pop(session, None)
            if known is not None:
                self._keep_closed(known.close(), known.contributor)

    async def run(self) -> None:
        """Store episodes as they are over until cancelled, and all that are left then."""
        try:
            interval_s = CHECK_INTERVAL_S
            while True:
                await asyncio.sleep(interval_s)
                await run_in_worker_thread(self.close_idle_sessions)
                is_stored = not self._closed or await self.store_closed()
                interval_s = CHECK_INTERVAL_S if is_stored else RETRY_S
        finally:
            await self._store_before_exit()

    def close_idle_sessions(self) -> None:
        """Group the calls of sessions that have paused for long, and forget these sessions."""
        now = self._clock()
        for session in self._list_sessions():
            with self._grouping:
                known = self._sessions.get(session)
                if known is not None and known.builder.is_over(now):
                    self._keep_closed(known.close(), known.contributor)
                    if known.builder.is_forgettable(now):
                        del self._sessions[session]

    def _list_sessions(self) -> list[Hashable]:
        with self._grouping:
            return list(self._sessions)

    def take_closed(self) -> dict[UUID, OwnedEpisode]:
        """Return the episodes that are over and not stored yet, by id, and forget them."""
        with self._lock:
            taken, self._closed = self._closed, {}
        return taken

    async def store_closed(self) -> bool:
        """Store the episodes that are over; return whether that succeeded."""
        waiting = self.take_closed()
        try:
            await run_in_database_thread(_store_episodes, waiting, self._sealer)
        except BaseException as error:
            with self._lock:  # stored twice they count once
                self._closed = waiting | self._closed
            if not isinstance(error, DatabaseError):
                raise
            log.warning("episodes.store_failed", reason=summarize_error(error))
            return False
        for pk in waiting:
            await self._on_stored(pk)
        return True

    async def _store_before_exit(self) -> None:
        try:
            async with asyncio.timeout(FINAL_WRITE_TIMEOUT_S):
                await run_in_worker_thread(self._close_sessions)
                if self._closed:
                    await self.store_closed()
        except TimeoutError:
            log.warning("episodes.store_failed", reason="the database did not answer in time")

    def _close_sessions(self) -> None:
        """Group the calls of all sessions, as far as there is time."""
        for session in self._list_sessions():
            if abandonment.is_abandoned():
                return
            self.close_session(session)

    def _prepare_session(
        self, session: Hashable, contributor: Contributor, *, now: float
    ) -> _Session:
        """Return a session, after closing what is over in it."""
        known = self._sessions.setdefault(session, _Session(contributor))
        self._sessions.move_to_end(session)
        if known.builder.is_over(now):
            self._keep_closed(known.close(), known.contributor)
        if len(self._sessions) > MAX_SESSIONS:
            _, oldest = self._sessions.popitem(last=False)
            self._keep_closed(oldest.close(), oldest.contributor)
        return known

    def _keep_closed(self, episodes: Iterable[Episode], contributor: Contributor) -> None:
        with self._lock:
            for episode in episodes:
                if len(self._closed) < MAX_UNSTORED:
                    self._closed[uuid.uuid4()] = OwnedEpisode(episode, contributor)


def _store_episodes(waiting: dict[UUID, OwnedEpisode], sealer: Sealer) -> None:
    from learning.store import episodes  # noqa: PLC0415 - not before an episode is over

    episodes.insert_episodes(waiting, sealer=sealer)
