"""Resolved predictions for tests of policies."""

import random

from learning.memory.context import ContextKey
from learning.prediction import ResolvedPrediction

KEY = ContextKey(context=11, domain=1)
SIBLING = ContextKey(context=12, domain=1)
FOREIGN = ContextKey(context=21, domain=2)


def resolved(confidence=0.8, *, succeeded=True, key=KEY, **given):
    values = {"weight": 1.0, "at": 0.0, "team": None}
    return ResolvedPrediction(
        confidence=confidence, succeeded=succeeded, context=key, **{**values, **given}
    )


def stream(count, chance, *, key=KEY, seed=1):
    """Return predictions of which each succeeds with the chance of its confidence."""
    rng = random.Random(seed)  # noqa: S311 - repeatable
    found = []
    for number in range(count):
        confidence = rng.uniform(0.5, 1.0)
        found.append(
            resolved(
                confidence, succeeded=rng.random() < chance(confidence), key=key, at=float(number)
            )
        )
    return found


def observe(tracker, predictions):
    for one in predictions:
        tracker.observe(one)
    return tracker
