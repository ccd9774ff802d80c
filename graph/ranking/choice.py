"""Learn how one of several alternatives is chosen: the conditional logit, fitted towards a prior.

The alternatives of one choice are rows of features; the probability of each is a softmax over
them. A feature that is the same for all alternatives of a choice tells nothing, so features are
scaled and never centred.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Group = tuple[NDArray[np.floating], NDArray[np.floating]]
"""Features (m, f) of m alternatives, and the share of each in what was chosen (m,), summing 1."""

MAX_STEPS = 40
SMALLEST_STEP = 1e-4
ENOUGH = 1e-5
"""Newton stops where a step gains less than this share of the loss."""

BLOCK_ROWS = 32_768
"""Rows whose part of the Hessian is computed at once: bounds the memory of a fit."""


def fit_choice(
    groups: Sequence[Group],
    *,
    prior: ArrayLike,
    scale: ArrayLike,
    l2: float,
    weights: Sequence[float] | None = None,
) -> Floats:
    """Fit the coefficients of a conditional logit: maximum a posteriori, damped Newton.

    The loss is convex; steps are halved until they improve it, because whole ones overshoot from
    a prior far off. Without groups the prior is returned.

    Complexity: O(n · f²) a step for n alternatives in all; mostly under ten steps.

    Args:
        groups: One for each choice: the features of its alternatives, shape (m, f), and how the
            choice went, shape (m,), not negative, sum 1 (several alternatives may be as good).
        prior: Mean of the coefficients, per scaled feature, shape (f,).
        scale: What each feature is divided by, positive, shape (f,).
        l2: Precision of the prior, positive: the higher, the nearer the fit stays to it.
        weights: How much each choice counts, not negative; None: all once.

    Returns:
        Coefficients per scaled feature, shape (f,).

    Raises:
        ValueError: If shapes do not fit together.

    Example:
        >>> nearer = (np.array([[1.0], [0.0]]), np.array([1.0, 0.0]))
        >>> bool(fit_choice([nearer] * 9, prior=[0.0], scale=[1.0], l2=1.0)[0] > 1)
        True

    References:
        McFadden, Conditional logit analysis of qualitative choice behavior (1974).
    """
    mean = np.asarray(prior, dtype=np.float64)
    if not groups:
        return mean.copy()
    choices = _Choices.of(groups, scale=np.asarray(scale, dtype=np.float64), weights=weights)
    return _newton(choices, mean, l2)


def probabilities(
    features: NDArray[np.floating], coefficients: ArrayLike, scale: ArrayLike
) -> Floats:
    """Return how likely each alternative of one choice is.

    Args:
        features: Shape (m, f), not scaled.
        coefficients: As `fit_choice` returns them, shape (f,).
        scale: The same that they were fitted with, shape (f,).

    Returns:
        Shape (m,), in [0, 1], sum 1; empty where there is no alternative.
    """
    if not len(features):
        return np.zeros(0)
    utilities = features @ (np.asarray(coefficients) / np.asarray(scale))
    worth = np.exp(utilities - utilities.max())
    return np.asarray(worth / worth.sum(), dtype=np.float64)


def _newton(choices: _Choices, mean: Floats, l2: float) -> Floats:
    """Minimise the loss and the distance to the prior's mean."""

    def loss(at: Floats) -> float:
        return choices.loss(at) + 0.5 * l2 * float((at - mean) @ (at - mean))

    found, lowest = mean.copy(), loss(mean)
    for _ in range(MAX_STEPS):
        gradient, hessian = choices.derivatives(found)
        gradient += l2 * (found - mean)
        direction = np.linalg.solve(hessian + l2 * np.eye(len(mean)), gradient)
        expected, step = float(gradient @ direction), 1.0
        reached = loss(found - direction)
        while reached > lowest - SMALLEST_STEP * step * expected and step > SMALLEST_STEP:
            step /= 2
            reached = loss(found - step * direction)
        if reached >= lowest:
            break
        found = found - step * direction
        gain, lowest = lowest - reached, reached
        if gain < ENOUGH * abs(lowest):
            break
    return found


