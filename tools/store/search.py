"""Candidates for a query out of the database: by meaning, by words, and what speaks for each."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction
from psycopg import sql

from tools.embed.embedder import Vectors
from tools.ranking import K1, WHOLE_QUERY_SHARE, B
from tools.store import embeddings
from tools.store.postings import CONFIGURATION

EXACT_ROWS = 60_000
"""Up to so many tools every vector is compared: exact, at the price of milliseconds (4 for 10,000
vectors of 384 dimensions, where the index takes 1, and lost 8 % of the best ten at 50,000)."""

EXACT_SHARE = 0.2
"""A filter that leaves less than this share of the vectors is searched exactly: the index would
read most of itself to find what passes, and stop before it had."""

EF_SEARCH = 400
"""Candidates the index keeps: many more than a search asks for, since large catalogues are full of
tools that hardly differ, among which a graph of neighbours loses its way."""

MAX_SCAN_TUPLES = 50_000

_SERVERS = """
SELECT id, name FROM tools_server
WHERE enabled AND (team_id IS NULL OR team_id = %(team)s)
"""

_KEPT = """
(%(server)s::text IS NULL OR s.name = %(server)s)
AND (%(category)s::text IS NULL OR t.category_id = (
    SELECT id FROM tools_category WHERE name = %(category)s))
"""

_PLAN = f"""
WITH indexed AS (
    SELECT reltuples FROM pg_class WHERE oid = to_regclass(%(index)s)
), bound AS (
    SELECT greatest(%(rows)s, %(share)s * max(reltuples))::bigint AS rows FROM indexed
), parsed AS (
    SELECT word, lexeme
    FROM unnest(%(words)s::text[]) AS word,
         unnest(to_tsvector(%(configuration)s::regconfig, word)) AS parsed
)
SELECT EXISTS (SELECT FROM indexed),
       (SELECT rows FROM bound) < (
           SELECT count(*) FROM (
               SELECT FROM tools_tool t JOIN ({_SERVERS}) AS s ON s.id = t.server_id
               WHERE t.state = 'active' AND t.enabled AND {_KEPT}
               LIMIT (SELECT rows + 1 FROM bound)
           ) AS kept),
       (SELECT array_agg(ARRAY[lexeme, word]) FROM parsed)
