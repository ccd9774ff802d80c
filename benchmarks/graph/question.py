"""The input that every library gets, the tasks on it, and their timing.

Imported by the Python of every peer, so it uses only the standard library.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

LEAST = 0.5
RELATED = 3
DAMPING = 0.85
ACCURACY = 1e-6
"""Largest allowed sum of the absolute errors of all ranks."""
LARGE = 500_000
"""Arcs beyond which a task is timed once instead of several times."""
REPEATS = 5
UPDATES = 200


@dataclass(frozen=True, kw_only=True)
class Question:
    """A graph, and the queries on it.

    Attributes:
        tools: Number of tools, which are numbered from 0.
        sources: Source of each arc.
        targets: Target of each arc.
        weights: Confidence of each arc, in (0, 1].
        pairs: Pairs of tools to find a path between.
        seeds: Sets of tools to find related tools for.
    """

    tools: int
    sources: list[int]
    targets: list[int]
    weights: list[float]
    pairs: list[list[int]]
    seeds: list[list[int]]

    @property
    def repeats(self) -> int:
        """How often a slow task is timed."""
        return 1 if len(self.sources) > LARGE else REPEATS

    def write(self, file: Path) -> None:
        """Write it to a file for other processes."""
        file.write_text(json.dumps(asdict(self)))


def answer(way: Callable[[Question], dict[str, Any]]) -> None:
    """Run as a program: read the input file, write the results."""
    file, result = map(Path, sys.argv[1:])
    result.write_text(json.dumps(way(Question(**json.loads(file.read_text())))))


def measure_ms(work: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Return the median duration in milliseconds, and the last result."""
    taken, result = [], None
    for _ in range(repeats):
        result = None
        gc.collect()
        began = time.perf_counter()
        result = work()
        taken.append(1_000 * (time.perf_counter() - began))
    return statistics.median(taken), result


def measure_each_us(ask: Callable[[Any], Any], questions: Iterable[Any]) -> tuple[float, float]:
    """Return p50 and p95 in microseconds of a second pass over the queries."""
    every: Sequence[Any] = list(questions)
    for question in every:
        ask(question)
    taken = []
    for question in every:
        began = time.perf_counter()
        ask(question)
        taken.append(1e6 * (time.perf_counter() - began))
    taken.sort()
    return taken[len(taken) // 2], taken[int(0.95 * len(taken))]


def resident_mb() -> float:
    """Return the resident memory of this process, in MB; 0 if unknown."""
    status = Path("/proc/self/status")
    if not status.exists():
        return 0.0
    lines = status.read_text().splitlines()
    return next(int(line.split()[1]) / 1_024 for line in lines if line.startswith("VmRSS"))
