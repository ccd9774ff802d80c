"""Which tools past runs called: nearest runs, popularity, and what was called together."""

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
RARE = 3.0
"""Added to a tool's runs where its companions are counted: few runs say little."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Calls:
    """The distinct tools of n past runs, u tools wide.

    Attributes:
        runs: The run of each of the p calls, ascending, shape (p,).
        tools: The tool of each, ascending within a run, shape (p,).
        starts: Where each run begins, and the end, shape (n + 1,).
        width: Tools, u.
    """

    runs: Positions
    tools: Positions
    starts: Positions
    width: int

    @classmethod
    def of(cls, called: Sequence[Positions], *, width: int) -> Calls:
        """Take the distinct tools of each run, ascending, each below `width`."""
        lengths = [len(tools) for tools in called]
        return cls(
            runs=np.repeat(np.arange(len(called)), lengths),
            tools=np.concatenate([np.zeros(0, dtype=np.intp), *called]),
            starts=np.concatenate(([0], np.cumsum(lengths))).astype(np.intp),
            width=width,
        )

    def of_run(self, run: int) -> Positions:
        """Return the tools of a run."""
        return self.tools[self.starts[run] : self.starts[run + 1]]

    @cached_property
    def counts(self) -> Doubles:
        """Runs that called each tool, shape (u,)."""
        return np.bincount(self.tools, minlength=self.width).astype(np.float64)

    def counts_without(self, own: int) -> Doubles:
        """Return the runs that called each tool, but for one run."""
        counts = self.counts.copy()
        counts[self.of_run(own)] -= 1
        return counts

    def voted(self, similarity: Floats, *, width: float, own: int | None) -> Doubles:
        """Return the share of runs that called each tool, near ones counting more; shape (u,)."""
        weights = np.exp((similarity - similarity.max()) / np.float32(width)).astype(np.float64)
        if own is not None:
            weights[own] = 0
        votes = np.bincount(self.tools, weights[self.runs], minlength=self.width)
        return np.asarray(votes / max(float(weights.sum()), 1e-9))

    def nearest(self, similarity: Floats) -> Doubles:
        """Return the similarity of the nearest run with each tool, at least 0; shape (u,)."""
        found = np.zeros(self.width)
        order, used, starts = self._by_tool
        if len(used):
            found[used] = np.maximum.reduceat(similarity[self.runs[order]], starts)
        return np.maximum(found, 0)

    def together(self, wanted: Doubles, *, own: int | None) -> Doubles:
        """Return how much each tool is called beside tools that are wanted, shape (u,).

        The share of each tool's runs in which another was called, weighed by how much the first
        is wanted.

        Args:
            wanted: In [0, 1], shape (u,).
            own: The run to leave out of every count.
        """
        first, second, shares = self._pairs
        sums = np.bincount(second, wanted[first] * shares, minlength=self.width)
        found: Doubles = np.asarray(sums, dtype=np.float64)
        if own is not None:
            self._leave_out(found, wanted, own)
        return np.asarray(found / (float(wanted.sum()) + 0.3))

    @cached_property
    def _by_tool(self) -> tuple[Positions, Positions, Positions]:
        order = np.argsort(self.tools, kind="stable")
        used, starts = np.unique(self.tools[order], return_index=True)
        return order, used, starts

    @cached_property
    def _pairs(self) -> tuple[Positions, Positions, Doubles]:
        """Pairs of tools called in one run, ascending, and in which share of the first's runs."""
        lengths = np.diff(self.starts)
        partners = lengths[self.runs]
        first = np.repeat(np.arange(len(self.tools)), partners)
        offset = np.arange(len(first)) - np.repeat(np.cumsum(partners) - partners, partners)
        second = self.starts[self.runs[first]] + offset
        differ = first != second
        keys = self.tools[first[differ]] * self.width + self.tools[second[differ]]
        distinct, counts = np.unique(keys, return_counts=True)
        left, right = np.divmod(distinct, max(self.width, 1))
        return left, right, counts / (self.counts[left] + RARE)

    def _leave_out(self, found: Doubles, wanted: Doubles, own: int) -> None:
        first, second, shares = self._pairs
        mine = self.of_run(own)
        for tool in mine.tolist():
            span = slice(*np.searchsorted(first, (tool, tool + 1)))
            partners, share, runs = second[span], shares[span], self.counts[tool]
            counts = share * (runs + RARE) - np.isin(partners, mine)
            found[partners] += wanted[tool] * (counts / (runs - 1 + RARE) - share)
