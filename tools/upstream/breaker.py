"""The failure history of a server: backoff with full jitter, a circuit breaker, its last error.

References:
    Brooker, Exponential Backoff and Jitter, AWS Architecture Blog (2015).
    Nygard, Release It!, 2nd ed., ch. 5 (2018): the circuit breaker.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import structlog

from tools.upstream.errors import CircuitOpen, UpstreamError
from tools.upstream.status import ServerState

_MAX_DOUBLINGS = 62  # keeps the power finite however long a server has been failing

log = structlog.get_logger(__name__)


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, kw_only=True)
class UpstreamEnvironment:
    """External inputs, replaceable in tests.

    Attributes:
        wall_clock: Clock for displayed times.
        monotonic: Clock for delays, in seconds.
        rng: Source of jitter.
        environ: Environment variables, read at each start.
    """

    wall_clock: Callable[[], datetime] = _now
    monotonic: Callable[[], float] = time.monotonic
    rng: random.Random = field(default_factory=random.SystemRandom)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)


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


class ServerHealth:
    """Tracks the circuit and the last error of one server.

    Args:
        server: Its name.
        policy: When to retry.
        environment: Clocks and jitter.

    Attributes:
        last_error: The last failure in one line, or empty.
        last_error_at: When it happened.
        last_output: Output of the server before that failure.
    """

    def __init__(
        self, server: str, *, policy: RetryPolicy, environment: UpstreamEnvironment
    ) -> None:
        self._server = server
        self._policy = policy
        self._environment = environment
        self._failures = self._openings = 0  # since the last answer
        self._retry_at = 0.0  # monotonic
        self.last_error = ""
        self.last_error_at: datetime | None = None
        self.last_output: tuple[str, ...] = ()

    @property
    def has_opened(self) -> bool:
        """Whether the circuit has opened since the last answer."""
        return bool(self._openings)

    @property
    def is_suspended(self) -> bool:
        """Whether the circuit is open now; once it is over, one trial connection is admitted."""
        return self.has_opened and self.retry_delay_s > 0.0

    @property
    def retry_delay_s(self) -> float:
        """Seconds until the next attempt is allowed."""
        return max(0.0, self._retry_at - self._environment.monotonic())

    @property
    def retry_at(self) -> datetime:
        """Time of the next allowed attempt."""
        return self._environment.wall_clock() + timedelta(seconds=self.retry_delay_s)

    def record_answer(self) -> None:
        """Close the circuit: any answer is a sign of health."""
        self._failures = self._openings = 0
        self._retry_at = 0.0

    def record_failure(self, error: UpstreamError) -> ServerState:
        """Count a failed start or a crash, and return the resulting state.

        A failure of the trial connection reopens the circuit for twice as long.
        """
        policy, draw = self._policy, self._environment.rng.random()
        if self._failures + 1 >= policy.threshold:
            bound_s = _double(policy.open_s, times=self._openings, cap_s=policy.open_cap_s)
            wait_s = bound_s * (1 + draw) / 2
            self._openings += 1
        else:
            wait_s = _double(policy.base_s, times=self._failures, cap_s=policy.cap_s) * draw
        self._failures += 1
        self._retry_at = self._environment.monotonic() + wait_s
        state: ServerState = "open" if self.has_opened else "backoff"
        self.record_error(error, state=state)
        return state

    def record_error(self, error: UpstreamError, *, state: ServerState) -> None:
        """Record a failure without counting it for the circuit."""
        self.last_error = str(error)
        self.last_error_at = self._environment.wall_clock()
        self.last_output = error.output
        log.warning("server.failed", server=self._server, state=state, error=str(error))

    def make_circuit_open_error(self) -> CircuitOpen:
        """Return the error for calls while the circuit is open."""
        error = CircuitOpen(
            server=self._server, last_error=self.last_error, retry_at=self.retry_at
        )
        error.output = self.last_output
        return error


def _double(seconds: float, *, times: int, cap_s: float) -> float:
    return min(cap_s, seconds * 2.0 ** min(times, _MAX_DOUBLINGS))
