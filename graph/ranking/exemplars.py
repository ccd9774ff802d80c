"""Clauses of past intents as examples of what was said when a tool was called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

ALIGNMENT_WIDTH: Final = 0.05
VOTE_WIDTH: Final = 0.04
NEAREST: Final = 50
"""Past clauses that vote on a clause. The weight of all others goes into the total only: a vote
is small where much that is alike spoke of other things."""

Floats = NDArray[np.float32]
Positions = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, eq=False)
class Exemplars:
    """The p clauses of r past intents, and which tools each speaks of.

    Attributes:
        clauses: Vectors, norm 1, shape (p, d).
        starts: Where the clauses of each intent begin, and the end, shape (r + 1,).
        entry_starts: Where the entries of each clause begin, and the end, shape (p + 1,).
        entry_tools: Tool of each entry, below `width`, int32.
        entry_weights: How much of the tool's call the clause explains; 1 for a tool over the
            clauses of an intent.
        width: Tools, u.
    """

    clauses: Floats
    starts: Positions
    entry_starts: Positions
    entry_tools: NDArray[np.int32]
    entry_weights: Floats
    width: int

    @classmethod
    def of(
        cls, clauses: Sequence[Floats], called: Sequence[Positions], vectors: Floats
    ) -> Exemplars:
        """Align the clauses of past intents with the tools their runs called.

        A tool goes to the clauses its vector is near, by a softmax over the clauses of that
        intent. Nothing that another run did has a part in it.

        Args:
            clauses: Of each intent, shape (c, d).
            called: Distinct tools of each run, as rows of `vectors`.
            vectors: Of the tools, shape (u, d); zeros where a tool has none.
        """
        lengths = [len(rows) for rows in clauses]
        aligned = [
            _aligned(rows, vectors[tools]) for rows, tools in zip(clauses, called, strict=True)
        ]
        entries = np.repeat([len(tools) for tools in called], lengths)
        tools = [np.tile(found, count) for found, count in zip(called, lengths, strict=True)]
        none = np.zeros(0, dtype=np.float32)
        return cls(
            clauses=np.concatenate([np.zeros((0, vectors.shape[1]), np.float32), *clauses]),
            starts=np.concatenate(([0], np.cumsum(lengths))).astype(np.intp),
            entry_starts=np.concatenate(([0], np.cumsum(entries))).astype(np.intp),
            entry_tools=np.concatenate([none, *tools]).astype(np.int32),
            entry_weights=np.concatenate([none, *(weights.ravel() for weights in aligned)]),
            width=len(vectors),
        )

    def compare(self, clauses: Floats) -> Floats:
        """Return the cosines of clauses, shape (c, d), with all p."""
        return np.asarray(clauses @ self.clauses.T)

    def votes(self, cosines: Floats, *, own: int | None = None) -> Floats:
        """Say of each clause of an intent which tools like clauses spoke of.

        Args:
            cosines: From `compare`, shape (c, p).
            own: The past intent that they belong to, which then has no vote.

        Returns:
            Shares in [0, 1], shape (c, u).
        """
        if own is not None:
            cosines = cosines.copy()
            cosines[:, self.starts[own] : self.starts[own + 1]] = -np.inf
        best = cosines.max(axis=1, initial=-np.inf, keepdims=True)
        found = np.zeros((len(cosines), self.width), dtype=np.float32)
        if not np.isfinite(best).all():
            return found
        weights = np.exp((cosines - best) / np.float32(VOTE_WIDTH))
        near = _nearest(cosines)
        share = np.take_along_axis(weights, near, axis=1) / weights.sum(axis=1, keepdims=True)
        return self._spread(near, share)

    def _spread(self, near: Positions, share: Floats) -> Floats:
        """Add the votes of the nearest clauses up, tool by tool."""
        begin, end = self.entry_starts[near.ravel()], self.entry_starts[near.ravel() + 1]
        counts = end - begin
        first = np.repeat(begin - np.concatenate(([0], np.cumsum(counts)[:-1])), counts)
        entries = first + np.arange(len(first))
        clause = np.repeat(np.arange(near.size) // near.shape[1], counts)
        at = clause * self.width + self.entry_tools[entries]
        weights = np.repeat(share.ravel(), counts) * self.entry_weights[entries]
        flat = np.bincount(at, weights, minlength=len(near) * self.width)
        return flat.reshape(len(near), self.width).astype(np.float32)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Write it as arrays, vectors and weights in half precision."""
        return {
            "clauses": self.clauses.astype(np.float16),
            "starts": self.starts,
            "entry_starts": self.entry_starts,
            "entry_tools": self.entry_tools,
            "entry_weights": self.entry_weights.astype(np.float16),
            "width": np.array(self.width),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Exemplars:
        """Read what `to_arrays` wrote."""
        return cls(
            clauses=arrays["clauses"].astype(np.float32),
            starts=arrays["starts"],
            entry_starts=arrays["entry_starts"],
            entry_tools=arrays["entry_tools"],
            entry_weights=arrays["entry_weights"].astype(np.float32),
            width=int(arrays["width"]),
        )


def _aligned(clauses: Floats, tools: Floats) -> Floats:
    """Return the share of each tool that goes to each clause, shape (c, tools)."""
    fit = clauses @ tools.T / np.float32(ALIGNMENT_WIDTH)
    weights = np.exp(fit - fit.max(axis=0, initial=-np.inf, keepdims=True))
    return np.asarray(weights / weights.sum(axis=0, keepdims=True))


def _nearest(cosines: Floats) -> Positions:
    if cosines.shape[1] <= NEAREST:
        return np.broadcast_to(np.arange(cosines.shape[1]), cosines.shape)
    return np.argpartition(cosines, -NEAREST, axis=1)[:, -NEAREST:]
