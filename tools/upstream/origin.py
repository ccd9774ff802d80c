"""Where bytes come from, and how they are to be treated."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tools.upstream.limits import Limits


@dataclass(frozen=True, kw_only=True)
class Origin:
    """One life of a server, as what reads its output needs to know it.

    Attributes:
        server: Name for errors and logs.
        secrets: Values to blank out wherever its words are shown.
        limits: Caps on what it may send.
        monotonic: Clock in seconds.
    """

    server: str
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    limits: Limits = field(default_factory=Limits)
    monotonic: Callable[[], float] = time.monotonic
