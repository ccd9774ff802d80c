"""Index and rank tools of the catalogue in memory by their words."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tools import embedding_text, query_text
from tools.catalogue import CatalogueTool
from tools.lexemes import count_lexemes, hash_lexeme, map_lexemes
from tools.search_index import (
    NO_KEY,
    IndexHit,
    Postings,
    RankingPreference,
    SearchFilter,
    SearchIndex,
)


def index_words(tools: Iterable[CatalogueTool]) -> SearchIndex:
    """Index the words of tools, without vectors and filters.

    Complexity: O(characters of the texts); some 0.2 ms per tool.
    """
    listed = sorted(tools, key=lambda tool: tool.pk)
    counted = [
        count_lexemes(embedding_text.list_weighted_texts(tool.definition, server=tool.server))
        for tool in listed
    ]
    rows = [
        (hash_lexeme(lexeme), at, frequency, in_name)
        for at, lexemes in enumerate(counted)
        for lexeme, (frequency, in_name) in lexemes.items()
    ]
    keys, positions, frequencies, in_name = zip(*rows, strict=True) if rows else ((),) * 4
    server_names = {name: key for key, name in enumerate({tool.server for tool in listed}, 1)}
    none = np.full(len(listed), NO_KEY)
    return SearchIndex(
        model="",
        tools=np.array([tool.pk for tool in listed], dtype=np.int64),
        servers=np.array([server_names[tool.server] for tool in listed], dtype=np.int64),
        categories=none,
        teams=none,
        texts=none,
        lengths=np.array([sum(weight for weight, _ in words.values()) for words in counted]),
        embeddings=none,
        vectors=np.zeros((len(listed), 0), dtype=np.float32),
        postings=Postings.from_rows(
            np.array(keys, dtype=np.int64),
            np.array(positions, dtype=np.intp),
            np.array(frequencies, dtype=np.float32),
            np.array(in_name, dtype=np.bool_),
        ),
        server_names=server_names,
    )


def rank_by_words(text: str, index: SearchIndex, *, limit: int) -> list[IndexHit]:
    """Rank tools by BM25 alone; those that share no word with the text are left out."""
    keys = [hash_lexeme(lexeme) for lexeme in map_lexemes(query_text.split_words(text))]
    return index.find_best(
        keys,
        vectors=None,
        only=SearchFilter(),
        preference=RankingPreference(dense=0.0, lexical=1.0),
        limit=limit,
    )
