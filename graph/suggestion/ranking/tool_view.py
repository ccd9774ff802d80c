"""The part of the catalogue that ranking reads: the tools visible to a caller, as arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from graph.suggestion.ranking.word_scores import WordScores
from tools.search_index import SearchIndex

MAX_SAMPLE = 2_000
"""With more tools, mean and deviation of cosines come from a fixed sample of this size."""

MAX_CACHED_VIEWS = 16  # views cached per index, one per team and tool group
_SEED = 7

BLOCK_ROWS = 256
"""Vectors compared at a time: 0.4 MB of 384 dimensions, which a core's cache holds. Of the whole
matrix, BLAS would first write a copy to memory, or read it once for each query."""

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Positions = NDArray[np.intp]


def compare_vectors(queries: Floats, vectors: Floats) -> Floats:
    """Compare queries, shape (q, d), with vectors, shape (n, d), all of norm 1: shape (q, n)."""
    columns = np.ascontiguousarray(queries.T)
    cosines = np.empty((len(queries), len(vectors)), dtype=np.float32)
    for start in range(0, len(vectors), BLOCK_ROWS):
        end = start + BLOCK_ROWS
        cosines[:, start:end] = (vectors[start:end] @ columns).T
    return cosines


@dataclass(frozen=True, kw_only=True, eq=False)
class ToolView:
    """The m tools of a search index that a caller sees, ascending by primary key.

    Attributes:
        index: The catalogue, with a cache of its own.
        index_positions: Positions of the tools in the index; None: all, in order.
        tools: Primary keys, shape (m,).
        servers: Primary keys of their servers, shape (m,).
        words: Their word scores.
        groups: The tools grouped by server.
        sample: Positions of the tools sampled for statistics; None: all.
        allowed: Whether each may be a candidate, shape (m,); None: all.
    """

    index: SearchIndex
    index_positions: Positions | None
    tools: Ints
    servers: Ints
    words: WordScores
    groups: ServerGroups
    sample: Positions | None
    allowed: NDArray[np.bool_] | None = None

    @classmethod
    def for_team(
        cls,
        index: SearchIndex,
        *,
        team: int | None,
        within: frozenset[int] | None = None,
        allowed: Iterable[int] | None = None,
    ) -> ToolView:
        """Return a team's view of an index.

        Statistics of words and servers are computed once per index and team and cached with the
        index: the first view of 50,000 tools takes about 0.1 s.

        Args:
            index: The catalogue.
            team: Primary key of the caller's team; None: shared tools only.
            within: Primary keys of the only tools that exist for the caller; None: all that its
                team sees.
            allowed: Primary keys of the tools that may be candidates; None: all visible ones.
        """
        visible = index.visible_mask(team, within=within)
        key = (cls, None if visible is None else team, within)
        view = index.derived_cache.get(key)
        if not isinstance(view, ToolView):
            # A copy: other threads may add views of other teams to the same index.
            if (
                sum(isinstance(kept, cls) for kept in list(index.derived_cache.values()))
                >= MAX_CACHED_VIEWS
            ):
                index.derived_cache.clear()
            # The cached view refers to the arrays alone: a cycle would outlive the index for long.
            bare = dataclasses.replace(index, derived_cache={})
            view = index.derived_cache[key] = _build_view(bare, visible)
        return view if allowed is None else view.with_allowed(allowed)

    def with_allowed(self, tools: Iterable[int]) -> ToolView:
        """Return a copy that allows only these tools, by primary key, as candidates."""
        allowed_tools = np.fromiter(tools, dtype=np.int64)
        return dataclasses.replace(self, allowed=np.isin(self.tools, allowed_tools))

    def __len__(self) -> int:
        """Number of visible tools, m, whether allowed as candidates or not."""
        return len(self.tools)

    @property
    def model(self) -> str:
        """Name of the embedding model of the vectors."""
        return self.index.model

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return int(self.index.vectors.shape[1])

    def find_positions(self, tools: Iterable[int] | Ints) -> Positions:
        """Return the position of each tool by primary key, or -1."""
        pks = tools if isinstance(tools, np.ndarray) else np.fromiter(tools, dtype=np.int64)
        if not len(self.tools):
            return np.full(len(pks), -1, dtype=np.intp)
        found = np.minimum(np.searchsorted(self.tools, pks), len(self.tools) - 1)
        return np.where(self.tools[found] == pks, found, -1)

    def vectors_at(self, positions: Positions) -> Floats:
        """Return the vectors of tools by position, shape (len(positions), d)."""
        if self.index_positions is not None:
            positions = self.index_positions[positions]
        return np.asarray(self.index.vectors[positions])

    def compute_cosines(self, queries: Floats) -> Floats:
        """Compare vectors of norm 1, shape (q, d), with every tool: shape (q, m)."""
        if not len(self):
            return np.zeros((len(queries), 0), dtype=np.float32)
        cosines = compare_vectors(queries, self.index.vectors)
        return cosines if self.index_positions is None else cosines[:, self.index_positions]

    def has_postings(self, span: tuple[int, int]) -> bool:
        """Whether a span of the index's postings names any of the tools."""
        tools = self.index.postings.tools[slice(*span)]
        if self.index_positions is None:
            return bool(len(tools))
        return bool(np.isin(tools, self.index_positions).any())

    def sample_columns(self, rows: Floats) -> Floats:
        """Return the columns, of rows over all tools, that statistics are computed from."""
        return rows if self.sample is None else rows[:, self.sample]


@dataclass(frozen=True, kw_only=True, eq=False)
class ServerGroups:
    """The s servers of m tools.

    Attributes:
        group_of: Number of each tool's server, below s, shape (m,).
        order: Positions of the tools, grouped by server, shape (m,).
        starts: First entry of each server in `order`, shape (s,).
        centroids: Mean vector of each server's tools, scaled to norm 1, shape (s, d).
    """

    group_of: Positions
    order: Positions
    starts: Positions
    centroids: Floats

    def max_by_server(self, values: Floats) -> Floats:
        """Return the highest value among the tools of each server, shape (s,)."""
        return np.asarray(np.maximum.reduceat(values[self.order], self.starts))


def _build_view(index: SearchIndex, visible: NDArray[np.bool_] | None) -> ToolView:
    positions = None if visible is None else np.flatnonzero(visible)
    tools = index.tools if positions is None else index.tools[positions]
    servers = index.servers if positions is None else index.servers[positions]
    groups = _group_by_server(servers, index.vectors, positions)
    sample = None
    if len(tools) > MAX_SAMPLE:
        drawn = np.random.default_rng(_SEED).choice(len(tools), MAX_SAMPLE, replace=False)
        sample = np.sort(drawn)
    return ToolView(
        index=index,
        index_positions=positions,
        tools=tools,
        servers=servers,
        words=WordScores.from_index(index, visible),
        groups=groups,
        sample=sample,
    )


def _group_by_server(servers: Ints, vectors: Floats, positions: Positions | None) -> ServerGroups:
    _, group_of = np.unique(servers, return_inverse=True)
    order = np.argsort(group_of, kind="stable")
    starts = np.flatnonzero(np.diff(group_of[order], prepend=-1))
    rows = order if positions is None else positions[order]
    means = np.zeros((len(starts), vectors.shape[1]), dtype=np.float32)
    for server, (start, end) in enumerate(pairwise([*starts.tolist(), len(order)])):
        means[server] = vectors[rows[start:end]].mean(axis=0)
    norms = np.linalg.norm(means, axis=1, keepdims=True)
    return ServerGroups(
        group_of=group_of,
        order=order,
        starts=starts,
        centroids=means / np.maximum(norms, 1e-9),
    )
