"""Evaluate the real search and suggestion on a data set, in tables of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial

import numpy as np

from benchmarks import bulk_load
from benchmarks.bulk_load import DefinedTool
from benchmarks.evaluation import data_flow, graph, judge_suggestions, metrics
from benchmarks.evaluation.dataset import Dataset, DatasetQuery, DatasetTool
from benchmarks.evaluation.graph import EvaluationWorld
from benchmarks.evaluation.inputs import (
    SuggestionInputs,
    encode_queries,
    make_ephemeral_sealer,
)
from benchmarks.evaluation.learn_history import LearnedHistory, learn_from_dataset
from benchmarks.evaluation.metrics import BootstrapInterval
from benchmarks.evaluation.notes import write_notes
from benchmarks.evaluation.report import (
    COMPARED_FIGURE,
    RANKING_METHODS,
    RETRIEVAL_FIGURES,
    EvaluationReport,
    RetrievalFigures,
)
from benchmarks.evaluation.scratch import open_scratch_schema
from benchmarks.evaluation.suggest_answers import suggest_answer
from graph.suggestion.intent import reading
from graph.weigh_past_use import weigh_past_use
from tools import definition, ids, query_text, search
from tools.definition import Definition
from tools.embed.cache import CachedEmbedder
from tools.embed.embedder import Embedder
from tools.embed_catalogue import embed_missing
from tools.search import SearchAnswer, SearchHit, SearchMode, SearchRequest
from tools.search_index import SearchIndex
from tools.store import search_index

SEARCH_DEPTH = 10
DEFAULT_TOKEN_BUDGET = 10_000
"""The default of a gateway."""
LATENCY_SAMPLE_SIZE = 200
WARM_UP_BATCH_SIZE = 256
SEARCH_MODES: tuple[SearchMode, ...] = ("fused", "dense", "lexical")
MAX_INDEX_BYTES = 2_000_000_000
"""Limit of the in-memory index in which a data set is searched."""

EvaluationProgress = Callable[[str, int, int], None]
RunSearch = Callable[[SearchRequest], SearchAnswer]


def evaluate_dataset(
    dataset: Dataset,
    *,
    embedder: Embedder,
    caching_embedder: Embedder,
    token_budget: int = DEFAULT_TOKEN_BUDGET,
    on_progress: EvaluationProgress = lambda _stage, _done, _all: None,
) -> EvaluationReport:
    """Evaluate search and suggestion.

    Args:
        dataset: Tools, queries, past runs and relations.
        embedder: Embeds the queries whose latency is measured.
        caching_embedder: Embeds everything else; may cache.
        token_budget: Upper limit of an answer's tokens.
        on_progress: Receives the stage, items done and total.

    Raises:
        GraphBusy: If another process holds the graph of this database.
    """
    with open_scratch_schema():
        names = store_tools(dataset.tools)
        embed_missing(
            caching_embedder, lambda done, total: on_progress("embedding tools", done, total)
        )
        cached = CachedEmbedder(caching_embedder, size=_count_query_texts(dataset.queries))
        _warm_up_embeddings(dataset.queries, cached, on_progress)
        index = search_index.refresh_index(
            None, model=caching_embedder.model, max_bytes=MAX_INDEX_BYTES
        )
        world = graph.prepare_graph(dataset, names, token_budget=token_budget)
        inputs = None if index is None else _make_suggestion_inputs(world, index, caching_embedder)
        learned = (
            None
            if inputs is None
            else learn_from_dataset(dataset, inputs, on_progress=on_progress)
        )

        def make_search(embedder: Embedder) -> RunSearch:
            models = None if learned is None else learned.models
            weigh = partial(weigh_past_use, index=index, embedder=embedder, models=models)
            return partial(search.search, embedder=embedder, index=index, weigh=weigh)

        run_search = make_search(cached)
        scores = _judge_queries(
            dataset,
            world,
            run_search,
            partial(search.search, embedder=cached, index=index),
            on_progress,
        )
        sample = _sample_queries(dataset.queries)
        latency_ms = _measure_latency(sample, make_search(embedder))
        search_ms = _measure_latency(sample, run_search)
        enhancement_durations_ms = [
            1_000 * graph.measure_seconds(_search_query(run_search, query).hits, world)
            for query in sample
        ]
        suggested = suggestion_ms = None
        if inputs is not None and learned is not None:
            suggested = judge_suggestions.evaluate_suggestions(
                dataset, inputs, learned, on_progress
            )
            suggestion_ms = _measure_suggestions(inputs, learned, sample, embedder)
    best, difference = _compare_with_best(scores)
    return EvaluationReport(
        n=len(dataset.queries),
        tools=len(dataset.tools),
        relations=len(world.topology),
        retrieval={method: _mean_figures(rows) for method, rows in scores.items() if rows},
        history_minus_none=_bootstrap_difference(scores["fused"], scores["text"]),
        fused_minus_best=difference,
        best=best,
        graph_minus_none=_bootstrap_difference(scores["graph"], scores["fused"]),
        data_flow=data_flow.measure_data_flow(dataset.tools, dataset.queries),
        latency_ms=latency_ms,
        search_ms=search_ms,
        enhancement_ms=metrics.compute_percentiles(enhancement_durations_ms),
        suggested=suggested,
        suggestion_ms=suggestion_ms,
        notes=write_notes(dataset, suggested),
    )


def _make_suggestion_inputs(
    world: EvaluationWorld, index: SearchIndex, embedder: Embedder
) -> SuggestionInputs:
    return SuggestionInputs(
        world=world, index=index, embedder=embedder, sealer=make_ephemeral_sealer()
    )


def _measure_suggestions(
    inputs: SuggestionInputs,
    learned: LearnedHistory,
    queries: Sequence[DatasetQuery],
    embedder: Embedder,
) -> RetrievalFigures:
    """Measure the time from an intent's text to a suggestion."""
    durations_ms = []
    for query in queries:
        started = time.perf_counter()
        (intent,) = encode_queries([query.text], embedder=embedder)
        suggest_answer(inputs, learned, intent)
        durations_ms.append((time.perf_counter() - started) * 1_000)
    return metrics.compute_percentiles(durations_ms)


