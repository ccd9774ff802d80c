"""Changes that a server reports: of its lists, and of resources that clients follow."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

import structlog

from gateway_project.foundation.caller import SessionKey
from tools.upstream.connection import Connection
from tools.upstream.errors import UpstreamError
from tools.upstream.status import ListName

# Each report makes the gateway list, compare and embed.
SETTLE_S, MIN_INTERVAL_S = 0.1, 5.0
MAX_BURST = 4
"""Reports that may follow one another closely before `MIN_INTERVAL_S` applies."""

log = structlog.get_logger(__name__)


class ChangeReporter:
    """Reports changes of each kind, debounced and rate-limited.

    Args:
        report: Called with the kind of list that changed.
        monotonic: Clock in seconds.
    """

    def __init__(
        self, report: Callable[[ListName], None], *, monotonic: Callable[[], float]
    ) -> None:
        self._report = report
        self._monotonic = monotonic
        self._due: dict[ListName, asyncio.TimerHandle] = {}
        self._paid_until: dict[ListName, float] = {}

    def note_change(self, kind: ListName) -> None:
        """Schedule a report of a change, unless one is due already."""
        if kind not in self._due:
            free_at = self._paid_until.get(kind, 0.0) - (MAX_BURST - 1) * MIN_INTERVAL_S
            wait_s = max(SETTLE_S, free_at - self._monotonic())
            loop = asyncio.get_running_loop()
            self._due[kind] = loop.call_later(wait_s, self._report_change, kind)

    def is_due(self, kind: ListName) -> bool:
        """Whether a change is to be reported."""
        return kind in self._due

    def close(self) -> None:
        """Cancel all pending reports."""
        for timer in self._due.values():
            timer.cancel()

    def _report_change(self, kind: ListName) -> None:
        del self._due[kind]
        now = self._monotonic()
        self._paid_until[kind] = max(now, self._paid_until.get(kind, now)) + MIN_INTERVAL_S
        self._report(kind)


class SharedSubscriptions:
    """Shares one subscription per resource among all its followers.

    No user follows more resources than could still be followed, so that none keeps all others out.

    Args:
        server: Its name, for messages.
        before: Initial (URI, follower) pairs.
        limit: Maximum number of resources.
    """

    def __init__(
        self, server: str, *, before: Iterable[tuple[str, SessionKey]] = (), limit: int
    ) -> None:
        self._server = server
        self._followers: dict[str, set[SessionKey]] = {}
        self._limit = limit
        self._turns = asyncio.Lock()
        self.take_over(before)

    def __len__(self) -> int:
        return len(self._followers)

    def __iter__(self) -> Iterator[tuple[str, SessionKey]]:
        return (
            (uri, follower) for uri, followers in self._followers.items() for follower in followers
        )

    def list_followers(self, uri: str) -> Collection[SessionKey]:
        """Return the followers of a resource; all of them if it may be part of another one."""
        if uri in self._followers:
            return frozenset(self._followers[uri])
        return frozenset[SessionKey]().union(*self._followers.values())

    def take_over(self, pairs: Iterable[tuple[str, SessionKey]]) -> None:
        """Add (URI, follower) pairs, for which the next connection subscribes."""
        for uri, follower in pairs:
            self._followers.setdefault(uri, set()).add(follower)

    def retain_followers(
        self, is_kept: Callable[[SessionKey], bool]
    ) -> list[tuple[str, SessionKey]]:
        """Forget the other followers, which follow on another connection; return their pairs."""
        others = [pair for pair in self if not is_kept(pair[1])]
        for uri, follower in others:
            self._followers[uri].discard(follower)
            if not self._followers[uri]:
                del self._followers[uri]
        return others

    async def add(
        self, uri: str, *, follower: SessionKey, connection: Connection
    ) -> dict[str, Any]:
        """Subscribe a follower to a resource.

        Raises:
            UpstreamError: If the server refuses, or the limit is reached.
        """
        async with self._turns:
            if uri in self._followers:
                self._followers[uri].add(follower)
                return {}
            users = ({user for user, *_ in each} for each in self._followers.values())
            own = sum(follower[0] in each for each in users)
            free = self._limit - len(self._followers)
            if own >= free:
                raise UpstreamError(
                    f"changes of {len(self._followers)} of its resources are followed already, of "
                    f"{own} by you; {self._limit} can be, by one user never more than are left: "
                    "unsubscribe from some",
                    server=self._server,
                )
            all_uris = frozenset({*self._followers, uri})
            result = await connection.change_subscription(uri, on=True, all_uris=all_uris)
            self._followers[uri] = {follower}
            return result

    async def remove(
        self, uri: str, *, follower: SessionKey, connection: Connection | None
    ) -> dict[str, Any]:
        """Unsubscribe a follower from a resource.

        Raises:
            UpstreamError: If the server refuses.
        """
        async with self._turns:
            followers = self._followers.get(uri, set())
            followers.discard(follower)
            if followers or uri not in self._followers:
                return {}
            del self._followers[uri]
            if connection is None:
                return {}
            return await connection.change_subscription(
                uri, on=False, all_uris=frozenset(self._followers)
            )

    async def resubscribe(self, connection: Connection, *, updated: Callable[[str], None]) -> None:
        """Subscribe again after a restart, and report all resources as updated.

        Changes while the server was down were never reported. A modern server takes all URIs in
        one subscription.
        """
        async with self._turns:
            all_uris = frozenset(self._followers)
            is_modern = connection.peer.era == "modern"
            for uri in sorted(all_uris)[: 1 if is_modern else None]:
                try:
                    await connection.change_subscription(uri, on=True, all_uris=all_uris)
                except UpstreamError as error:
                    log.warning("server.subscription_lost", uri=uri, error=str(error))
        for uri in all_uris:
            updated(uri)
