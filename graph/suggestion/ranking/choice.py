"""Fit a conditional logit, which models the choice among alternatives, towards a prior.

The alternatives of one choice are rows of features; their probabilities are a softmax. A feature
that is equal for all alternatives carries no information, so features are scaled but not centred.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
ChoiceGroup = tuple[NDArray[np.floating], NDArray[np.floating]]
"""Features (m, f) of m alternatives, and target shares (m,) that sum to 1."""

MAX_STEPS = 40
MIN_STEP = 1e-4
MIN_GAIN = 1e-5
"""Newton stops when a step reduces the loss by less than this share."""

BLOCK_ROWS = 32_768
"""Rows per block of the Hessian's computation; bounds the memory of a fit."""


def fit_choice(
    groups: Sequence[ChoiceGroup],
    *,
    prior: ArrayLike,
    scale: ArrayLike,
    l2: float,
    weights: Sequence[float] | None = None,
) -> Floats:
    """Fit the coefficients of a conditional logit: maximum a posteriori, damped Newton.

    The loss is convex; steps are halved until they improve it, because full steps overshoot from
    a distant prior. Without groups the prior is returned.

    Complexity: O(n · f²) per step for n alternatives in total; usually fewer than ten steps.

    Args:
        groups: One per choice: the features of its alternatives, shape (m, f), and the target
            shares, shape (m,), non-negative, sum 1 (several alternatives may be equally good).
        prior: Mean of the coefficients, per scaled feature, shape (f,).
        scale: Divisor of each feature, positive, shape (f,).
        l2: Precision of the prior, positive: the higher, the nearer the fit stays to it.
        weights: Weight of each choice, non-negative; None: 1 each.

    Returns:
        Coefficients per scaled feature, shape (f,).

    Raises:
        ValueError: If shapes do not match.

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
    choices = _StackedChoices.stack(
        groups, scale=np.asarray(scale, dtype=np.float64), weights=weights
    )
    return _minimize_by_newton(choices, mean, l2)


def choice_probabilities(
    features: NDArray[np.floating], coefficients: ArrayLike, scale: ArrayLike
) -> Floats:
    """Return the probability of each alternative of one choice.

    Args:
        features: Unscaled, shape (m, f).
        coefficients: As `fit_choice` returns them, shape (f,).
        scale: The scale used in fitting, shape (f,).

    Returns:
        Shape (m,), in [0, 1], sum 1; empty without alternatives.
    """
    if not len(features):
        return np.zeros(0)
    utilities = features @ (np.asarray(coefficients) / np.asarray(scale))
    weights = np.exp(utilities - utilities.max())
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def _minimize_by_newton(choices: _StackedChoices, mean: Floats, l2: float) -> Floats:
    """Minimise the loss plus the penalised distance from the prior's mean."""

    def loss(point: Floats) -> float:
        return choices.compute_loss(point) + 0.5 * l2 * float((point - mean) @ (point - mean))

    best, best_loss = mean.copy(), loss(mean)
    for _ in range(MAX_STEPS):
        gradient, hessian = choices.compute_derivatives(best)
        gradient += l2 * (best - mean)
        direction = np.linalg.solve(hessian + l2 * np.eye(len(mean)), gradient)
        expected_gain, step = float(gradient @ direction), 1.0
        new_loss = loss(best - direction)
        while new_loss > best_loss - MIN_STEP * step * expected_gain and step > MIN_STEP:
            step /= 2
            new_loss = loss(best - step * direction)
        if new_loss >= best_loss:
            break
        best = best - step * direction
        gain, best_loss = best_loss - new_loss, new_loss
        if gain < MIN_GAIN * abs(best_loss):
            break
    return best


@dataclass(frozen=True, kw_only=True, eq=False)
class _StackedChoices:
    """The alternatives of all choices, stacked.

    Attributes:
        rows: Scaled features, shape (n, f), float32.
        starts: First row of each choice, ascending, shape (g,).
        sizes: Number of alternatives of each choice, positive, shape (g,).
        targets: Target share of each alternative times the choice's weight, shape (n,).
        weights: Weight of each choice, shape (g,).
    """

    rows: NDArray[np.float32]
    starts: NDArray[np.intp]
    sizes: NDArray[np.intp]
    targets: Floats
    weights: Floats

    @classmethod
    def stack(
        cls, groups: Sequence[ChoiceGroup], *, scale: Floats, weights: Sequence[float] | None
    ) -> _StackedChoices:
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

    def compute_loss(self, coefficients: Floats) -> float:
        """Return the weighted negative log likelihood."""
        utilities = self._compute_utilities(coefficients)
        highest = np.maximum.reduceat(utilities, self.starts)
        exponentials = np.exp(utilities - np.repeat(highest, self.sizes))
        log_sums = highest + np.log(np.add.reduceat(exponentials, self.starts))
        return float(self.weights @ log_sums - self.targets @ utilities)

    def compute_derivatives(self, coefficients: Floats) -> tuple[Floats, Floats]:
        """Return gradient (f,) and Hessian (f, f) of the loss."""
        probabilities = self._compute_probabilities(coefficients)
        count = self.rows.shape[1]
        gradient, hessian = np.zeros(count), np.zeros((count, count))
        for first, last in self._iterate_blocks():
            begin = self.starts[first]
            end = self.starts[last - 1] + self.sizes[last - 1]
            rows = self.rows[begin:end].astype(np.float64)
            weight = self.weights[first:last]
            weighted = rows * probabilities[begin:end, None]
            means = np.add.reduceat(weighted, self.starts[first:last] - begin, axis=0)
            gradient += weight @ means - self.targets[begin:end] @ rows
            weighted *= np.repeat(weight, self.sizes[first:last])[:, None]
            hessian += weighted.T @ rows - (means * weight[:, None]).T @ means
        return gradient, hessian

    def _compute_utilities(self, coefficients: Floats) -> Floats:
        return (self.rows @ coefficients.astype(np.float32)).astype(np.float64)

    def _compute_probabilities(self, coefficients: Floats) -> Floats:
        utilities = self._compute_utilities(coefficients)
        highest = np.maximum.reduceat(utilities, self.starts)
        exponentials = np.exp(utilities - np.repeat(highest, self.sizes))
        return np.asarray(
            exponentials / np.repeat(np.add.reduceat(exponentials, self.starts), self.sizes)
        )

    def _iterate_blocks(self) -> Iterator[tuple[int, int]]:
        """Yield blocks of choices of at most `BLOCK_ROWS` rows, at least one choice each."""
        first, count = 0, len(self.starts)
        while first < count:
            last = int(np.searchsorted(self.starts, self.starts[first] + BLOCK_ROWS, side="left"))
            last = max(first + 1, min(last, count))
            yield first, last
            first = last
