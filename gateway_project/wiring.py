"""Builds the effects once per process and keeps them current."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import django.db
import structlog

from gateway_project import metrics
from gateway_project.access import callers
from gateway_project.flow import Effects
from gateway_project.foundation import notify, sealing, telemetry
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.config import Config, ConfigurationError
from gateway_project.foundation.database import in_database
from gateway_project.foundation.postgres import migrate
from gateway_project.mcp.readiness import Gateway, NotReady, Readiness
from tools import discover, embed_catalogue, ids, search, token_count
from tools.catalogue import Catalogue
from tools.embed import load as embedding
from tools.embed.cache import CachedEmbedder
from tools.embed.embedder import EmbeddingUnavailable
from tools.embed.recipes import UnknownModel
from tools.pinned_upstream import PinnedUpstream
from tools.store import catalogue as catalogue_store
from tools.store import servers as server_store
from tools.upstream.pool import UpstreamPool
from tools.upstream.spec import ServerSpec
from tools.upstream.status import ServerStatus

FIRST_RETRY_S = 0.25
LONGEST_RETRY_S = 5.0
DEBOUNCE_S = 0.15
"""A command that changes many rows notifies many times; one reload serves them all."""
TROUBLED = frozenset({"backoff", "open", "failed"})

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """What the database says at one moment.

    Attributes:
        catalogue: Servers and tools.
        specs: How to start each enabled server.
        caller: Who the client acts for.
    """

    catalogue: Catalogue
    specs: tuple[ServerSpec, ...]
    caller: Caller


@dataclass(kw_only=True)
class _Current:
    """The snapshot in force, swapped whole; and work for the tasks in the background."""

    snapshot: Snapshot
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    statuses: asyncio.Queue[ServerStatus] = field(default_factory=asyncio.Queue)
    relisted: asyncio.Queue[str] = field(default_factory=asyncio.Queue)


async def run(readiness: Readiness, *, config: Config, user: str) -> None:
    """Serve calls as soon as the database allows it, until cancelled.

    What is missing is told to `readiness` and tried again, at once when a call asks for it. Once
    served, calls go on with the last snapshot while the database is away.

    Args:
        readiness: Told of the gateway, or why there is none.
        config: Of the installation.
        user: Name of the user the client acts for.

    Raises:
        NotReady: If the configuration itself cannot work.
    """
    load = _loader(config, user)
    embedder = _embedder(config)
    current = _Current(snapshot=await _first(load, readiness))
    async with UpstreamPool(
        current.snapshot.specs,
        on_status=current.statuses.put_nowait,
        on_tools_changed=current.relisted.put_nowait,
    ) as pool:
        gateway = _gateway(current, pool, embedder, config)
        readiness.serve(gateway(current.snapshot.caller))
        _measure(current.snapshot, pool)
        listener = _listener(current)
        async with asyncio.TaskGroup() as group:
            group.create_task(listener.run(), name="listener")
            group.create_task(_refresh(current, pool, readiness, load, gateway), name="refresh")
            group.create_task(_record_statuses(current, pool), name="statuses")
            group.create_task(_follow_listings(current, pool, embedder, config), name="listings")
            group.create_task(_warm(readiness, embedder), name="warm")
            group.create_task(metrics.keep_totals(), name="metrics")


def _loader(config: Config, user: str) -> Callable[[], Snapshot]:
    def load() -> Snapshot:
        return Snapshot(
            catalogue=catalogue_store.load(),
            specs=server_store.load_specs(
                sealer=sealing.load_or_create(config.home),
                connect_timeout_s=config.connect_timeout_s,
                call_timeout_s=config.call_timeout_s,
            ),
            caller=callers.for_user(user, kind="stdio"),
        )

    return load


async def _load(load: Callable[[], Snapshot]) -> Snapshot:
    """Load a snapshot.

    Raises:
        NotReady: Saying what is missing and what to do about it.
    """
    try:
        return await in_database(load)
    except django.db.ProgrammingError as error:
        raise await _unfit(error) from None
    except django.db.Error as error:
        raise NotReady("database_unavailable", _first_line(error)) from None
    except callers.UnknownUser as error:
        raise NotReady("unknown_user", str(error)) from None
    except sealing.SealBroken as error:
        raise NotReady("sealed", str(error)) from None
    except ConfigurationError as error:
        raise NotReady("configuration", str(error)) from None


async def _unfit(error: django.db.ProgrammingError) -> NotReady:
    """Say why tables or columns are missing: most likely nobody has migrated the database."""
    try:
        pending = await in_database(migrate.pending_migrations)
    except django.db.Error as worse:
        return NotReady("database_unavailable", _first_line(worse))
    if pending:
        return NotReady(
            "database_unmigrated",
            f"the database lacks {len(pending)} migrations of this version; "
            "run `manage.py migrate`, and the gateway goes on by itself",
        )
    return NotReady(
        "database_unavailable",
        f"the database does not fit this version although it is migrated: {_first_line(error)}",
    )


async def _first(load: Callable[[], Snapshot], readiness: Readiness) -> Snapshot:
    """Try until there is a snapshot, telling calls what is missing meanwhile."""
    retry_s = FIRST_RETRY_S
    while True:
        readiness.wanted.clear()
        try:
            return await _load(load)
        except NotReady as trouble:
            _refuse(readiness, trouble)
        try:
            async with asyncio.timeout(retry_s):
                await readiness.wanted.wait()
        except TimeoutError:
            retry_s = min(2 * retry_s, LONGEST_RETRY_S)


def _refuse(readiness: Readiness, trouble: NotReady) -> None:
    """Tell calls, and the log once for each kind of trouble."""
    known = readiness.trouble
    if known is None or known.code != trouble.code:
        log.warning("gateway.not_ready", code=trouble.code, reason=str(trouble))
    readiness.refuse(trouble)


def _gateway(
    current: _Current, pool: UpstreamPool, embedder: CachedEmbedder, config: Config
) -> Callable[[Caller], Gateway]:
    async def find(request: search.SearchRequest) -> search.SearchAnswer:
        return await in_database(search.search, request, embedder=embedder)

    effects: Effects[Any] = Effects(
        catalogue=lambda: current.snapshot.catalogue,
        search=find,
        upstream=PinnedUpstream(
            pool,
            pinned=lambda server, tool: _pinned_hash(current.snapshot.catalogue, server, tool),
            on_changed=current.relisted.put_nowait,
        ),
        trouble=lambda server: _trouble(pool, server),
        count_tokens=token_count.count,
        token_budget=config.token_budget,
    )
    return lambda caller: Gateway(effects=effects, caller=caller)


def _pinned_hash(catalogue: Catalogue, server: str, tool: str) -> str:
    found = catalogue.tools.get(ids.join(server, tool))
    return found.definition_hash if found else ""


def _trouble(pool: UpstreamPool, server: str) -> str:
    status = pool.status().get(server)
    return status.last_error if status and status.state in TROUBLED else ""


def _embedder(config: Config) -> CachedEmbedder:
    """Return the configured embedder, not loaded yet.

    Raises:
        NotReady: If no model of that name is known.
    """
    try:
        return embedding.embedder_for(config)
    except UnknownModel as error:
        raise NotReady("configuration", str(error)) from None


def _listener(current: _Current) -> notify.Listener:
    async def changed(_: object = None) -> None:
        current.changed.set()

    return notify.Listener((notify.CATALOGUE,), on_event=changed, on_resync=changed)


async def _refresh(
    current: _Current,
    pool: UpstreamPool,
    readiness: Readiness,
    load: Callable[[], Snapshot],
    gateway: Callable[[Caller], Gateway],
) -> None:
    """Take over what changed in the database; what cannot be loaded leaves the old in force."""
    while True:
        await current.changed.wait()
        await asyncio.sleep(DEBOUNCE_S)
        current.changed.clear()
        try:
            current.snapshot = await _load(load)
        except NotReady as trouble:
            if trouble.code in ("unknown_user", "sealed"):
                _refuse(readiness, trouble)
            else:  # the listener resyncs when the database is back
                log.warning("gateway.refresh_failed", code=trouble.code, reason=str(trouble))
            continue
        pool.set_servers(current.snapshot.specs)
        readiness.serve(gateway(current.snapshot.caller))
        _measure(current.snapshot, pool)


async def _record_statuses(current: _Current, pool: UpstreamPool) -> None:
    """Keep in the database what connections show, for the console and for other processes."""
    while True:
        status = await current.statuses.get()
        _measure(current.snapshot, pool)
        try:
            if status.state == "ready":
                await in_database(
                    server_store.record_connected,
                    status.name,
                    at=status.connected_at or datetime.now(UTC),
                    protocol_version=status.protocol_version,
                )
            elif status.state in TROUBLED:
                await in_database(
                    server_store.record_error,
                    status.name,
                    at=status.last_error_at or datetime.now(UTC),
                    error=status.last_error,
                )
        except django.db.Error as error:
            log.warning(
                "gateway.status_not_recorded", server=status.name, error=_first_line(error)
            )


async def _follow_listings(
    current: _Current, pool: UpstreamPool, embedder: CachedEmbedder, config: Config
) -> None:
    """List a server again that says its tools changed; the rule of pinning decides what it is."""
    while True:
        server = await current.relisted.get()
        try:
            await discover.discover(pool, [server], approve_new=config.approve_new == "auto")
            await in_database(embed_catalogue.embed_missing, embedder)
        except (django.db.Error, EmbeddingUnavailable) as error:
            log.warning("gateway.relisting_failed", server=server, error=_first_line(error))


async def _warm(readiness: Readiness, embedder: CachedEmbedder) -> None:
    """Load what the first search needs, once a client has shown that it is there to stay."""
    await readiness.listed.wait()
    try:
        await asyncio.to_thread(embedder.embed, ["warm"], kind="query")
    except EmbeddingUnavailable as error:
        log.warning("gateway.no_model", reason=str(error))
    await asyncio.to_thread(token_count.count, "warm")


def _measure(snapshot: Snapshot, pool: UpstreamPool) -> None:
    usable = sum(tool.usable for tool in snapshot.catalogue.tools.values())
    telemetry.tools_listed.set(usable)
    states = [status.state for status in pool.status().values()]
    telemetry.servers_by_state.clear()
    for state in sorted(set(states)):
        telemetry.servers_by_state.labels(state).set(states.count(state))


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), repr(error))
