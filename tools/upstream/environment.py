"""The pool's external inputs: clocks, randomness, environment variables."""

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
