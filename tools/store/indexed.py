"""Candidates out of the index in memory, confirmed by the database before they are told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db import connection

from tools.embed.embedder import Vectors
from tools.fusion import Weights
from tools.search_index import Filter, Found, Preference, SearchIndex
from tools.store.postings import CONFIGURATION
from tools.store.search import Candidate, Context, Scope

_LEXEMES = """
SELECT word, lexeme, hashtextextended(lexeme, 0)
FROM unnest(%(words)s::text[]) AS word,
     unnest(to_tsvector(%(configuration)s::regconfig, word)) AS parsed
"""

_CONFIRM = """
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
class Query:
    """A query as the index reads it.

    Attributes:
        vectors: Shape (k, d), norm 1: the whole query, then its sentences if it has several;
            None: meaning is not compared.
        words: The query's first word of each lexeme, by lexeme.
        keys: Each lexeme's key in the index, by lexeme.
    """

    vectors: Vectors | None
    words: Mapping[str, str]
    keys: Mapping[str, int]


def read(words: Sequence[str], vectors: Vectors | None) -> Query:
    """Turn the words of a query into lexemes; stop words fall out."""
    found: dict[str, str] = {}
    keys: dict[str, int] = {}
    if words:
        with connection.cursor() as cursor:
            cursor.execute(_LEXEMES, {"words": list(words), "configuration": CONFIGURATION})
            for word, lexeme, key in cursor.fetchall():
                found.setdefault(lexeme, word)
                keys[lexeme] = key
    return Query(vectors=vectors, words=found, keys=keys)


def lexeme_keys(words: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Find the lexemes of words, by their keys in the index; a stop word has none.

    One question to the database for any number of words.
    """
    wanted = sorted(set(words))
    found: dict[str, tuple[int, ...]] = {}
    if wanted:
        with connection.cursor() as cursor:
            cursor.execute(_LEXEMES, {"words": wanted, "configuration": CONFIGURATION})
            for word, _lexeme, key in cursor.fetchall():
                found[word] = (*found.get(word, ()), key)
    return found


def candidates(
    index: SearchIndex,
    query: Query,
    *,
    scope: Scope,
    context: Context,
    weights: Weights,
    limit: int,
) -> list[Candidate] | None:
    """Find the best tools, and have the database confirm that each may be found right now.

    Args:
        index: Of the model that made the vectors.
        query: From `read`.
        scope: Which tools may be found.
        context: What is in use already.
        weights: How evidence is added.
        limit: Tools to return at most.

    Returns:
        Best first; None if the index is behind the database, which must be asked instead.
    """
    only = _filter(index, scope, context)
    if only is None:
        return None
    servers = (index.server_names.get(name) for name in context.servers)
    preference = Preference(
        dense=weights.dense,
        lexical=weights.lexical,
        affinity=weights.affinity,
        servers=frozenset(server for server in servers if server is not None),
    )
    keys = list(query.keys.values())
    found = index.best(keys, vectors=query.vectors, only=only, preference=preference, limit=limit)
    names = _confirmed([item.tool_pk for item in found], scope)
    if len(names) < len(found):
        return None
    by_key = {key: lexeme for lexeme, key in query.keys.items()}
    return [_candidate(item, names[item.tool_pk], by_key) for item in found]


def _filter(index: SearchIndex, scope: Scope, context: Context) -> Filter | None:
    """Find the keys of what a scope names; None where the index does not know a name."""
    server = None if scope.server is None else index.server_names.get(scope.server)
    category = None if scope.category is None else index.category_names.get(scope.category)
    if (server is None) is not (scope.server is None):
        return None
    if (category is None) is not (scope.category is None):
        return None
    return Filter(team=scope.team, server=server, category=category, without=context.tools)


def _confirmed(pks: list[int], scope: Scope) -> dict[int, tuple[str, str]]:
    values = {"team": scope.team, "server": scope.server, "category": scope.category}
    with connection.cursor() as cursor:
        cursor.execute(_CONFIRM, values | {"tools": pks})
        return {pk: (server, name) for pk, server, name in cursor.fetchall()}


def _candidate(found: Found, names: tuple[str, str], by_key: Mapping[int, str]) -> Candidate:
    server, name = names
    return Candidate(
        tool_pk=found.tool_pk,
        server=server,
        name=name,
        similarity=found.similarity,
        bm25=found.bm25,
        in_name=frozenset(by_key[key] for key in found.in_name),
        elsewhere=frozenset(by_key[key] for key in found.elsewhere),
    )
