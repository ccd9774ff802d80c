"""The catalogue as arrays: every vector and every posting, compared exactly in memory.

A value: whoever keeps one current makes the next from it and swaps them whole. Tools are known
by position; what the arrays hold of each stands side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.ranking import K1, WHOLE_QUERY_SHARE, B

GATHER_SHARE = 0.2
"""Filters that keep less than this share compare only those rows: copying them costs more than
reading past the others from there on (measured at 10,000 and 100,000 vectors)."""

NOBODY = 0
"""Team of a shared tool, category of one without, vector of one not embedded: keys begin at 1."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Positions = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, eq=False)
class Postings:
    """Which tools hold which lexemes, by the lexeme's key.

    Attributes:
        keys: Hash of each lexeme, ascending, shape (k,).
        starts: Where each lexeme's postings begin, and the end, shape (k + 1,).
        tools: Position of the tool, ascending within a lexeme, shape (p,), int32.
        frequencies: Occurrences, each weighted by its field, shape (p,), float32.
        in_name: Whether the tool's name or title holds it, shape (p,).
    """

    keys: Ints
    starts: Ints
    tools: NDArray[np.int32]
    frequencies: NDArray[np.float32]
    in_name: NDArray[np.bool_]

    def spans(self, wanted: Sequence[int]) -> list[tuple[int, int]]:
        """Return where the postings of lexemes begin and end; unknown ones are empty."""
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
        """Memory it takes."""
        arrays = (self.keys, self.starts, self.tools, self.frequencies, self.in_name)
        return sum(array.nbytes for array in arrays)


@dataclass(frozen=True, kw_only=True)
class Filter:
    """Which tools may be found, all by primary key.

    Attributes:
        team: The caller's team; sees its own tools beside the shared ones.
        server: Only this server's.
        category: Only this category's.
        without: Tools left out.
    """

    team: int | None = None
    server: int | None = None
    category: int | None = None
    without: frozenset[int] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Preference:
    """What is added up to rank tools.

    Attributes:
        dense: Per unit of cosine.
        lexical: Per unit of BM25.
        affinity: For a tool of a server that is preferred.
        servers: Primary keys of those servers.
    """

    dense: float
    lexical: float
    affinity: float = 0.0
    servers: frozenset[int] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Found:
    """What speaks for one tool.

    Attributes:
        tool_pk: Primary key.
        similarity: In [-1, 1]; None where the query or the tool has no vector.
        bm25: Not negative.
        in_name: Keys of the query's lexemes that its name or title holds.
        elsewhere: Keys of those that only the rest of its text holds.
    """

    tool_pk: int
    similarity: float | None
    bm25: float
    in_name: frozenset[int]
    elsewhere: frozenset[int]


