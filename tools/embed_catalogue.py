"""Updates search for the current catalogue: indexes words and embeds new texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tools import embedding_text
from tools.embed.embedder import Embedder
from tools.store import embeddings, postings

CHUNK = 16
"""Tools per commit and progress report: the most that an interruption loses. Larger chunks are not
faster (500 tools: 15 s of processor time with 16 as with 128)."""

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
        texts = [embedding_text.compose_text(item.definition) for item in chunk]
        embeddings.write_vectors(embedder.model, chunk, embedder.embed(texts, kind="document"))
        on_progress(start + len(chunk), len(missing))
    dropped = embeddings.drop_stale(embedder.model)
    if present or missing:
        embeddings.create_index(embedder.model, embedder.dimensions)
    return EmbeddedTools(
        model=embedder.model, indexed=indexed, embedded=len(missing), dropped=dropped
    )
