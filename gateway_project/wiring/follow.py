"""Keeps a gateway current with changes in the database and on its servers."""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import django.db
import structlog

from execution.runs import Runs
from execution.speculation.calls import NO_SPECULATION, Speculation
from gateway_project.foundation import heap, notify, telemetry
from gateway_project.foundation.caller import SessionKey
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.reasons import summarize_error
from gateway_project.foundation.sealing import Sealer
from gateway_project.mcp.kept_answers import AnswerFolder
from gateway_project.readiness import Gateway, NotReady, Readiness
from gateway_project.webhooks.send import WebhookSender
from gateway_project.wiring import snapshot
from gateway_project.wiring.snapshot import CatalogueSnapshot, LoadSnapshot
from graph.ranker_cache import RankerCache
from graph.store import usage
from tools import token_count
from tools.embed.cache import CachedEmbedder
from tools.embed.embedder import EmbeddingUnavailable
from tools.embed.reader import Question
from tools.item_lists import ItemLists
from tools.search_index_cache import SearchIndexCache
from tools.store import servers as server_store
from tools.upstream.errors import UnknownServer
from tools.upstream.kinds import ItemKind, name_capabilities
from tools.upstream.oauth.sign_ins import SignInManager
from tools.upstream.pool import UpstreamPool
from tools.upstream.status import ListName, ServerStatus

DEBOUNCE_S = 0.15
"""A command that changes many rows notifies many times; one reload serves them all."""
FIRST_RETRY_S = 1.0
MAX_RETRY_S = 60.0
RECENTLY = timedelta(days=3)
"""How lately a server was called that is started ahead of its first call."""
UNUSED_STOP_S = 600.0
ANNOUNCED_TIMEOUT_S = 5.0
"""Longest wait of a call for tools that its server has announced."""
TROUBLED_STATES = frozenset({"backoff", "open", "failed"})
CONNECTING_STATES = frozenset({"connecting", "ready"})
CHANGED_ITEM_KINDS: Mapping[ListName, tuple[ItemKind, ...]] = {
    "resources": ("resources", "templates", "skills"),
    "prompts": ("prompts",),
}

log = structlog.get_logger(__name__)


@dataclass(eq=False)
class _Announcement:
    """A server's word that its tools changed.

    Attributes:
        is_stored: Whether the tools that it lists since are in the database.
    """

    is_stored: bool = False


class AnnouncedTools:
    """Servers whose tools have changed, until the snapshot has them as they are listed since."""

    def __init__(self) -> None:
        self._open: dict[str, _Announcement] = {}
        self._stored: dict[str, object] = {}
        self._settled = asyncio.Event()

    def announce(self, server: str) -> None:
        """Note that a server's tools changed, again perhaps."""
        self._open[server] = _Announcement()

    def begin_listing(self, server: str) -> Callable[[bool], None]:
        """Return what is to be called after the listing, with whether it changed the database."""
        announcement = self._open.get(server)

        def finish(has_changed: bool) -> None:
            if has_changed:
                self._stored[server] = object()
            if announcement is None or self._open.get(server) is not announcement:
                return  # announced again meanwhile
            # A listing that began before the announcement may have stored what this one found.
            announcement.is_stored = server in self._stored
            if not announcement.is_stored:
                self._settle([server])

        return finish

    def begin_loading(self) -> Callable[[], None]:
        """Return what is to be called once a snapshot that is loaded from now on is in use."""
        loaded = {name: one for name, one in self._open.items() if one.is_stored}
        stored = dict(self._stored)

        def finish() -> None:
            for name, listing in stored.items():
                if self._stored.get(name) is listing:
                    del self._stored[name]
            self._settle([name for name, one in loaded.items() if self._open.get(name) is one])

        return finish

    async def wait(self, tool: str, announcing: Iterable[str] = ()) -> None:
        """Wait until nothing of the server of a tool is open, for `ANNOUNCED_TIMEOUT_S` at most.

        Args:
            tool: Id or exposed name.
            announcing: Servers that have announced a change this moment.
        """
        for server in announcing:
            self._open.setdefault(server, _Announcement())
        name = next((n for n in self._open if tool.startswith((f"{n}:", f"{n}__"))), None)
        if name is None:
            return
        try:
            async with asyncio.timeout(ANNOUNCED_TIMEOUT_S):
                while name in self._open:
                    await self._settled.wait()
        except TimeoutError:
            log.info("gateway.announced_tools_late", server=name)
            self._settle([name])

    def _settle(self, servers: Iterable[str]) -> None:
        for server in servers:
            self._open.pop(server, None)
        self._settled.set()
        self._settled = asyncio.Event()


