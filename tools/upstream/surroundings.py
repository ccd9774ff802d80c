"""What the pool takes from outside: clocks, randomness, environment."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """Everything that a test may want to put something else in place of.

    Attributes:
        wall: Clock for what people read.
        monotonic: Clock for waiting, in seconds.
        rng: For jitter.
        environ: Where `${VAR}` and the inherited variables are read, at each start.
    """

    wall: Callable[[], datetime] = _now
    monotonic: Callable[[], float] = time.monotonic
    rng: random.Random = field(default_factory=random.SystemRandom)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
