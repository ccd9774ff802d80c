"""Search the catalogue by meaning and by words, with fused scores and reasons."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import structlog

from tools import fusion, ids, query_text
from tools.embed.embedder import Embedder, EmbeddingUnavailable, Vectors
from tools.fusion import DEFAULT_WEIGHTS, FusionWeights, SearchEvidence, fuse_candidates
from tools.lexemes import map_lexemes
from tools.store import search as store
from tools.store.search import SearchCandidate, SearchContext, SearchScope

if TYPE_CHECKING:
    from tools.catalogue import CatalogueTool
    from tools.embed.cache import CachedEmbedder
    from tools.search_index import SearchIndex

MAX_LIMIT = 100
CANDIDATE_POOL = 50
"""Candidates from each side; a larger pool changes no result on any public set."""

MAX_NAMED_WORDS = 4
CLOSE_SIMILARITY = 0.3
"""Cosine from which similarity is given as a reason; lower ones are chance."""

SearchMode = Literal["fused", "dense", "lexical"]

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class SearchRequest:
    """A query with its filters.

    Attributes:
        query: What the tool should do, in words, or a tool's name.
        limit: Maximum number of hits, in [1, `MAX_LIMIT`].
        scope: Team, server and category.
        mode: Both kinds of evidence, or only one of them.
        context: Tools that the caller uses already: excluded, and their servers are preferred.
    """

    query: str
    limit: int = 5
    scope: SearchScope = field(default_factory=SearchScope)
    mode: SearchMode = "fused"
    context: SearchContext = field(default_factory=SearchContext)


@dataclass(frozen=True, kw_only=True)
class SearchHit:
    """A tool that was found.

    Attributes:
        tool_pk: Primary key.
        tool: Canonical id, server:tool.
        score: Probability that it is needed, in [0, 1].
        reasons: In plain words.
        dense: Cosine in [-1, 1]; None if meaning was not compared.
        lexical: BM25, not negative; None if words were not compared.
    """

    tool_pk: int
    tool: str
    score: float
    reasons: tuple[str, ...]
    dense: float | None
    lexical: float | None


@dataclass(frozen=True, kw_only=True)
class SearchAnswer:
    """Hits, best first, and warnings about how they were found."""

    hits: tuple[SearchHit, ...]
    warnings: tuple[str, ...] = ()


def search(
    request: SearchRequest,
    *,
    embedder: Embedder,
    weights: FusionWeights = DEFAULT_WEIGHTS,
    index: SearchIndex | None = None,
) -> SearchAnswer:
    """Search the catalogue; without a model or vectors, by words only and with a warning.

    With an index in memory, the database only confirms the hits; without one, or if it is
    outdated, the database does the whole search.

    Args:
        request: The query with its filters.
        embedder: Embeds the query.
        weights: How the kinds of evidence are added.
        index: The in-memory index, if there is one.

    Raises:
        QueryError: If the query is empty.
        ValueError: If the limit is out of range.
        django.db.Error: If the database cannot be reached.
    """
    if not 1 <= request.limit <= MAX_LIMIT:
        raise ValueError(f"limit must be between 1 and {MAX_LIMIT}, not {request.limit}")
    query = query_text.read_query(request.query)
    warnings = ["the query was cut: only its beginning was read"] if query.is_cut else []
    vectors = None
    if request.mode != "lexical":
        vectors, problems = _embed_query(query, embedder)
        warnings += problems
    lexemes = map_lexemes(() if request.mode == "dense" else query.words)
    found = _find_candidates(
        request, lexemes, vectors, model=embedder.model, weights=weights, index=index
    )
    if vectors is not None and found and all(item.similarity is None for item in found):
        warnings.append(
            f"matched by words only: no tool is embedded with {embedder.model} yet; run "
            "`manage.py embed`"
        )
    return SearchAnswer(
        hits=_rank_hits(found, lexemes, request=request, weights=weights), warnings=tuple(warnings)
    )


def _embed_query(
    query: query_text.PreparedQuery, embedder: Embedder
) -> tuple[Vectors | None, list[str]]:
    try:
        return embedder.embed([query.text, *query.sentences], kind="query"), []
    except EmbeddingUnavailable as error:
        log.warning("search.lexical_only", reason=str(error))
        return None, [f"matched by words only: {error}"]


def search_in_memory(
    request: SearchRequest,
    *,
    tools: Collection[CatalogueTool],
    embedder: CachedEmbedder,
    index: SearchIndex | None,
) -> SearchAnswer:
    """Search without the database; the hits are not confirmed.

    Meaning is compared if there is an index and the query has been embedded, which `search` does
    before it needs the database, and which this does for callers limited to some tools.

    Args:
        request: The query; its filters are those that `tools` passed.
        tools: The tools in scope, from the catalogue in memory.
        embedder: Keeps the vectors of recent queries.
        index: The in-memory index; None: the words of `tools` are indexed now.

    Raises:
        QueryError: If the query is empty.
    """
    from tools import catalogue_index
    from tools.store import indexed

    query = query_text.read_query(request.query)
    lexemes = map_lexemes(query.words)
    vectors, warnings = None, ["the query was cut: only its beginning was read"][: query.is_cut]
    if index is not None and request.scope.within is not None:
        vectors, problems = _embed_query(query, embedder)
        warnings += problems
    elif index is not None:
        vectors = embedder.recall([query.text, *query.sentences])
    found = indexed.find_unconfirmed(
        index or catalogue_index.index_words(tools),
        indexed.IndexQuery(lexemes=lexemes, vectors=vectors),
        tools=tools,
        scope=request.scope,
        context=request.context,
        limit=max(fusion.TENTH_RANK, request.limit),
    )
    return SearchAnswer(
        hits=_rank_hits(found, lexemes, request=request, weights=DEFAULT_WEIGHTS),
        warnings=tuple(warnings),
    )


def _find_candidates(
    request: SearchRequest,
    lexemes: Collection[str],
    vectors: Vectors | None,
    *,
    model: str,
    weights: FusionWeights,
    index: SearchIndex | None,
) -> list[SearchCandidate]:
    if index is not None and index.model == model:
        from tools.store import indexed

        found = indexed.find_candidates(
            index,
            indexed.IndexQuery(lexemes=lexemes, vectors=vectors),
            scope=request.scope,
            context=request.context,
            weights=weights,
            limit=max(fusion.TENTH_RANK, request.limit),
        )
        if found is not None:
            return found
    pool = max(CANDIDATE_POOL, request.limit) + len(request.context.tools)
    candidates = store.gather_candidates(
        lexemes, vectors=vectors, model=model, scope=request.scope, limit=pool
    )
    return [c for c in candidates if c.tool_pk not in request.context.tools]


def _rank_hits(
    found: Sequence[SearchCandidate],
    lexemes: Mapping[str, str],
    *,
    request: SearchRequest,
    weights: FusionWeights,
) -> tuple[SearchHit, ...]:
    by_pk = {item.tool_pk: item for item in found}
    evidence = (
        SearchEvidence(
            tool_pk=item.tool_pk,
            tool=ids.join_id(item.server, item.name),
            dense=item.similarity,
            lexical=item.bm25,
            is_related=item.server in request.context.servers,
        )
        for item in found
    )
    return tuple(
        SearchHit(
            tool_pk=fused.evidence.tool_pk,
            tool=fused.evidence.tool,
            score=fused.score,
            reasons=explain_hit(
                by_pk[fused.evidence.tool_pk], lexemes, is_related=fused.evidence.is_related
            ),
            dense=fused.evidence.dense,
            lexical=fused.evidence.lexical,
        )
        for fused in fuse_candidates(evidence, weights=weights)[: request.limit]
    )


def explain_hit(
    candidate: SearchCandidate, lexemes: Mapping[str, str], *, is_related: bool = False
) -> tuple[str, ...]:
    """Return the reasons for a hit in plain words.

    Args:
        candidate: The tool.
        lexemes: Query word by lexeme.
        is_related: Whether another tool of its server is in use.
    """
    reasons = []
    places = ((candidate.in_name, "its name"), (candidate.in_text, "its text"))
    for matched, place in places:
        words = list(
            dict.fromkeys(f"'{word}'" for lexeme, word in lexemes.items() if lexeme in matched)
        )
        if words:
            more = len(words) - MAX_NAMED_WORDS
            rest = f" and {more} more" if more > 0 else ""
            reasons.append(f"matches {', '.join(words[:MAX_NAMED_WORDS])}{rest} in {place}")
    if candidate.similarity is not None and candidate.similarity >= CLOSE_SIMILARITY:
        reasons.append(f"close in meaning ({candidate.similarity:.2f})")
    if is_related:
        reasons.append("from a server in use")
    return tuple(reasons) or ("the closest match, though not close",)
