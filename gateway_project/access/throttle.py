"""Slows down those who guess: wrong tokens are counted by the address they come from."""

from __future__ import annotations

import ipaddress
from collections import OrderedDict

LIMIT = 20
"""Wrong tokens of one address within the window before it has to wait."""
WINDOW_S = 60.0
MAX_ADDRESSES = 10_000
IPV6_PREFIX = 64
"""Bits of an IPv6 address that one customer has; the rest is theirs to vary."""


class Throttle:
    """Counts failures by address in windows of fixed length; memory is bounded.

    Args:
        limit: Failures within a window that are let pass.
        window_s: Its length in seconds.
    """

    def __init__(self, *, limit: int = LIMIT, window_s: float = WINDOW_S) -> None:
        self._limit = limit
        self._window_s = window_s
        self._failures: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def wait_s(self, address: str, *, now: float) -> float:
        """Return how long an address has to wait before it may try again; 0: not at all."""
        began, count = self._failures.get(network(address), (now, 0))
        left_s = began + self._window_s - now
        return max(left_s, 0.0) if count >= self._limit else 0.0

    def failed(self, address: str, *, now: float) -> None:
        """Count a failure of an address."""
        key = network(address)
        began, count = self._failures.pop(key, (now, 0))
        if now - began >= self._window_s:
            began, count = now, 0
        self._failures[key] = began, count + 1
        while len(self._failures) > MAX_ADDRESSES:
            self._failures.popitem(last=False)


def network(address: str) -> str:
    """Return what of an address is counted as one.

    Example:
        >>> network("2001:db8:1:2:3:4:5:6"), network("192.0.2.1"), network("somewhere")
        ('2001:db8:1:2::', '192.0.2.1', 'somewhere')
    """
    if ":" not in address:
        return address
    try:
        whole = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    if whole.ipv4_mapped is not None:
        return str(whole.ipv4_mapped)
    shift = whole.max_prefixlen - IPV6_PREFIX
    return str(ipaddress.IPv6Address(int(whole) >> shift << shift))
