"""Turn the features of a candidate into a calibrated chance: logistic regression with a prior."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from graph.suggestion.ranking.logistic import compute_sigmoid

Floats = NDArray[np.float64]

FEATURES: Final = (
    "sessions",
    "after_last",
    "after_two",
    "any_time",
    "next_after_last",
    "seen_last",
    "again",
    "is_last_tool",
    "calls_since_write",
    "tool_calls",
    "after_statement",
    "name_overlap",
    "server_reads",
    "found_score",
    "found_ahead",
    "found_rank",
    "found_score_now",
    "found_rank_now",
    "found_sum",
    "competitors",
    "candidates",
    "arguments",
    "argument_set",
    "share_product",
    "share_least",
    "source_chance",
    "source_chance_log",
    "source_seen",
    "similarity_least",
    "similarity_mean",
    "shape_least",
    "items",
    "item_position",
    "items_used",
    "follows_used_item",
    "last_was_sibling",
    "steps_back",
    "is_newest",
    "is_stated",
    "is_stated_now",
    "from_statement",
    "from_argument",
    "from_schema",
    "times_seen",
    "is_answered",
    "same_item",
    "source_after_last",
    "source_after_logit",
    "schema_named",
    "in_order",
    "repeated",
    "rank",
    "share_of_tool",
    "expected_share",
    "planned",
    "planned_next",
    "planned_tool",
    "planned_ahead",
    "planned_best",
    "planned_logit",
)
"""Names of the features, in their order."""

PRIOR_FILE: Final = "prior.json"
DECIMALS = 5
PRIOR_NAMES: Final = ("cold", "planned", "learned")
PLANNED: Final = FEATURES.index("planned")
MAX_SCALED = 6.0
"""Bound of a scaled feature: one far outside of what was seen must not decide alone."""


class ChancePriorError(ValueError):
    """The shipped coefficients do not match the features; the message says where."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LogisticChance:
    """A logistic model over scaled features.

    Attributes:
        means: Subtracted from each feature.
        scales: Divisor of each feature after that, positive.
        coefficients: Per scaled feature.
        intercept: Log-odds of an average candidate.
    """

    means: tuple[float, ...]
    scales: tuple[float, ...]
    coefficients: tuple[float, ...]
    intercept: float

    def estimate(self, rows: Sequence[Sequence[float]] | Floats) -> list[float]:
        """Return the probability of each row, in (0, 1)."""
        if not len(rows):
            return []
        chances: list[float] = compute_sigmoid(self.compute_logits(rows)).tolist()
        return chances

    def compute_logits(self, rows: Sequence[Sequence[float]] | Floats) -> Floats:
        """Return the log-odds of each row; at least one."""
        means, scales, coefficients = _read_arrays(self)
        scaled = (np.asarray(rows) - means) / scales
        logits: Floats = np.clip(scaled, -MAX_SCALED, MAX_SCALED) @ coefficients
        return logits + self.intercept


def _read_arrays(chances: LogisticChance) -> tuple[Floats, Floats, Floats]:
    return np.array(chances.means), np.array(chances.scales), np.array(chances.coefficients)


@dataclass(frozen=True, kw_only=True, slots=True)
class ChanceModel:
    """The two chances of a candidate.

    Attributes:
        ever: That it comes before anything invalidates it.
        soon: That it is the very next thing that happens.
    """

    ever: LogisticChance
    soon: LogisticChance


def read_chances(document: Mapping[str, Any]) -> LogisticChance:
    """Read coefficients.

    Raises:
        ChancePriorError: If they are not of `FEATURES`.
    """
    chances = LogisticChance(
        means=tuple(map(float, document["means"])),
        scales=tuple(map(float, document["scales"])),
        coefficients=tuple(map(float, document["coefficients"])),
        intercept=float(document["intercept"]),
    )
    if {len(chances.means), len(chances.scales), len(chances.coefficients)} != {len(FEATURES)}:
        raise ChancePriorError(
            "the prior of next-call prediction has other features; create it again with "
            "`python -m benchmarks.fit_next_call`"
        )
    return chances


def write_chances(chances: LogisticChance) -> dict[str, Any]:
    """Serialize coefficients, rounded; the inverse of `read_chances`."""
    return {
        "means": [round(value, DECIMALS) for value in chances.means],
        "scales": [round(value, DECIMALS) for value in chances.scales],
        "coefficients": [round(value, DECIMALS) for value in chances.coefficients],
        "intercept": round(chances.intercept, DECIMALS),
    }


def read_priors(document: Mapping[str, Any]) -> Mapping[str, ChanceModel]:
    """Read the prior of each amount of history: `cold` and `learned`.

    Raises:
        ChancePriorError: If something is missing or of other features.
    """
    try:
        if tuple(document["features"]) != FEATURES:
            raise ChancePriorError(
                "the prior of next-call prediction has other features; create it again with "
                "`python -m benchmarks.fit_next_call`"
            )
        return {
            name: ChanceModel(
                ever=read_chances(document["models"][name]["ever"]),
                soon=read_chances(document["models"][name]["soon"]),
            )
            for name in PRIOR_NAMES
        }
    except (KeyError, TypeError) as error:
        raise ChancePriorError(f"the prior of next-call prediction lacks {error}") from error


@cache
def load_priors() -> Mapping[str, ChanceModel]:
    """Return the shipped coefficients, by name.

    `cold` before any history, `planned` then for suggested calls, `learned` after some history.

    Raises:
        ChancePriorError: If the file is damaged.
    """
    text = (
        resources.files("graph.suggestion.next_call")
        .joinpath(PRIOR_FILE)
        .read_text(encoding="utf-8")
    )
    return read_priors(json.loads(text))
