"""The shipped prior: coefficients learned on public data sets, by size of the history.

A model fitted on few runs stays near them; without runs they are the model. `prior.json` is
written by `python -m benchmarks.fit_prior`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from graph.suggestion.ranking.familiarity import FamiliarityGate

Floats = NDArray[np.float64]

HISTORY_SIZES: Final = (0, 5, 20, 50, 150)
"""History sizes that the prior was learned at; a history uses the nearest, on a log scale."""

DECIMALS: Final = 4
PRIOR_FILE: Final = "prior.json"


class PriorError(ValueError):
    """The prior does not match the models; the message says where."""


def find_nearest_size(runs: int) -> int:
    """Return the nearest of `HISTORY_SIZES` for a history of `runs` runs; 0 only for no runs.

    Example:
        >>> (find_nearest_size(0), find_nearest_size(1), find_nearest_size(30),
        ...  find_nearest_size(10_000))
        (0, 5, 20, 150)
    """
    if runs <= 0:
        return 0
    return min(HISTORY_SIZES[1:], key=lambda size: abs(math.log(size) - math.log(runs)))


@dataclass(frozen=True, kw_only=True, eq=False)
class LinearPrior:
    """Mean coefficients of a linear model over named features.

    Attributes:
        features: Their names, in the order of all arrays.
        means: Subtracted from each feature, shape (f,); zeros if features are not centred.
        scales: Divisor of each feature after that, positive, shape (f,).
        coefficients: By size of the history: per scaled feature, shape (f,).
        intercepts: By size of the history.
    """

    features: tuple[str, ...]
    means: Floats
    scales: Floats
    coefficients: Mapping[int, Floats]
    intercepts: Mapping[int, float]

    def coefficients_at(self, runs: int) -> Floats:
        """Return the coefficients for a history of `runs` runs, shape (f,)."""
        return self.coefficients[find_nearest_size(runs)]

    def intercept_at(self, runs: int) -> float:
        """Return the intercept for a history of `runs` runs."""
        return self.intercepts[find_nearest_size(runs)]

    def select_features(self, features: Sequence[str]) -> LinearPrior:
        """Return the prior restricted to some features, in that order.

        Raises:
            PriorError: If one of them is missing: the prior was made for another model.
        """
        index_of = {name: columns for columns, name in enumerate(self.features)}
        missing = [name for name in features if name not in index_of]
        if missing:
            raise PriorError(
                f"the prior says nothing of the features {', '.join(missing)}; create it again "
                "with `python -m benchmarks.fit_prior`"
            )
        columns = [index_of[name] for name in features]
        return LinearPrior(
            features=tuple(features),
            means=self.means[columns],
            scales=self.scales[columns],
            coefficients={size: row[columns] for size, row in self.coefficients.items()},
            intercepts=self.intercepts,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Prior:
    """The prior of all ranking models.

    Attributes:
        tools: Prior of the tool model (logistic, with intercepts).
        sets: Prior of the set model (conditional logit: neither means nor intercepts).
        order: Prior of the order model (the same for all sizes).
        calibration: By size of the history, `a` and `b` of confidence = sigmoid(a + b·logit p).
        gate: Computes the weight of history in an intent.
        learned_on: Names of the data sets.
    """

    tools: LinearPrior
    sets: LinearPrior
    order: LinearPrior
    calibration: Mapping[int, tuple[float, float]]
    gate: FamiliarityGate
    learned_on: tuple[str, ...]


@cache
def load_prior() -> Prior:
    """Return the shipped prior.

    Raises:
        PriorError: If the file is damaged.
    """
    text = (
        resources.files("graph.suggestion.ranking")
        .joinpath(PRIOR_FILE)
        .read_text(encoding="utf-8")
    )
    return from_json(json.loads(text))


def from_json(document: Mapping[str, Any]) -> Prior:
    """Read the output of `to_json`.

    Raises:
        PriorError: If something is missing, or array lengths differ.
    """
    try:
        return Prior(
            tools=_read_linear(document["tools"]),
            sets=_read_linear(document["sets"]),
            order=_read_linear(document["order"]),
            calibration={
                int(size): (float(a), float(b)) for size, (a, b) in document["calibration"].items()
            },
            gate=FamiliarityGate(**document["familiarity"]),
            learned_on=tuple(document["learned_on"]),
        )
    except PriorError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise PriorError(f"the prior lacks or misspells {error}") from error


def to_json(prior: Prior) -> dict[str, Any]:
    """Serialize a prior, rounded to `DECIMALS` digits; the inverse of `from_json`."""
    return {
        "learned_on": list(prior.learned_on),
        "tools": _linear_to_json(prior.tools),
        "sets": _linear_to_json(prior.sets),
        "order": _linear_to_json(prior.order),
        "calibration": {
            str(size): [round(value, DECIMALS) for value in pair]
            for size, pair in prior.calibration.items()
        },
        "familiarity": {
            name: round(value, DECIMALS) for name, value in asdict(prior.gate).items()
        },
    }


def _read_linear(document: Mapping[str, Any]) -> LinearPrior:
    features = tuple(document["features"])
    linear = LinearPrior(
        features=features,
        means=np.array(document["means"], dtype=np.float64),
        scales=np.array(document["scales"], dtype=np.float64),
        coefficients={
            int(size): np.array(row, dtype=np.float64)
            for size, row in document["coefficients"].items()
        },
        intercepts={int(size): float(value) for size, value in document["intercepts"].items()},
    )
    rows = [linear.means, linear.scales, *linear.coefficients.values()]
    if any(row.shape != (len(features),) for row in rows) or (linear.scales <= 0).any():
        raise PriorError(f"the prior's numbers do not fit its {len(features)} features")
    if set(linear.coefficients) != set(HISTORY_SIZES) or set(linear.intercepts) != set(
        HISTORY_SIZES
    ):
        raise PriorError(f"the prior does not speak of the history sizes {HISTORY_SIZES}")
    return linear


def _linear_to_json(linear: LinearPrior) -> dict[str, Any]:
    return {
        "features": list(linear.features),
        "means": _round_row(linear.means),
        "scales": _round_row(np.maximum(linear.scales, 10.0**-DECIMALS)),
        "coefficients": {
            str(size): _round_row(row) for size, row in sorted(linear.coefficients.items())
        },
        "intercepts": {
            str(size): round(value, DECIMALS) for size, value in sorted(linear.intercepts.items())
        },
    }


def _round_row(row: Floats) -> list[float]:
    return [round(float(value), DECIMALS) for value in row]
