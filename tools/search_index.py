"""In-memory search index: exact search over arrays of all vectors and postings.

Immutable: to update it, `tools.store.search_index` builds the next one from it. The arrays are
parallel; a tool is known by its position in them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.fusion import K1, WHOLE_QUERY_SHARE, B

GATHER_SHARE = 0.2
"""Filters that keep a smaller share of the rows compare a copy of these only; above it, copying
costs more than comparing all (measured at 10,000 and 100,000 vectors)."""

NO_KEY = 0
"""For a shared tool's team, a missing category or a missing vector; primary keys begin at 1."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Positions = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, eq=False)
class Postings:
    """Inverted index: the tools whose texts contain each lexeme, by the lexeme's key.

    Attributes:
        keys: Hash of each lexeme, ascending, shape (k,).
        starts: Where each lexeme's postings begin, and the end, shape (k + 1,).
        tools: Position of the tool, ascending within a lexeme, shape (p,), int32.
        frequencies: Occurrences, each weighted by its field, shape (p,), float32.
        in_name: Whether the tool's name or title contains it, shape (p,).
    """

    keys: Ints
    starts: Ints
    tools: NDArray[np.int32]
    frequencies: NDArray[np.float32]
    in_name: NDArray[np.bool_]

    @staticmethod
    def from_rows(
        keys: Ints,
        tools: Positions,
        frequencies: NDArray[np.float32],
        in_name: NDArray[np.bool_],
    ) -> Postings:
        """Build the inverted index from parallel arrays with one row per tool and lexeme."""
        order = np.lexsort((tools, keys))
        keys = keys[order]
        firsts = np.flatnonzero(np.diff(keys, prepend=keys[:1] - 1))
        return Postings(
            keys=keys[firsts],
            starts=np.append(firsts, len(keys)),
            tools=tools[order].astype(np.int32),
            frequencies=frequencies[order],
            in_name=in_name[order],
        )

    def find_spans(self, wanted: Sequence[int]) -> list[tuple[int, int]]:
        """Return the start and end of each lexeme's postings; empty for unknown lexemes."""
        if not len(self.keys):
            return [(0, 0)] * len(wanted)
        at = np.searchsorted(self.keys, np.asarray(wanted, dtype=np.int64))
        at = np.minimum(at, len(self.keys) - 1)
        known = self.keys[at] == wanted
        return [
            (int(self.starts[i]), int(self.starts[i + 1])) if is_known else (0, 0)
            for i, is_known in zip(at, known, strict=True)
        ]

    @property
    def nbytes(self) -> int:
        """Size of the arrays in bytes."""
        arrays = (self.keys, self.starts, self.tools, self.frequencies, self.in_name)
        return sum(array.nbytes for array in arrays)


@dataclass(frozen=True, kw_only=True)
class SearchFilter:
    """Restricts a search, by primary keys.

    Attributes:
        team: The caller's team, which sees its own tools and the shared ones.
        within: The only tools that exist for the caller; None: all that its team sees.
        server: Only tools of this server.
        category: Only tools of this category.
        excluded: Tools to leave out.
    """

    team: int | None = None
    within: frozenset[int] | None = None
    server: int | None = None
    category: int | None = None
    excluded: frozenset[int] = frozenset()


@dataclass(frozen=True, kw_only=True)
class RankingPreference:
    """The weights of the evidence.

    Attributes:
        dense: Per unit of cosine.
        lexical: Per unit of BM25.
        affinity: For a tool of a preferred server.
        servers: Primary keys of the preferred servers.
    """

    dense: float
    lexical: float
    affinity: float = 0.0
    servers: frozenset[int] = frozenset()


@dataclass(frozen=True, kw_only=True)
class IndexHit:
    """A found tool with its evidence.

    Attributes:
        tool_pk: Primary key.
        similarity: In [-1, 1]; None if the query or the tool has no vector.
        bm25: Not negative.
        in_name: Keys of the query's lexemes in its name or title.
        in_text: Keys of those found only in the rest of its text.
    """

    tool_pk: int
    similarity: float | None
    bm25: float
    in_name: frozenset[int]
    in_text: frozenset[int]


