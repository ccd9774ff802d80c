"""Priors for the evaluation of a data set: learned on all others."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graph.suggestion.ranking.prior import Prior


@dataclass(frozen=True, kw_only=True, eq=False)
class Priors:
    """Priors that fits start from.

    Attributes:
        name: Sets that they were learned on, for the report.
        ranking: Prior of the ranking.
    """

    name: str
    ranking: Prior


def make(folder: Path, sets: Sequence[str], *, tell: Callable[[str], None]) -> None:
    """Learn for each data set the prior of all others, unless it is cached.

    Args:
        folder: Folder of the cached priors.
        sets: Names of the data sets to leave out, each once.
        tell: Called with a progress message.
    """
    begun = folder / "begun"
    wanted = [name for name in sets if not _place(folder, name).exists()]
    if not wanted:
        return
    tell(f"learning priors without {', '.join(wanted)}, each in turn")
    without = [part for name in wanted for part in ("--without", name)]
    subprocess.run(
        [sys.executable, "-m", "benchmarks.fit_prior", *without, "--to", str(begun)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    for name in wanted:
        _place(begun, name).replace(_place(folder, name))


def load(folder: Path, data: str) -> Priors:
    """Load the priors that were not learned on a data set."""
    from graph.suggestion.ranking import prior

    ranking = prior.from_json(json.loads(_place(folder, data).read_text()))
    assert data not in ranking.learned_on, f"the prior was learned on {data}"
    return Priors(name=", ".join(ranking.learned_on), ranking=ranking)


def _place(folder: Path, data: str) -> Path:
    return folder / f"without_{data}.json"
