"""Run the real search over a data set, on tables of its own, and judge what it finds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

import numpy as np

from gateway_project.evaluation import metrics
from gateway_project.evaluation.dataset import Dataset, DatasetQuery, DatasetTool
from gateway_project.evaluation.metrics import Interval
from gateway_project.evaluation.scratch import scratch_schema
from tools import definition, ids, query_text, search
from tools.definition import Definition
from tools.embed.cache import CachedEmbedder
from tools.embed.embedder import Embedder
from tools.embed_catalogue import embed_missing
from tools.search import Mode, SearchAnswer, SearchRequest
from tools.store import bulk_load, search_index
from tools.store.bulk_load import DefinedTool

DEPTH = 10
LATENCY_SAMPLE = 200
WARM_CHUNK = 256
MODES: tuple[Mode, ...] = ("fused", "dense", "lexical")
FIGURES = ("recall@1", "recall@5", "recall@10", "ndcg@10", "complete@10", "ap@10")

MAX_INDEX_BYTES = 2_000_000_000
"""A data set is searched in memory, as a gateway searches its catalogue."""

Progress = Callable[[str, int, int], None]
Ask = Callable[[SearchRequest], SearchAnswer]
Figures = Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Report:
    """What one evaluation found.

    Attributes:
        n: Queries asked.
        tools: Tools they were asked of.
        retrieval: Means of the figures by mode; empty where no query has gold.
        fused_minus_best: nDCG@10 of fused minus that of the better of the others, paired.
        best: Which of the others was the better.
        latency_ms: One search with its embedding, p50 and p95.
        search_ms: The same without the embedding.
    """

    n: int
    tools: int
    retrieval: Mapping[str, Figures]
    fused_minus_best: Interval | None
    best: str | None
    latency_ms: Figures
    search_ms: Figures


def evaluate(
    dataset: Dataset,
    *,
    embedder: Embedder,
    kept: Embedder,
    on_progress: Progress = lambda _stage, _done, _all: None,
) -> Report:
    """Evaluate retrieval.

    Args:
        dataset: Tools and queries.
        embedder: Embeds the queries whose latency is taken.
        kept: Embeds everything else; may remember.
        on_progress: Told the stage, and how much of it is done.
    """
    with scratch_schema():
        names = store_tools(dataset.tools)
        embed_missing(kept, lambda done, total: on_progress("embedding tools", done, total))
        size = sum(1 + len(query_text.read(q.text).sentences) for q in dataset.queries)
        cached = CachedEmbedder(kept, size=size)
        _warm(dataset.queries, cached, on_progress)
        index = search_index.refresh(None, model=kept.model, max_bytes=MAX_INDEX_BYTES)
        ask = partial(search.search, embedder=cached, index=index)
        scores = {mode: _judge_all(dataset, names, mode, ask, on_progress) for mode in MODES}
        sample = _sample(dataset.queries)
        whole = _latency(sample, partial(search.search, embedder=embedder, index=index))
        without = _latency(sample, ask)
    best, difference = _compare(scores)
    return Report(
        n=len(dataset.queries),
        tools=len(dataset.tools),
        retrieval={mode: _means(rows) for mode, rows in scores.items() if rows},
        fused_minus_best=difference,
        best=best,
        latency_ms=whole,
        search_ms=without,
    )


def store_tools(tools: Sequence[DatasetTool]) -> dict[str, str]:
    """Store the tools as active ones of their servers; return the data set's id by ours."""
    bulk_load.load(
        [
            DefinedTool(
                server=tool.server,
                definition=Definition(
                    name=definition.storable(tool.name),
                    title=definition.storable(tool.title),
                    description=definition.storable(tool.description),
                    input_schema=definition.storable(tool.input_schema),
                ),
                category=definition.storable(tool.category),
            )
            for tool in tools
        ],
        at=datetime.now(UTC),
    )
    return {ids.join(tool.server, definition.storable(tool.name)): tool.id for tool in tools}


