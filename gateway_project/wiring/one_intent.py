"""What a command needs to suggest a workflow once, without a gateway."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from gateway_project.effects import Rank
from gateway_project.foundation import sealing
from gateway_project.foundation.config import Config
from gateway_project.foundation.database import in_database
from graph import rank_intent
from graph.kept_rankers import KeptRankers
from graph.rank_intent import Ranked
from graph.record import Metric
from graph.store import metrics, relations
from graph.topology import Topology
from tools.catalogue import Catalogue
from tools.embed.cache import CachedEmbedder
from tools.embed.load import embedder_for
from tools.store import catalogue as catalogue_store

if TYPE_CHECKING:
    from graph.intent.reading import Reading
    from tools.search_index import SearchIndex


@dataclass(frozen=True, kw_only=True)
class CommandEffects:
    """What suggesting a workflow reaches for; see `gateway_project.effects.Effects`.

    No server is asked: what went wrong with it last is taken for the trouble it is in.
    """

    catalogue: Callable[[], Catalogue]
    trouble: Callable[[str], str]
    topology: Callable[[int | None], Topology]
    metrics: Callable[[], Mapping[int, Metric]]
    rank: Rank


def effects(config: Config, team: int | None) -> CommandEffects:
    """Read what is known; blocking.

    Args:
        config: Of the installation.
        team: Primary key of the team that a workflow is wanted for.

    Raises:
        tools.embed.recipes.UnknownModel: If no model of the configured name is known.
        django.db.Error: If the database cannot be read.
    """
    known = catalogue_store.load()
    topology, measured = relations.topology(team), metrics.load()
    return CommandEffects(
        catalogue=lambda: known,
        trouble=lambda name: known.servers[name].last_error,
        topology=lambda _team: topology,
        metrics=lambda: measured,
        rank=partial(
            _rank,
            embedder=embedder_for(config),
            max_bytes=config.search_memory_mb * 1_000_000,
            config=config,
        ),
    )


async def _rank(
    reading: Reading,
    team: int | None,
    considered: Sequence[int],
    *,
    embedder: CachedEmbedder,
    max_bytes: int,
    config: Config,
) -> Ranked:
    rankers = KeptRankers(embedder.model, sealer=sealing.load_or_create(config.home))
    index = await in_database(_index, embedder.model, max_bytes)
    return await in_database(
        rank_intent.rank_intent,
        reading,
        index=index,
        embedder=embedder,
        kept=await rankers.get(team),
        team=team,
        considered=considered,
    )


def _index(model: str, max_bytes: int) -> SearchIndex | None:
    from tools.store import search_index  # noqa: PLC0415 - heavy: numpy

    return search_index.refresh(None, model=model, max_bytes=max_bytes)
