"""Latency of search at 500 and 5,000 tools, with and without embedding the query."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

from django.conf import settings

from benchmarks import catalogues
from benchmarks.definitions import definitions
from benchmarks.tables import markdown, percentile
from tools.embed.load import embedder_for
from tools.search import SearchRequest, search

SIZES = (500, 5_000)
QUERIES = 300
WARM_UP = 20


def run() -> str:
    """Search with fresh queries at each size."""
    embedder = embedder_for(settings.FOREGATE)
    rows = []
    for size in SIZES:
        catalogues.fill(size)
        every = [item.description for item in definitions(size)]
        queries = list(itertools.islice(itertools.cycle(every[:: max(1, size // 97)]), QUERIES))

        def embed(query: str) -> None:
            embedder.embed([query], kind="query")

        def whole(query: str) -> None:
            search(SearchRequest(query=query), embedder=embedder)

        fresh = [f"{query} {number}" for number, query in enumerate(queries)]
        embedding = _times(embed, [f"{query}?" for query in fresh])
        total = _times(whole, fresh)
        known = _times(whole, fresh)  # the same queries again: their embeddings are cached
        rows.append((f"{size:,}", _cell(embedding), _cell(total), _cell(known)))
    headings = ["tools", "embedding ms, p50 / p95", "new query", "known query (no embedding)"]
    return markdown(headings, rows)


def _times(function: Callable[[str], None], queries: list[str]) -> list[float]:
    for query in queries[:WARM_UP]:
        function(f"warm {query}")
    found = []
    for query in queries:
        started = time.perf_counter()
        function(query)
        found.append((time.perf_counter() - started) * 1e3)
    return found


def _cell(times: list[float]) -> str:
    return f"{percentile(times, 0.5):.1f} / {percentile(times, 0.95):.1f}"