def _warm(queries: Sequence[DatasetQuery], embedder: Embedder, on_progress: Progress) -> None:
    """Embed the queries in batches: one at a time they would take most of the evaluation."""
    for start in range(0, len(queries), WARM_CHUNK):
        read = [query_text.read(query.text) for query in queries[start : start + WARM_CHUNK]]
        embedder.embed([text for q in read for text in (q.text, *q.sentences)], kind="query")
        on_progress("embedding queries", start + len(read), len(queries))


def _judge_all(
    dataset: Dataset,
    names: Mapping[str, str],
    mode: Mode,
    ask: Ask,
    on_progress: Progress,
) -> list[Figures]:
    """Search for every query that has gold; return its figures, in order."""
    judged = []
    for done, query in enumerate(dataset.queries, start=1):
        if query.slots:
            answer = ask(SearchRequest(query=query.text, limit=DEPTH, mode=mode))
            judged.append(judge([names[hit.tool] for hit in answer.hits], query))
        on_progress(f"searching ({mode})", done, len(dataset.queries))
    return judged


def judge(ranked: Sequence[str], query: DatasetQuery) -> Figures:
    """Take all figures of one ranking."""
    gained, needed = metrics.gains(ranked, query.slots), len(query.slots)
    return {
        "recall@1": metrics.recall(gained, needed=needed, k=1),
        "recall@5": metrics.recall(gained, needed=needed, k=5),
        "recall@10": metrics.recall(gained, needed=needed, k=10),
        "ndcg@10": metrics.ndcg(gained, needed=needed, k=10),
        "complete@10": metrics.complete(gained, needed=needed, k=10),
        "ap@10": metrics.average_precision(gained, needed=needed, k=10),
    }


def _means(rows: Sequence[Figures]) -> Figures:
    return {figure: float(np.mean([row[figure] for row in rows])) for figure in FIGURES}


def _compare(scores: Mapping[Mode, Sequence[Figures]]) -> tuple[str | None, Interval | None]:
    if not scores["fused"]:
        return None, None
    ndcg = {mode: [row["ndcg@10"] for row in rows] for mode, rows in scores.items()}
    others: tuple[Mode, ...] = ("dense", "lexical")
    best = max(others, key=lambda mode: float(np.mean(ndcg[mode])))
    pairs = zip(ndcg["fused"], ndcg[best], strict=True)
    return best, metrics.paired_bootstrap([fused - other for fused, other in pairs])


def _sample(queries: Sequence[DatasetQuery]) -> list[DatasetQuery]:
    step = max(1, len(queries) // LATENCY_SAMPLE)
    return list(queries[::step][:LATENCY_SAMPLE])


def _latency(queries: Sequence[DatasetQuery], ask: Ask) -> Figures:
    taken = list(_durations_ms(queries, ask))
    p50, p95 = np.percentile(taken, [50, 95])
    return {"p50": float(p50), "p95": float(p95)}


def _durations_ms(queries: Sequence[DatasetQuery], ask: Ask) -> Iterator[float]:
    ask(SearchRequest(query=queries[0].text))  # loads the model
    for query in queries:
        started = time.perf_counter()
        ask(SearchRequest(query=query.text))
        yield (time.perf_counter() - started) * 1_000


def to_json(report: Report) -> dict[str, Any]:
    """Write a report in the documented shape; what is not measured yet is null."""
    difference = report.fused_minus_best
    nothing = dict.fromkeys(FIGURES)
    return {
        "n": report.n,
        "retrieval": dict(report.retrieval.get("fused", nothing)),
        "workflow": dict.fromkeys(("node_f1", "edge_f1", "exact_set", "exact_dag")),
        "binding": dict.fromkeys(("precision", "recall", "unresolved_required")),
        "calibration": dict.fromkeys(("ece", "brier", "auroc", "coverage_at_95")),
        "latency_ms": dict(report.latency_ms),
        "slices": {
            "dense": dict(report.retrieval.get("dense", nothing)),
            "lexical": dict(report.retrieval.get("lexical", nothing)),
            "fused_minus_best": difference
            and {
                "against": report.best,
                "figure": "ndcg@10",
                "mean": difference.mean,
                "ci95": [difference.low, difference.high],
            },
            "search_without_embedding_ms": dict(report.search_ms),
            "tools": report.tools,
        },
    }
