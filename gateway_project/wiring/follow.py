"""Keeps a gateway current: what changes in the database, and what servers say of themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import django.db
import structlog

from execution.runs import Runs
from gateway_project.foundation import notify, telemetry
from gateway_project.foundation.database import in_database
from gateway_project.foundation.reasons import first_line
from gateway_project.foundation.sealing import Sealer
from gateway_project.item_lists import ItemLists
from gateway_project.readiness import Gateway, NotReady, Readiness
from gateway_project.wiring import snapshot
from gateway_project.wiring.snapshot import Load, Snapshot
from tools import token_count
from tools.embed.cache import CachedEmbedder
from tools.embed.embedder import EmbeddingUnavailable
from tools.kept_index import KeptIndex
from tools.store import servers as server_store
from tools.upstream.errors import UnknownServer
from tools.upstream.kinds import ItemKind
from tools.upstream.oauth.sign_ins import SignIns
from tools.upstream.pool import UpstreamPool
from tools.upstream.status import Kind, ServerStatus

DEBOUNCE_S = 0.15
"""A command that changes many rows notifies many times; one reload serves them all."""
FIRST_RETRY_S = 1.0
LONGEST_RETRY_S = 60.0
TROUBLED = frozenset({"backoff", "open", "failed"})
ITEMS: Mapping[Kind, tuple[ItemKind, ...]] = {
    "resources": ("resources", "templates"),
    "prompts": ("prompts",),
}

log = structlog.get_logger(__name__)


@dataclass(kw_only=True)
class Current:
    """The snapshot in force, swapped whole; and work for the tasks in the background.

    Attributes:
        snapshot: In force.
        readiness: Told of lists that have changed.
        sealer: Seals what is written.
        changed: Set when the database has.
        statuses: New states of servers.
        relisted: Servers to be listed again.
        lists: What servers list beside their tools.
    """

    snapshot: Snapshot
    readiness: Readiness
    sealer: Sealer
    lists: ItemLists | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    statuses: asyncio.Queue[ServerStatus] = field(default_factory=asyncio.Queue)
    relisted: asyncio.Queue[str] = field(default_factory=asyncio.Queue)

    def upstream_changed(self, server: str, kind: Kind) -> None:
        """Take note of what a server says has changed.

        Its tools are clients' business once they are in the catalogue, other lists at once.
        """
        if kind == "tools":
            self.relisted.put_nowait(server)
            return
        if self.lists is not None:
            self.lists.changed(server, ITEMS[kind])
        self.readiness.changed(kind)

    def listed_late(self, kind: ItemKind) -> None:
        """Take note of a list that clients were first answered without."""
        self.readiness.changed("prompts" if kind == "prompts" else "resources")

    def upstream_stands(self, status: ServerStatus) -> None:
        """Take note of a server's new state."""
        if status.state == "ready" and self.lists is not None:
            self.lists.restarted(status.name)
        self.statuses.put_nowait(status)


def listener(
    current: Current,
    index: KeptIndex,
    told: Callable[[notify.Event | None], None],
    runs: Runs,
) -> notify.Listener:
    """Return what tells of changes in the database, and after every gap that there may be some.

    Args:
        current: Told of the catalogue's.
        index: Told of those that search reads.
        told: Told of those of the graph and of the catalogue; None: of a gap.
        runs: Told of those of runs.
    """

    async def changed(event: notify.Event | None = None) -> None:
        if event is None or event.channel in runs.CHANNELS:
            await runs.told(event)
            if event is not None:
                return
        if event is None or event.channel != notify.GRAPH:
            index.outdate()
        if event is None or event.channel == notify.CATALOGUE:
            current.changed.set()
        if event is None or event.channel != notify.SEARCH:
            told(event)

    channels = (notify.CATALOGUE, notify.SEARCH, notify.GRAPH, *runs.CHANNELS)
    return notify.Listener(channels, on_event=changed, on_resync=changed)


