"""Turn the features of a candidate into a calibrated chance: logistic regression with a prior."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from operator import mul
from typing import Any, Final


FEATURES: Final = (
    "sessions",
    "after_last",
    "after_two",
    "any_time",
    "next_after_last",
    "seen_last",
    "again",
    "times_since_write",
    "is_last_tool",
    "calls_since_write",
    "calls_ever",
    "tool_calls",
    "same_server",
    "after_statement",
    "calls_since_statement",
    "stated_score",
    "stated_rank",
    "stated_ever",
    "stated_share",
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
    "used_before",
    "competitors",
    "rank",
    "share_of_tool",
    "same_item",
    "last_failed",
    "last_is_write",
)
"""Names of the features, in their order."""

PRIOR_FILE: Final = "prior.json"
MAX_LOGIT = 30.0


class ChancePriorError(ValueError):
    """The shipped coefficients do not match the features; the message says where."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChanceModel:
    """A logistic model of whether a candidate comes before anything invalidates it.

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

    def estimate(self, rows: Sequence[Sequence[float]]) -> list[float]:
        """Return the chance of each row, in (0, 1)."""
        weights = [c / s for c, s in zip(self.coefficients, self.scales, strict=True)]
        base = self.intercept - sum(map(mul, weights, self.means))
        return [_sigmoid(base + sum(map(mul, weights, row))) for row in rows]


def _sigmoid(logit: float) -> float:
    return 1 / (1 + math.exp(-min(max(logit, -MAX_LOGIT), MAX_LOGIT)))


def read_chance_model(document: Mapping[str, Any]) -> ChanceModel:
    """Read coefficients.

    Raises:
        ChancePriorError: If they are of other features than `FEATURES`.
    """
    if tuple(document["features"]) != FEATURES:
        raise ChancePriorError(
            "the prior of next-call prediction is of other features; create it again with "
            "`python -m benchmarks.fit_next_call`"
        )
    return ChanceModel(
        means=tuple(map(float, document["means"])),
        scales=tuple(map(float, document["scales"])),
        coefficients=tuple(map(float, document["coefficients"])),
        intercept=float(document["intercept"]),
    )


@cache
def load_priors() -> Mapping[str, ChanceModel]:
    """Return the shipped coefficients: `cold` before any history, `learned` after some.

    Raises:
        ChancePriorError: If the file is damaged.
    """
    text = (
        resources.files("graph.suggestion.next_call")
        .joinpath(PRIOR_FILE)
        .read_text(encoding="utf-8")
    )
    return {name: read_chance_model(part) for name, part in json.loads(text)["models"].items()}
