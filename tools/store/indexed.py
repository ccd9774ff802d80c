"""Finds candidates in the in-memory index and confirms them in the database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db import connection

from tools.embed.embedder import Vectors
from tools.fusion import FusionWeights
from tools.search_index import IndexHit, RankingPreference, SearchFilter, SearchIndex
from tools.store.postings import CONFIGURATION
from tools.store.search import SearchCandidate, SearchContext, SearchScope

_LEXEMES_SQL = """
SELECT word, lexeme, hashtextextended(lexeme, 0)
FROM unnest(%(words)s::text[]) AS word,
     unnest(to_tsvector(%(configuration)s::regconfig, word)) AS parsed
"""

_CONFIRM_SQL = """
SELECT t.id, s.name, t.name
FROM tools_tool t
JOIN tools_server s ON s.id = t.server_id
WHERE t.id = ANY(%(tools)s) AND t.state = 'active' AND t.enabled
  AND s.enabled AND (s.team_id IS NULL OR s.team_id = %(team)s)
  AND (%(server)s::text IS NULL OR s.name = %(server)s)
  AND (%(category)s::text IS NULL OR t.category_id = (
      SELECT id FROM tools_category WHERE name = %(category)s))
"""


@dataclass(frozen=True, kw_only=True)
class IndexQuery:
    """A query in the form the index takes.

    Attributes:
        vectors: Shape (k, d), norm 1: the whole query, then its sentences if it has several;
            None: compare words only.
        words: The query's first word of each lexeme, by lexeme.
        keys: Each lexeme's key in the index, by lexeme.
    """

    vectors: Vectors | None
    words: Mapping[str, str]
    keys: Mapping[str, int]


def read_index_query(words: Sequence[str], vectors: Vectors | None) -> IndexQuery:
    """Turn the words of a query into lexemes; stop words are dropped."""
    first_words: dict[str, str] = {}
    keys: dict[str, int] = {}
    if words:
        with connection.cursor() as cursor:
            cursor.execute(_LEXEMES_SQL, {"words": list(words), "configuration": CONFIGURATION})
            for word, lexeme, key in cursor.fetchall():
                first_words.setdefault(lexeme, word)
                keys[lexeme] = key
    return IndexQuery(vectors=vectors, words=first_words, keys=keys)


def load_lexeme_keys(words: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Return the index keys of each word's lexemes; stop words are left out.

    One database query for any number of words.
    """
    wanted = sorted(set(words))
    found: dict[str, tuple[int, ...]] = {}
    if wanted:
        with connection.cursor() as cursor:
            cursor.execute(_LEXEMES_SQL, {"words": wanted, "configuration": CONFIGURATION})
            for word, _lexeme, key in cursor.fetchall():
                found[word] = (*found.get(word, ()), key)
    return found


def find_candidates(
    index: SearchIndex,
    query: IndexQuery,
    *,
    scope: SearchScope,
    context: SearchContext,
    weights: FusionWeights,
    limit: int,
) -> list[SearchCandidate] | None:
    """Find the best tools and confirm in the database that each may be found right now.

    Args:
        index: Of the model that made the vectors.
        query: From `read_index_query`.
        scope: Restricts the search.
        context: Tools and servers in use already.
        weights: How evidence is added.
        limit: Maximum number of candidates.

    Returns:
        Best first; None if the index is outdated: search in the database instead.
    """
    only = _make_filter(index, scope, context)
    if only is None:
        return None
    servers = (index.server_names.get(name) for name in context.servers)
    preference = RankingPreference(
        dense=weights.dense,
        lexical=weights.lexical,
        affinity=weights.affinity,
        servers=frozenset(server for server in servers if server is not None),
    )
    keys = list(query.keys.values())
    hits = index.find_best(
        keys, vectors=query.vectors, only=only, preference=preference, limit=limit
    )
    names = _confirm_candidates([hit.tool_pk for hit in hits], scope)
    if len(names) < len(hits):
        return None
    lexeme_by_key = {key: lexeme for lexeme, key in query.keys.items()}
    return [_make_candidate(hit, names[hit.tool_pk], lexeme_by_key) for hit in hits]


def _make_filter(
    index: SearchIndex, scope: SearchScope, context: SearchContext
) -> SearchFilter | None:
    """Look up the primary keys of a scope's names; None if the index lacks one of them."""
    server = None if scope.server is None else index.server_names.get(scope.server)
    category = None if scope.category is None else index.category_names.get(scope.category)
    if (server is None) is not (scope.server is None):
        return None
    if (category is None) is not (scope.category is None):
        return None
    return SearchFilter(team=scope.team, server=server, category=category, excluded=context.tools)


def _confirm_candidates(pks: list[int], scope: SearchScope) -> dict[int, tuple[str, str]]:
    values = {"team": scope.team, "server": scope.server, "category": scope.category}
    with connection.cursor() as cursor:
        cursor.execute(_CONFIRM_SQL, values | {"tools": pks})
        return {pk: (server, name) for pk, server, name in cursor.fetchall()}


def _make_candidate(
    hit: IndexHit, names: tuple[str, str], lexeme_by_key: Mapping[int, str]
) -> SearchCandidate:
    server, name = names
    return SearchCandidate(
        tool_pk=hit.tool_pk,
        server=server,
        name=name,
        similarity=hit.similarity,
        bm25=hit.bm25,
        in_name=frozenset(lexeme_by_key[key] for key in hit.in_name),
        in_text=frozenset(lexeme_by_key[key] for key in hit.in_text),
    )
