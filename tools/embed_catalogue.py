"""Updates search for the current catalogue: indexes words and embeds new texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from tools.embed.embedder import Embedder, Vectors
from tools.embedding_text import EmbeddedText, compose_text
from tools.store import embeddings, postings

CHUNK = 16
"""Tools per commit and progress report: the most that an interruption loses. Larger chunks are not
faster (500 tools: 15 s of processor time with 16 as with 128)."""

SUMMARY_WEIGHT: Final = 0.5
"""Weight of a tool's summary beside the whole in its vector: people say what a tool does, and its
parameters dilute that."""

OnProgress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class EmbeddedTools:
    """The outcome of `embed_missing`.

    Attributes:
        model: The model.
        indexed: Number of tools whose words were indexed.
        embedded: Number of tools that were embedded.
        dropped: Number of deleted vectors of outdated texts.
    """

    model: str
    indexed: int
    embedded: int
    dropped: int


def embed_missing(
    embedder: Embedder, on_progress: OnProgress = lambda _done, _all: None
) -> EmbeddedTools:
    """Index the words of changed tools, and embed tools without a vector by this model.

    Safe to interrupt, repeat and run in several processes at once: each chunk is committed, and
    an unchanged definition is never embedded twice. Vectors by other models stay and remain
    usable.

    Args:
        embedder: The model.
        on_progress: Called with the tools embedded and their total, at the start and after each
            chunk.

    Raises:
        EmbeddingUnavailable: If the model cannot be loaded; the words are indexed nevertheless.
    """
    indexed = postings.index_tools(postings.find_stale_tools())
    missing = embeddings.load_missing(embedder.model)
    present = embeddings.load_coverage(embedder.model).embedded
    if embeddings.is_bulk(new=len(missing), present=present):
        embeddings.drop_index(embedder.model)
    on_progress(0, len(missing))
    for start in range(0, len(missing), CHUNK):
        chunk = missing[start : start + CHUNK]
        texts = [compose_text(item.definition, server=item.server) for item in chunk]
        embeddings.write_vectors(embedder.model, chunk, embed_tools(texts, embedder))
        on_progress(start + len(chunk), len(missing))
    dropped = embeddings.drop_stale(embedder.model)
    if present or missing:
        embeddings.create_index(embedder.model, embedder.dimensions)
    return EmbeddedTools(
        model=embedder.model, indexed=indexed, embedded=len(missing), dropped=dropped
    )


def embed_tools(texts: Sequence[EmbeddedText], embedder: Embedder) -> Vectors:
    """Return the vectors of tools, shape (n, d), float32, of norm 1.

    A tool's cosine with a query is, but for a factor, the sum of those of its whole text and of
    its summary, by weight.

    Raises:
        EmbeddingUnavailable: If the model cannot be loaded.
    """
    import numpy as np

    parts = [*(text.whole for text in texts), *(text.summary for text in texts)]
    whole, summaries = np.split(embedder.embed(parts, kind="document"), 2)
    vectors = whole + np.float32(SUMMARY_WEIGHT) * summaries
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(norms, np.finfo(np.float32).tiny))
