"""Which resources of a server are followed, and for whom, across its lives."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

import structlog

from tools.upstream.connection import Connection
from tools.upstream.errors import UpstreamError

log = structlog.get_logger(__name__)


class Followed:
    """Subscribes once for all who want to hear of a resource.

    Args:
        server: Its name, for messages.
        before: Whoever was followed before, by address and follower.
        limit: Resources at most.
    """

    def __init__(self, server: str, *, before: Iterable[tuple[str, str]] = (), limit: int) -> None:
        self._server = server
        self._followers: dict[str, set[str]] = {}
        self._limit = limit
        self._turns = asyncio.Lock()
        for uri, follower in before:
            self._followers.setdefault(uri, set()).add(follower)

    def __len__(self) -> int:
        return len(self._followers)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return ((uri, one) for uri, all_of_it in self._followers.items() for one in all_of_it)

    def followers(self, uri: str) -> Collection[str]:
        """Return who is to hear of a resource; it may be a part of what they follow."""
        if uri in self._followers:
            return frozenset(self._followers[uri])
        return frozenset(one for all_of_it in self._followers.values() for one in all_of_it)

    async def add(self, uri: str, *, follower: str, connection: Connection) -> dict[str, Any]:
        """Have a follower hear of a resource.

        Raises:
            UpstreamError: If the server does not tell of it, or too many are followed.
        """
        async with self._turns:
            if uri in self._followers:
                self._followers[uri].add(follower)
                return {}
            if len(self._followers) >= self._limit:
                raise UpstreamError(
                    f"changes of {self._limit} of its resources are followed already; "
                    "unsubscribe from some",
                    server=self._server,
                )
            everyone = frozenset({*self._followers, uri})
            result = await connection.follow(uri, on=True, all_of_them=everyone)
            self._followers[uri] = {follower}
            return result

    async def remove(
        self, uri: str, *, follower: str, connection: Connection | None
    ) -> dict[str, Any]:
        """Have a follower hear no more of a resource.

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
            return await connection.follow(uri, on=False, all_of_them=frozenset(self._followers))

    async def again(self, connection: Connection, *, updated: Callable[[str], None]) -> None:
        """Subscribe anew in another life of the server; what changed before, nobody told."""
        async with self._turns:
            everyone = frozenset(self._followers)
            modern = connection.peer.era == "modern"
            for uri in sorted(everyone)[: 1 if modern else None]:
                try:
                    await connection.follow(uri, on=True, all_of_them=everyone)
                except UpstreamError as error:
                    log.warning("a resource is no longer followed", uri=uri, error=str(error))
        for uri in everyone:
            updated(uri)
