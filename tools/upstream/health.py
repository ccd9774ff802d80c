"""What is remembered of a server's failures, and what follows from them."""

from __future__ import annotations

from datetime import datetime, timedelta

import structlog

from tools.upstream import breaker
from tools.upstream.breaker import Circuit, Position, RetryPolicy
from tools.upstream.errors import CircuitOpen, UpstreamError
from tools.upstream.status import State
from tools.upstream.surroundings import Surroundings

log = structlog.get_logger(__name__)


class Health:
    """Keeps the circuit and the last error of one server.

    Args:
        server: Its name.
        policy: When to try again.
        surroundings: Clocks and jitter.

    Attributes:
        last_error: The last failure in one line, empty if there was none.
        last_error_at: When it happened.
    """

    def __init__(self, server: str, *, policy: RetryPolicy, surroundings: Surroundings) -> None:
        self._server = server
        self._policy = policy
        self._surroundings = surroundings
        self._circuit = Circuit()
        self.last_error = ""
        self.last_error_at: datetime | None = None

    @property
    def position(self) -> Position:
        """Whether the server may be tried."""
        return breaker.position(self._circuit, now=self._surroundings.monotonic())

    @property
    def is_broken(self) -> bool:
        """Whether it failed too often in a row."""
        return bool(self._circuit.openings)

    @property
    def delay_s(self) -> float:
        """Seconds until it may be tried again."""
        return breaker.delay_s(self._circuit, now=self._surroundings.monotonic())

    @property
    def retry_at(self) -> datetime:
        """When it may be tried again."""
        return self._surroundings.wall() + timedelta(seconds=self.delay_s)

    def answered(self) -> None:
        """Take any answer as a sign of health."""
        if self._circuit.failures:
            self._circuit = breaker.after_success()

    def failed(self, error: UpstreamError) -> State:
        """Count a failure and return the state it leads to."""
        self._circuit = breaker.after_failure(
            self._circuit,
            now=self._surroundings.monotonic(),
            policy=self._policy,
            draw=self._surroundings.rng.random(),
        )
        state: State = "open" if self.is_broken else "backoff"
        self.note(error, state=state)
        return state

    def note(self, error: UpstreamError, *, state: State) -> None:
        """Remember a failure without counting it."""
        self.last_error = str(error)
        self.last_error_at = self._surroundings.wall()
        log.warning("server failed", server=self._server, state=state, error=str(error))

    def refusal(self) -> CircuitOpen:
        """Return the error of a server that is left alone."""
        return CircuitOpen(server=self._server, last_error=self.last_error, retry_at=self.retry_at)
