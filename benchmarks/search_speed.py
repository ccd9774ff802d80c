"""Latency and recall of search by catalogue size and filter, without embedding."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from django.conf import settings
from django.db import connection, connections

from benchmarks.search_catalogue import (
    FEW_SERVER,
    HUNDREDTH,
    TENTH,
    WordEmbedder,
    grow,
    questions,
)
from benchmarks.tables import markdown, percentile
from tools import query_text
from tools.embed.cache import CachedEmbedder
from tools.embed.embedder import Embedder
from tools.embed.load import make_embedder
from tools.search import SearchAnswer, SearchRequest, search
from tools.search_index import SearchIndex
from tools.store import search_index
from tools.store.search import SearchScope

SIZES = (500, 5_000, 10_000, 50_000, 100_000)
FILTERS = {
    "none": SearchScope(),
    "10 %": SearchScope(category=TENTH),
    "1 %": SearchScope(category=HUNDREDTH),
    "one server": SearchScope(server=FEW_SERVER),
}
QUERIES = 200
FEWER = 30
"""Number of queries for the database and for recall."""
WARM_UP = 10
CLIENTS = 4
MAX_BYTES = 1_000_000_000
DEPTH = 10
TIE = 1e-5
"""Cosines this close count as equal: the database gets queries with six digits."""

Ask = Callable[[SearchRequest], SearchAnswer]

_EXACT = """
SELECT e.tool_id, -(e.vector <#> %(vector)s::vector)
FROM tools_toolembedding e
JOIN tools_tool t ON t.id = e.tool_id AND t.state = 'active' AND t.enabled
JOIN tools_server s ON s.id = t.server_id AND s.enabled
LEFT JOIN tools_category c ON c.id = t.category_id
WHERE (%(server)s::text IS NULL OR s.name = %(server)s)
  AND (%(category)s::text IS NULL OR c.name = %(category)s)
"""


def run() -> str:
    """Search at each size, in memory and in the database."""
    words = WordEmbedder()
    texts = questions(QUERIES)
    cached = CachedEmbedder(words, size=10 * QUERIES)
    latencies, loads, before = [], [], 0
    for size in SIZES:
        grow(before, size, words)
        before = size
        index, row = _load(size, words.model)
        loads.append(row)
        for name, scope in FILTERS.items():
            cells = list(_measure(texts, scope, cached, index))
            latencies.append((f"{size:,}" if name == "none" else "", name, *cells))
    numbered = [f"{text} {n}" for n, text in enumerate(texts)]
    embedding = _times(_model(), numbered)
    processor = _times(_model(), numbered, clock=time.process_time)
    return "\n\n".join(
        [
            markdown(_HEADINGS, latencies),
            markdown(["tools", "loaded s", "again, one changed, ms", "memory MB"], loads),
            f"Embedding a query with {settings.FOREGATE.embedding_model} comes on top: "
            f"{_cell(embedding)} ms, p50 / p95, of the processor {_cell(processor)}; a query "
            "asked before is not embedded again.",
        ]
    )


_HEADINGS = [
    "tools",
    "filter",
    "in memory, p50 / p95 ms",
    f"{CLIENTS} at once",
    "in the database",
    "recall@10, memory / database",
]


def _load(size: int, model: str) -> tuple[SearchIndex, tuple[str, ...]]:
    """Load the index from scratch, then refresh it after one tool has changed."""
    started = time.perf_counter()
    index = search_index.refresh_index(None, model=model, max_bytes=MAX_BYTES)
    loaded_s = time.perf_counter() - started
    assert index is not None
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE tools_tooltext SET content_hash = md5(content_hash)"
            " WHERE tool_id = (SELECT max(tool_id) FROM tools_tooltext)"
        )
    started = time.perf_counter()
    again = search_index.refresh_index(index, model=model, max_bytes=MAX_BYTES)
    again_ms = (time.perf_counter() - started) * 1e3
    assert again is not None
    return again, (
        f"{size:,}",
        f"{loaded_s:.2f}",
        f"{again_ms:.0f}",
        f"{again.nbytes / 1e6:.0f}",
    )


def _measure(
    texts: Sequence[str], scope: SearchScope, embedder: Embedder, index: SearchIndex
) -> Iterator[str]:
    def in_memory(request: SearchRequest) -> SearchAnswer:
        return search(request, embedder=embedder, index=index)

    def in_database(request: SearchRequest) -> SearchAnswer:
        return search(request, embedder=embedder)

    def ask(way: Ask) -> Callable[[str], object]:
        return lambda text: way(SearchRequest(query=text, scope=scope))

    yield _cell(_times(ask(in_memory), texts))
    yield _cell(_concurrently(ask(in_memory), texts))
    yield _cell(_times(ask(in_database), texts[:FEWER]))
    recalls = [_recall(way, texts[:FEWER], scope, embedder) for way in (in_memory, in_database)]
    yield " / ".join(f"{recall:.3f}" for recall in recalls)


def _recall(way: Ask, texts: Sequence[str], scope: SearchScope, embedder: Embedder) -> float:
    """Return the recall of the ten nearest tools against an exact scan by the database."""
    found = []
    for text in texts:
        request = SearchRequest(query=text, limit=DEPTH, mode="dense", scope=scope)
        exact = _exact(text, scope, embedder)
        least = sorted(exact.values(), reverse=True)[:DEPTH][-1]
        hits = [exact[hit.tool_pk] for hit in way(request).hits]
        found.append(sum(cosine >= least - TIE for cosine in hits) / min(DEPTH, len(exact)))
    return float(np.mean(found))


def _exact(text: str, scope: SearchScope, embedder: Embedder) -> dict[int, float]:
    """Return the exact similarity of every tool in scope."""
    query = query_text.read_query(text)
    vectors = embedder.embed(query.embedded_texts, kind="query")
    columns = []
    for vector in vectors:
        values = {"vector": str(vector.tolist()), "server": scope.server}
        with connection.cursor() as cursor:
            cursor.execute(_EXACT, values | {"category": scope.category})
            columns.append(dict(cursor.fetchall()))
    whole, *parts = columns
    if not parts:
        return whole
    return {pk: (value + max(part[pk] for part in parts)) / 2 for pk, value in whole.items()}


def _model() -> Callable[[str], object]:
    embedder = make_embedder(settings.FOREGATE)
    return lambda text: embedder.embed([text], kind="query")


def _times(
    function: Callable[[str], object],
    texts: Iterable[str],
    *,
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    texts = list(texts)
    for text in texts[:WARM_UP]:
        function(text)
    return [_time(function, text, clock) for text in texts]


def _time(
    function: Callable[[str], object],
    text: str,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    started = clock()
    function(text)
    return (clock() - started) * 1e3


def _concurrently(function: Callable[[str], object], texts: Sequence[str]) -> list[float]:
    """Run queries from several threads, each with its own connection, as in a gateway."""
    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(function, texts[:WARM_UP]))
        times = list(pool.map(lambda text: _time(function, text), texts))
        list(pool.map(lambda _: connections.close_all(), range(CLIENTS)))
    return times


def _cell(times: list[float]) -> str:
    return f"{percentile(times, 0.5):.1f} / {percentile(times, 0.95):.1f}"