"""

# Postings are read before anything is joined: left to itself the planner would probe their index
# once for every tool.
_EVIDENCE = f"""
WITH server AS MATERIALIZED ({_SERVERS}),
catalogue AS MATERIALIZED (
    SELECT count(*)::float8 AS size,
           greatest(avg(x.length) FILTER (WHERE x.length > 0), 1) AS mean_length
    FROM tools_tool t LEFT JOIN tools_tooltext x ON x.tool_id = t.id
    WHERE t.state = 'active' AND t.enabled AND t.server_id IN (SELECT id FROM server)
), posting AS MATERIALIZED (
    SELECT lexeme, tool_id, frequency, in_name FROM tools_toolposting
    WHERE lexeme = ANY(%(lexemes)s)
), occurrence AS MATERIALIZED (
    SELECT p.lexeme, p.tool_id, p.frequency, p.in_name, x.length, {_KEPT} AS kept
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

_WITHOUT_MEANING = """
meaning AS (SELECT NULL::bigint AS tool_id, NULL::float8 AS similarity),
pool AS (SELECT tool_id FROM best_worded)
"""

_EXACT_MEANING = f"""
meaning AS MATERIALIZED (
    SELECT e.tool_id, {{similarity}} AS similarity
    FROM tools_toolembedding e
    JOIN tools_tool t ON t.id = e.tool_id AND t.state = 'active' AND t.enabled
    JOIN server s ON s.id = t.server_id
    WHERE e.model = %(model)s AND {_KEPT}
), pool AS MATERIALIZED (
    (SELECT tool_id FROM meaning ORDER BY similarity DESC, tool_id LIMIT %(limit)s)
    UNION SELECT tool_id FROM best_worded
)
"""

_INDEXED_MEANING = """
pool AS MATERIALIZED (
    SELECT unnest(%(near)s::bigint[]) AS tool_id UNION SELECT tool_id FROM best_worded
), meaning AS MATERIALIZED (
    SELECT e.tool_id, {similarity} AS similarity
    FROM pool JOIN tools_toolembedding e ON e.tool_id = pool.tool_id
    WHERE e.model = %(model)s
)
"""


# The model stands there as a literal: the planner must see that the partial index holds it.
_NEIGHBOURS = f"""
SELECT e.tool_id
FROM tools_toolembedding e
JOIN tools_tool t ON t.id = e.tool_id
JOIN tools_server s ON s.id = t.server_id
WHERE e.model = {{model}} AND t.state = 'active' AND t.enabled
  AND s.enabled AND (s.team_id IS NULL OR s.team_id = %(team)s) AND {_KEPT}
ORDER BY e.vector::vector({{size}}) <=> %(v0)s::vector({{size}})
LIMIT %(limit)s
"""


@dataclass(frozen=True, kw_only=True)
class Scope:
    """Which tools may be found: active and enabled ones, on enabled servers, that pass this.

    Attributes:
        team: The caller's team, which sees its own tools beside the shared ones.
        server: Only this server's.
        category: Only this category's.
    """

    team: int | None = None
    server: str | None = None
    category: str | None = None


@dataclass(frozen=True, kw_only=True)
class Context:
    """What the caller uses or considers already.

    Attributes:
        tools: Primary keys of tools, which are not found again.
        servers: Names of their servers, whose other tools are the likelier ones.
    """

    tools: frozenset[int] = frozenset()
    servers: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How a query is best answered.

    Attributes:
        lexemes: Word of the query by lexeme; stop words fall out.
        uses_index: Whether so many tools are in scope that the vector index is worth its error.
    """

    lexemes: Mapping[str, str]
    uses_index: bool


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A tool, and what speaks for it.

    Attributes:
        tool_pk: Primary key.
        server: Its server's name.
        name: Its name there.
        similarity: In [-1, 1]; None where the query or the tool has no vector.
        bm25: Not negative.
        in_name: Lexemes of the query that its name or title holds.
        elsewhere: Those that only the rest of its text holds.
    """

    tool_pk: int
    server: str
    name: str
    similarity: float | None
    bm25: float
    in_name: frozenset[str]
    elsewhere: frozenset[str]


def plan(words: Sequence[str], *, model: str, scope: Scope) -> Plan:
    """Turn words into lexemes, and see how many tools are in scope.

    Args:
        words: Words of the query; the first one of a lexeme stands for it.
        model: The model whose vectors would be searched.
        scope: Which tools may be found.
    """
    values = _scope(scope) | {"index": embeddings.index_name(model), "rows": EXACT_ROWS}
    values |= {"share": EXACT_SHARE, "words": list(words), "configuration": CONFIGURATION}
    is_indexed, are_many, parsed = _rows(_PLAN, values)[0]
    lexemes: dict[str, str] = {}
    for lexeme, word in parsed or ():
        lexemes.setdefault(lexeme, word)
    return Plan(lexemes=lexemes, uses_index=bool(is_indexed and are_many))


def candidates(
    plan: Plan,
    *,
    vectors: Vectors | None,
    model: str,
    scope: Scope,
    limit: int,
) -> list[Candidate]:
    """Gather the tools that meaning or words speak for, with the evidence of both for each.

    The similarity is the cosine with the query; with several sentences it is the mean of that
    and of the cosine with the sentence that fits best. Where few tools are in scope every one is
    compared; else each vector's neighbours come out of the model's HNSW index.

    How rare a word is, and how long texts are, is taken from all tools the caller may see, not
    from those a filter leaves: a filter must not change what a word proves.

    Args:
        plan: From `plan`; without lexemes nothing is found by words.
        vectors: Shape (k, d), norm 1: the whole query, then its sentences if it has several;
            None: nothing is found by meaning.
        model: The model that made them.
        scope: Which tools may be found.
        limit: Tools to return at most for each vector, and for the words.

    Returns:
        In no order.

    References:
        Robertson & Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond (2009).
    """
    values = _scope(scope) | {"k1": K1, "b": B, "limit": limit, "model": model}
    values |= {"lexemes": list(plan.lexemes)}
    if vectors is not None:
        values |= _vectors(vectors)
        if plan.uses_index:
            values["near"] = _nearest(vectors, model=model, scope=scope, limit=limit)
    count = 0 if vectors is None else len(vectors)
    rows = _rows(_evidence_statement(count, uses_index=plan.uses_index), values)
    found: dict[int, Candidate] = {}
    for pk, server, name, similarity, bm25, in_name, elsewhere in rows:
        # A tool whose text is just being replaced may have two vectors; the nearer one counts.
        if pk in found and (found[pk].similarity or -1.0) >= (similarity or -1.0):
            continue
        found[pk] = Candidate(
            tool_pk=pk,
            server=server,
            name=name,
            similarity=similarity,
            bm25=float(bm25 or 0.0),
            in_name=frozenset(in_name or ()),
            elsewhere=frozenset(elsewhere or ()),
        )
    return list(found.values())


def _nearest(vectors: Vectors, *, model: str, scope: Scope, limit: int) -> list[int]:
    found: set[int] = set()
    with transaction.atomic():
        _prepare_index_scan()
        for vector in vectors:
            found.update(_neighbours(vector, model=model, scope=scope, limit=limit))
    return sorted(found)


def _prepare_index_scan() -> None:
    """Leave the planner no way but the index; it would misjudge how much of it a filter reads."""
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
    _rows(f"SELECT {calls}", [str(part) for pair in settings.items() for part in pair])


def _neighbours(vector: Vectors, *, model: str, scope: Scope, limit: int) -> list[int]:
    statement = sql.SQL(_NEIGHBOURS).format(
        model=sql.Literal(model), size=sql.Literal(len(vector))
    )
    values = _scope(scope) | {"v0": _literal(vector), "limit": limit}
    return [row[0] for row in _rows(statement, values)]


@functools.cache
def _evidence_statement(vectors: int, *, uses_index: bool) -> str:
    if not vectors:
        return _EVIDENCE.format(meaning=_WITHOUT_MEANING)
    meaning = _INDEXED_MEANING if uses_index else _EXACT_MEANING
    return _EVIDENCE.format(meaning=meaning.format(similarity=_similarity(vectors)))


def _similarity(vectors: int) -> str:
    """Expression of the similarity; on vectors of norm 1 the inner product is the cosine."""
    whole, *parts = (f"-(e.vector <#> %(v{index})s::vector)" for index in range(vectors))
    if not parts:
        return whole
    rest = 1 - WHOLE_QUERY_SHARE
    return f"{WHOLE_QUERY_SHARE} * {whole} + {rest} * greatest({', '.join(parts)})"


def _vectors(vectors: Vectors) -> dict[str, str]:
    return {f"v{index}": _literal(vector) for index, vector in enumerate(vectors)}


def _literal(vector: Vectors) -> str:
    """Write a vector as pgvector reads it; six digits are what its cosine is good for."""
    form = ",".join(["%.6g"] * len(vector))
    return f"[{form}]" % tuple(vector.tolist())


def _scope(scope: Scope) -> dict[str, Any]:
    return {"team": scope.team, "server": scope.server, "category": scope.category}


def _rows(statement: Any, values: Any) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        rows: list[Any] = cursor.fetchall()
        return rows
