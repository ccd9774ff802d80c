"""What all servers of a pool have in common."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from tools.upstream.breaker import RetryPolicy
from tools.upstream.limits import Limits
from tools.upstream.slots import StartSlots
from tools.upstream.spec import ServerSpec
from tools.upstream.status import Kind, ServerStatus
from tools.upstream.surroundings import Surroundings
from tools.upstream.transport import UpstreamTransport


@dataclass(frozen=True, kw_only=True)
class Shared:
    """What all supervisors of a pool are given.

    Attributes:
        limits: Caps on what a server may send and cost.
        policy: When to try a failing server again.
        surroundings: Clocks, randomness, environment.
        slots: Limits concurrent starts.
        transport: Makes the transport of one start, for a user; may raise `UpstreamError`.
        on_status: Called with each new state.
        on_changed: Called with the server's name and what has changed.
        on_updated: Called with the server's name, the URI of a changed resource, and the sessions
            that follow it on the connection that told of it.
        idle_stop_s: Seconds without a request after which a server that is stateless by protocol
            is stopped; 0: never.
        session_idle_s: The same for a connection that belongs to one caller.
    """

    limits: Limits
    policy: RetryPolicy
    surroundings: Surroundings
    slots: StartSlots
    transport: Callable[[ServerSpec, str], UpstreamTransport]
    on_status: Callable[[ServerStatus], None]
    on_changed: Callable[[str, Kind], None]
    on_updated: Callable[[str, str, Collection[str]], None]
    idle_stop_s: float = 0.0
    session_idle_s: float = 0.0
