"""Count the tool sets and call sequences of past runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Positions = NDArray[np.intp]

MAX_SET_SIZE = 6
"""Larger sets count as this size in statistics of sizes."""

ABSENT = 255
"""Position of a tool that a sequence does not call; positions above 254 count as 254."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SetHistory:
    """The tool sets of N past runs: p distinct sets of t tools, from s distinct sequences.

    Attributes:
        tools: Primary keys of the tools that runs called, ascending, shape (t,).
        holders: 1 where a set contains a tool, else 0, shape (t + 1, p); the last row represents
            tools that no run called.
        positions: Position of the first call of each tool in each sequence, or `ABSENT`, shape
            (t + 1, s).
        sequences: The distinct sequences of primary keys; a tool may repeat.
        sets: Index of each distinct set, keyed by its tools, ascending by primary key.
        set_of: Set of each run, shape (N,).
        sequence_of: Sequence of each run, shape (N,).
        set_of_sequence: Set of each sequence, shape (s,).
        counts: Runs with each set, shape (p,).
        sequence_counts: Runs with each sequence, shape (s,).
        sizes: Distinct tools of each set, shape (p,).
        size_of: Distinct tools of each run, at most `MAX_SET_SIZE`, shape (N,).
        size_counts: Runs by set size, at most `MAX_SET_SIZE`, shape (MAX_SET_SIZE + 1,).
        by_set: The runs, ordered by set, shape (N,).
        starts: First run of each set in `by_set`, shape (p,).
    """

    tools: Ints
    holders: NDArray[np.uint8]
    positions: NDArray[np.uint8]
    sequences: tuple[tuple[int, ...], ...]
    sets: Mapping[tuple[int, ...], int]
    set_of: Positions
    sequence_of: Positions
    set_of_sequence: Positions
    counts: Floats
    sequence_counts: Floats
    sizes: Floats
    size_of: Positions
    size_counts: Floats
    by_set: Positions
    starts: Positions

    @classmethod
    def from_runs(cls, runs: Sequence[tuple[int, ...]]) -> SetHistory:
        """Count the runs' sets and sequences; O(calls + t · (p + s)).

        Args:
            runs: Primary keys of the tools of each run, in order; at least one run, none empty.
        """
        keys: dict[tuple[int, ...], int] = {}
        sequence_of = np.array([keys.setdefault(run, len(keys)) for run in runs], dtype=np.intp)
        sequences = tuple(keys)
        sets: dict[tuple[int, ...], int] = {}
        set_of_sequence = np.array(
            [sets.setdefault(tuple(sorted(set(run))), len(sets)) for run in sequences],
            dtype=np.intp,
        )
        tools = np.unique(np.concatenate([np.array(run, dtype=np.int64) for run in sequences]))
        set_of = set_of_sequence[sequence_of]
        sizes = np.array([len(members) for members in sets], dtype=np.float64)
        counts = np.bincount(set_of, minlength=len(sets)).astype(np.float64)
        size_of = np.minimum(sizes, MAX_SET_SIZE).astype(np.intp)[set_of]
        return cls(
            tools=tools,
            holders=_build_membership(tools, list(sets)),
            positions=_build_positions(tools, sequences),
            sequences=sequences,
            sets=sets,
            set_of=set_of,
            sequence_of=sequence_of,
            set_of_sequence=set_of_sequence,
            counts=counts,
            sequence_counts=np.bincount(sequence_of).astype(np.float64),
            sizes=sizes,
            size_of=size_of,
            size_counts=np.bincount(size_of, minlength=MAX_SET_SIZE + 1).astype(np.float64),
            by_set=np.argsort(set_of, kind="stable"),
            starts=np.r_[0, np.cumsum(counts)[:-1]].astype(np.intp),
        )

    @property
    def run_count(self) -> int:
        """Number of runs."""
        return len(self.set_of)

    def find_rows(self, tools: NDArray[np.integer]) -> Positions:
        """Return the rows of tools in `holders` and `positions`, shape (k,)."""
        rows = np.searchsorted(self.tools, tools)
        is_known = self.tools[np.minimum(rows, len(self.tools) - 1)] == tools
        return np.where(is_known, rows, len(self.tools)).astype(np.intp)

    def members_of_set(self, which: int) -> Ints:
        """Return the tools of a set, ascending by primary key."""
        return self.tools[np.flatnonzero(self.holders[:-1, which])]

    def find_runs(self, tools: Iterable[int]) -> Positions:
        """Return the runs that called exactly these tools; empty if none did."""
        which = self.sets.get(tuple(sorted(set(tools))))
        if which is None:
            return np.zeros(0, dtype=np.intp)
        start = int(self.starts[which])
        return self.by_set[start : start + int(self.counts[which])]

    def counts_without(self, own: int | None) -> Floats:
        """Return the number of runs with each set, leaving one run out."""
        if own is None:
            return self.counts
        counts = self.counts.copy()
        counts[self.set_of[own]] -= 1
        return counts

    def size_counts_without(self, own: int | None) -> Floats:
        """Return the number of runs with a set of each size, leaving one run out."""
        if own is None:
            return self.size_counts
        counts = self.size_counts.copy()
        counts[self.size_of[own]] -= 1
        return counts

    def max_by_set(self, values: Floats) -> Floats:
        """Return the highest of per-run `values` for each set, shape (p,)."""
        return np.asarray(np.maximum.reduceat(values[self.by_set], self.starts))

    def sum_by_set(self, values: Floats) -> Floats:
        """Return the sum of per-run `values` for each set, shape (p,)."""
        return np.asarray(np.bincount(self.set_of, values, len(self.counts)), dtype=np.float64)


def _build_membership(tools: Ints, sets: Sequence[tuple[int, ...]]) -> NDArray[np.uint8]:
    holders = np.zeros((len(tools) + 1, len(sets)), dtype=np.uint8)
    for column, members in enumerate(sets):
        holders[np.searchsorted(tools, members), column] = 1
    return holders


def _build_positions(tools: Ints, sequences: Sequence[tuple[int, ...]]) -> NDArray[np.uint8]:
    positions = np.full((len(tools) + 1, len(sequences)), ABSENT, dtype=np.uint8)
    for column, sequence in enumerate(sequences):
        firsts = tuple(dict.fromkeys(sequence))
        at = np.minimum(np.arange(len(firsts)), ABSENT - 1)
        positions[np.searchsorted(tools, firsts), column] = at
    return positions