def store_tools(tools: Sequence[DatasetTool]) -> dict[str, str]:
    """Store the tools as active; return the data set's ids by canonical id."""
    bulk_load.load_tools(
        [
            DefinedTool(
                server=tool.server,
                definition=Definition(
                    name=definition.make_storable(tool.name),
                    title=definition.make_storable(tool.title),
                    description=definition.make_storable(tool.description),
                    input_schema=definition.make_storable(tool.input_schema),
                ),
                category=definition.make_storable(tool.category),
            )
            for tool in tools
        ],
        at=datetime.now(UTC),
    )
    return {
        ids.join_id(tool.server, definition.make_storable(tool.name)): tool.id for tool in tools
    }


def _list_query_texts(query: DatasetQuery) -> list[str]:
    """Return the texts that a search for a query embeds."""
    read = query_text.read_query(query.text)
    return [*read.embedded_texts, *reading.read_intent(query.text).distinct_texts]


def _count_query_texts(queries: Sequence[DatasetQuery]) -> int:
    return sum(len(_list_query_texts(query)) for query in queries)


def _warm_up_embeddings(
    queries: Sequence[DatasetQuery], embedder: Embedder, on_progress: EvaluationProgress
) -> None:
    """Embed the queries in batches; one at a time would take most of the evaluation."""
    for start in range(0, len(queries), WARM_UP_BATCH_SIZE):
        batch = queries[start : start + WARM_UP_BATCH_SIZE]
        embedder.embed(
            [text for query in batch for text in _list_query_texts(query)], kind="query"
        )
        on_progress("embedding queries", start + len(batch), len(queries))