@dataclass(kw_only=True)
class CurrentSnapshot:
    """The current snapshot, replaced as a whole, and work for background tasks.

    Attributes:
        discovery_wanted: Set when a server may be due for discovery.
        speculation: Calls made ahead, which are outdated by changes.
        announced: Servers whose tools are about to change.
    """

    snapshot: CatalogueSnapshot
    readiness: Readiness
    sealer: Sealer
    item_lists: ItemLists | None = None
    speculation: Speculation = NO_SPECULATION
    announced: AnnouncedTools = field(default_factory=AnnouncedTools)
    database_changed: asyncio.Event = field(default_factory=asyncio.Event)
    statuses: asyncio.Queue[ServerStatus] = field(default_factory=asyncio.Queue)
    servers_to_relist: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    discovery_wanted: asyncio.Event = field(default_factory=asyncio.Event)

    def handle_upstream_change(self, server: str, kind: ListName) -> None:
        """Handle a server's report that one of its lists changed.

        Clients are notified of tools once these are in the catalogue, of other lists at once.
        What was read from the server may have changed too.
        """
        self.speculation.discard_server(server)
        if kind == "tools":
            self.announced.announce(server)
            self.servers_to_relist.put_nowait(server)
            return
        if self.item_lists is not None:
            self.item_lists.mark_changed(server, CHANGED_ITEM_KINDS[kind])
        self.readiness.notify_list_changed(kind)

    def handle_resource_update(
        self, server: str, uri: str, clients: Collection[SessionKey]
    ) -> None:
        """Handle a server's report that a resource changed: what was read may have changed too."""
        self.speculation.discard_server(server)
        self.readiness.notify_resource_updated(server, uri, clients)

    def handle_late_list(self, kind: ItemKind) -> None:
        """Notify clients of a list that arrived after they were answered without it."""
        self.readiness.notify_list_changed("prompts" if kind == "prompts" else "resources")

    def handle_upstream_status(self, status: ServerStatus) -> None:
        """Handle a server's new status; what an earlier connection said may be outdated."""
        is_connecting = status.state in CONNECTING_STATES  # perhaps for a call made ahead
        self.speculation.discard_server(status.name, stops_calls=not is_connecting)
        if status.state == "ready" and self.item_lists is not None:
            self.item_lists.mark_restarted(status.name)
        self.statuses.put_nowait(status)


def make_listener(
    current: CurrentSnapshot,
    index: SearchIndexCache,
    on_learned_event: Callable[[notify.Notification | None], None],
    runs: Runs,
    sender: WebhookSender,
) -> notify.NotificationListener:
    """Return the listener that distributes database notifications.

    After a gap in which some may have been lost, every receiver is notified.

    Args:
        current: Notified of catalogue changes.
        index: Notified of catalogue and search changes.
        on_learned_event: Called with notifications of the graph, of thresholds, of speculation
            and of the catalogue; None: a gap.
        runs: Notified of run changes.
        sender: Notified of messages to send.
    """

    async def distribute(event: notify.Notification | None = None) -> None:
        if event is None or event.channel in runs.CHANNELS:
            await runs.handle_notification(event)
            if event is not None:
                return
        sender.handle_notification(event)
        if event is None or event.channel in (notify.CATALOGUE, notify.SEARCH):
            index.invalidate()
        if event is None or event.channel == notify.CATALOGUE:
            current.database_changed.set()
        if event is None or event.channel not in (notify.SEARCH, notify.DELIVERIES):
            on_learned_event(event)

    channels = (
        notify.CATALOGUE,
        notify.SEARCH,
        notify.GRAPH,
        notify.THRESHOLDS,
        notify.SPECULATION,
        notify.DELIVERIES,
        *runs.CHANNELS,
    )
    return notify.NotificationListener(
        channels,
        on_event=distribute,
        on_resync=distribute,
        on_probe=current.readiness.record_probe,
    )


