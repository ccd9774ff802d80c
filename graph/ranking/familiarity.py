"""How far past runs speak about an intent at all, and so how much to follow them.

A history of other work knows nothing of what is asked now, yet its nearest run is near by its own
measure, and a tool that no run called looks unwanted. There the models of no history are better.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from graph.ranking.calibrate import repetition
from graph.ranking.described import FEATURES
from graph.ranking.history_features import MOST_WANTED
from graph.ranking.logistic import sigmoid

SIGNALS: Final = ("nearest", "wanted", "known")
"""Similarity of the nearest run; how much the tool that history wants most is wanted, by
regression on like intents; and the share of what the text alone makes likely that some run
called."""

_NEAREST, _WANTED, _CALLS = (FEATURES.index(name) for name in ("nearest", "krr", "pop"))
_NEVER_CALLED: Final = np.log(0.75)  # `pop` is the logarithm of the calls and a half

Doubles = NDArray[np.float64]
Floats = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Gate:
    """familiarity = r + (1 - r) · sigmoid(level + wanted · signal + known · signal).

    r says how much the intent repeats the nearest past one (`calibrate.repetition`): history is
    followed in all where the same was asked before.

    Attributes:
        level: Without any signal; below 0: history is not followed then.
        wanted: Weight, not negative: the more history says, the more it is followed.
        known: Likewise.
    """

    level: float
    wanted: float
    known: float

    def __post_init__(self) -> None:
        """Check the weights.

        Raises:
            ValueError: If one is negative.
        """
        if min(self.wanted, self.known) < 0:
            raise ValueError("a weight of familiarity is negative")

    def familiarity(self, signals: Doubles) -> float:
        """Return how much to follow history against the text alone, in [0, 1].

        Args:
            signals: `SIGNALS` of the intent, shape (3,).
        """
        nearest, wanted, known = signals
        again = float(repetition(np.array([nearest]))[0])
        odds = np.array([self.level + self.wanted * wanted + self.known * known])
        return again + (1 - again) * float(sigmoid(odds)[0])


def signals(rows: Floats, likely: Doubles) -> Doubles:
    """Return `SIGNALS` of an intent, shape (3,), none negative; zeros without candidates.

    Args:
        rows: `FEATURES` of its k candidates, shape (k, f), not scaled; with history.
        likely: How likely each is by the text alone, in (0, 1), shape (k,).
    """
    if not len(rows):
        return np.zeros(len(SIGNALS))
    called = rows[:, _CALLS] > _NEVER_CALLED
    return np.array(
        [
            max(float(rows[0, _NEAREST]), 0),
            min(max(float(rows[:, _WANTED].max()), 0), MOST_WANTED),
            float(likely[called].sum() / likely.sum()),
        ]
    )
