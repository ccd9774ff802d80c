"""Run the real search and suggestion over a data set, on tables of its own, and judge them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

import numpy as np

from gateway_project.evaluation import data_flow, graph, metrics, suggested
from gateway_project.evaluation.dataset import Dataset, DatasetQuery, DatasetTool
from gateway_project.evaluation.graph import World
from gateway_project.evaluation.ground import Ground, own_sealer, read
from gateway_project.evaluation.learn import learn
from gateway_project.evaluation.metrics import Interval
from gateway_project.evaluation.notes import notes
from gateway_project.evaluation.scratch import scratch_schema
from gateway_project.evaluation.suggested import Suggested
from gateway_project.evaluation.suggesting import answer
from tools import definition, ids, query_text, search
from tools.definition import Definition
from tools.embed.cache import CachedEmbedder
from tools.embed.embedder import Embedder
from tools.embed_catalogue import embed_missing
from tools.search import Mode, SearchAnswer, SearchRequest
from tools.search_index import SearchIndex
from tools.store import bulk_load, search_index
from tools.store.bulk_load import DefinedTool

DEPTH = 10
TOKEN_BUDGET = 10_000
"""As a gateway has it unless it is configured."""
LATENCY_SAMPLE = 200
WARM_CHUNK = 256
MODES: tuple[Mode, ...] = ("fused", "dense", "lexical")
COMPARED = "ndcg@10"
WAYS = {
    "graph": "retrieval",
    "fused": "without_graph",
    "dense": "dense",
    "lexical": "lexical",
    **{way: way for way in graph.BASELINES},
}
"""Ways of ranking, with what a report calls them."""
TITLES = {
    "graph": "with the graph",
    "fused": "fused, no graph",
    "dense": "dense alone",
    "lexical": "lexical alone",
    "pagerank_sorted": "dense, sorted by PageRank",
    "two_hop": "dense, two-hop rule alone",
    "closure": "dense, closure alone",
}
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
        relations: Between them, those that are derived included.
        retrieval: Means of the figures by way of ranking; empty where no query has gold.
        fused_minus_best: nDCG@10 of fused minus that of the better of the others, paired.
        best: Which of the others was the better.
        graph_minus_none: nDCG@10 of fused with the graph minus without, paired.
        data_flow: Of the derived relations `provides`; None where no query has references.
        latency_ms: One search with its embedding, p50 and p95.
        search_ms: The same without the embedding.
        enhancement_ms: What the graph adds to one search, p50 and p95.
        suggested: What was suggested; None where nothing can be ranked.
        suggestion_ms: One suggestion with its embedding, p50 and p95; None likewise.
        notes: How far to trust the figures of suggestions, and why some are null.
    """

    n: int
    tools: int
    relations: int
    retrieval: Mapping[str, Figures]
    fused_minus_best: Interval | None
    best: str | None
    graph_minus_none: Interval | None
    data_flow: Mapping[str, float | None] | None
    latency_ms: Figures
    search_ms: Figures
    enhancement_ms: Figures
    suggested: Suggested | None
    suggestion_ms: Figures | None
    notes: tuple[str, ...]


def evaluate(
    dataset: Dataset,
    *,
    embedder: Embedder,
    kept: Embedder,
    token_budget: int = TOKEN_BUDGET,
    on_progress: Progress = lambda _stage, _done, _all: None,
) -> Report:
    """Evaluate search and suggestion.

    Args:
        dataset: Tools, queries, past runs and relations.
        embedder: Embeds the queries whose latency is taken.
        kept: Embeds everything else; may remember.
        token_budget: Tokens that an answer may cost.
        on_progress: Told the stage, and how much of it is done.

    Raises:
        GraphBusy: If another process holds the graph of this database.
    """
    with scratch_schema():
        names = store_tools(dataset.tools)
        embed_missing(kept, lambda done, total: on_progress("embedding tools", done, total))
        size = sum(1 + len(query_text.read(q.text).sentences) for q in dataset.queries)
        cached = CachedEmbedder(kept, size=size)
        _warm(dataset.queries, cached, on_progress)
        index = search_index.refresh(None, model=kept.model, max_bytes=MAX_INDEX_BYTES)
        ask = partial(search.search, embedder=cached, index=index)
        world = graph.prepare(dataset, names, token_budget=token_budget)
        scores = _judge_all(dataset, world, ask, on_progress)
        sample = _sample(dataset.queries)
        whole = _latency(sample, partial(search.search, embedder=embedder, index=index))
        without = _latency(sample, ask)
        added = [1_000 * graph.seconds(_ask(ask, query).hits, world) for query in sample]
        ground = None if index is None else _ground(world, index, kept)
        found = None if ground is None else suggested.evaluate(dataset, ground, on_progress)
        taken = None if ground is None else _suggestion_ms(ground, sample, embedder)
    best, difference = _compare(scores)
    return Report(
        n=len(dataset.queries),
        tools=len(dataset.tools),
        relations=len(world.topology),
        retrieval={way: _means(rows) for way, rows in scores.items() if rows},
        fused_minus_best=difference,
        best=best,
        graph_minus_none=_difference(scores["graph"], scores["fused"]),
        data_flow=data_flow.data_flow_figures(dataset.tools, dataset.queries),
        latency_ms=whole,
        search_ms=without,
        enhancement_ms=metrics.percentiles(added),
        suggested=found,
        suggestion_ms=taken,
        notes=notes(dataset, found),
    )


