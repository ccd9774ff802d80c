"""Backoff with full jitter, and a circuit breaker, as immutable values.

References:
    Brooker, Exponential Backoff and Jitter, AWS Architecture Blog (2015).
    Nygard, Release It!, 2nd ed., ch. 5 (2018): the circuit breaker.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

_MAX_DOUBLINGS = 62  # keeps the power finite however long a server has been failing

CircuitState = Literal["closed", "open", "half_open"]


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """When to retry a failing server.

    Attributes:
        threshold: Consecutive failures that open the circuit.
        base_s: Upper bound of the first wait; doubles with each failure.
        cap_s: Largest upper bound of a wait.
        open_s: Seconds the circuit stays open at first; doubles each time it reopens.
        open_cap_s: Maximum seconds it stays open.
    """

    threshold: int = 5
    base_s: float = 0.5
    cap_s: float = 30.0
    open_s: float = 30.0
    open_cap_s: float = 300.0


@dataclass(frozen=True, kw_only=True)
class Circuit:
    """State of a circuit breaker.

    Attributes:
        failures: Failures since the last success.
        retry_at: Monotonic time in seconds before which no attempt is made.
        openings: Times the circuit opened since the last success; 0 is closed.
    """

    failures: int = 0
    retry_at: float = 0.0
    openings: int = 0


def circuit_state(circuit: Circuit, *, now: float) -> CircuitState:
    """Return the state of the circuit; `half_open` admits one trial connection."""
    if not circuit.openings:
        return "closed"
    return "half_open" if now >= circuit.retry_at else "open"


def retry_delay_s(circuit: Circuit, *, now: float) -> float:
    """Return the seconds until the next attempt is due; zero if it is due."""
    return max(0.0, circuit.retry_at - now)


def record_failure(circuit: Circuit, *, now: float, policy: RetryPolicy, draw: float) -> Circuit:
    """Count a failed start or a crash, and set the time of the next attempt.

    A failure in the half-open state reopens the circuit for twice as long.

    Args:
        circuit: State before the failure.
        now: Monotonic time of the failure, in seconds.
        policy: When to retry.
        draw: Random number in [0, 1), the jitter.
    """
    failed = replace(circuit, failures=circuit.failures + 1)
    if failed.failures >= policy.threshold:
        bound = _double_delay(policy.open_s, times=circuit.openings, cap=policy.open_cap_s)
        wait_s = bound * (1 + draw) / 2
        return replace(failed, openings=circuit.openings + 1, retry_at=now + wait_s)
    bound = _double_delay(policy.base_s, times=circuit.failures, cap=policy.cap_s)
    return replace(failed, retry_at=now + bound * draw)


def make_closed_circuit() -> Circuit:
    """Return a closed circuit without failures."""
    return Circuit()


def _double_delay(seconds: float, *, times: int, cap: float) -> float:
    return min(cap, seconds * 2.0 ** min(times, _MAX_DOUBLINGS))
