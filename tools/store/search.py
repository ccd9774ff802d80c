"""Finds candidates for a query in the database, with the evidence for each."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction
from psycopg import sql

from tools.embed.embedder import Vectors
from tools.fusion import K1, WHOLE_QUERY_SHARE, B, PastUse
from tools.store import embeddings

EXACT_ROWS = 60_000
"""Up to this many tools, every vector is compared: exact, and takes milliseconds (4 for 10,000
vectors of 384 dimensions; the HNSW index takes 1, but lost 8 % of the best ten at 50,000)."""

EXACT_SHARE = 0.2
"""A filter that keeps a smaller share of the vectors is searched exactly: the HNSW index would
scan most of itself for matching rows, and stop before finding them."""

EF_SEARCH = 400
"""Candidate list size of the HNSW scan: far above the limit of a search, since in large catalogues
many tools hardly differ, and recall of a neighbour graph drops among them."""

MAX_SCAN_TUPLES = 50_000

_SERVERS_SQL = """
SELECT id, name FROM tools_server
WHERE enabled AND (team_id IS NULL OR team_id = %(team)s)
"""

_SCOPE_CONDITION = """
(%(server)s::text IS NULL OR s.name = %(server)s)
AND (%(category)s::text IS NULL OR t.category_id = (
    SELECT id FROM tools_category WHERE name = %(category)s))
"""

_PLAN_SQL = f"""
WITH indexed AS (
    SELECT reltuples FROM pg_class WHERE oid = to_regclass(%(index)s)
), bound AS (
    SELECT greatest(%(rows)s, %(share)s * max(reltuples))::bigint AS rows FROM indexed
)
SELECT EXISTS (SELECT FROM indexed),
       (SELECT rows FROM bound) < (
           SELECT count(*) FROM (
               SELECT FROM tools_tool t JOIN ({_SERVERS_SQL}) AS s ON s.id = t.server_id
               WHERE t.state = 'active' AND t.enabled AND {_SCOPE_CONDITION}
               LIMIT (SELECT rows + 1 FROM bound)
           ) AS kept)
"""

# Postings are read before anything is joined: otherwise the planner would probe their index once
# for every tool.
_EVIDENCE_SQL = f"""
WITH server AS MATERIALIZED ({_SERVERS_SQL}),
catalogue AS MATERIALIZED (
    SELECT count(*)::float8 AS size,
           greatest(avg(x.length) FILTER (WHERE x.length > 0), 1) AS mean_length
    FROM tools_tool t LEFT JOIN tools_tooltext x ON x.tool_id = t.id
    WHERE t.state = 'active' AND t.enabled AND t.server_id IN (SELECT id FROM server)
), posting AS MATERIALIZED (
    SELECT lexeme, tool_id, frequency, in_name FROM tools_toolposting
    WHERE lexeme = ANY(%(lexemes)s)
), occurrence AS MATERIALIZED (
    SELECT p.lexeme, p.tool_id, p.frequency, p.in_name, x.length, {_SCOPE_CONDITION} AS kept
    FROM posting p
    JOIN tools_tool t ON t.id = p.tool_id AND t.state = 'active' AND t.enabled
    JOIN server s ON s.id = t.server_id
    JOIN tools_tooltext x ON x.tool_id = p.tool_id
), rarity AS MATERIALIZED (
    SELECT lexeme, ln(1 + (greatest((SELECT size FROM catalogue), count(*)) - count(*) + 0.5)
                          / (count(*) + 0.5)) AS idf
    FROM occurrence GROUP BY lexeme
), worded AS MATERIALIZED (
    SELECT tool_id,
           sum(idf * frequency * (%(k1)s + 1) / (frequency + %(k1)s * (
               1 - %(b)s + %(b)s * length / (SELECT mean_length FROM catalogue)))) AS bm25
    FROM occurrence JOIN rarity USING (lexeme)
    WHERE kept GROUP BY tool_id
), best_worded AS MATERIALIZED (
    SELECT tool_id FROM worded ORDER BY bm25 DESC, tool_id LIMIT %(limit)s
), {{meaning}}, held AS (
    SELECT tool_id, array_agg(lexeme) FILTER (WHERE in_name) AS in_name,
           array_agg(lexeme) FILTER (WHERE NOT in_name) AS elsewhere
    FROM occurrence JOIN pool USING (tool_id) GROUP BY tool_id
)
SELECT t.id, s.name, t.name, m.similarity, w.bm25, held.in_name, held.elsewhere
FROM pool
JOIN tools_tool t ON t.id = pool.tool_id
JOIN tools_server s ON s.id = t.server_id
LEFT JOIN meaning m ON m.tool_id = t.id
LEFT JOIN worded w ON w.tool_id = t.id
LEFT JOIN held ON held.tool_id = t.id
"""

_NO_SIMILARITY = """
meaning AS (SELECT NULL::bigint AS tool_id, NULL::float8 AS similarity),
pool AS (SELECT tool_id FROM best_worded)
"""

_EXACT_SIMILARITY = f"""
meaning AS MATERIALIZED (
    SELECT e.tool_id, {{similarity}} AS similarity
    FROM tools_toolembedding e
    JOIN tools_tool t ON t.id = e.tool_id AND t.state = 'active' AND t.enabled
    JOIN server s ON s.id = t.server_id
    WHERE e.model = %(model)s AND {_SCOPE_CONDITION}
), pool AS MATERIALIZED (
    (SELECT tool_id FROM meaning ORDER BY similarity DESC, tool_id LIMIT %(limit)s)
    UNION SELECT tool_id FROM best_worded
)
"""

_INDEXED_SIMILARITY = """
pool AS MATERIALIZED (
    SELECT unnest(%(near)s::bigint[]) AS tool_id UNION SELECT tool_id FROM best_worded
), meaning AS MATERIALIZED (
    SELECT e.tool_id, {similarity} AS similarity
    FROM pool JOIN tools_toolembedding e ON e.tool_id = pool.tool_id
    WHERE e.model = %(model)s
)
"""


# The model is a literal: the planner must see that the partial index applies.
_NEIGHBOURS_SQL = f"""
SELECT e.tool_id
FROM tools_toolembedding e
JOIN tools_tool t ON t.id = e.tool_id
JOIN tools_server s ON s.id = t.server_id
WHERE e.model = {{model}} AND t.state = 'active' AND t.enabled
  AND s.enabled AND (s.team_id IS NULL OR s.team_id = %(team)s) AND {_SCOPE_CONDITION}
