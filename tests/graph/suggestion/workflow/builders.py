"""Builders of tools, ranked sets and suggestion contexts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from graph.record import GraphMetric
from graph.relations import Relation, RelationKind
from graph.suggestion.binding.tasks import WorkflowTool
from graph.suggestion.intent.reading import IntentReading, read_intent
from graph.suggestion.ranking.rank import Neighbour, RankedSet, Ranking
from graph.suggestion.ranking.request_scores import RequestCandidate
from graph.suggestion.workflow.types import SuggestionContext
from graph.topology import Topology
from tests.stated import read_stated

NAMES = {1: "git:status", 2: "git:add", 3: "git:commit", 4: "mail:send", 5: "time:now"}


def tool(pk: int, **values: Any) -> WorkflowTool:
    """Build a usable tool that takes anything and may write."""
    tool_id = NAMES.get(pk, f"s:tool{pk}")
    defaults: dict[str, Any] = {
        "tool": tool_id,
        "name": tool_id.partition(":")[2],
        "description": "",
        "input_schema": {"type": "object", "properties": {}},
    }
    return WorkflowTool(pk=pk, **(defaults | values))


def make_candidate(pk: int, cosine: float, *, word_share: float = 0.5) -> RequestCandidate:
    """Build a tool as near to a request as to the whole intent, without its words' BM25."""
    return RequestCandidate(
        tool=pk,
        cosine=cosine,
        z_score=6 * cosine,
        whole_cosine=cosine,
        bm25=0.0,
        word_share=word_share,
    )


def ranked(*tools: int, confidence: float = 0.8) -> RankedSet:
    """Build a ranked set in run order."""
    return RankedSet(tools=tools, confidence=confidence, probability=confidence)


def ranking(
    best: RankedSet | None,
    *alternatives: RankedSet,
    neighbours: Iterable[Neighbour] = (),
    probabilities: Mapping[int, float] | None = None,
    shares: Mapping[int, Sequence[float]] | None = None,
    history: int = 0,
) -> Ranking:
    """Build what ranking an intent returned."""
    return Ranking(
        best=best,
        alternatives=alternatives,
        neighbours=tuple(neighbours),
        tool_probabilities=probabilities or {},
        clause_shares={
            pk: np.asarray(share, dtype=np.float32) for pk, share in (shares or {}).items()
        },
        past_intent_count=history,
        counted_runs=history,
    )


def neighbour(similarity: float, *tools: int, successes: int = 1, failures: int = 0) -> Neighbour:
    """Build a past intent near this one."""
    return Neighbour(
        pattern=1, similarity=similarity, tools=tools, successes=successes, failures=failures
    )


def make_context(
    *tools: WorkflowTool,
    relations: Iterable[Relation] = (),
    metrics: Mapping[int, GraphMetric] | None = None,
    unranked: str = "",
) -> SuggestionContext:
    """Build a context; other tools of `NAMES` are usable and take anything."""
    given = {one.pk: one for one in tools}
    every = {pk: given.get(pk, tool(pk)) for pk in (*NAMES, *given)}
    return SuggestionContext(
        find_tool=every.get,
        topology=Topology(relations),
        metrics=metrics or {},
        unranked_reason=unranked,
        read=read_stated,
    )


def make_reading(intent: str = "commit the changes") -> IntentReading:
    """Read an intent."""
    return read_intent(intent)


def needs(source: int, target: int, confidence: float = 1.0, **values: Any) -> Relation:
    """Build a dependency."""
    return Relation(source, target, RelationKind.DEPENDS_ON, confidence, **values)


def excludes(source: int, target: int) -> Relation:
    """Build an exclusion."""
    return Relation(source, target, RelationKind.MUTUALLY_EXCLUSIVE, 1.0)
