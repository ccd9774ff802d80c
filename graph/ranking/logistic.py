"""Logistic regression towards a prior, by Newton's method with step halving."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MAX_STEPS = 30
LEAST_STEP = 1e-4
LEAST_GAIN = 1e-5
"""Stop where a step lowers the loss by less than this share."""


def sigmoid(logits: Floats) -> Floats:
    """Return probabilities in (0, 1); logits beyond ±30 count as ±30.

    Example:
        >>> sigmoid(np.array([0.0]))
        array([0.5])
    """
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -30, 30))))


def logit(probabilities: Floats, *, least: float = 1e-6) -> Floats:
    """Return log-odds; probabilities are kept `least` away from 0 and 1."""
    bounded = np.clip(probabilities, least, 1 - least)
    return np.asarray(np.log(bounded / (1 - bounded)))


def fit_logistic(
    rows: Floats,
    targets: Floats,
    *,
    prior: Floats,
    l2: float,
    weights: Floats | None = None,
    offset: Floats | None = None,
) -> Floats:
    """Find the coefficients of highest posterior probability.

    Newton's method with step halving: a full step from a prior far away diverges.

    Args:
        rows: Shape (n, f), scaled; put a column of ones last for an intercept.
        targets: 0 or 1 (or shares of 1), shape (n,).
        prior: Mean of the coefficients before the rows were seen, shape (f,).
        l2: Precision of the prior, of every coefficient.
        weights: Of the rows, not negative, shape (n,); None: 1 each.
        offset: Log-odds that are given besides, shape (n,); None: 0.

    Returns:
        Coefficients, shape (f,); the prior itself where there are no rows.

    Complexity:
        O(n f² + f³) a step, at most `MAX_STEPS`; deterministic.
    """
    if not len(rows):
        return prior.copy()
    weighted = np.ones(len(rows)) if weights is None else weights
    given = np.zeros(len(rows)) if offset is None else offset

    def loss_at(at: Floats) -> float:
        logits = rows @ at + given
        likelihood = weighted @ (np.logaddexp(0, logits) - targets * logits)
        return float(likelihood + 0.5 * l2 * ((at - prior) ** 2).sum())

    found = prior.copy()
    worst = loss_at(found)
    for _ in range(MAX_STEPS):
        chance = sigmoid(rows @ found + given)
        slope = rows.T @ (weighted * (chance - targets)) + l2 * (found - prior)
        spread = weighted * chance * (1 - chance) + 1e-9
        curve = (rows * spread[:, None]).T @ rows + l2 * np.eye(len(found))
        step = np.linalg.solve(curve, slope)
        scale, gain = 1.0, float(slope @ step)
        loss = loss_at(found - step)
        while loss > worst - 1e-4 * scale * gain and scale > LEAST_STEP:
            scale /= 2
            loss = loss_at(found - scale * step)
        if loss >= worst:
            break
        found = found - scale * step
        if worst - loss < LEAST_GAIN * abs(worst):
            break
        worst = loss
    return found
