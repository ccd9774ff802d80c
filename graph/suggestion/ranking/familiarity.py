"""Measure how familiar an intent is, which decides the weight of past runs.

A history of different work says nothing about the intent, yet its nearest run is nearest by its
own measure, and a tool that no run called looks unwanted. For such intents the models without
history are better.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from graph.suggestion.ranking.candidates import FEATURES
from graph.suggestion.ranking.history_features import MAX_WANTED, measure_repetition
from graph.suggestion.ranking.logistic import compute_sigmoid, fit_logistic

if TYPE_CHECKING:
    from graph.suggestion.ranking.candidates import Candidates

SIGNALS: Final = ("nearest", "wanted", "known")
"""Similarity of the nearest run; the highest regression score of a tool; and the share of the
text-only probability mass on tools that some run called."""

_PRIOR_PRECISION: Final = 0.02
"""Of the weights: signals differ by tenths between wishes, so that weights of 10 are usual."""

_WANTED: Final = FEATURES.index("score")

Doubles = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class FamiliarityGate:
    """familiarity = r + (1 - r) · sigmoid(level + nearest · signal + wanted · … + known · …).

    r is how much the intent repeats the nearest past one (`measure_repetition`): a repeated
    intent follows history entirely.

    Attributes:
        level: Log-odds without any signal; negative: history is mostly ignored then.
        wanted: Weight of the signal of that name, non-negative.
        known: Weight of the signal of that name, non-negative.
        nearest: Weight of the signal of that name, non-negative.
    """

    level: float
    wanted: float
    known: float
    nearest: float = 0.0

    def __post_init__(self) -> None:
        """Check the weights.

        Raises:
            ValueError: If one is negative.
        """
        if min(self.wanted, self.known, self.nearest) < 0:
            raise ValueError("a weight of familiarity is negative")

    @property
    def weights(self) -> Doubles:
        """Of each of `SIGNALS`, shape (3,)."""
        return np.array([self.nearest, self.wanted, self.known])

    def compute_familiarity(self, signals: Doubles) -> float:
        """Return the weight of history against the text alone, in [0, 1].

        Args:
            signals: `SIGNALS` of the intent, shape (3,).
        """
        repetition = float(measure_repetition(signals[:1])[0])
        odds = np.array([self.level + self.weights @ signals])
        return repetition + (1 - repetition) * float(compute_sigmoid(odds)[0])


def compute_signals(candidates: Candidates, probabilities: Doubles) -> Doubles:
    """Return `SIGNALS` of an intent, shape (3,), non-negative; zeros without candidates.

    Args:
        candidates: The k candidates, described with history.
        probabilities: Probability of each by the text alone, in (0, 1), shape (k,).
    """
    if not len(candidates.tools):
        return np.zeros(len(SIGNALS))
    return np.array(
        [
            max(candidates.nearest_similarity, 0),
            min(max(float(candidates.features[:, _WANTED].max()), 0), MAX_WANTED),
            float(probabilities[candidates.was_called].sum() / probabilities.sum()),
        ]
    )


def fit_gate(signals: Doubles, gains: Doubles, *, prior: FamiliarityGate) -> FamiliarityGate:
    """Fit when history is better than the text alone.

    Args:
        signals: `SIGNALS` of past intents, shape (n, 3).
        gains: Positive where only history was right, negative where only the text; by weight,
            shape (n,).
        prior: Gate of other catalogues.
    """
    rows = np.column_stack((signals, np.ones(len(signals))))
    coefficients = fit_logistic(
        rows,
        (gains > 0).astype(np.float64),
        prior=np.append(prior.weights, prior.level),
        l2=_PRIOR_PRECISION,
        weights=np.abs(gains),
    )
    nearest, wanted, known = np.maximum(coefficients[:-1], 0).tolist()
    return FamiliarityGate(
        level=float(coefficients[-1]), nearest=nearest, wanted=wanted, known=known
    )
