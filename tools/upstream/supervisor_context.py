"""Dependencies shared by all supervisors of a pool."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from gateway_project.foundation.caller import Caller, SessionKey
from tools.upstream.breaker import RetryPolicy
from tools.upstream.environment import UpstreamEnvironment
from tools.upstream.limits import UpstreamLimits
from tools.upstream.slots import StartSlots
from tools.upstream.spec import ServerSpec
from tools.upstream.status import ListName, ServerStatus
from tools.upstream.transport import UpstreamTransport


@dataclass(frozen=True, kw_only=True)
class SupervisorContext:
    """Dependencies shared by all supervisors of a pool.

    Attributes:
        limits: Caps on what a server may send and consume.
        policy: When to retry a failing server.
        environment: Clocks, randomness, environment variables.
        slots: Limits concurrent starts.
        transport: Makes the transport of one start, for requests that carry a caller's rights;
            may raise `UpstreamError`.
        on_status: Called with each new status.
        on_changed: Called with the server's name and the list that changed.
        on_updated: Called with the server's name, the URI of a changed resource, and the clients
            that follow it on the reporting connection.
        idle_stop_s: Seconds without a request after which a server that is stateless by protocol
            is stopped; 0: never.
        session_idle_s: The same for a connection that belongs to one caller.
    """

    limits: UpstreamLimits
    policy: RetryPolicy
    environment: UpstreamEnvironment
    slots: StartSlots
    transport: Callable[[ServerSpec, Caller], UpstreamTransport]
    on_status: Callable[[ServerStatus], None]
    on_changed: Callable[[str, ListName], None]
    on_updated: Callable[[str, str, Collection[SessionKey]], None]
    idle_stop_s: float = 0.0
    session_idle_s: float = 0.0
