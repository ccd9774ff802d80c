"""What servers list beside their tools, fetched when it is asked for and kept until it changes.

A server that is down or slow holds nobody up: who asks waits a bounded time for it, and what comes
later is announced as a change.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Protocol, Self

import structlog

from tools.catalogue import CatalogueServer
from tools.upstream.downstream import NOBODY, Downstream
from tools.upstream.errors import UpstreamError
from tools.upstream.kinds import ItemKind
from tools.upstream.listing import Listing
from tools.upstream.status import ServerStatus

WAIT_S: Final = 5.0
"""Longer than most servers take to start."""
RETRY_S: Final = 30.0
"""A server that could not be asked is left alone so long."""
MAX_KEPT: Final = 4_000
_CAPABILITY: Final[Mapping[ItemKind, str]] = {
    "resources": "resources",
    "templates": "resources",
    "prompts": "prompts",
}

log = structlog.get_logger(__name__)

Key = tuple[str, ItemKind, str]
"""Server, kind, and whose list it is; empty where all callers see the same."""


class Requests(Protocol):
    """The pool of upstream servers, as far as all but tools needs it."""

    async def request(
        self,
        server: str,
        method: str,
        params: Mapping[str, Any],
        *,
        progress: Any = None,
        downstream: Downstream = NOBODY,
    ) -> dict[str, Any]:
        """Send a request to a server and return its result as it came."""

    async def list_items(
        self, server: str, kind: ItemKind, *, downstream: Downstream = NOBODY
    ) -> Listing:
        """Fetch everything of one kind."""

    def capabilities(self, server: str) -> Mapping[str, Any] | None:
        """Say what a server can do; None if it was never connected.

        Raises:
            UpstreamError: If there is none of that name.
        """

    def status_of(self, server: str) -> ServerStatus:
        """Say how a server fares.

        Raises:
            UpstreamError: If there is none of that name.
        """


@dataclass(frozen=True, kw_only=True)
class Listed:
    """What servers list of one kind.

    Attributes:
        by_server: Their lists, in the order the servers were given in.
        missing: Servers whose list is not known, or not known to be current.
    """

    by_server: Mapping[str, Listing]
    missing: tuple[str, ...]


@dataclass(kw_only=True)
class _Kept:
    listing: Listing | None = None
    fresh: bool = False
    changes: int = 0
    failed_at: float | None = None
    fetch: asyncio.Task[None] | None = None
    asked_at: float = 0.0


class ItemLists:
    """Lists of resources, templates and prompts by server.

    Use as an async context manager, entered and left in one task.

    Args:
        requests: The pool.
        on_late: Told of a kind of which something arrived that a list went out without.
        wait_s: Seconds that a list waits for servers.
    """

    def __init__(
        self,
        requests: Requests,
        *,
        on_late: Callable[[ItemKind], None],
        wait_s: float = WAIT_S,
    ) -> None:
        self._requests = requests
        self._on_late = on_late
        self._wait_s = wait_s
        self._kept: OrderedDict[Key, _Kept] = OrderedDict()
        self._group = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        for kept in self._kept.values():
            if kept.fetch is not None:
                kept.fetch.cancel()
        await self._group.__aexit__(None, None, None)

    async def gather(
        self, servers: Iterable[CatalogueServer], kind: ItemKind, downstream: Downstream
    ) -> Listed:
        """Return what servers list, asking those whose list is not known.

        Args:
            servers: Whose lists are wanted.
            kind: Of what.
            downstream: Who asks; servers with a connection for each caller list by it.
        """
        wanted = {server.name: self._ask(server, kind, downstream) for server in servers}
        waiting = {kept.fetch: kept for kept in wanted.values() if kept.fetch is not None}
        now = asyncio.get_running_loop().time()
        patience_s = max(
            (kept.asked_at + self._wait_s - now for kept in waiting.values()), default=0.0
        )
        if waiting and patience_s > 0:
            await asyncio.wait(waiting, timeout=patience_s)
        return Listed(
            by_server={
                name: kept.listing for name, kept in wanted.items() if kept.listing is not None
            },
            missing=tuple(name for name, kept in wanted.items() if not kept.fresh),
        )

    def changed(self, server: str, kinds: Iterable[ItemKind]) -> None:
        """Take note that a server lists otherwise now, and did perhaps not when it was asked."""
        affected = set(kinds)
        for (name, kind, _), kept in self._kept.items():
            if name == server and kind in affected:
                kept.fresh, kept.failed_at = False, None
                kept.changes += 1

    def restarted(self, server: str) -> None:
        """Take note that a server is there anew; what is being fetched is fetched from it."""
        for (name, _, _), kept in self._kept.items():
            if name == server:
                kept.fresh, kept.failed_at = False, None

    def _ask(self, server: CatalogueServer, kind: ItemKind, downstream: Downstream) -> _Kept:
        key = (server.name, kind, downstream.session if server.private else "")
        kept = self._kept.setdefault(key, _Kept())
        self._kept.move_to_end(key)
        self._drop_oldest()
        able = self._able(server.name)
        if able is not None and _CAPABILITY[kind] not in able:
            kept.listing, kept.fresh = Listing(), True
        elif not kept.fresh and kept.fetch is None and not self._left_alone(kept):
            kept.asked_at = asyncio.get_running_loop().time()
            kept.fetch = self._group.create_task(
                self._fetch(server.name, kind, kept, downstream if server.private else NOBODY)
            )
        return kept

    def _able(self, server: str) -> Mapping[str, Any] | None:
        try:
            return self._requests.capabilities(server)
        except UpstreamError:  # not in the pool yet, or no more
            return None

    async def _fetch(
        self, server: str, kind: ItemKind, kept: _Kept, downstream: Downstream
    ) -> None:
        clock = asyncio.get_running_loop().time
        changes = kept.changes
        try:
            kept.listing = await self._requests.list_items(server, kind, downstream=downstream)
        except UpstreamError as error:
            kept.failed_at = clock()
            log.info("lists.not_known", server=server, kind=kind, reason=str(error))
        except Exception:  # the top of a task: one list may not end the others
            kept.failed_at = clock()
            log.exception("lists.defect", server=server, kind=kind)
        else:
            kept.fresh = kept.changes == changes
            if kept.listing.items and clock() - kept.asked_at > self._wait_s:
                self._on_late(kind)
        finally:
            kept.fetch = None

    def _left_alone(self, kept: _Kept) -> bool:
        if kept.failed_at is None:
            return False
        return asyncio.get_running_loop().time() - kept.failed_at < RETRY_S

    def _drop_oldest(self) -> None:
        while len(self._kept) > MAX_KEPT:
            _, dropped = self._kept.popitem(last=False)
            if dropped.fetch is not None:
                dropped.fetch.cancel()
