"""The workflows that executors are compared on, as lists of each task's dependencies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

TASKS = 1_000
WIDTH = 10
REPEATS = 7


def shapes(tasks: int = TASKS) -> Mapping[str, Sequence[Sequence[int]]]:
    """Return, for each shape, the indexes of the dependencies of each task."""
    return {
        "wide: none waits": [[] for _ in range(tasks)],
        "chain: each waits for the one before": [
            [place - 1] if place else [] for place in range(tasks)
        ],
        f"layered: each waits for all {WIDTH} of the layer before": [
            list(range(first - WIDTH, first)) if (first := place // WIDTH * WIDTH) else []
            for place in range(tasks)
        ],
    }