def _judge_queries(
    dataset: Dataset,
    world: EvaluationWorld,
    run_search: RunSearch,
    search_text: RunSearch,
    on_progress: EvaluationProgress,
) -> dict[str, list[RetrievalFigures]]:
    """Search for every query with gold; return the figures of each method, in order.

    Args:
        dataset: The queries.
        world: The stored tools.
        run_search: Searches as a gateway does.
        search_text: The same without what past runs teach.
        on_progress: Receives the stage, queries done and total.
    """
    judged: dict[str, list[RetrievalFigures]] = {method: [] for method in RANKING_METHODS}
    for done, query in enumerate(dataset.queries, start=1):
        if query.slots:
            ranked_by_method = _rank_by_all_methods(query, world, run_search, search_text)
            for method, ranked in ranked_by_method.items():
                judged[method].append(judge_ranking(world.to_dataset_ids(ranked), query))
        on_progress("searching", done, len(dataset.queries))
    return judged


def _rank_by_all_methods(
    query: DatasetQuery, world: EvaluationWorld, run_search: RunSearch, search_text: RunSearch
) -> dict[str, Sequence[int]]:
    """Return the tools found for a query, best first, by ranking method."""
    hits: dict[str, Sequence[SearchHit]] = {
        mode: _search_query(run_search, query, mode=mode).hits for mode in SEARCH_MODES
    }
    ranked: dict[str, Sequence[int]] = {"graph": graph.answer_tools(hits["fused"], world)}
    hits["text"] = _search_query(search_text, query).hits
    ranked |= {method: [hit.tool_pk for hit in found] for method, found in hits.items()}
    return ranked | {
        method: rank(hits["dense"], world) for method, rank in graph.BASELINES.items()
    }


def _search_query(
    run_search: RunSearch, query: DatasetQuery, *, mode: SearchMode = "fused"
) -> SearchAnswer:
    return run_search(SearchRequest(query=query.text, limit=SEARCH_DEPTH, mode=mode))


def judge_ranking(ranked: Sequence[str], query: DatasetQuery) -> RetrievalFigures:
    """Compute all figures of one ranking."""
    gains, needed = metrics.compute_gains(ranked, query.slots), len(query.slots)
    return {
        "recall@1": metrics.recall_at(gains, needed=needed, k=1),
        "recall@5": metrics.recall_at(gains, needed=needed, k=5),
        "recall@10": metrics.recall_at(gains, needed=needed, k=10),
        "ndcg@10": metrics.ndcg_at(gains, needed=needed, k=10),
        "complete@10": metrics.completeness_at(gains, needed=needed, k=10),
        "ap@10": metrics.average_precision_at(gains, needed=needed, k=10),
    }


def _mean_figures(rows: Sequence[RetrievalFigures]) -> RetrievalFigures:
    return {figure: float(np.mean([row[figure] for row in rows])) for figure in RETRIEVAL_FIGURES}


def _compare_with_best(
    scores: Mapping[str, Sequence[RetrievalFigures]],
) -> tuple[str | None, BootstrapInterval | None]:
    """Compare fused search by text with dense or lexical alone, whichever is better."""
    if not scores["text"]:
        return None, None
    best = max(("dense", "lexical"), key=lambda mode: _mean_figures(scores[mode])[COMPARED_FIGURE])
    return best, _bootstrap_difference(scores["text"], scores[best])


def _bootstrap_difference(
    ours: Sequence[RetrievalFigures], theirs: Sequence[RetrievalFigures]
) -> BootstrapInterval | None:
    pairs = [
        our[COMPARED_FIGURE] - their[COMPARED_FIGURE]
        for our, their in zip(ours, theirs, strict=True)
    ]
    return metrics.bootstrap_difference(pairs) if pairs else None


def _sample_queries(queries: Sequence[DatasetQuery]) -> list[DatasetQuery]:
    step = max(1, len(queries) // LATENCY_SAMPLE_SIZE)
    return list(queries[::step][:LATENCY_SAMPLE_SIZE])


def _measure_latency(queries: Sequence[DatasetQuery], run_search: RunSearch) -> RetrievalFigures:
    return metrics.compute_percentiles(list(_iterate_durations_ms(queries, run_search)))


def _iterate_durations_ms(
    queries: Sequence[DatasetQuery], run_search: RunSearch
) -> Iterator[float]:
    run_search(SearchRequest(query=queries[0].text))  # loads the model
    for query in queries:
        started = time.perf_counter()
        run_search(SearchRequest(query=query.text))
        yield (time.perf_counter() - started) * 1_000
