"""Rounds numbers without making them seem to contradict what is said of them."""

from __future__ import annotations

from typing import Final

_MAX_DIGITS: Final = 15


def round_apart(value: float, *bounds: float, digits: int = 0) -> tuple[float, ...]:
    """Round a value and its bounds to as few digits as keep it on its side of each.

    Args:
        value: A number.
        bounds: What it is compared with.
        digits: Decimal places to begin with.

    Example:
        >>> round_apart(92.86, 93.0), round_apart(92.86, 92.9), round_apart(40.2, 93.0)
        ((92.9, 93.0), (92.86, 92.9), (40.0, 93.0))
        >>> round_apart(69.96, 92.0, 70.0)
        (69.96, 92.0, 70.0)
    """
    for places in range(digits, _MAX_DIGITS):
        rounded, *limits = (round(one, places) for one in (value, *bounds))
        if all(
            (rounded < limit, rounded > limit) == (value < bound, value > bound)
            for limit, bound in zip(limits, bounds, strict=True)
        ):
            return rounded, *limits
    return value, *bounds
