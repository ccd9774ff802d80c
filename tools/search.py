"""Find the tools that fit a query: by meaning and by words, fused, with reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import structlog

from tools import fusion, ids, query_text
from tools.embed.embedder import Embedder, EmbeddingUnavailable, Vectors
from tools.fusion import DEFAULT, Evidence, Weights, fuse
from tools.store import search as store
from tools.store.search import Candidate, Context, Scope

if TYPE_CHECKING:
    from tools.search_index import SearchIndex

MAX_LIMIT = 100
POOL = 50
"""Candidates from each side; more changes no figure of any public set."""

MAX_NAMED_WORDS = 4
CLOSE = 0.3
"""Cosine from which closeness in meaning is worth telling; below it is chance."""

Mode = Literal["fused", "dense", "lexical"]

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class SearchRequest:
    """What is searched for, and where.

    Attributes:
        query: What the tool should do, in words; a tool's name is found too.
        limit: Hits to return at most, in [1, `MAX_LIMIT`].
        scope: Team, server and category.
        mode: Both kinds of evidence, or one of them alone.
        context: What the caller uses already: not found again, and a hint at servers.
    """

    query: str
    limit: int = 5
    scope: Scope = field(default_factory=Scope)
    mode: Mode = "fused"
    context: Context = field(default_factory=Context)


@dataclass(frozen=True, kw_only=True)
class Hit:
    """A tool that was found.

    Attributes:
        tool_pk: Primary key.
        tool: Canonical id, server:tool.
        score: How likely it is one that is needed, in [0, 1].
        reasons: Why, in plain words.
        dense: Cosine in [-1, 1]; None where meaning was not compared.
        lexical: BM25, not negative; None where words were not.
    """

    tool_pk: int
    tool: str
    score: float
    reasons: tuple[str, ...]
    dense: float | None
    lexical: float | None


@dataclass(frozen=True, kw_only=True)
class SearchAnswer:
    """Hits, best first, and what the caller should know of how they were found."""

    hits: tuple[Hit, ...]
    warnings: tuple[str, ...] = ()


def search(
    request: SearchRequest,
    *,
    embedder: Embedder,
    weights: Weights = DEFAULT,
    index: SearchIndex | None = None,
) -> SearchAnswer:
    """Search the catalogue; without a model or vectors, by words alone and with a warning.

    With an index in memory the database is only asked for the words' stems and to confirm what
    was found; without one, or with one that is behind, the database does the whole search.

    Args:
        request: What is searched for.
        embedder: Embeds the query.
        weights: How the two kinds of evidence are added.
        index: The catalogue in memory, where it is kept.

    Raises:
        QueryError: If the query is empty.
        ValueError: If the limit is out of range.
    """
    if not 1 <= request.limit <= MAX_LIMIT:
        raise ValueError(f"limit must be between 1 and {MAX_LIMIT}, not {request.limit}")
    query = query_text.read(request.query)
    warnings = ["the query was cut: only its beginning was read"] if query.is_cut else []
    vectors = None
    if request.mode != "lexical":
        vectors, problems = _embed(query, embedder)
        warnings += problems
    words = () if request.mode == "dense" else query.words
    found, lexemes = _find(
        request, words, vectors, model=embedder.model, weights=weights, index=index
    )
    if vectors is not None and found and all(item.similarity is None for item in found):
        warnings.append(
            f"found by words alone: no tool is embedded by {embedder.model} yet; "
            "run `manage.py embed`"
        )
    return SearchAnswer(
        hits=_best(found, lexemes, request=request, weights=weights), warnings=tuple(warnings)
    )


def _embed(query: query_text.Query, embedder: Embedder) -> tuple[Vectors | None, list[str]]:
    try:
        return embedder.embed([query.text, *query.sentences], kind="query"), []
    except EmbeddingUnavailable as error:
        log.warning("search.lexical_only", reason=str(error))
        return None, [f"found by words alone: {error}"]


def _find(
    request: SearchRequest,
    words: Sequence[str],
    vectors: Vectors | None,
    *,
    model: str,
    weights: Weights,
    index: SearchIndex | None,
) -> tuple[list[Candidate], Mapping[str, str]]:
    """Return candidates, and the query's word of each lexeme."""
    if index is not None and index.model == model:
        from tools.store import indexed  # noqa: PLC0415 - heavy: numpy, which made the index

        query = indexed.read(words, vectors)
        found = indexed.candidates(
            index,
            query,
            scope=request.scope,
            context=request.context,
            weights=weights,
            limit=max(fusion.DEPTH, request.limit),
        )
        if found is not None:
            return found, query.words
    plan = store.plan(words, model=model, scope=request.scope)
    pool = max(POOL, request.limit) + len(request.context.tools)
    every = store.candidates(plan, vectors=vectors, model=model, scope=request.scope, limit=pool)
    return [c for c in every if c.tool_pk not in request.context.tools], plan.lexemes


def _best(
    found: Sequence[Candidate],
    lexemes: Mapping[str, str],
    *,
    request: SearchRequest,
    weights: Weights,
) -> tuple[Hit, ...]:
    by_pk = {item.tool_pk: item for item in found}
    evidence = (
        Evidence(
            tool_pk=item.tool_pk,
            tool=ids.join(item.server, item.name),
            dense=item.similarity,
            lexical=item.bm25,
            is_kin=item.server in request.context.servers,
        )
        for item in found
    )
    return tuple(
        Hit(
            tool_pk=fused.evidence.tool_pk,
            tool=fused.evidence.tool,
            score=fused.score,
            reasons=reasons(by_pk[fused.evidence.tool_pk], lexemes, is_kin=fused.evidence.is_kin),
            dense=fused.evidence.dense,
            lexical=fused.evidence.lexical,
        )
        for fused in fuse(evidence, weights=weights)[: request.limit]
    )


def reasons(
    candidate: Candidate, lexemes: Mapping[str, str], *, is_kin: bool = False
) -> tuple[str, ...]:
    """Say in plain words what speaks for a tool.

    Args:
        candidate: The tool.
        lexemes: Word of the query by lexeme.
        is_kin: Whether another tool of its server is in use.
    """
    told = []
    places = ((candidate.in_name, "its name"), (candidate.elsewhere, "its text"))
    for held, place in places:
        words = list(
            dict.fromkeys(f"'{word}'" for lexeme, word in lexemes.items() if lexeme in held)
        )
        if words:
            more = len(words) - MAX_NAMED_WORDS
            rest = f" and {more} more" if more > 0 else ""
            told.append(f"matches {', '.join(words[:MAX_NAMED_WORDS])}{rest} in {place}")
    if candidate.similarity is not None and candidate.similarity >= CLOSE:
        told.append(f"close in meaning ({candidate.similarity:.2f})")
    if is_kin:
        told.append("of a server in use")
    return tuple(told) or ("the closest there is, though not close",)
