"""Clauses of past intents as examples of requests for a tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from graph.suggestion.ranking.tool_view import compare_vectors

ALIGNMENT_WIDTH: Final = 0.05
VOTE_WIDTH: Final = 0.04
MAX_VOTING_CLAUSES: Final = 50
"""Limit of past clauses that vote on a clause. All others only add to the total, so a vote is
small if many similar clauses asked for other tools."""

Floats = NDArray[np.float32]
Positions = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, eq=False)
class ClauseExemplars:
    """The p clauses of r past intents, aligned with the tools called.

    Equal clauses share a vector: people ask for the same things in the same words.

    Attributes:
        vectors: Vectors of the distinct clauses, norm 1, shape (k, d).
        vector_of: Vector of each clause, shape (p,).
        starts: First clause of each intent, and the end, shape (r + 1,).
        entry_starts: First entry of each clause, and the end, shape (p + 1,).
        entry_tools: Tool of each entry, below `width`, int32.
        entry_weights: Share of the tool's call explained by the clause; sums to 1 per tool over
            the clauses of an intent.
        width: Number of tools, u.
    """

    vectors: Floats
    vector_of: Positions
    starts: Positions
    entry_starts: Positions
    entry_tools: NDArray[np.int32]
    entry_weights: Floats
    width: int

    @classmethod
    def align(
        cls, clauses: Sequence[Floats], called: Sequence[Positions], vectors: Floats
    ) -> ClauseExemplars:
        """Align the clauses of past intents with the tools their runs called.

        A tool is distributed over the clauses of its own intent by a softmax of their similarity.

        Args:
            clauses: Clause vectors of each intent, shape (c, d).
            called: Distinct tools of each run, as rows of `vectors`.
            vectors: Vectors of the tools, shape (u, d); zeros if a tool has none.
        """
        lengths = [len(rows) for rows in clauses]
        aligned = [
            _align_clauses(rows, vectors[tools])
            for rows, tools in zip(clauses, called, strict=True)
        ]
        entries = np.repeat([len(tools) for tools in called], lengths)
        tools = [np.tile(found, count) for found, count in zip(called, lengths, strict=True)]
        none = np.zeros(0, dtype=np.float32)
        distinct, vector_of = _share_equal_rows(
            np.concatenate([np.zeros((0, vectors.shape[1]), np.float32), *clauses])
        )
        return cls(
            vectors=distinct,
            vector_of=vector_of,
            starts=np.concatenate(([0], np.cumsum(lengths))).astype(np.intp),
            entry_starts=np.concatenate(([0], np.cumsum(entries))).astype(np.intp),
            entry_tools=np.concatenate([none, *tools]).astype(np.int32),
            entry_weights=np.concatenate([none, *(weights.ravel() for weights in aligned)]),
            width=len(vectors),
        )

    def compute_cosines(self, clauses: Floats) -> Floats:
        """Return the cosines of clauses, shape (c, d), with all p."""
        return compare_vectors(clauses, self.vectors)[:, self.vector_of]

    def compute_votes(self, cosines: Floats, *, own: int | None = None) -> Floats:
        """Return the votes of similar past clauses for tools, per clause of an intent.

        Args:
            cosines: From `compute_cosines`, shape (c, p).
            own: The past intent that the clauses belong to, which has no vote; None: a new one.

        Returns:
            Shares in [0, 1], shape (c, u).
        """
        if own is not None:
            cosines = cosines.copy()
            cosines[:, self.starts[own] : self.starts[own + 1]] = -np.inf
        best = cosines.max(axis=1, initial=-np.inf, keepdims=True)
        votes = np.zeros((len(cosines), self.width), dtype=np.float32)
        if not np.isfinite(best).all():
            return votes
        weights = np.exp((cosines - best) / np.float32(VOTE_WIDTH))
        near = _nearest_columns(cosines)
        share = np.take_along_axis(weights, near, axis=1) / weights.sum(axis=1, keepdims=True)
        return self._sum_votes_by_tool(near, share)

    def _sum_votes_by_tool(self, near: Positions, share: Floats) -> Floats:
        """Sum the votes of the nearest clauses by tool."""
        begin, end = self.entry_starts[near.ravel()], self.entry_starts[near.ravel() + 1]
        counts = end - begin
        first = np.repeat(begin - np.concatenate(([0], np.cumsum(counts)[:-1])), counts)
        entries = first + np.arange(len(first))
        clause = np.repeat(np.arange(near.size) // near.shape[1], counts)
        cells = clause * self.width + self.entry_tools[entries]
        weights = np.repeat(share.ravel(), counts) * self.entry_weights[entries]
        flat = np.bincount(cells, weights, minlength=len(near) * self.width)
        return flat.reshape(len(near), self.width).astype(np.float32)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Serialize to arrays, vectors and weights in half precision."""
        return {
            "clauses": self.vectors.astype(np.float16)[self.vector_of],
            "starts": self.starts,
            "entry_starts": self.entry_starts,
            "entry_tools": self.entry_tools,
            "entry_weights": self.entry_weights.astype(np.float16),
            "width": np.array(self.width),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> ClauseExemplars:
        """Read the output of `to_arrays`."""
        distinct, vector_of = _share_equal_rows(arrays["clauses"])
        return cls(
            vectors=distinct.astype(np.float32),
            vector_of=vector_of,
            starts=arrays["starts"],
            entry_starts=arrays["entry_starts"],
            entry_tools=arrays["entry_tools"],
            entry_weights=arrays["entry_weights"].astype(np.float32),
            width=int(arrays["width"]),
        )


def _share_equal_rows(rows: NDArray[np.floating]) -> tuple[NDArray[np.floating], Positions]:
    """Return the distinct rows, shape (k, d), and the number of each row's, shape (p,)."""
    numbers: dict[bytes, int] = {}
    number_of = [numbers.setdefault(row.tobytes(), len(numbers)) for row in rows]
    positions = np.array(number_of, dtype=np.intp)
    _, firsts = np.unique(positions, return_index=True)
    return rows[firsts], positions


def _align_clauses(clauses: Floats, tools: Floats) -> Floats:
    """Return the share of each tool assigned to each clause, shape (c, tools)."""
    fit = clauses @ tools.T / np.float32(ALIGNMENT_WIDTH)
    weights = np.exp(fit - fit.max(axis=0, initial=-np.inf, keepdims=True))
    return np.asarray(weights / weights.sum(axis=0, keepdims=True))


def _nearest_columns(cosines: Floats) -> Positions:
    if cosines.shape[1] <= MAX_VOTING_CLAUSES:
        return np.broadcast_to(np.arange(cosines.shape[1]), cosines.shape)
    return np.argpartition(cosines, -MAX_VOTING_CLAUSES, axis=1)[:, -MAX_VOTING_CLAUSES:]
