"""Encode intents as vectors and word keys: one batch through the embedding model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from tools import embedding_text
from tools.embed.embedder import EmbeddingUnavailable
from tools.lexemes import hash_lexeme, split_lexemes

if TYPE_CHECKING:
    from graph.suggestion.intent.encoded import EncodedIntent
    from graph.suggestion.intent.reading import IntentReading
    from tools.embed.embedder import Embedder

MAX_CACHED_TEXTS: Final = 256
"""A clause of an intent is often one of its requests as well, and may have no value to mask."""
MAX_WORDS = 400
"""Words per text: twice the non-stop words in 4,000 characters of prose."""

_WORD = re.compile(r"\w+(?:[-'’.]\w+)*")  # noqa: RUF001 - an apostrophe as people type it
_LETTER = re.compile(r"[^\W\d_]")


def encode_intents(
    readings: Sequence[IntentReading], *, embedder: Embedder
) -> list[EncodedIntent]:
    """Encode intents, in their order.

    Raises:
        EmbeddingUnavailable: If the model cannot be loaded or run, or returns non-finite values.
    """
    import numpy as np  # noqa: PLC0415 - heavy

    from graph.suggestion.intent.encoded import EncodedIntent  # noqa: PLC0415 - heavy

    texts = list(dict.fromkeys(text for reading in readings for text in reading.distinct_texts))
    if not texts:
        return []
    rows = embedder.embed(texts, kind="query").astype(np.float32, copy=False)
    if not np.isfinite(rows).all():
        raise EmbeddingUnavailable(
            f"the model {embedder.model} gave no usable vectors: some of their values are not "
            "finite; choose another with FOREGATE_EMBEDDING_MODEL"
        )
    row_by_text = {text: row for row, text in enumerate(texts)}

    def rows_of(*texts: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        return rows[[row_by_text[text] for text in texts]]

    return [
        EncodedIntent(
            whole=rows_of(reading.english)[0],
            masked=rows_of(reading.embedded_masked_text)[0],
            sentences=rows_of(*reading.sentences),
            clauses=rows_of(*(clause.english for clause in reading.clauses)),
            masked_clauses=rows_of(*(clause.embedded_masked_text for clause in reading.clauses)),
            words=_lexeme_keys(reading.english),
            clause_words=tuple(_lexeme_keys(clause.english) for clause in reading.clauses),
            length=len(reading.text),
            requests=rows_of(*(part.wording for part in reading.requests)),
            masked_requests=rows_of(*(part.embedded_masked_text for part in reading.requests)),
            request_words=tuple(_lexeme_keys(part.looked_up_text) for part in reading.requests),
            masked_request_words=tuple(
                _lexeme_keys(part.embedded_masked_text) for part in reading.requests
            ),
        )
        for reading in readings
    ]


@lru_cache(maxsize=MAX_CACHED_TEXTS)
def _lexeme_keys(text: str) -> tuple[int, ...]:
    return tuple(
        hash_lexeme(lexeme) for word in split_words(text) for lexeme in split_lexemes(word)
    )


def split_words(text: str) -> tuple[str, ...]:
    """List the words in order, with repetitions.

    Compound names are followed by their parts; numbers and single Latin letters are left out.

    Example:
        >>> split_words("Run getHTTPResponse for 42 pages")
        ('Run', 'getHTTPResponse', 'get', 'HTTP', 'Response', 'for', 'pages')
    """
    return tuple(_iterate_words(embedding_text.split_into_pairs(text)))[:MAX_WORDS]


def _iterate_words(text: str) -> Iterator[str]:
    for word in _WORD.findall(text):
        if not _LETTER.search(word):
            continue
        yield word
        parts = embedding_text.split_name(word).split()
        if len(parts) > 1:
            yield from (part for part in parts if len(part) > 1 and not part.isdigit())
