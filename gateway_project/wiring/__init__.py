"""Builds a gateway's effects once per process and keeps them current."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from uuid import UUID

from gateway_project import metrics, server_instructions
from gateway_project.access import callers
from gateway_project.console import links, on_demand
from gateway_project.effects import Effects, MakeApprovalLink
from gateway_project.foundation import garbage, notify, sealing
from gateway_project.foundation.caller import Caller, CallerKind
from gateway_project.foundation.config import Config
from gateway_project.foundation.task_group import TaskGroup
from gateway_project.mcp.kept_answers import FOLDER, AnswerFolder
from gateway_project.readiness import Gateway, NotReady, Readiness
from gateway_project.result_store import ResultStore
from gateway_project.webhooks.send import WebhookSender
from gateway_project.wiring import follow, snapshot
from gateway_project.wiring.follow import TROUBLED_STATES, CurrentSnapshot
from gateway_project.wiring.follow_graph import GraphKeeper
from gateway_project.wiring.memory import (
    ProcessMemory,
    Thresholds,
    make_learner,
    make_memory,
    make_predictions,
    make_thresholds,
    open_capture,
)
from gateway_project.wiring.relist import ServerDiscoverer, ServerRelister, record_changed_tool
from gateway_project.wiring.runs import make_runs
from gateway_project.wiring.snapshot import CatalogueSnapshot
from gateway_project.wiring.speculation import ProcessSpeculation, make_speculation
from gateway_project.wiring.suggester import CatalogueSearcher, RankerLoader
from gateway_project.wiring.webhooks import open_sender
from graph.ranker_cache import RankerCache
from graph.store import fitted_models
from learning.learner import Learner
from learning.predictions.recorder import PredictionRecorder
from learning.recall import OutcomeRecall
from tools import item_store, token_count
from tools.embed import load as embedding
from tools.item_lists import ItemLists, ItemListStore
from tools.pinned_content import ContentGate
from tools.pinned_upstream import PinnedUpstream
from tools.search_index_cache import SearchIndexCache
from tools.server_condition import limit_error
from tools.sign_in_store import make_remote_with_sign_ins
from tools.upstream.limits import UpstreamLimits
from tools.upstream.network import NetworkRules, parse_networks
from tools.upstream.pool import UpstreamPool
from tools.upstream.spec import find_referenced_variables

GARBAGE_CHECK_S = 10.0
"""Interval of setting apart what was loaded meanwhile."""

ITEM_STORE = ItemListStore(load_items=item_store.load_items, record_items=item_store.record_items)


async def run_gateway(  # noqa: PLR0913 - each is a choice of the caller
    readiness: Readiness,
    *,
    config: Config,
    user: str | None,
    kind: CallerKind = "stdio",
    tool_group: str | None = None,
    works: int = 0,
    claims: bool = True,
) -> None:
    """Serve calls as soon as the database allows it, until cancelled.

    Problems are reported to `readiness` and retried, immediately if a call arrives. Once the
    gateway serves, calls use the last snapshot while the database is unavailable.

    Args:
        readiness: Receives the gateway, or the reason why there is none.
        config: Of the installation.
        user: Default user of requests; None: each request names its own.
        kind: How that user connected.
        tool_group: Tool group that the user is limited to; None: none.
        works: Runs executed concurrently here even if gateways leave runs to workers; 0: none.
        claims: Whether to claim runs, discoveries and messages that other processes started or
            left.

    Raises:
        NotReady: If the configuration itself cannot work.
    """
    rules = _load_network_rules(config)
    thresholds = make_thresholds(config)
    load = snapshot.make_loader(config, user, kind=kind, group=tool_group)
    embedder = embedding.make_embedder(config)
    follow.begin_loading_models(readiness, embedder)
    index = SearchIndexCache(embedder.model, max_bytes=config.search_memory_mb * 1_000_000)
    current = CurrentSnapshot(
        snapshot=await snapshot.load_first(load, readiness),
        readiness=readiness,
        sealer=sealing.load_or_create_sealer(config.home),
    )
    async with (
        make_remote_with_sign_ins(
            sealer=current.sealer, rules=rules, listing_user=user or callers.LOCAL_ADMIN
        ) as (remote, sign_ins),
        UpstreamPool(
            current.snapshot.specs,
            remote=remote,
            on_status=current.handle_upstream_status,
            on_changed=current.handle_upstream_change,
            on_updated=current.handle_resource_update,
            limits=UpstreamLimits(max_call_s=config.max_call_s),
            idle_stop_s=config.idle_stop_s,
            session_idle_s=config.session_idle_s,
        ) as pool,
        ItemLists(pool, on_late=current.handle_late_list, memory=ITEM_STORE) as lists,
        open_capture(config) as capture,
        open_sender(config, sealer=current.sealer, rules=rules) as sender,
    ):
        current.item_lists = lists
        keeper = GraphKeeper(learns=config.memory)
        rankers = RankerCache(embedder.model, sealer=current.sealer)

        searcher = CatalogueSearcher(embedder=embedder, index=index, rankers=rankers)
        ranker_loader = RankerLoader(embedder=embedder, index=index, rankers=rankers)
        upstream = PinnedUpstream(
            pool,
            catalogue=lambda: current.snapshot.catalogue,
            on_changed=current.servers_to_relist.put_nowait,
            record=partial(record_changed_tool, approve_new=config.approve_new == "auto"),
        )
        describe_trouble = partial(_describe_trouble, pool)
        memory: ProcessMemory
        speculation = make_speculation(
            config,
            current,
            upstream=upstream,
            describe_trouble=describe_trouble,
            on_ended=lambda ended: memory.sessions.record_speculation_end(ended),
        )
        learning = make_learner(
            sealer=current.sealer,
            payloads=sealing.load_or_create_sealer(config.home, name=sealing.PAYLOADS),
            embedder=embedder,
            index=index,
            keeper=keeper,
            td_rate=config.td_rate,
        )
        memory = make_memory(
            config,
            capture,
            sealer=current.sealer,
            embedder=embedder,
            rules=lambda: current.snapshot.rules,
            speculation=speculation.speculator,
            deletes=claims,
            on_episode=learning.enqueue_ended_run,
        )
        runs = make_runs(
            current,
            upstream,
            config=config,
            works=works,
            claims=claims,
            on_call_ended=memory.sessions.record_task_call,
            on_run_ended=partial(_end_run, memory, learning),
            speculation=speculation.speculator,
        )
        predictions = make_predictions(
            config, sealer=current.sealer, capture=capture, thresholds=thresholds
        )
        outcomes = OutcomeRecall(predictions.calibrations.find_calibration)
        effects = Effects(
            catalogue=lambda: current.snapshot.catalogue,
            search=searcher.search,
            search_in_memory=searcher.search_in_memory,
            load_ranker=ranker_loader.load_ranker,
            find_ranker=ranker_loader.find_ranker,
            upstream=upstream,
            describe_trouble=describe_trouble,
            count_tokens=token_count.count_tokens,
            token_budget=config.token_budget,
            exposure=config.exposure,
            requests=pool,
            item_lists=lists,
            content=ContentGate(approve_new=config.approve_new == "auto"),
            await_listing=lambda tool: current.announced.wait(tool, pool.list_announcing()),
            result_store=ResultStore(config.home / "results", current.sealer),
            result_link_bytes=config.result_link_bytes,
            run_results_s=config.payload_days * 86_400,
            max_call_s=config.max_call_s,
            call_patience_s=config.call_patience_s,
            sealer=current.sealer,
            open_console=partial(_open_console, config),
            topology=keeper.graph.topology,
            metrics=lambda: keeper.graph.metrics,
            usage=keeper.usage.usage_of_team,
            count_call=keeper.count_call,
            observe_result=keeper.observe_result,
            predictions=predictions,
            find_threshold=thresholds.cache.find,
            find_calibration=predictions.calibrations.find_calibration,
            runs=runs,
            memory=memory.sessions,
            estimate_p95_ms=memory.estimate_p95_ms,
            recall=outcomes.recall,
            speculation=speculation.speculator,
            speculation_wait_s=config.speculation_wait_s,
            rules=lambda: current.snapshot.rules,
        )
        gateway = partial(_make_gateway, effects, config.home)
        readiness.serve(gateway(current.snapshot))
        follow.update_gauges(current, pool)
        relister = ServerRelister(
            pool,
            embedder,
            approve_new=config.approve_new == "auto",
            announced=current.announced,
        )
        async with TaskGroup() as group:
            group.create_task(
                follow.make_listener(
                    current,
                    index,
                    _distribute_learned(keeper, rankers, thresholds, speculation),
                    runs,
                    sender,
                ).run(),
                name="listener",
            )
            for name, work in (
                ("runs", runs.run()),
                ("learning", learning.run()),
                ("memory", memory.run()),
                ("graph", keeper.run(readiness)),
                ("search index", follow.run_index(readiness, index)),
                ("rankers", rankers.run()),
            ):
                group.create_task(work, name=name)
            group.create_task(
                follow.refresh_snapshot(
                    current,
                    pool,
                    sign_ins,
                    load=load,
                    gateway=gateway,
                    kept=AnswerFolder(config.home / FOLDER),
                ),
                name="refresh",
            )
            _start_following_servers(
                group, current, pool, relister=relister, max_warm=config.warm_servers
            )
            if claims:
                discoverer = ServerDiscoverer(current, pool, list_server=relister.list_server)
                _start_claiming(group, discoverer, sender)
            group.create_task(
                follow.warm_up(readiness, embedder, rankers, owner=current.snapshot.caller.owner),
                name="warm",
            )
            _start_housekeeping(group, effects, predictions, thresholds, outcomes, speculation)


def _distribute_learned(
    keeper: GraphKeeper,
    rankers: RankerCache,
    thresholds: Thresholds,
    speculation: ProcessSpeculation,
) -> Callable[[notify.Notification | None], None]:
    """Return what is called with notifications of what was learned; None: a gap."""

    def distribute(event: notify.Notification | None) -> None:
        speculation.handle_notification(event)
        if event is not None and event.channel == notify.SPECULATION:
            return
        if event is None or event.channel == notify.THRESHOLDS:
            thresholds.cache.invalidate()
        if event is None or event.channel != notify.THRESHOLDS:
            keeper.handle_notification(event)
        if event is None or (
            event.channel == notify.GRAPH and event.payload == fitted_models.CHANGE_NOTICE
        ):
            rankers.invalidate()

    return distribute


async def _end_run(memory: ProcessMemory, learning: Learner, run: UUID) -> None:
    """Tell the sessions and the learner that a run ended here."""
    memory.sessions.record_run_end(run)
    await learning.enqueue_ended_run(run)


def _start_following_servers(
    group: TaskGroup,
    current: CurrentSnapshot,
    pool: UpstreamPool,
    *,
    relister: ServerRelister,
    max_warm: int,
) -> None:
    """Start the tasks that record what servers report, and start the recently used ones."""
    group.create_task(follow.record_statuses(current, pool), name="statuses")
    group.create_task(relister.run(current.servers_to_relist), name="listings")
    group.create_task(follow.start_recent_servers(current, pool, limit=max_warm), name="servers")


def _start_claiming(group: TaskGroup, discoverer: ServerDiscoverer, sender: WebhookSender) -> None:
    """Start the tasks that take up what other processes started or left."""
    group.create_task(discoverer.run(), name="discovery")
    group.create_task(sender.run(), name="webhooks")


def _start_housekeeping(
    group: TaskGroup,
    effects: Effects,
    predictions: PredictionRecorder,
    thresholds: Thresholds,
    outcomes: OutcomeRecall,
    speculation: ProcessSpeculation,
) -> None:
    """Start the tasks that record what happened, act on it, and delete what is old."""
    group.create_task(outcomes.run(), name="outcomes")
    group.create_task(speculation.run(), name="speculation")
    group.create_task(thresholds.cache.run(), name="thresholds")
    group.create_task(predictions.run(), name="predictions")
    group.create_task(metrics.write_totals_periodically(), name="metrics")
    group.create_task(effects.result_store.sweep_periodically(), name="results")
    group.create_task(_keep_long_lived_apart(), name="garbage")


async def _keep_long_lived_apart() -> None:
    """Keep garbage collections short, until cancelled."""
    with garbage.LONG_LIVED.keep_apart():
        while True:
            await asyncio.sleep(GARBAGE_CHECK_S)
            garbage.LONG_LIVED.check()


def _make_gateway(effects: Effects, home: Path, loaded: CatalogueSnapshot) -> Gateway:
    variables = frozenset(
        name for spec in loaded.specs for name in find_referenced_variables(spec)
    )
    servers = loaded.catalogue.servers.values()
    shared = {one.name: one.instructions for one in servers if one.enabled and one.team is None}
    server_instructions.keep_instructions(
        home, {name: shared[name] for name in sorted(shared) if shared[name]}
    )
    return Gateway(effects=effects, caller=loaded.caller, variables=variables)


async def _open_console(config: Config) -> MakeApprovalLink:
    return partial(links.approval_link, await on_demand.open_console(config))


def _describe_trouble(pool: UpstreamPool, caller: Caller, server: str) -> str:
    status = pool.find_status(server)
    if status is None or status.state not in TROUBLED_STATES:
        return ""
    return limit_error(status.last_error, caller)


def _load_network_rules(config: Config) -> NetworkRules:
    """Return the rules for addresses of upstream servers.

    Raises:
        NotReady: If the setting is malformed.
    """
    try:
        return NetworkRules(allowed=parse_networks(config.allow_private))
    except ValueError as error:
        raise NotReady("configuration", f"FOREGATE_ALLOW_PRIVATE: {error}") from None
