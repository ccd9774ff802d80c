"""The context in which a server's output is read."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from gateway_project.foundation.redaction import Redactor
from tools.upstream.limits import UpstreamLimits
from tools.upstream.output_tail import OutputTail


@dataclass(frozen=True, kw_only=True)
class ConnectionOrigin:
    """One run of a server, as its readers need to know it.

    Attributes:
        server: Name for errors and logs.
        redactor: Removes its secrets wherever its output is shown.
        tail: Its last output outside the protocol.
        limits: Caps on what it may send.
        monotonic: Clock in seconds.
    """

    server: str
    redactor: Redactor = field(default_factory=Redactor, repr=False)
    tail: OutputTail = field(default_factory=OutputTail, repr=False)
    limits: UpstreamLimits = field(default_factory=UpstreamLimits)
    monotonic: Callable[[], float] = time.monotonic

    @property
    def last_lines(self) -> tuple[str, ...]:
        """Its last output outside the protocol, oldest line first, redacted."""
        return self.tail.read_lines(self.redactor)
