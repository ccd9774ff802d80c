"""What ranking reads of the catalogue: the tools that a caller sees, as arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from graph.ranking.word_scores import WordScores
from tools.search_index import SearchIndex

SAMPLE = 2_000
"""With more tools than this, mean and deviation of cosines are those of a fixed sample."""

MAX_KEPT = 16  # views kept with one index: of that many teams
_SEED = 7

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Positions = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, eq=False)
class ToolView:
    """The m tools of a search index that a team sees, ascending by primary key.

    Attributes:
        index: The catalogue.
        at: Positions of the tools in the index; None: all, as they stand.
        tools: Primary keys, shape (m,).
        servers: Primary keys of their servers, shape (m,).
        words: What words say of them.
        groups: Their servers, and what they are about.
        mean: Mean vector of the tools, shape (d,).
        sample: Positions of the tools that stand for all in statistics; None: all.
        allowed: Which may be candidates, shape (m,); None: all.
    """

    index: SearchIndex
    at: Positions | None
    tools: Ints
    servers: Ints
    words: WordScores
    groups: Groups
    mean: Floats
    sample: Positions | None
    allowed: NDArray[np.bool_] | None = None

    @classmethod
    def of(
        cls, index: SearchIndex, *, team: int | None, allowed: Iterable[int] | None = None
    ) -> ToolView:
        """Look at an index as a team does.

        Statistics of words and servers are worked out once per index and team, and kept with
        the index: the first look at 50,000 tools costs some 0.1 s.

        Args:
            index: The catalogue.
            team: Primary key of the caller's team; None: shared tools only.
            allowed: Only these tools are ever candidates; None: every one that is seen.
        """
        visible = index.visible(team)
        key = (cls, None if visible is None else team)
        view = index.derived.get(key)
        if not isinstance(view, ToolView):
            # A copy: other threads may look at the same index for other teams.
            if sum(isinstance(kept, cls) for kept in list(index.derived.values())) >= MAX_KEPT:
                index.derived.clear()
            view = index.derived[key] = _look(index, visible)
        return view if allowed is None else view.allowing(allowed)

    def allowing(self, tools: Iterable[int]) -> ToolView:
        """Return the same with only these tools, by primary key, as candidates."""
        wanted = np.fromiter(tools, dtype=np.int64)
        return dataclasses.replace(self, allowed=np.isin(self.tools, wanted))

    def __len__(self) -> int:
        """Tools seen, m; whether they may be candidates or not."""
        return len(self.tools)

    @property
    def model(self) -> str:
        """The model of the vectors."""
        return self.index.model

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return int(self.index.vectors.shape[1])

    def find(self, tools: Iterable[int] | Ints) -> Positions:
        """Return the position of each tool by primary key, or -1."""
        wanted = tools if isinstance(tools, np.ndarray) else np.fromiter(tools, dtype=np.int64)
        if not len(self.tools):
            return np.full(len(wanted), -1, dtype=np.intp)
        found = np.minimum(np.searchsorted(self.tools, wanted), len(self.tools) - 1)
        return np.where(self.tools[found] == wanted, found, -1)

    def vectors(self, positions: Positions) -> Floats:
        """Return the vectors of tools by position, shape (len(positions), d)."""
        at = positions if self.at is None else self.at[positions]
        return np.asarray(self.index.vectors[at])

    def cosines(self, queries: Floats) -> Floats:
        """Compare vectors of norm 1, shape (q, d), with every tool: shape (q, m)."""
        if not len(self):
            return np.zeros((len(queries), 0), dtype=np.float32)
        found = queries @ self.index.vectors.T
        return found if self.at is None else found[:, self.at]

    def sampled(self, rows: Floats) -> Floats:
        """Return those columns of rows over all tools that statistics are taken from."""
        return rows if self.sample is None else rows[:, self.sample]


@dataclass(frozen=True, kw_only=True, eq=False)
class Groups:
    """The s servers of m tools.

    Attributes:
        of: Each tool's server, as a number below s, shape (m,).
        order: Positions of the tools server by server, shape (m,).
        starts: Where each server begins in `order`, shape (s,).
        sizes: Tools of each server, shape (s,).
        means: Mean vector of each server's tools, shape (s, d).
        centroids: The same, of norm 1.
    """

    of: Positions
    order: Positions
    starts: Positions
    sizes: Positions
    means: Floats
    centroids: Floats

    def highest(self, values: Floats) -> Floats:
        """Return the highest value among the tools of each server, shape (s,)."""
        return np.asarray(np.maximum.reduceat(values[self.order], self.starts))


def _look(index: SearchIndex, visible: NDArray[np.bool_] | None) -> ToolView:
    at = None if visible is None else np.flatnonzero(visible)
    tools = index.tools if at is None else index.tools[at]
    servers = index.servers if at is None else index.servers[at]
    groups = _groups(servers, index.vectors, at)
    sample = None
    if len(tools) > SAMPLE:
        drawn = np.random.default_rng(_SEED).choice(len(tools), SAMPLE, replace=False)
        sample = np.sort(drawn)
    return ToolView(
        index=index,
        at=at,
        tools=tools,
        servers=servers,
        words=WordScores.of(index, visible),
        groups=groups,
        mean=_mean(groups, len(tools)),
        sample=sample,
    )


def _groups(servers: Ints, vectors: Floats, at: Positions | None) -> Groups:
    _, of = np.unique(servers, return_inverse=True)
    order = np.argsort(of, kind="stable")
    starts = np.flatnonzero(np.diff(of[order], prepend=-1))
    rows = order if at is None else at[order]
    means = np.zeros((len(starts), vectors.shape[1]), dtype=np.float32)
    for server, (start, end) in enumerate(pairwise([*starts.tolist(), len(order)])):
        means[server] = vectors[rows[start:end]].mean(axis=0)
    norms = np.linalg.norm(means, axis=1, keepdims=True)
    return Groups(
        of=of,
        order=order,
        starts=starts,
        sizes=np.diff(starts, append=len(order)),
        means=means,
        centroids=means / np.maximum(norms, 1e-9),
    )


def _mean(groups: Groups, count: int) -> Floats:
    total = groups.sizes.astype(np.float32) @ groups.means
    return np.asarray(total / np.float32(max(count, 1)))
