"""Lists of resources, templates, prompts and skills, fetched on request and cached.

No server is started for a list that is stored, or to learn whether it lists anything at all: its
stored list is used until it runs for another reason, and is then fetched again.

A server that is down or slow does not block callers: they wait for a bounded time, and a list that
arrives later is announced as a change.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
)
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Self

import structlog

from gateway_project.foundation.caller import GATEWAY, Caller
from gateway_project.foundation.task_group import TaskGroup
from tools.catalogue import CatalogueServer
from tools.upstream.errors import UpstreamError
from tools.upstream.kinds import ITEMS, ItemKind, name_capabilities
from tools.upstream.listing import ItemListing
from tools.upstream.request import NO_CLIENT, Downstream

if TYPE_CHECKING:
    from tools.upstream.entry import SupervisorKey
    from tools.upstream.pool import UpstreamPool

LIST_TIMEOUT_S: Final = 5.0
"""Longer than most servers take to start."""
RETRY_S: Final = 30.0
"""Wait after a failed fetch before the next."""
MAX_CACHED_LISTS: Final = 4_000
MAX_LINKS: Final = 20_000
MAX_LINKS_OF_RESULT: Final = 200
MAX_LINK_CHARS: Final = 2_000
MAX_PARTS: Final = 2_000
"""Parts of a result that are looked through for links: some 0.5 ms."""
log = structlog.get_logger(__name__)

ListKey = tuple[str, ItemKind, "SupervisorKey | None"]
"""Server, kind, and whose connection lists it; None if all callers share the list."""


@dataclass(frozen=True, kw_only=True)
class ListedItems:
    """The lists of one kind.

    Attributes:
        by_server: Lists by server, in the requested order.
        missing: Servers whose list is unknown or may be outdated.
    """

    by_server: Mapping[str, ItemListing]
    missing: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ItemListStore:
    """Persists lists across processes; its functions never raise.

    Attributes:
        load_items: Returns the stored lists of servers, by name.
        record_items: Stores a server's current list.
    """

    load_items: Callable[[ItemKind, Collection[str]], Awaitable[Mapping[str, ItemListing]]]
    record_items: Callable[[str, ItemKind, ItemListing], Coroutine[Any, Any, None]]


async def _load_nothing(_: ItemKind, __: Collection[str]) -> Mapping[str, ItemListing]:
    return {}


async def _record_nothing(_: str, __: ItemKind, ___: ItemListing) -> None:
    pass


NO_STORE: Final = ItemListStore(load_items=_load_nothing, record_items=_record_nothing)


@dataclass(kw_only=True)
class _CachedList:
    is_shared: bool
    listing: ItemListing | None = None
    is_fresh: bool = False
    change_count: int = 0
    failed_at: float | None = None
    fetch_task: asyncio.Task[None] | None = None
    requested_at: float = 0.0
    delivered_items: tuple[dict[str, Any], ...] = field(default=())


class ItemLists:
    """Lists of resources, templates and prompts by server.

    Use as an async context manager, entered and left in one task.

    Args:
        requests: The pool.
        on_late: Called with the kind of a list that arrived after callers were answered without.
        memory: The persistent store.
        wait_s: Longest that callers wait for servers.
    """

    def __init__(
        self,
        requests: UpstreamPool,
        *,
        on_late: Callable[[ItemKind], None],
        memory: ItemListStore = NO_STORE,
        wait_s: float = LIST_TIMEOUT_S,
    ) -> None:
        self._requests = requests
        self._on_late = on_late
        self._memory = memory
        self._wait_s = wait_s
        self._cached_lists: OrderedDict[ListKey, _CachedList] = OrderedDict()
        self._links: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._group = TaskGroup()

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        for cached in self._cached_lists.values():
            self._cancel_fetch(cached)
        await self._group.__aexit__(None, None, None)

    async def gather_lists(
        self,
        servers: Iterable[CatalogueServer],
        kind: ItemKind,
        *,
        caller: Caller,
        downstream: Downstream = NO_CLIENT,
    ) -> ListedItems:
        """Return the lists of servers, fetching missing ones from servers with the capability.

        Args:
            servers: The servers.
            kind: The kind of list.
            caller: Whose rights the requests carry at servers with a connection per caller.
            downstream: How to reach the client.
        """
        servers = tuple(servers)
        await self._load_stored(servers, kind)
        wanted = {
            server.name: self._request_list(server, kind, caller, downstream) for server in servers
        }
        fetching = {
            cached.fetch_task: cached
            for cached in wanted.values()
            if cached.fetch_task is not None
        }
        now = asyncio.get_running_loop().time()
        patience_s = max(
            (cached.requested_at + self._wait_s - now for cached in fetching.values()), default=0.0
        )
        if fetching and patience_s > 0:
            await asyncio.wait(fetching, timeout=patience_s)
        for cached in wanted.values():
            cached.delivered_items = cached.listing.items if cached.listing else ()
        return ListedItems(
            by_server={
                name: cached.listing
                for name, cached in wanted.items()
                if cached.listing is not None
            },
            missing=tuple(name for name, cached in wanted.items() if not cached.is_fresh),
        )

    def note_links(self, server: str, result: Mapping[str, Any], *, caller: Caller) -> None:
        """Note which resources a server's result links to, as no list need have them."""
        for uri in islice(_iterate_links(result), MAX_LINKS_OF_RESULT):
            self._links[caller.user, uri] = server
            self._links.move_to_end((caller.user, uri))
        while len(self._links) > MAX_LINKS:
            self._links.popitem(last=False)

    def find_linking_server(self, uri: str, *, caller: Caller) -> str | None:
        """Return the server whose result last linked to a resource for a caller."""
        return self._links.get((caller.user, uri))

    def mark_changed(self, server: str, kinds: Iterable[ItemKind]) -> None:
        """Mark lists of a server as outdated, including those being fetched."""
        affected = set(kinds)
        for (name, kind, _), cached in self._cached_lists.items():
            if name == server and kind in affected:
                cached.is_fresh, cached.failed_at = False, None
                cached.change_count += 1

    def mark_restarted(self, server: str) -> None:
        """Mark all lists of a restarted server as outdated and fetch the shared ones again."""
        capabilities = self._find_capabilities(server) or ()
        for (name, kind, _), cached in self._cached_lists.items():
            if name == server:
                cached.is_fresh, cached.failed_at = False, None
                if (
                    cached.is_shared
                    and cached.fetch_task is None
                    and ITEMS[kind].capability in capabilities
                ):
                    self._start_fetch(server, kind, cached, caller=GATEWAY, is_requested=False)

    async def _load_stored(self, servers: Iterable[CatalogueServer], kind: ItemKind) -> None:
        """Load the stored lists of servers without a newer one."""
        names = [
            server.name
            for server in servers
            if not server.is_private and self._is_unknown(server, kind)
        ]
        for name, listing in (await self._memory.load_items(kind, names) if names else {}).items():
            cached = self._cached_lists.setdefault((name, kind, None), _CachedList(is_shared=True))
            if cached.listing is None and cached.fetch_task is None:
                cached.listing, cached.is_fresh = listing, not self._is_running(name)

    def _is_unknown(self, server: CatalogueServer, kind: ItemKind) -> bool:
        cached = self._cached_lists.get((server.name, kind, None))
        return cached is None or (cached.listing is None and cached.fetch_task is None)

    def forget_server(self, server: str) -> None:
        """Forget the lists of a server that was replaced or removed."""
        for key in [key for key in self._cached_lists if key[0] == server]:
            self._cancel_fetch(self._cached_lists.pop(key))

    def _request_list(
        self, server: CatalogueServer, kind: ItemKind, caller: Caller, downstream: Downstream
    ) -> _CachedList:
        whose = self._find_connection_key(server, caller, downstream)
        cached = self._cached_lists.setdefault(
            (server.name, kind, whose), _CachedList(is_shared=whose is None)
        )
        self._cached_lists.move_to_end((server.name, kind, whose))
        self._drop_oldest()
        live = self._find_capabilities(server.name)
        capabilities = server.capabilities if live is None else live
        if capabilities is not None and ITEMS[kind].capability not in capabilities:
            cached.listing, cached.is_fresh = ItemListing(), True
        elif self._is_due(cached) and (capabilities is not None or self._is_running(server.name)):
            asking = GATEWAY if cached.is_shared else caller
            self._start_fetch(server.name, kind, cached, caller=asking, downstream=downstream)
        return cached

    def _find_connection_key(
        self, server: CatalogueServer, caller: Caller, downstream: Downstream
    ) -> SupervisorKey | None:
        try:
            return self._requests.find_connection_key(
                server.name, caller=caller, downstream=downstream
            )
        except UpstreamError:  # not in the pool yet, or no longer
            return caller.client_key if server.is_private else None

    def _find_capabilities(self, server: str) -> frozenset[str] | None:
        try:
            declared = self._requests.get_capabilities(server)
        except UpstreamError:  # not in the pool yet, or no longer
            return None
        return None if declared is None else name_capabilities(declared)

    def _is_running(self, server: str) -> bool:
        try:
            return self._requests.get_status(server).state in ("ready", "connecting")
        except UpstreamError:  # likewise
            return False

    def _start_fetch(
        self,
        server: str,
        kind: ItemKind,
        cached: _CachedList,
        *,
        caller: Caller,
        downstream: Downstream = NO_CLIENT,
        is_requested: bool = True,
    ) -> None:
        cached.requested_at = asyncio.get_running_loop().time()
        wait_s = self._wait_s if is_requested else 0.0
        cached.fetch_task = self._group.create_task(
            self._fetch_list(
                server, kind, cached, caller=caller, downstream=downstream, wait_s=wait_s
            )
        )

    async def _fetch_list(
        self,
        server: str,
        kind: ItemKind,
        cached: _CachedList,
        *,
        caller: Caller,
        downstream: Downstream,
        wait_s: float,
    ) -> None:
        clock = asyncio.get_running_loop().time
        changes, before = cached.change_count, cached.listing
        try:
            cached.listing = await self._requests.list_items(
                server, kind, caller=caller, downstream=downstream
            )
        except UpstreamError as error:
            cached.failed_at = clock()
            log.info("lists.fetch_failed", server=server, kind=kind, reason=str(error))
        except Exception:  # top of a task: one list must not end the others
            cached.failed_at = clock()
            log.exception("lists.fetch_crashed", server=server, kind=kind)
        else:
            cached.is_fresh = cached.change_count == changes
            if (
                cached.listing.items != cached.delivered_items
                and clock() - cached.requested_at >= wait_s
            ):
                self._on_late(kind)
            if cached.is_shared and (before is None or before.items != cached.listing.items):
                self._group.create_task(self._memory.record_items(server, kind, cached.listing))
        finally:
            cached.fetch_task = None

    def _is_due(self, cached: _CachedList) -> bool:
        if cached.is_fresh or cached.fetch_task is not None:
            return False
        now = asyncio.get_running_loop().time()
        return cached.failed_at is None or now - cached.failed_at >= RETRY_S

    def _drop_oldest(self) -> None:
        while len(self._cached_lists) > MAX_CACHED_LISTS:
            self._cancel_fetch(self._cached_lists.popitem(last=False)[1])

    @staticmethod
    def _cancel_fetch(cached: _CachedList) -> None:
        if cached.fetch_task is not None:
            cached.fetch_task.cancel()


def _iterate_links(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the URIs of linked and embedded resources in a result, which may be of any form."""
    pending = [result.get("content"), result.get("messages")]
    for _ in range(MAX_PARTS):
        if not pending:
            return
        part = pending.pop()
        if isinstance(part, list):
            pending += reversed(part[:MAX_PARTS])
        elif isinstance(part, Mapping):
            pending += [part.get("resource"), part.get("content")]
            uri = part.get("uri")
            if isinstance(uri, str) and len(uri) <= MAX_LINK_CHARS:
                yield uri
