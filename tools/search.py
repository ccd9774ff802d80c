"""Find the tools that fit a query: by meaning and by words, fused, with reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import structlog

from tools import ids, query_text
from tools.embed.embedder import Embedder, EmbeddingUnavailable, Vectors
from tools.fusion import DEFAULT, Evidence, Weights, fuse
from tools.store import search as store
from tools.store.search import Candidate, Scope

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
    """

    query: str
    limit: int = 5
    scope: Scope = field(default_factory=Scope)
    mode: Mode = "fused"


@dataclass(frozen=True, kw_only=True)
class Hit:
    """A tool that was found.

    Attributes:
        tool_pk: Primary key.
        tool: Canonical id, server:tool.
        score: In [0, 1].
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
    request: SearchRequest, *, embedder: Embedder, weights: Weights = DEFAULT
) -> SearchAnswer:
    """Search the catalogue; without a model or vectors, by words alone and with a warning.

    Args:
        request: What is searched for.
        embedder: Embeds the query.
        weights: How the two kinds of evidence are added.

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
    plan = store.plan(words, model=embedder.model, scope=request.scope)
    found = store.candidates(
        plan,
        vectors=vectors,
        model=embedder.model,
        scope=request.scope,
        limit=max(POOL, request.limit),
    )
    if vectors is not None and found and all(item.similarity is None for item in found):
        warnings.append(
            f"found by words alone: no tool is embedded by {embedder.model} yet; "
            "run `manage.py embed`"
        )
    return SearchAnswer(
        hits=_best(found, plan.lexemes, limit=request.limit, weights=weights),
        warnings=tuple(warnings),
    )


def _embed(query: query_text.Query, embedder: Embedder) -> tuple[Vectors | None, list[str]]:
    try:
        return embedder.embed([query.text, *query.sentences], kind="query"), []
    except EmbeddingUnavailable as error:
        log.warning("search.lexical_only", reason=str(error))
        return None, [f"found by words alone: {error}"]


def _best(
    found: Sequence[Candidate], lexemes: Mapping[str, str], *, limit: int, weights: Weights
) -> tuple[Hit, ...]:
    by_pk = {item.tool_pk: item for item in found}
    evidence = (
        Evidence(
            tool_pk=item.tool_pk,
            tool=ids.join(item.server, item.name),
            dense=item.similarity,
            lexical=item.bm25,
        )
        for item in found
    )
    return tuple(
        Hit(
            tool_pk=fused.evidence.tool_pk,
            tool=fused.evidence.tool,
            score=fused.score,
            reasons=reasons(by_pk[fused.evidence.tool_pk], lexemes),
            dense=fused.evidence.dense,
            lexical=fused.evidence.lexical,
        )
        for fused in fuse(evidence, weights=weights)[:limit]
    )


def reasons(candidate: Candidate, lexemes: Mapping[str, str]) -> tuple[str, ...]:
    """Say in plain words what speaks for a tool.

    Args:
        candidate: The tool.
        lexemes: Word of the query by lexeme.
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
    return tuple(told) or ("the closest there is, though not close",)
