"""The jobs of the evaluation: each is one history of one data set, independent of the others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from benchmarks.suggestion.folds import FOLDS

SIZES: dict[str, tuple[int | None, ...]] = {
    "ultratool": (0, 50, 200, 800, None),
    "tmdb": (0, 20, 40),
    "nestful": (0, 20, 50, None),
    "bfcl_multiturn": (0, 20, None),
}
"""Numbers of past runs by data set; None: all of the other folds."""
SINGLES = ((50, 8),)
"""Single histories of ultratool: number of past runs, and number of such histories."""
SHIFTED = ("nestful", (0, 5, 20, 50, 140))
"""A set whose file begins with other work than it ends with, and the numbers of past runs."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One history.

    Attributes:
        kind: "fold", "single" or "shift".
        data: Name of the data set.
        runs: Past runs; None: all of the other folds.
        part: Number of the fold that is asked, or of the single history.
    """

    kind: str
    data: str
    runs: int | None
    part: int

    @property
    def name(self) -> str:
        """Return a name for people and files."""
        runs = "all" if self.runs is None else self.runs
        return f"{self.data}-{self.kind}-{runs}-{self.part}"

    def as_json(self) -> dict[str, object]:
        """Return its fields."""
        return asdict(self)


def jobs() -> Iterator[Job]:
    """Yield all jobs, grouped by set, the longest first."""
    for data, sizes in SIZES.items():
        for runs in sorted(sizes, key=lambda size: -(10**9 if size is None else size)):
            for fold in range(FOLDS):
                yield Job(kind="fold", data=data, runs=runs, part=fold)
        if data == "ultratool":
            yield from _singles(data)
        if data == SHIFTED[0]:
            for size in SHIFTED[1]:
                yield Job(kind="shift", data=data, runs=size, part=0)


def _singles(data: str) -> Iterator[Job]:
    for runs, count in SINGLES:
        for draw in range(count):
            yield Job(kind="single", data=data, runs=runs, part=draw)
