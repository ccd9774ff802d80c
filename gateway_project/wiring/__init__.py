"""Builds the effects once per process and keeps them current."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import Any

from gateway_project import metrics
from gateway_project.access import callers
from gateway_project.console import links
from gateway_project.effects import Effects
from gateway_project.foundation import notify, sealing
from gateway_project.foundation.caller import Kind
from gateway_project.foundation.config import Config
from gateway_project.foundation.database import in_database
from gateway_project.item_lists import ItemLists, Memory
from gateway_project.kept_results import KeptResults
from gateway_project.readiness import Gateway, NotReady, Readiness
from gateway_project.wiring import follow, snapshot
from gateway_project.wiring.follow import TROUBLED, Current
from gateway_project.wiring.follow_graph import GraphKeeper
from gateway_project.wiring.learn import learner
from gateway_project.wiring.relist import Relister
from gateway_project.wiring.runs import runs_of
from gateway_project.wiring.snapshot import Snapshot
from gateway_project.wiring.suggester import Suggester
from graph.kept_rankers import KeptRankers
from graph.store import fitted
from tools import ids, kept_items, search, token_count
from tools.catalogue import Catalogue
from tools.embed import load as embedding
from tools.embed.cache import CachedEmbedder
from tools.embed.recipes import UnknownModel
from tools.keep_sign_ins import remote_with_sign_ins
from tools.kept_index import KeptIndex
from tools.pinned_upstream import PinnedUpstream
from tools.upstream.network import NetworkRules, parse_networks
from tools.upstream.pool import UpstreamPool
from tools.upstream.spec import referred

MEMORY = Memory(recall=kept_items.recall, remember=kept_items.remember)


async def run(
    readiness: Readiness,
    *,
    config: Config,
    user: str | None,
    kind: Kind = "stdio",
    works: int = 0,
    claims: bool = True,
) -> None:
    """Serve calls as soon as the database allows it, until cancelled.

    What is missing is told to `readiness` and tried again, at once when a call asks for it. Once
    served, calls go on with the last snapshot while the database is away.

    Args:
        readiness: Told of the gateway, or why there is none.
        config: Of the installation.
        user: Name of the user that requests stand for by themselves; None: nobody, each request
            names its own.
        kind: The way in of that user.
        works: Runs that are carried out here at once also where gateways leave that to workers;
            0: none are then.
        claims: Whether runs are taken that others started or left.

    Raises:
        NotReady: If the configuration itself cannot work.
    """
    rules = _rules(config)
    load = snapshot.loader(config, user, kind=kind)
    embedder = _embedder(config)
    index = KeptIndex(embedder.model, max_bytes=config.search_memory_mb * 1_000_000)
    current = Current(
        snapshot=await snapshot.first(load, readiness),
        readiness=readiness,
        sealer=sealing.load_or_create(config.home),
    )
    async with (
        remote_with_sign_ins(
            sealer=current.sealer, rules=rules, listing_user=user or callers.LOCAL_ADMIN
        ) as (remote, sign_ins),
        UpstreamPool(
            current.snapshot.specs,
            remote=remote,
            on_status=current.upstream_stands,
            on_changed=current.upstream_changed,
            on_updated=readiness.updated,
            idle_stop_s=config.idle_stop_s,
            session_idle_s=config.session_idle_s,
        ) as pool,
        ItemLists(pool, on_late=current.listed_late, memory=MEMORY) as lists,
    ):
        current.lists = lists
        keeper = GraphKeeper()
        rankers = KeptRankers(embedder.model, sealer=current.sealer)

        def told(event: notify.Event | None) -> None:
            keeper.told(event)
            if event is None or (event.channel == notify.GRAPH and event.payload == fitted.NOTICE):
                rankers.outdate()

        base = _effects(current, pool, embedder=embedder, index=index, config=config, lists=lists)
        payloads = sealing.load_or_create(config.home, name=sealing.PAYLOADS)
        learning = learner(
            sealer=current.sealer, payloads=payloads, embedder=embedder, index=index, keeper=keeper
        )
        runs = runs_of(
            current,
            base.upstream,
            config=config,
            works=works,
            claims=claims,
            learned=learning.learned,
        )
        effects = replace(
            base,
            topology=keeper.graph.topology,
            metrics=lambda: keeper.graph.metrics,
            usage=keeper.usage.of,
            rank=Suggester(embedder=embedder, index=index, rankers=rankers).rank,
            count_call=keeper.usage.count,
            saw_result=keeper.saw,
            runs=runs,
        )
        gateway = partial(_gateway, effects)
        readiness.serve(gateway(current.snapshot))
        follow.measure(current, pool)
        relister = Relister(pool, embedder, approve_new=config.approve_new == "auto")
        async with asyncio.TaskGroup() as group:
            group.create_task(follow.listener(current, index, told, runs).run(), name="listener")
            group.create_task(runs.run(), name="runs")
            group.create_task(learning.run(), name="learning")
            group.create_task(keeper.run(readiness), name="graph")
            group.create_task(
                follow.refresh(current, pool, sign_ins, load=load, gateway=gateway),
                name="refresh",
            )
            group.create_task(follow.record_statuses(current, pool), name="statuses")
            group.create_task(relister.run(current.relisted), name="listings")
            group.create_task(follow.warm(readiness, embedder), name="warm")
            group.create_task(follow.keep_index(readiness, index), name="search index")
            group.create_task(rankers.run(), name="rankers")
            group.create_task(metrics.keep_totals(), name="metrics")
            group.create_task(effects.kept.keep_swept(), name="results")


def _gateway(effects: Effects[Any], taken: Snapshot) -> Gateway:
    variables = frozenset(name for spec in taken.specs for name in referred(spec))
    return Gateway(effects=effects, caller=taken.caller, variables=variables)


def _effects(
    current: Current,
    pool: UpstreamPool,
    *,
    embedder: CachedEmbedder,
    index: KeptIndex,
    config: Config,
    lists: ItemLists,
) -> Effects[Any]:
    async def find(request: search.SearchRequest) -> search.SearchAnswer:
        return await in_database(search.search, request, embedder=embedder, index=index.current)

    return Effects(
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
        exposure=config.exposure,
        requests=pool,
        lists=lists,
        kept=KeptResults(config.home / "results", current.sealer),
        result_link_bytes=config.result_link_bytes,
        sealer=current.sealer,
        approval_link=partial(links.approval, config),
    )


def _pinned_hash(catalogue: Catalogue, server: str, tool: str) -> str:
    found = catalogue.tools.get(ids.join(server, tool))
    return found.definition_hash if found else ""


def _trouble(pool: UpstreamPool, server: str) -> str:
    status = pool.status().get(server)
    return status.last_error if status and status.state in TROUBLED else ""


def _rules(config: Config) -> NetworkRules:
    """Return which addresses servers may be reached at.

    Raises:
        NotReady: If the setting names no networks.
    """
    try:
        return NetworkRules(allowed=parse_networks(config.allow_private))
    except ValueError as error:
        raise NotReady("configuration", f"FOREGATE_ALLOW_PRIVATE: {error}") from None


def _embedder(config: Config) -> CachedEmbedder:
    """Return the configured embedder, not loaded yet.

    Raises:
        NotReady: If no model of that name is known.
    """
    try:
        return embedding.embedder_for(config)
    except UnknownModel as error:
        raise NotReady("configuration", str(error)) from None
