"""Weighted counts of outcomes by confidence, in which older outcomes count less."""

from __future__ import annotations

from typing import Final

CELLS: Final = 100
"""Cells of equal width into which confidence is divided; thresholds lie on their borders."""
MAX_SCALE: Final = 1e12
"""Scale at which the counts are normalised, far from the limits of floating point."""


def find_cell(confidence: float) -> int:
    """Return the cell of a confidence.

    Args:
        confidence: In [0, 1].

    Example:
        >>> find_cell(0.0), find_cell(0.29), find_cell(0.92), find_cell(1.0)
        (0, 29, 92, 99)
    """
    return min(CELLS - 1, int(confidence * CELLS + 1e-9))


class DecayedCounts:
    """Counts of successes and of all outcomes in each cell of confidence.

    Each outcome multiplies the counts before it by `keep`. Instead of shrinking all counts, the
    scale of new ones grows, so that adding takes constant time.

    Args:
        keep: In (0, 1]; 1: older outcomes count as much as new ones.
    """

    def __init__(self, keep: float) -> None:
        self._growth = 1.0 / keep
        self._scale = 1.0
        self._successes = [0.0] * CELLS
        self._totals = [0.0] * CELLS

    def add(self, cell: int, *, succeeded: bool, weight: float) -> None:
        """Count an outcome."""
        self._scale *= self._growth
        self._totals[cell] += weight * self._scale
        if succeeded:
            self._successes[cell] += weight * self._scale
        if self._scale > MAX_SCALE:
            self._successes, self._totals, self._scale = self.successes, self.totals, 1.0

    def read_from(self, first: int) -> tuple[list[float], list[float]]:
        """Return the successes and totals of a cell and all above it."""
        scale = self._scale
        return (
            [one / scale for one in self._successes[first:]],
            [one / scale for one in self._totals[first:]],
        )

    def replace(self, other: DecayedCounts) -> None:
        """Take over the counts of another."""
        self._successes, self._totals, self._scale = other.successes, other.totals, 1.0

    @property
    def successes(self) -> list[float]:
        """Weight of the successes in each cell."""
        return [one / self._scale for one in self._successes]

    @property
    def totals(self) -> list[float]:
        """Weight of all outcomes in each cell."""
        return [one / self._scale for one in self._totals]
