"""The report of an evaluation, and its documented JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.evaluation import graph, judge_suggestions
from benchmarks.evaluation.judge_suggestions import JudgedSuggestions
from benchmarks.evaluation.metrics import BootstrapInterval

COMPARED_FIGURE = "ndcg@10"
RANKING_METHODS = {
    "graph": "retrieval",
    "fused": "without_graph",
    "text": "without_history",
    "dense": "dense",
    "lexical": "lexical",
    **{method: method for method in graph.BASELINES},
}
"""Ranking methods, with their names in a report."""
METHOD_TITLES = {
    "graph": "with the graph",
    "fused": "fused, no graph",
    "text": "text alone, no graph",
    "dense": "dense alone",
    "lexical": "lexical alone",
    "pagerank_sorted": "dense, sorted by PageRank",
    "two_hop": "dense, two-hop rule alone",
    "closure": "dense, closure alone",
}
RETRIEVAL_FIGURES = ("recall@1", "recall@5", "recall@10", "ndcg@10", "complete@10", "ap@10")

RetrievalFigures = Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class EvaluationReport:
    """The results of one evaluation.

    Attributes:
        n: Number of queries.
        tools: Number of tools.
        relations: Number of relations, derived ones included.
        retrieval: Means of the figures by ranking method; empty if no query has gold.
        history_minus_none: Paired difference of nDCG@10 between fused with and without the past
            runs, both without the graph.
        fused_minus_best: Paired difference of nDCG@10 between fused, without past runs, and the
            better other mode.
        best: The better other mode.
        graph_minus_none: Paired difference of nDCG@10 between fused with and without the graph.
        data_flow: Figures of derived `provides` relations; None if no query has references.
        latency_ms: Search including its embedding, p50 and p95.
        search_ms: The same without the embedding.
        enhancement_ms: Time the graph adds to a search, p50 and p95.
        suggested: The judged suggestions; None if ranking was impossible.
        suggestion_ms: Suggestion including its embedding, p50 and p95; None likewise.
        notes: How far to trust the figures of suggestions, and why some are null.
    """

    n: int
    tools: int
    relations: int
    retrieval: Mapping[str, RetrievalFigures]
    history_minus_none: BootstrapInterval | None
    fused_minus_best: BootstrapInterval | None
    best: str | None
    graph_minus_none: BootstrapInterval | None
    data_flow: Mapping[str, float | None] | None
    latency_ms: RetrievalFigures
    search_ms: RetrievalFigures
    enhancement_ms: RetrievalFigures
    suggested: JudgedSuggestions | None
    suggestion_ms: RetrievalFigures | None
    notes: tuple[str, ...]


def report_to_json(report: EvaluationReport) -> dict[str, Any]:
    """Convert a report to the documented format; null where there is nothing to judge."""
    null_figures = dict.fromkeys(RETRIEVAL_FIGURES)
    by_method = {
        name: dict(report.retrieval.get(method, null_figures))
        for method, name in RANKING_METHODS.items()
    }
    workflow, binding, calibration, slices = judge_suggestions.suggestions_to_json(
        report.suggested
    )
    return {
        "n": report.n,
        "retrieval": by_method.pop("retrieval"),
        "workflow": workflow,
        "binding": binding,
        "calibration": calibration,
        "latency_ms": dict(report.latency_ms),
        "slices": {
            **by_method,
            "graph_minus_none": _interval_to_json(
                report.graph_minus_none, against="without_graph"
            ),
            "history_minus_none": _interval_to_json(
                report.history_minus_none, against="without_history"
            ),
            "fused_minus_best": _interval_to_json(report.fused_minus_best, against=report.best),
            "data_flow": None if report.data_flow is None else dict(report.data_flow),
            "search_without_embedding_ms": dict(report.search_ms),
            "enhancement_ms": dict(report.enhancement_ms),
            **slices,
            "suggestion_ms": None if report.suggestion_ms is None else dict(report.suggestion_ms),
            "tools": report.tools,
            "relations": report.relations,
            "notes": list(report.notes),
        },
    }


def make_empty_report() -> dict[str, Any]:
    """Return the documented format where there was no query to judge: every figure is null."""
    workflow, binding, calibration, slices = judge_suggestions.suggestions_to_json(None)
    return {
        "n": 0,
        "retrieval": dict.fromkeys(RETRIEVAL_FIGURES),
        "workflow": workflow,
        "binding": binding,
        "calibration": calibration,
        "latency_ms": {"p50": None, "p95": None},
        "slices": slices,
    }


def _interval_to_json(
    difference: BootstrapInterval | None, *, against: str | None
) -> dict[str, Any] | None:
    if difference is None:
        return None
    return {
        "against": against,
        "figure": COMPARED_FIGURE,
        "mean": difference.mean,
        "ci95": [difference.low, difference.high],
    }
