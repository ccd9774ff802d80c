"""Statistics of the tools that past runs called: nearest runs, popularity, co-calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Positions = NDArray[np.intp]

CLOSE, WIDER = 0.05, 0.1  # widths of the two kernels over cosines of runs
RARE_SMOOTHING = 3.0
"""Added to a tool's run count in co-call shares: few runs carry little information."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PastCalls:
    """The distinct tools of n past runs, u tools wide.

    Attributes:
        runs: Run of each of the p calls, ascending, shape (p,).
        tools: Tool of each call, ascending within a run, shape (p,).
        starts: First call of each run, and the end, shape (n + 1,).
        width: Number of tools, u.
    """

    runs: Positions
    tools: Positions
    starts: Positions
    width: int

    @classmethod
    def from_runs(cls, called: Sequence[Positions], *, width: int) -> PastCalls:
        """Build from the distinct tools of each run, ascending, each below `width`."""
        lengths = [len(tools) for tools in called]
        return cls(
            runs=np.repeat(np.arange(len(called)), lengths),
            tools=np.concatenate([np.zeros(0, dtype=np.intp), *called]),
            starts=np.concatenate(([0], np.cumsum(lengths))).astype(np.intp),
            width=width,
        )

    def tools_of_run(self, run: int) -> Positions:
        """Return the tools of a run."""
        return self.tools[self.starts[run] : self.starts[run + 1]]

    @cached_property
    def call_counts(self) -> Doubles:
        """Number of runs that called each tool, shape (u,)."""
        return np.bincount(self.tools, minlength=self.width).astype(np.float64)

    def counts_without(self, own: int) -> Doubles:
        """Return the number of runs that called each tool, leaving one run out."""
        counts = self.call_counts.copy()
        counts[self.tools_of_run(own)] -= 1
        return counts

    def vote_shares(self, similarity: Floats, *, width: float, own: int | None) -> Doubles:
        """Return the similarity-weighted share of runs that called each tool, shape (u,)."""
        weights = np.exp((similarity - similarity.max()) / np.float32(width)).astype(np.float64)
        if own is not None:
            weights[own] = 0
        votes = np.bincount(self.tools, weights[self.runs], minlength=self.width)
        return np.asarray(votes / max(float(weights.sum()), 1e-9))

    def nearest_similarity(self, similarity: Floats) -> Doubles:
        """Return the similarity of the nearest run with each tool, at least 0; shape (u,)."""
        nearest = np.zeros(self.width)
        order, used, starts = self._runs_by_tool
        if len(used):
            nearest[used] = np.maximum.reduceat(similarity[self.runs[order]], starts)
        return np.maximum(nearest, 0)

    def co_call_scores(self, wanted: Doubles, *, own: int | None) -> Doubles:
        """Return how often each tool is called together with wanted tools, shape (u,).

        The mean, weighted by `wanted`, of the share of a wanted tool's runs that called the tool.

        Args:
            wanted: Scores of the tools in [0, 1], shape (u,).
            own: The run to leave out of every count; None: none.
        """
        first, second, shares = self._co_call_shares
        sums = np.bincount(second, wanted[first] * shares, minlength=self.width)
        scores: Doubles = np.asarray(sums, dtype=np.float64)
        if own is not None:
            self._subtract_run(scores, wanted, own)
        return np.asarray(scores / (float(wanted.sum()) + 0.3))

    @cached_property
    def _runs_by_tool(self) -> tuple[Positions, Positions, Positions]:
        order = np.argsort(self.tools, kind="stable")
        used, starts = np.unique(self.tools[order], return_index=True)
        return order, used, starts

    @cached_property
    def _co_call_shares(self) -> tuple[Positions, Positions, Doubles]:
        """Pairs of tools called in one run, ascending, and the share of the first's runs."""
        lengths = np.diff(self.starts)
        partners = lengths[self.runs]
        first = np.repeat(np.arange(len(self.tools)), partners)
        offset = np.arange(len(first)) - np.repeat(np.cumsum(partners) - partners, partners)
        second = self.starts[self.runs[first]] + offset
        differ = first != second
        keys = self.tools[first[differ]] * self.width + self.tools[second[differ]]
        distinct, counts = np.unique(keys, return_counts=True)
        left, right = np.divmod(distinct, max(self.width, 1))
        return left, right, counts / (self.call_counts[left] + RARE_SMOOTHING)

    def _subtract_run(self, scores: Doubles, wanted: Doubles, own: int) -> None:
        first, second, shares = self._co_call_shares
        own_tools = self.tools_of_run(own)
        for tool in own_tools.tolist():
            span = slice(*np.searchsorted(first, (tool, tool + 1)))
            partners, share, runs = second[span], shares[span], self.call_counts[tool]
            counts = share * (runs + RARE_SMOOTHING) - np.isin(partners, own_tools)
            scores[partners] += wanted[tool] * (counts / (runs - 1 + RARE_SMOOTHING) - share)
