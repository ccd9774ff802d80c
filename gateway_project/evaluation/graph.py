"""The graph of a data set on the tables of an evaluation, and what would rank by it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from gateway_project import arrange
from gateway_project.arrange import Terms
from gateway_project.evaluation.dataset import Dataset
from gateway_project.foundation.caller import Caller
from gateway_project.sight import Sight
from graph import record, refresh
from graph.algorithms.closure import closure
from graph.algorithms.expand import expand
from graph.enhance.related import MAX_RELATED
from graph.exchange import adopt
from graph.exchange.document import Stated
from graph.record import Metric, Record
from graph.relations import Key
from graph.store import metrics, relations
from graph.topology import Topology
from tools import token_count
from tools.catalogue import Catalogue
from tools.search import Hit
from tools.store import catalogue as catalogue_store

CALLER = Caller(user="evaluate", team=None, scopes=frozenset(), kind="stdio")
LOCK_WAIT_S = 600.0
ORIGIN = "evaluate"

Ranked = list[int]


class GraphBusy(Exception):
    """Another process refreshes a graph of this database and does not come to an end."""

    def __init__(self) -> None:
        super().__init__(
            "another process has refreshed the graph of this database for ten minutes; "
            "evaluate again when it is done"
        )


@dataclass(frozen=True, kw_only=True)
class World:
    """What search_tools would answer from.

    Attributes:
        names: The data set's id of each tool, by primary key.
        catalogue: The stored tools.
        topology: Their relations: those of the data set, and what is derived from schemas.
        metrics: Each tool's place in the graph, by primary key; of tools with relations.
        token_budget: Tokens that an answer may cost.
    """

    names: Mapping[int, str]
    catalogue: Catalogue
    topology: Topology
    metrics: Mapping[int, Metric]
    token_budget: int

    def ids(self, ranked: Sequence[int]) -> list[str]:
        """Return the data set's ids of some tools."""
        return [self.names[pk] for pk in ranked]


def prepare(dataset: Dataset, names: Mapping[str, str], *, token_budget: int) -> World:
    """Store the relations of a data set as curated ones, derive the others, and load all.

    Args:
        dataset: Whose tools are stored.
        names: The data set's id of each stored tool, by canonical id.
        token_budget: Tokens that an answer may cost.

    Raises:
        GraphBusy: If another process holds the graph.
    """
    now = datetime.now(UTC)
    catalogue = catalogue_store.load()
    keys = {names[tool.tool]: tool.pk for tool in catalogue.tools.values()}
    relations.put_many(_curated(dataset.relations, keys, now), at=now)
    if refresh.refresh(now=now, wait_s=LOCK_WAIT_S).is_busy:
        raise GraphBusy
    return World(
        names={pk: name for name, pk in keys.items()},
        catalogue=catalogue,
        topology=relations.topology(now=now),
        metrics=metrics.load(),
        token_budget=token_budget,
    )


def _curated(stated: Iterable[Stated], keys: Mapping[str, int], now: datetime) -> list[Record]:
    """Return the relations of a file as an admin who vouches for it would import them."""
    terms = adopt.Terms(origin=ORIGIN, as_curated=True, team=None, now=now)
    found: dict[Key, Record] = {}
    for one in stated:
        key = record.ordered(keys[one.source], keys[one.target], one.kind)
        curated = adopt.adopt(one, source=key[0], target=key[1], terms=terms, stored=None)
        if isinstance(curated, Record):
            found[key] = curated
    return list(found.values())


def answered(hits: Sequence[Hit], world: World) -> Ranked:
    """Return the tools that search_tools shows for these hits, in its order."""
    terms = _terms(world)
    shown = arrange.arrange(
        hits, terms, count=arrange.counter(token_count.count), budget_tokens=world.token_budget
    )
    return [world.catalogue.tools[card.tool].pk for card in shown.cards]


def seconds(hits: Sequence[Hit], world: World) -> float:
    """Return how long it takes to add what the graph tells of these hits."""
    terms = _terms(world)
    started = time.perf_counter()
    arrange.enhanced(hits, terms)
    return time.perf_counter() - started


def _terms(world: World) -> Terms:
    return Terms(
        sight=Sight(catalogue=world.catalogue, caller=CALLER),
        topology=world.topology,
        metrics=world.metrics,
    )


def by_pagerank(hits: Sequence[Hit], world: World) -> Ranked:
    """Sort hits by PageRank alone: what is required everywhere comes first."""

    def rank(pk: int) -> float:
        metric = world.metrics.get(pk)
        return 0.0 if metric is None else metric.pagerank

    return sorted((hit.tool_pk for hit in hits), key=rank, reverse=True)


def by_two_hops(hits: Sequence[Hit], world: World) -> Ranked:
    """Add the three tools with the surest paths of at most two relations, beneath their hits."""
    found = [hit.tool_pk for hit in hits]
    near = expand(world.topology, found)[:MAX_RELATED]
    return _beneath(found, lambda pk: [one.tool for one in near if one.path[0] == pk])


def by_closure(hits: Sequence[Hit], world: World) -> Ranked:
    """Add beneath each hit all that it requires, in an order in which it can run."""
    return _beneath([hit.tool_pk for hit in hits], lambda pk: closure(world.topology, pk).ordered)


def _beneath(found: Sequence[int], follow: Callable[[int], Sequence[int]]) -> Ranked:
    return list(dict.fromkeys(pk for hit in found for pk in (hit, *follow(hit))))


BASELINES: Mapping[str, Callable[[Sequence[Hit], World], Ranked]] = {
    "pagerank_sorted": by_pagerank,
    "two_hop": by_two_hops,
    "closure": by_closure,
}
"""Other ways to use a graph, each on the hits of dense search."""
