"""Embed the intents of patterns without vectors by a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gateway_project.foundation.sealing import Sealer, UnsealingFailed
from graph.store import patterns
from graph.store.patterns import UnembeddedPattern
from tools.embed.embedder import Embedder
from tools.query_text import QueryError

if TYPE_CHECKING:
    from graph.suggestion.intent.reading import IntentReading

CHUNK_SIZE: Final = 64
"""Intents embedded per transaction; an interruption loses at most some seconds' work."""

ProgressCallback = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class EmbeddedPatterns:
    """Counts of embedded patterns.

    Attributes:
        unreadable: Patterns left without: their intent consisted of values only, or its sealing
            key is gone.
    """

    embedded: int = 0
    unreadable: int = 0


def embed_missing_patterns(
    embedder: Embedder,
    *,
    sealer: Sealer,
    limit: int | None = None,
    on_progress: ProgressCallback = lambda _done, _all: None,
) -> EmbeddedPatterns:
    """Embed the stored, masked intents of patterns.

    Safe to interrupt, to repeat and to run in several processes at once. Vectors by other models
    stay in use.

    Raises:
        EmbeddingUnavailable: If the model cannot be loaded.
    """
    from graph import encode

    pending = patterns.load_unembedded(embedder.model)[:limit]
    embedded = unreadable = 0
    on_progress(0, len(pending))
    for start in range(0, len(pending), CHUNK_SIZE):
        chunk = pending[start : start + CHUNK_SIZE]
        readings = _read_intents(chunk, sealer)
        vectors = encode.encode_intents(list(readings.values()), embedder=embedder)
        encoded = dict(zip(readings, vectors, strict=True))
        embedded += patterns.store_embeddings(embedder.model, encoded, sealer=sealer)
        unreadable += len(chunk) - len(readings)
        on_progress(start + len(chunk), len(pending))
    return EmbeddedPatterns(embedded=embedded, unreadable=unreadable)


def _read_intents(chunk: Sequence[UnembeddedPattern], sealer: Sealer) -> dict[int, IntentReading]:
    from graph.suggestion.intent import reading

    found: dict[int, IntentReading] = {}
    for pk, sealed in chunk:
        try:
            found[pk] = reading.read_intent(sealer.unseal(sealed))
        except (QueryError, UnsealingFailed):
            continue
    return found
