"""The graph of a data set in an evaluation's tables, and rankings that use it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice

from benchmarks.evaluation.closure import collect_closure
from benchmarks.evaluation.dataset import Dataset
from gateway_project.find import arrange
from gateway_project.find.arrange import AnswerContext
from gateway_project.foundation.caller import Caller
from graph import record, refresh
from graph.algorithms.expand import iterate_reached
from graph.enhance.related import MAX_RELATED
from graph.exchange import adopt
from graph.exchange.document import StatedRelation
from graph.record import GraphMetric, RelationRecord
from graph.relations import RelationKey
from graph.store import metrics, relations
from graph.topology import Topology
from tools import token_count
from tools.catalogue import Catalogue
from tools.search import SearchHit
from tools.store import catalogue as catalogue_store
from tools.visibility import Visibility

EVALUATION_CALLER = Caller(
    user="evaluate", team=None, person=None, scopes=frozenset(), kind="stdio"
)
LOCK_TIMEOUT_S = 600.0
RELATION_ORIGIN = "evaluate"

RankedTools = list[int]


class GraphBusy(Exception):
    """Another process holds the refresh of this database's graph."""

    def __init__(self) -> None:
        super().__init__(
            "another process has refreshed the graph of this database for ten minutes; "
            "evaluate again when it is done"
        )


@dataclass(frozen=True, kw_only=True)
class EvaluationWorld:
    """The data that search_tools would answer from.

    Attributes:
        dataset_ids: The data set's id of each tool, by primary key.
        catalogue: The stored tools.
        topology: Relations of the data set, and relations derived from schemas.
        metrics: Graph metrics of tools with relations, by primary key.
        token_budget: Upper limit of an answer's tokens.
    """

    dataset_ids: Mapping[int, str]
    catalogue: Catalogue
    topology: Topology
    metrics: Mapping[int, GraphMetric]
    token_budget: int

    def to_dataset_ids(self, ranked: Sequence[int]) -> list[str]:
        """Convert primary keys to the data set's ids."""
        return [self.dataset_ids[pk] for pk in ranked]


def prepare_graph(
    dataset: Dataset, names: Mapping[str, str], *, token_budget: int
) -> EvaluationWorld:
    """Store the relations of a data set as curated ones, derive the others, and load all.

    Args:
        dataset: Data set whose tools are stored.
        names: The data set's id of each stored tool, by canonical id.
        token_budget: Upper limit of an answer's tokens.

    Raises:
        GraphBusy: If another process holds the graph.
    """
    now = datetime.now(UTC)
    catalogue = catalogue_store.load_catalogue()
    keys = {names[tool.tool]: tool.pk for tool in catalogue.tools.values()}
    relations.put_many(_make_curated_records(dataset.relations, keys, now), at=now)
    if refresh.refresh_graph(now=now, wait_s=LOCK_TIMEOUT_S).is_busy:
        raise GraphBusy
    return EvaluationWorld(
        dataset_ids={pk: name for name, pk in keys.items()},
        catalogue=catalogue,
        topology=relations.load_topology(now=now),
        metrics=metrics.load_metrics(),
        token_budget=token_budget,
    )


def _make_curated_records(
    stated: Iterable[StatedRelation], keys: Mapping[str, int], now: datetime
) -> list[RelationRecord]:
    """Return the relations of a file, as if imported by an admin as curated."""
    policy = adopt.ImportPolicy(origin=RELATION_ORIGIN, trust_as_curated=True, team=None, now=now)
    records: dict[RelationKey, RelationRecord] = {}
    for relation in stated:
        key = record.storage_key(keys[relation.source], keys[relation.target], relation.kind)
        curated = adopt.adopt_relation(
            relation, source=key[0], target=key[1], policy=policy, stored=None
        )
        if isinstance(curated, RelationRecord):
            records[key] = curated
    return list(records.values())


def answer_tools(hits: Sequence[SearchHit], world: EvaluationWorld) -> RankedTools:
    """Return the tools that search_tools shows for these hits, in its order."""
    context = _make_answer_context(world)
    shown = arrange.arrange_answer(
        hits,
        context,
        count=arrange.make_token_counter(token_count.count_tokens),
        budget_tokens=world.token_budget,
    )
    return [world.catalogue.tools[card.tool].pk for card in shown.cards]


def measure_seconds(hits: Sequence[SearchHit], world: EvaluationWorld) -> float:
    """Measure how long it takes to enhance these hits by the graph."""
    context = _make_answer_context(world)
    started = time.perf_counter()
    arrange.enhance_hits(hits, context)
    return time.perf_counter() - started


def _make_answer_context(world: EvaluationWorld) -> AnswerContext:
    return AnswerContext(
        visibility=Visibility(catalogue=world.catalogue, caller=EVALUATION_CALLER),
        topology=world.topology,
        metrics=world.metrics,
    )


def rank_by_pagerank(hits: Sequence[SearchHit], world: EvaluationWorld) -> RankedTools:
    """Sort hits by PageRank alone: widely required tools come first."""

    def rank(pk: int) -> float:
        metric = world.metrics.get(pk)
        return 0.0 if metric is None else metric.pagerank

    return sorted((hit.tool_pk for hit in hits), key=rank, reverse=True)


def rank_by_two_hops(hits: Sequence[SearchHit], world: EvaluationWorld) -> RankedTools:
    """Insert the tools with the most confident paths of up to two relations after their hits."""
    found = [hit.tool_pk for hit in hits]
    related = list(islice(iterate_reached(world.topology, found), MAX_RELATED))
    return _insert_after_hits(
        found, lambda pk: [tool.tool for tool in related if tool.path[0] == pk]
    )


def rank_by_closure(hits: Sequence[SearchHit], world: EvaluationWorld) -> RankedTools:
    """Insert all tools that a hit requires after it, in an executable order."""
    return _insert_after_hits(
        [hit.tool_pk for hit in hits], lambda pk: collect_closure(world.topology, pk).ordered_tools
    )


def _insert_after_hits(
    found: Sequence[int], follow: Callable[[int], Sequence[int]]
) -> RankedTools:
    return list(dict.fromkeys(pk for hit in found for pk in (hit, *follow(hit))))


BASELINES: Mapping[str, Callable[[Sequence[SearchHit], EvaluationWorld], RankedTools]] = {
    "pagerank_sorted": rank_by_pagerank,
    "two_hop": rank_by_two_hops,
    "closure": rank_by_closure,
}
"""Baselines that use the graph otherwise, each on the hits of dense search."""
