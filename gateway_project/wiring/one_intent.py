"""Effects for a command that suggests one workflow without a gateway."""

from __future__ import annotations

from execution.speculation.calls import Speculation
from execution.speculation.rules import AdmissibilityRules
from execution.store import grants
from gateway_project.effects import IntentEffects
from gateway_project.foundation import sealing
from gateway_project.foundation.config import Config
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.wiring.memory import make_thresholds
from gateway_project.wiring.suggester import RankerLoader
from graph.ranker_cache import RankerCache
from graph.store import metrics, relations
from learning.predictions import calibrations
from learning.recall import OutcomeRecall
from learning.sessions.registry import SessionRegistry
from tools.embed.load import make_embedder
from tools.search_index_cache import SearchIndexCache
from tools.server_condition import limit_error
from tools.store import catalogue as catalogue_store


async def load_effects(config: Config, team: int | None) -> IntentEffects:
    """Load the catalogue, its search index, the graph, and what outcomes have changed.

    No server is contacted: its latest stored error is reported as its current one. Nothing is
    recorded.

    Args:
        config: Of the installation.
        team: Primary key of the caller's team.

    Raises:
        embedding_models.UnknownModel: If the configured model is unknown.
        django.db.Error: If the database cannot be read.
        NotReady: If a threshold setting is malformed.
    """
    catalogue = await run_in_database_thread(catalogue_store.load_catalogue)
    topology = await run_in_database_thread(relations.load_topology, team)
    graph_metrics = await run_in_database_thread(metrics.load_metrics)
    embedder = make_embedder(config)
    index = SearchIndexCache(embedder.model, max_bytes=config.search_memory_mb * 1_000_000)
    await index.refresh()
    sealer = sealing.load_or_create_sealer(config.home)
    rankers = RankerCache(embedder.model, sealer=sealer)
    thresholds = make_thresholds(config).cache
    await thresholds.refresh()
    calibration = await run_in_database_thread(calibrations.fit_team, team)
    outcomes = OutcomeRecall(lambda _team: calibration)
    await outcomes.refresh()
    rules = AdmissibilityRules(
        catalogue=catalogue, grants=await run_in_database_thread(grants.load_grants)
    )
    is_on = await run_in_database_thread(grants.is_speculation_on)
    return IntentEffects(
        catalogue=lambda: catalogue,
        describe_trouble=lambda caller, name: limit_error(
            catalogue.servers[name].last_error, caller
        ),
        topology=lambda _team: topology,
        metrics=lambda: graph_metrics,
        load_ranker=RankerLoader(embedder=embedder, index=index, rankers=rankers).load_ranker,
        memory=SessionRegistry(record=lambda _event: None, digest=sealer.digest),
        recall=outcomes.recall,
        find_threshold=thresholds.find,
        find_calibration=lambda _team: calibration,
        speculation=Speculation(is_switched_off=not (config.speculation and is_on)),
        rules=lambda: rules,
    )
