"""Simulates policies for the threshold of speculation against the best fixed threshold."""

from __future__ import annotations

from benchmarks import tables
from benchmarks.thresholds.scenarios import SCENARIOS
from benchmarks.thresholds.simulate import HORIZONS, Summary, simulate
from learning.thresholds.named import COMPARED_POLICIES, make_policy

SEEDS = range(1_000, 1_020)
"""Not those that the constants of the policy were chosen with (0 to 9)."""
HEADINGS = (
    "scenario",
    "policy",
    "success",
    "lowest, mean of seeds",
    "lowest, worst seed",
    "coverage at 400",
    *(f"regret {horizon:,}" for horizon in HORIZONS),
)


def run() -> str:
    """Return a table of all scenarios and policies."""
    rows = [
        _make_row(simulate(name, make_policy(policy), seeds=SEEDS))
        for name in SCENARIOS
        for policy in COMPARED_POLICIES
    ]
    return tables.markdown(HEADINGS, rows)


def _make_row(one: Summary) -> tuple[str, ...]:
    return (
        one.scenario,
        one.policy,
        *(
            "" if share is None else f"{share:.3f}"
            for share in (one.success, one.lowest_mean, one.lowest_worst)
        ),
        "" if one.coverage is None else f"{one.coverage:.0%}",
        *(f"{regret:.0f}" for regret in one.regrets),
    )