async def refresh(
    current: Current,
    pool: UpstreamPool,
    sign_ins: SignIns,
    *,
    load: Load,
    gateway: Callable[[Snapshot], Gateway],
) -> None:
    """Take over what changed in the database; what cannot be loaded leaves the old in force."""
    retry_s = FIRST_RETRY_S
    while True:
        await current.changed.wait()
        await asyncio.sleep(DEBOUNCE_S)
        current.changed.clear()
        try:
            new = await snapshot.current(load)
        except NotReady as trouble:
            if trouble.code in ("unknown_user", "sealed"):
                snapshot.refuse(current.readiness, trouble)
            else:
                log.warning("gateway.refresh_failed", code=trouble.code, reason=str(trouble))
            await _wait_for_change(current, retry_s)
            retry_s = min(2 * retry_s, LONGEST_RETRY_S)
            continue
        retry_s = FIRST_RETRY_S
        await sign_ins.reload()
        # At once: a call in between would find a tool, and not the server to call it at.
        old, current.snapshot = current.snapshot, new
        pool.set_servers(new.specs)
        _forget_changed(current.lists, old, new)
        current.readiness.serve(gateway(new))
        for kind in new.catalogue.changed_lists(old.catalogue):
            current.readiness.changed(kind)
        measure(current, pool)


def _forget_changed(lists: ItemLists | None, old: Snapshot, new: Snapshot) -> None:
    """Forget what servers listed that are reached in another way now, or by others."""
    changed = {spec.name for spec in {*old.specs} ^ {*new.specs}}
    before, after = old.catalogue.servers, new.catalogue.servers
    changed |= {name for name in before.keys() & after if before[name].team != after[name].team}
    if lists is not None:
        for name in changed:
            lists.forget(name)


async def _wait_for_change(current: Current, wait_s: float) -> None:
    """Have the next attempt made at the next notification, or after a while without one."""
    try:
        async with asyncio.timeout(wait_s):
            await current.changed.wait()
    except TimeoutError:
        current.changed.set()


async def record_statuses(current: Current, pool: UpstreamPool) -> None:
    """Keep in the database what connections show, for the console and for other processes."""
    while True:
        status = await current.statuses.get()
        measure(current, pool)
        try:
            if status.state == "ready":
                await in_database(
                    server_store.record_connected,
                    status.name,
                    at=status.connected_at or datetime.now(UTC),
                    protocol_version=status.protocol_version,
                    capabilities=_able(pool, status.name),
                )
            elif status.state in TROUBLED:
                await in_database(
                    server_store.record_error,
                    status.name,
                    at=status.last_error_at or datetime.now(UTC),
                    error=status.last_error,
                )
        except django.db.Error as error:
            log.warning("gateway.status_not_recorded", server=status.name, error=first_line(error))


def _able(pool: UpstreamPool, server: str) -> Mapping[str, object] | None:
    try:
        return pool.capabilities(server)
    except UnknownServer:  # taken out meanwhile
        return None


async def warm(readiness: Readiness, embedder: CachedEmbedder) -> None:
    """Load what the first search needs, once a client has shown that it is there to stay."""
    await readiness.listed.wait()
    try:
        await asyncio.to_thread(embedder.embed, ["warm"], kind="query")
    except EmbeddingUnavailable as error:
        log.warning("gateway.no_model", reason=str(error))
    await asyncio.to_thread(token_count.count, "warm")
    await asyncio.to_thread(_import_suggesting)


def _import_suggesting() -> None:
    """Import what the first intent needs, so that the event loop need not wait for it then."""
    from graph import encode  # noqa: F401, PLC0415 - heavy
    from graph.ranking import rank, tool_view  # noqa: F401, PLC0415 - heavy
    from graph.suggest import considered, suggest  # noqa: F401, PLC0415 - heavy


async def keep_index(readiness: Readiness, index: KeptIndex) -> None:
    """Keep the catalogue in memory to search it there, once a client is there to stay."""
    await readiness.listed.wait()
    await index.run()


def measure(current: Current, pool: UpstreamPool) -> None:
    """Bring the gauges up to date."""
    usable = sum(tool.usable for tool in current.snapshot.catalogue.tools.values())
    telemetry.tools_listed.set(usable)
    states = [status.state for status in pool.status().values()]
    telemetry.servers_by_state.clear()
    for state in sorted(set(states)):
        telemetry.servers_by_state.labels(state).set(states.count(state))
