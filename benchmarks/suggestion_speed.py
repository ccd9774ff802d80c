"""Latency of a suggestion by catalogue size, and the cost of fitting by number of past runs."""

from __future__ import annotations

import itertools
import multiprocessing
import resource
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from benchmarks import bulk_load
from benchmarks.bulk_load import DefinedTool
from benchmarks.definitions import definitions
from benchmarks.evaluation.graph import EVALUATION_CALLER
from benchmarks.search_catalogue import PER_SERVER, WordEmbedder
from benchmarks.search_speed import MAX_BYTES
from benchmarks.tables import markdown, percentile
from gateway_project.intent import suggest
from gateway_project.intent.answer import IntentRequest
from gateway_project.intent.suggest import SuggestionView
from graph import encode
from graph.rank_intent import rank_intent
from graph.ranker_cache import TeamModels
from graph.suggestion.binding.knowledge import EMPTY_KNOWLEDGE
from graph.suggestion.intent import reading as reader
from graph.suggestion.ranking.fit import fit_ranker
from graph.suggestion.ranking.past_intents import PastIntent
from graph.suggestion.ranking.ranker import Ranker
from graph.suggestion.ranking.tool_view import ToolView
from tools.embed.cache import CachedEmbedder
from tools.embed_catalogue import embed_missing
from tools.search_index import SearchIndex
from tools.store import catalogue, search_index
from tools.visibility import Visibility

SIZES = (260, 4_000, 50_000)
FITTED = (200, 2_000, 10_000)
RUNS = FITTED[-1]
USED = 260
"""Number of tools that past runs used, some of them far more often than others."""
CHUNK = 500
ASKED = 200
WARM_UP = 10
SEED = 0
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def run() -> str:
    """Fit at several sizes of history, and suggest at each size of the catalogue."""
    words = WordEmbedder()
    latencies, fits, before = [], [], 0
    for size in SIZES:
        _grow(before, size, words)
        before = size
        index = search_index.refresh_index(None, model=words.model, max_bytes=MAX_BYTES)
        assert index is not None
        texts, past = _history(words)
        for runs in FITTED if size == SIZES[0] else (RUNS,):
            content, row = _fit_in_subprocess(past[:runs], index)
            fits.append((f"{runs:,}", f"{size:,}", *row))
        taken = _times(texts[RUNS:], index, words, Ranker.from_bytes(content))
        cells = [f"{percentile(taken, share):.1f}" for share in (0.5, 0.95)]
        latencies.append((f"{size:,}", *cells))
    return "\n\n".join(
        [
            markdown(["tools", "p50 ms", "p95 ms"], latencies),
            markdown(["past runs", "tools", "fit s", "peak memory MB", "stored MB"], fits),
        ]
    )


def _grow(before: int, count: int, words: WordEmbedder) -> None:
    """Grow a catalogue from `before` to `count` tools."""
    added = list(itertools.islice(definitions(count), before, count))
    tools = [
        DefinedTool(server=f"bench{count}-{number // PER_SERVER}", definition=one, category="")
        for number, one in enumerate(added)
    ]
    bulk_load.load_tools(tools, at=datetime.now(UTC))
    embed_missing(words)


def _history(words: WordEmbedder) -> tuple[list[str], list[PastIntent]]:
    """Draw intents that ask for two to four tools in the words of their descriptions."""
    random = np.random.default_rng(SEED)
    stored = sorted(catalogue.load_catalogue().tools.values(), key=lambda tool: tool.pk)[:USED]
    weights = 1 / np.arange(1, len(stored) + 1)
    texts, chains = [], []
    for number in range(RUNS + ASKED):
        count = int(random.integers(2, 5))
        drawn = random.choice(len(stored), count, replace=False, p=weights / weights.sum())
        said = [" ".join(stored[at].description.split()[:12]).rstrip(".") for at in drawn]
        texts.append(f"{', then '.join(said)} for {_name(number)}.")
        chains.append(tuple(stored[at].pk for at in drawn))
    past = []
    for start in range(0, RUNS, CHUNK):
        readings = [reader.read_intent(text) for text in texts[start : start + CHUNK]]
        for at, encoded in enumerate(encode.encode_intents(readings, embedder=words), start=start):
            past.append(
                PastIntent(
                    pattern=at + 1,
                    tools=chains[at],
                    encoded=encoded,
                    successes=1,
                    failures=0,
                    last_seen=BEGIN + timedelta(minutes=at),
                )
            )
    return texts, past


def _name(number: int) -> str:
    """Return a word unique to a number, so that intents differ by more than their tools."""
    letters = "bcdfghjklmnprstvwz"
    return "".join(letters[number // 18**at % 18] + "ae"[at % 2] for at in range(4)).title()


def _fit_in_subprocess(
    past: Sequence[PastIntent], index: SearchIndex
) -> tuple[bytes, tuple[str, ...]]:
    """Fit in a separate process, as a gateway does; return the model and its cost."""
    context = multiprocessing.get_context("fork")
    theirs, ours = context.Pipe()
    child = context.Process(target=_fit, args=(past, index, ours))
    child.start()
    content, seconds, peak_mb = theirs.recv()
    child.join()
    return content, (f"{seconds:.1f}", f"{peak_mb:,.0f}", f"{len(content) / 1e6:.1f}")


def _fit(past: Sequence[PastIntent], index: SearchIndex, answer: Connection[Any, Any]) -> None:
    started = time.perf_counter()
    content = fit_ranker(past, ToolView.for_team(index, team=None)).to_bytes()
    seconds = time.perf_counter() - started
    answer.send((content, seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3))


def _times(
    texts: Sequence[str], index: SearchIndex, words: WordEmbedder, ranker: Ranker
) -> list[float]:
    """Suggest for intents whose vectors are cached."""
    cached = CachedEmbedder(words, size=40 * len(texts))
    models = TeamModels(ranker=ranker, knowledge=EMPTY_KNOWLEDGE)
    view = SuggestionView(
        visibility=Visibility(catalogue=catalogue.load_catalogue(), caller=EVALUATION_CALLER),
        rank=partial(rank_intent, index=index, embedder=cached, models=models),
    )

    def ask(text: str) -> None:
        suggest.suggest_for_request(view, IntentRequest(intent=text))

    for text in texts:
        cached.embed(list(reader.read_intent(text).distinct_texts), kind="query")
    for text in texts[:WARM_UP]:
        ask(text)
    return [_time(ask, text) for text in texts]


def _time(function: Callable[[str], object], text: str) -> float:
    started = time.perf_counter()
    function(text)
    return (time.perf_counter() - started) * 1e3
