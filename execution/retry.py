"""Which failed calls are made again, and when."""

from __future__ import annotations

from typing import Final

from tools.upstream import errors

DELAYS_S: Final = (1.0, 2.0, 4.0)
"""Before each further attempt, doubling, so that a server that starts anew is met in time."""
SPREAD: Final = 0.25
"""Part of a delay by which it is longer or shorter by chance: calls that failed together come
back apart."""
DEFAULT_LIMIT_S: Final = 30.0
"""Seconds within which attempts begin where neither the call nor its server names a limit."""

_BUSY: Final = frozenset({429, 502, 503, 504})
"""Statuses of HTTP by which a server, or what stands before it, says that it may work later."""
_TRANSPORT: Final = (
    errors.ConnectionLost,
    errors.ConnectTimedOut,
    errors.ServerExited,
    errors.ServerStopped,
    errors.SessionExpired,
    errors.Unreachable,
)
_NOT_SENT: Final = (
    errors.BadAddress,
    errors.CircuitOpen,
    errors.ConnectTimedOut,
    errors.DefinitionChanged,
    errors.ForbiddenAddress,
    errors.SessionExpired,
    errors.SignInRequired,
    errors.SignInUnavailable,
    errors.SpawnFailed,
    errors.TooManySessions,
    errors.Unreachable,
    errors.UnknownServer,
    errors.UnsetVariable,
)


def is_transient(error: BaseException) -> bool:
    """Whether a call failed on its way, so that the same call may go well a moment later.

    Not where the server answered, nor where the time for the call is up: what was slow once is
    slow again. A server that is left alone for its failures stays so.
    """
    if isinstance(error, errors.HttpRefused):
        return error.status in _BUSY
    return isinstance(error, _TRANSPORT)


def may_have_run(error: BaseException) -> bool:
    """Whether a call that failed so may have taken effect all the same.

    False where it never left, or where its server answered that it refuses.
    """
    if not isinstance(error, errors.UpstreamError):
        return isinstance(error, TimeoutError)
    return not error.is_unsent and not isinstance(error, (*_NOT_SENT, errors.UpstreamRefused))


def delay_s(failed: int, *, chance: float) -> float | None:
    """Return how long to wait before a further attempt; None: there is none.

    Args:
        failed: Attempts that failed so far, from 1.
        chance: Evenly distributed in [0, 1).

    Example:
        >>> delay_s(1, chance=0.5), delay_s(3, chance=0.0), delay_s(4, chance=0.5)
        (1.0, 3.0, None)
    """
    if failed > len(DELAYS_S):
        return None
    return DELAYS_S[failed - 1] * (1 - SPREAD + 2 * SPREAD * chance)
