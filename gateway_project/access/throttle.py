"""Throttles token guessing by counting wrong tokens per client address."""

from __future__ import annotations

import ipaddress
from collections import OrderedDict

MAX_FAILURES = 20
"""Wrong tokens per address and window before it has to wait."""
WINDOW_S = 60.0
MAX_ADDRESSES = 10_000
IPV6_PREFIX = 64
"""Length of a customer's IPv6 prefix; the customer can vary the other bits."""


class Throttle:
    """Counts failures per address in windows of fixed length; memory is bounded.

    Args:
        limit: Failures allowed within a window.
        window_s: Its length in seconds.
    """

    def __init__(self, *, limit: int = MAX_FAILURES, window_s: float = WINDOW_S) -> None:
        self._limit = limit
        self._window_s = window_s
        self._failures: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def compute_wait_s(self, address: str, *, now: float) -> float:
        """Return the seconds until an address may try again; 0: now."""
        began, count = self._failures.get(client_network(address), (now, 0))
        left_s = began + self._window_s - now
        return max(left_s, 0.0) if count >= self._limit else 0.0

    def record_failure(self, address: str, *, now: float) -> None:
        """Count a failure of an address."""
        key = client_network(address)
        began, count = self._failures.pop(key, (now, 0))
        if now - began >= self._window_s:
            began, count = now, 0
        self._failures[key] = began, count + 1
        while len(self._failures) > MAX_ADDRESSES:
            self._failures.popitem(last=False)


def client_network(address: str) -> str:
    """Return the network as which an address is counted: its IPv6 prefix, or itself.

    Example:
        >>> (client_network("2001:db8:1:2:3:4:5:6"), client_network("192.0.2.1"),
        ...  client_network("somewhere"))
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