@dataclass(frozen=True, kw_only=True, eq=False)
class SearchIndex:
    """Active and enabled tools of enabled servers, n of them, ascending by primary key.

    Attributes:
        model: The model of the vectors.
        tools: Primary keys, shape (n,).
        servers: Primary key of each tool's server.
        categories: Primary key of its category, or `NO_KEY`.
        teams: Primary key of its server's team, or `NO_KEY`.
        texts: Hash of the text whose words are indexed; 0 if none is yet.
        lengths: Sum of the frequencies of its lexemes, float64.
        embeddings: Primary key of its vector, or `NO_KEY`.
        vectors: Shape (n, d), float32, norm 1; zeros if there is none.
        postings: The inverted index.
        server_names: Primary key of each server by name.
        category_names: Primary key of each category by name.
        derived_cache: Values that readers derived from the arrays, under keys of their own;
            lives as long as the index and is not part of its value.
    """

    model: str
    tools: Ints
    servers: Ints
    categories: Ints
    teams: Ints
    texts: Ints
    lengths: Floats
    embeddings: Ints
    vectors: NDArray[np.float32]
    postings: Postings
    server_names: Mapping[str, int] = field(default_factory=dict)
    category_names: Mapping[str, int] = field(default_factory=dict)
    derived_cache: dict[Any, Any] = field(default_factory=dict, repr=False)

    @property
    def nbytes(self) -> int:
        """Size in bytes, without names and derived values."""
        columns = (self.tools, self.servers, self.categories, self.teams, self.texts)
        rest = (self.lengths, self.embeddings, self.vectors, self.postings)
        return sum(array.nbytes for array in (*columns, *rest))

    @cached_property
    def _has_team_tools(self) -> bool:
        return bool((self.teams != NO_KEY).any())

    @cached_property
    def is_embedded(self) -> NDArray[np.bool_]:
        """Whether each tool has a vector, shape (n,)."""
        return np.asarray(self.embeddings != NO_KEY)

    def find_best(
        self,
        lexemes: Sequence[int],
        *,
        vectors: NDArray[np.float32] | None,
        only: SearchFilter,
        preference: RankingPreference,
        limit: int,
    ) -> list[IndexHit]:
        """Find the tools with the highest weighted sum of the evidence; see `measure`.

        Args:
            lexemes: As in `measure`.
            vectors: Likewise.
            only: Likewise.
            preference: Likewise.
            limit: Maximum number of hits.

        Returns:
            Best first; ties by primary key.
        """
        measured = self.measure(lexemes, vectors=vectors, only=only, preference=preference)
        return measured.describe(measured.find_best(limit))

    def measure(
        self,
        lexemes: Sequence[int],
        *,
        vectors: NDArray[np.float32] | None,
        only: SearchFilter,
        preference: RankingPreference,
    ) -> MeasuredTools:
        """Measure the evidence of every tool for a query; exact.

        The similarity is the cosine with the query; with several sentences, the mean of that and
        of the cosine with the best-matching sentence. Word rarity and mean text length come from
        all tools visible to the caller, not only from those that pass the filter.

        Complexity: O(n · d) for meaning, and the postings of the query's lexemes for words.

        Args:
            lexemes: Keys of the query's lexemes, each once.
            vectors: Shape (k, d), norm 1: the whole query, then its sentences if it has several;
                None: compare words only.
            only: Restricts the search.
            preference: The weights of the evidence.

        References:
            Robertson & Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond (2009).
        """
        seen = self.visible_mask(only.team, within=only.within)
        kept = self._select_filtered(only, seen)
        spans = self.postings.find_spans(lexemes)
        bm25 = self._score_bm25(spans, seen)[kept]
        totals = preference.lexical * bm25
        eligible = bm25 > 0
        similarity = None
        if vectors is not None and vectors.shape[1] == self.vectors.shape[1]:
            similarity = self._score_similarity(vectors, kept)
            totals += preference.dense * similarity
            eligible |= self.is_embedded[kept]
        if preference.servers:
            totals += preference.affinity * np.isin(self.servers[kept], list(preference.servers))
        if only.excluded:
            eligible &= ~np.isin(self.tools[kept], list(only.excluded))
        return MeasuredTools(
            index=self,
            positions=np.arange(len(self.tools))[kept],
            lexemes=lexemes,
            spans=spans,
            totals=totals,
            eligible=eligible,
            bm25=bm25,
            similarity=similarity,
        )

    def visible_mask(
        self, team: int | None, *, within: Collection[int] | None = None
    ) -> NDArray[np.bool_] | None:
        """Return a mask of the tools visible to a team (its own and shared ones); None: all.

        Args:
            team: Primary key of the team; None: shared tools only.
            within: The only tools that exist for the caller; None: all that the team sees.
        """
        seen = None
        if self._has_team_tools:
            seen = np.isin(self.teams, (NO_KEY, team or NO_KEY))
        if within is None:
            return seen
        inside = np.isin(self.tools, np.fromiter(within, dtype=np.int64, count=len(within)))
        return inside if seen is None else seen & inside

    def _select_filtered(self, only: SearchFilter, seen: NDArray[np.bool_] | None) -> Any:
        """Return an index (slice or positions) of the tools that pass the filter."""
        kept = seen
        for column, wanted in ((self.servers, only.server), (self.categories, only.category)):
            if wanted is not None:
                kept = column == wanted if kept is None else kept & (column == wanted)
        return slice(None) if kept is None else np.flatnonzero(kept)

    def _score_bm25(
        self, spans: Sequence[tuple[int, int]], seen: NDArray[np.bool_] | None
    ) -> Floats:
        """Return the BM25 of every tool."""
        size = len(self.tools) if seen is None else int(seen.sum())
        scores = np.zeros(len(self.tools))
        norms = self._length_norms if seen is None else _compute_length_norms(self.lengths, seen)
        for start, end in spans:
            tools = self.postings.tools[start:end]
            frequencies = self.postings.frequencies[start:end]
            if seen is not None:
                visible = seen[tools]
                tools, frequencies = tools[visible], frequencies[visible]
            if len(tools):
                rarity = np.log(1 + (size - len(tools) + 0.5) / (len(tools) + 0.5))
                scores[tools] += rarity * (K1 + 1) * frequencies / (frequencies + norms[tools])
        return scores

    @cached_property
    def _length_norms(self) -> Floats:
        return _compute_length_norms(self.lengths, None)

    def _score_similarity(self, queries: NDArray[np.float32], kept: Any) -> Floats:
        if isinstance(kept, slice):
            cosines = self.vectors @ queries.T
        elif len(kept) < GATHER_SHARE * len(self.tools):
            cosines = self.vectors[kept] @ queries.T
        else:
            cosines = (self.vectors @ queries.T)[kept]
        # In this order BLAS does not pack all vectors anew: 1 ms less at 10,000 tools.
        cosines = np.ascontiguousarray(cosines.T)
        whole: Floats = cosines[0].astype(np.float64)
        if len(cosines) == 1:
            return whole
        share = WHOLE_QUERY_SHARE
        return np.asarray(share * whole + (1 - share) * cosines[1:].max(axis=0))

    def split_matched_lexemes(
        self, lexemes: Sequence[int], spans: Sequence[tuple[int, int]], at: Positions
    ) -> list[tuple[frozenset[int], frozenset[int]]]:
        """Return each tool's matched lexemes: in its name, and only in the rest of its text."""
        matched: list[tuple[set[int], set[int]]] = [(set(), set()) for _ in at]
        for lexeme, (start, end) in zip(lexemes, spans, strict=True):
            if start == end:
                continue
            tools = self.postings.tools[start:end]
            found = np.minimum(np.searchsorted(tools, at), len(tools) - 1)
            for row in np.flatnonzero(tools[found] == at):
                is_name = self.postings.in_name[start + found[row]]
                matched[row][0 if is_name else 1].add(lexeme)
        return [(frozenset(names), frozenset(rest)) for names, rest in matched]


