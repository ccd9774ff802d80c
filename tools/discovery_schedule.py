"""Discovery schedule: at once for new or changed servers, with backoff after failures."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

FIRST_RETRY_S: Final = 15.0
LONGEST_RETRY_S: Final = 3_600.0
JITTER: Final = 0.25
"""Random deviation of a delay, as a fraction of it."""
_MAX_DOUBLINGS: Final = 16


@dataclass(frozen=True, kw_only=True)
class DiscoveryState:
    """The state of a server's discovery.

    Attributes:
        version: Current version of the server's row.
        is_outdated: Whether no attempt was made with this version.
        requested_at: When a person requested one that has not begun; None: not requested.
        retry_at: When a failed attempt is repeated; None: the last one succeeded.
    """

    version: datetime
    is_outdated: bool
    requested_at: datetime | None = None
    retry_at: datetime | None = None

    def due_at(self, now: datetime) -> datetime | None:
        """Return when the server is due; None: not before something changes.

        Example:
            >>> now = datetime(2026, 1, 1)
            >>> DiscoveryState(version=now, is_outdated=True).due_at(now) == now
            True
            >>> DiscoveryState(version=now, is_outdated=False).due_at(now) is None
            True
        """
        return now if self.is_outdated or self.requested_at is not None else self.retry_at


def retry_delay(failures: int, *, draw: float) -> timedelta:
    """Return the backoff after failed attempts.

    Args:
        failures: Consecutive failed attempts, at least 1.
        draw: Random number in [0, 1), for the jitter.

    Example:
        >>> [retry_delay(n, draw=0.5).total_seconds() for n in (1, 2, 3, 20)]
        [15.0, 30.0, 60.0, 3600.0]
    """
    doubled_s = FIRST_RETRY_S * 2 ** min(failures - 1, _MAX_DOUBLINGS)
    return timedelta(seconds=min(doubled_s, LONGEST_RETRY_S) * (1 + JITTER * (2 * draw - 1)))
