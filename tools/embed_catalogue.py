"""Bring search up to date with the catalogue: index the words, embed what is new."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tools import embedding_text
from tools.embed.embedder import Embedder
from tools.store import embeddings, postings

CHUNK = 128
"""Tools embedded between two commits: what an interruption can lose, some two seconds' work."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class Embedded:
    """What was done.

    Attributes:
        model: The model.
        indexed: Tools whose words were indexed.
        embedded: Tools that were embedded.
        dropped: Vectors of texts that no tool has any more.
    """

    model: str
    indexed: int
    embedded: int
    dropped: int


def embed_missing(
    embedder: Embedder, on_progress: Progress = lambda _done, _all: None
) -> Embedded:
    """Index the words of every changed tool, and embed those without a vector by this model.

    Safe to interrupt and to run again, and in several processes at once: what is done is
    committed chunk by chunk, and an unchanged definition is never embedded twice. Vectors by
    other models are left alone and go on serving.

    Args:
        embedder: The model.
        on_progress: Told how many tools are embedded, and of how many, first and after each
            chunk.

    Raises:
        EmbeddingUnavailable: If the model cannot be loaded; the words are indexed all the same.
    """
    indexed = postings.index_text(postings.stale())
    todo = embeddings.missing(embedder.model)
    present = embeddings.coverage(embedder.model).embedded
    if embeddings.is_bulk(new=len(todo), present=present):
        embeddings.drop_index(embedder.model)
    on_progress(0, len(todo))
    for start in range(0, len(todo), CHUNK):
        chunk = todo[start : start + CHUNK]
        texts = [embedding_text.compose(item.definition) for item in chunk]
        embeddings.write(embedder.model, chunk, embedder.embed(texts, kind="document"))
        on_progress(start + len(chunk), len(todo))
    dropped = embeddings.drop_stale(embedder.model)
    if present or todo:
        embeddings.create_index(embedder.model, embedder.dimensions)
    return Embedded(model=embedder.model, indexed=indexed, embedded=len(todo), dropped=dropped)