async def refresh_snapshot(
    current: CurrentSnapshot,
    pool: UpstreamPool,
    sign_ins: SignInManager,
    *,
    load: LoadSnapshot,
    gateway: Callable[[CatalogueSnapshot], Gateway],
    kept: AnswerFolder,
) -> None:
    """Reload the snapshot when the database changes; on failure the old one stays in use.

    What is kept for the next start is deleted if anybody may see less than before.

    Raises:
        NotReady: If a newer version has migrated the database: nothing of this process may go on
            using it, runs and learning included.
    """
    retry_s = FIRST_RETRY_S
    while True:
        if any(spec.unreadable for spec in current.snapshot.specs):
            await _wait_for_change(current, MAX_RETRY_S)  # its key may be restored
        await current.database_changed.wait()
        await asyncio.sleep(DEBOUNCE_S)
        current.database_changed.clear()
        settle_announced = current.announced.begin_loading()
        try:
            new = await snapshot.load_snapshot(load)
        except NotReady as trouble:
            if trouble.code == "database_newer":
                snapshot.refuse_calls(current.readiness, trouble)  # before anything is stopped
                raise
            if trouble.code in ("unknown_user", "unknown_tool_group"):
                snapshot.refuse_calls(current.readiness, trouble)
                await asyncio.to_thread(kept.clear)
            else:
                log.warning("gateway.refresh_failed", code=trouble.code, reason=str(trouble))
            await _wait_for_change(current, retry_s)
            retry_s = min(2 * retry_s, MAX_RETRY_S)
            continue
        retry_s = FIRST_RETRY_S
        await sign_ins.reload()
        # Without an await in between: a call would find a tool but not its server.
        old, current.snapshot = current.snapshot, new
        pool.set_servers(new.specs)
        current.discovery_wanted.set()
        _forget_changed(current.item_lists, old, new)
        discard_changed(current.speculation, old, new)
        current.readiness.serve(gateway(new))
        settle_announced()
        for kind in new.catalogue.find_changed_lists(old.catalogue):
            current.readiness.notify_list_changed(kind)
        update_gauges(current, pool)
        if _list_visible(old) - _list_visible(new):
            await asyncio.to_thread(kept.clear)


def _list_visible(loaded: CatalogueSnapshot) -> set[tuple[object, ...]]:
    """Return what exists for callers, each with who may see it."""
    tools, servers = loaded.catalogue.tools.values(), loaded.catalogue.servers.values()
    return {
        *((tool.tool, tool.team, tool.groups) for tool in tools if tool.is_usable),
        *((one.name, one.team, one.whole_groups) for one in servers if one.enabled),
        *((scope,) for scope in loaded.caller.scopes),
    }


def _forget_changed(
    lists: ItemLists | None, old: CatalogueSnapshot, new: CatalogueSnapshot
) -> None:
    """Forget item lists of servers whose spec or team changed."""
    changed = {spec.name for spec in {*old.specs} ^ {*new.specs}}
    before, after = old.catalogue.servers, new.catalogue.servers
    changed |= {name for name in before.keys() & after if before[name].team != after[name].team}
    if lists is not None:
        for name in changed:
            lists.forget_server(name)


def discard_changed(
    speculation: Speculation, old: CatalogueSnapshot, new: CatalogueSnapshot
) -> None:
    """Discard results made ahead of servers that changed; of all if grants did."""
    before, after = _describe_servers(old), _describe_servers(new)
    is_granted_alike = old.grants == new.grants
    for name in before.keys() | after.keys():
        if not is_granted_alike or before.get(name) != after.get(name):
            speculation.discard_server(name)


def _describe_servers(loaded: CatalogueSnapshot) -> Mapping[str, tuple[object, ...]]:
    """Return what decides about calls ahead of each server and its tools, by name."""
    tools: defaultdict[str, list[object]] = defaultdict(list)
    for tool in loaded.catalogue.tools.values():
        decisive = (tool.pk, tool.definition_hash, tool.is_usable, tool.danger, tool.vetoed)
        tools[tool.server].append((*decisive, tool.approval))
    return {
        name: (server, loaded.versions.get(name), tools[name])
        for name, server in loaded.catalogue.servers.items()
    }


async def _wait_for_change(current: CurrentSnapshot, wait_s: float) -> None:
    try:
        async with asyncio.timeout(wait_s):
            await current.database_changed.wait()
    except TimeoutError:
        current.database_changed.set()