@dataclass(frozen=True, kw_only=True, eq=False)
class SearchIndex:
    """Active and enabled tools of enabled servers, n of them, ascending by primary key.

    Attributes:
        model: The model of the vectors.
        tools: Primary keys, shape (n,).
        servers: Primary key of each tool's server.
        categories: Of its category, or `NOBODY`.
        teams: Of its server's team, or `NOBODY`.
        texts: Hash of the text whose words are indexed; 0 where none is yet.
        lengths: Sum of the frequencies of its lexemes, float64.
        embeddings: Primary key of its vector, or `NOBODY`.
        vectors: Shape (n, d), float32, norm 1; zeros where there is none.
        postings: The inverted index.
        server_names: Primary key of each server by name.
        category_names: Primary key of each category by name.
        derived: What readers worked out from the arrays once, by keys of their own; it lives as
            long as the index and is no part of its value.
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
    derived: dict[Any, Any] = field(default_factory=dict, repr=False)

    @property
    def nbytes(self) -> int:
        """Memory it takes, but for names and what is derived."""
        columns = (self.tools, self.servers, self.categories, self.teams, self.texts)
        rest = (self.lengths, self.embeddings, self.vectors, self.postings)
        return sum(array.nbytes for array in (*columns, *rest))

    @cached_property
    def _is_private(self) -> bool:
        return bool((self.teams != NOBODY).any())

    @cached_property
    def _is_embedded(self) -> NDArray[np.bool_]:
        return np.asarray(self.embeddings != NOBODY)

    def best(
        self,
        lexemes: Sequence[int],
        *,
        vectors: NDArray[np.float32] | None,
        only: Filter,
        preference: Preference,
        limit: int,
    ) -> list[Found]:
        """Find the tools with the highest weighted sum of the evidence; exact.

        The similarity is the cosine with the query; with several sentences it is the mean of
        that and of the cosine with the sentence that fits best. How rare a word is, and how long
        texts are, is taken from all tools the caller may see, not from those a filter leaves.

        Complexity: O(n · d) for meaning, and the postings of the query's lexemes for words.

        Args:
            lexemes: Keys of the query's lexemes, each once.
            vectors: Shape (k, d), norm 1: the whole query, then its sentences if it has several;
                None: meaning is not compared.
            only: Which tools may be found.
            preference: What is added up.
            limit: Tools to return at most.

        Returns:
            Best first; ties by primary key.

        References:
            Robertson & Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond (2009).
        """
        seen = self.visible(only.team)
        kept = self._kept(only, seen)
        spans = self.postings.spans(lexemes)
        bm25 = self._bm25(spans, seen)[kept]
        worth = preference.lexical * bm25
        eligible = bm25 > 0
        similarity = None
        if vectors is not None and vectors.shape[1] == self.vectors.shape[1]:
            similarity = self._similarity(vectors, kept)
            worth += preference.dense * similarity
            eligible |= self._is_embedded[kept]
        if preference.servers:
            worth += preference.affinity * np.isin(self.servers[kept], list(preference.servers))
        if only.without:
            eligible &= ~np.isin(self.tools[kept], list(only.without))
        chosen = _highest(worth, eligible, limit)
        at = np.arange(len(self.tools))[kept][chosen]
        held = self._held(lexemes, spans, at)
        return [
            Found(
                tool_pk=int(self.tools[position]),
                similarity=(
                    float(similarity[row])
                    if similarity is not None and self._is_embedded[position]
                    else None
                ),
                bm25=float(bm25[row]),
                in_name=names,
                elsewhere=rest,
            )
            for row, position, (names, rest) in zip(chosen, at, held, strict=True)
        ]

    def visible(self, team: int | None) -> NDArray[np.bool_] | None:
        """Tell which tools a team sees, its own and the shared; None: every one."""
        if not self._is_private:
            return None
        return np.isin(self.teams, (NOBODY, team or NOBODY))

    def _kept(self, only: Filter, seen: NDArray[np.bool_] | None) -> Any:
        """Return what selects the tools that pass the filter."""
        kept = seen
        for column, wanted in ((self.servers, only.server), (self.categories, only.category)):
            if wanted is not None:
                kept = column == wanted if kept is None else kept & (column == wanted)
        return slice(None) if kept is None else np.flatnonzero(kept)

    def _bm25(self, spans: Sequence[tuple[int, int]], seen: NDArray[np.bool_] | None) -> Floats:
        """Return the BM25 of every tool."""
        size = len(self.tools) if seen is None else int(seen.sum())
        scores = np.zeros(len(self.tools))
        norms = self._norms if seen is None else _norms(self.lengths, seen)
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
    def _norms(self) -> Floats:
        return _norms(self.lengths, None)

    def _similarity(self, queries: NDArray[np.float32], kept: Any) -> Floats:
        if isinstance(kept, slice):
            cosines = queries @ self.vectors.T
        elif len(kept) < GATHER_SHARE * len(self.tools):
            cosines = queries @ self.vectors[kept].T
        else:
            cosines = (queries @ self.vectors.T)[:, kept]
        whole: Floats = cosines[0].astype(np.float64)
        if len(cosines) == 1:
            return whole
        share = WHOLE_QUERY_SHARE
        return np.asarray(share * whole + (1 - share) * cosines[1:].max(axis=0))

    def _held(
        self, lexemes: Sequence[int], spans: Sequence[tuple[int, int]], at: Positions
    ) -> list[tuple[frozenset[int], frozenset[int]]]:
        """Tell which lexemes each tool holds: in its name, and in the rest of its text only."""
        held: list[tuple[set[int], set[int]]] = [(set(), set()) for _ in at]
        for lexeme, (start, end) in zip(lexemes, spans, strict=True):
            if start == end:
                continue
            tools = self.postings.tools[start:end]
            found = np.minimum(np.searchsorted(tools, at), len(tools) - 1)
            for row in np.flatnonzero(tools[found] == at):
                is_name = self.postings.in_name[start + found[row]]
                held[row][0 if is_name else 1].add(lexeme)
        return [(frozenset(names), frozenset(rest)) for names, rest in held]


def _norms(lengths: Floats, seen: NDArray[np.bool_] | None) -> Floats:
    """Return what BM25 adds to each tool's frequencies for the length of its text."""
    counted = lengths if seen is None else lengths[seen]
    counted = counted[counted > 0]
    mean = max(float(counted.mean()), 1.0) if len(counted) else 1.0
    return np.asarray(K1 * (1 - B + B * lengths / mean))


def _highest(worth: Floats, eligible: NDArray[np.bool_], limit: int) -> Positions:
    """Return the positions of the highest eligible values, in order, ties by position."""
    worth = np.where(eligible, worth, -np.inf)
    at = np.arange(len(worth))
    if len(worth) > limit:
        at = np.flatnonzero(worth >= np.partition(worth, len(worth) - limit)[-limit])
    at = at[np.argsort(-worth[at], kind="stable")][:limit]
    return at[np.isfinite(worth[at])]
