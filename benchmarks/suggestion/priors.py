"""What a judged data set may know beforehand: nothing that was learned on it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graph.binding.model import BindingModel
    from graph.ranking.prior import Prior


@dataclass(frozen=True, kw_only=True, eq=False)
class Priors:
    """Where the fits begin.

    Attributes:
        name: What they were learned on, for the report.
        ranking: Of the ranking.
        binding: Of the model of bindings; None: as shipped, which never saw sets without
            arguments.
    """

    name: str
    ranking: Prior
    binding: BindingModel | None = None


def make(folder: Path, sets: Sequence[str], *, tell: Callable[[str], None]) -> None:
    """Learn, for each data set, the prior of all others, where it is not kept yet.

    Args:
        folder: Where they are kept.
        sets: Names of the data sets to leave out, each once.
        tell: Told what is done.
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
        # The ranking's comes last: where it stands, both do.
        if (binding := _binding(begun, name)).exists():
            binding.replace(_binding(folder, name))
        _place(begun, name).replace(_place(folder, name))


def load(folder: Path, data: str) -> Priors:
    """Read what a gateway may know that never saw a data set."""
    from graph.binding import model
    from graph.ranking import prior

    ranking = prior.from_json(json.loads(_place(folder, data).read_text()))
    assert data not in ranking.learned_on, f"the prior was learned on {data}"
    bound = _binding(folder, data)
    return Priors(
        name=", ".join(ranking.learned_on),
        ranking=ranking,
        binding=model.from_json(json.loads(bound.read_text())) if bound.exists() else None,
    )


def _place(folder: Path, data: str) -> Path:
    return folder / f"without_{data}.json"


def _binding(folder: Path, data: str) -> Path:
    return folder / f"binding_without_{data}.json"
