"""The failure history of a server: its circuit breaker and last error."""

from __future__ import annotations

from datetime import datetime, timedelta

import structlog

from tools.upstream import breaker
from tools.upstream.breaker import Circuit, CircuitState, RetryPolicy
from tools.upstream.environment import UpstreamEnvironment
from tools.upstream.errors import CircuitOpen, UpstreamError
from tools.upstream.status import ServerState

log = structlog.get_logger(__name__)


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
        self._circuit = Circuit()
        self.last_error = ""
        self.last_error_at: datetime | None = None
        self.last_output: tuple[str, ...] = ()

    @property
    def circuit_state(self) -> CircuitState:
        """State of the circuit now."""
        return breaker.circuit_state(self._circuit, now=self._environment.monotonic())

    @property
    def is_broken(self) -> bool:
        """Whether the circuit has opened since the last answer."""
        return bool(self._circuit.openings)

    @property
    def retry_delay_s(self) -> float:
        """Seconds until the next attempt is allowed."""
        return breaker.retry_delay_s(self._circuit, now=self._environment.monotonic())

    @property
    def retry_at(self) -> datetime:
        """Time of the next allowed attempt."""
        return self._environment.wall_clock() + timedelta(seconds=self.retry_delay_s)

    def record_answer(self) -> None:
        """Close the circuit: any answer is a sign of health."""
        if self._circuit.failures:
            self._circuit = breaker.make_closed_circuit()

    def record_failure(self, error: UpstreamError) -> ServerState:
        """Count a failure and return the resulting state."""
        self._circuit = breaker.record_failure(
            self._circuit,
            now=self._environment.monotonic(),
            policy=self._policy,
            draw=self._environment.rng.random(),
        )
        state: ServerState = "open" if self.is_broken else "backoff"
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
