"""Limits of calls made ahead at a server, where an admin has not set others."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

DEFAULT_WASTE: Final = 0.5
"""Share of dispatched calls that may go unused where a call is free."""
DEFAULT_PRICED_WASTE: Final = 0.1
"""The same where a call costs money."""
DEFAULT_CALLS_PER_MINUTE: Final = 60
MAX_CALLS_PER_MINUTE: Final = 10_000
DEFAULT_DOLLARS_PER_DAY: Final = Decimal(0)


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerLimits:
    """How much may be called ahead at one server.

    Attributes:
        waste: Share of dispatched next calls that may go unused, in [0, 1].
        calls_per_minute: Calls of this process in any minute.
        dollars_per_day: US dollars in a day (UTC), of all processes together.
    """

    waste: float
    calls_per_minute: int = DEFAULT_CALLS_PER_MINUTE
    dollars_per_day: Decimal = DEFAULT_DOLLARS_PER_DAY


FREE: Final = ServerLimits(waste=DEFAULT_WASTE)
PRICED: Final = ServerLimits(waste=DEFAULT_PRICED_WASTE)