@dataclass(frozen=True, kw_only=True, eq=False)
class _Choices:
    """All alternatives of all choices, beneath each other.

    Attributes:
        rows: Scaled features, shape (n, f), float32.
        starts: Where the alternatives of each choice begin, ascending, shape (g,).
        sizes: How many each has, positive, shape (g,).
        targets: Share of each in what was chosen, times the choice's weight, shape (n,).
        weights: Of each choice, shape (g,).
    """

    rows: NDArray[np.float32]
    starts: NDArray[np.intp]
    sizes: NDArray[np.intp]
    targets: Floats
    weights: Floats

    @classmethod
    def of(
        cls, groups: Sequence[Group], *, scale: Floats, weights: Sequence[float] | None
    ) -> _Choices:
        sizes = np.array([len(features) for features, _ in groups], dtype=np.intp)
        if not sizes.all():
            raise ValueError("a choice needs at least one alternative")
        weight = np.ones(len(groups)) if weights is None else np.asarray(weights, dtype=float)
        rows = np.concatenate([features for features, _ in groups]).astype(np.float32)
        targets = np.concatenate([target for _, target in groups]).astype(np.float64)
        if rows.shape != (len(targets), len(scale)) or len(weight) != len(groups):
            raise ValueError("features, targets, scale and weights are of different lengths")
        rows /= scale.astype(np.float32)
        starts = np.r_[0, np.cumsum(sizes)[:-1]].astype(np.intp)
        return cls(
            rows=rows,
            starts=starts,
            sizes=sizes,
            targets=targets * np.repeat(weight, sizes),
            weights=weight,
        )

    def loss(self, coefficients: Floats) -> float:
        """Return the weighted negative log likelihood."""
        utilities = self._utilities(coefficients)
        highest = np.maximum.reduceat(utilities, self.starts)
        worth = np.exp(utilities - np.repeat(highest, self.sizes))
        log_sums = highest + np.log(np.add.reduceat(worth, self.starts))
        return float(self.weights @ log_sums - self.targets @ utilities)

    def derivatives(self, coefficients: Floats) -> tuple[Floats, Floats]:
        """Return gradient (f,) and Hessian (f, f) of the loss."""
        likely = self._probabilities(coefficients)
        count = self.rows.shape[1]
        gradient, hessian = np.zeros(count), np.zeros((count, count))
        for first, last in self._blocks():
            begin = self.starts[first]
            end = self.starts[last - 1] + self.sizes[last - 1]
            rows = self.rows[begin:end].astype(np.float64)
            weight = self.weights[first:last]
            weighted = rows * likely[begin:end, None]
            means = np.add.reduceat(weighted, self.starts[first:last] - begin, axis=0)
            gradient += weight @ means - self.targets[begin:end] @ rows
            weighted *= np.repeat(weight, self.sizes[first:last])[:, None]
            hessian += weighted.T @ rows - (means * weight[:, None]).T @ means
        return gradient, hessian

    def _utilities(self, coefficients: Floats) -> Floats:
        return (self.rows @ coefficients.astype(np.float32)).astype(np.float64)

    def _probabilities(self, coefficients: Floats) -> Floats:
        utilities = self._utilities(coefficients)
        highest = np.maximum.reduceat(utilities, self.starts)
        worth = np.exp(utilities - np.repeat(highest, self.sizes))
        return np.asarray(worth / np.repeat(np.add.reduceat(worth, self.starts), self.sizes))

    def _blocks(self) -> Iterator[tuple[int, int]]:
        """Cut the choices into runs of at most so many rows, one choice at least."""
        first, count = 0, len(self.starts)
        while first < count:
            last = int(np.searchsorted(self.starts, self.starts[first] + BLOCK_ROWS, side="left"))
            last = max(first + 1, min(last, count))
            yield first, last
            first = last
