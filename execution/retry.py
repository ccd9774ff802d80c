"""Retry policy: which failed calls are retried, and when."""

from __future__ import annotations

from typing import Final

from tools.upstream import errors

DELAYS_S: Final = (1.0, 2.0, 4.0)
"""Delay before each retry; doubling leaves time for a restarting server."""
JITTER: Final = 0.25
"""Fraction of a delay by which it is randomised, so that simultaneous failures retry apart."""
DEFAULT_WINDOW_S: Final = 30.0
"""Seconds within which retries may begin if neither the call nor its server sets a limit."""

_BUSY_STATUSES: Final = frozenset({429, 502, 503, 504})
"""HTTP statuses that signal a temporary condition of the server or a proxy."""
_TRANSPORT_ERRORS: Final = (
    errors.ConnectionLost,
    errors.ConnectTimedOut,
    errors.ServerExited,
    errors.ServerStopped,
    errors.SessionExpired,
    errors.ServerUnreachable,
)
_UNSENT_ERRORS: Final = (
    errors.InvalidAddress,
    errors.CircuitOpen,
    errors.ConnectTimedOut,
    errors.DefinitionChanged,
    errors.ForbiddenAddress,
    errors.SignInRequired,
    errors.SignInUnavailable,
    errors.SpawnFailed,
    errors.TooManySessions,
    errors.ServerUnreachable,
    errors.UnknownServer,
    errors.UnsetVariable,
)


def is_transient(error: BaseException) -> bool:
    """Whether a call failed in transport, so that a retry may succeed.

    False if the server answered or the call timed out (what was slow once is slow again), and
    while the server's circuit breaker is open.
    """
    if isinstance(error, errors.HttpRefused):
        return error.status in _BUSY_STATUSES
    return isinstance(error, _TRANSPORT_ERRORS)


def may_have_run(error: BaseException) -> bool:
    """Whether a call that failed this way may still have taken effect.

    False if it was never sent, or if the server refused it.
    """
    if not isinstance(error, errors.UpstreamError):
        return isinstance(error, TimeoutError)
    return not error.is_unsent and not isinstance(error, (*_UNSENT_ERRORS, errors.UpstreamRefused))


def choose_delay_s(failure_count: int, *, chance: float) -> float | None:
    """Return the delay before the next retry; None: no further retry.

    Args:
        failure_count: Failed attempts so far, from 1.
        chance: Uniformly distributed in [0, 1).

    Example:
        >>> (choose_delay_s(1, chance=0.5), choose_delay_s(3, chance=0.0),
        ...  choose_delay_s(4, chance=0.5))
        (1.0, 3.0, None)
    """
    if failure_count > len(DELAYS_S):
        return None
    return DELAYS_S[failure_count - 1] * (1 - JITTER + 2 * JITTER * chance)