async def record_statuses(current: CurrentSnapshot, pool: UpstreamPool) -> None:
    """Record server statuses in the database, for the console and for other processes."""
    while True:
        status = await current.statuses.get()
        update_gauges(current, pool)
        try:
            if status.state == "ready":
                await run_in_database_thread(
                    server_store.record_connection,
                    status.name,
                    at=status.connected_at or datetime.now(UTC),
                    protocol_version=status.protocol_version,
                    capabilities=_find_capabilities(pool, status.name),
                )
            elif status.state in TROUBLED_STATES:
                await run_in_database_thread(
                    server_store.record_error,
                    status.name,
                    at=status.last_error_at or datetime.now(UTC),
                    error=status.last_error,
                    output=status.last_output,
                )
        except django.db.Error as error:
            log.warning(
                "gateway.status_write_failed", server=status.name, error=summarize_error(error)
            )


def _find_capabilities(pool: UpstreamPool, server: str) -> Collection[str] | None:
    try:
        declared = pool.get_capabilities(server)
    except UnknownServer:  # removed meanwhile
        return None
    return None if declared is None else name_capabilities(declared)


async def warm_up(
    readiness: Readiness, embedder: CachedEmbedder, rankers: RankerCache, *, owner: int | None
) -> None:
    """Load what the first search and the first intent need, once there is a client.

    Args:
        readiness: Tells of the first client.
        embedder: Embeds intents.
        rankers: Loads the models of the owner; others share what of them is shipped.
        owner: Of what the default caller learns.
    """
    await readiness.in_use.wait()
    await asyncio.to_thread(_load_models, embedder)
    await asyncio.to_thread(heap.return_free_memory)
    await asyncio.to_thread(_import_suggestion_modules)
    await rankers.load(owner)


async def start_recent_servers(
    current: CurrentSnapshot, pool: UpstreamPool, *, limit: int
) -> None:
    """Start the servers that were called last, once there is a client."""
    await current.readiness.in_use.wait()
    if not limit:
        return
    since = datetime.now(UTC) - RECENTLY
    try:
        recent = await run_in_database_thread(usage.load_recent_servers, since=since)
    except django.db.Error as error:
        log.warning("gateway.recent_servers_unknown", error=summarize_error(error))
        return
    loaded = current.snapshot
    personal = {spec.name for spec in loaded.specs if spec.is_personal}
    names = {spec.name for spec in loaded.specs}
    if loaded.caller.user:
        names &= {server.name for server in loaded.catalogue.list_servers(loaded.caller)}
    chosen = [name for name in recent if name in names - personal][:limit]
    await pool.start_ahead(chosen, unused_stop_s=UNUSED_STOP_S)


def begin_loading_models(readiness: Readiness, embedder: CachedEmbedder) -> None:
    """Load models beside the first snapshot if there is a client; `warm_up` waits for them."""
    if readiness.in_use.is_set():
        # Not a daemon: ended within the models' C++ code, its thread aborts the whole process.
        threading.Thread(target=_load_models, args=(embedder,), name="models").start()


def _load_models(embedder: CachedEmbedder) -> None:
    heap.map_large_blocks()
    try:
        embedder.embed(["warm"], kind="query")
        embedder.read("warm", [Question("warm")])
    except EmbeddingUnavailable as error:
        log.warning("gateway.model_unavailable", reason=str(error))
    token_count.count_tokens("warm")


def _import_suggestion_modules() -> None:
    """Import the modules of the first intent, so that it does not block the event loop."""
    from graph import encode  # noqa: F401 - heavy
    from graph.suggestion.next_call import predict  # noqa: F401 - heavy
    from graph.suggestion.ranking import rank, tool_view  # noqa: F401 - heavy


async def run_index(readiness: Readiness, index: SearchIndexCache) -> None:
    """Keep the in-memory search index current, once there is a client."""
    await readiness.in_use.wait()
    await index.run()


def update_gauges(current: CurrentSnapshot, pool: UpstreamPool) -> None:
    """Update the gauges of tools and servers."""
    usable = sum(tool.is_usable for tool in current.snapshot.catalogue.tools.values())
    telemetry.tools_listed.set(usable)
    states = [status.state for status in pool.list_statuses().values()]
    telemetry.servers_by_state.clear()
    for state in sorted(set(states)):
        telemetry.servers_by_state.labels(state).set(states.count(state))
