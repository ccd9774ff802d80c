"""Markdown tables and percentiles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def percentile(values: Iterable[float], share: float) -> float:
    """Return the nearest-rank percentile of values, `share` in [0, 1]."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def markdown(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table."""
    lines = [f"| {' | '.join(headings)} |", f"|{' --- |' * len(headings)}"]
    lines += [f"| {' | '.join(str(cell) for cell in row)} |" for row in rows]
    return "\n".join(lines)