def _ground(world: World, index: SearchIndex, embedder: Embedder) -> Ground:
    return Ground(world=world, index=index, embedder=embedder, sealer=own_sealer())


def _suggestion_ms(ground: Ground, queries: Sequence[DatasetQuery], embedder: Embedder) -> Figures:
    """Take how long it is from an intent's text to a suggestion."""
    learned = learn(ground)
    taken = []
    for query in queries:
        started = time.perf_counter()
        (intent,) = read([query.text], embedder=embedder)
        answer(ground, learned, intent)
        taken.append((time.perf_counter() - started) * 1_000)
    return metrics.percentiles(taken)


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
    dataset: Dataset, world: World, ask: Ask, on_progress: Progress
) -> dict[str, list[Figures]]:
    """Search for every query that has gold; return the figures of each way, in order."""
    judged: dict[str, list[Figures]] = {way: [] for way in WAYS}
    for done, query in enumerate(dataset.queries, start=1):
        if query.slots:
            for way, ranked in _rankings(query, world, ask).items():
                judged[way].append(judge(world.ids(ranked), query))
        on_progress("searching", done, len(dataset.queries))
    return judged


def _rankings(query: DatasetQuery, world: World, ask: Ask) -> dict[str, Sequence[int]]:
    """Return the tools found for a query, best first, by each way of ranking."""
    hits = {mode: _ask(ask, query, mode=mode).hits for mode in MODES}
    ranked: dict[str, Sequence[int]] = {"graph": graph.answered(hits["fused"], world)}
    ranked |= {mode: [hit.tool_pk for hit in found] for mode, found in hits.items()}
    return ranked | {way: rank(hits["dense"], world) for way, rank in graph.BASELINES.items()}


def _ask(ask: Ask, query: DatasetQuery, *, mode: Mode = "fused") -> SearchAnswer:
    return ask(SearchRequest(query=query.text, limit=DEPTH, mode=mode))


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


def _compare(
    scores: Mapping[str, Sequence[Figures]],
) -> tuple[str | None, Interval | None]:
    """Compare fused search with dense or lexical alone, whichever is better."""
    if not scores["fused"]:
        return None, None
    best = max(("dense", "lexical"), key=lambda mode: _means(scores[mode])[COMPARED])
    return best, _difference(scores["fused"], scores[best])


def _difference(ours: Sequence[Figures], theirs: Sequence[Figures]) -> Interval | None:
    pairs = [our[COMPARED] - their[COMPARED] for our, their in zip(ours, theirs, strict=True)]
    return metrics.paired_bootstrap(pairs) if pairs else None


def _sample(queries: Sequence[DatasetQuery]) -> list[DatasetQuery]:
    step = max(1, len(queries) // LATENCY_SAMPLE)
    return list(queries[::step][:LATENCY_SAMPLE])


def _latency(queries: Sequence[DatasetQuery], ask: Ask) -> Figures:
    return metrics.percentiles(list(_durations_ms(queries, ask)))


def _durations_ms(queries: Sequence[DatasetQuery], ask: Ask) -> Iterator[float]:
    ask(SearchRequest(query=queries[0].text))  # loads the model
    for query in queries:
        started = time.perf_counter()
        ask(SearchRequest(query=query.text))
        yield (time.perf_counter() - started) * 1_000


def to_json(report: Report) -> dict[str, Any]:
    """Write a report in the documented shape; null where there is nothing to judge."""
    nothing = dict.fromkeys(FIGURES)
    by_way = {name: dict(report.retrieval.get(way, nothing)) for way, name in WAYS.items()}
    workflow, binding, calibration, slices = suggested.as_json(report.suggested)
    return {
        "n": report.n,
        "retrieval": by_way.pop("retrieval"),
        "workflow": workflow,
        "binding": binding,
        "calibration": calibration,
        "latency_ms": dict(report.latency_ms),
        "slices": {
            **by_way,
            "graph_minus_none": _interval(report.graph_minus_none, against="without_graph"),
            "fused_minus_best": _interval(report.fused_minus_best, against=report.best),
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


def _interval(difference: Interval | None, *, against: str | None) -> dict[str, Any] | None:
    if difference is None:
        return None
    return {
        "against": against,
        "figure": COMPARED,
        "mean": difference.mean,
        "ci95": [difference.low, difference.high],
    }
