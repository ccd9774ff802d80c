"""What servers list beside their tools, fetched when it is asked for and kept until it changes.

No server is started for a list that is known from before, or to learn whether it lists anything at
all: what it listed last stands until it runs for another reason, and is then fetched anew.

A server that is down or slow holds nobody up: who asks waits a bounded time for it, and what comes
later is announced as a change.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
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


@dataclass(frozen=True, kw_only=True)
class Memory:
    """Keeps lists beyond the life of a process; what it cannot do, it does not do.

    Attributes:
        recall: Returns what servers listed last, by name.
        remember: Takes what a server lists now.
    """

    recall: Callable[[ItemKind, Collection[str]], Awaitable[Mapping[str, Listing]]]
    remember: Callable[[str, ItemKind, Listing], Coroutine[Any, Any, None]]


async def _recall_nothing(_: ItemKind, __: Collection[str]) -> Mapping[str, Listing]:
    return {}


async def _forget(_: str, __: ItemKind, ___: Listing) -> None:
    pass


FORGETFUL: Final = Memory(recall=_recall_nothing, remember=_forget)


@dataclass(kw_only=True)
class _Kept:
    shared: bool
    listing: Listing | None = None
    fresh: bool = False
    changes: int = 0
    failed_at: float | None = None
    fetch: asyncio.Task[None] | None = None
    asked_at: float = 0.0
    told: tuple[dict[str, Any], ...] = field(default=())


class ItemLists:
    """Lists of resources, templates and prompts by server.

    Use as an async context manager, entered and left in one task.

    Args:
        requests: The pool.
        on_late: Told of a kind of which something arrived that a list went out without.
        memory: What was listed before.
        wait_s: Seconds that a list waits for servers.
    """

    def __init__(
        self,
        requests: Requests,
        *,
        on_late: Callable[[ItemKind], None],
        memory: Memory = FORGETFUL,
        wait_s: float = WAIT_S,
    ) -> None:
        self._requests = requests
        self._on_late = on_late
        self._memory = memory
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
            self._drop(kept)
        await self._group.__aexit__(None, None, None)

    async def gather(
        self, servers: Iterable[CatalogueServer], kind: ItemKind, downstream: Downstream
    ) -> Listed:
        """Return what servers list, asking those that are known to list what is not known.

        Args:
            servers: Whose lists are wanted.
            kind: Of what.
            downstream: Who asks; servers with a connection for each caller list by it.
        """
        servers = tuple(servers)
        await self._recall(servers, kind)
        wanted = {server.name: self._ask(server, kind, downstream) for server in servers}
        waiting = {kept.fetch: kept for kept in wanted.values() if kept.fetch is not None}
        now = asyncio.get_running_loop().time()
        patience_s = max(
            (kept.asked_at + self._wait_s - now for kept in waiting.values()), default=0.0
        )
        if waiting and patience_s > 0:
            await asyncio.wait(waiting, timeout=patience_s)
        for kept in wanted.values():
            kept.told = kept.listing.items if kept.listing else ()
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
        """Take note that a server is there anew; what was asked of it before is fetched again."""
        able = self._able(server) or ()
        for (name, kind, _), kept in self._kept.items():
            if name == server:
                kept.fresh, kept.failed_at = False, None
                if kept.shared and kept.fetch is None and _CAPABILITY[kind] in able:
                    self._begin(server, kind, kept, unasked=True)

    async def _recall(self, servers: Iterable[CatalogueServer], kind: ItemKind) -> None:
        """Take over what servers listed last, as far as nothing later is known."""
        names = [one.name for one in servers if not one.private and self._unknown(one, kind)]
        for name, listing in (await self._memory.recall(kind, names) if names else {}).items():
            kept = self._kept.setdefault((name, kind, ""), _Kept(shared=True))
            if kept.listing is None and kept.fetch is None:
                kept.listing, kept.fresh = listing, not self._runs(name)

    def _unknown(self, server: CatalogueServer, kind: ItemKind) -> bool:
        kept = self._kept.get((server.name, kind, ""))
        return kept is None or (kept.listing is None and kept.fetch is None)

    def forget(self, server: str) -> None:
        """Know nothing any more of a server: another one goes by its name now, or none."""
        for key in [key for key in self._kept if key[0] == server]:
            self._drop(self._kept.pop(key))

    def _ask(self, server: CatalogueServer, kind: ItemKind, downstream: Downstream) -> _Kept:
        key = (server.name, kind, downstream.session if server.private else "")
        kept = self._kept.setdefault(key, _Kept(shared=not server.private))
        self._kept.move_to_end(key)
        self._drop_oldest()
        live = self._able(server.name)
        able = server.capabilities if live is None else live
        if able is not None and _CAPABILITY[kind] not in able:
            kept.listing, kept.fresh = Listing(), True
        elif self._due(kept) and (able is not None or self._runs(server.name)):
            asker = downstream if server.private else NOBODY
            self._begin(server.name, kind, kept, downstream=asker)
        return kept

    def _able(self, server: str) -> Mapping[str, Any] | None:
        try:
            return self._requests.capabilities(server)
        except UpstreamError:  # not in the pool yet, or no more
            return None

    def _runs(self, server: str) -> bool:
        try:
            return self._requests.status_of(server).state in ("ready", "connecting")
        except UpstreamError:  # likewise
            return False

    def _begin(
        self,
        server: str,
        kind: ItemKind,
        kept: _Kept,
        *,
        downstream: Downstream = NOBODY,
        unasked: bool = False,
    ) -> None:
        kept.asked_at = asyncio.get_running_loop().time()
        wait_s = 0.0 if unasked else self._wait_s
        kept.fetch = self._group.create_task(
            self._fetch(server, kind, kept, downstream=downstream, wait_s=wait_s)
        )

    async def _fetch(
        self, server: str, kind: ItemKind, kept: _Kept, *, downstream: Downstream, wait_s: float
    ) -> None:
        clock = asyncio.get_running_loop().time
        changes, before = kept.changes, kept.listing
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
            if kept.listing.items != kept.told and clock() - kept.asked_at >= wait_s:
                self._on_late(kind)
            if kept.shared and (before is None or before.items != kept.listing.items):
                self._group.create_task(self._memory.remember(server, kind, kept.listing))
        finally:
            kept.fetch = None

    def _due(self, kept: _Kept) -> bool:
        if kept.fresh or kept.fetch is not None:
            return False
        now = asyncio.get_running_loop().time()
        return kept.failed_at is None or now - kept.failed_at >= RETRY_S

    def _drop_oldest(self) -> None:
        while len(self._kept) > MAX_KEPT:
            self._drop(self._kept.popitem(last=False)[1])

    @staticmethod
    def _drop(kept: _Kept) -> None:
        if kept.fetch is not None:
            kept.fetch.cancel()
