"""What is known before any run: coefficients learned on public sets, by the size of the history.

A model fitted on few runs stays near them; without runs they are the model. The file beside this
module is made by `python -m benchmarks.fit_prior`.
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

from graph.ranking.familiarity import Gate

Floats = NDArray[np.float64]

SIZES: Final = (0, 5, 20, 50, 150)
"""Past runs that the prior was learned at; a history takes the nearest, by the logarithm."""

DECIMALS: Final = 4
FILE: Final = "prior.json"


class PriorError(ValueError):
    """A prior that does not fit the models; the message says where."""


def nearest_size(runs: int) -> int:
    """Return which of `SIZES` stands for a history of so many runs; 0 only for none.

    Example:
        >>> nearest_size(0), nearest_size(1), nearest_size(30), nearest_size(10_000)
        (0, 5, 20, 150)
    """
    if runs <= 0:
        return 0
    return min(SIZES[1:], key=lambda size: abs(math.log(size) - math.log(runs)))


@dataclass(frozen=True, kw_only=True, eq=False)
class LinearPrior:
    """Mean coefficients of a linear model over named features.

    Attributes:
        features: Their names, in the order of all arrays.
        means: What is subtracted from each feature, shape (f,); zeros where nothing is.
        scales: What each is then divided by, positive, shape (f,).
        coefficients: By size of the history, per scaled feature: shape (f,).
        intercepts: By size of the history.
    """

    features: tuple[str, ...]
    means: Floats
    scales: Floats
    coefficients: Mapping[int, Floats]
    intercepts: Mapping[int, float]

    def at(self, runs: int) -> Floats:
        """Return the coefficients for a history of so many runs, shape (f,)."""
        return self.coefficients[nearest_size(runs)]

    def intercept_at(self, runs: int) -> float:
        """Return the intercept for a history of so many runs."""
        return self.intercepts[nearest_size(runs)]

    def of(self, features: Sequence[str]) -> LinearPrior:
        """Return the same for the features named, in that order.

        Raises:
            PriorError: If one of them is unknown: the prior was made for another model.
        """
        place = {name: at for at, name in enumerate(self.features)}
        missing = [name for name in features if name not in place]
        if missing:
            raise PriorError(
                f"the prior says nothing of the features {', '.join(missing)}; "
                "make it anew with `python -m benchmarks.fit_prior`"
            )
        at = [place[name] for name in features]
        return LinearPrior(
            features=tuple(features),
            means=self.means[at],
            scales=self.scales[at],
            coefficients={size: row[at] for size, row in self.coefficients.items()},
            intercepts=self.intercepts,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Prior:
    """All that is known before any run.

    Attributes:
        tools: Of the model of single tools (logistic, with intercepts).
        sets: Of the model of tool sets (conditional logit: neither means nor intercepts).
        order: Of the model of which of two tools comes first (the same for all sizes).
        calibration: By size of the history, `a` and `b` of confidence = sigmoid(a + b·logit p).
        gate: How far to follow a history in an intent.
        learned_on: The data sets.
    """

    tools: LinearPrior
    sets: LinearPrior
    order: LinearPrior
    calibration: Mapping[int, tuple[float, float]]
    gate: Gate
    learned_on: tuple[str, ...]


@cache
def load() -> Prior:
    """Return the prior that is shipped.

    Raises:
        PriorError: If the file is damaged.
    """
    text = resources.files("graph.ranking").joinpath(FILE).read_text(encoding="utf-8")
    return from_json(json.loads(text))


def from_json(document: Mapping[str, Any]) -> Prior:
    """Read a prior.

    Raises:
        PriorError: If something is missing, or arrays are of different lengths.
    """
    try:
        return Prior(
            tools=_linear(document["tools"]),
            sets=_linear(document["sets"]),
            order=_linear(document["order"]),
            calibration={
                int(size): (float(a), float(b)) for size, (a, b) in document["calibration"].items()
            },
            gate=Gate(**document["familiarity"]),
            learned_on=tuple(document["learned_on"]),
        )
    except PriorError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise PriorError(f"the prior lacks or misspells {error}") from error


def as_json(prior: Prior) -> dict[str, Any]:
    """Write a prior, rounded: the inverse of `from_json` to `DECIMALS` digits."""
    return {
        "learned_on": list(prior.learned_on),
        "tools": _linear_json(prior.tools),
        "sets": _linear_json(prior.sets),
        "order": _linear_json(prior.order),
        "calibration": {
            str(size): [round(value, DECIMALS) for value in pair]
            for size, pair in prior.calibration.items()
        },
        "familiarity": {
            name: round(value, DECIMALS) for name, value in asdict(prior.gate).items()
        },
    }


def _linear(document: Mapping[str, Any]) -> LinearPrior:
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
    if set(linear.coefficients) != set(SIZES) or set(linear.intercepts) != set(SIZES):
        raise PriorError(f"the prior does not speak of the history sizes {SIZES}")
    return linear


def _linear_json(linear: LinearPrior) -> dict[str, Any]:
    return {
        "features": list(linear.features),
        "means": _rounded(linear.means),
        "scales": _rounded(np.maximum(linear.scales, 10.0**-DECIMALS)),
        "coefficients": {
            str(size): _rounded(row) for size, row in sorted(linear.coefficients.items())
        },
        "intercepts": {
            str(size): round(value, DECIMALS) for size, value in sorted(linear.intercepts.items())
        },
    }


def _rounded(row: Floats) -> list[float]:
    return [round(float(value), DECIMALS) for value in row]
