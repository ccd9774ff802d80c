"""Effects for a command that suggests one workflow without a gateway."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from gateway_project.effects import IntentEffects
from gateway_project.foundation import sealing
from gateway_project.foundation.config import Config
from gateway_project.foundation.database import run_in_database_thread
from graph import rank_intent
from graph.rank_intent import RankedIntent
from graph.ranker_cache import RankerCache
from graph.store import metrics, relations
from tools.embed.cache import CachedEmbedder
from tools.embed.load import make_embedder
from tools.store import catalogue as catalogue_store

if TYPE_CHECKING:
    from graph.suggestion.intent.reading import IntentReading
    from tools.search_index import SearchIndex


def load_effects(config: Config, team: int | None) -> IntentEffects:
    """Load the catalogue and the graph; blocking.

    No server is contacted: its latest stored error is reported as its current one.

    Args:
        config: Of the installation.
        team: Primary key of the caller's team.

    Raises:
        tools.embed.recipes.UnknownModel: If the configured model is unknown.
        django.db.Error: If the database cannot be read.
    """
    catalogue = catalogue_store.load_catalogue()
    topology, graph_metrics = relations.load_topology(team), metrics.load_metrics()
    return IntentEffects(
        catalogue=lambda: catalogue,
        describe_trouble=lambda name: catalogue.servers[name].last_error,
        topology=lambda _team: topology,
        metrics=lambda: graph_metrics,
        rank=partial(
            _rank_for_team,
            embedder=make_embedder(config),
            max_bytes=config.search_memory_mb * 1_000_000,
            config=config,
        ),
    )


async def _rank_for_team(
    reading: IntentReading,
    team: int | None,
    considered: Sequence[int],
    *,
    embedder: CachedEmbedder,
    max_bytes: int,
    config: Config,
) -> RankedIntent:
    rankers = RankerCache(embedder.model, sealer=sealing.load_or_create_sealer(config.home))
    index = await run_in_database_thread(_load_index, embedder.model, max_bytes)
    return await run_in_database_thread(
        rank_intent.rank_intent,
        reading,
        index=index,
        embedder=embedder,
        models=await rankers.get(team),
        team=team,
        considered=considered,
    )


def _load_index(model: str, max_bytes: int) -> SearchIndex | None:
    from tools.store import search_index

    return search_index.refresh_index(None, model=model, max_bytes=max_bytes)
