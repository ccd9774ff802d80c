"""Search the catalogue by meaning and by words, with fused scores and reasons."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal

import structlog

from tools import fusion, ids, query_text
from tools.embed.embedder import Embedder, EmbeddingUnavailable, Vectors
from tools.fusion import (
    DEFAULT_WEIGHTS,
    MIN_CLOSENESS,
    NOTHING_CLOSE_WARNING,
    FusionWeights,
    PastUse,
    SearchEvidence,
    WeighPastUse,
    estimate_closeness,
    fuse_candidates,
    ignore_past_use,
)
from tools.lexemes import map_lexemes
from tools.store import search as store
from tools.store.search import IndexQuery, SearchCandidate, SearchContext, SearchScope

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

_WEIGH_NOTHING = partial(ignore_past_use, "")

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
    weigh: WeighPastUse = ignore_past_use,
) -> SearchAnswer:
    """Search the catalogue; without a model or vectors, by words only and with a warning.

    With an index in memory, the database only confirms the hits; without one, or if it is
    outdated, the database does the whole search.

    Args:
        request: The query with its filters.
        embedder: Embeds the query.
        weights: How the kinds of evidence are added.
        index: The in-memory index, if there is one.
        weigh: Weighs what past requests say of the query; not asked if only one kind of evidence
            is wanted.

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
    found, past_use = _find_candidates(
        request,
        IndexQuery(
            lexemes=lexemes,
            vectors=vectors,
            weigh=partial(weigh, request.query) if request.mode == "fused" else _WEIGH_NOTHING,
        ),
        model=embedder.model,
        weights=weights,
        index=index,
    )
    if vectors is not None and found and all(item.similarity is None for item in found):
        warnings.append(
            f"matched by words only: no tool is embedded with {embedder.model} yet; run "
            "`manage.py embed`"
        )
    hits = _rank_hits(found, lexemes, request=request, weights=weights, past_use=past_use)
    if request.mode == "fused" and _is_nothing_close(hits, past_use):
        warnings.append(NOTHING_CLOSE_WARNING)
    return SearchAnswer(hits=hits, warnings=tuple(warnings))


def _is_nothing_close(hits: Sequence[SearchHit], past_use: PastUse | None) -> bool:
    """Return whether the best match is not close, and no similar request used it either."""
    best = hits[0] if hits else None
    if best is None or best.dense is None:
        return False
    if past_use is not None and past_use.explain(best.tool_pk):
        return False
    return estimate_closeness(best.dense, best.lexical or 0.0) < MIN_CLOSENESS


def _embed_query(
    query: query_text.PreparedQuery, embedder: Embedder
) -> tuple[Vectors | None, list[str]]:
    try:
        return embedder.embed(query.embedded_texts, kind="query"), []
    except EmbeddingUnavailable as error:
        log.warning("search.lexical_only", reason=str(error))
        return None, [f"matched by words only: {error}"]


def search_in_memory(
    request: SearchRequest,
    *,
    tools: Collection[CatalogueTool],
    embedder: CachedEmbedder,
    index: SearchIndex | None,
    weigh: WeighPastUse = ignore_past_use,
) -> SearchAnswer:
    """Search without the database; the hits are not confirmed.

    Meaning is compared if there is an index and the query has been embedded, which `search` does
    before it needs the database, and which this does for callers limited to some tools.

    Args:
        request: The query; its filters are those that `tools` passed.
        tools: The tools in scope, from the catalogue in memory.
        embedder: Keeps the vectors of recent queries.
        index: The in-memory index; None: the words of `tools` are indexed now.
        weigh: Weighs what past requests say of the query; asked only if meaning is compared.

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
        vectors = embedder.recall(query.embedded_texts)
    found = indexed.find_unconfirmed(
        index or catalogue_index.index_words(tools),
        IndexQuery(
            lexemes=lexemes,
            vectors=vectors,
            weigh=_WEIGH_NOTHING if vectors is None else partial(weigh, request.query),
        ),
        tools=tools,
        scope=request.scope,
        context=request.context,
        limit=max(fusion.TENTH_RANK, request.limit),
    )
    hits = _rank_hits(
        found.candidates,
        lexemes,
        request=request,
        weights=DEFAULT_WEIGHTS,
        past_use=found.past_use,
    )
    if _is_nothing_close(hits, found.past_use):
        warnings.append(NOTHING_CLOSE_WARNING)
    return SearchAnswer(hits=hits, warnings=tuple(warnings))


def _find_candidates(
    request: SearchRequest,
    query: IndexQuery,
    *,
    model: str,
    weights: FusionWeights,
    index: SearchIndex | None,
) -> tuple[list[SearchCandidate], PastUse | None]:
    """Return the candidates, and what past requests say of them."""
    if index is not None and index.model == model:
        from tools.store import indexed

        found = indexed.find_candidates(
            index,
            query,
            scope=request.scope,
            context=request.context,
            weights=weights,
            limit=max(fusion.TENTH_RANK, request.limit),
        )
        if found is not None:
            return found.candidates, found.past_use
    pool = max(CANDIDATE_POOL, request.limit) + len(request.context.tools)
    candidates = store.gather_candidates(
        query.lexemes, vectors=query.vectors, model=model, scope=request.scope, limit=pool
    )
    candidates = [c for c in candidates if c.tool_pk not in request.context.tools]
    return candidates, query.weigh([c.tool_pk for c in candidates])


def _rank_hits(
    found: Sequence[SearchCandidate],
    lexemes: Mapping[str, str],
    *,
    request: SearchRequest,
    weights: FusionWeights,
    past_use: PastUse | None,
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
                by_pk[fused.evidence.tool_pk],
                lexemes,
                is_related=fused.evidence.is_related,
                past_use=past_use,
            ),
            dense=fused.evidence.dense,
            lexical=fused.evidence.lexical,
        )
        for fused in fuse_candidates(evidence, weights=weights, past_use=past_use)[: request.limit]
    )


def explain_hit(
    candidate: SearchCandidate,
    lexemes: Mapping[str, str],
    *,
    is_related: bool = False,
    past_use: PastUse | None = None,
) -> tuple[str, ...]:
    """Return the reasons for a hit in plain words.

    Args:
        candidate: The tool.
        lexemes: Query word by lexeme.
        is_related: Whether another tool of its server is in use.
        past_use: What past requests say of the query; None: nothing is known.
    """
    reasons = []
    if past_use is not None and (used := past_use.explain(candidate.tool_pk)):
        reasons.append(used)
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
