"""Compare TD(0) and prioritised replay with counting, on public sets of tool runs.

    FOREGATE_DATA=FOLDER python -m benchmarks.replay

Given a tool of a run, which one comes next? Learned from four folds, asked on the fifth.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from benchmarks import tables
from benchmarks.suggestion.folds import FOLD_SEED, FOLDS
from benchmarks.td_replay import LearningRates, PrioritizedReplay, learn_with_replay, split_run

SETS: Final = ("ultratool", "bfcl_multiturn", "tmdb", "traces_airline", "traces_retail")
RATES: Final = (0.05, 0.1, 0.3)
DISCOUNTS: Final = (0.0, 0.5)
"""For each asked fold, the pair is taken that is best on the other folds."""
REPLAYED: Final = 4
SEED: Final = 5
UNSEEN_SHARE: Final = 0.05
"""Chance given to all tools together, whatever was seen, so that log losses are finite."""

Run = tuple[str, ...]
Estimate = Callable[[str], Mapping[str, float]]
"""Returns the likely next tools of a tool, with values of which only the order counts for hits."""


def main() -> None:
    """Print the table."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    root = Path(os.environ.get("FOREGATE_DATA", ""))
    missing = [name for name in SETS if not (root / name).is_dir()]
    if missing:
        sys.exit(f"set FOREGATE_DATA to the folder of the data sets: {', '.join(missing)} missing")
    rows = [row for name in SETS for row in measure_set(name, load_runs(root / name))]
    headings = ("set", "steps", "method", "next tool first", "log loss")
    sys.stdout.write(tables.markdown(headings, rows) + "\n")


def measure_set(name: str, runs: Sequence[tuple[str, Run]]) -> Iterator[list[str]]:
    """Yield the rows of a set: counting, TD(0), and TD(0) with replay.

    Args:
        name: Of the set.
        runs: Runs with the group that keeps them in one fold.
    """
    methods: dict[str, Callable[[Sequence[Run]], list[Estimate]]] = {
        "counting": lambda history: [count_transitions(history)],
        "TD(0)": lambda history: _learn_all(history, per_step=0, exponent=0.0),
        "TD(0), replay": lambda history: _learn_all(history, per_step=REPLAYED, exponent=0.0),
        "TD(0), prioritised replay": lambda history: _learn_all(
            history, per_step=REPLAYED, exponent=0.6
        ),
    }
    tools = len({tool for _, run in runs for tool in run})
    for method, learn in methods.items():
        folds = [
            [_ask(estimate, asked, tools=tools) for estimate in learn(history)]
            for history, asked in _split(runs)
        ]
        chosen = [
            found[_choose_best([other for other in folds if other is not found])]
            for found in folds
        ]
        steps = sum(one.steps for one in chosen)
        hits = sum(one.hits for one in chosen) / steps
        loss = sum(one.log_loss for one in chosen) / steps
        yield [name, f"{steps:,}", method, f"{hits:.3f}", f"{loss:.3f}"]


class FoldFigures(NamedTuple):
    """Figures of one fold: next tools named first, the sum of log losses, and steps asked."""

    hits: int
    log_loss: float
    steps: int


def _choose_best(folds: Sequence[Sequence[FoldFigures]]) -> int:
    """Return the place of the parameters with the least log loss on some folds."""
    sums = [sum(one.log_loss for one in column) for column in zip(*folds, strict=True)]
    return sums.index(min(sums))


def count_transitions(runs: Sequence[Run]) -> Estimate:
    """Return the share of each next tool among those seen."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for run in runs:
        for step in split_run(run):
            counts[step.state][step.next_state or ""] += 1

    def estimate(tool: str) -> Mapping[str, float]:
        return counts[tool]

    return estimate


def _learn_all(history: Sequence[Run], *, per_step: int, exponent: float) -> list[Estimate]:
    return [
        learn_with_replay(
            history,
            LearningRates(rate=rate, discount=discount),
            PrioritizedReplay(seed=SEED, exponent=exponent),
            per_step=per_step,
        ).get_values
        for rate in RATES
        for discount in DISCOUNTS
    ]


def _ask(estimate: Estimate, asked: Sequence[Run], *, tools: int) -> FoldFigures:
    """Ask for each step of some runs; values are scaled to chances, the same for all methods."""
    hits, loss = 0, 0.0
    steps = [step for run in asked for step in split_run(run) if step.next_state is not None]
    for step in steps:
        values = {tool: value for tool, value in estimate(step.state).items() if tool}
        best = max(values, key=lambda tool: (values[tool], tool), default="")
        hits += best == step.next_state
        share = values.get(step.next_state or "", 0.0) / (sum(values.values()) or 1.0)
        loss -= math.log((1 - UNSEEN_SHARE) * share + UNSEEN_SHARE / tools)
    return FoldFigures(hits, loss, len(steps))


def _split(runs: Sequence[tuple[str, Run]]) -> Iterator[tuple[list[Run], list[Run]]]:
    groups = sorted({group for group, _ in runs})
    drawn = np.random.default_rng(FOLD_SEED).permutation(len(groups))
    fold_of = {group: int(drawn[at]) % FOLDS for at, group in enumerate(groups)}
    for fold in range(FOLDS):
        history = [run for group, run in runs if fold_of[group] != fold]
        asked = [run for group, run in runs if fold_of[group] == fold]
        yield history, asked


def load_runs(folder: Path) -> list[tuple[str, Run]]:
    """Return the runs of a set with their groups, in the order of the file."""
    sessions = folder / "sessions.jsonl"
    if sessions.is_file():
        rows = [json.loads(line) for line in sessions.read_text().splitlines()]
        runs = [
            (row["group"], tuple(call["tool"] for turn in row["turns"] for call in turn["calls"]))
            for row in rows
        ]
    else:
        rows = [json.loads(line) for line in (folder / "queries.jsonl").read_text().splitlines()]
        runs = [(str(row["group"]), tuple(row["gold_tools"])) for row in rows]
    return [(group, run) for group, run in runs if run]


if __name__ == "__main__":
    main()
