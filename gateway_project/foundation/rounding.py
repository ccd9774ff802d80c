"""Rounds numbers without making them seem to contradict what is said of them."""

from __future__ import annotations

from typing import Final

_MAX_DIGITS: Final = 15


def round_apart(value: float, bound: float, *, digits: int = 0) -> tuple[float, float]:
    """Round a value and its bound to as few digits as keep them in their order.

    Args:
        value: A number.
        bound: What it is compared with.
        digits: Decimal places to begin with.

    Example:
        >>> round_apart(92.86, 93.0), round_apart(92.86, 92.9), round_apart(40.2, 93.0)
        ((92.9, 93.0), (92.86, 92.9), (40.0, 93.0))
    """
    for places in range(digits, _MAX_DIGITS):
        pair = round(value, places), round(bound, places)
        if (pair[0] < pair[1], pair[0] > pair[1]) == (value < bound, value > bound):
            return pair
    return value, bound
