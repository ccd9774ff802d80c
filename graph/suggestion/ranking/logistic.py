"""Fit logistic regression towards a prior, by Newton's method with step halving."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MAX_STEPS = 30
MIN_STEP = 1e-4
MIN_GAIN = 1e-5
"""Newton stops when a step reduces the loss by less than this share."""


def compute_sigmoid(logits: Floats) -> Floats:
    """Return probabilities in (0, 1); logits are clipped to ±30.

    Example:
        >>> compute_sigmoid(np.array([0.0]))
        array([0.5])
    """
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -30, 30))))


def compute_logit(probabilities: Floats, *, least: float = 1e-6) -> Floats:
    """Return log-odds; probabilities are clipped to [least, 1 - least]."""
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
    """Find the maximum a posteriori coefficients.

    Newton's method with step halving: a full step from a prior far away diverges.

    Args:
        rows: Shape (n, f), scaled; put a column of ones last for an intercept.
        targets: 0 or 1 (or shares of 1), shape (n,).
        prior: Prior mean of the coefficients, shape (f,).
        l2: Precision of the prior, the same for every coefficient.
        weights: Weights of the rows, non-negative, shape (n,); None: 1 each.
        offset: Log-odds added to each row, shape (n,); None: 0.

    Returns:
        Coefficients, shape (f,); the prior itself without rows.

    Complexity:
        O(n f² + f³) per step, at most `MAX_STEPS` steps; deterministic.
    """
    if not len(rows):
        return prior.copy()
    weighted = np.ones(len(rows)) if weights is None else weights
    offsets = np.zeros(len(rows)) if offset is None else offset

    def loss_at(coefficients: Floats) -> float:
        logits = rows @ coefficients + offsets
        likelihood = weighted @ (np.logaddexp(0, logits) - targets * logits)
        return float(likelihood + 0.5 * l2 * ((coefficients - prior) ** 2).sum())

    best = prior.copy()
    best_loss = loss_at(best)
    for _ in range(MAX_STEPS):
        probabilities = compute_sigmoid(rows @ best + offsets)
        gradient = rows.T @ (weighted * (probabilities - targets)) + l2 * (best - prior)
        variances = weighted * probabilities * (1 - probabilities) + 1e-9
        hessian = (rows * variances[:, None]).T @ rows + l2 * np.eye(len(best))
        step = np.linalg.solve(hessian, gradient)
        scale, gain = 1.0, float(gradient @ step)
        loss = loss_at(best - step)
        while loss > best_loss - 1e-4 * scale * gain and scale > MIN_STEP:
            scale /= 2
            loss = loss_at(best - scale * step)
        if loss >= best_loss:
            break
        best = best - scale * step
        if best_loss - loss < MIN_GAIN * abs(best_loss):
            break
        best_loss = loss
    return best