ORDER BY e.vector::vector({{size}}) <=> %(v0)s::vector({{size}})
LIMIT %(limit)s
"""


@dataclass(frozen=True, kw_only=True)
class SearchScope:
    """Restricts a search, which finds only active, enabled tools on enabled servers.

    Attributes:
        team: The caller's team, which sees its own tools and the shared ones.
        server: Only tools of this server.
        category: Only tools of this category.
        within: Primary keys of the only tools that exist for the caller; None: all that its team
            sees. Only searches in memory know of it.
    """

    team: int | None = None
    server: str | None = None
    category: str | None = None
    within: frozenset[int] | None = None


@dataclass(frozen=True, kw_only=True)
class SearchContext:
    """What the caller already uses or considers.

    Attributes:
        tools: Primary keys of tools to exclude.
        servers: Names of their servers, whose other tools are preferred.
    """

    tools: frozenset[int] = frozenset()
    servers: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class IndexQuery:
    """A query in the form the index takes.

    Attributes:
        lexemes: Stems of its words.
        vectors: Shape (k, d), norm 1: the whole query, then its sentences if it has several;
            None: compare words only.
        weigh: Weighs what past requests say of it, given the best tools by text.
    """

    lexemes: Collection[str]
    vectors: Vectors | None
    weigh: Callable[[Sequence[int]], PastUse | None] = lambda _tools: None


@dataclass(frozen=True, kw_only=True)
class SearchCandidate:
    """A tool with its evidence.

    Attributes:
        tool_pk: Primary key.
        server: Its server's name.
        name: Its name on the server.
        similarity: In [-1, 1]; None if the query or the tool has no vector.
        bm25: Not negative.
        in_name: Lexemes of the query in its name or title.
        in_text: Those found only in the rest of its text.
    """

    tool_pk: int
    server: str
    name: str
    similarity: float | None
    bm25: float
    in_name: frozenset[str]
    in_text: frozenset[str]


def gather_candidates(
    lexemes: Collection[str],
    *,
    vectors: Vectors | None,
    model: str,
    scope: SearchScope,
    limit: int,
) -> list[SearchCandidate]:
    """Gather the tools that match by meaning or by words, with both kinds of evidence for each.

    The similarity is the cosine with the query; with several sentences, the mean of that and of
    the cosine with the best-matching sentence. If few tools are in scope, all are compared;
    otherwise each vector's neighbours come from the model's HNSW index.

    Word rarity and mean text length come from all tools visible to the caller, not only from
    those that pass the filter: a filter must not change the weight of a word.

    Args:
        lexemes: Stems of the query's words; without any, nothing is found by words.
        vectors: Shape (k, d), norm 1: the whole query, then its sentences if it has several;
            None: nothing is found by meaning.
        model: The model that made them.
        scope: Restricts the search.
        limit: Maximum number of tools for each vector, and for the words.

    Returns:
        Unordered.

    References:
        Robertson & Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond (2009).
    """
    values = _scope_parameters(scope) | {"k1": K1, "b": B, "limit": limit, "model": model}
    values |= {"lexemes": list(lexemes)}
    uses_index = False
    if vectors is not None:
        values |= _vector_parameters(vectors)
        uses_index = is_index_justified(model=model, scope=scope)
        if uses_index:
            values["near"] = _find_nearest(vectors, model=model, scope=scope, limit=limit)
    count = 0 if vectors is None else len(vectors)
    rows = _fetch_rows(_build_evidence_statement(count, uses_index=uses_index), values)
    found: dict[int, SearchCandidate] = {}
    for pk, server, name, similarity, bm25, in_name, elsewhere in rows:
        # A tool whose text is being replaced may have two vectors; the nearer one counts.
        if pk in found and (found[pk].similarity or -1.0) >= (similarity or -1.0):
            continue
        found[pk] = SearchCandidate(
            tool_pk=pk,
            server=server,
            name=name,
            similarity=similarity,
            bm25=float(bm25 or 0.0),
            in_name=frozenset(in_name or ()),
            in_text=frozenset(elsewhere or ()),
        )
    return list(found.values())


def is_index_justified(*, model: str, scope: SearchScope) -> bool:
    """Whether the model has a vector index and the scope is too large to compare all its tools."""
    values = _scope_parameters(scope) | {"index": embeddings.index_name(model)}
    values |= {"rows": EXACT_ROWS, "share": EXACT_SHARE}
    is_indexed, is_large = _fetch_rows(_PLAN_SQL, values)[0]
    return bool(is_indexed and is_large)


def _find_nearest(vectors: Vectors, *, model: str, scope: SearchScope, limit: int) -> list[int]:
    found: set[int] = set()
    with transaction.atomic():
        _prepare_index_scan()
        for vector in vectors:
            found.update(_query_neighbours(vector, model=model, scope=scope, limit=limit))
    return sorted(found)


def _prepare_index_scan() -> None:
    """Force the planner to use the index; it misjudges how much of it a filter reads."""
    settings = {
        "hnsw.ef_search": EF_SEARCH,
        "hnsw.iterative_scan": "relaxed_order",
        "hnsw.max_scan_tuples": MAX_SCAN_TUPLES,
        "enable_sort": "off",
        "enable_hashjoin": "off",
        "enable_mergejoin": "off",
        "enable_seqscan": "off",
        "jit": "off",
    }
    calls = ", ".join("set_config(%s, %s, true)" for _ in settings)
    _fetch_rows(f"SELECT {calls}", [str(part) for pair in settings.items() for part in pair])


def _query_neighbours(vector: Vectors, *, model: str, scope: SearchScope, limit: int) -> list[int]:
    statement = sql.SQL(_NEIGHBOURS_SQL).format(
        model=sql.Literal(model), size=sql.Literal(len(vector))
    )
    values = _scope_parameters(scope) | {"v0": _vector_literal(vector), "limit": limit}
    return [row[0] for row in _fetch_rows(statement, values)]


@functools.cache
def _build_evidence_statement(vectors: int, *, uses_index: bool) -> str:
    if not vectors:
        return _EVIDENCE_SQL.format(meaning=_NO_SIMILARITY)
    meaning = _INDEXED_SIMILARITY if uses_index else _EXACT_SIMILARITY
    return _EVIDENCE_SQL.format(meaning=meaning.format(similarity=_similarity_expression(vectors)))


def _similarity_expression(vectors: int) -> str:
    """Return the SQL of the similarity; for vectors of norm 1 the inner product is the cosine."""
    whole, *parts = (f"-(e.vector <#> %(v{index})s::vector)" for index in range(vectors))
    if not parts:
        return whole
    rest = 1 - WHOLE_QUERY_SHARE
    return f"{WHOLE_QUERY_SHARE} * {whole} + {rest} * greatest({', '.join(parts)})"


def _vector_parameters(vectors: Vectors) -> dict[str, str]:
    return {f"v{index}": _vector_literal(vector) for index, vector in enumerate(vectors)}


def _vector_literal(vector: Vectors) -> str:
    """Format a vector for pgvector; six digits suffice for its cosine."""
    template = ",".join(["%.6g"] * len(vector))
    return f"[{template}]" % tuple(vector.tolist())


def _scope_parameters(scope: SearchScope) -> dict[str, Any]:
    return {"team": scope.team, "server": scope.server, "category": scope.category}


def _fetch_rows(statement: Any, values: Any) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        rows: list[Any] = cursor.fetchall()
        return rows
