"""Turn intents into numbers: one batch through the model, one question to the database."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

from graph.intent.words import words
from tools.embed.embedder import EmbeddingUnavailable
from tools.store import indexed

if TYPE_CHECKING:
    from graph.intent.encoded import Encoded
    from graph.intent.reading import Reading
    from tools.embed.embedder import Embedder


def encode(readings: Sequence[Reading], *, embedder: Embedder) -> list[Encoded]:
    """Encode intents, in their order.

    Raises:
        EmbeddingUnavailable: If the model cannot be loaded or run, or answers what is no number.
    """
    import numpy as np  # noqa: PLC0415 - heavy

    from graph.intent.encoded import Encoded  # noqa: PLC0415 - heavy

    texts = list(dict.fromkeys(text for reading in readings for text in reading.texts))
    if not texts:
        return []
    rows = embedder.embed(texts, kind="query").astype(np.float32, copy=False)
    if not np.isfinite(rows).all():
        raise EmbeddingUnavailable(
            f"the model {embedder.model} gave no usable vectors: some of their values are no "
            "finite numbers; choose another with FOREGATE_EMBEDDING_MODEL"
        )
    place = {text: row for row, text in enumerate(texts)}
    whole = [words(reading.text) for reading in readings]
    parts = [[words(clause.text) for clause in reading.clauses] for reading in readings]
    keys = indexed.lexeme_keys({word for found in (*whole, *chain(*parts)) for word in found})

    def at(*texts: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        return rows[[place[text] for text in texts]]

    def lexemes(found: Sequence[str]) -> tuple[int, ...]:
        return tuple(key for word in found for key in keys.get(word, ()))

    return [
        Encoded(
            whole=at(reading.text)[0],
            masked=at(reading.masked_view)[0],
            sentences=at(*reading.sentences),
            clauses=at(*(clause.text for clause in reading.clauses)),
            masked_clauses=at(*(clause.masked_view for clause in reading.clauses)),
            words=lexemes(all_words),
            clause_words=tuple(lexemes(found) for found in of_clauses),
            length=len(reading.text),
        )
        for reading, all_words, of_clauses in zip(readings, whole, parts, strict=True)
    ]