@dataclass(frozen=True, kw_only=True, eq=False)
class MeasuredTools:
    """The m tools of an index that pass a filter, with their evidence for a query.

    Attributes:
        index: The index.
        positions: Their positions in it, ascending, shape (m,).
        lexemes: Keys of the query's lexemes.
        spans: Start and end of each lexeme's postings.
        totals: Weighted sums of the evidence, shape (m,).
        eligible: Whether each may be found, shape (m,).
        bm25: Shape (m,).
        similarity: In [-1, 1], shape (m,); None: meaning was not compared.
    """

    index: SearchIndex
    positions: Positions
    lexemes: Sequence[int]
    spans: Sequence[tuple[int, int]]
    totals: Floats
    eligible: NDArray[np.bool_]
    bm25: Floats
    similarity: Floats | None

    def find_best(self, limit: int) -> Positions:
        """Return the rows of the best tools, best first; ties by primary key."""
        return _top_positions(self.totals, self.eligible, limit)

    def list_tools(self, rows: Positions) -> list[int]:
        """Return the primary keys of rows."""
        pks: list[int] = self.index.tools[self.positions[rows]].tolist()
        return pks

    def append_likeliest(
        self, rows: Positions, log_odds: Mapping[int, float], limit: int
    ) -> Positions:
        """Return rows, followed by the likeliest other tools that may be found.

        Args:
            rows: Rows of tools.
            log_odds: Of tools by primary key.
            limit: Maximum number of others.
        """
        pks = self.index.tools[self.positions]
        is_other = np.isin(pks, np.fromiter(log_odds, dtype=np.int64, count=len(log_odds)))
        is_other &= self.eligible
        is_other[rows] = False
        others = np.flatnonzero(is_other)
        order = np.argsort([-log_odds[pk] for pk in pks[others].tolist()], kind="stable")
        return np.concatenate((rows, others[order[:limit]]))

    def describe(self, rows: Positions) -> list[IndexHit]:
        """Return rows as hits, in their order."""
        index, similarity, at = self.index, self.similarity, self.positions[rows]
        matched = index.split_matched_lexemes(self.lexemes, self.spans, at)
        return [
            IndexHit(
                tool_pk=int(index.tools[position]),
                similarity=(
                    float(similarity[row])
                    if similarity is not None and index.is_embedded[position]
                    else None
                ),
                bm25=float(self.bm25[row]),
                in_name=names,
                in_text=rest,
            )
            for row, position, (names, rest) in zip(rows, at, matched, strict=True)
        ]


def _compute_length_norms(lengths: Floats, seen: NDArray[np.bool_] | None) -> Floats:
    """Return the BM25 length normalisation of each tool."""
    counted = lengths if seen is None else lengths[seen]
    counted = counted[counted > 0]
    mean = max(float(counted.mean()), 1.0) if len(counted) else 1.0
    return np.asarray(K1 * (1 - B + B * lengths / mean))


def _top_positions(totals: Floats, eligible: NDArray[np.bool_], limit: int) -> Positions:
    """Return the positions of the highest eligible values, in order, ties by position."""
    totals = np.where(eligible, totals, -np.inf)
    at = np.arange(len(totals))
    if len(totals) > limit:
        at = np.flatnonzero(totals >= np.partition(totals, len(totals) - limit)[-limit])
    at = at[np.argsort(-totals[at], kind="stable")][:limit]
    return at[np.isfinite(totals[at])]
