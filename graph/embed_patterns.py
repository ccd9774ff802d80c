"""Embed the intents of patterns that have no vectors by a model yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gateway_project.foundation.sealing import SealBroken, Sealer
from graph.store import patterns
from graph.store.patterns import Unembedded
from tools.embed.embedder import Embedder
from tools.query_text import QueryError

if TYPE_CHECKING:
    from graph.intent.reading import Reading

CHUNK: Final = 64
"""Intents embedded between two commits: what an interruption can lose, some seconds' work."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class Embedded:
    """What was done.

    Attributes:
        embedded: Patterns that have vectors now.
        unreadable: Patterns that are left without: nothing was kept of their intent but values,
            or the key that it was sealed with is gone.
    """

    embedded: int = 0
    unreadable: int = 0


def embed_missing(
    embedder: Embedder,
    *,
    sealer: Sealer,
    limit: int | None = None,
    on_progress: Progress = lambda _done, _all: None,
) -> Embedded:
    """Embed what is kept of intents: their form without the values they stated.

    Safe to interrupt and to run again, and in several processes at once. Vectors by other models
    are left alone and go on serving.

    Args:
        embedder: The model.
        sealer: Opens the intents.
        limit: How many at most, the newest first; None: all.
        on_progress: Told how many patterns are done, and of how many.

    Raises:
        EmbeddingUnavailable: If the model cannot be loaded.
    """
    from graph import encode  # noqa: PLC0415 - heavy

    todo = patterns.unembedded(embedder.model)[:limit]
    embedded = unreadable = 0
    on_progress(0, len(todo))
    for start in range(0, len(todo), CHUNK):
        chunk = todo[start : start + CHUNK]
        readings = _readings(chunk, sealer)
        numbers = encode.encode(list(readings.values()), embedder=embedder)
        encoded = dict(zip(readings, numbers, strict=True))
        embedded += patterns.embed(embedder.model, encoded, sealer=sealer)
        unreadable += len(chunk) - len(readings)
        on_progress(start + len(chunk), len(todo))
    return Embedded(embedded=embedded, unreadable=unreadable)


def _readings(chunk: Sequence[Unembedded], sealer: Sealer) -> dict[int, Reading]:
    from graph.intent import reading  # noqa: PLC0415 - not before there is something to embed

    found: dict[int, Reading] = {}
    for pk, sealed in chunk:
        try:
            found[pk] = reading.read(sealer.open(sealed))
        except (QueryError, SealBroken):
            continue
    return found
