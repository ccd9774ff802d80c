"""Finds candidates in the in-memory index and confirms them in the database, if it can."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db import connection

from tools.catalogue import CatalogueTool
from tools.fusion import DEFAULT_WEIGHTS, FusionWeights, PastUse
from tools.lexemes import hash_lexeme
from tools.search_index import (
    IndexHit,
    MeasuredTools,
    RankingPreference,
    SearchFilter,
    SearchIndex,
)
from tools.store.search import IndexQuery, SearchCandidate, SearchContext, SearchScope

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
class IndexedCandidates:
    """Candidates from the index, and what past requests say of them; None: nothing is known."""

    candidates: list[SearchCandidate]
    past_use: PastUse | None = None


def find_candidates(
    index: SearchIndex,
    query: IndexQuery,
    *,
    scope: SearchScope,
    context: SearchContext,
    weights: FusionWeights,
    limit: int,
) -> IndexedCandidates | None:
    """Find the best tools and confirm in the database that each may be found right now.

    Args:
        index: Of the model that made the vectors.
        query: The query.
        scope: Restricts the search.
        context: Tools and servers in use already.
        weights: How evidence is added.
        limit: Maximum number of candidates, without those that past requests add.

    Returns:
        Best by text first; None if the index is outdated: search in the database instead.
    """
    only = _make_filter(index, scope, context)
    if only is None:
        return None
    measured = _measure(index, query, only=only, context=context, weights=weights)
    hits, past_use = _find_hits(measured, query, limit=limit)
    names = _confirm_candidates([hit.tool_pk for hit in hits], scope)
    if len(names) < len(hits):
        return None
    return IndexedCandidates(
        candidates=_make_candidates(hits, names, query.lexemes), past_use=past_use
    )


def find_unconfirmed(
    index: SearchIndex,
    query: IndexQuery,
    *,
    tools: Iterable[CatalogueTool],
    scope: SearchScope,
    context: SearchContext,
    limit: int,
) -> IndexedCandidates:
    """Find the best of some tools of the catalogue in memory, without the database.

    Args:
        index: Of the model that made the vectors.
        query: The query.
        tools: The tools to choose from.
        scope: Team and group of the caller; the rarity of words is that among the tools it sees.
        context: Tools and servers in use already.
        limit: As in `find_candidates`.
    """
    names = {tool.pk: (tool.server, tool.name) for tool in tools}
    others = frozenset(index.tools.tolist()) - names.keys()
    only = SearchFilter(team=scope.team, within=scope.within, excluded=others | context.tools)
    measured = _measure(index, query, only=only, context=context, weights=DEFAULT_WEIGHTS)
    hits, past_use = _find_hits(measured, query, limit=limit)
    return IndexedCandidates(
        candidates=_make_candidates(hits, names, query.lexemes), past_use=past_use
    )


def _measure(
    index: SearchIndex,
    query: IndexQuery,
    *,
    only: SearchFilter,
    context: SearchContext,
    weights: FusionWeights,
) -> MeasuredTools:
    servers = (index.server_names.get(name) for name in context.servers)
    preference = RankingPreference(
        dense=weights.dense,
        lexical=weights.lexical,
        affinity=weights.affinity,
        servers=frozenset(server for server in servers if server is not None),
    )
    keys = [hash_lexeme(lexeme) for lexeme in query.lexemes]
    return index.measure(keys, vectors=query.vectors, only=only, preference=preference)


def _find_hits(
    measured: MeasuredTools, query: IndexQuery, *, limit: int
) -> tuple[list[IndexHit], PastUse | None]:
    """Return the best by text, followed by as many others that past requests favour."""
    rows = measured.find_best(limit)
    past_use = query.weigh(measured.list_tools(rows))
    if past_use is not None:
        rows = measured.append_likeliest(rows, past_use.log_odds, limit)
    return measured.describe(rows), past_use


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


def _make_candidates(
    hits: Iterable[IndexHit], names: Mapping[int, tuple[str, str]], lexemes: Iterable[str]
) -> list[SearchCandidate]:
    by_key = {hash_lexeme(lexeme): lexeme for lexeme in lexemes}
    return [
        SearchCandidate(
            tool_pk=hit.tool_pk,
            server=names[hit.tool_pk][0],
            name=names[hit.tool_pk][1],
            similarity=hit.similarity,
            bm25=hit.bm25,
            in_name=frozenset(by_key[key] for key in hit.in_name),
            in_text=frozenset(by_key[key] for key in hit.in_text),
        )
        for hit in hits
    ]
